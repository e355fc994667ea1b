"""The judge: what must hold of account, traffic, quotes and venue, by sums of its own."""
