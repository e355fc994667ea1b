"""The markets of a recorded event: a tape's records, played one by one."""

import enum
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple, cast

from bot.core import messages as m
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.live import LiveMarket
from bot.lab.exchange.queue_model import QueueModel
from bot.strategy.api import Levels
from venue.crowd.tape import BookRecord, Record, Tape, TapeLevels, TradeRecord, tape_catalogue
from venue.crowd.target_book import target_book_of
from venue.wire.limits import QTY_MAX
from venue.wire.money import PAYOUT_CENTS, Outcome, Price, Qty, canonical
from venue.wire.names import MarketId

_TAPES_KEPT: Final = 4  # whose books are kept in a process: a sweep comes back to them


class Kind(enum.StrEnum):
    BOOKS = "books and trades"
    TOPS = "best prices"
    TRADES = "trades"


def kind_of(tape: Tape) -> Kind:
    if tape.partition:
        return Kind.TOPS
    return Kind.BOOKS if tape.has_books else Kind.TRADES


class RecordedMarket(LiveMarket):
    """The markets of one event of a tape."""

    def __init__(
        self,
        tape: Tape,
        terms: Terms,
        queue_model: QueueModel,
        resolution_ns: int,
        start_ns: int,
    ) -> None:
        self.kind = kind_of(tape)  # what was recorded of them
        # Where no sizes are known, a pessimist has somebody before us at every price, and an
        # optimist nobody.
        self.has_sizes = self.kind is not Kind.TRADES
        self.fills_through_only = not self.has_sizes and queue_model is QueueModel.PESSIMISTIC
        self.has_no_queue = not self.has_sizes and queue_model is QueueModel.OPTIMISTIC
        catalogue = tape_catalogue(tape, resolution_ns, terms.maker_rate, terms.taker_rate)
        super().__init__(catalogue, terms, queue_model, start_ns)
        self._records = tape.records
        self._books = books_of(tape)
        self._market_of = market_of(tape)

    def play(self, place: int) -> None:
        """Play the record at this place of the tape."""
        record = self._records[place]
        now_ns = record.ts
        if isinstance(record, TradeRecord):
            self._made += 1
            market, name = self._market_of[record.ticker], f"recorded-{self._made}"
            bought = record.taker_outcome is Outcome.YES
            price, size = Price(record.price), Qty(record.qty)
            self._print(m.Trade(market, now_ns, name, price, size, bought), now_ns, now_ns)
        for market, bids, asks in self._books[place]:
            self._show_book(market, bids, asks, now_ns, now_ns)


def market_of(tape: Tape) -> dict[str, MarketId]:
    """By recorded ticker; empty for brackets, none of which is a market here."""
    if tape.partition:
        return {}
    return {source: rung.market_id for source, rung in zip(tape.sources, tape.rungs, strict=True)}


class MarketBook(NamedTuple):
    """A whole book of others, canonical YES, best first."""

    market_id: MarketId
    bids: Levels
    asks: Levels


@lru_cache(maxsize=_TAPES_KEPT)
def books_of(tape: Tape) -> tuple[tuple[MarketBook, ...], ...]:
    """The books that others show after each record, of the markets where it may have changed them.
    Made once for all runs over a tape (`bench --only sweeping`); equal sides are one object."""
    maker = _BookMaker(tape)
    return tuple([tuple(maker.books_after(record)) for record in tape.records])


class _BookMaker:
    def __init__(self, tape: Tape) -> None:
        self._is_partition = tape.partition
        self._markets = [rung.market_id for rung in tape.rungs]
        self._market_of = market_of(tape)
        self._target = target_book_of(tape)
        self._sides: dict[tuple[Outcome, TapeLevels], Levels] = {}
        self._levels: dict[tuple[Price, Qty], tuple[Price, Qty]] = {}
        self._books: dict[MarketBook, MarketBook] = {}

    def books_after(self, record: Record) -> Iterator[MarketBook]:
        if isinstance(record, BookRecord):
            yield self._canonical_book(self._market_of[record.ticker], record.yes, record.no)
            return
        touched = self._target.absorb(record)
        if self._is_partition and self._target.survival_cents() is None:
            return  # some bracket is not known yet: no rung is, and none is empty
        for rung in touched:
            wanted: dict[Outcome, list[tuple[int, int]]] = {outcome: [] for outcome in Outcome}
            for (outcome, price), size in self._target.wanted(rung).items():
                wanted[outcome].append((price, size))
            yes, no = (tuple(wanted[outcome]) for outcome in (Outcome.YES, Outcome.NO))
            book = self._canonical_book(self._markets[rung], yes, no)
            yield self._books.setdefault(book, book)

    def _canonical_book(self, market: MarketId, yes: TapeLevels, no: TapeLevels) -> MarketBook:
        return MarketBook(
            market, self._canonical_side(Outcome.YES, yes), self._canonical_side(Outcome.NO, no)
        )

    def _canonical_side(self, outcome: Outcome, side: TapeLevels) -> Levels:
        found = self._sides.get((outcome, side))
        if found is None:
            found = _best_first(outcome, side)
            if found == side:
                found = cast(Levels, side)  # one object less to keep
            else:
                share = self._levels.setdefault
                found = tuple([share(row, row) for row in found])
            self._sides[outcome, side] = found
        return found


_CANONICAL: Final = {
    outcome: tuple([canonical(outcome, Price(price)) for price in range(PAYOUT_CENTS + 1)])
    for outcome in Outcome
}
"""The place in the book of every price of an outcome."""


def _best_first(outcome: Outcome, levels: Iterable[tuple[int, int]]) -> Levels:
    rows = sorted(dict(levels).items(), reverse=True)
    place = _CANONICAL[outcome]
    return tuple([(place[price], Qty(size if size < QTY_MAX else QTY_MAX)) for price, size in rows])
