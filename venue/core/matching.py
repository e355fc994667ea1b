"""Matching and what follows from it: fills, self-trade prevention, resting, ending, locking.

Every change of a book or of an order is made here, and noted here first, so that `drain` tells it
once. Whether an order may do what it does has been asked before.

Source: interface, States and transitions; Market, fee formula; silences S16..S20.
"""

from typing import Final

from venue.core.identity import Identity
from venue.core.ledger import Ledger, fill_fee
from venue.core.listings import Market
from venue.core.messages import Event, FillBooked, LevelChanged, OrderChanged, TradePrinted
from venue.core.order import Order
from venue.core.orderbook import Level
from venue.wire.model import Liquidity, OrderStatus
from venue.wire.money import (
    BookSide,
    Cents,
    FeeRate,
    Price,
    Qty,
    Side,
    canonical,
    notional,
    reserve_cents,
)
from venue.wire.names import MarketId
from venue.wire.requests import TimeInForce

_NO_CENTS: Final = Cents(0)
# Members by a name of the module: looking one up on its class costs as much as a small function.
_BUY: Final = Side.BUY
_PARTIALLY_FILLED: Final = OrderStatus.PARTIALLY_FILLED
_OPEN: Final = OrderStatus.OPEN
_FILLED: Final = OrderStatus.FILLED
_CANCELED: Final = OrderStatus.CANCELED
_GTC: Final = TimeInForce.GTC
_MAKER: Final = Liquidity.MAKER
_TAKER: Final = Liquidity.TAKER


class Matcher:
    """Carries orders through the books of all markets, and keeps what one command touched."""

    def __init__(self, identity: Identity, ledger: Ledger) -> None:
        self._identity = identity
        self._ledger = ledger
        self.matches = 0
        # What the command under way has touched; empty between two commands.
        self._prints: list[Event] = []
        self._touched: dict[Order, None] = {}
        self._levels_before: dict[Level[Order], tuple[MarketId, BookSide, int]] = {}

    def note_new(self, order: Order) -> None:
        """Note an order that has just been made."""
        self._touched[order] = None

    def match(self, taker: Order, market: Market, now_ns: int) -> None:
        """Trade an order that does not rest against the other half, at the makers' prices.

        An own order that is met loses the overlap, and so does the taker (S20).
        """
        half = market.book.half(taker.book_side.other)
        limit = taker.canonical_price
        while taker.remaining > 0:
            maker = half.first_within(limit)
            if maker is None:
                return
            level = maker.level
            assert level is not None
            self._note_level(market, maker.book_side, level)
            self._touched[maker] = None
            maker.touch(now_ns)
            overlap = min(taker.remaining, maker.remaining)
            taker.remaining = Qty(taker.remaining - overlap)
            half.shrink(maker, overlap)
            if maker.account is taker.account:
                self.secure(maker, market)
            else:
                self._trade(market, maker, taker, level.price, overlap, now_ns)
            if maker.remaining > 0:
                maker.status = _resting_status(maker)
            else:
                self.end(maker, market, _consumed_status(maker))

    def _trade(
        self, market: Market, maker: Order, taker: Order, price: Price, qty: Qty, now_ns: int
    ) -> None:
        """Book one match at the maker's canonical price, on both sides and on the tape."""
        self.matches += 1
        trade_id = self._identity.trade_id(self.matches)
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
        self._fill(market, maker, trade_id, price, qty, _MAKER, now_ns)
        self._fill(market, taker, trade_id, price, qty, _TAKER, now_ns)

    def _fill(
        self,
        market: Market,
        order: Order,
        trade_id: str,
        trade_price: Price,
        qty: Qty,
        liquidity: Liquidity,
        now_ns: int,
    ) -> None:
        """Book one side of a match: fee, cash and shares in the order's own outcome (S16)."""
        rate = _rate(market, liquidity)
        price = canonical(order.outcome, trade_price)
        order.fees, fee = fill_fee(order.fees, rate, qty, price)
        order.filled = Qty(order.filled + qty)
        # First what the order had locked comes free, which always covers what the fill takes.
        self.secure(order, market)
        book = self._ledger.buy if order.side is _BUY else self._ledger.sell
        book(order.account, market.shares, order.outcome, price, qty, fee)
        if order.spent is not None:
            order.spent = Cents(order.spent + notional(price, qty) + fee)
        self._prints.append(
            FillBooked(
                now_ns,
                self._identity.fill_id(self.matches, liquidity.value),
                trade_id,
                order.account.user_id,
                order.order_id,
                market.listing.market_id,
                order.outcome,
                order.side,
                price,
                trade_price,
                qty,
                fee,
                liquidity,
            )
        )

    def rest_or_end(self, order: Order, market: Market) -> None:
        """Put what matching left of an order into the book, or end it."""
        if order.remaining == 0:
            self.end(order, market, _consumed_status(order))
        elif order.request.time_in_force is _GTC:
            half = market.book.half(order.book_side)
            price = order.canonical_price
            self._note_level(market, order.book_side, half.level(price))
            half.add(order, price)
            order.status = _resting_status(order)
            self.secure(order, market)
        else:
            # Also an ioc that was filled in part (S18), and a fok that did not fill.
            self.end(order, market, _CANCELED)

    def end(self, order: Order, market: Market, status: OrderStatus) -> None:
        """End an order that has left the book, and release what it had locked."""
        order.remaining = Qty(0)
        order.status = status
        self.secure(order, market)

    def take_out(self, order: Order, market: Market, now_ns: int) -> None:
        """Take a resting order out of the book; what it had locked stays locked for now."""
        level = order.level
        assert level is not None
        self._note_level(market, order.book_side, level)
        self._touched[order] = None
        order.touch(now_ns)
        market.book.half(order.book_side).remove(order)

    def secure(self, order: Order, market: Market) -> None:
        """Lock what a resting order may cost or give away, no more and no less (S17)."""
        resting = order.is_resting
        if order.side is _BUY:
            reserve = (
                reserve_cents(market.rate_max, order.remaining, order.price, order.fees)
                if resting
                else _NO_CENTS
            )
            self._ledger.reserve(order.account, Cents(reserve - order.reserved))
            order.reserved = reserve
        else:
            locked = order.remaining if resting else Qty(0)
            self._ledger.lock(
                order.account, market.shares, order.outcome, Qty(locked - order.locked)
            )
            order.locked = locked

    def cut_down(self, order: Order, market: Market, remaining: Qty, now_ns: int) -> None:
        """Make a resting order smaller, or leave it as it is, in its place."""
        level = order.level
        assert level is not None
        self._note_level(market, order.book_side, level)
        self._touched[order] = None
        order.touch(now_ns)
        if remaining < order.remaining:
            market.book.half(order.book_side).shrink(order, order.remaining - remaining)
        self.secure(order, market)

    def drain(self, now_ns: int) -> list[Event]:
        """The events of the command that has just been carried out."""
        events = self._prints
        self._prints = []
        events.extend([OrderChanged(now_ns, order.state()) for order in self._touched])
        self._touched.clear()
        events.extend(self._ledger.drain(now_ns))
        for level, (market_id, side, size) in self._levels_before.items():
            if level.size != size:
                events.append(LevelChanged(now_ns, market_id, side, level.price, Qty(level.size)))
        self._levels_before.clear()
        return events

    def _note_level(self, market: Market, side: BookSide, level: Level[Order]) -> None:
        if level not in self._levels_before:
            self._levels_before[level] = (market.listing.market_id, side, level.size)


def fills_whole(taker: Order, market: Market) -> bool:
    """Whether a fok would trade in full before it meets an own order (S19)."""
    missing = taker.remaining
    for _, maker in market.book.half(taker.book_side.other).walk(taker.canonical_price):
        if maker.account is taker.account:
            return False
        if maker.remaining >= missing:
            return True
        missing = Qty(missing - maker.remaining)
    return False


def _rate(market: Market, liquidity: Liquidity) -> FeeRate:
    listing = market.listing
    return listing.maker_fee_rate if liquidity is _MAKER else listing.taker_fee_rate


def _resting_status(order: Order) -> OrderStatus:
    return _PARTIALLY_FILLED if order.filled else _OPEN


def _consumed_status(order: Order) -> OrderStatus:
    """Filled when every share was traded; canceled when self-trade prevention took any (S20)."""
    return _FILLED if order.filled == order.qty else _CANCELED
