"""A tape's book at an instant, as the resting orders of one market maker. Three kinds of tape, one
answer."""

import itertools
import math
from collections.abc import Mapping
from typing import Final, Protocol

from venue.crowd.tape import BookRecord, Record, Tape, TopRecord, TradeRecord
from venue.wire.limits import QTY_MAX
from venue.wire.money import (
    PAYOUT_CENTS,
    PRICE_MAX,
    PRICE_MIN,
    Outcome,
    Price,
    Qty,
    complement,
    is_price,
)

Levels = Mapping[tuple[Outcome, Price], Qty]
"""Shares bid for each outcome at its own price."""

_TOUCH_QTY: Final = 300
_BEHIND_QTY: Final = 600
_BEHIND_TICKS: Final = 2
_HALF_SPREAD_CENTS_MIN: Final = 1.0
_HALF_SPREAD_CENTS_MAX: Final = 3.0


class TargetBook(Protocol):
    """The state of a recorded event."""

    def absorb(self, record: Record) -> range:
        """Take the next record in; the rungs whose picture may be another now."""

    def wanted(self, rung: int) -> Levels:
        """The resting orders of a rung now."""

    def survival_cents(self) -> list[float] | None:
        """The chance of each rung in cents, lowest strike first; None while it is not known."""


def target_book_of(tape: Tape) -> TargetBook:
    rung_of = {ticker: place for place, ticker in enumerate(tape.sources)}
    if tape.partition:
        return BooksFromBrackets(rung_of)
    if tape.has_books:
        return RecordedBooks(rung_of)
    return BooksFromTrades(rung_of)


class RecordedBooks:
    def __init__(self, rung_of: Mapping[str, int]) -> None:
        self._rung_of = rung_of
        self._books: dict[int, Levels] = {}

    def absorb(self, record: Record) -> range:
        if not isinstance(record, BookRecord):
            return range(0)
        rung = self._rung_of[record.ticker]
        book: dict[tuple[Outcome, Price], Qty] = {}
        for outcome, levels in ((Outcome.YES, record.yes), (Outcome.NO, record.no)):
            for price, size in levels:
                book[outcome, Price(price)] = Qty(min(size, QTY_MAX))
        self._books[rung] = book
        return range(rung, rung + 1)

    def wanted(self, rung: int) -> Levels:
        return self._books.get(rung, {})

    def survival_cents(self) -> list[float] | None:
        """None: a book tape is one rung."""
        return None


class BooksFromTrades:
    def __init__(self, rung_of: Mapping[str, int]) -> None:
        self._rung_of = rung_of
        self._middles: list[int | None] = [None] * len(rung_of)

    def absorb(self, record: Record) -> range:
        """The newest execution is right: it was at a touch, and other rungs give way to it."""
        if not isinstance(record, TradeRecord):
            return range(0)
        rung = self._rung_of[record.ticker]
        bought = record.taker_outcome is Outcome.YES
        middle = record.price - 1 if bought else record.price + 1
        self._middles[rung] = middle
        for other, known in enumerate(self._middles):
            if known is not None:
                give_way = max if other < rung else min
                self._middles[other] = middle if other == rung else give_way(known, middle)
        return range(len(self._middles))

    def wanted(self, rung: int) -> Levels:
        survival = self.survival_cents()
        if survival is None:
            return {}
        middle = round(survival[rung])
        return _quotes(middle - 1, middle + 1)

    def survival_cents(self) -> list[float] | None:
        """Middles; a rung that never traded lies evenly between the nearest that did."""
        known = [
            (place, middle) for place, middle in enumerate(self._middles) if middle is not None
        ]
        if not known:
            return None
        ends = [(-1, int(PRICE_MAX)), *known, (len(self._middles), int(PRICE_MIN))]
        survival: list[float] = []
        for (left, high), (right, low) in itertools.pairwise(ends):
            if left >= 0:
                survival.append(high)
            between = right - left
            survival += [high + (low - high) * step / between for step in range(1, between)]
        return survival


class BooksFromBrackets:
    def __init__(self, rung_of: Mapping[str, int]) -> None:
        self._rung_of = rung_of
        self._middles: list[float | None] = [None] * len(rung_of)
        self._halves = [0.0] * len(rung_of)

    def absorb(self, record: Record) -> range:
        """One bracket's best prices; a side that is empty counts as its utmost price."""
        if not isinstance(record, TopRecord):
            return range(0)
        bracket = self._rung_of[record.ticker]
        bid = 0 if record.yes_bid is None else record.yes_bid
        ask = PAYOUT_CENTS if record.yes_ask is None else record.yes_ask
        self._middles[bracket] = (bid + ask) / 2
        self._halves[bracket] = max(ask - bid, 0) / 2
        return range(len(self._middles) - 1)

    def wanted(self, rung: int) -> Levels:
        survival = self.survival_cents()
        if survival is None:
            return {}
        half = min(sum(self._halves[: rung + 1]), sum(self._halves[rung + 1 :]))
        half = min(max(half, _HALF_SPREAD_CENTS_MIN), _HALF_SPREAD_CENTS_MAX)
        return _quotes(math.floor(survival[rung] - half), math.ceil(survival[rung] + half))

    def survival_cents(self) -> list[float] | None:
        """Sums of the middles above each boundary, scaled so that all brackets make a dollar."""
        middles = [middle for middle in self._middles if middle is not None]
        total = sum(middles)
        if len(middles) < len(self._middles) or total <= 0:
            return None
        return [PAYOUT_CENTS * sum(middles[place:]) / total for place in range(1, len(middles))]


def _quotes(bid: int, ask: int) -> Levels:
    levels: dict[tuple[Outcome, Price], Qty] = {}
    for ticks, size in ((0, Qty(_TOUCH_QTY)), (_BEHIND_TICKS, Qty(_BEHIND_QTY))):
        if is_price(bid - ticks):
            levels[Outcome.YES, Price(bid - ticks)] = size
        if is_price(ask + ticks):
            levels[Outcome.NO, complement(Price(ask + ticks))] = size
    return levels
