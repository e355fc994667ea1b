"""The bot's own folder: its locks, its latch, its signs of life, its files replaced whole."""
