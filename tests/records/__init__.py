"""Claims about the records: the stores, what feeds them, and the statements made of them."""
