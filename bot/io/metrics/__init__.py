"""What Prometheus reads: tables of metrics, and the counts that only the shell can take."""
