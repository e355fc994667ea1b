"""Fills and profit kept for months: the store, what feeds it from the journal, the statements."""
