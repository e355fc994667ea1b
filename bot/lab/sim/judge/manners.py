"""One life's writes against the rules that no single answer shows: pace, patience, and sizes.

Creates and amends of a market keep to its write budget; an order that has just been written about
does not follow the touch; an amend never asks for more than there is; a halted venue is probed, not
hammered; after an outage orders come back slowly; a minute bears so many creates and no more;
nothing new is made on a rung where orders that are not ours rest.
"""

from collections.abc import Container
from typing import Final

from bot.core import messages as m
from bot.core.settings import TraderSettings
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.rates import Rates
from bot.lab.sim.odds import SECOND
from bot.lab.sim.seen import Seen
from venue.wire.errors import Advice, Code, row_for
from venue.wire.model import Order
from venue.wire.money import Outcome, Side
from venue.wire.names import MarketId, OrderId
from venue.wire.requests import Amend

_PROBE_NS: Final = 5 * SECOND
_RAMP_NS: Final = 10 * SECOND
_KEY_PROBE: Final = "9" * 20
"""No order has this id: its cancel asks whether a refused key works."""


class _Told:
    """What the bot was told of an order: where it rests, how much at most, and its last write.
    asked: what the change on its way is to make of all of it. None without one."""

    __slots__ = (
        *("asked", "is_bid", "is_yes", "market_id", "most", "price", "size"),
        *("sure", "wrote_ns"),
    )

    def __init__(self, shown: Order, wrote_ns: int) -> None:
        self.market_id: MarketId = shown.market_id
        self.is_yes = shown.outcome.value == Outcome.YES.value
        self.is_bid = self.is_yes == (shown.side.value == Side.BUY.value)
        self.price: int = shown.price
        self.size: int = shown.filled_qty + shown.remaining_qty
        self.most: int = shown.remaining_qty
        self.asked: int | None = None
        self.sure = True
        self.wrote_ns = wrote_ns

    def is_bolder(self, price: int) -> bool:
        # A dearer YES bid is bolder, a dearer NO bid too; sales are bolder when cheaper.
        is_buy = self.is_bid == self.is_yes
        return price > self.price if is_buy else price < self.price


class Manners:
    """Follows the requests, answers and events of one life; all times are the bot's own."""

    def __init__(
        self, settings: TraderSettings, seen: Seen, foreign: Container[OrderId], now_ns: int
    ) -> None:
        self._foreign = foreign
        self._rungs: set[MarketId] = set()  # that the bot has been shown
        self._walk: dict[OrderId, MarketId] | None = None
        self._listed: frozenset[OrderId] = frozenset()
        self._beside_foreign: set[MarketId] = set()
        self._quotes = False
        self._pace = settings.pace
        self._budget = settings.budget
        self._seen = seen
        self._orders: dict[OrderId, _Told] = {}
        self._halted_ns: int | None = None
        self._refused_ns = now_ns
        self._writes: dict[int, int] = {}  # when each that is on its way left, by identity
        self._takes_cancels = False
        self._was_open = False
        self._ramp: tuple[int, int] | None = None  # since when, and creates since
        self.rates = Rates(settings, now_ns)

    def follow(self, settings: TraderSettings, now_ns: int) -> None:
        self._pace = settings.pace
        self.rates.follow(settings, now_ns)

    # --- events -----------------------------------------------------------------------------------

    def saw(self, event: m.Event, now_ns: int) -> None:
        if isinstance(event, m.FeedOpened):
            self._ramp = (now_ns, 0) if self._was_open else None
            self._was_open = True
        elif isinstance(event, m.LatchCleared):
            self.rates.cleared()

    # --- out --------------------------------------------------------------------------------------

    def sent(self, request: m.Request, now_ns: int) -> None:
        """A request leaves. Raises `Broken` when it should not."""
        if isinstance(request, m.Create | m.AmendResting | m.CancelResting):
            self._writes[id(request)] = now_ns
        if isinstance(request, m.Create):
            if not request.again:
                self._first_create(request, now_ns)
        elif isinstance(request, m.AmendResting):
            self._keeps_away(now_ns, is_cancel=False)
            told = self._orders.get(request.order_id)
            if told is not None:
                self._amended(told, request.amend, now_ns)
        elif isinstance(request, m.CancelResting):
            if request.order_id != _KEY_PROBE:
                self._keeps_away(now_ns, is_cancel=True)
            told = self._orders.get(request.order_id)
            if told is not None:
                told.wrote_ns = now_ns

    def _first_create(self, request: m.Create, now_ns: int) -> None:
        market = request.order.market_id
        self._keeps_away(now_ns, is_cancel=False)
        self.rates.written(market, now_ns)
        self.rates.created(request, now_ns)
        self._quotes = True
        is_beside = market in self._beside_foreign
        check(not is_beside, "B4", "new exposure beside orders that are not ours")
        if self._ramp is not None:
            since_ns, count = self._ramp
            age_ns = now_ns - since_ns
            if age_ns >= _RAMP_NS:
                self._ramp = None
            else:
                self._ramp = (since_ns, count + 1)
                allowed = self._returning(age_ns)
                check(count < allowed, "B5", f"{count + 1} creates {age_ns} ns after an outage")

    def _returning(self, age_ns: int) -> float:
        seconds, whole = age_ns / SECOND, _RAMP_NS / SECOND
        flowed = self._budget.rate_per_second * seconds * (1 + 1.5 * seconds / whole) / 4
        return self._budget.burst / 4 + flowed + 1

    def _amended(self, told: _Told, amend: Amend, now_ns: int) -> None:
        self.rates.written(told.market_id, now_ns)
        told.asked = None
        if amend.qty is not None:
            check(amend.qty < told.most, "B1", f"amended from {told.most} shares to {amend.qty}")
            self._seen.hit("amend_down")
            told.asked = told.size - told.most + amend.qty
        if amend.price is not None and told.sure and told.is_bolder(amend.price):
            age_ns = now_ns - told.wrote_ns
            moved = f"{told.price} to {amend.price} after {age_ns} ns"
            check(age_ns >= self._pace.dwell_ns, "B2", f"moved toward the touch, {moved}")
        told.wrote_ns = now_ns

    def _changed(self, told: _Told, meant: int | None) -> None:
        if meant is not None and told.size > meant:
            self._seen.hit("amend_after_fill")

    @property
    def is_kept_away(self) -> bool:
        return self._halted_ns is not None

    def _keeps_away(self, now_ns: int, *, is_cancel: bool) -> None:
        since_ns = self._halted_ns
        if since_ns is None or (is_cancel and self._takes_cancels):
            return
        check(now_ns - since_ns >= _PROBE_NS, "B4", f"a write {now_ns - since_ns} ns after a halt")
        self._halted_ns = now_ns

    # --- in ---------------------------------------------------------------------------------------

    def answered(self, request: m.Request, answer: m.Answer, now_ns: int, *, decided: bool) -> None:
        if isinstance(request, m.ReadResting):
            self._page(request, answer, decided=decided)
        if isinstance(answer, m.Refused) and answer.status:
            self._refused(request, answer, now_ns)
        if isinstance(request, m.Create | m.AmendResting | m.CancelResting):
            self._wrote(request, answer, now_ns)
        elif isinstance(answer, m.Done):
            body = answer.body
            if isinstance(body, m.SeriesShown):
                shown = (each.markets for each in body.events)
                self._rungs.update(market.market_id for rungs in shown for market in rungs)
            rows = body.orders if isinstance(body, m.OrdersShown) else ()
            if isinstance(body, m.OrderShown):
                rows = (body.order,)
            for row in rows:
                told = self._orders.get(row.order_id)
                if told is not None:
                    # A fill is believed of any read; a size only of one begun late enough.
                    told.most = min(told.most, told.size - row.filled_qty)

    def _page(self, request: m.ReadResting, answer: m.Answer, *, decided: bool) -> None:
        body = answer.body if isinstance(answer, m.Done) else None
        if not isinstance(body, m.OrdersShown) or not self._quotes:
            self._walk = None
            return
        if not request.cursor:
            self._walk = {}
        if self._walk is None:
            return
        self._walk |= {
            row.order_id: row.market_id
            for row in body.orders
            if row.order_id in self._foreign and row.market_id in self._rungs
        }
        if body.cursor:
            return
        shown, self._walk = self._walk, None
        if decided or not shown:
            seen = shown.keys() & self._listed
            self._beside_foreign = {shown[order_id] for order_id in seen}
        self._listed = frozenset(shown if decided else ())

    def _refused(self, request: m.Request, answer: m.Refused, now_ns: int) -> None:
        row = row_for(answer.status, answer.code)
        if row.advice is Advice.WAIT:
            self._ramp = None  # another outage begins: what it ends with is not known here
        is_write = isinstance(request, m.Create | m.AmendResting | m.CancelResting)
        if row.advice is Advice.PARK_VENUE and is_write:
            self._halted_ns = self._refused_ns = now_ns
            self._takes_cancels = answer.code != Code.VENUE_HALTED
            self._seen.hit("venue_parked")

    def _wrote(self, request: m.Write, answer: m.Answer, now_ns: int) -> None:
        over = isinstance(answer, m.Refused) and answer.code == Code.ORDER_NOT_CANCELABLE
        is_cancel = isinstance(request, m.CancelResting)
        # A venue that takes cancels alone takes one more: that does not open it. Nor does a write
        # of before its refusal, which may have been carried out before it, too.
        tells = not (is_cancel and self._takes_cancels)
        tells &= self._writes.pop(id(request), now_ns) >= self._refused_ns
        if tells and (isinstance(answer, m.Done) or (over and is_cancel)):
            if isinstance(request, m.Create) and request.again:
                self._takes_cancels = True  # it may have landed long ago, and is only shown
            else:
                self._halted_ns = None
        if isinstance(answer, m.Done):
            if isinstance(answer.body, m.OrderShown):
                shown = answer.body.order
                known = self._orders.get(shown.order_id)
                told = _Told(shown, now_ns if known is None else known.wrote_ns)
                if known is not None and isinstance(request, m.AmendResting):
                    self._changed(told, known.asked)
                self._orders[shown.order_id] = told
        elif isinstance(request, m.AmendResting):
            told_of = self._orders.get(request.order_id)
            if told_of is not None:
                told_of.sure = told_of.sure and isinstance(answer, m.Refused)
