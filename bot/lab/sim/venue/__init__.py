"""The venue of a simulated world: the real engine and its crowd."""
