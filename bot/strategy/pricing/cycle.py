"""Hummingbot's cycle of orders: placed together, left alone, replaced together on a clock.

One `Cycle` serves one rung. It remembers which wishes stand, takes fills off them, and tells when
new ones may be placed; what they are is the strategy's. Nothing else asks for orders in this way:
a strategy of this house says anew at each view what it wants.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from bot.strategy.api import OwnFill, Quote, RungView, Take
from bot.strategy.pricing.price import legal
from venue.wire.money import BookSide, Price, Qty

Wanted = tuple[Quote | Take, ...]

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK


class Wish(NamedTuple):
    """An order to be placed: a whole-cent price and shares."""

    side: BookSide
    price: int
    qty: int


class CycleRules(msgspec.Struct, frozen=True):
    """When orders are replaced, kept and given up. Times in seconds, the rest fractions.

    refresh_s: how long orders stand. tolerance: how far a new price may be from the old one, as a
    part of it, for the orders to be left; below 0 they never are. filled_delay_s: how long nothing
    new is placed after an order filled whole. max_age_s: an order older than this is renewed in
    full where `renews_aged`, else given up. cancels_while_waiting: whether orders whose time is up
    go although nothing may be placed yet. hanging_away: the distance, as a part of the value, at
    which an order that was left hanging is given up; None leaves none hanging.
    min_spread: an order nearer to the value than this part of it is given up.
    takes: whether a wish that crosses the book of others trades at once, tried once a turn.
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


class _RestingWish(msgspec.Struct):
    """A wish that stands: shares left of those placed, since when, whether it hangs, and whether
    it has still to trade with what it crossed when it was placed."""

    side: BookSide
    price: int
    left: int
    placed: int
    since_s: float
    hangs: bool = False
    crosses: bool = False


def _price_of(standing: _RestingWish) -> int:
    return standing.price


def _crosses(side: BookSide, price: int, rung: RungView) -> bool:
    """Whether an order at this price would trade with the book of others."""
    if side is _BID:
        return rung.best_ask is not None and price >= rung.best_ask
    return rung.best_bid is not None and price <= rung.best_bid


class Cycle:
    """The standing wishes of one rung and the two clocks that replace them."""

    def __init__(self, rules: CycleRules) -> None:
        self._rules = rules
        self._standing: list[_RestingWish] = []
        self._create_s = 0.0
        self._cancel_s = 0.0
        self._whole = {_BID: 0, _ASK: 0}
        self._shown: Wanted = ()

    @property
    def standing(self) -> tuple[tuple[BookSide, int, int, bool], ...]:
        """(side, price, shares left, whether it hangs) of every wish that stands."""
        return tuple((each.side, each.price, each.left, each.hangs) for each in self._standing)

    def may_create(self, now_s: float) -> bool:
        """Whether a proposal is wanted from the strategy now."""
        return self._create_s <= now_s

    def filled_whole(self, side: BookSide) -> int:
        """How many orders of a side have filled whole since both sides had filled equally often:
        what ping-pong leaves out. Orders left hanging do not count."""
        return self._whole[side]

    def clear(self) -> Wanted:
        """Drop all wishes, as where there is no value to hold them to; new ones may follow."""
        self._standing.clear()
        self._create_s = self._cancel_s = 0.0
        return self._show(())

    def book(self, fills: Iterable[OwnFill], now_s: float, part: int = 1) -> None:
        """Take fills off the wishes they belong to: first those at the very price, then the
        boldest of the side, for a take may fill at a better price than it was wished at. part: what
        wishes are divided by (`EventView.size_part`): so much of a wish is all that there was."""
        for fill in fills:
            same = [each for each in self._standing if each.side is fill.side]
            same.sort(key=_price_of, reverse=fill.side is _BID)
            exact = [each for each in same if each.price == fill.price]
            others = [each for each in same if each.price != fill.price]
            left = int(fill.qty) * part
            for each in (*exact, *others):
                used = min(left, each.left)
                each.left -= used
                left -= used
                if used and each.left < part:
                    each.left = 0
                    self._completed(each, now_s)
        self._standing = [each for each in self._standing if each.left > 0]

    def _completed(self, order: _RestingWish, now_s: float) -> None:
        """An order filled whole: wait before the next, and leave the other side hanging."""
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
        """Let the wishes of a side hang, one a price, so that there are never more than prices."""
        at: dict[int, _RestingWish] = {}
        kept = []
        for each in self._standing:
            if each.side is not side:
                kept.append(each)
            elif each.price in at:
                at[each.price].left += each.left
                at[each.price].placed += each.placed
            else:
                each.hangs = True
                at[each.price] = each
                kept.append(each)
        self._standing = kept

    def step(
        self, proposal: Sequence[Wish] | None, value: float, rung: RungView, now_s: float
    ) -> Wanted:
        """Give up what is due, place the proposal where nothing of the last one stands, and say
        what is wanted. proposal: None while nothing may be placed (`may_create`)."""
        self._give_up_due(proposal, now_s)
        self._give_up_misplaced(value)
        self._mind_age(now_s)
        if proposal is not None and all(each.hangs for each in self._standing):
            self._place(proposal, rung, now_s)
        return self._show((*self._resting(rung), *self._takes(rung)))

    def _give_up_due(self, proposal: Sequence[Wish] | None, now_s: float) -> None:
        active = [each for each in self._standing if not each.hangs]
        if not active or self._cancel_s > now_s:
            return
        if proposal is None and not self._rules.cancels_while_waiting:
            return
        if proposal is not None and self._is_near(active, proposal):
            for each in active:
                each.crosses = self._rules.takes
            self._set_clocks(now_s)
            return
        self._standing = [each for each in self._standing if each.hangs]

    def _is_near(self, active: list[_RestingWish], proposal: Sequence[Wish]) -> bool:
        """Whether both sides have as many orders as proposed, each within the tolerance. Sizes
        are not compared, as in the original."""
        for side in (_BID, _ASK):
            old = sorted(each.price for each in active if each.side is side)
            new = sorted(wish.price for wish in proposal if wish.side is side)
            if len(old) != len(new):
                return False
            for was, price in zip(old, new, strict=True):
                if abs(price - was) > self._rules.tolerance * was:
                    return False
        return True

    def _give_up_misplaced(self, value: float) -> None:
        """Drop hanging wishes too far from the value, and others too near to it."""
        away = self._rules.hanging_away
        kept = []
        for each in self._standing:
            distance = (value - each.price if each.side is _BID else each.price - value) / value
            if each.hangs and away is not None:
                if abs(distance) < away:
                    kept.append(each)
            elif distance >= self._rules.min_spread:
                kept.append(each)
        self._standing = kept

    def _mind_age(self, now_s: float) -> None:
        old = [e for e in self._standing if now_s - e.since_s >= self._rules.max_age_s]
        if self._rules.renews_aged:
            for each in old:
                each.left, each.since_s = each.placed, now_s
        elif old:
            self._standing = [
                each for each in self._standing if now_s - each.since_s < self._rules.max_age_s
            ]

    def _place(self, proposal: Sequence[Wish], rung: RungView, now_s: float) -> None:
        """Let the proposal stand, clear of what hangs."""
        hanging_bids = [each.price for each in self._standing if each.side is _BID]
        hanging_asks = [each.price for each in self._standing if each.side is _ASK]
        placed = []
        for wish in proposal:
            if wish.side is _BID:
                clear = not hanging_asks or wish.price < min(hanging_asks)
            else:
                clear = not hanging_bids or wish.price > max(hanging_bids)
            if clear:
                crosses = self._rules.takes and _crosses(wish.side, wish.price, rung)
                placed.append(
                    _RestingWish(wish.side, wish.price, wish.qty, wish.qty, now_s, crosses=crosses)
                )
        if placed:
            self._standing += placed
            self._set_clocks(now_s)

    def _takes(self, rung: RungView) -> list[Take]:
        """What is to trade at once: of each side the boldest price that has not been tried."""
        takes = []
        for side in (_BID, _ASK):
            pending = [each for each in self._standing if each.side is side and each.crosses]
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
        """The standing wishes as quotes, one a price; those that would touch the book of others
        wait until it has moved."""
        sums: dict[tuple[BookSide, int], int] = {}
        for each in self._standing:
            allowed = legal(each.side, rung.best_bid, rung.best_ask)
            if allowed is not None and allowed[0] <= each.price <= allowed[1]:
                key = (each.side, each.price)
                sums[key] = sums.get(key, 0) + each.left
        return itertools.starmap(
            lambda key, qty: Quote(key[0], Price(key[1]), Qty(qty)), sums.items()
        )

    def _show(self, wanted: Wanted) -> Wanted:
        """The same object as last time where nothing has changed and nothing is to be taken."""
        if wanted != self._shown or any(isinstance(each, Take) for each in wanted):
            self._shown = wanted
        return self._shown
