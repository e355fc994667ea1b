"""Our orders and fills by the venue's own clock, from its responses.

An order rests from its creation; each response holds from its update time on; each maker fill takes
off its shares at its time, unless a response already counts it. Unreadable times, outcomes and
sides are skipped.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import msgspec

from bot.core import messages as m
from bot.strategy.api import Levels
from venue.wire import instant, model
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import MarketId, OrderId


class RestingChange(msgspec.Struct, frozen=True):
    """An order of ours as it rests from `at_ns` on, canonical YES."""

    at_ns: int
    market_id: MarketId
    order_id: OrderId
    side: BookSide
    price: Price
    qty: int  # shares that rest


class OwnFill(msgspec.Struct, frozen=True):
    """A fill of ours, canonical YES, at the venue's instant."""

    at_ns: int
    market_id: MarketId
    order_id: OrderId
    trade_id: str
    side: BookSide
    price: Price
    qty: int
    maker: bool  # also where the venue does not say


class BookWithoutUs(NamedTuple):
    """The levels of others, and ours that were taken off."""

    bids: Levels
    asks: Levels
    own_bids: Levels
    own_asks: Levels
    missing_qty: int  # shares of ours that the book should have shown and did not


class _Showing(NamedTuple):
    """An order as it was shown. rests, filled, whole: shares."""

    price: Price
    rests: int
    filled: int
    whole: int


class OwnOrder(msgspec.Struct):
    order_id: OrderId
    market_id: MarketId
    outcome: Outcome
    side: Side
    created_ns: int
    shown: dict[int, _Showing] = {}  # by the venue's time

    def changes(self, fills: list[OwnFill]) -> Iterator[RestingChange]:
        """Every change of what rests, the oldest first; at one instant fills come last."""
        rows = sorted(self.shown.items())
        qtys = [fill.qty for fill in fills]
        # Fills that were never listed are taken to be older than all that were.
        filled = max(0, max(shown.filled for _, shown in rows) - sum(qtys))
        listed = list(zip(fills, [*accumulate(qtys, initial=filled)][1:], strict=True))
        first_ns, first = rows[0]
        if first_ns > self.created_ns:
            rests = first.whole - sum(fill.qty for fill in fills if not fill.maker)
            if first.rests:
                rests = first.rests + sum(
                    fill.qty
                    for fill, upto in listed
                    if fill.maker
                    and self.created_ns < fill.at_ns
                    and (fill.at_ns <= first_ns or upto <= first.filled)
                )
            rows.insert(0, (self.created_ns, first._replace(rests=rests, filled=0)))
        ends_ns = [at_ns for at_ns, _ in rows[1:]] + [2**63]
        for (at_ns, shown), end_ns in zip(rows, ends_ns, strict=True):
            rests = shown.rests
            yield self._change(at_ns, shown.price, rests)
            for fill, upto in listed:
                if fill.maker and at_ns < fill.at_ns < end_ns and upto > shown.filled:
                    rests -= fill.qty
                    yield self._change(fill.at_ns, shown.price, rests)

    def _change(self, at_ns: int, price: Price, qty: int) -> RestingChange:
        side = book_side(self.outcome, self.side)
        return RestingChange(at_ns, self.market_id, self.order_id, side, price, max(0, qty))


_Sizes = dict[tuple[BookSide, Price], int]


class OwnOrders:
    """Our orders on one account, from every entry of a journal or every event of a trader."""

    def __init__(self) -> None:
        self._orders: dict[OrderId, OwnOrder] = {}
        self._fills: dict[str, OwnFill] = {}
        self._roles: dict[str, str] = {}
        self._rested: dict[MarketId, tuple[list[int], list[_Sizes]]] | None = None

    def on_message(self, message: m.Event | m.Effect) -> None:
        if not isinstance(message, m.Response) or not isinstance(message.answer, m.Ok):
            return
        match message.answer.body:
            case m.OrderBody(order=order) | m.CancelBody(order=order):
                self._on_order(order)
            case m.OrdersBody(orders=orders):
                for order in orders:
                    self._on_order(order)
            case m.FillsBody(fills=fills):
                for fill in fills:
                    self._on_fill(fill)

    def _on_order(self, order: model.Order) -> None:
        own = outcome_and_side(order)
        if own is None:
            return
        try:
            created_ns, at_ns = instant.to_ns(order.created_at), instant.to_ns(order.updated_at)
        except ValueError:
            return
        known = self._orders.get(order.order_id)
        if known is None:
            known = OwnOrder(order.order_id, order.market_id, *own, created_ns)
            self._orders[order.order_id] = known
        # A create that is retried is answered with a fresh instant: the first one counts.
        known.created_ns = min(known.created_ns, created_ns)
        rests = order.remaining_qty if order.status in model.RESTING else 0
        before = known.shown.get(at_ns)
        if before is None or rests < before.rests:
            price = canonical(known.outcome, order.price)
            known.shown[at_ns] = _Showing(price, rests, order.filled_qty, order.qty)
            self._rested = None

    def _on_fill(self, fill: model.Fill) -> None:
        own = outcome_and_side(fill)
        self._roles[fill.trade_id] = fill.liquidity.value
        if own is None or fill.fill_id in self._fills:
            return
        try:
            created_ns = instant.to_ns(fill.created_at)
        except ValueError:
            return
        self._rested = None
        self._fills[fill.fill_id] = OwnFill(
            created_ns,
            fill.market_id,
            fill.order_id,
            fill.trade_id,
            book_side(*own),
            canonical(own[0], fill.outcome_price),
            fill.qty,
            fill.liquidity is not model.Liquidity.TAKER,
        )

    def drop_before(self, before_ns: int) -> None:
        lasts = {change.order_id: change for change in self.changes()}
        for order_id, last in lasts.items():
            if last.at_ns < before_ns and not last.qty:
                del self._orders[order_id]
        for fill_id, fill in [*self._fills.items()]:
            if fill.at_ns < before_ns and fill.order_id not in self._orders:
                del self._fills[fill_id]
                self._roles.pop(fill.trade_id, None)
        self._rested = None

    def get(self, order_id: OrderId) -> OwnOrder | None:
        return self._orders.get(order_id)

    def role(self, trade_id: str) -> str:
        """What we were in a print: `maker`, `taker`, `unknown` if the venue does not say, "" for a
        print of others."""
        return self._roles.get(trade_id, "")

    def fills(self) -> list[OwnFill]:
        return sorted(self._fills.values(), key=lambda fill: fill.at_ns)

    def changes(self) -> list[RestingChange]:
        """Every change of what rests, the oldest first."""
        by_order: dict[OrderId, list[OwnFill]] = {}
        for fill in self.fills():
            by_order.setdefault(fill.order_id, []).append(fill)
        rows = [
            change
            for order in self._orders.values()
            for change in order.changes(by_order.get(order.order_id, []))
        ]
        return sorted(rows, key=lambda change: change.at_ns)

    def resting(self, market_id: MarketId, at_ns: int) -> _Sizes:
        if self._rested is None:
            self._rested = _rested(self.changes())
        times, sizes = self._rested.get(market_id, ([], []))
        place = bisect_right(times, at_ns) - 1
        return sizes[place] if place >= 0 else {}

    def without(self, seen: m.BookUpdate) -> BookWithoutUs:
        own = self.resting(seen.market_id, seen.ts_ns)
        if not own:
            return BookWithoutUs(seen.bids, seen.asks, (), (), 0)
        bids, own_bids, missing_bids = _less(seen.bids, BookSide.BID, own)
        asks, own_asks, missing_asks = _less(seen.asks, BookSide.ASK, own)
        return BookWithoutUs(bids, asks, own_bids, own_asks, missing_bids + missing_asks)


def outcome_and_side(shown: model.Order | model.Fill) -> tuple[Outcome, Side] | None:
    """What an order or a fill buys or sells; None for values of a later version."""
    if shown.outcome is model.ShownOutcome.UNKNOWN or shown.side is model.ShownSide.UNKNOWN:
        return None
    return Outcome(shown.outcome.value), Side(shown.side.value)


def _rested(changes: list[RestingChange]) -> dict[MarketId, tuple[list[int], list[_Sizes]]]:
    found: dict[MarketId, tuple[list[int], list[_Sizes]]] = {}
    resting: dict[OrderId, RestingChange] = {}
    for change in changes:
        times, sizes = found.setdefault(change.market_id, ([], []))
        now = dict(sizes[-1]) if sizes else {}
        before = resting.get(change.order_id)
        resting[change.order_id] = change
        for each, sign in ((before, -1), (change, 1)):
            if each is not None and each.qty:
                key = each.side, each.price
                now[key] = now.get(key, 0) + sign * each.qty
                if not now[key]:
                    del now[key]
        if times and times[-1] == change.at_ns:
            sizes[-1] = now
        else:
            times.append(change.at_ns)
            sizes.append(now)
    return found


def _less(levels: Levels, side: BookSide, own: _Sizes) -> tuple[Levels, Levels, int]:
    mine = {price: qty for (of, price), qty in own.items() if of is side}
    left = [(price, Qty(size - mine.get(price, 0))) for price, size in levels]
    taken = [(price, Qty(min(size, mine[price]))) for price, size in levels if price in mine]
    missing = sum(mine.values()) - sum(qty for _, qty in taken)
    return tuple(level for level in left if level[1] > 0), tuple(taken), missing
