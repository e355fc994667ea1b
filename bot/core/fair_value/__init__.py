"""The fair curve of an event: what each book says of a fair value, and the line through them."""
