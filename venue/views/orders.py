"""The orders of one user in records of fixed size. An order's place is its number among the user's
own. Places are kept in lists by market and status, so a page costs its own rows alone."""

import struct
from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from venue.engine.messages import OrderState
from venue.views.catalog import Catalog
from venue.views.packed import PLACE_CODE, downwards, newest_first
from venue.wire.model import OrderStatus
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import OrderId, UserId
from venue.wire.requests import TimeInForce

_NEWEST_FILL: Final = struct.Struct("<I")
_RECORD: Final = struct.Struct("<IQIIIIqqqBBBBB")
"""Newest fill (its place + 1, 0 for none), order id, market number, qty, remaining, filled,
reserved, created, updated, price, and the numbers of outcome, side, time in force and status in
the four tuples below. Snapshots hold these bytes: the tuples may grow at their ends only."""

_OUTCOMES: Final = (Outcome.YES, Outcome.NO)
_SIDES: Final = (Side.BUY, Side.SELL)
_TIMES_IN_FORCE: Final = (TimeInForce.GTC, TimeInForce.IOC, TimeInForce.FOK)
_STATUSES: Final = (
    OrderStatus.ACCEPTED,
    OrderStatus.OPEN,
    OrderStatus.PARTIALLY_FILLED,
    OrderStatus.FILLED,
    OrderStatus.CANCELED,
    OrderStatus.EXPIRED,
)
_EVERY_STATUS: Final = frozenset(_STATUSES)
_STATUS_NUMBERS: Final = {status: number for number, status in enumerate(_STATUSES)}
_SIZE: Final = _RECORD.size
_STATUS_AT: Final = _SIZE - 1
_BLANK: Final = bytes(_SIZE)


class OrdersSnapshot(msgspec.Struct, frozen=True):
    """All records, and the newest fills (place + 1) of orders that have none yet, by order id."""

    records: bytes
    early_fills: dict[int, int]


class OrderTable:
    """The orders of one user. Places given to it are places that it has given out."""

    __slots__ = ("_catalog", "_early_fills", "_lists", "_places", "_records", "_user_id")

    def __init__(self, catalog: Catalog, user_id: UserId) -> None:
        self._catalog = catalog
        self._user_id = user_id
        self._records = bytearray()
        self._places: dict[int, int] = {}
        self._lists: dict[int, dict[int, array[int]]] = {}
        self._early_fills: dict[int, int] = {}

    @classmethod
    def from_rows(cls, catalog: Catalog, user_id: UserId, snapshot: OrdersSnapshot) -> "OrderTable":
        """The table that gave this snapshot; the catalog is as it was then, or later."""
        table = cls(catalog, user_id)
        table._records = bytearray(snapshot.records)
        table._early_fills = dict(snapshot.early_fills)
        for place, record in enumerate(_RECORD.iter_unpack(snapshot.records)):
            table._places[record[1]] = place
            table._list(record[2], record[-1]).append(place)
        return table

    def to_rows(self) -> OrdersSnapshot:
        return OrdersSnapshot(bytes(self._records), dict(self._early_fills))

    def change(self, order: OrderState) -> None:
        number = int(order.order_id)
        market = self._catalog.market_number(order.market_id)
        status = _STATUS_NUMBERS[order.status]
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = len(self._places)
            newest_fill = self._early_fills.pop(number, 0)
            self._records += _BLANK
            insort(self._list(market, status), place)
        else:
            (newest_fill,) = _NEWEST_FILL.unpack_from(self._records, place * _SIZE)
            before = self._records[place * _SIZE + _STATUS_AT]
            if before != status:
                places = self._list(market, before)
                del places[bisect_left(places, place)]
                insort(self._list(market, status), place)
        _RECORD.pack_into(
            self._records,
            place * _SIZE,
            newest_fill,
            number,
            market,
            order.qty,
            order.remaining_qty,
            order.filled_qty,
            order.reserved_cents,
            order.created_ns,
            order.updated_ns,
            order.price,
            _OUTCOMES.index(order.outcome),
            _SIDES.index(order.side),
            _TIMES_IN_FORCE.index(order.time_in_force),
            status,
        )

    def find(self, order_id: OrderId) -> int | None:
        """The place of an order by its id, digits as issued; None when there is none."""
        number = int(order_id)
        # 007 and 7 are two ids.
        return self._places.get(number) if str(number) == order_id else None

    def order(self, place: int) -> OrderState:
        return self.kept_order(self.kept(place))

    def kept(self, place: int) -> bytes:
        return bytes(self._records[place * _SIZE : (place + 1) * _SIZE])

    def kept_order(self, kept: bytes) -> OrderState:
        record = _RECORD.unpack(kept)
        market_id = self._catalog.numbered_market(record[2])
        ticker, event_ticker = self._catalog.market_tickers(market_id)
        return OrderState(
            order_id=OrderId(str(record[1])),
            user_id=self._user_id,
            market_id=market_id,
            ticker=ticker,
            event_ticker=event_ticker,
            outcome=_OUTCOMES[record[10]],
            side=_SIDES[record[11]],
            price=Price(record[9]),
            qty=Qty(record[3]),
            remaining_qty=Qty(record[4]),
            filled_qty=Qty(record[5]),
            status=_STATUSES[record[13]],
            time_in_force=_TIMES_IN_FORCE[record[12]],
            reserved_cents=Cents(record[6]),
            created_ns=record[7],
            updated_ns=record[8],
        )

    def newest_first(
        self, markets: Iterable[int] | None, statuses: frozenset[OrderStatus], before: int | None
    ) -> Iterator[int]:
        """Places of orders in any of `statuses`, newest first, from below `before`. markets: their
        numbers, None for all. Orders must not change on the way."""
        if markets is None and statuses >= _EVERY_STATUS:
            return downwards(0, len(self._places), before)
        numbers = [n for status, n in _STATUS_NUMBERS.items() if status in statuses]
        by_market = self._lists.values() if markets is None else map(self._lists.get, markets)
        lists = [by_status.get(n) for by_status in by_market if by_status for n in numbers]
        return newest_first([places for places in lists if places], before)

    def newest_fill(self, order_id: OrderId) -> int | None:
        """The place of an order's newest fill; None when it has none or there is no such order."""
        number = int(order_id)
        if str(number) != order_id:
            return None
        place = self._places.get(number)
        if place is None:
            newest = self._early_fills.get(number, 0)
        else:
            (newest,) = _NEWEST_FILL.unpack_from(self._records, place * _SIZE)
        return newest - 1 if newest else None

    def swap_newest_fill(self, order_id: OrderId, fill: int) -> int | None:
        """Make the fill at this place an order's newest; the place of the one before it. The
        order's own event may come later."""
        number = int(order_id)
        place = self._places.get(number)
        if place is None:
            before = self._early_fills.get(number, 0)
            self._early_fills[number] = fill + 1
        else:
            (before,) = _NEWEST_FILL.unpack_from(self._records, place * _SIZE)
            _NEWEST_FILL.pack_into(self._records, place * _SIZE, fill + 1)
        return before - 1 if before else None

    def _list(self, market: int, status: int) -> "array[int]":
        by_status = self._lists.setdefault(market, {})
        places = by_status.get(status)
        if places is None:
            places = by_status[status] = array(PLACE_CODE)
        return places
