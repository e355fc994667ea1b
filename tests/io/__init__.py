"""Claims about the bot's shell."""
