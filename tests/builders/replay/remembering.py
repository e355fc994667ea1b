"""A strategy that lives by its memory, and says so in numbers."""

from bot.strategy.api import EventView, StrategyAnswer
from strategies.fixed_spread import FixedSpread


class Remembering(FixedSpread):
    """Counts its calls over all lives, and quotes from the fifth on: what it wants depends on what
    it is handed back."""

    name = "remembering"

    def quote(self, view: EventView) -> StrategyAnswer:
        calls = int(view.memory.get("calls", 0)) + 1
        quotes = super().quote(view) if calls >= 5 else {}
        fair = [rung.fair_cents for rung in view.rungs if rung.fair_cents is not None]
        numbers = {"calls": float(calls), "rungs:fair": float(len(fair))}
        return StrategyAnswer(quotes, numbers, {"calls": calls})


STRATEGY = Remembering
