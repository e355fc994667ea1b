"""Notices to people by webhook: what is told, and how it is delivered."""
