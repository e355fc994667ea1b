"""What a strategy was asked last in a replayed run, and what it would have said holding nothing.

A strategy tells its quotes and not its reasons. How far they lean because of what is held shows
when a copy of it is asked the same with no share held.
"""

from copy import deepcopy
from itertools import zip_longest

import msgspec

from bot.strategy.api import EventView, Quote, Quotes, Strategy, checked
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId, Ticker


class Lean(msgspec.Struct, frozen=True):
    """One quote as it was, and as it would have been without a share held on any rung.

    level: its place on its side, 0 at the touch. cents: how far what is held moved it, above 0 up;
    None where one of the two does not stand. free_price, free_qty: without anything held.
    """

    side: BookSide
    level: int
    price: Price | None
    qty: Qty
    free_price: Price | None
    free_qty: Qty
    cents: int | None


class RecordedStrategy(Strategy):
    """A strategy whose last call is remembered. calls: how often it was asked."""

    def __init__(self, inner: Strategy) -> None:
        self._inner = inner
        self._answer: Quotes | None = None
        self.calls = 0
        self.view: EventView | None = None
        self.name = inner.name or type(inner).__name__  # type: ignore[misc]
        super().__init__(inner.params)

    def quote(self, view: EventView) -> Quotes:
        """What the strategy wants. Raises what it raises."""
        self.calls += 1
        self.view, self._answer = view, None
        self._answer = self._inner.quote(view)
        return self._answer

    def leans(self, market_id: MarketId) -> tuple[tuple[Lean, ...], str]:
        """How far the quotes of a rung in the last answer leaned; with why not when that cannot be
        told, empty else."""
        if self.view is None or self._answer is None:
            return (), "the strategy gave no answer"
        try:
            # The rungs stay the very ones: a strategy may tell by that which of them have changed.
            copied = deepcopy(self._inner, {id(rung): rung for rung in self.view.rungs})
            nothing = without_shares(self.view)
            then, free = checked(self._answer, self.view), checked(copied.quote(nothing), nothing)
        except Exception as fault:  # noqa: BLE001 - the plugin boundary: some are not copied
            return (), f"asked again holding nothing: {type(fault).__name__}: {fault}"
        return _leans(then.get(market_id, ()), free.get(market_id, ())), ""


def without_shares(view: EventView) -> EventView:
    """The same view, with no share held on any rung."""
    rungs = tuple(
        msgspec.structs.replace(rung, yes_qty=Qty(0), no_qty=Qty(0))
        if rung.yes_qty or rung.no_qty
        else rung
        for rung in view.rungs
    )
    return msgspec.structs.replace(view, rungs=rungs)


def _leans(then: tuple[Quote, ...], free: tuple[Quote, ...]) -> tuple[Lean, ...]:
    """The quotes of one rung against those without a share held, level by level."""
    rows = []
    for side in BookSide:
        pairs = zip_longest(_levels(then, side), _levels(free, side))
        for level, (one, other) in enumerate(pairs):
            both = None if one is None or other is None else one.price - other.price
            rows.append(Lean(side, level, *_price_and_qty(one), *_price_and_qty(other), both))
    return tuple(rows)


def _price_and_qty(quote: Quote | None) -> tuple[Price | None, Qty]:
    return (None, Qty(0)) if quote is None else (quote.price, quote.qty)


def _levels(quotes: tuple[Quote, ...], side: BookSide) -> list[Quote]:
    """The quotes of a side, the one nearest to the other side first."""
    mine = [quote for quote in quotes if quote.side is side]
    return sorted(mine, key=lambda quote: quote.price, reverse=side is BookSide.BID)


class StrategyRecorder:
    """The strategies of one run, by the event that each was asked about."""

    def __init__(self) -> None:
        self._made: list[RecordedStrategy] = []

    def around(self, strategy: Strategy) -> Strategy:
        """Remember a strategy's calls from now on."""
        asked = RecordedStrategy(strategy)
        self._made.append(asked)
        return asked

    def of(self, event_ticker: Ticker) -> RecordedStrategy | None:
        """The one that was asked about an event last."""
        for asked in reversed(self._made):
            if asked.view is not None and asked.view.event_ticker == event_ticker:
                return asked
        return None
