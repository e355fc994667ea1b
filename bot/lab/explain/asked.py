"""What a strategy was asked last in a run lived again, and what it would have said holding nothing.

A strategy tells its quotes and not its reasons. How far they lean because of what is held shows
when the same strategy, in the state it was in, is asked once more with no share held: the price of
each level then, against its price as it was. For that a copy of it is kept every few hundred calls,
with the views since: from those its state before any later call is made again.
"""

from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from itertools import zip_longest
from typing import Final

import msgspec

from bot.strategy.api import EventView, Quote, Quotes, Strategy, checked
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId, Ticker

KEPT_MAX: Final = 512
"""Views kept since the last copy: to copy a strategy costs as much as to ask it some dozen times,
and to ask it again as often as this takes a tenth of a second or so."""


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


class Asked(Strategy):
    """A strategy whose every call is remembered for a while. calls: how often it was asked."""

    def __init__(self, inner: Strategy) -> None:
        self._inner = inner
        self._views: list[EventView] = []
        self._copy: Strategy | None = None
        self._copied_after: EventView | None = None
        self._uncopied = ""
        self.calls = 0
        self.view: EventView | None = None
        self.name = inner.name or type(inner).__name__  # type: ignore[misc]
        super().__init__(inner.params)

    def quote(self, view: EventView) -> Quotes:
        """What the strategy wants. Raises what it raises."""
        if not self._uncopied and (self._copy is None or len(self._views) >= KEPT_MAX):
            self._keep()
        self._views.append(view)
        self.calls += 1
        self.view = view
        return self._inner.quote(view)

    def _keep(self) -> None:
        try:
            self._copy = _copied(self._inner, self.view)
            self._copied_after = self.view
        except Exception as fault:  # noqa: BLE001 - the plugin boundary: some are not copied
            self._uncopied = f"the strategy cannot be copied: {type(fault).__name__}: {fault}"
        self._views.clear()

    def leans(self, market_id: MarketId) -> tuple[tuple[Lean, ...], str]:
        """How far the quotes of a rung in the last answer leaned; with why not when that cannot be
        told, empty else."""
        if self.view is None:
            return (), "the strategy was not asked yet"
        if self._uncopied or self._copy is None:
            return (), self._uncopied
        try:
            then, free = self._asked_again()
        except Exception as fault:  # noqa: BLE001 - the plugin boundary: it raised then too
            return (), f"asked again, the strategy raises {type(fault).__name__}: {fault}"
        return leans(then.get(market_id, ()), free.get(market_id, ())), ""

    def _asked_again(
        self,
    ) -> tuple[Mapping[MarketId, tuple[Quote, ...]], Mapping[MarketId, tuple[Quote, ...]]]:
        """The last answer, and the one without a share held, both from copies. Raises what those
        raise."""
        assert self._copy is not None
        assert self.view is not None
        before, last = _copied(self._copy, self._copied_after), self._copied_after
        for last in self._views[:-1]:
            with suppress(Exception):  # the plugin boundary: where it raised then, it raises now
                before.quote(last)
        other = _copied(before, last)
        nothing = without_shares(self.view)
        return checked(before.quote(self.view), self.view), checked(other.quote(nothing), nothing)


def _copied(strategy: Strategy, view: EventView | None) -> Strategy:
    """A copy in the same state. view: the newest that it was shown: its rungs stay the very ones,
    for a strategy may tell by that which of them have changed."""
    rungs = () if view is None else view.rungs
    return deepcopy(strategy, {id(rung): rung for rung in rungs})


def without_shares(view: EventView) -> EventView:
    """The same view, with no share held on any rung."""
    rungs = tuple(
        msgspec.structs.replace(rung, yes_qty=Qty(0), no_qty=Qty(0))
        if rung.yes_qty or rung.no_qty
        else rung
        for rung in view.rungs
    )
    return msgspec.structs.replace(view, rungs=rungs)


def leans(then: tuple[Quote, ...], free: tuple[Quote, ...]) -> tuple[Lean, ...]:
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


class Askers:
    """The strategies of one run, by the event that each was asked about."""

    def __init__(self) -> None:
        self._made: list[Asked] = []

    def around(self, strategy: Strategy) -> Strategy:
        """Remember a strategy's calls from now on."""
        asked = Asked(strategy)
        self._made.append(asked)
        return asked

    def of(self, event_ticker: Ticker) -> Asked | None:
        """The one that was asked about an event last."""
        for asked in reversed(self._made):
            if asked.view is not None and asked.view.event_ticker == event_ticker:
                return asked
        return None
