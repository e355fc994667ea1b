"""Moves one account's resting orders to the target book by the fewest commands. Sizes shrink by
amend to keep places in the queue. Commands in flight are believed for a while."""

from typing import Final

import msgspec

from venue.crowd.target_book import Levels
from venue.engine.messages import AmendOrder, CancelOrder, Command, OrderChanged, PlaceOrder
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import RESTING
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, UserId
from venue.wire.requests import Amend, QtyOrder, TimeInForce

NO_NEWS_NS: Final = 2 * NS_PER_SECOND
"""Timeout of a request without any event: it counts as not carried out, and is sent again."""


class _Lot(msgspec.Struct):
    """One order of ours. `order_id` None: sent and not seen yet. `leaving`: a cancel was sent."""

    order_id: OrderId | None
    qty: Qty
    sent_ns: int
    leaving: bool = False


Level = tuple[Outcome, Price]


class OrderMirror:
    def __init__(self, user_id: UserId, market_id: MarketId) -> None:
        self._user_id, self._market_id = user_id, market_id
        self._lots: dict[Level, list[_Lot]] = {}

    def observe(self, event: OrderChanged) -> None:
        order = event.order
        if order.user_id != self._user_id or order.market_id != self._market_id:
            return
        if order.side is not Side.BUY or order.time_in_force is not TimeInForce.GTC:
            return
        lots = self._lots.setdefault((order.outcome, order.price), [])
        lot = next((lot for lot in lots if lot.order_id == order.order_id), None)
        if lot is None:
            lot = next((lot for lot in lots if lot.order_id is None), None)
        if order.status in RESTING:
            if lot is None:
                lot = _Lot(order.order_id, order.remaining_qty, event.at_ns)
                lots.append(lot)
            lot.order_id, lot.qty = order.order_id, order.remaining_qty
        elif lot is not None:
            lots.remove(lot)

    def settle(self, wanted: Levels, now_ns: int, cid_prefix: str) -> list[Command]:
        """The commands that bring the orders to `wanted`: reductions first, so that none meets its
        own kind. cid_prefix: makes the ids of this call's orders unique."""
        reductions: list[Command] = []
        places: list[Command] = []
        for level in sorted({*self._lots, *wanted}):
            self._give_up_waiting(level, now_ns)
            lots = self._lots.setdefault(level, [])
            have = sum(lot.qty for lot in lots if not lot.leaving)
            missing = wanted.get(level, 0) - have
            if missing < 0:
                reductions += self._reduce(lots, -missing, now_ns)
            elif missing > 0:
                cid = ClientOrderId(f"{cid_prefix}-{len(places):x}")
                places.append(self._place(level, Qty(missing), cid))
                lots.append(_Lot(None, Qty(missing), now_ns))
            if not lots:
                del self._lots[level]
        return reductions + places

    def _give_up_waiting(self, level: Level, now_ns: int) -> None:
        lots = self._lots.get(level, [])
        for lot in [lot for lot in lots if now_ns - lot.sent_ns > NO_NEWS_NS]:
            lot.leaving = False
            if lot.order_id is None:
                lots.remove(lot)

    def _reduce(self, lots: list[_Lot], excess: int, now_ns: int) -> list[Command]:
        commands: list[Command] = []
        for lot in reversed(lots):
            if excess <= 0:
                break
            if lot.order_id is None or lot.leaving:
                continue
            lot.sent_ns = now_ns
            if lot.qty <= excess:
                excess -= lot.qty
                lot.leaving = True
                commands.append(CancelOrder(self._user_id, lot.order_id))
            else:
                lot.qty = Qty(lot.qty - excess)
                excess = 0
                commands.append(AmendOrder(self._user_id, lot.order_id, Amend(qty=lot.qty)))
        return commands

    def _place(self, level: Level, qty: Qty, cid: ClientOrderId) -> PlaceOrder:
        outcome, price = level
        return PlaceOrder(
            self._user_id,
            QtyOrder(self._market_id, outcome, Side.BUY, price, qty, TimeInForce.GTC, cid),
        )
