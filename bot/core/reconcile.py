"""Wanted quotes and working orders of one rung -> the changes that keep the most queue place.

Pure and without memory: nothing here sends, counts requests or knows limits of loss. The table:

    same price, same size        keep
    same price, less             amend the remaining size down: the place is kept
    same price, more             keep, and add a second order for the difference
    near                         keep: a tick on the safe side, or bolder but still with an edge
    other price                  amend the price: one request, no moment without a quote
    other route, or no partner   cancel, and create
    would cross our own order    wait: that one is moved or cancelled by its own side's plan first

A bid is `sell no` while free NO shares are held, else `buy yes`; an ask `sell yes` before `buy no`.
Source: design, The bot, item 5; interface, PUT /orders; reliability, rows 22, 26, 27, 33, B1, B11.
"""

from collections.abc import Iterable, Sequence

import msgspec

from bot.core.order import OwnOrder, State
from bot.core.settings import PaceSettings
from bot.core.strategy import Quote
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, canonical
from venue.wire.requests import Amend


class WantCreate(msgspec.Struct, frozen=True):
    """A new order is wanted at a canonical price, by the route given."""

    side: BookSide
    price: Price
    outcome: Outcome
    own_side: Side
    qty: Qty
    why: str


class WantAmend(msgspec.Struct, frozen=True):
    """A change of a resting order is wanted. `keeps_place`: whether it keeps its place."""

    order: OwnOrder
    amend: Amend
    keeps_place: bool
    why: str


class WantCancel(msgspec.Struct, frozen=True):
    """The end of a resting order is wanted."""

    order: OwnOrder
    why: str


Wish = WantCreate | WantAmend | WantCancel


class Plan(msgspec.Struct, frozen=True):
    """What to change on a rung, cancels first; `again_ns` is when to look once more, if ever."""

    wishes: tuple[Wish, ...]
    again_ns: int | None


class FreeShares(msgspec.Struct):
    """Shares held that no order of ours may be selling; taken from as routes are chosen."""

    yes: int
    no: int

    def of(self, outcome: Outcome) -> int:
        """Free shares of an outcome; may be below zero while sells are undecided."""
        return self.yes if outcome is Outcome.YES else self.no

    def take(self, outcome: Outcome, qty: int) -> Qty:
        """Up to `qty` shares of an outcome; what is returned is no longer free."""
        taken = max(0, min(self.of(outcome), qty))
        if outcome is Outcome.YES:
            self.yes -= taken
        else:
            self.no -= taken
        return Qty(taken)


def free_shares(yes_qty: Qty, no_qty: Qty, orders: Iterable[OwnOrder]) -> FreeShares:
    """Held shares less everything that our own sells may still sell."""
    free = FreeShares(yes_qty, no_qty)
    for own in orders:
        if own.own_side is Side.SELL:
            if own.outcome is Outcome.YES:
                free.yes -= own.may_fill
            else:
                free.no -= own.may_fill
    return free


def crosses(side: BookSide, price: Price, orders: Iterable[OwnOrder]) -> list[OwnOrder]:
    """Our own live orders that a quote at this canonical price would trade with.

    Every price counts at which an order may rest, whatever its state (row 33).
    """
    if side is BookSide.BID:
        return [
            own
            for own in orders
            if own.is_live and own.side is BookSide.ASK and min(own.levels) <= price
        ]
    return [
        own
        for own in orders
        if own.is_live and own.side is BookSide.BID and max(own.levels) >= price
    ]


def plan_rung(
    wanted: Sequence[Quote],
    orders: Sequence[OwnOrder],
    free: FreeShares,
    pace: PaceSettings,
    now_ns: int,
) -> Plan:
    """The changes that turn `orders` (all live ones of the rung) into `wanted`.

    An order whose last write is undecided is left alone, counted at its price, and keeps new
    orders of its side from being made (one live-or-possible order per slot, B1).
    """
    wishes: list[Wish] = []
    again: list[int] = []
    for own in orders:
        if own.doomed and own.is_free:
            if own.due_ns <= now_ns:
                wishes.append(WantCancel(own, own.why))
            else:
                again.append(own.due_ns)
    for side in (BookSide.BID, BookSide.ASK):
        levels = _levels(side, wanted)
        mine = [own for own in orders if own.is_live and own.side is side]
        plan = _plan_side(side, levels, mine, orders, free, pace, now_ns)
        wishes.extend(plan.wishes)
        if plan.again_ns is not None:
            again.append(plan.again_ns)
    wishes.sort(key=lambda wish: 0 if isinstance(wish, WantCancel) else 1)
    return Plan(tuple(_once(wishes)), min(again) if again else None)


def _once(wishes: list[Wish]) -> Iterable[Wish]:
    """Each order is wished for once; the first wish about it stands."""
    seen: set[int] = set()
    for wish in wishes:
        if isinstance(wish, WantCreate):
            yield wish
        elif id(wish.order) not in seen:
            seen.add(id(wish.order))
            yield wish


class _Level:
    """One wanted price: shares wanted, shares still missing, and orders of ours that serve it.

    bound: the boldest price at which an order may stay for it.
    """

    __slots__ = ("bound", "missing", "orders", "price", "wanted")

    def __init__(self, quote: Quote, bound: Price) -> None:
        self.price = quote.price
        self.wanted: int = quote.qty
        self.missing: int = quote.qty
        self.bound = bound
        self.orders = 0

    def serve(self, qty: int) -> None:
        """An order of ours stands or will stand here."""
        self.orders += 1
        self.missing = max(0, self.missing - qty)

    def is_off(self, qty: int, pace: PaceSettings) -> bool:
        """Whether `qty` shares too many or too few are worth a request."""
        return qty > 0 and 100 * qty >= pace.resize_pct * self.wanted

    def keeps(self, side: BookSide, price: Price, qty: int, pace: PaceSettings) -> bool:
        """Whether `qty` shares at `price` may stay for it: near enough, with an edge, and of about
        the size wanted."""
        if self.is_off(abs(qty - self.wanted), pace):
            return False
        if side is BookSide.BID:
            return self.price - pace.tolerance_ticks <= price <= self.bound
        return self.bound <= price <= self.price + pace.tolerance_ticks


def _levels(side: BookSide, wanted: Sequence[Quote]) -> dict[Price, _Level]:
    """The wanted prices of a side. None is bolder than its limit, nor meets the other side's."""
    others = [quote.price for quote in wanted if quote.side is not side]
    out: dict[Price, _Level] = {}
    for quote in wanted:
        if quote.side is side:
            bound = quote.price if quote.limit is None else quote.limit
            if side is BookSide.BID:
                bound = Price(max(quote.price, min([bound, *(price - 1 for price in others)])))
            else:
                bound = Price(min(quote.price, max([bound, *(price + 1 for price in others)])))
            out[quote.price] = _Level(quote, bound)
    return out


def _plan_side(
    side: BookSide,
    levels: dict[Price, _Level],
    mine: list[OwnOrder],
    everyone: Sequence[OwnOrder],
    free: FreeShares,
    pace: PaceSettings,
    now_ns: int,
) -> Plan:
    wishes: list[Wish] = []
    again: list[int] = []
    standing = [own for own in mine if not own.doomed]
    surplus: list[OwnOrder] = []
    if not _keep_in_order(side, levels, standing, pace):
        surplus = _keep_at_price(levels, standing, pace, wishes)
        surplus = _keep_near(side, levels, surplus, pace)
    for own, level in _pair(side, surplus, levels):
        if level is None:
            wishes.append(WantCancel(own, "no longer wanted"))
        else:
            _move(side, own, level, everyone, free, pace, now_ns, wishes, again)
    if not any(own.is_unknown for own in mine):
        for level in levels.values():
            _fill_up(side, level, mine, everyone, free, pace, wishes)
    return Plan(tuple(wishes), min(again) if again else None)


def _place(own: OwnOrder) -> Price:
    """Where an order stands, or will stand once the amend on its way is carried out."""
    return own.level if own.amend is None else own.levels[-1]


def _can_change(own: OwnOrder) -> bool:
    """Whether a change may be asked of it now; one on its way or undecided is left alone."""
    return own.state is State.OPEN


def _keep_in_order(
    side: BookSide, levels: dict[Price, _Level], standing: list[OwnOrder], pace: PaceSettings
) -> bool:
    """Keep everything where it stands if each price, from the touch outward, is near enough to
    the wanted one in the same place. False, and nothing kept, if any is not."""
    sizes_at: dict[Price, int] = {}
    for own in standing:
        price = _place(own)
        sizes_at[price] = sizes_at.get(price, 0) + own.remaining
    if len(sizes_at) != len(levels):
        return False
    from_touch = side is BookSide.BID
    prices = sorted(sizes_at, reverse=from_touch)
    wanted = [levels[price] for price in sorted(levels, reverse=from_touch)]
    sizes = [sizes_at[price] for price in prices]
    if not all(
        level.keeps(side, price, size, pace)
        for price, size, level in zip(prices, sizes, wanted, strict=True)
    ):
        return False
    for size, level in zip(sizes, wanted, strict=True):
        level.serve(max(size, level.wanted))
    return True


def _keep_at_price(
    levels: dict[Price, _Level],
    standing: list[OwnOrder],
    pace: PaceSettings,
    wishes: list[Wish],
) -> list[OwnOrder]:
    """Orders at a wanted price stay, oldest first; too much there is shrunk from the newest.

    Those that cannot be changed now come first, for they stay whatever is wanted.
    """
    surplus: list[OwnOrder] = []
    for own in sorted(standing, key=lambda own: (_can_change(own), own.placed_ns)):
        level = levels.get(_place(own))
        if level is None or (level.missing <= 0 and _can_change(own)):
            surplus.append(own)
            continue
        room = level.missing
        level.serve(own.may_fill)
        if _can_change(own) and level.is_off(own.remaining - room, pace):
            wishes.append(WantAmend(own, Amend(qty=Qty(room)), True, "less wanted at this price"))
    return surplus


def _keep_near(
    side: BookSide, levels: dict[Price, _Level], surplus: list[OwnOrder], pace: PaceSettings
) -> list[OwnOrder]:
    """An order near a wanted price that has none keeps its place: the place is worth it."""
    left: list[OwnOrder] = []
    for own in surplus:
        near = [
            level
            for level in levels.values()
            if not level.orders and level.keeps(side, _place(own), own.remaining, pace)
        ]
        if near:
            level = min(near, key=lambda level: abs(level.price - _place(own)))
            level.serve(max(own.remaining, level.wanted))
        elif _can_change(own):
            left.append(own)
    return left


def _pair(
    side: BookSide, surplus: list[OwnOrder], levels: dict[Price, _Level]
) -> list[tuple[OwnOrder, _Level | None]]:
    """Surplus orders with the prices that have none, both from the touch outward.

    On a line that order is the assignment of least movement. An order left over is paired with
    None: moving it to a price that is served already would only split that level's size.
    """
    toward_touch = -1 if side is BookSide.BID else 1
    empty = [level for level in levels.values() if not level.orders]
    empty.sort(key=lambda level: toward_touch * level.price)
    orders = sorted(surplus, key=lambda own: toward_touch * own.level)
    return [(own, empty[place] if place < len(empty) else None) for place, own in enumerate(orders)]


def _move(
    side: BookSide,
    own: OwnOrder,
    level: _Level,
    everyone: Sequence[OwnOrder],
    free: FreeShares,
    pace: PaceSettings,
    now_ns: int,
    wishes: list[Wish],
    again: list[int],
) -> None:
    """Bring a surplus order to a price that has none: one amend, or a change of route."""
    price = level.price
    if _is_safer(side, own.level, price):
        # Moving toward the touch can wait; stepping back from it cannot.
        ripe_ns = max(own.placed_ns, own.last_write_ns) + pace.dwell_ns
        if now_ns < ripe_ns or crosses(side, price, everyone):
            level.serve(own.remaining)
            if now_ns < ripe_ns:
                again.append(ripe_ns)
            return
    if own.own_side is Side.BUY and free.of(own.outcome.other) >= own.remaining:
        # Its place is lost anyway, and selling what is held needs no cash and locks no pair.
        wishes.append(WantCancel(own, "shares held now: sold instead"))
        return
    too_large = level.is_off(own.remaining - level.wanted, pace)
    amend = Amend(price=canonical(own.outcome, price), qty=Qty(level.wanted) if too_large else None)
    level.serve(own.remaining)
    wishes.append(WantAmend(own, amend, False, f"moved from {own.level} to {price}"))


def _is_safer(side: BookSide, level: Price, target: Price) -> bool:
    """Whether `level` is further from trading than `target`."""
    return level < target if side is BookSide.BID else level > target


def _fill_up(
    side: BookSide,
    level: _Level,
    mine: list[OwnOrder],
    everyone: Sequence[OwnOrder],
    free: FreeShares,
    pace: PaceSettings,
    wishes: list[Wish],
) -> None:
    """One or two new orders for what is missing at a price: held shares first, then cash."""
    price, qty = level.price, level.missing
    if not level.is_off(qty, pace):
        return
    here = [own for own in mine if price in own.levels]
    if len(here) >= pace.siblings:
        newest = max(here, key=lambda own: own.placed_ns)
        if newest.state is State.OPEN:
            wishes.append(WantCancel(newest, "to be merged with what is missing"))
        return
    if crosses(side, price, everyone):
        return
    held = Outcome.NO if side is BookSide.BID else Outcome.YES
    from_held = free.take(held, qty)
    why = f"quote {side} {price}"
    if from_held:
        wishes.append(
            WantCreate(side, price, held, Side.SELL, from_held, f"{why} from shares held")
        )
    if qty > from_held:
        rest = Qty(qty - from_held)
        wishes.append(WantCreate(side, price, held.other, Side.BUY, rest, why))
