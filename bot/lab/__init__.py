"""The trader off line: the same core, driven by a simulation instead of a venue."""
