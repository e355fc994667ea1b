"""An order as the engine keeps it while it rests; `venue.engine.orders` packs ended ones."""

from typing import Final

from venue.engine.ledger import CashAccount, Shares
from venue.engine.messages import ListMarket, OrderState
from venue.engine.orderbook import BookEntry, HalfBook, OrderBook
from venue.wire.model import MarketState, OrderStatus
from venue.wire.money import (
    BookSide,
    Cents,
    FeeUnits,
    Outcome,
    Price,
    Qty,
    Side,
    book_side,
    canonical,
)
from venue.wire.names import OrderId
from venue.wire.requests import NewOrder, QtyOrder

_BID: Final = BookSide.BID
_BUY: Final = Side.BUY
_OPEN: Final = OrderStatus.OPEN
_NO_CENTS: Final = Cents(0)
_NO_SHARES: Final = Qty(0)
_NO_FEES: Final = FeeUnits(0)


class Order(BookEntry):
    """An order, and its place in the queue. half: where it rests, or would. canonical_price: the
    limit in YES cents. qty: filled + remaining + removed since the last amend (S13). fees: exact,
    of all fills (S16). reserved: cents locked, locked: shares locked; 0 unless it rests. spent:
    cost of a budget order, else None. ended_by_cancel: a second cancel is answered 0, not refused
    (S31)."""

    spent: Cents | None
    status: OrderStatus
    __slots__ = (
        "_shown",
        "account",
        "canonical_price",
        "created_ns",
        "ended_by_cancel",
        "fees",
        "filled",
        "half",
        "locked",
        "market",
        "order_id",
        "outcome",
        "price",
        "qty",
        "request",
        "reserved",
        "side",
        "spent",
        "status",
        "updated_ns",
    )

    def __init__(
        self,
        order_id: OrderId,
        account: CashAccount,
        market: "ListedMarket",
        request: NewOrder,
        qty: Qty,
        now_ns: int,
    ) -> None:
        # What `BookEntry` sets, set here: one is made for every command that places an order.
        self._after = None
        self._before = None
        self.level = None
        self.remaining = qty
        self.order_id = order_id
        self.account = account
        self.market = market
        self.request = request
        outcome = self.outcome = request.outcome
        if isinstance(request, QtyOrder):
            side, self.spent = request.side, None
        else:
            side, self.spent = _BUY, _NO_CENTS
        self.side: Side = side
        book = market.book
        self.half: HalfBook[Order] = book.bids if book_side(outcome, side) is _BID else book.asks
        price = self.price = request.price
        self.canonical_price = canonical(outcome, price)
        self.qty = qty
        self.filled = _NO_SHARES
        self.fees = _NO_FEES
        self.status = _OPEN
        self.reserved = _NO_CENTS
        self.locked = _NO_SHARES
        self.ended_by_cancel = False
        self.created_ns = now_ns
        self.updated_ns = now_ns
        self._shown: OrderState | None = None

    @property
    def is_resting(self) -> bool:
        return self.level is not None

    def reprice(self, price: Price) -> None:
        """Set another limit; the order must not rest."""
        assert self.level is None
        self.price = price
        self.canonical_price = canonical(self.outcome, price)

    def touch(self, now_ns: int) -> None:
        self.updated_ns = now_ns
        self._shown = None

    def state(self) -> OrderState:
        """The order as messages carry it. The same object until the order is touched again."""
        shown = self._shown
        if shown is None:
            listing = self.market.listing
            shown = self._shown = OrderState(
                self.order_id,
                self.account.user_id,
                listing.market_id,
                listing.ticker,
                listing.event_ticker,
                self.outcome,
                self.side,
                self.price,
                self.qty,
                self.remaining,
                self.filled,
                self.status,
                self.request.time_in_force,
                self.reserved,
                self.created_ns,
                self.updated_ns,
            )
        return shown


class ListedMarket:
    """One market as the engine keeps it. winner: None until it has resolved. number: how many
    markets were listed before it."""

    __slots__ = ("book", "listing", "number", "rate_max", "shares", "state", "winner")

    def __init__(self, listing: ListMarket, number: int, shares: Shares) -> None:
        self.listing = listing
        self.number = number
        self.shares = shares
        self.state = MarketState.ACTIVE
        self.winner: Outcome | None = None
        self.book: OrderBook[Order] = OrderBook()
        self.rate_max = max(listing.maker_fee_rate, listing.taker_fee_rate)
