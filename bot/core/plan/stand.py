"""What stands and what is wanted at one price: `Stand`, our orders there, and `Level`, the quote.

Source: design, The bot, item 5; reliability, rows 22, 26, 27.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from bot.core.orders.order import OwnOrder, State
from bot.core.plan.place import REQUEST_MIN, Worth
from bot.core.plan.wishes import FreeShares
from bot.core.settings import PaceSettings
from bot.core.strategy import Quote
from venue.wire.money import PAYOUT_CENTS, BookSide, Outcome, Price, Qty, Side

_BID: Final = BookSide.BID
_OPEN: Final = State.OPEN
_BUY: Final = Side.BUY


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
        return near and (
            qty == self.wanted or not pace.resizes(abs(qty - self.wanted), self.wanted)
        )

    def is_safer(self, price: Price, than: Price) -> bool:
        """Whether a price is further from trading than another one."""
        return price < than if self.side is _BID else price > than

    def gain(self, orders: Iterable[OwnOrder]) -> float:
        """Cents gained by having orders here, at the back, rather than where they are. What stands
        beyond its bound counts as if it filled whole: whoever knows more comes for it first."""
        gain, edge_there, worth = 0.0, self.edge, self.worth
        for own in orders:
            bolder = own.level - self.price if self.side is _BID else self.price - own.level
            edge = edge_there - bolder
            gain += worth.joining(self.side, self.price, own.remaining, edge_there)
            if self.is_safer(self.bound, own.level):
                gain += own.remaining * max(REQUEST_MIN, -edge, float(bolder))
            else:
                gain -= worth.staying(own, edge)
        return gain

    def stays_near(self, stand: Stand, pace: PaceSettings) -> bool:
        """Whether a stand at another price may be left for this one, and gains nothing by moving
        here, the request paid. One that stands bolder is left where it is: it is nearer to a fill,
        and has an edge."""
        price, qty = stand.price, stand.qty
        if not self.keeps(price, qty, pace):
            return False
        stays = price >= self.price if self.side is _BID else price <= self.price
        return stays or self.gain(stand.orders) <= self.worth.request_cents(qty)

    def locks_too_much(
        self, own: OwnOrder, lacks: int, free: FreeShares, pace: PaceSettings
    ) -> bool:
        """Whether a purchase locks pairs with shares held that are worth more than its place and
        the two requests of a sale, what is lacking here with it: one worth none is bought again."""
        left, whole = free.unpromised(own.outcome.other), own.remaining + max(0, lacks)
        needed = whole if self.is_off(lacks, pace) else own.remaining
        is_sold = left >= needed and self.is_off(min(left, whole), pace)
        if own.own_side is not _BUY or not is_sold:
            return False
        worth = self.worth
        freed = worth.capital_cents * own.remaining
        place_cents = worth.place_cents(own, self.edge)
        return freed > place_cents + 2 * worth.request_cents(own.remaining)

    def is_served(self, stand: Stand, free: FreeShares | None, pace: PaceSettings) -> bool:
        """Whether a stand at this price may be left as it is. free: the shares held to which its
        purchases may give way, if any."""
        room, orders = self.wanted, stand.orders
        for own in orders if len(orders) == 1 else sorted(orders, key=age):
            if room <= 0 or self.is_off(own.remaining - room, pace):
                return False
            lacks = self.wanted - stand.qty
            if free is not None and self.locks_too_much(own, lacks, free, pace):
                return False
            room -= own.may_fill
        return not self.is_off(room, pace)


def level_of(side: BookSide, quote: Quote, facing: Sequence[Quote], worth: Worth) -> Level:
    """What is wanted at the price of a quote. It is no bolder than its limit, and meets none of
    `facing`, the quotes of the other side, the best first."""
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
    return Level(side, price, bound, quote.qty, quote.qty, worth)


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


def stands_as_wanted(
    mine: Sequence[OwnOrder],
    side: BookSide,
    quotes: Sequence[Quote],
    facing: Sequence[Quote],
    worth: Worth,
    free: FreeShares | None,
    pace: PaceSettings,
) -> bool:
    """Whether every quote of a side has one stand near enough, the best the best, and none is worth
    a change: nothing is to be done.

    Most plans end here, so it comes before any assignment is looked for. facing: the quotes of the
    other side; both sides the best first. free: the shares held to which purchases may give way.
    """
    if len(mine) < len(quotes):
        return False
    stands: dict[Price, Stand] = {}
    for own in mine:
        if own.state is not _OPEN or own.doomed:
            return False
        stand = stands.get(own.level)
        if stand is None:
            stands[own.level] = Stand(own.level, [own], own.remaining, own.remaining)
        else:
            stand.add(own)
    if len(stands) != len(quotes):
        return False
    for quote, price in zip(quotes, sorted(stands, reverse=side is _BID), strict=True):
        stand = stands[price]
        if price != quote.price:
            if not level_of(side, quote, facing, worth).stays_near(stand, pace):
                return False
        elif free is not None or len(stand.orders) > 1:
            if not level_of(side, quote, facing, worth).is_served(stand, free, pace):
                return False
        elif stand.qty != quote.qty and pace.resizes(abs(stand.qty - quote.qty), quote.qty):
            return False
    return True
