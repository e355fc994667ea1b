"""The bot: makes markets on strike ladders of binary contracts."""
