"""The orders of a candidate on one rung, none of them sent, and what would have filled them.

An order fills when a print trades through its price, or at it beyond the shares before it; when
others come to rest at its price or better, for they would have met it first; and as it comes, where
it meets what rests. A print fills no more than its own size, shared over the orders from the touch
outward; what rests of others is met once, until its size changes. Fees are those of the rung, one
ceiling an order (S16). Nobody reacts to such orders: the prints are those of a world without them.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from bot.core.messages import TradeSeen
from bot.core.orders.order import Tag, tag_of
from bot.core.settings import PaceSettings
from bot.core.strategy import Levels, OwnQuote, Quote, Take
from bot.lab.exchange.queue_model import QueueModel, QueuePosition
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import (
    PAYOUT_CENTS,
    BookSide,
    Cents,
    FeeRate,
    FeeUnits,
    Outcome,
    Price,
    Qty,
    complement,
    fill_fee,
)

_NO_FEES = FeeUnits(0)

_SET_BACK_NS = 60 * NS_PER_SECOND


class Met(msgspec.Struct, frozen=True):
    """A fill that would have been: canonical side and price, and its fee."""

    side: BookSide
    price: Price
    qty: Qty
    fee_cents: Cents
    tag: Tag


class _Order:
    """One order: shares left, the exact fees of its fills, and its place."""

    __slots__ = ("came_ns", "fees", "place", "price", "qty", "side", "tag")

    def __init__(
        self, side: BookSide, price: Price, qty: int, place: QueuePosition, tag: Tag, came_ns: int
    ) -> None:
        self.side = side
        self.price = price
        self.qty = qty
        self.place = place
        self.tag = tag
        self.fees = _NO_FEES
        self.came_ns = came_ns


class HypotheticalRung:
    """One rung of one candidate. yes_qty, no_qty: shares it would hold; cash_cents: what its fills
    would have done to its cash, fees included. version: grows with every change of any of it.
    has_filled: something filled since quotes reached it last."""

    def __init__(
        self, bound: QueueModel, strategy: str, pace: PaceSettings, met: Callable[[Met], None]
    ) -> None:
        """met: told of every fill, after the holdings have it."""
        self._bound = bound
        self._strategy = strategy
        self._pace = pace
        self._met = met
        self._orders: dict[BookSide, list[_Order]] = {BookSide.BID: [], BookSide.ASK: []}
        self._levels: dict[BookSide, Levels] = {BookSide.BID: (), BookSide.ASK: ()}
        self._eaten: dict[tuple[BookSide, Price], tuple[int, int]] = {}
        self._shown_ns = -1
        self.rates = (FeeRate(0), FeeRate(0))  # maker's and taker's
        self.yes_qty = self.no_qty = self.cash_cents = 0
        self.version = 0
        self.has_filled = False

    def reconfigure(self, pace: PaceSettings) -> None:
        """Follow quotes at another pace from here on."""
        self._pace = pace

    # --- the market -------------------------------------------------------------------------------

    def shown(self, bids: Levels, asks: Levels, ts_ns: int) -> None:
        """The book of others as of an instant of the venue's. One that is older by far than what
        was shown before tells that the venue's clock was set back: places are reckoned anew."""
        if ts_ns < self._shown_ns - _SET_BACK_NS:
            self._levels, self._shown_ns = {BookSide.BID: bids, BookSide.ASK: asks}, -1
            for side, orders in self._orders.items():
                for order in orders:
                    order.place = QueuePosition(
                        self._others_at(side, order.price), ts_ns, self._bound
                    )
        if ts_ns < self._shown_ns or (
            ts_ns == self._shown_ns
            and bids is self._levels[BookSide.BID]
            and asks is self._levels[BookSide.ASK]
        ):
            return
        self._levels = {BookSide.BID: bids, BookSide.ASK: asks}
        self._shown_ns = ts_ns
        if self._eaten:
            sizes = {
                (side, price): size for side, row in self._levels.items() for price, size in row
            }
            kept = self._eaten.items()
            self._eaten = {key: each for key, each in kept if sizes.get(key) == each[0]}
        for side, orders in self._orders.items():
            if orders:
                sizes_at = dict(self._levels[side])
                for order in orders:
                    order.place.shown(sizes_at.get(order.price, 0), ts_ns)
                for order in orders:
                    # They came to us: our price stands, and we are the maker.
                    for _, size in list(self._meeting(side, order.price, order.qty)):
                        self._fill(order, order.price, size, self.rates[0])
                self._clear(side)

    def printed(self, seen: TradeSeen) -> None:
        """A print: it fills from the touch outward, as far as it reaches."""
        side = BookSide.ASK if seen.taker_bought_yes else BookSide.BID
        left = int(seen.size)
        for order in self._orders[side]:
            through = order.price > seen.price if side is BookSide.BID else order.price < seen.price
            if through:
                order.place.passed()
                reached = left
            elif order.price == seen.price:
                reached = order.place.printed(left, seen.ts_ns)
            else:
                break
            filled = min(order.qty, reached, left)
            if filled > 0:
                left -= filled
                self._fill(order, order.price, filled, self.rates[0])
        self._clear(side)

    # --- what is wanted ---------------------------------------------------------------------------

    def want(self, quotes: Sequence[Quote], takes: Sequence[Take], now_ns: int) -> None:
        """These quotes reach the venue now, and replace those before; takes trade at once."""
        self.has_filled = False
        for side in BookSide:
            mine = [quote for quote in quotes if quote.side is side]
            mine.sort(key=lambda quote: -quote.price if side is BookSide.BID else quote.price)
            self._bring(side, mine, quotes, now_ns)
        for take in takes:
            tag = Tag(-1, self._strategy, f"take {take.side}")
            order = _Order(take.side, take.price, take.qty, self._nowhere(), tag, now_ns)
            self._trade(order, whole=take.whole)

    def _bring(
        self, side: BookSide, wanted: list[Quote], quotes: Sequence[Quote], now_ns: int
    ) -> None:
        """Keep of one side what may stay, shrink what is too much, and add what is missing."""
        orders = self._orders[side]
        if not wanted and not orders:
            return
        kept: list[_Order] = []
        missing: list[tuple[Quote, int]] = []
        serving = self._serving(side, orders, wanted)
        for quote in wanted:
            left = int(quote.qty)
            here = [order for order in orders if order.price == serving.get(quote.price)]
            for order in here:
                orders.remove(order)
                order.qty = min(order.qty, left)
                left -= order.qty
                if order.qty:
                    kept.append(order)
            if left and (not here or self._pace.resizes(left, quote.qty)):
                missing.append((quote, left))
        self._orders[side] = kept
        for quote, qty in missing:
            place = QueuePosition(self._others_at(side, quote.price), self._shown_ns, self._bound)
            tag = tag_of(quotes, side, quote.price, self._strategy, f"quote {side}")
            order = _Order(side, quote.price, qty, place, tag, now_ns)
            self._trade(order, whole=False)
            if order.qty:
                kept.append(order)
        kept.sort(key=lambda order: -order.price if side is BookSide.BID else order.price)
        self.version += 1

    def _serving(
        self, side: BookSide, orders: Sequence[_Order], wanted: Sequence[Quote]
    ) -> dict[Price, Price]:
        """The price at which a wanted price is served, for each that is, as the plan of real orders
        has it: where every one stands near enough, the best the best, all stay; else what stands at
        a wanted price serves that one before any other."""
        stood = list(dict.fromkeys(order.price for order in orders))
        pairs = list(zip(stood, wanted, strict=False))
        if len(stood) == len(wanted) and all(self._may_stay(side, *pair) for pair in pairs):
            return {quote.price: price for price, quote in pairs}
        serving = {quote.price: quote.price for quote in wanted if quote.price in stood}
        spare = [price for price in stood if price not in serving]
        for quote in wanted:
            near = next((price for price in spare if self._may_stay(side, price, quote)), None)
            if quote.price not in serving and near is not None:
                serving[quote.price] = near
                spare.remove(near)
        return serving

    def _may_stay(self, side: BookSide, price: Price, quote: Quote) -> bool:
        """Whether an order near a wanted price is left there, as the plan of real ones would."""
        limit = quote.price if quote.limit is None else quote.limit
        tolerance = self._pace.tolerance_ticks
        if side is BookSide.BID:
            return quote.price - tolerance <= price <= limit
        return limit <= price <= quote.price + tolerance

    def _nowhere(self) -> QueuePosition:
        return QueuePosition(0, self._shown_ns, self._bound)

    def _others_at(self, side: BookSide, price: Price) -> int:
        return next((int(size) for at, size in self._levels[side] if at == price), 0)

    # --- trading ----------------------------------------------------------------------------------

    def _trade(self, order: _Order, *, whole: bool) -> None:
        """An order comes: it takes what rests at its price or better, at the prices found there."""
        found = list(self._meeting(order.side, order.price, order.qty, eat=not whole))
        if whole:
            if sum(size for _, size in found) < order.qty:
                return
            found = list(self._meeting(order.side, order.price, order.qty))
        for price, size in found:
            self._fill(order, price, size, self.rates[1])

    def _meeting(
        self, side: BookSide, limit: Price, qty: int, *, eat: bool = True
    ) -> Iterator[tuple[Price, int]]:
        """Prices and shares of the other side that an order of this side would meet, best first.
        eat: they are gone afterwards, until the size shown there changes."""
        for price, size in self._levels[side.other]:
            if qty <= 0 or (price > limit if side is BookSide.BID else price < limit):
                return
            before = self._eaten.get((side.other, price), (size, 0))[1]
            taken = min(qty, size - before)
            if taken > 0:
                qty -= taken
                if eat:
                    self._eaten[side.other, price] = (size, before + taken)
                yield price, taken

    def _fill(self, order: _Order, price: Price, qty: int, rate: FeeRate) -> None:
        """Shares and cash move: what is held is sold before anything is bought."""
        order.qty -= qty
        order.fees, fee_cents = fill_fee(order.fees, rate, Qty(qty), price)
        self.cash_cents -= fee_cents
        if order.side is BookSide.BID:
            sold = min(self.no_qty, qty)
            self.no_qty -= sold
            self.yes_qty += qty - sold
            self.cash_cents += sold * complement(price) - (qty - sold) * price
        else:
            sold = min(self.yes_qty, qty)
            self.yes_qty -= sold
            self.no_qty += qty - sold
            self.cash_cents += sold * price - (qty - sold) * complement(price)
        self.version += 1
        self.has_filled = True
        self._met(Met(order.side, price, Qty(qty), fee_cents, order.tag))

    def _clear(self, side: BookSide) -> None:
        """Forget what has filled whole."""
        orders = self._orders[side]
        if any(not order.qty for order in orders):
            self._orders[side] = [order for order in orders if order.qty]

    def settle(self, winner: Outcome) -> None:
        """The rung has resolved: shares turn into their payout, and nothing rests any longer."""
        self.cash_cents += PAYOUT_CENTS * (self.yes_qty if winner is Outcome.YES else self.no_qty)
        self.yes_qty = self.no_qty = 0
        self._orders = {side: [] for side in BookSide}
        self.version += 1

    # --- reading ----------------------------------------------------------------------------------

    @property
    def resting_qty(self) -> int:
        """Shares that would rest."""
        return sum(order.qty for orders in self._orders.values() for order in orders)

    def locked_cents(self) -> int:
        """The cash that what rests would keep: its prices, for what is not sold from holdings, and
        those are sold by the boldest orders first."""
        locked, to_sell = 0, {BookSide.BID: self.no_qty, BookSide.ASK: self.yes_qty}
        for side, orders in self._orders.items():
            for order in orders:
                sold = min(to_sell[side], order.qty)
                to_sell[side] -= sold
                price = order.price if side is BookSide.BID else complement(order.price)
                locked += (order.qty - sold) * price
        return locked

    def own(self, now_ns: int) -> tuple[OwnQuote, ...]:
        """What would rest, one row a price: bids before asks, the boldest first."""
        out: list[OwnQuote] = []
        for side, orders in self._orders.items():
            for price in dict.fromkeys(order.price for order in orders):
                here = [order for order in orders if order.price == price]
                came_ns = min(order.came_ns for order in here)
                out.append(
                    OwnQuote(
                        side,
                        price,
                        Qty(sum(order.qty for order in here)),
                        min(order.place.ahead for order in here),
                        max(0, now_ns - came_ns) / NS_PER_SECOND,
                    )
                )
        return tuple(out)
