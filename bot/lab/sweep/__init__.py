"""Which numbers of a configuration earn most on the same worlds or tapes, and what to believe."""
