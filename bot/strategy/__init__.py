"""What a strategy may import: its contract (`api`) and the pricing tools."""
