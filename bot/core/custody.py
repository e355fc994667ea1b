"""What rests in our rungs: taken over at the start, suspected while quoting, seen gone at the end.

Reads of the account say what is ours only when they began late enough after our last write; this
file asks for the ones that are missing.

Source: reliability, rows 23, 25, 59, 62, 63, 65, B2, B6, B13; design, The bot, item 7.
"""

from collections.abc import Iterable

from bot.core import messages as m
from bot.core.account import Account, Kind
from bot.core.desk import Desk
from bot.core.ledgers import Ledgers
from bot.core.order import OwnOrder
from bot.core.outbox import Outbox
from bot.core.quoting import Quoting
from bot.core.settings import TrustSettings
from venue.wire import model
from venue.wire.instant import NS_PER_MS

READ_AGAIN_NS = 100 * NS_PER_MS
"""A list is asked for again no sooner than this after it was read."""


class Custody:
    """Lists of resting orders against the desk, and whether the account may be opened or closed."""

    def __init__(
        self,
        trust: TrustSettings,
        desk: Desk,
        ledgers: Ledgers,
        quoting: Quoting,
        account: Account,
        out: Outbox,
    ) -> None:
        self._trust = trust
        self._desk = desk
        self._ledgers = ledgers
        self._quoting = quoting
        self._account = account
        self._out = out
        self._swept_strangers: frozenset[str] = frozenset()
        self._adopted_ns = -1  # when the last list of orders began whose strangers were taken over

    # --- lists ------------------------------------------------------------------------------------

    def resting_walked(
        self, shown: Iterable[model.Order], begun_ns: int, now_ns: int, *, quoting: bool
    ) -> None:
        """Merge a whole list of resting orders. quoting: strangers are foreign, not left over."""
        by_id = {order.order_id: order for order in shown}
        for market_id in self._desk.explain_lost(by_id.values(), begun_ns):
            self._quoting.orders_changed(market_id)
        for own in list(self._desk.all_live()):
            if own.order_id is None:
                continue
            before = (own.state, own.filled, own.remaining, own.price)
            if own.order_id in by_id:
                self._desk.merge_list_row(own, by_id[own.order_id], begun_ns)
            else:
                self._desk.missing_from_list(own, begun_ns, now_ns)
            if before != (own.state, own.filled, own.remaining, own.price):
                self._quoting.orders_changed(own.market_id)
        strangers = [order for order in by_id.values() if not self._desk.knows(order.order_id)]
        if quoting:
            self._suspect(strangers, begun_ns, now_ns)
        else:
            self._adopt(strangers, begun_ns, now_ns)

    def _adopt(self, strangers: list[model.Order], begun_ns: int, now_ns: int) -> None:
        """Before the first quote and after the last, what rests in our rungs is ours to cancel.

        Before the series is read nobody knows our rungs: such a list says nothing, and another one
        is asked for. The order of an undecided create of ours may be among them: then it is
        counted twice until both are over. Waiting instead could be for ever, for what rests may
        hold the very cash without which the re-send is refused.
        """
        if Kind.SERIES not in self._account.done_ns:
            return
        self._adopted_ns = begun_ns
        for order in strangers:
            if not self._quoting.is_ours(order.market_id):
                self._out.note("warning", "order_of_another_series", ticker=order.ticker)
                continue
            try:
                self._desk.add(OwnOrder.found_resting(order, now_ns))
                self._quoting.orders_changed(order.market_id)
            except ValueError:
                self._out.find("order_unreadable", f"order {order.order_id} cannot be read")

    def _suspect(self, strangers: list[model.Order], begun_ns: int, now_ns: int) -> None:
        """Foreign orders seen in two lists running: somebody else trades this account (row 63).

        What may be a create of ours that landed after all is ours, to be cancelled (row 25).
        """
        if self._desk.creates_undecided():
            return
        late = [order for order in strangers if self._desk.landed_late(order)]
        if late:
            self._adopt(late, begun_ns, now_ns)
            strangers = [order for order in strangers if order not in late]
        foreign = frozenset(
            order.order_id for order in strangers if self._quoting.is_ours(order.market_id)
        )
        if foreign & self._swept_strangers:
            self._out.find("foreign_orders", "orders that are not ours rest in our rungs")
        elif not foreign:
            self._out.clear("foreign_orders")
        self._swept_strangers = foreign

    # --- the beginning and the end ----------------------------------------------------------------

    def may_open(self, earlier_ns: int, now_ns: int) -> bool:
        """Whether the account is known and nothing of an earlier run is left.

        earlier_ns: until when an earlier run may have written; 0 when there was none.
        """
        if any(kind not in self._account.done_ns for kind in Kind) or self._desk.live_count():
            return False
        return self._read_since(max(earlier_ns, self._desk.last_write_ns), now_ns)

    def drained(self, now_ns: int) -> bool:
        """Whether nothing of ours is live, a late enough read shows so, and the cash was compared.

        Asks for the reads that are missing.
        """
        quiet_ns = max(self._desk.last_write_ns, self._ledgers.booked_ns)
        if self._desk.live_count() or not self._read_since(quiet_ns, now_ns):
            return False
        if self._ledgers.compared_since(quiet_ns):
            return not self._out.pending
        if self._ledgers.balance_ended_ns is None:
            self._account.hasten(Kind.BALANCE, now_ns)
        else:
            compare_ns = self._ledgers.balance_ended_ns + self._trust.read_lag_ns
            again_ns = self._account.begun_ns[Kind.FILLS] + READ_AGAIN_NS
            self._account.hasten(Kind.FILLS, max(now_ns, compare_ns, again_ns))
        return False

    def _read_since(self, quiet_ns: int, now_ns: int) -> bool:
        """Whether the account was read late enough after `quiet_ns`; 0 is never, and long ago.

        Asks for the lists that are missing.
        """
        from_ns = quiet_ns + self._trust.read_lag_ns if quiet_ns else 0
        fresh = True
        for kind in (Kind.BALANCE, Kind.FILLS, Kind.RESTING, Kind.POSITIONS):
            begun_ns = self._account.begun_ns.get(kind, -1)
            if kind is Kind.RESTING:
                begun_ns = self._adopted_ns
            if begun_ns < from_ns:
                again_ns = self._account.done_ns.get(kind, 0) + READ_AGAIN_NS
                self._account.hasten(kind, max(now_ns, from_ns, again_ns))
                fresh = False
        return fresh

    def left_over(self) -> m.Finished:
        """What a drain that ran out of time leaves behind, for the operator."""
        resting = tuple(own.order_id for own in self._desk.all_live() if own.order_id is not None)
        unknown = tuple(
            own.client_order_id for own in self._desk.all_live() if own.order_id is None
        )
        return m.Finished(resting, unknown)
