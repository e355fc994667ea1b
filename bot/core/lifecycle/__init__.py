"""The open orders at the venue at a start, in flight and at a stop."""
