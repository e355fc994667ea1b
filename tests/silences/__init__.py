"""Venues that read the interface's silences otherwise than ours, and the bot on each of them."""
