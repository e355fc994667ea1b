"""Claims about the life of series: they come, wind down, resolve and share one account."""
