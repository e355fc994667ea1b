"""What ten shares resting at each best price of a recorded book would have met, by two bounds.

The whole depth was recorded, so an order's place in its queue can be followed: by the queue model
that takes every cancel to be behind us, and by the likely one. A result that only the second has is
none. Nobody reacts to such orders; executions that the recorder did not match look like cancels.
Fills are followed up against the fair value and the middle.
"""

from bisect import bisect_right
from pathlib import Path
from typing import Final

import msgspec

from bot.core.fair_value.curve import FairCurve, RungInput
from bot.core.fair_value.estimators import TradedPrice
from bot.core.profit.markouts import HORIZONS_S, LATE_MAX_NS, MILLI, Markouts
from bot.core.report import Against, MarkoutReport
from bot.core.settings import PaceSettings
from bot.lab.counted import Counted, Progress, no_progress
from bot.lab.exchange.exchange import MAKER
from bot.lab.exchange.queue_model import CAUTIOUS_MODELS, QueueModel
from bot.lab.exchange.recorded import RecordedMarket
from bot.lab.exchange.terms import Terms
from bot.strategy.api import Levels
from venue.crowd.tape import (
    BookRecord,
    Tape,
    TradeRecord,
    closes_ns,
    decode_record,
    read_tape,
)
from venue.engine import messages as v
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import (
    BookSide,
    Outcome,
    Price,
    Qty,
    Side,
    book_side,
    canonical,
    complement,
)
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder, TimeInForce

QTY: Final = Qty(10)
_DECIDE_NS: Final = NS_PER_SECOND
_PACE: Final = PaceSettings()


class TouchScore(msgspec.Struct, frozen=True):
    """What came of it by one bound. fills, qty: met. markouts: how far values had moved in favour
    of fills, cents a share."""

    tape: str
    bound: str
    fills: int
    qty: int
    markouts: tuple[MarkoutReport, ...]


def at_touch(
    folder: Path, records_max: int | None = None, *, progress: Progress = no_progress
) -> tuple[TouchScore, ...]:
    """Score a tape of whole books, one row per bound. records_max: the first so many of it.
    progress: called with the records played; each is played once by every bound.

    Raises TapeFault for a tape that cannot be read, ValueError when it holds no whole books, or
    those of a ladder.
    """
    tape = read_tape(folder)
    if not any(isinstance(decode_record(line), BookRecord) for line in tape.lines):
        raise ValueError(f"{tape.name}: no whole books were recorded")
    if len(tape.rungs) > 1:
        raise ValueError(
            f"{tape.name}: {tape.event}: whole books of {len(tape.rungs)} rungs; wanted are those "
            "of one, or a ladder recorded as executions or best prices"
        )
    counted = Counted(progress)
    return tuple(_Run(tape, bound).score(records_max, counted) for bound in CAUTIOUS_MODELS)


class _Run:
    """One pass over a tape."""

    def __init__(self, tape: Tape, bound: QueueModel) -> None:
        self._tape = tape
        self._bound = bound
        start_ns = decode_record(tape.lines[0]).ts
        self._market = RecordedMarket(tape, Terms(), bound, closes_ns(tape), start_ns)
        self._made = 0
        self._curve = FairCurve(None)
        self._traded = TradedPrice()
        self._close_ns = closes_ns(tape)
        self._now_ns = 0
        self._decided_ns = 0
        # What the values were from which instant on, in thousandths of a cent; None: not known.
        self._times: list[int] = []
        self._values: list[dict[Against, int] | None] = []
        self._valued = 0

    def score(self, records_max: int | None, counted: Counted) -> TouchScore:
        """Play the tape, then follow the fills up."""
        for line in counted.of(self._tape.lines[:records_max]):
            record = decode_record(line)
            self._now_ns = record.ts
            self._market.play(record)
            if isinstance(record, BookRecord):
                self._shown(record)
            elif isinstance(record, TradeRecord):
                self._traded.update(record.price, record.qty, record.ts)
        markouts, fills = Markouts(), self._market.account.fills
        for fill in fills:
            self._follow(markouts, fill)
        return TouchScore(
            self._tape.name,
            self._bound.value,
            len(fills),
            self._market.account.maker_qty,
            markouts.report(),
        )

    def _shown(self, record: BookRecord) -> None:
        # Best first, in whatever order they were recorded.
        yes, no = (sorted(levels, reverse=True) for levels in (record.yes, record.no))
        bids: Levels = tuple((Price(price), Qty(size)) for price, size in yes)
        asks: Levels = tuple((complement(Price(price)), Qty(size)) for price, size in no)
        now_ns = record.ts
        if not bids or not asks:
            self._value(now_ns, None)
            return
        is_due = now_ns >= self._decided_ns + _DECIDE_NS
        # The first book after a fill is valued at once: a second later its value stands.
        if not is_due and self._valued == len(self._market.account.fills):
            return
        seen = RungInput(bids, asks, now_ns, self._traded.read())
        left_s = (self._close_ns - now_ns) / NS_PER_SECOND
        (fair,) = self._curve.update([seen], None, left_s, now_ns)
        self._traded.follow(self._curve.volatilities[0])
        if fair is not None:
            mid = MILLI * (bids[0][0] + asks[0][0]) // 2
            found = {Against.FAIR: round(MILLI * fair.value_cents), Against.MID: mid}
            self._value(now_ns, found)
        if not is_due:
            return
        self._decided_ns = now_ns
        self._quote({BookSide.BID: bids[0][0], BookSide.ASK: asks[0][0]})

    def _quote(self, wanted: dict[BookSide, Price]) -> None:
        """Rest at these prices; an order as near as the pace of the trader lets it stay does."""
        market, now_ns = self._market, self._now_ns
        missing = dict.fromkeys(wanted, int(QTY))
        for side, price in wanted.items():
            for order in [*market.own_orders(market.markets[0], side)]:
                behind = price - order.price if side is BookSide.BID else order.price - price
                if 0 <= behind <= _PACE.tolerance_ticks:
                    missing[side] -= order.remaining
                else:
                    market.carry_out(market.exchange, v.CancelOrder(MAKER, order.order_id), now_ns)
        for side, qty in missing.items():
            if qty == QTY or (qty > 0 and _PACE.resizes(Qty(qty), QTY)):
                self._made += 1
                outcome = Outcome.YES if side is BookSide.BID else Outcome.NO
                placed = QtyOrder(
                    market.markets[0],
                    outcome,
                    Side.BUY,
                    canonical(outcome, wanted[side]),
                    Qty(qty),
                    TimeInForce.GTC,
                    ClientOrderId(f"q{self._made}"),
                )
                market.carry_out(market.exchange, v.PlaceOrder(MAKER, placed), now_ns)

    def _value(self, now_ns: int, found: dict[Against, int] | None) -> None:
        self._times.append(now_ns)
        self._values.append(found)
        self._valued = len(self._market.account.fills)

    def _follow(self, markouts: Markouts, fill: v.FillBooked) -> None:
        """What stood at each horizon after a fill, else the first known in the minute after it;
        none past the end of the tape."""
        sign = 1 if book_side(fill.outcome, fill.side) is BookSide.BID else -1
        price = canonical(fill.outcome, fill.outcome_price)
        for place, horizon_s in enumerate(HORIZONS_S):
            at_ns = fill.at_ns + horizon_s * NS_PER_SECOND
            if at_ns > self._now_ns:
                return
            for against, value in self._known(at_ns).items():
                moved = sign * (value - MILLI * price)
                markouts.add(against, place, moved, fill.qty, fill.at_ns)

    def _known(self, at_ns: int) -> dict[Against, int]:
        first = max(0, bisect_right(self._times, at_ns) - 1)
        for place in range(first, len(self._times)):
            if self._times[place] > at_ns + LATE_MAX_NS:
                break
            if (found := self._values[place]) is not None:
                return found
        return {}
