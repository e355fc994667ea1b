"""Quoting ideas, one per file: each sees the trader's `strategy` and `pricing`, money and names."""
