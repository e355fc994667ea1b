"""The venue of a simulated world: the real engine, its crowd, and what its stamps should be."""
