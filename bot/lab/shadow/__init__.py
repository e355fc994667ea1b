"""Strategies that run beside the live one without sending, and how their quotes would do."""
