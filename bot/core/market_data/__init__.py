"""What is believed of one market: its book, its queues, its prints, and the venue's time."""
