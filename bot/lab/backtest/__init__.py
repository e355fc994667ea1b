"""Recorded markets through the whole trader in virtual time, under two readings of the queue."""
