"""What rests and what is wanted on one market: `WorkingOrders` all our orders there, `RestingLevel`
those at one price, `TargetLevel` one wanted price.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import FreeShares
from bot.core.planning.queue_economics import REQUEST_MIN, QuoteEconomics
from bot.core.settings import PaceSettings
from bot.strategy.api import Quote
from venue.wire.money import PAYOUT_CENTS, BookSide, Outcome, Price, Qty, Side

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_OPEN: Final = State.OPEN
_BUY: Final = Side.BUY


class WorkingOrders:
    """Our live orders on one market, and the shares held there that none of them may be selling.

    A market keeps it until an order there, or what is held, may be another: whoever changes one of
    them calls `QuotingEngine.orders_changed` or `fills_booked`, or `may_go` where an order is only
    to go.
    """

    def __init__(self, orders: Sequence[OwnOrder], free: FreeShares) -> None:
        self.everyone = orders
        self.yes, self.no = free.yes, free.no
        self.going = [own for own in orders if own.cancel_requested and own.can_cancel]
        """To be cancelled, whatever is wanted."""
        quoted = [own for own in orders if own.is_live and not own.is_take]
        self.bids = [own for own in quoted if own.book_side is _BID]
        self.asks = [own for own in quoted if own.book_side is not _BID]
        self.bid_stands = _by_price(_BID, self.bids)
        self.ask_stands = _by_price(_ASK, self.asks)

    def free(self) -> FreeShares:
        """The free shares, for a plan to take from."""
        return FreeShares(self.yes, self.no)


class RestingLevel(msgspec.Struct, eq=False):
    """Our orders at one price, none of which has a write under way."""

    price: Price
    orders: list[OwnOrder]
    qty: int
    """Shares of all."""


def stand_of(orders: list[OwnOrder]) -> RestingLevel:
    """The stand of these orders, all at one price."""
    return RestingLevel(orders[0].yes_price, orders, sum(own.remaining for own in orders))


def _by_price(side: BookSide, orders: Iterable[OwnOrder]) -> list[RestingLevel] | None:
    """The stands of a side, the best first; None where an order has a write under way or is to
    go."""
    at: dict[Price, list[OwnOrder]] = {}
    for own in orders:
        if own.state is not _OPEN or own.cancel_requested:
            return None
        at.setdefault(own.yes_price, []).append(own)
    return [stand_of(at[price]) for price in sorted(at, reverse=side is _BID)]


class TargetLevel(msgspec.Struct, eq=False):
    """One wanted price: shares wanted, shares still missing, and whether orders of ours serve it.

    bound: the boldest price at which an order may stay for it. promised: shares held that
    are to be sold here, to which no purchase for another level gives way.
    """

    side: BookSide
    price: Price
    bound: Price
    wanted: int
    missing: int
    worth: QuoteEconomics
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

    def offered(self, free: FreeShares, pace: PaceSettings, stands: int = 0) -> int:
        """Shares held that may be sold here: what is not promised elsewhere, no more than misses
        beside `stands` shares that stand here. 0 for a part too small to be worth a request: left
        to the other route, or left out."""
        offered = min(free.unpromised(self.held) + self.promised, self.missing - stands)
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
        if own.side is not _BUY:
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
            is_near = self.price - pace.tolerance_ticks <= price <= self.bound
        else:
            is_near = self.bound <= price <= self.price + pace.tolerance_ticks
        return is_near and not self.is_off(abs(qty - self.wanted), pace)

    def is_safer(self, price: Price, than: Price) -> bool:
        """Whether a price is further from trading than another one."""
        return price < than if self.side is _BID else price > than

    def gain(self, orders: Iterable[OwnOrder]) -> float:
        """Cents gained by having orders here, at the back, rather than where they are. What stands
        beyond its bound counts as if it filled whole: whoever knows more comes for it first."""
        gain, edge_there, worth = 0.0, self.edge, self.worth
        for own in orders:
            bolder = own.yes_price - self.price if self.side is _BID else self.price - own.yes_price
            edge = edge_there - bolder
            gain += worth.joining(self.side, self.price, own.remaining, edge_there)
            if self.is_safer(self.bound, own.yes_price):
                gain += own.remaining * max(REQUEST_MIN, -edge, float(bolder))
            else:
                gain -= worth.staying(own, edge)
        return gain

    def stays_near(self, stand: RestingLevel, pace: PaceSettings) -> bool:
        """Whether a stand at another price may be left for this one, and is not better moved."""
        return self.keeps(stand.price, stand.qty, pace) and not self.pays(stand)

    def pays(self, stand: RestingLevel) -> bool:
        """Whether a stand at another price gains by moving here, the request paid. One that stands
        bolder is left where it is: it is nearer to a fill, and has an edge."""
        if not self.is_safer(stand.price, self.price):
            return False
        # As exp(-x) <= 1 / (1 + x), no order gains more here; mostly that is too little already.
        worth, request_cents = self.worth, self.worth.request_cents(stand.qty)
        volume = worth.volumes[0 if self.side is _BID else 1]
        fills_most = volume * volume / (volume + worth.others_at(self.side, self.price) + 1e-9)
        most_cents = self.edge * fills_most * len(stand.orders)
        return most_cents > request_cents and self.gain(stand.orders) > request_cents

    def locks_too_much(
        self, own: OwnOrder, lacks: int, free: FreeShares, pace: PaceSettings
    ) -> bool:
        """Whether a purchase locks pairs with shares held that are worth more than its place and
        the two requests of a sale, what is lacking here with it: one worth none is bought again."""
        left = free.unpromised(own.outcome.other) + self.promised
        whole = own.remaining + max(0, lacks)
        needed = whole if self.is_off(lacks, pace) else own.remaining
        is_sold = left >= needed and self.is_off(min(left, whole), pace)
        if own.side is not _BUY or not is_sold:
            return False
        worth = self.worth
        freed = worth.capital_cents * own.remaining
        place_cents = worth.place_cents(own, self.edge)
        return freed > place_cents + 2 * worth.request_cents(own.remaining)


def are_left(
    stands: Sequence[RestingLevel] | None,
    levels: Collection[TargetLevel],
    free: FreeShares | None,
    pace: PaceSettings,
) -> bool:
    """True if nothing is to be done on a side, as mostly: each level has orders that stay for it,
    and there are no others. Both the best first. stands: None where an order has a write under way
    or is to go. free: the shares held to which purchases may give way, if any."""
    if stands is None or len(stands) != len(levels):
        return False
    for level, stand in zip(levels, stands, strict=True):
        if stand.price != level.price:
            if not level.stays_near(stand, pace):
                return False
            continue
        if not fit_together(stand.orders, level.wanted, pace):
            return False
        lacks = level.wanted - stand.qty
        if free and any(level.locks_too_much(own, lacks, free, pace) for own in stand.orders):
            return False
    return True


def fit_together(orders: Iterable[OwnOrder], wanted: int, pace: PaceSettings) -> bool:
    """Whether orders at one price are about as many shares as are wanted there, oldest first, so
    that none of them is one too many."""
    room = wanted
    for own in sorted(orders, key=age):
        over = own.remaining - room
        if room <= 0 or (over > 0 and pace.resizes(over, wanted)):
            return False
        room -= own.max_fillable
    return room <= 0 or not pace.resizes(room, wanted)


def bound_of(side: BookSide, quote: Quote, facing: Sequence[Quote]) -> Price:
    """The boldest price at which an order may stay for a quote: its limit, where that meets none of
    `facing`, the quotes of the other side, the best first; never less bold than its price."""
    price, bound = quote.price, quote.limit
    if bound is None:
        return price
    if side is _BID:
        reach = Price((facing[0].price if facing else PAYOUT_CENTS) - 1)
        bound = reach if reach < bound else bound
        return price if bound < price else bound
    reach = Price((facing[0].price if facing else 0) + 1)
    bound = reach if reach > bound else bound
    return price if bound > price else bound


def level_of(
    side: BookSide, quote: Quote, facing: Sequence[Quote], worth: QuoteEconomics
) -> TargetLevel:
    """What is wanted at the price of a quote. facing: the quotes of the other side."""
    bound = bound_of(side, quote, facing)
    return TargetLevel(side, quote.price, bound, quote.qty, quote.qty, worth)


def promise_lacking(
    levels: Iterable[TargetLevel],
    pairs: Iterable[tuple[RestingLevel, TargetLevel | None]],
    free: FreeShares,
    pace: PaceSettings,
) -> None:
    """Promise the shares held to what the levels lack beside their orders: something new is made
    there in any case, so that no purchase need give way to them. The best level first, whether
    orders serve it or none: else they would change hands with every order that comes or goes.
    pairs: the levels that orders will serve.
    """
    serving = {level.price: stand for stand, level in pairs if level is not None}
    for level in levels:
        stand = serving.get(level.price)
        if stand is None or stand.price == level.price:
            level.promise(level.offered(free, pace, 0 if stand is None else stand.qty), free)


def serve_near(levels: Iterable[TargetLevel], price: Price, qty: int, pace: PaceSettings) -> bool:
    """Have `qty` shares that come to rest at `price` serve the nearest level for which they may
    stay, and that has none. False where there is no such level."""
    near = [level for level in levels if not level.served and level.keeps(price, qty, pace)]
    if near:
        level = min(near, key=lambda level: abs(level.price - price))
        level.serve(max(qty, level.wanted))
    return bool(near)


def count_beside(beside: Iterable[OwnOrder], levels: Iterable[TargetLevel]) -> None:
    """Take what may rest of orders that serve no level from what the levels miss, the nearest
    first: made beside them, more might rest than is wanted. What is over works no more."""
    for own in beside:
        if own.state is State.CLOSED_UNCONFIRMED:
            continue
        amended = own.amend.qty if own.amend is not None else None
        left, price = max(own.remaining, amended or 0), destination(own)
        for level in sorted(levels, key=lambda level: abs(level.price - price)):
            taken = min(left, level.missing)
            level.missing -= taken
            left -= taken


def destination(own: OwnOrder) -> Price:
    """Where an order stands, or will stand once the amend on its way is carried out."""
    return own.yes_price if own.amend is None else own.yes_prices[-1]


def age(own: OwnOrder) -> int:
    """Sorts orders the oldest first."""
    return own.placed_ns


def size_then_age(own: OwnOrder) -> tuple[int, int]:
    """Sorts orders by what is left of them, and of equal ones the newest first."""
    return own.remaining, -own.placed_ns
