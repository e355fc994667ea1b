"""What rests at the venue before, beside and after us, and what becomes of it."""
