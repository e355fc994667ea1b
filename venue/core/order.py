"""One order as the engine keeps it: what was asked, what became of it, what it holds locked.

Orders are kept for ever, because a client_order_id is remembered for ever (S14).

Source: interface, Resources, Order; States and transitions; silences S13, S16, S31.
"""

from venue.core.ledger import Account
from venue.core.messages import OrderState
from venue.core.orderbook import Entry
from venue.wire.model import OrderStatus
from venue.wire.money import BookSide, Cents, FeeUnits, Price, Qty, Side, book_side, canonical
from venue.wire.names import OrderId, Ticker
from venue.wire.requests import NewOrder, QtyOrder


class Order(Entry):
    """An order, and while it rests its own place in the queue.

    qty: filled + remaining + removed since the last amend (S13). canonical_price: the limit in YES
    cents. fees: the exact fees of all its fills (S16). reserved: cents locked, locked: shares
    locked; both 0 unless it rests. spent: what a budget order cost, None for an order by size.
    ended_by_cancel: a second cancel of such an order is answered 0 and not refused (S31).
    """

    __slots__ = (
        "_shown",
        "account",
        "book_side",
        "canonical_price",
        "created_ns",
        "ended_by_cancel",
        "event_ticker",
        "fees",
        "filled",
        "locked",
        "order_id",
        "outcome",
        "price",
        "qty",
        "request",
        "reserved",
        "side",
        "spent",
        "status",
        "ticker",
        "updated_ns",
    )

    def __init__(
        self,
        order_id: OrderId,
        account: Account,
        request: NewOrder,
        ticker: Ticker,
        event_ticker: Ticker,
        qty: Qty,
        now_ns: int,
    ) -> None:
        super().__init__(qty)
        self.order_id = order_id
        self.account = account
        self.request = request
        self.ticker = ticker
        self.event_ticker = event_ticker
        self.outcome = request.outcome
        self.side = request.side if isinstance(request, QtyOrder) else Side.BUY
        self.book_side: BookSide = book_side(self.outcome, self.side)
        self.price: Price = request.price
        self.canonical_price = canonical(self.outcome, self.price)
        self.qty = qty
        self.filled = Qty(0)
        self.fees = FeeUnits(0)
        self.status = OrderStatus.OPEN
        self.reserved = Cents(0)
        self.locked = Qty(0)
        self.spent: Cents | None = None if isinstance(request, QtyOrder) else Cents(0)
        self.ended_by_cancel = False
        self.created_ns = now_ns
        self.updated_ns = now_ns
        self._shown: OrderState | None = None

    @property
    def is_resting(self) -> bool:
        """Whether it stands in the book."""
        return self.level is not None

    def reprice(self, price: Price) -> None:
        """Set another limit; the order must not rest."""
        assert self.level is None
        self.price = price
        self.canonical_price = canonical(self.outcome, price)

    def touch(self, now_ns: int) -> None:
        """Note that this order is being changed at an instant."""
        self.updated_ns = now_ns
        self._shown = None

    def state(self) -> OrderState:
        """The order as messages carry it. The same object until the order is touched again."""
        shown = self._shown
        if shown is None:
            shown = self._shown = OrderState(
                self.order_id,
                self.account.user_id,
                self.request.market_id,
                self.ticker,
                self.event_ticker,
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
