"""Hummingbot's cycle of orders: placed together, left alone, replaced together on a clock."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from bot.strategy.api import OwnFill, Quote, RungView, Take
from bot.strategy.pricing.price import legal
from venue.wire.money import BookSide, Price, Qty

Wanted = tuple[Quote | Take, ...]

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK


class NewOrder(NamedTuple):
    """An order to be placed: a whole-cent price and shares."""

    side: BookSide
    price: int
    qty: int


class CycleRules(msgspec.Struct, frozen=True):
    """When orders are replaced, kept and cancelled. Times in seconds, the rest fractions.

    refresh_s: the time between replacements. tolerance: orders stay if the new price is within this
    part of the old one; below 0 they never stay. filled_delay_s: without new orders after one
    filled whole. max_age_s: an older order is renewed in full if `renews_aged`, else cancelled.
    cancels_while_waiting: orders are cancelled after `refresh_s` even if none may be placed yet.
    hanging_away: the distance, as a part of the value, at which a hanging order is cancelled; None
    means that none hangs. min_spread: an order nearer to the value than this part of it is
    cancelled. takes: an order that crosses the book of others trades at once, tried once a
    refresh.
    """

    refresh_s: float
    tolerance: float
    filled_delay_s: float
    max_age_s: float
    renews_aged: bool
    cancels_while_waiting: bool
    hanging_away: float | None = None
    min_spread: float = -1.0
    takes: bool = False


class _CycleOrder(msgspec.Struct):
    """An order of the cycle. left: of the shares placed. hangs: left over when the other side
    filled. crosses: it has still to trade with the quotes that it crosses."""

    side: BookSide
    price: int
    left: int
    placed: int
    since_s: float
    hangs: bool = False
    crosses: bool = False


def _crosses(side: BookSide, price: int, rung: RungView) -> bool:
    """True if an order at this price would trade with the book of others."""
    if side is _BID:
        return rung.best_ask is not None and price >= rung.best_ask
    return rung.best_bid is not None and price <= rung.best_bid


class Cycle:
    """The orders of one market and the two clocks that replace them."""

    def __init__(self, rules: CycleRules) -> None:
        self._rules = rules
        self._orders: list[_CycleOrder] = []
        self._create_s = 0.0
        self._cancel_s = 0.0
        self._whole = {_BID: 0, _ASK: 0}
        self._last: Wanted = ()

    @property
    def orders(self) -> tuple[tuple[BookSide, int, int, bool], ...]:
        """(side, price, shares left, True if it hangs) of every order."""
        return tuple((each.side, each.price, each.left, each.hangs) for each in self._orders)

    def may_create(self, now_s: float) -> bool:
        """True if new orders may be placed now."""
        return self._create_s <= now_s

    def filled_whole(self, side: BookSide) -> int:
        """How many more orders of a side have filled whole since both sides were equal, without
        hanging ones: ping-pong leaves out as many."""
        return self._whole[side]

    def drop_orders(self) -> Wanted:
        """Cancel all orders, as while there is no value; new ones may follow at once."""
        self._orders.clear()
        self._create_s = self._cancel_s = 0.0
        return self._reuse(())

    def book_fills(self, fills: Iterable[OwnFill], now_s: float, part: int = 1) -> None:
        """Subtract fills from their orders: first those at the same price, then the boldest of the
        side, because a take may fill at a better price. part: the divisor of sizes
        (`EventView.size_part`)."""
        for fill in fills:
            same = [each for each in self._orders if each.side is fill.side]
            same.sort(key=lambda each: each.price, reverse=fill.side is _BID)
            exact = [each for each in same if each.price == fill.price]
            others = [each for each in same if each.price != fill.price]
            left = int(fill.qty) * part
            for each in (*exact, *others):
                used = min(left, each.left)
                each.left -= used
                left -= used
                if used and each.left < part:
                    each.left = 0
                    self._on_whole_fill(each, now_s)
        self._orders = [each for each in self._orders if each.left > 0]

    def _on_whole_fill(self, order: _CycleOrder, now_s: float) -> None:
        """Wait before the next order, and leave the other side hanging."""
        if order.hangs:
            return
        self._create_s = now_s + self._rules.filled_delay_s
        self._cancel_s = min(self._cancel_s, self._create_s)
        self._whole[order.side] += 1
        if self._whole[_BID] == self._whole[_ASK]:
            self._whole = {_BID: 0, _ASK: 0}
        if self._rules.hanging_away is not None:
            self._leave_hanging(order.side.other)

    def _leave_hanging(self, side: BookSide) -> None:
        """Let the orders of a side hang, merged to one a price."""
        at: dict[int, _CycleOrder] = {}
        kept = []
        for each in self._orders:
            if each.side is not side:
                kept.append(each)
            elif each.price in at:
                at[each.price].left += each.left
                at[each.price].placed += each.placed
            else:
                each.hangs = True
                at[each.price] = each
                kept.append(each)
        self._orders = kept

    def step(
        self, proposal: Sequence[NewOrder] | None, value: float, rung: RungView, now_s: float
    ) -> Wanted:
        """Cancel orders that are due, place the proposal if none of the last one is left, and
        return the quotes. proposal: None while nothing may be placed (`may_create`)."""
        self._cancel_due(proposal, now_s)
        self._cancel_misplaced(value)
        self._check_age(now_s)
        if proposal is not None and all(each.hangs for each in self._orders):
            self._place_orders(proposal, rung, now_s)
        return self._reuse((*self._resting(rung), *self._takes(rung)))

    def _cancel_due(self, proposal: Sequence[NewOrder] | None, now_s: float) -> None:
        active = [each for each in self._orders if not each.hangs]
        if not active or self._cancel_s > now_s:
            return
        if proposal is None and not self._rules.cancels_while_waiting:
            return
        if proposal is not None and self._is_near(active, proposal):
            for each in active:
                each.crosses = self._rules.takes
            self._set_clocks(now_s)
            return
        self._orders = [each for each in self._orders if each.hangs]

    def _is_near(self, active: list[_CycleOrder], proposal: Sequence[NewOrder]) -> bool:
        """True if both sides have as many orders as proposed, each within the tolerance. Sizes are
        not compared, as in the original."""
        for side in (_BID, _ASK):
            old = sorted(each.price for each in active if each.side is side)
            new = sorted(each.price for each in proposal if each.side is side)
            if len(old) != len(new):
                return False
            for was, price in zip(old, new, strict=True):
                if abs(price - was) > self._rules.tolerance * was:
                    return False
        return True

    def _cancel_misplaced(self, value: float) -> None:
        """Cancel hanging orders too far from the value, and others too near to it."""
        away = self._rules.hanging_away
        kept = []
        for each in self._orders:
            distance = (value - each.price if each.side is _BID else each.price - value) / value
            if each.hangs and away is not None:
                if abs(distance) < away:
                    kept.append(each)
            elif distance >= self._rules.min_spread:
                kept.append(each)
        self._orders = kept

    def _check_age(self, now_s: float) -> None:
        old = [e for e in self._orders if now_s - e.since_s >= self._rules.max_age_s]
        if self._rules.renews_aged:
            for each in old:
                each.left, each.since_s = each.placed, now_s
        elif old:
            self._orders = [
                each for each in self._orders if now_s - each.since_s < self._rules.max_age_s
            ]

    def _place_orders(self, proposal: Sequence[NewOrder], rung: RungView, now_s: float) -> None:
        """Place the proposal, except for orders that would cross hanging ones."""
        hanging_bids = [each.price for each in self._orders if each.side is _BID]
        hanging_asks = [each.price for each in self._orders if each.side is _ASK]
        placed = []
        for side, price, qty in proposal:
            if side is _BID:
                clear = not hanging_asks or price < min(hanging_asks)
            else:
                clear = not hanging_bids or price > max(hanging_bids)
            if clear:
                crosses = self._rules.takes and _crosses(side, price, rung)
                placed.append(_CycleOrder(side, price, qty, qty, now_s, crosses=crosses))
        if placed:
            self._orders += placed
            self._set_clocks(now_s)

    def _takes(self, rung: RungView) -> list[Take]:
        """The takes now: of each side the boldest price that has not been tried."""
        takes = []
        for side in (_BID, _ASK):
            pending = [each for each in self._orders if each.side is side and each.crosses]
            for each in pending:
                each.crosses = _crosses(side, each.price, rung)
            pending = [each for each in pending if each.crosses]
            if pending:
                pick = max if side is _BID else min
                price = pick(each.price for each in pending)
                now = [each for each in pending if each.price == price]
                for each in now:
                    each.crosses = False
                takes.append(Take(side, Price(price), Qty(sum(each.left for each in now))))
        return takes

    def _set_clocks(self, now_s: float) -> None:
        self._create_s = self._cancel_s = now_s + self._rules.refresh_s

    def _resting(self, rung: RungView) -> Iterable[Quote]:
        """The orders as quotes, one a price, without those that would touch the book of others
        now."""
        sums: dict[tuple[BookSide, int], int] = {}
        for each in self._orders:
            allowed = legal(each.side, rung.best_bid, rung.best_ask)
            if allowed is not None and allowed[0] <= each.price <= allowed[1]:
                key = (each.side, each.price)
                sums[key] = sums.get(key, 0) + each.left
        return [Quote(side, Price(price), Qty(qty)) for (side, price), qty in sums.items()]

    def _reuse(self, wanted: Wanted) -> Wanted:
        """The object of before if nothing has changed and nothing is taken."""
        if wanted != self._last or any(isinstance(each, Take) for each in wanted):
            self._last = wanted
        return self._last
