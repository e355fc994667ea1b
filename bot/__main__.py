"""Lets `python -m bot` do what `bot` does."""

from bot.cli import main

main()
