"""What may be lost: the exact worst case, quotes cut to it, breakers, what a venue takes."""
