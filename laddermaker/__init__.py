"""The parts of laddermaker that a notebook or a strategy's package may import by its own name."""
