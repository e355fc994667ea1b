"""Wanted quotes and our orders on one market -> the changes that keep the most queue priority.

Nothing here sends, counts requests or knows limits of loss. The table:

    same price, same size        keep
    same price, less             amend the remaining size down: the priority is kept
    same price, more             keep, and add a second order for the difference
    near, not worth the priority keep: a tick on the safe side, or bolder but still with an edge
    other price, worth it        amend the price: one request, no moment without a quote
    too bold for its quotes      amend now, past the throttle, or else cancel
    other route, or no partner   cancel, and create once that is over
    a pair locked for too little cancel the purchase: sell the inventory instead
    many at one price and route  cancel the newest of little priority; create it larger
    would cross our own order    wait: its own side's plan moves or cancels that one first

A bid is `sell no` while there is free NO inventory, else `buy yes`; an ask `sell yes` before
`buy no`.
Our orders at one price are one resting level. Which level serves which target is the assignment of
least cost: requests, priority lost, edge given up. The value of priority: `queue_value`.

See docs/design.md#bot-5.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from math import ceil, floor
from operator import attrgetter
from typing import Final

import msgspec

from bot.core.orders.cancel_reasons import CancelReason
from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import (
    Action,
    AmendAction,
    CancelAction,
    CreateAction,
    Plan,
    crosses,
    free_shares,
)
from bot.core.planning.queue_value import REQUEST_MIN, RISK_CENTS, QuoteEconomics, loses
from bot.core.settings import PaceSettings
from bot.strategy.api import Quote
from venue.wire.money import PAYOUT_CENTS, BookSide, Outcome, Price, Qty, Side, canonical
from venue.wire.requests import Amend

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_OPEN: Final = State.OPEN
_BUY: Final = Side.BUY
_PRICE: Final = attrgetter("price")
_QTY: Final = attrgetter("qty")
_AGE: Final = attrgetter("placed_ns")

_TICK_COST: Final = REQUEST_MIN / 1_000
"""Cents a tick: decides between ways that cost the same, and nothing else."""

BySide = tuple[list[Quote], list[Quote]]
"""The bids and the asks of quotes, the best of each side first."""


def by_side(quotes: Iterable[Quote]) -> BySide:
    bids: list[Quote] = []
    asks: list[Quote] = []
    for quote in quotes:
        (bids if quote.side is _BID else asks).append(quote)
    bids.sort(key=_PRICE, reverse=True)
    asks.sort(key=_PRICE)
    return bids, asks


# --- targets without flicker ----------------------------------------------------------------------

_Levels = tuple[list[Price], list[Qty]]
"""The prices of a side, the best first, and the shares at each."""


class QuoteDebouncer:
    """The wanted quotes of one side of one market without their flicker.

    A quote steps back at once, and comes forward once it has been wanted for a window, at most for
    two. So a value that swings a tick back and forth does not move an order at every swing.
    """

    def __init__(self, side: BookSide, window_ns: int) -> None:
        self._safer: Callable[[Price, Price], Price] = min if side is _BID else max
        self._window_ns = window_ns
        self.reset()

    def reset(self) -> None:
        """Use the next quotes as they are."""
        self._last: _Levels | None = None
        self._before: _Levels = ([], [])
        self._now: _Levels = ([], [])
        self._turn_ns = 0

    def set_window(self, window_ns: int) -> None:
        self._turn_ns += window_ns - self._window_ns
        self._window_ns = window_ns

    def debounce(self, wanted: Sequence[Quote], now_ns: int) -> tuple[Sequence[Quote], int | None]:
        """The steady quotes of this side, best first, and when they may change by themselves.

        Level by level they are at most as bold and as large as `wanted`, which is their limit, so
        that an order at the wanted price stays there. wanted: the best first.
        """
        if not self._window_ns:
            return wanted, None
        fresh: _Levels = (list(map(_PRICE, wanted)), list(map(_QTY, wanted)))
        if self._last is None:
            self._before = self._now = fresh
            self._turn_ns = now_ns + self._window_ns
        elif now_ns >= self._turn_ns:
            is_silent = now_ns >= self._turn_ns + self._window_ns
            # No call for a whole window: the last quotes were wanted throughout.
            self._before = self._last if is_silent else self._now
            self._now = fresh
            self._turn_ns = now_ns + self._window_ns
        else:
            if self._now != fresh:
                self._now = self._safest(self._now, fresh)
        self._last = fresh
        steady = self._now
        if self._before != steady:
            steady = self._safest(self._before, steady)
        if steady == fresh:
            return wanted, None
        quotes: list[Quote] = []
        for quote, price, qty in zip(wanted, *steady, strict=False):
            if price == quote.price and qty == quote.qty:
                quotes.append(quote)
            else:
                limit = quote.price if quote.limit is None else quote.limit
                quotes.append(Quote(quote.side, price, qty, limit))
        return quotes, self._turn_ns

    def _safest(self, some: _Levels, others: _Levels) -> _Levels:
        """Level by level the less bold price and the lesser size; as many levels as both have."""
        (prices, sizes), (other_prices, other_sizes) = some, others
        return list(map(self._safer, prices, other_prices)), list(map(min, sizes, other_sizes))


# --- targets and resting levels -------------------------------------------------------------------


class TargetLevel(msgspec.Struct, eq=False):
    """One wanted price of a side."""

    price: Price
    bound: Price
    """The boldest price at which an order may stay for it."""
    qty: int
    resize_min: int
    """So many shares too many or too few there are worth a request."""
    missing: int
    """Shares that no order of ours serves yet."""
    is_served: bool = False
    promised: int = 0
    """Inventory to be sold here: no purchase for another target gives way to it."""


class RestingLevel(msgspec.Struct, frozen=True, eq=False):
    """Our orders at one price, none of which has a write in flight."""

    price: Price
    orders: list[OwnOrder]
    """The oldest first."""
    qty: int
    """Shares of all."""


class WorkingOrders:
    """Our live orders on one market, and the inventory there that none of them may be selling.

    A market keeps it until an order or the inventory may have changed: a change calls
    `QuotingEngine.orders_changed` or `fills_booked`, or `may_go` where an order is only cancelled.
    """

    def __init__(self, orders: Sequence[OwnOrder], yes_qty: int, no_qty: int) -> None:
        self.everyone = orders
        self.to_cancel = [own for own in orders if own.cancel_requested and own.can_cancel]
        """They are cancelled whatever the targets."""
        yes, no = free_shares(yes_qty, no_qty, orders)
        self.free = {_BID: no, _ASK: yes}
        """Shares that a side may sell; below zero while sells are undecided."""
        quoted = [own for own in orders if own.is_live and not own.is_take]
        self.orders = {side: [own for own in quoted if own.book_side is side] for side in BookSide}
        self.levels = {side: _resting_levels(side, self.orders[side]) for side in BookSide}


def _resting_levels(side: BookSide, orders: Iterable[OwnOrder]) -> list[RestingLevel] | None:
    """The resting levels of a side, the best first; None where an order has a write in flight or is
    to be cancelled."""
    at: dict[Price, list[OwnOrder]] = {}
    for own in orders:
        if own.state is not _OPEN or own.cancel_requested:
            return None
        at.setdefault(own.yes_price, []).append(own)
    return [_level_of(at[price]) for price in sorted(at, reverse=side is _BID)]


def _level_of(orders: list[OwnOrder]) -> RestingLevel:
    if len(orders) > 1:
        orders.sort(key=_AGE)
    return RestingLevel(orders[0].yes_price, orders, sum([own.remaining for own in orders]))


def _targets(
    side: BookSide,
    quotes: Sequence[Quote],
    facing: Sequence[Quote],
    resize_pct: int,
    fair_cents: float | None,
) -> dict[Price, TargetLevel]:
    """The targets of a side by price, the best first. facing: the quotes of the other side, which
    no order that stays for a target may meet. fair_cents: beyond it, none stays at a bolder price
    than its target's: its edge is below zero."""
    targets: dict[Price, TargetLevel] = {}
    for quote in quotes:
        price = quote.price
        bound = price if quote.limit is None else quote.limit
        if side is _BID:
            below = (facing[0].price if facing else PAYOUT_CENTS) - 1
            if fair_cents is not None:
                below = min(below, floor(fair_cents))
            bound = Price(max(price, min(bound, below)))
        else:
            above = (facing[0].price if facing else 0) + 1
            if fair_cents is not None:
                above = max(above, ceil(fair_cents))
            bound = Price(min(price, max(bound, above)))
        resize_min = max(1, -(-resize_pct * quote.qty // 100))
        targets[price] = TargetLevel(price, bound, quote.qty, resize_min, quote.qty)
    return targets


# --- the plan -------------------------------------------------------------------------------------


def plan_orders(
    bids: Sequence[Quote],
    asks: Sequence[Quote],
    ours: WorkingOrders,
    pace: PaceSettings,
    now_ns: int,
    economics: QuoteEconomics,
    short: Container[BookSide] = (),
) -> Plan:
    """The changes that turn our orders into the wanted quotes of each side, the best first.

    An order after a timeout is left alone and counted at its price; its side gets no new order (one
    live-or-possible order per slot). An order with a write in flight, or to be cancelled, keeps as
    many shares from being made. So does a take without an answer, which serves no target: it never
    rests. short: sides on which a limit has cut new orders: no order there is cancelled to be
    replaced.
    """
    actions: list[Action] = []
    again: list[int] = []
    for own in ours.to_cancel:
        if own.due_ns <= now_ns:
            actions.append(CancelAction(own, own.why, RISK_CENTS * own.remaining))
        else:
            again.append(own.due_ns)
    for side, quotes, facing in ((_BID, bids, asks), (_ASK, asks, bids)):
        targets = _targets(side, quotes, facing, pace.resize_pct, economics.fair_cents)
        plan = _SidePlan(
            side, targets, ours, pace, now_ns, economics, side in short, ours.free[side]
        )
        if not plan.is_as_wanted():
            plan.make()
            actions += plan.actions
            again += plan.again
    # Cancels first, else in order; of several actions about one order the first counts.
    actions.sort(key=lambda action: not isinstance(action, CancelAction))
    chosen: dict[int, Action] = {}
    for action in actions:
        about = action if isinstance(action, CreateAction) else action.order
        chosen.setdefault(id(about), action)
    return Plan(tuple(chosen.values()), min(again, default=None))


class _SidePlan(msgspec.Struct, eq=False):
    """The plan of one side of a market, as it is made."""

    side: BookSide
    targets: dict[Price, TargetLevel]
    ours: WorkingOrders
    pace: PaceSettings
    now_ns: int
    economics: QuoteEconomics
    is_short: bool
    free: int
    """Inventory that may be sold here; sales of this plan take from it."""
    promised: int = 0
    """Of those, the shares promised to targets."""
    spares: list[OwnOrder] = []
    moved_to: list[Price] = []
    unmatched: list[OwnOrder] = []
    """They may rest, serve no target and cannot be changed."""
    actions: list[Action] = []
    again: list[int] = []

    def is_as_wanted(self) -> bool:
        """True when nothing is to be done, as mostly: each target has orders that stay for it, and
        there are no others."""
        levels = self.ours.levels[self.side]
        if levels is None or len(levels) != len(self.targets):
            return False
        for target, level in zip(self.targets.values(), levels, strict=True):
            if level.price != target.price:
                if not self._stays_near(target, level):
                    return False
                continue
            room = target.qty
            for own in level.orders:
                if room <= 0 or own.remaining - room >= target.resize_min:
                    return False
                room -= own.max_fillable
            lacks = target.qty - level.qty
            if room >= target.resize_min:
                return False
            if self.free > 0 and any(
                self._locks_too_much(target, own, lacks) for own in level.orders
            ):
                return False
        return True

    def make(self) -> None:
        levels = self._changeable_levels()
        pairs = self._match(levels, [each for each in self.targets.values() if not each.is_served])
        if self.free > 0:
            # Promise inventory to the shares that targets lack besides their orders: a new order
            # is made there anyway, so no purchase gives way to a sale. The best target first,
            # with orders or without: else the promise would move with every order.
            serving = {target.price: level for level, target in pairs if target is not None}
            for target in self.targets.values():
                there = serving.get(target.price)
                if there is None or there.price == target.price:
                    self._promise(target, self._offered(target, 0 if there is None else there.qty))
        for level, given in pairs:
            if given is None:
                self.spares.extend(level.orders)
            elif level.price == given.price:
                self._stay(level, given)
            elif self._stays_near(given, level):
                self._serve(given, max(level.qty, given.qty))
            else:
                self._move(level, given)
        if self.spares:
            self._place_spares()
        if any(own.book_side is self.side and own.is_unknown for own in self.ours.everyone):
            return
        if self.unmatched:
            self._count_unmatched()
        for target in self.targets.values():
            if target.missing >= target.resize_min:
                self._fill_up(target)

    # --- questions --------------------------------------------------------------------------------

    def _keeps(self, target: TargetLevel, price: Price, qty: int) -> bool:
        """True if `qty` shares at `price` may stay for a target: near enough, with an edge, and of
        about its size."""
        tolerance = self.pace.tolerance_ticks
        if self.side is _BID:
            is_near = target.price - tolerance <= price <= target.bound
        else:
            is_near = target.bound <= price <= target.price + tolerance
        return is_near and abs(qty - target.qty) < target.resize_min

    def _stays_near(self, target: TargetLevel, level: RestingLevel) -> bool:
        """True if a level at another price may be left for a target, and gains too little by moving
        there. A bolder level is left: it is nearer to a fill, and has an edge."""
        if not self._keeps(target, level.price, level.qty):
            return False
        is_safer = level.price < target.price if self.side is _BID else level.price > target.price
        request_cents = self.economics.request_cents(level.qty)
        return not is_safer or self._gain(target, level.orders) <= request_cents

    def _steps_back(self, own: OwnOrder) -> bool:
        """True if an order rests at a bolder price than any quote of its side allows; without a
        quote, if its edge is below zero."""
        side, price = self.side, own.yes_price
        if not self.targets:
            fair_cents = self.economics.fair_cents
            return fair_cents is not None and loses(side, price, fair_cents)
        bounds = [target.bound for target in self.targets.values()]
        return price > max(bounds) if side is _BID else price < min(bounds)

    def _gain(self, target: TargetLevel, orders: Iterable[OwnOrder]) -> float:
        """Cents gained by having orders at a target, at the back, rather than where they are. An
        order beyond its bound counts as if it filled whole: a better informed taker meets it."""
        gain, sign, economics = 0.0, 1 if self.side is _BID else -1, self.economics
        edge_there = economics.edge(self.side, target.price)
        for own in orders:
            bolder = sign * (own.yes_price - target.price)
            edge = edge_there - bolder
            gain += economics.joining(self.side, target.price, own.remaining, edge_there)
            if sign * own.yes_price > sign * target.bound:
                gain += own.remaining * max(REQUEST_MIN, -edge, float(bolder))
            else:
                gain -= economics.staying(own, edge)
        return gain

    def _locks_too_much(self, target: TargetLevel, own: OwnOrder, lacks: int) -> bool:
        """True if a purchase locks pairs with inventory worth more than its priority and the two
        requests of a sale. lacks: shares missing here."""
        if self.is_short or own.side is not _BUY:
            return False
        left = self.free - self.promised + target.promised
        whole = own.remaining + max(0, lacks)
        needed = whole if lacks >= target.resize_min else own.remaining
        if left < needed or min(left, whole) < target.resize_min:
            return False
        economics = self.economics
        edge = economics.edge(self.side, target.price)
        kept_cents = economics.queue_value_cents(own, edge)
        kept_cents += 2 * economics.request_cents(own.remaining)
        return economics.capital_cents * own.remaining > kept_cents

    # --- inventory --------------------------------------------------------------------------------

    def _offered(self, target: TargetLevel, resting: int = 0) -> int:
        """Inventory that may be sold at a target: not promised elsewhere, and no more than is
        missing there besides `resting` shares. 0 for too few to be worth a request."""
        free = self.free - self.promised + target.promised
        offered = min(free, target.missing - resting)
        return offered if offered >= target.resize_min else 0

    def _promise(self, target: TargetLevel, qty: int) -> None:
        self.promised += qty - target.promised
        target.promised = qty

    def _serve(self, target: TargetLevel, qty: int) -> None:
        """An order of ours rests, or will rest, at a target."""
        target.is_served = True
        target.missing = max(0, target.missing - qty)

    def _sells_instead(self, target: TargetLevel, own: OwnOrder) -> bool:
        """True if an order is a purchase that a sale of free shares replaces, with too few left for
        a new one. Nothing is made at the target until it is over: both might fill."""
        if self.is_short or own.side is not _BUY:
            return False
        sold, free = self._offered(target), self.free - self.promised + target.promised
        if not sold or free < own.remaining or target.missing - sold >= target.resize_min:
            return False
        self._promise(target, sold)
        self._serve(target, target.missing)
        return True

    # --- which level serves which target ----------------------------------------------------------

    def _changeable_levels(self) -> list[RestingLevel]:
        """Our orders that can be changed, by price. An order that cannot serves the target at its
        price, or one near it, whatever is wanted."""
        at: dict[Price, list[OwnOrder]] = {}
        fixed: list[OwnOrder] = []
        for own in self.ours.orders[self.side]:
            if own.cancel_requested:
                self.unmatched.append(own)
            elif own.state is _OPEN:
                at.setdefault(own.yes_price, []).append(own)
            else:
                fixed.append(own)
        for own in fixed:
            price = own.yes_prices[-1]
            target = self.targets.get(price)
            if target is not None:
                self._serve(target, own.max_fillable)
                if price in at:
                    self._stay(_level_of(at.pop(price)), target)
                continue
            near = [
                each
                for each in self.targets.values()
                if not each.is_served and self._keeps(each, price, own.remaining)
            ]
            if near:
                target = min(near, key=lambda each: abs(each.price - price))
                self._serve(target, max(own.remaining, target.qty))
            else:
                self.unmatched.append(own)
        for price in [price for price in at if price in self.targets]:
            if self.targets[price].is_served:
                self._stay(_level_of(at.pop(price)), self.targets[price])
        return [_level_of(orders) for orders in at.values()]

    def _match(
        self, levels: list[RestingLevel], targets: list[TargetLevel]
    ) -> list[tuple[RestingLevel, TargetLevel | None]]:
        """Each level with the target that it shall serve, at the least cost of all.

        A level serves the target of its own price before anything new comes there: a new order
        at a level that stays for another target would be too much, and be cancelled.
        """
        if not levels or not targets:
            return [(level, None) for level in levels]
        at = {target.price: target for target in targets}
        if len(levels) == len(targets) and all(level.price in at for level in levels):
            return [(level, at[level.price]) for level in levels]
        if len(levels) == len(targets) == 1:
            return [(levels[0], targets[0])]
        pairs = self._cheapest(levels, targets)
        near = [level for level, target in pairs if target and self._stays_near(target, level)]
        stays = {target.price for level, target in pairs if target and level in near}
        for level, target in pairs:
            own = at.get(level.price)
            if own is None or target is own or own.price in stays or level not in near:
                continue
            others = [each for each in levels if each is not level]
            left = [each for each in targets if each is not own]
            return [(level, own), *self._match(others, left)]
        return pairs

    def _cheapest(
        self, levels: list[RestingLevel], targets: list[TargetLevel]
    ) -> list[tuple[RestingLevel, TargetLevel | None]]:
        """The assignment of least cost."""
        request, side = self.economics.request_cents, self.side
        lost = []  # the value of the priority of each level
        for level in levels:
            edge = self.economics.edge(side, level.price)
            lost.append(sum(self.economics.queue_value_cents(own, edge) for own in level.orders))
        chosen = assign(
            [
                [self._cost(level, target, value) for target in targets]
                for level, value in zip(levels, lost, strict=True)
            ],
            [
                request(level.qty) * len(level.orders) + value
                for level, value in zip(levels, lost, strict=True)
            ],
            [request(target.qty) for target in targets],
        )
        return [
            (level, None if place is None else targets[place])
            for level, place in zip(levels, chosen, strict=True)
        ]

    def _cost(self, level: RestingLevel, target: TargetLevel, lost: float) -> float:
        """Cents that it costs to have a level serve a target: nothing at its price, the edge given
        up by staying near, else the requests and the priority, worth `lost`."""
        if level.price == target.price:
            return 0.0
        ticks = abs(level.price - target.price)
        largest = max([own.remaining for own in level.orders])
        request = self.economics.request_cents
        moved = request(max(largest, target.qty))
        if abs(largest - target.qty) >= target.resize_min:
            moved += request(abs(largest - target.qty))
        # Never more than to cancel the one and create the other, and of equal ones the shorter way.
        apart = request(level.qty) * len(level.orders) + request(target.qty)
        moved = min(moved, apart - REQUEST_MIN / 2) + lost + _TICK_COST * ticks
        if self._keeps(target, level.price, level.qty):
            gain = self._gain(target, level.orders)
            return min(moved, max(0.0, gain) + _TICK_COST * ticks / 2)
        return moved

    # --- the changes ------------------------------------------------------------------------------

    def _stay(self, level: RestingLevel, target: TargetLevel) -> None:
        """A level at a target's price: oldest first; too much there is shrunk from the newest."""
        lacks = target.missing - level.qty
        for own in level.orders:
            room = target.missing
            if room <= 0:
                self.spares.append(own)
                continue
            self._serve(target, own.max_fillable)
            over = own.remaining - room
            if over >= target.resize_min:
                why, value = "less wanted at this price", RISK_CENTS * over
                self.actions.append(AmendAction(own, Amend(qty=Qty(room)), True, why, value))
            elif self._locks_too_much(target, own, lacks):
                self.free -= min(self.free, own.remaining)
                why, value = CancelReason.SOLD_INSTEAD, self.economics.capital_cents
                self.actions.append(CancelAction(own, why, value * own.remaining, instead=True))

    def _move(self, level: RestingLevel, target: TargetLevel) -> None:
        """Bring a level to a target without orders: its largest order by one amend, or by a change
        of route; the others are spare."""
        own = max(level.orders, key=lambda own: (own.remaining, -own.placed_ns))
        price = target.price
        is_bolder = own.yes_price < price if self.side is _BID else own.yes_price > price
        if is_bolder:
            # Moving toward the touch can wait; stepping back from it cannot.
            ripe_ns = max(own.placed_ns, own.last_write_ns) + self.pace.dwell_ns
            if self.now_ns < ripe_ns or crosses(self.side, price, self.ours.everyone):
                self._serve(target, level.qty)
                if self.now_ns < ripe_ns:
                    self.again.append(ripe_ns)
                return
        self.spares.extend(other for other in level.orders if other is not own)
        gain = self._gain(target, (own,))
        if self.free > 0 and self._sells_instead(target, own):
            # Its priority is lost anyway, and a sale of inventory needs no cash.
            why, is_back = CancelReason.SOLD_INSTEAD, self._steps_back(own)
            self.actions.append(CancelAction(own, why, gain, None, is_bolder, is_back))
            return
        is_too_large = own.remaining - target.qty >= target.resize_min
        qty = Qty(target.qty) if is_too_large else None
        amend = Amend(price=canonical(own.outcome, price), qty=qty)
        self._serve(target, own.remaining)
        if target.promised:
            # Promised shares that the target misses no longer are free for others.
            self._promise(target, min(target.promised, self._offered(target)))
        self.moved_to.append(price)
        moved = f"moved from {own.yes_price} to {price}"
        self.actions.append(AmendAction(own, amend, False, moved, gain, self._steps_back(own)))

    def _place_spares(self) -> None:
        """Spare orders go to the targets without orders, both from the touch outward; the rest is
        cancelled: moved to a price that is served, it would only split that level's size."""
        spares: list[OwnOrder] = []
        toward_touch = -1 if self.side is _BID else 1
        for own in sorted(self.spares, key=lambda own: toward_touch * own.yes_price):
            here = self.targets.get(own.yes_price)
            if here is None or here.is_served:
                spares.append(own)
            else:  # the others of its level went elsewhere
                self._stay(_level_of([own]), here)
        empty = [target for target in self.targets.values() if not target.is_served]
        for own, target in zip(spares, empty, strict=False):
            self._move(_level_of([own]), target)
        for own in spares[len(empty) :]:
            why, value, is_back = CancelReason.NOT_WANTED, RISK_CENTS, self._steps_back(own)
            value *= own.remaining
            self.actions.append(CancelAction(own, why, value, is_step_back=is_back))

    def _count_unmatched(self) -> None:
        """Take what may rest of orders that serve no target from what the targets miss, the nearest
        first: with further new orders, more might rest than the targets want."""
        for own in self.unmatched:
            if own.state is State.CLOSED_UNCONFIRMED:
                continue  # nothing of it works any more
            amended = own.amend.qty if own.amend is not None else None
            left, price = max(own.remaining, amended or 0), own.yes_prices[-1]
            for target in sorted(self.targets.values(), key=lambda each: abs(each.price - price)):
                counted = min(left, target.missing)
                target.missing -= counted
                left -= counted

    def _fill_up(self, target: TargetLevel) -> None:
        """One or two new orders for the shares missing at a target: inventory first, then cash."""
        side, price, qty = self.side, target.price, target.missing
        offered = self._offered(target)
        here = self._by_route(Side.SELL if offered else _BUY, price)
        merges, coming = self._merge(here, target, offered or qty), self.moved_to.count(price)
        if merges or self._is_full(here, coming) or crosses(side, price, self.ours.everyone):
            return
        held = Outcome.NO if side is _BID else Outcome.YES
        self._promise(target, 0)
        sold = Qty(max(0, min(self.free, offered)))
        self.free -= sold
        why = f"quote {side} {price}"
        economics = self.economics
        value = economics.joining(side, price, qty, economics.edge(side, price)) / qty
        if sold:
            text = f"{why} from shares held"
            self.actions.append(
                CreateAction(side, price, held, Side.SELL, sold, text, value * sold)
            )
            if self._is_full(self._by_route(_BUY, price), coming):
                return
        orders = self.ours.orders[side]
        if any(own.state is State.PENDING_CANCEL and own.side is Side.SELL for own in orders):
            return  # what its cancel sets free is sold again: bought now, it would go the next time
        rest = Qty(qty - sold)
        if rest and (not sold or rest >= target.resize_min):
            self.actions.append(
                CreateAction(side, price, held.other, _BUY, rest, why, value * rest)
            )

    def _by_route(self, route: Side, price: Price) -> list[OwnOrder]:
        """Our orders at a price that sell inventory, or that buy."""
        orders = self.ours.orders[self.side]
        return [own for own in orders if own.side is route and price in own.yes_prices]

    def _is_full(self, here: list[OwnOrder], coming: int = 0) -> bool:
        """True if these orders and those moved there fill a price by a route: a new order would
        take the place of a moved one."""
        return len(here) + coming >= self.pace.orders_per_level_max

    def _merge(self, here: list[OwnOrder], target: TargetLevel, qty: int) -> bool:
        """True if the newest of several orders at a price by one route is cancelled, to come back
        larger by `qty`: where its priority is worth no more than a request, or no further order may
        rest there. By the other route more may come now, by this one once it is over."""
        if any(
            own.state is State.PENDING_CANCEL and own.why == CancelReason.MERGED for own in here
        ):
            return True
        staying = [own for own in here if not own.cancel_requested]
        if self.is_short or not staying or (len(staying) == 1 and not self._is_full(here)):
            return False
        newest, economics = max(staying, key=_AGE), self.economics
        edge = economics.edge(self.side, target.price)
        request_cents = economics.request_cents(newest.remaining)
        is_dear = economics.queue_value_cents(newest, edge) > request_cents
        if newest.state is not _OPEN or (is_dear and not self._is_full(staying)):
            return False
        value = economics.joining(self.side, target.price, target.missing, edge)
        more = CreateAction(
            self.side, target.price, newest.outcome, newest.side, Qty(qty), CancelReason.MERGED
        )
        self.actions.append(CancelAction(newest, CancelReason.MERGED, value, more))
        return True


def assign(
    costs: Sequence[Sequence[float]], row_alone: Sequence[float], column_alone: Sequence[float]
) -> list[int | None]:
    """For each row the column that it is given, or None: the total cost is the least there is.

    costs[r][c] >= 0: of giving row r the column c. row_alone[r], column_alone[c]: of leaving it
    without a partner. Of several assignments that cost the same, which one is returned depends on
    nothing but the arguments. Exact, in the cube of the size: shortest augmenting paths with
    potentials (Jonker and Volgenant, 1987).
    """
    rows, columns = len(row_alone), len(column_alone)
    # What a choice costs beyond leaving its column alone. The last columns leave a row alone.
    table = [
        [*(cost - column_alone[c] for c, cost in enumerate(costs[r])), *[row_alone[r]] * rows]
        for r in range(rows)
    ]
    row_of: list[int | None] = [None] * (columns + rows)
    row_potential = [0.0] * rows
    column_potential = [0.0] * (columns + rows)
    for new_row in range(rows):
        left = list(range(columns + rows))
        reached: list[tuple[int, int]] = []  # columns, each with its row
        nearest = [float("inf")] * (columns + rows)
        before: list[int | None] = [None] * (columns + rows)  # on the cheapest way to a column
        row: int | None = new_row
        column: int | None = None
        while row is not None:
            for other in left:
                cost = table[row][other] - row_potential[row] - column_potential[other]
                if cost < nearest[other]:
                    nearest[other], before[other] = cost, column
            column = min(left, key=nearest.__getitem__)
            step = nearest[column]
            row_potential[new_row] += step
            for other, its_row in reached:
                row_potential[its_row] += step
                column_potential[other] -= step
            for other in left:
                nearest[other] -= step
            left.remove(column)
            row = row_of[column]
            if row is not None:
                reached.append((column, row))
        while column is not None:
            previous = before[column]
            row_of[column] = new_row if previous is None else row_of[previous]
            column = previous
    column_of = {row: column for column, row in enumerate(row_of[:columns])}
    return [column_of.get(row) for row in range(rows)]


# --- uptime ---------------------------------------------------------------------------------------


def sides_on_target(
    wanted: Sequence[Quote], orders: Iterable[OwnOrder], pace: PaceSettings
) -> tuple[BookSide, ...]:
    """The sides on which all wanted quotes rest, bids first; a side without quotes is not among
    them. wanted: the quotes that orders are steered to. orders: our live ones of the market.

    A quote rests when enough shares rest at its price, or up to the tolerance on the safe side of
    it. Enough lacks less than a resize is sent for, and is a share at least: a partly filled order
    that is not topped up yet still is the quote.
    """
    return tuple(
        side
        for side, quotes in zip(BookSide, by_side(wanted), strict=True)
        if quotes and _all_rest(side, quotes, orders, pace)
    )


def _all_rest(
    side: BookSide, quotes: Iterable[Quote], orders: Iterable[OwnOrder], pace: PaceSettings
) -> bool:
    sign = 1 if side is _BID else -1
    resting = (_OPEN, State.PENDING_REPLACE)
    left = sorted(
        (
            [sign * own.yes_price, int(own.remaining)]
            for own in orders
            if own.book_side is side and own.state in resting
        ),
        reverse=True,
    )
    for quote in quotes:
        bold = sign * quote.price
        missing = max(1, quote.qty - quote.qty * pace.resize_pct // 100)
        for order in left:
            if bold - pace.tolerance_ticks <= order[0] <= bold:
                used = min(order[1], missing)
                order[1] -= used
                missing -= used
        if missing > 0:
            return False
    return True
