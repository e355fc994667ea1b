"""Every order there ever was. A client_order_id is remembered for ever (S14), so ended orders only
grow in number: each is one short packed record, and an `Order` only while somebody asks for it."""

from typing import Final

import msgspec

from venue.engine.ledger import CashAccount
from venue.engine.order import ListedMarket, Order
from venue.wire.model import OrderStatus
from venue.wire.money import Cents, FeeUnits, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, OrderId
from venue.wire.requests import BudgetOrder, NewOrder, QtyOrder, TimeInForce

_OUTCOMES: Final = (Outcome.YES, Outcome.NO)
_SIDES: Final = (Side.BUY, Side.SELL)
_TIMES_IN_FORCE: Final = (TimeInForce.GTC, TimeInForce.IOC, TimeInForce.FOK)
_STATUSES: Final = (
    OrderStatus.FILLED,
    OrderStatus.CANCELED,
    OrderStatus.EXPIRED,
    OrderStatus.OPEN,
    OrderStatus.PARTIALLY_FILLED,
)
_YES: Final = Outcome.YES
_BUY: Final = Side.BUY
_GTC: Final = TimeInForce.GTC
_FILLED: Final = OrderStatus.FILLED
_INT64_MAX: Final = 2**63 - 1
_ORDER_ID_LENGTH_MAX: Final = 20


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An order in short. account, market: their numbers. words: see `_words`. asked_price,
    asked_size (shares, or budget cents): as first requested. fees: exact, as text beyond 64 bits.
    lived_ns: from created_ns to the last change."""

    account: int
    market: int
    words: int
    asked_price: Price
    asked_size: int
    client_order_id: ClientOrderId
    price: Price
    qty: Qty
    filled: Qty
    fees: int | str
    spent: Cents | None
    ended_by_cancel: bool
    created_ns: int
    lived_ns: int


_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(Record).decode


class Orders:
    """All orders by id. accounts, markets: by number; they may grow. resting: in a book. ended:
    packed, by the number that their id is."""

    __slots__ = ("_accounts", "_markets", "ended", "resting")

    def __init__(self, accounts: list[CashAccount], markets: list[ListedMarket]) -> None:
        self._accounts = accounts
        self._markets = markets
        self.resting: dict[OrderId, Order] = {}
        # A number takes half the room of its text, and numbers and bytes are nothing for the
        # collector of cycles to walk through, however many there are.
        self.ended: dict[int, bytes] = {}

    def get(self, order_id: OrderId) -> Order | None:
        """The order with this id, or None. One that has ended is decoded each time."""
        order = self.resting.get(order_id)
        if order is not None:
            return order
        number = _number(order_id)
        return None if number is None else self.known(order_id, number)

    def known(self, order_id: OrderId, number: int) -> Order | None:
        order = self.resting.get(order_id)
        if order is not None:
            return order
        packed = self.ended.get(number)
        return None if packed is None else self.unpacked(order_id, _unpack(packed))

    def settle(self, order: Order) -> None:
        """Keep an order as a command has left it: as it is in a book, packed when it has ended."""
        order_id = order.order_id
        if order.level is not None:
            self.resting[order_id] = order
        else:
            self.resting.pop(order_id, None)
            self.ended[int(order_id)] = _pack(record(order))

    def unpacked(self, order_id: OrderId, record: Record) -> Order:
        """The order of a record, resting nowhere, with nothing left and locked."""
        words, market = record.words, self._markets[record.market]
        words, is_no = divmod(words, 2)
        words, is_sell = divmod(words, 2)
        words, by_budget = divmod(words, 2)
        status, time_in_force = divmod(words, 4)
        request: NewOrder
        if by_budget:
            request = BudgetOrder(
                market.listing.market_id,
                _OUTCOMES[is_no],
                record.asked_price,
                Cents(record.asked_size),
                _TIMES_IN_FORCE[time_in_force],
                record.client_order_id,
            )
        else:
            request = QtyOrder(
                market.listing.market_id,
                _OUTCOMES[is_no],
                _SIDES[is_sell],
                record.asked_price,
                Qty(record.asked_size),
                _TIMES_IN_FORCE[time_in_force],
                record.client_order_id,
            )
        order = Order(
            order_id,
            self._accounts[record.account],
            market,
            request,
            Qty(0),
            record.created_ns,
        )
        order.reprice(record.price)
        order.qty = record.qty
        order.filled = record.filled
        order.fees = FeeUnits(int(record.fees))
        order.spent = record.spent
        order.status = _STATUSES[status]
        order.ended_by_cancel = record.ended_by_cancel
        order.updated_ns = record.created_ns + record.lived_ns
        return order


def record(order: Order) -> Record:
    """An order in short, without what it has left and locked."""
    request, fees = order.request, order.fees
    return Record(
        order.account.number,
        order.market.number,
        _words(order),
        request.price,
        request.qty if isinstance(request, QtyOrder) else request.budget_cents,
        request.client_order_id,
        order.price,
        order.qty,
        order.filled,
        fees if fees <= _INT64_MAX else str(fees),
        order.spent,
        order.ended_by_cancel,
        order.created_ns,
        order.updated_ns - order.created_ns,
    )


def _words(order: Order) -> int:
    """One bit for each of NO, sell and by budget, two for the time in force, the rest: status."""
    # Asked by identity, the usual answer first: a table of members would hash or compare text.
    words = 0 if order.outcome is _YES else 1
    if order.side is not _BUY:
        words += 2
    if order.spent is not None:
        words += 4
    time_in_force, status = order.request.time_in_force, order.status
    if time_in_force is not _GTC:
        words += 8 * _TIMES_IN_FORCE.index(time_in_force)
    if status is not _FILLED:
        words += 32 * _STATUSES.index(status)
    return words


def _number(order_id: OrderId) -> int | None:
    """The number whose text an order id is, None for every other text ("01" is none)."""
    if not (order_id.isascii() and order_id.isdigit() and len(order_id) <= _ORDER_ID_LENGTH_MAX):
        return None
    return None if order_id[0] == "0" and order_id != "0" else int(order_id)
