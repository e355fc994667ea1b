"""The simulator: the real trader against the real engine, one thread of virtual time."""
