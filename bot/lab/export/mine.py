"""What of a recorded book was ours: the lives of our orders by the venue's own clock.

A frame shows every resting share, ours too. When ours came, changed and went is told by the answers
to our writes, by reads, and by our fills, however late: `created_at` and `updated_at` of an order
and the instant of each fill are the venue's, as the time of a frame is. An order rests from its
creation; each showing of it holds from its update on; each fill of it as maker takes off its shares
at its instant. Of one whose create had no answer and that no read ever showed nothing is known.

Where a level shows less than ours would be, the two times do not fit (an answer's may be the
gateway's, a frame's the book's): nothing of others is left there, and the frame is told as unfit.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import NamedTuple

from bot.core import messages as m
from bot.core.strategy import Levels
from venue.wire import instant, model
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import MarketId, OrderId


class Others(NamedTuple):
    """A book without us. mine_bids, mine_asks: what was taken off. fits: whether all of it was
    there."""

    bids: Levels
    asks: Levels
    mine_bids: Levels
    mine_asks: Levels
    fits: bool


def filled_with(qtys: Sequence[int], filled: int) -> list[int]:
    """The shares that had filled of an order with each of its fills, whose shares `qtys` are, the
    oldest first. filled: the most that it was shown to have filled; fills that were never listed
    are taken to be older than all that were."""
    sums = accumulate(qtys, initial=max(0, filled - sum(qtys)))
    next(sums)
    return list(sums)


class _Order:
    """What was shown of one order. shown: by the venue's time, its price, what rested of it and
    what had filled. fills: instant, shares, and whether they were ours as maker."""

    def __init__(self, order: model.Order, side: BookSide, created_ns: int) -> None:
        self.market_id = order.market_id
        self.side = side
        self.created_ns = created_ns
        self.qty = int(order.qty)
        self.shown: dict[int, tuple[Price, int, int]] = {}
        self.fills: dict[str, tuple[int, int, bool]] = {}

    def changes(self) -> Iterable[tuple[int, Price, int]]:
        """Its life: from when on, its price, and the shares that rest of it."""
        rows = sorted(self.shown.items())
        at_ns, (price, rests, filled) = rows[0]
        fills = self._fills()
        if at_ns > self.created_ns:
            begun = self.qty - sum(qty for _, qty, maker, _ in fills if not maker)
            if rests:
                begun = rests + sum(
                    qty
                    for when_ns, qty, maker, upto in fills
                    if maker and self.created_ns < when_ns and (when_ns <= at_ns or upto <= filled)
                )
            rows.insert(0, (self.created_ns, (price, begun, 0)))
        for place, (at_ns, (price, rests, filled)) in enumerate(rows):
            yield at_ns, price, rests
            until_ns = rows[place + 1][0] if place + 1 < len(rows) else None
            for when_ns, qty, maker, upto in fills:
                later = at_ns < when_ns and (until_ns is None or when_ns < until_ns)
                if maker and later and upto > filled:
                    rests = max(0, rests - qty)
                    yield when_ns, price, rests

    def _fills(self) -> list[tuple[int, int, bool, int]]:
        """Its fills, the oldest first: instant, shares, whether as maker, and the shares that had
        filled with it."""
        fills = sorted(self.fills.values())
        shown = max(filled for *_, filled in self.shown.values())
        sums = filled_with([qty for _, qty, _ in fills], shown)
        return [(*fill, upto) for fill, upto in zip(fills, sums, strict=True)]


_Sizes = dict[tuple[BookSide, Price], int]


class Mine:
    """Our orders in one run. Give it every event of the run, then ask."""

    def __init__(self) -> None:
        self._orders: dict[OrderId, _Order] = {}
        self._fills: dict[str, model.Fill] = {}
        self._roles: dict[str, str] = {}
        self._times: dict[MarketId, list[int]] | None = None
        self._sizes: dict[MarketId, list[_Sizes]] = {}

    def take(self, event: m.Event | m.Effect) -> None:
        """An entry of the journal."""
        if not isinstance(event, m.Replied) or not isinstance(event.answer, m.Done):
            return
        body = event.answer.body
        if isinstance(body, m.OrderShown | m.CancelShown):
            self._show(body.order)
        elif isinstance(body, m.OrdersShown):
            for order in body.orders:
                self._show(order)
        elif isinstance(body, m.FillsShown):
            for fill in body.fills:
                self._fills[fill.fill_id] = fill

    def _show(self, order: model.Order) -> None:
        if order.outcome is model.ShownOutcome.UNKNOWN or order.side is model.ShownSide.UNKNOWN:
            return
        outcome, side = Outcome(order.outcome.value), Side(order.side.value)
        try:
            created_ns, at_ns = instant.to_ns(order.created_at), instant.to_ns(order.updated_at)
        except ValueError:
            return
        known = self._orders.get(order.order_id)
        if known is None:
            known = _Order(order, book_side(outcome, side), created_ns)
            self._orders[order.order_id] = known
        # A create that is sent again is answered with a fresh instant: the first one counts.
        known.created_ns = min(known.created_ns, created_ns)
        rests = int(order.remaining_qty) if order.status in model.RESTING else 0
        price = canonical(outcome, order.price)
        before = known.shown.get(at_ns)
        if before is None or rests < before[1]:
            known.shown[at_ns] = price, rests, int(order.filled_qty)

    # --- asking -----------------------------------------------------------------------------------

    def _settle(self) -> dict[MarketId, list[int]]:
        """Everything is known: what rested of ours on each market, change by change."""
        for fill in self._fills.values():
            role = fill.liquidity.value
            self._roles[fill.trade_id] = role
            order = self._orders.get(fill.order_id)
            if order is not None:
                with suppress(ValueError):  # of no time that can be read
                    created_ns = instant.to_ns(fill.created_at)
                    order.fills[fill.fill_id] = created_ns, int(fill.qty), role != "taker"
        changes: dict[MarketId, list[tuple[int, int, BookSide, Price, int]]] = {}
        for number, order in enumerate(self._orders.values()):
            for at_ns, price, rests in order.changes():
                row = (at_ns, number, order.side, price, rests)
                changes.setdefault(order.market_id, []).append(row)
        times: dict[MarketId, list[int]] = {}
        for market, rows in changes.items():
            times[market], self._sizes[market] = _steps(rows)
        self._times = times
        return times

    def role(self, trade_id: str) -> str:
        """What we were in a print: `maker`, `taker`, or `unknown` where the venue does not say; ""
        for a print of others. Every entry must have been taken in before."""
        if self._times is None:
            self._settle()
        return self._roles.get(trade_id, "")

    def without(self, seen: m.BookSeen) -> Others:
        """A frame's book without our orders. Every entry must have been taken in before."""
        times = self._settle() if self._times is None else self._times
        place = bisect_right(times.get(seen.market_id, []), seen.ts_ns) - 1
        mine = self._sizes[seen.market_id][place] if place >= 0 else {}
        if not mine:
            return Others(seen.bids, seen.asks, (), (), True)
        bids, taken_bids, fit_bids = _less(seen.bids, BookSide.BID, mine)
        asks, taken_asks, fit_asks = _less(seen.asks, BookSide.ASK, mine)
        return Others(bids, asks, taken_bids, taken_asks, fit_bids and fit_asks)


def _steps(rows: list[tuple[int, int, BookSide, Price, int]]) -> tuple[list[int], list[_Sizes]]:
    """What rests at each instant at which that changes. rows: an order's number, from when on it
    stands where, and how much of it."""
    times: list[int] = []
    steps: list[_Sizes] = []
    stands: dict[int, tuple[BookSide, Price, int]] = {}
    sizes: _Sizes = {}
    # Of one order and instant the rows keep their order: a fill comes after what was shown.
    for at_ns, number, side, price, rests in sorted(rows, key=lambda row: row[0]):
        old = stands.pop(number, None)
        if old is not None:
            left = sizes.pop(old[:2], 0) - old[2]
            if left:
                sizes[old[:2]] = left
        if rests:
            stands[number] = side, price, rests
            sizes[side, price] = sizes.get((side, price), 0) + rests
        if times and times[-1] == at_ns:
            steps[-1] = dict(sizes)
        else:
            times.append(at_ns)
            steps.append(dict(sizes))
    return times, steps


def _less(levels: Levels, side: BookSide, mine: _Sizes) -> tuple[Levels, Levels, bool]:
    """The levels of others, what was taken off, and whether all of ours was there."""
    left: list[tuple[Price, Qty]] = []
    taken: list[tuple[Price, Qty]] = []
    shown = dict(levels)
    for price, size in levels:
        own = min(size, mine.get((side, price), 0))
        if own:
            taken.append((price, Qty(own)))
        if size > own:
            left.append((price, Qty(size - own)))
    fits = all(shown.get(at, 0) >= own for (of, at), own in mine.items() if of is side)
    return tuple(left), tuple(taken), fits
