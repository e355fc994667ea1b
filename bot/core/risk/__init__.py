"""Exposure and limits: the exact worst case, quotes cut to it, breakers, buying power."""
