"""A recorded market as it plays: the depth of others by rung, what we took of it, and the prints.

What was recorded decides how it can fill us. Whole books say all. Best prices come without sizes
and prints: what stands there is made up, but that it stands there was seen. Of trades alone the
whole book is made up around them (`venue.crowd.picture`): it may be quoted against, and nobody in
it comes to us; only prints do.
"""

import enum
from collections.abc import Iterable
from typing import Final, NamedTuple

from bot.core.strategy import Levels
from venue.crowd.picture import picture_of
from venue.crowd.tape import BookRecord, Record, Tape, TradeRecord
from venue.wire.limits import QTY_MAX
from venue.wire.money import PAYOUT_CENTS, BookSide, Outcome, Price, Qty, canonical

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_YES: Final = Outcome.YES
_NO: Final = Outcome.NO


class Kind(enum.StrEnum):
    """What of a market was recorded."""

    BOOKS = "books and trades"
    TOPS = "best prices"
    TRADES = "trades"


class RecordedPrint(NamedTuple):
    """An execution of others; canonical YES."""

    rung: int
    price: Price
    qty: int
    taker_bought_yes: bool


class Depth:
    """What others show on one rung. at_ns: when it last changed.

    What we took stays taken until the size shown at that price is another one: displayed depth is
    met once a refresh.
    """

    def __init__(self) -> None:
        self.at_ns = 0
        self._sizes: dict[BookSide, dict[Price, Qty]] = {side: {} for side in BookSide}
        self._rows: dict[BookSide, Levels] = dict.fromkeys(BookSide, ())
        self._taken: dict[tuple[BookSide, Price], int] = {}

    def show(self, bids: Levels, asks: Levels, now_ns: int) -> None:
        """Another book, best first."""
        fresh = {_BID: dict(bids), _ASK: dict(asks)}
        for side, price in [*self._taken]:
            if fresh[side].get(price) != self._sizes[side].get(price):
                del self._taken[side, price]
        self._sizes = fresh
        self._rows = {_BID: bids, _ASK: asks}
        self.at_ns = now_ns

    def shown(self, side: BookSide, price: Price) -> int:
        """Shares of others at a price."""
        return self._sizes[side].get(price, 0)

    def before(self, side: BookSide, price: Price) -> int:
        """Shares of others that whoever comes to a price now stands behind: not those taken."""
        return max(0, self.shown(side, price) - self._taken.get((side, price), 0))

    def take(self, side: BookSide, price: Price, qty: int) -> None:
        """We met so many shares of it."""
        if qty:
            self._taken[side, price] = self._taken.get((side, price), 0) + qty

    def left(self, side: BookSide) -> Levels:
        """Prices and shares that nobody has taken, best first."""
        rows, taken = self._rows[side], self._taken
        if not taken:
            return rows
        left = ((price, Qty(size - taken.get((side, price), 0))) for price, size in rows)
        return tuple(row for row in left if row[1] > 0)

    @property
    def touch(self) -> tuple[Price | None, Price | None]:
        """Best bid and ask."""
        bids, asks = self._rows[_BID], self._rows[_ASK]
        return bids[0][0] if bids else None, asks[0][0] if asks else None

    @property
    def doubled_mid(self) -> int | None:
        """Best bid plus best ask, cents; None where a side is empty."""
        bid, ask = self.touch
        return None if bid is None or ask is None else bid + ask


def kind_of(tape: Tape) -> Kind:
    """What was recorded of a tape's markets."""
    if tape.partition:
        return Kind.TOPS
    return Kind.BOOKS if tape.has_books else Kind.TRADES


class Recorded:
    """One event of a tape, fed record by record. depths: by rung, lowest strike first."""

    def __init__(self, tape: Tape) -> None:
        self.kind = kind_of(tape)
        self.depths = [Depth() for _ in tape.rungs]
        self._picture = picture_of(tape)
        self._rung_of = {source: rung for rung, source in enumerate(tape.sources)}

    def printed(self, record: Record) -> RecordedPrint | None:
        """The execution that a record is, if it is one."""
        if not isinstance(record, TradeRecord):
            return None
        bought = record.taker_outcome is _YES
        return RecordedPrint(self._rung_of[record.ticker], Price(record.price), record.qty, bought)

    def absorb(self, record: Record) -> list[int]:
        """The rungs that show other depth after a record."""
        if isinstance(record, BookRecord):
            rung = self._rung_of[record.ticker]
            self.depths[rung].show(
                _best_first(_YES, record.yes),
                _best_first(_NO, record.no),
                record.ts,
            )
            return [rung]
        changed: list[int] = []
        touched = self._picture.absorb(record)
        if self.kind is Kind.TOPS and self._picture.survival_cents() is None:
            return changed  # some bracket is not known yet: no rung is, and none is empty
        for rung in touched:
            wanted: dict[Outcome, list[tuple[int, int]]] = {outcome: [] for outcome in Outcome}
            for (outcome, price), size in self._picture.wanted(rung).items():
                wanted[outcome].append((price, size))
            bids, asks = (_best_first(outcome, wanted[outcome]) for outcome in Outcome)
            self.depths[rung].show(bids, asks, record.ts)
            changed.append(rung)
        return changed


_CANONICAL: Final = {
    outcome: tuple([canonical(outcome, Price(price)) for price in range(PAYOUT_CENTS + 1)])
    for outcome in Outcome
}
"""The place in the book of every price of an outcome: each level of each record asks for one."""


def _best_first(outcome: Outcome, levels: Iterable[tuple[int, int]]) -> Levels:
    """Resting bids of an outcome as one side of the book, canonical YES."""
    rows = sorted(dict(levels).items(), reverse=True)
    place = _CANONICAL[outcome]
    return tuple([(place[price], Qty(size if size < QTY_MAX else QTY_MAX)) for price, size in rows])


def as_levels(rows: Levels, own: dict[Price, int], *, best: int) -> Levels:
    """One side as the channel shows it: what others have left and our own. best: 1 where the lowest
    price comes first, -1 where the highest does."""
    if not own:
        return rows
    sizes = dict(rows)
    for price, qty in own.items():
        sizes[price] = Qty(sizes.get(price, 0) + qty)
    if len(sizes) > len(rows):
        return tuple(sorted(sizes.items(), reverse=best < 0))
    return tuple(sizes.items())  # no price of ours alone: they stand in the order of the rows
