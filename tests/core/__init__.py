"""Claims about the exchange's core, and what they are checked with."""
