"""The laws of the house, checked over whole histories."""
