"""A day of the whole bot in virtual time, and what it costs in memory, log, journal and metrics."""
