"""How strategies compare: the whole trader in seeded worlds, paired, with what chance allows."""
