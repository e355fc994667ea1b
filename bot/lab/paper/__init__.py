"""Paper trading on a live feed: the market is the venue's, our orders and our cash stay here."""
