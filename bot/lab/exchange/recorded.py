"""A recorded market: a tape that feeds a `LiveMarket`, record by record.

What was recorded decides how it can fill us. Whole books say all. Best prices come without sizes
and prints: what rests there is made up, but that it rests there was seen. Of trades alone the
whole book is made up around them (`venue.crowd.picture`): it may be quoted against, and nobody in
it comes to us; only prints do.
"""

import enum
from collections.abc import Iterable
from typing import Final

from bot.core import messages as m
from bot.lab.exchange.live import LiveMarket
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.terms import Terms
from bot.strategy.api import Levels
from venue.crowd.picture import picture_of
from venue.crowd.tape import BookRecord, Record, Tape, TradeRecord, tape_catalogue
from venue.wire.limits import QTY_MAX
from venue.wire.money import PAYOUT_CENTS, Outcome, Price, Qty, canonical

_YES: Final = Outcome.YES
_NO: Final = Outcome.NO


class Kind(enum.StrEnum):
    """What of a market was recorded."""

    BOOKS = "books and trades"
    TOPS = "best prices"
    TRADES = "trades"


def kind_of(tape: Tape) -> Kind:
    """What was recorded of a tape's markets."""
    if tape.partition:
        return Kind.TOPS
    return Kind.BOOKS if tape.has_books else Kind.TRADES


class RecordedMarket(LiveMarket):
    """The markets of one event of a tape. kind: what was recorded of them."""

    def __init__(
        self,
        tape: Tape,
        terms: Terms,
        queue_model: QueueModel,
        resolution_ns: int,
        start_ns: int,
    ) -> None:
        self.kind = kind_of(tape)
        # Where no sizes are known, a pessimist has somebody before us at every price, and an
        # optimist nobody.
        self.has_sizes = self.kind is not Kind.TRADES
        self.fills_through_only = not self.has_sizes and queue_model is QueueModel.PESSIMISTIC
        self.has_no_queue = not self.has_sizes and queue_model is QueueModel.OPTIMISTIC
        catalogue = tape_catalogue(tape, resolution_ns, terms.maker_rate, terms.taker_rate)
        super().__init__(catalogue, terms, queue_model, start_ns)
        self._markets = [rung.market_id for rung in tape.rungs]
        self._rung_of = {source: rung for rung, source in enumerate(tape.sources)}
        self._picture = picture_of(tape)

    def play(self, record: Record) -> None:
        """A record of the tape happens now."""
        now_ns = record.ts
        if isinstance(record, BookRecord):
            market = self._markets[self._rung_of[record.ticker]]
            bids, asks = _best_first(_YES, record.yes), _best_first(_NO, record.no)
            self._show(market, bids, asks, now_ns, now_ns)
            return
        if isinstance(record, TradeRecord):
            market = self._markets[self._rung_of[record.ticker]]
            self._made += 1
            bought, name = record.taker_outcome is _YES, f"recorded-{self._made}"
            price, size = Price(record.price), Qty(record.qty)
            self._print(m.Trade(market, now_ns, name, price, size, bought), now_ns, now_ns)
        touched = self._picture.absorb(record)
        if self.kind is Kind.TOPS and self._picture.survival_cents() is None:
            return  # some bracket is not known yet: no rung is, and none is empty
        for rung in touched:
            wanted: dict[Outcome, list[tuple[int, int]]] = {outcome: [] for outcome in Outcome}
            for (outcome, price), size in self._picture.wanted(rung).items():
                wanted[outcome].append((price, size))
            bids, asks = (_best_first(outcome, wanted[outcome]) for outcome in Outcome)
            self._show(self._markets[rung], bids, asks, now_ns, now_ns)


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
