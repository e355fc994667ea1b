"""Where every own order is found: by market, by id, by what it needs. Every map has a bound.

An order is filed after each change; then the orders that need attention, the unknown ones and the
suspected ones are known without a walk over all, and a Beat on which nothing is due costs nothing.
An ended order leaves at once, or when the fills it has shown are booked.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from bot.core.desk.outbox import Outbox
from bot.core.limits.risk import Live
from bot.core.orders.order import Finding, OwnOrder, Slot, State, slot_shown
from bot.core.settings import TrustSettings
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import ClientOrderId, MarketId, OrderId

_LOST: Final = State.LOST
_UNCLEAR: Final = (State.BLURRED, State.CLOSING)

NEVER_NS: Final = 2**62
"""A due time that does not come by itself."""

LIVE_MAX: Final = 5_000
"""Orders possibly live at once. Beyond it none is created, and strangers wait for the next list."""

UNSETTLED_MAX: Final = 5_000
"""Ended orders whose fills are not all booked. Beyond it no order is created."""

ENDED_IDS_MAX: Final = 20_000
"""Ids of ended orders kept, so that a lagging list does not make a stranger of our own order. Full,
after orders that end a hundred a second, they take 3 MB."""

ENDED_KEPT_NS: Final = 1_800 * NS_PER_SECOND
"""So long they are kept, far longer than a list lags."""

STRAYS_MAX: Final = 1_000
"""Places kept at which an order of ours may yet appear that no list showed."""

_BOOKED_WITHIN_NS: Final = 10 * NS_PER_SECOND

_K = TypeVar("_K")
_V = TypeVar("_V")


class Shelf:
    """Every own order that may be live or whose fills are not all booked."""

    def __init__(self, trust: TrustSettings, out: Outbox) -> None:
        self._trust = trust
        self._out = out
        self._live: dict[OwnOrder, None] = {}
        self._by_market: dict[MarketId, list[OwnOrder]] = {}
        self._by_id: dict[OrderId, OwnOrder] = {}
        self._attention: dict[OwnOrder, None] = {}
        self._unknown: dict[OwnOrder, int] = {}  # and since when
        self._suspects: dict[OwnOrder, None] = {}
        self._unsettled: dict[OwnOrder, int] = {}  # and since when
        # When it ended, and the name it was made by; empty for one that was found resting.
        self._ended: OrderedDict[OrderId, tuple[int, ClientOrderId]] = OrderedDict()
        self._strays: OrderedDict[Slot, None] = OrderedDict()

    # --- looking ----------------------------------------------------------------------------------

    def live(self, market_id: MarketId) -> list[OwnOrder]:
        """Orders of one market that may still trade, in the order they were placed."""
        return self._by_market.get(market_id, [])

    def exposures(self, market_id: MarketId) -> tuple[Live, ...]:
        """Those orders as the limits count them."""
        return tuple([own.exposure() for own in self.live(market_id)])

    def all_live(self) -> Iterable[OwnOrder]:
        """Every order that may still trade, in the order they were placed."""
        return self._live.keys()

    def live_count(self) -> int:
        """How many orders may still trade."""
        return len(self._live)

    @property
    def unsettled(self) -> list[OwnOrder]:
        """Ended orders with fills that are not all booked."""
        return list(self._unsettled)

    def has_fills(self, market_id: MarketId) -> bool:
        """Whether `with_fills` may have anything to show."""
        if self._unsettled:
            return True
        for own in self._by_market.get(market_id, ()):  # noqa: SIM110 - a generator costs more
            if own.filled:
                return True
        return False

    def with_fills(self, market_id: MarketId) -> list[OwnOrder]:
        """Orders of one market that have filled, live or ended, until their fills are booked."""
        filled = [own for own in self.live(market_id) if own.filled]
        if self._unsettled:
            filled += [own for own in self._unsettled if own.market_id == market_id]
        return filled

    def live_ids(self) -> list[OrderId]:
        """Ids of every order whose fills may still be asked about."""
        ids = [*self._by_id, *(own.order_id for own in self._unsettled if own.order_id)]
        for own in (*self._by_id.values(), *self._unsettled):
            ids += own.previous_ids
        return ids

    def not_live(self, listed: Mapping[OrderId, _V]) -> list[_V]:
        """The rows of a list that are of no live order, in its order."""
        if listed.keys() <= self._by_id.keys():
            return []
        return [row for order_id, row in listed.items() if order_id not in self._by_id]

    def owner(self, order_id: OrderId) -> OwnOrder | None:
        """The order whose fills may still be asked about under an id, a previous one included."""
        own = self._by_id.get(order_id)
        if own is not None:
            return own
        for own in (*self._unsettled, *self._by_id.values()):
            if order_id == own.order_id or order_id in own.previous_ids:
                return own
        return None

    def market_of(self, order_id: OrderId) -> MarketId | None:
        """The market of that order."""
        own = self.owner(order_id)
        return None if own is None else own.market_id

    def knows(self, order_id: OrderId) -> bool:
        """Whether an order id is one of ours, live or ended."""
        return order_id in self._by_id or order_id in self._ended

    def ended_by(self, order_id: OrderId, at_ns: int) -> bool:
        """Whether an order of ours with this id was over at an instant, as far as we know."""
        ended = self._ended.get(order_id)
        return ended is not None and order_id not in self._by_id and ended[0] <= at_ns

    def is_anothers(self, order_id: OrderId, own: OwnOrder) -> bool:
        """Whether this id is, or was, that of another order of ours. One that was found resting may
        be the very same."""
        held = self._by_id.get(order_id)
        if held is not None:
            return held is not own and held.client_order_id not in ("", own.client_order_id)
        if order_id not in self._ended or order_id in own.previous_ids:
            return False
        ended_ns, name = self._ended[order_id]
        return name not in ("", own.client_order_id) or ended_ns < own.placed_ns

    def find(self, order_id: OrderId) -> OwnOrder | None:
        """The live order with this id."""
        return self._by_id.get(order_id)

    def creates_undecided(self) -> bool:
        """Whether an order of ours may rest under an id that we do not know yet."""
        return any(own.is_id_open for own in self._live)

    def awaits_fills(self) -> bool:
        """Whether an order that no list shows is over once every fill is read that it may have."""
        return any(
            own.evidence is not None and (own.evidence.unlisted_ns is not None or own.is_take)
            for own in self._attention
        )

    def may_be_undecided(self, shown: model.Order) -> bool:
        """Whether a stranger may be such an order: it rests in its rung, on its side."""
        return any(
            own.market_id == shown.market_id
            and own.outcome.value == shown.outcome.value
            and own.own_side.value == shown.side.value
            for own in self._live
            if own.is_id_open
        )

    def in_doubt(self) -> bool:
        """Whether something about our orders is unknown or suspected, or fills of one that has
        ended are not booked."""
        return bool(self._unknown or self._unsettled)

    def unknown_count(self) -> int:
        """How many orders have a write without a definite answer, or are suspected."""
        return len(self._unknown)

    def oldest_unknown_ns(self, now_ns: int) -> int:
        """The age of the oldest unknown order; 0 when there is none. No age ends one."""
        if not self._unknown:
            return 0
        return now_ns - min(self._unknown.values())

    def landed_late(self, shown: model.Order) -> bool:
        """Whether a stranger may be an order of ours that no list had shown."""
        return slot_shown(shown) in self._strays

    # --- filing -----------------------------------------------------------------------------------

    def add(self, own: OwnOrder) -> None:
        """Keep an order from now on; a stranger beyond the bound waits for the next list."""
        is_stranger = own.inherited and own.doomed and own.order_id is not None
        if is_stranger and len(self._live) >= LIVE_MAX:
            return
        self._live[own] = None
        self._by_market.setdefault(own.market_id, []).append(own)
        self._file(own, own.last_write_ns)
        assert len(self._live) <= 2 * LIVE_MAX
        assert len(self._by_id) <= len(self._live)

    def is_full(self) -> bool:
        """Whether another order of ours would pass a bound."""
        return len(self._live) >= LIVE_MAX or len(self._unsettled) >= UNSETTLED_MAX

    def _file(self, own: OwnOrder, at_ns: int) -> None:
        """Keep the indexes true after an order changed at `at_ns`."""
        was_suspected = own in self._suspects
        if own.is_live:
            self._file_live(own, at_ns)
        else:
            self._file_ended(own, at_ns)
        if was_suspected or own.suspicion is not None:
            self._tell_suspects()

    def _file_live(self, own: OwnOrder, at_ns: int) -> None:
        if own.order_id is not None:
            self._by_id[own.order_id] = own
            unclear = own.suspicion is not None or own.state in _UNCLEAR
            if unclear and own.read_due_ns is None:
                own.read_due_ns = at_ns + self._trust.read_lag_ns
        needs = own.state is _LOST or own.read_due_ns is not None or own.doomed
        _put(self._attention, own, needs or own.evidence is not None)
        if not own.is_unknown:
            self._unknown.pop(own, None)
        elif own not in self._unknown:
            self._unknown[own] = at_ns
        _put(self._suspects, own, own.suspicion is not None)

    def _file_ended(self, own: OwnOrder, at_ns: int) -> None:
        if own in self._live:
            del self._live[own]
            orders = self._by_market[own.market_id]
            orders.remove(own)
            if not orders:
                del self._by_market[own.market_id]
            self._attention.pop(own, None)
            self._unknown.pop(own, None)
            self._suspects.pop(own, None)
        if own.order_id is not None:
            self._id_over(own, own.order_id, at_ns)
        if own.filled > 0:
            self._unsettled.setdefault(own, at_ns)
        assert len(self._unsettled) <= UNSETTLED_MAX + 2 * LIVE_MAX

    def _id_over(self, own: OwnOrder, order_id: OrderId, at_ns: int) -> None:
        """Nothing of an order rests under an id any more."""
        if self._by_id.get(order_id) is own:
            del self._by_id[order_id]
        keep_newest(self._ended, order_id, (at_ns, own.client_order_id), ENDED_IDS_MAX)
        while next(iter(self._ended.values()))[0] < at_ns - ENDED_KEPT_NS:
            self._ended.popitem(last=False)

    def _tell_suspects(self) -> None:
        """Findings about orders stand as long as there is an order that they are about."""
        for finding in Finding:
            about = [
                f"order {own.order_id or own.client_order_id}: {own.suspicion.why}"
                for own in self._suspects
                if own.suspicion is not None and own.suspicion.finding is finding
            ]
            if about:
                self._out.find(finding, "; ".join(about[:5]))
            else:
                self._out.clear(finding)

    def _may_stray(self, own: OwnOrder) -> None:
        """Remember where an order may yet appear that no list has shown."""
        for slot in own.slots:
            keep_newest(self._strays, slot, None, STRAYS_MAX)

    def opens(self, taken: Iterable[OwnOrder], booked_qty: Callable[[OwnOrder], int]) -> None:
        """The books open, with orders to be taken over and with those that are over. What any of
        them had filled that no fill of its ids tells is in what they are opened with: an id of
        before an amend had it, that nobody knows here (S13), or it is listed late."""
        for own in (*taken, *self._unsettled):
            own.leave_out(max(0, own.filled - booked_qty(own)))

    def forget_settled(
        self, booked_qty: Callable[[OwnOrder], int], now_ns: int
    ) -> Sequence[OrderId]:
        """Let go of ended orders whose fills are all booked; report those that take too long.

        Returns the ids that they had, previous ones included.
        """
        settled: list[OrderId] = []
        for own in list(self._unsettled):
            if booked_qty(own) >= own.filled:
                del self._unsettled[own]
                settled += own.previous_ids
                if own.order_id is not None:
                    settled.append(own.order_id)
        late = sum(now_ns > since + _BOOKED_WITHIN_NS for since in self._unsettled.values())
        if late:
            self._out.find("fills_missing", f"{late} ended orders have fills never shown")
        else:
            self._out.clear("fills_missing")
        return settled


def keep_newest(of: OrderedDict[_K, _V], key: _K, value: _V, at_most: int) -> None:
    """Put a key last in a map of at most so many; the oldest goes."""
    of[key] = value
    of.move_to_end(key)
    if len(of) > at_most:
        of.popitem(last=False)
    assert len(of) <= at_most


def _put(index: dict[OwnOrder, None], own: OwnOrder, belongs: bool) -> None:
    if belongs:
        index[own] = None
    else:
        index.pop(own, None)
