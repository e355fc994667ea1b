"""Where every own order is found: by market, by id, by what it needs. Every map has a bound.

An order is filed after each change; then the orders that need attention, the unknown ones and the
suspected ones are known without a walk over all, and a Beat on which nothing is due costs nothing.
An ended order leaves at once, or when the fills it has shown are booked.

Source: reliability, rows 25, 36, 111, B7, B14; design, The bot, items 7 and 9.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from bot.core.desk.outbox import Outbox
from bot.core.limits.risk import Live
from bot.core.messages import Answer, CancelShown, Done, OrderShown
from bot.core.orders.order import Fact, Finding, OwnOrder, State
from bot.core.settings import TrustSettings
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty
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

_FOUND_WITHIN_NS: Final = 10 * NS_PER_SECOND
"""An order that neither lists nor reads have shown for so long is cancelled, so that the engine's
own word is heard."""

_K = TypeVar("_K")
_V = TypeVar("_V")

Slot = tuple[MarketId, str, str, Price]
"""Market, outcome, side and price: what an order without an id can be known by."""


class Shelf:
    """Every own order that may be live or whose fills are not all booked."""

    def __init__(self, trust: TrustSettings, out: Outbox) -> None:
        self._trust = trust
        self._out = out
        self._live: dict[OwnOrder, None] = {}
        self._by_market: dict[MarketId, list[OwnOrder]] = {}
        self._by_id: dict[OrderId, OwnOrder] = {}
        self._attention: dict[OwnOrder, None] = {}
        self._unknown: dict[OwnOrder, None] = {}
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
            if own.earlier:
                ids += [order_id for order_id, _ in own.earlier]
        return ids

    def not_live(self, listed: Mapping[OrderId, _V]) -> list[_V]:
        """The rows of a list that are of no live order, in its order."""
        if listed.keys() <= self._by_id.keys():
            return []
        return [row for order_id, row in listed.items() if order_id not in self._by_id]

    def market_of(self, order_id: OrderId) -> MarketId | None:
        """The market of an order whose fills may still be asked about; by an earlier id, too."""
        own = self._by_id.get(order_id)
        if own is not None:
            return own.market_id
        for own in (*self._unsettled, *self._by_id.values()):
            if order_id == own.order_id or any(order_id == each for each, _ in own.earlier):
                return own.market_id
        return None

    def knows(self, order_id: OrderId) -> bool:
        """Whether an order id is one of ours, live or ended."""
        return order_id in self._by_id or order_id in self._ended

    def ended_by(self, order_id: OrderId, at_ns: int) -> bool:
        """Whether an order of ours with this id was over at an instant, as far as we know."""
        ended = self._ended.get(order_id)
        return ended is not None and order_id not in self._by_id and ended[0] <= at_ns

    def is_anothers(self, order_id: OrderId, own: OwnOrder) -> bool:
        """Whether this id is of an order that is over and cannot be what a create of ours made:
        that was made by another name, or was over before."""
        ended_ns, name = self._ended.get(order_id, (NEVER_NS, ClientOrderId("")))
        if order_id in self._by_id:
            return False
        return name not in ("", own.client_order_id) or ended_ns < own.placed_ns

    def find(self, order_id: OrderId) -> OwnOrder | None:
        """The live order with this id."""
        return self._by_id.get(order_id)

    def holder(self, answer: Answer) -> OwnOrder | None:
        """The live order with the id that an answer shows."""
        if isinstance(answer, Done) and isinstance(answer.body, (OrderShown, CancelShown)):
            return self._by_id.get(answer.body.order.order_id)
        return None

    def creates_undecided(self) -> bool:
        """Whether an order of ours may rest under an id that we do not know yet."""
        return any(_is_undecided(own) for own in self._live)

    def awaits_fills(self) -> bool:
        """Whether an order that no list shows is over once every fill is read that it may have."""
        return any(
            own.unlisted_ns is not None
            or own.is_unfound
            or (own.is_take and own.refused_since_ns is not None)
            for own in self._attention
        )

    def may_be_undecided(self, shown: model.Order) -> bool:
        """Whether a stranger may be such an order: it rests in its rung, on its side."""
        return any(
            own.market_id == shown.market_id
            and own.outcome.value == shown.outcome.value
            and own.own_side.value == shown.side.value
            for own in self._live
            if _is_undecided(own)
        )

    def in_doubt(self) -> bool:
        """Whether something about our orders is unknown or suspected, or fills of one that has
        ended are not booked."""
        return bool(self._unknown or self._unsettled)

    def unknown_count(self) -> int:
        """How many orders have a write without a definite answer, or are suspected."""
        return len(self._unknown)

    def oldest_unknown_ns(self, now_ns: int) -> int:
        """The age of the oldest unknown order; 0 when there is none. No age ends one (row 25)."""
        if not self._unknown:
            return 0
        since = [own.unknown_since_ns for own in self._unknown if own.unknown_since_ns is not None]
        return now_ns - min(since, default=now_ns)

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
        own.mark(at_ns)
        if own.order_id is not None:
            self._by_id[own.order_id] = own
            unclear = own.suspicion is not None or own.state in _UNCLEAR
            if unclear and own.read_due_ns is None and not own.reading:
                own.read_due_ns = at_ns + self._trust.read_lag_ns
        needs = own.state is _LOST or own.read_due_ns is not None or own.doomed
        _put(self._attention, own, needs or own.elsewhere_since_ns is not None)
        _put(self._unknown, own, own.is_unknown)
        _put(self._suspects, own, own.suspicion is not None)

    def _file_ended(self, own: OwnOrder, at_ns: int) -> None:
        if own in self._live:
            del self._live[own]
            orders = self._by_market[own.market_id]
            orders.remove(own)
            if not orders:
                del self._by_market[own.market_id]
            for index in (self._attention, self._unknown, self._suspects):
                index.pop(own, None)
        if own.order_id is not None:
            if self._by_id.get(own.order_id) is own:
                del self._by_id[own.order_id]
            name = own.client_order_id or ClientOrderId("")
            keep_newest(self._ended, own.order_id, (at_ns, name), ENDED_IDS_MAX)
            while next(iter(self._ended.values()))[0] < at_ns - ENDED_KEPT_NS:
                self._ended.popitem(last=False)
        if own.filled > 0:
            self._unsettled.setdefault(own, at_ns)
        assert len(self._unsettled) <= UNSETTLED_MAX + 2 * LIVE_MAX

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

    def missing_from_list(
        self, own: OwnOrder, begun_ns: int, now_ns: int, fills_begun_ns: int = -1
    ) -> bool:
        """A complete list begun at `begun_ns` does not show this order: read it by its id. One that
        reads do not find for long is cancelled, and what its cancel does not find either is gone
        (`bot.core.orders.absence`). Whether it is over by that.

        fills_begun_ns: when the newest whole walk of the fills began, below zero without one: what
        is over may have filled.
        """
        lag_ns, held = self._trust.read_lag_ns, own.suspicion
        late_enough = begun_ns >= own.last_write_ns + lag_ns
        if own.state is State.OPEN and late_enough:
            own.is_doubtful = True
            self._look_again(own, now_ns)
        if (
            held is not None
            and held.finding is Finding.MISSING
            and begun_ns >= held.since_ns + _FOUND_WITHIN_NS
            and not own.doomed
        ):
            own.doomed, own.why, own.due_ns = True, "neither listed nor found", now_ns
            self._file(own, now_ns)
        if own.absence is None:
            return False
        own.absence = own.absence.by_list(begun_ns, lag_ns)
        if fills_begun_ns < own.absence.since_ns + lag_ns or not own.gone(now_ns):
            return False
        self._out.note("warning", "order_gone", order_id=own.order_id or "")
        # The answer to its create may have named another id than it rests under.
        self._may_stray(own)
        self._file(own, now_ns)
        return True

    def is_doubted(
        self, own: OwnOrder, shown: model.Order, begun_ns: int, *, by_id: bool = False
    ) -> bool:
        """Whether a row of a list, or a read by its id, asked for at `begun_ns`, is not to be
        merged, for it is the first to take the order away: a read by its id tells, and is asked
        for; where it was one that did, a lag later, for what stands between may remember it. Not
        where another order of ours is awaited there: a venue that was set back gives ids anew."""
        lag_ns = self._trust.read_lag_ns
        takes = own.is_taken_away(shown, begun_ns, lag_ns, by_id=by_id)
        is_second, own.is_doubtful = own.is_doubtful, takes
        if not takes or (by_id and is_second):
            return False
        if own.is_elsewhere(shown) and self._is_awaited(shown):
            return False
        self._look_again(own, begun_ns + (lag_ns if by_id else 0))
        return True

    def _is_awaited(self, shown: model.Order) -> bool:
        """Whether it stands just where an order of ours is to appear whose id is not known: then
        two say that it is that one."""
        slot = slot_shown(shown)
        return any(slot in slots_of(each) for each in self._attention if _is_undecided(each))

    def _look_again(self, own: OwnOrder, at_ns: int) -> None:
        if own.read_due_ns is None and not own.reading:
            own.read_due_ns = at_ns
            self._file(own, at_ns)

    def _id_reused(self, own: OwnOrder, at_ns: int) -> None:
        """The id of an order names another one, as where a venue that was set back counts anew: of
        this one nothing is left. What its id rests for from now on is that one's."""
        self._out.note("error", "order_id_reused", order_id=own.order_id or "")
        own.move(Fact.READ_ENDED, at_ns)
        self._file(own, at_ns)

    def _taken_over(self, own: OwnOrder) -> bool:
        """Whether an order that was found resting, and may still rest, stands in its slot."""
        return any(
            other.is_stranger and slots_of(other)[0] == slots_of(own)[0]
            for other in self.live(own.market_id)
        )

    def _may_stray(self, own: OwnOrder) -> None:
        """Remember where an order may yet appear that no list has shown."""
        for slot in slots_of(own):
            keep_newest(self._strays, slot, None, STRAYS_MAX)

    def opens(self, taken: Iterable[OwnOrder], booked_qty: Callable[[OwnOrder], int]) -> None:
        """The books open, with orders to be taken over and with those that are over. What any of
        them had filled that no fill of its ids tells is in what they are opened with: an id of
        before an amend had it, that nobody knows here (S13), or it is listed late."""
        for own in (*taken, *self._unsettled):
            own.leave_out(Qty(max(0, own.filled - booked_qty(own))))

    def forget_settled(
        self, booked_qty: Callable[[OwnOrder], int], now_ns: int
    ) -> Sequence[OrderId]:
        """Let go of ended orders whose fills are all booked; report those that take too long.

        Returns the ids that they had, earlier ones included.
        """
        settled: list[OrderId] = []
        for own in list(self._unsettled):
            if booked_qty(own) >= own.filled:
                del self._unsettled[own]
                settled += [order_id for order_id, _ in own.earlier]
                if own.order_id is not None:
                    settled.append(own.order_id)
        late = sum(now_ns > since + _BOOKED_WITHIN_NS for since in self._unsettled.values())
        if late:
            self._out.find("fills_missing", f"{late} ended orders have fills never shown")
        else:
            self._out.clear("fills_missing")
        return settled


def slots_of(own: OwnOrder) -> list[Slot]:
    """Everywhere an order may rest: at two prices while a price amend is undecided."""
    prices = [own.price]
    if own.amend is not None and own.amend.price not in (None, own.price):
        prices.append(Price(own.amend.price))
    return [(own.market_id, own.outcome.value, own.own_side.value, price) for price in prices]


def _is_undecided(own: OwnOrder) -> bool:
    """Whether it may rest under an id that is not known, be it by one read alone, or by an amend
    that is on its way."""
    if own.order_id is None or own.elsewhere_since_ns is not None:
        return True
    return own.state is State.AMENDING or (own.is_doubtful and own.amend is not None)


def slot_shown(shown: model.Order) -> Slot:
    """Where a listed order rests."""
    return shown.market_id, shown.outcome.value, shown.side.value, shown.price


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
