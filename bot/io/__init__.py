"""The only files of the bot that await, read a clock or log."""
