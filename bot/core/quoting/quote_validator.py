"""What a strategy wants of an event, proven sane; what was proven before is not proven again."""

from typing import Final, cast

from bot.strategy.api import EventView, Quote, Resting, Strategy, Take, mapped, split
from venue.wire.names import MarketId

_SANE_MAX: Final = 1_024
"""Proven tuples that are remembered."""

_UNNAMED: Final = object()
"""Of a rung that was not named before: no answer is it, not even None."""


class QuoteValidator:
    """The answers of one strategy about one event."""

    def __init__(self) -> None:
        # What it wanted to rest, and to take, when it was last asked and did not fail; `resting` is
        # the same object while that is the same.
        self.resting: dict[MarketId, tuple[Quote, ...]] = {}
        self.takes: dict[MarketId, tuple[Take, ...]] = {}
        # Tuples once proven sane, by rung and identity; what is held here keeps its identity, and
        # nothing in it can change: it is sane for good.
        self._sane: dict[tuple[MarketId, int], tuple[Quote, ...]] = {}

    def ask(self, strategy: Strategy, view: EventView) -> dict[MarketId, tuple[Quote, ...]]:
        """What it wants to rest now. Raises whatever the strategy raises, and as `mapped` and
        `split` do for what is no answer; `resting` and `takes` are then what they were.

        A strategy may return for a rung a very tuple that it returned before: that one was proven.
        A tuple with takes is never the same again: each answer wants its takes once.
        """
        wanted = cast("Resting", mapped(strategy.quote(view)))  # `split` tells what is none
        before, sane = self.resting, self._sane
        others = [key for key, each in wanted.items() if before.get(key, _UNNAMED) is not each]
        if not others and wanted.keys() == before.keys():
            self.takes = {}
            return before
        fresh = {
            key: wanted[key]
            for key in others
            if sane.get((key, id(wanted[key])), _UNNAMED) is not wanted[key]
        }
        resting, takes = dict(wanted), {}
        if fresh:
            answer = split(fresh, view)
            takes = answer.takes
            resting.update(answer.resting)
            for key, quotes in answer.resting.items():
                if quotes is fresh[key]:
                    if len(sane) >= _SANE_MAX:
                        sane.clear()
                    sane[key, id(quotes)] = quotes
        self.resting, self.takes = resting, takes
        return resting
