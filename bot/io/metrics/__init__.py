"""Metrics for Prometheus: their tables, and the counts that only the shell can take."""
