"""The bot as the venue's client: requests and answers, the channel, and a probe."""
