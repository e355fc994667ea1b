"""How good the fair curve is on recorded books whose outcomes are known."""
