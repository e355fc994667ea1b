"""From market data and fair values to the quotes wanted on every market of the series."""
