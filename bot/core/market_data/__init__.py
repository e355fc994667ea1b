"""The book of one market, its queues and prints, and the venue's clock."""
