"""Matching and what follows: fills, self-trade prevention, resting, ending, locking. Every change
of a book or an order is noted here, so that `drain` reports it once; whether it is allowed was
asked before. One command changes one market. Readings: docs/assumptions.md#S19, #S20, #S53."""

from typing import Final

from venue.engine.identity import Identity
from venue.engine.ledger import Ledger
from venue.engine.messages import Event, FillBooked, LevelChanged, OrderChanged, TradePrinted
from venue.engine.order import ListedMarket, Order
from venue.engine.orderbook import PriceQueue
from venue.engine.orders import Orders
from venue.wire.model import Liquidity, OrderStatus
from venue.wire.money import (
    Cents,
    FeeRate,
    Price,
    Qty,
    Side,
    canonical,
    fill_fee,
    notional,
    reserve_cents,
)
from venue.wire.requests import TimeInForce

_NO_CENTS: Final = Cents(0)
_NO_SHARES: Final = Qty(0)
_BUY: Final = Side.BUY
_PARTIALLY_FILLED: Final = OrderStatus.PARTIALLY_FILLED
_OPEN: Final = OrderStatus.OPEN
_FILLED: Final = OrderStatus.FILLED
_CANCELED: Final = OrderStatus.CANCELED
_FOK: Final = TimeInForce.FOK
_GTC: Final = TimeInForce.GTC
_MAKER: Final = Liquidity.MAKER
_TAKER: Final = Liquidity.TAKER


class Matcher:
    def __init__(self, identity: Identity, ledger: Ledger, orders: Orders) -> None:
        self._identity = identity
        self._ledger = ledger
        self._orders = orders
        self.matches = 0
        # Touched by the present command; empty between two commands.
        self._prints: list[Event] = []
        self._touched: dict[Order, None] = {}
        self._sizes_before: dict[PriceQueue[Order], int] = {}

    def enter(self, order: Order, now_ns: int) -> list[Event]:
        self._touched[order] = None
        if order.request.time_in_force is not _FOK or fills_whole(order):
            self.match(order, now_ns)
        self.rest_or_end(order)
        return self.drain(order.market, now_ns)

    def match(self, taker: Order, now_ns: int) -> None:
        """Trade an order that neither rests nor has anything locked, at the makers' prices. An own
        order that is met loses the overlap, and so does the taker (S20)."""
        book = taker.market.book
        half = book.asks if taker.half is book.bids else book.bids
        limit = taker.canonical_price
        while taker.remaining > 0:
            maker = half.first_within(limit)
            if maker is None:
                return
            level = maker.level
            assert level is not None
            self._note_level(level)
            self._touched[maker] = None
            maker.touch(now_ns)
            overlap = maker.remaining
            if overlap >= taker.remaining:
                overlap, taker.remaining = taker.remaining, _NO_SHARES
            else:
                taker.remaining = Qty(taker.remaining - overlap)
            half.shrink(maker, overlap)
            if maker.account is taker.account:
                self.secure(maker)
            else:
                self._trade(maker, taker, level.price, overlap, now_ns)
            # Either way the maker has locked by now what it needs, which is nothing if it ended.
            if maker.remaining:
                maker.status = _PARTIALLY_FILLED if maker.filled else _OPEN
            else:
                maker.status = _consumed_status(maker)

    def _trade(self, maker: Order, taker: Order, price: Price, qty: Qty, now_ns: int) -> None:
        self.matches += 1
        trade_id, maker_id, taker_id = self._identity.match_ids(self.matches)
        market = maker.market
        listing = market.listing
        self._prints.append(
            TradePrinted(
                now_ns,
                trade_id,
                listing.market_id,
                price,
                qty,
                maker.outcome,
                maker.side,
                taker.outcome,
                taker.side,
            )
        )
        if maker.side is taker.side:
            # Two buys of opposite outcomes issue pairs, two sells retire them; else shares move.
            self._ledger.change_interest(market.shares, qty if maker.side is _BUY else -qty)
        maker_rate, taker_rate = listing.maker_fee_rate, listing.taker_fee_rate
        self._fill(maker, maker_id, trade_id, price, qty, maker_rate, _MAKER, now_ns)
        self._fill(taker, taker_id, trade_id, price, qty, taker_rate, _TAKER, now_ns)

    def _fill(
        self,
        order: Order,
        fill_id: str,
        trade_id: str,
        trade_price: Price,
        qty: Qty,
        rate: FeeRate,
        liquidity: Liquidity,
        now_ns: int,
    ) -> None:
        """Book one side of a match: fee, cash and shares in the order's own outcome (S16). What the
        order has locked beyond the needs of its remainder comes free, and covers the fill."""
        market, account, outcome, side = order.market, order.account, order.outcome, order.side
        price = canonical(outcome, trade_price)
        order.fees, fee = fill_fee(order.fees, rate, qty, price)
        order.filled = Qty(order.filled + qty)
        if side is _BUY:
            cost = notional(price, qty)
            released = order.reserved
            if released:
                order.reserved = self._needed(order)
                released = Cents(released - order.reserved)
            self._ledger.buy(account, market.shares, outcome, qty, cost, fee, released)
            if order.spent is not None:
                order.spent = Cents(order.spent + cost + fee)
        else:
            freed = order.locked
            if freed:
                order.locked = _NO_SHARES if order.level is None else order.remaining
                freed = Qty(freed - order.locked)
            self._ledger.sell(
                account, market.shares, outcome, qty, notional(price, qty), fee, freed
            )
        self._prints.append(
            FillBooked(
                now_ns,
                fill_id,
                trade_id,
                account.user_id,
                order.order_id,
                market.listing.market_id,
                outcome,
                side,
                price,
                trade_price,
                qty,
                fee,
                liquidity,
            )
        )

    def rest_or_end(self, order: Order) -> None:
        """Put what matching left of an order into the book, or end it; it has nothing locked."""
        if order.remaining == 0:
            order.status = _consumed_status(order)
        elif order.request.time_in_force is _GTC:
            level = order.half.add_entry(order, order.canonical_price)
            if level not in self._sizes_before:
                self._sizes_before[level] = level.size - order.remaining
            order.status = _PARTIALLY_FILLED if order.filled else _OPEN
            self.secure(order)
        else:
            # Also an ioc that was filled in part (S18), and a fok that did not fill.
            order.remaining = _NO_SHARES
            order.status = _CANCELED

    def end(self, order: Order, status: OrderStatus, now_ns: int) -> None:
        self.take_out(order, now_ns)
        order.remaining = _NO_SHARES
        order.status = status

    def take_out(self, order: Order, now_ns: int) -> None:
        level = order.level
        assert level is not None
        self._note_level(level)
        self._touched[order] = None
        order.touch(now_ns)
        order.half.remove(order)
        self.secure(order)

    def secure(self, order: Order) -> None:
        """Lock what a resting order may cost or give away, no more and no less (S17)."""
        if order.side is _BUY:
            needed, reserved = self._needed(order), order.reserved
            if needed != reserved:
                self._ledger.reserve(order.account, Cents(needed - reserved))
                order.reserved = needed
        else:
            locked = _NO_SHARES if order.level is None else order.remaining
            if locked != order.locked:
                shares, more = order.market.shares, Qty(locked - order.locked)
                self._ledger.lock(order.account, shares, order.outcome, more)
                order.locked = locked

    def _needed(self, order: Order) -> Cents:
        """The cost that a buy order may still have: 0 unless it rests."""
        if order.level is None:
            return _NO_CENTS
        return reserve_cents(order.market.rate_max, order.remaining, order.price, order.fees)

    def cut_down(self, order: Order, remaining: Qty, now_ns: int) -> None:
        """Make a resting order smaller, or leave it as it is, in its place."""
        level = order.level
        assert level is not None
        self._note_level(level)
        self._touched[order] = None
        order.touch(now_ns)
        if remaining < order.remaining:
            order.half.shrink(order, order.remaining - remaining)
        self.secure(order)

    def drain(self, market: ListedMarket, now_ns: int) -> list[Event]:
        """The events of the command on this market that was just carried out; every order it
        touched is kept."""
        events = self._prints
        self._prints = []
        settle = self._orders.settle
        for order in self._touched:
            events.append(OrderChanged(now_ns, order.state()))
            settle(order)
        self._touched.clear()
        self._ledger.tell(events, now_ns)
        market_id = market.listing.market_id
        for level, size in self._sizes_before.items():
            if level.size != size:
                events.append(
                    LevelChanged(now_ns, market_id, level.side, level.price, Qty(level.size))
                )
        self._sizes_before.clear()
        return events

    def _note_level(self, level: PriceQueue[Order]) -> None:
        if level not in self._sizes_before:
            self._sizes_before[level] = level.size


def fills_whole(taker: Order) -> bool:
    """True if a fok would trade in full before it meets an own order (S19)."""
    book, missing = taker.market.book, int(taker.remaining)
    half = book.asks if taker.half is book.bids else book.bids
    levels = list(half.levels_within(taker.canonical_price))
    # Any number of orders may rest: we walk them only if the total size suffices.
    if sum(level.size for level in levels) < missing:
        return False
    for level in levels:
        for maker in level:
            if maker.account is taker.account:
                return False
            missing -= maker.remaining
            if missing <= 0:
                return True
    return False


def _consumed_status(order: Order) -> OrderStatus:
    """Filled when every share was traded; canceled when self-trade prevention took any (S20)."""
    return _FILLED if order.filled == order.qty else _CANCELED
