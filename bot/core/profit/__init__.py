"""Where profit came from: each fill by its level, strategy and reason, and its markouts."""
