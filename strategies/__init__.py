"""Quoting ideas, one per file; each sees only `bot.core.strategy` and `venue.wire.money`."""
