"""What stands and what is wanted at one price: `Stand`, our orders there, and `Level`, the quote.

Source: design, The bot, item 5; reliability, rows 22, 26, 27.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from bot.core.orders.order import OwnOrder, State
from bot.core.plan.place import Worth
from bot.core.plan.wishes import FreeShares
from bot.core.settings import PaceSettings
from bot.core.strategy import Quote
from venue.wire.money import PAYOUT_CENTS, BookSide, Outcome, Price, Qty, Side

_BID: Final = BookSide.BID
_OPEN: Final = State.OPEN
_BUY: Final = Side.BUY


class Level(msgspec.Struct, eq=False):
    """One wanted price: shares wanted, shares still missing, and whether orders of ours serve it.

    bound: the boldest price at which an order may stay for it. promised: shares held that
    are to be sold here, to which no purchase for another level gives way.
    """

    side: BookSide
    price: Price
    bound: Price
    wanted: int
    missing: int
    worth: Worth
    served: bool = False
    promised: int = 0

    @property
    def edge(self) -> float:
        """Cents a share there; most plans never ask."""
        return self.worth.edge(self.side, self.price)

    def serve(self, qty: int) -> None:
        """An order of ours stands or will stand here."""
        self.served = True
        self.missing = self.missing - qty if qty < self.missing else 0

    def is_off(self, qty: int, pace: PaceSettings) -> bool:
        """Whether `qty` shares too many or too few are worth a request."""
        return qty > 0 and pace.resizes(qty, self.wanted)

    @property
    def held(self) -> Outcome:
        """What is sold here where it is held."""
        return Outcome.NO if self.side is _BID else Outcome.YES

    def promise(self, qty: int, free: FreeShares) -> None:
        """Of the shares held so many are to be sold here, and no others any more."""
        free.promise(self.held, qty - self.promised)
        self.promised = qty

    def offered(self, free: FreeShares, pace: PaceSettings) -> int:
        """Shares held that may be sold here: what is not promised elsewhere, no more than misses.
        0 for a part too small to be worth a request: left to the other route, or left out."""
        offered = min(free.unpromised(self.held) + self.promised, self.missing)
        return offered if self.is_off(offered, pace) else 0

    def take_in(self, qty: int, free: FreeShares, pace: PaceSettings) -> None:
        """An order comes here: of the shares promised to this level those are free for others that
        it misses no longer."""
        self.serve(qty)
        if self.promised:
            self.promise(min(self.promised, self.offered(free, pace)), free)

    def sell(self, qty: int, free: FreeShares) -> Qty:
        """Take so many of the shares held to be sold here; nothing else is promised any more."""
        self.promise(0, free)
        return free.take(self.held, qty)

    def sells_instead(self, own: OwnOrder, free: FreeShares, pace: PaceSettings) -> bool:
        """Whether an order is a purchase for which selling free shares does, and leaves none worth
        a new one. Then no other gives way to them, and nothing is made here until it is over: both
        might fill."""
        if own.own_side is not _BUY:
            return False
        sold, held = self.offered(free, pace), free.unpromised(self.held) + self.promised
        if not sold or held < own.remaining or self.is_off(self.missing - sold, pace):
            return False
        self.promise(sold, free)
        self.serve(self.missing)
        return True

    def keeps(self, price: Price, qty: int, pace: PaceSettings) -> bool:
        """Whether `qty` shares at `price` may stay for it: near enough, with an edge, and of about
        the size wanted."""
        if self.side is _BID:
            near = self.price - pace.tolerance_ticks <= price <= self.bound
        else:
            near = self.bound <= price <= self.price + pace.tolerance_ticks
        return near and not self.is_off(abs(qty - self.wanted), pace)


def levels_of(
    side: BookSide, quotes: Sequence[Quote], facing: Sequence[Quote], worth: Worth
) -> dict[Price, Level]:
    """The wanted prices of a side, in the order of its quotes. None is bolder than its limit, nor
    meets one of `facing`, the quotes of the other side. Both sides: the best quote first."""
    out: dict[Price, Level] = {}
    for quote in quotes:
        price, bound = quote.price, quote.limit
        if bound is None:
            bound = price
        elif side is _BID:
            reach = Price((facing[0].price if facing else PAYOUT_CENTS) - 1)
            bound = reach if reach < bound else bound
            bound = price if bound < price else bound
        else:
            reach = Price((facing[0].price if facing else 0) + 1)
            bound = reach if reach > bound else bound
            bound = price if bound > price else bound
        out[price] = Level(side, price, bound, quote.qty, quote.qty, worth)
    return out


class Stand(msgspec.Struct, eq=False):
    """Our orders at one price, none of which has a write under way. qty, largest: shares of all,
    and of the largest."""

    price: Price
    orders: list[OwnOrder]
    qty: int
    largest: int

    @classmethod
    def of(cls, own: OwnOrder) -> "Stand":
        """That of one order alone."""
        return cls(own.level, [own], own.remaining, own.remaining)

    def add(self, own: OwnOrder) -> None:
        """One more order of ours at this price."""
        remaining = own.remaining
        self.orders.append(own)
        self.qty += remaining
        if remaining > self.largest:
            self.largest = remaining


def join(stands: dict[Price, Stand], own: OwnOrder) -> None:
    """Count an order with the stand at its price; a new one where there is none."""
    level = own.level
    stand = stands.get(level)
    if stand is None:
        stands[level] = Stand(level, [own], own.remaining, own.remaining)
    else:
        stand.add(own)


def promise_lacking(
    levels: Iterable[Level],
    pairs: Iterable[tuple[Stand, Level | None]],
    free: FreeShares,
    pace: PaceSettings,
) -> None:
    """Promise the shares held to the levels that no order serves: something new is made there in
    any case, so that no purchase need give way to them. pairs: the levels that orders will serve.
    """
    served = {level.price for _, level in pairs if level is not None}
    for level in levels:
        if not level.served and level.price not in served:
            level.promise(level.offered(free, pace), free)


def serve_near(levels: Iterable[Level], price: Price, qty: int, pace: PaceSettings) -> bool:
    """Have `qty` shares that come to rest at `price` serve the nearest level for which they may
    stay, and that has none. False where there is no such level."""
    near = [level for level in levels if not level.served and level.keeps(price, qty, pace)]
    if near:
        level = min(near, key=lambda level: abs(level.price - price))
        level.serve(max(qty, level.wanted))
    return bool(near)


def count_beside(beside: Iterable[OwnOrder], levels: Iterable[Level]) -> None:
    """Take what may rest of orders that serve no level from what the levels miss, the nearest
    first: made beside them, more might rest than is wanted. What is over works no more."""
    for own in beside:
        if own.state is State.CLOSING:
            continue
        amended = own.amend.qty if own.amend is not None else None
        left, price = max(own.remaining, amended or 0), destination(own)
        for level in sorted(levels, key=lambda level: abs(level.price - price)):
            taken = min(left, level.missing)
            level.missing -= taken
            left -= taken


def destination(own: OwnOrder) -> Price:
    """Where an order stands, or will stand once the amend on its way is carried out."""
    return own.level if own.amend is None else own.levels[-1]


def age(own: OwnOrder) -> int:
    """Sorts orders the oldest first."""
    return own.placed_ns


def size_then_age(own: OwnOrder) -> tuple[int, int]:
    """Sorts orders by what is left of them, and of equal ones the newest first."""
    return own.remaining, -own.placed_ns


def stand_as_priced(
    mine: Sequence[OwnOrder],
    quotes: Sequence[Quote],
    held: FreeShares | None,
    pace: PaceSettings,
) -> bool:
    """Whether our orders of a side stand at the very prices wanted there, one at each, of about the
    size wanted, and none may lock a pair with shares `held`: then nothing is to be done, whatever
    prices and places are worth.
    """
    if len(mine) != len(quotes):
        return False
    wanted = {quote.price: quote.qty for quote in quotes}
    for own in mine:
        if own.state is not _OPEN or own.doomed or own.amend is not None:
            return False
        qty = wanted.pop(own.level, None)
        if qty is None or (own.remaining != qty and pace.resizes(abs(own.remaining - qty), qty)):
            return False
        if held is None or own.own_side is not _BUY:
            continue
        if held.of(own.outcome.other) >= own.remaining:
            return False
    return True
