"""Commands of the bot, one file each; the table of them is in `main`."""
