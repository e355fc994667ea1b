"""One life's sends: pace, what is refused and not repeated, one write an order, bounded flight."""

from typing import Final

from bot.core import messages as m
from bot.core.settings import TraderSettings
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.together import Bucket
from bot.lab.sim.odds import SECOND
from bot.lab.sim.seen import Seen
from venue.core import messages as v
from venue.wire import model
from venue.wire.errors import CODES, Advice, Code, row_for
from venue.wire.model import TERMINAL
from venue.wire.money import Outcome, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import QtyOrder

PARK_NS: Final = 60 * SECOND
"""No new order on a side of a rung for so long after a refusal that says the request is wrong."""

_PROBE_NS: Final = 5 * SECOND
_READS_MAX: Final = 64
_BARE_NS: Final = SECOND
"""So long a 429 holds everything back that does not say how long."""

_BACKOFF_NS: Final = (SECOND // 4, 4 * SECOND)
"""So long nothing is sent after the first refusal to take anything in, and after many in a row:
each one that comes after such a wait doubles the next."""

_OF_ALL: Final = (0, 429)
"""Statuses that speak of the venue or of our pace, whatever was asked for; 0: nobody was there."""

_KEY_NS: Final = 10 * SECOND
"""A key that was refused is asked for once in so long whether it works again."""

Side_ = tuple[MarketId, bool]


class Traffic:
    """Follows the requests and answers of one life; all times are the bot's own."""

    def __init__(
        self, settings: TraderSettings, seen: Seen, now_ns: int, bucket: Bucket | None = None
    ) -> None:
        self._settings = settings
        self.bucket = Bucket(settings.budget, seen, now_ns) if bucket is None else bucket
        self._unsure_until_ns = now_ns
        self._key_until_ns: dict[m.Key, int] = {}  # of refused keys: when each may be tried
        self._in_flight: dict[m.RequestId, m.Send] = {}
        self._writes: dict[str, m.RequestId] = {}
        self._wrong_until_ns: dict[Side_, int] = {}
        self._side_of: dict[OrderId, Side_] = {}
        self._unknown: dict[ClientOrderId, tuple[Side_, int | None]] = {}
        self._blurred: dict[OrderId, Side_] = {}
        self._ended: dict[OrderId, None] = {}
        self._refused_ns: dict[ClientOrderId, int] = {}
        self.parked_market_ns: dict[MarketId, int] = {}

    # --- out --------------------------------------------------------------------------------------

    def sent(self, effect: m.Send, now_ns: int) -> None:
        request, request_id = effect.request, effect.request_id
        check(request_id not in self._in_flight, "B12", "a request id used twice")
        self._in_flight[request_id] = effect
        self._may_leave_on(effect.key, now_ns)
        if effect.key is m.Key.TRADE:
            self.bucket.spent(request, now_ns)
        if isinstance(request, m.Create):
            self._create(request, request_id, now_ns)
        elif isinstance(request, m.AmendResting | m.CancelResting):
            self._one_write(request.order_id, request_id)
            if isinstance(request, m.AmendResting):
                undecided = request.order_id in self._blurred
                check(not undecided, "B1", f"an undecided amend of {request.order_id} amended")
            if isinstance(request, m.CancelResting):
                self._blurred.pop(request.order_id, None)
        reads = len(self._in_flight) - len(self._writes)
        check(reads <= _READS_MAX, "B14", f"{reads} reads in flight")

    def _may_leave_on(self, key: m.Key, now_ns: int) -> None:
        if key in self._key_until_ns:
            check(now_ns >= self._key_until_ns[key], "B5", f"sent on the {key} key: it was refused")
            self._key_until_ns[key] = now_ns + _KEY_NS

    def _one_write(self, key: str, request_id: m.RequestId) -> None:
        check(key not in self._writes, "B14", f"two writes of {key} in flight")
        self._writes[key] = request_id
        # Cancels and recovery are not held back by the cap on writes in flight.

    def _create(self, request: m.Create, request_id: m.RequestId, now_ns: int) -> None:
        order = request.order
        side = side_of(order)
        self._one_write(order.client_order_id, request_id)
        if request.again:
            refused_ns = self._refused_ns.get(order.client_order_id)
            early = refused_ns is not None and now_ns - refused_ns < _PROBE_NS
            check(not early, "B12", f"a refused create again after {now_ns - (refused_ns or 0)} ns")
            return
        writes = len(self._writes)
        check(writes <= self._settings.pace.requests_in_flight, "B14", f"{writes} writes in flight")
        until_ns = self._wrong_until_ns.get(side, 0)
        check(now_ns >= until_ns, "B12", f"{order} after such a one was refused as wrong")
        for name, (where, until) in self._unknown.items():
            open_still = until is None or now_ns < until
            check(where != side or not open_still, "B1", f"{order} beside the unknown {name}")
        for order_id, where in self._blurred.items():
            check(where != side, "B1", f"{order} beside the undecided amend of {order_id}")
        parked_ns = self.parked_market_ns.get(order.market_id)
        check(parked_ns is None, "B4", f"{order} on a market that takes none")

    # --- in ---------------------------------------------------------------------------------------

    def answered(self, replied: m.Replied, now_ns: int) -> m.Request | None:
        effect = self._in_flight.pop(replied.request_id, None)
        if effect is None:
            return None
        request, answer = effect.request, replied.answer
        if effect.key is m.Key.TRADE:
            self._waits(request, answer, replied.retry_after_ns, now_ns)
        self._key_answered(effect.key, answer, now_ns)
        if isinstance(request, m.Create):
            self._writes.pop(request.order.client_order_id, None)
            self._create_answered(request, answer, now_ns)
        elif isinstance(request, m.AmendResting | m.CancelResting):
            self._writes.pop(request.order_id, None)
            self._change_answered(request, answer, now_ns)
        elif isinstance(request, m.ReadOrder) and isinstance(answer, m.Done):
            self._blurred.pop(request.order_id, None)
            if isinstance(answer.body, m.OrderShown) and answer.body.order.status in TERMINAL:
                self._ended[request.order_id] = None
        elif isinstance(answer, m.Done) and isinstance(answer.body, m.OrdersShown):
            for row in answer.body.orders:
                self._blurred.pop(row.order_id, None)
                # Of a create whose answer was lost a list is the first to tell the id.
                self._side_of.setdefault(row.order_id, shown_side(row))
        elif isinstance(answer, m.Done) and isinstance(answer.body, m.SeriesShown):
            for event in answer.body.events:
                for market in event.markets:
                    if market.state == "active":
                        self.parked_market_ns.pop(market.market_id, None)
        return request

    def _waits(
        self, request: m.Request, answer: m.Answer, told_ns: int | None, now_ns: int
    ) -> None:
        until_ns = now_ns + (told_ns or 0)
        bucket = self.bucket
        if isinstance(answer, m.Done):
            bucket.backoff_ns = 0
        elif isinstance(answer, m.Refused):
            advice = row_for(answer.status or 429, answer.code).advice
            if told_ns is None and answer.status == 429:
                until_ns = now_ns + _BARE_NS
            if advice is not Advice.WAIT:
                bucket.backoff_ns = bucket.backoff_ns if advice is Advice.STOP_KEY else 0
            elif answer.status in _OF_ALL or not isinstance(request, m.ReadBook):
                # Books alone may be missing; refusals of what was on its way already tell no more.
                first_ns, most_ns = _BACKOFF_NS
                if now_ns >= bucket.closed_until_ns:
                    bucket.backoff_ns = min(most_ns, max(first_ns, 2 * bucket.backoff_ns))
                until_ns = max(until_ns, now_ns + bucket.backoff_ns)
        bucket.closed_until_ns = max(bucket.closed_until_ns, until_ns)

    def _key_answered(self, key: m.Key, answer: m.Answer, now_ns: int) -> None:
        if isinstance(answer, m.Refused) and answer.status:
            if row_for(answer.status, answer.code).advice is Advice.STOP_KEY:
                self._key_until_ns[key] = now_ns + _KEY_NS
            elif answer.code in CODES:
                self._key_until_ns.pop(key, None)
        elif isinstance(answer, m.Done):
            self._key_until_ns.pop(key, None)

    def _create_answered(self, request: m.Create, answer: m.Answer, now_ns: int) -> None:
        name, side = request.order.client_order_id, side_of(request.order)
        if isinstance(answer, m.Done):
            self._unknown.pop(name, None)
            self._refused_ns.pop(name, None)
            if isinstance(answer.body, m.OrderShown):  # another order's, where the venue errs
                self._side_of.setdefault(answer.body.order.order_id, shown_side(answer.body.order))
            return
        if isinstance(answer, m.Unknown):
            self._unknown.setdefault(name, (side, None))
            return
        row = row_for(answer.status or 429, answer.code)
        if name in self._unknown or request.again or row.advice is Advice.EXISTS:
            # It stays unknown; a list that shows nothing of it may end it only much later, and
            # only after it was decided against: what never reached the engine says nothing.
            decided = row.advice not in (Advice.WAIT, Advice.STOP_KEY) and answer.status != 0
            if decided:
                until_ns = now_ns + self._settings.trust.read_lag_ns
                self._unknown[name] = (side, until_ns)
                self._refused_ns[name] = now_ns
            else:
                self._unknown.setdefault(name, (side, None))
        self._refusal(side, row.advice, answer, now_ns, request.again)

    def settled(self, name: ClientOrderId) -> None:
        self._unknown.pop(name, None)
        self._refused_ns.pop(name, None)

    def _change_answered(
        self, request: m.AmendResting | m.CancelResting, answer: m.Answer, now_ns: int
    ) -> None:
        side = self._side_of.get(request.order_id)
        if isinstance(answer, m.Done) and isinstance(answer.body, m.OrderShown):
            shown = answer.body.order  # which may have another id now
            self._side_of.setdefault(shown.order_id, shown_side(shown))
        if isinstance(request, m.AmendResting) and side is not None:
            if isinstance(answer, m.Unknown):
                self._unsure_until_ns = now_ns + 3 * self._settings.trust.read_lag_ns
                if request.order_id not in self._ended:
                    self._blurred[request.order_id] = side
                return
        elif isinstance(answer, m.Done):
            self._blurred.pop(request.order_id, None)
        if isinstance(answer, m.Refused) and side is not None:
            row = row_for(answer.status or 429, answer.code)
            if row.advice is Advice.ENDED:
                self._blurred.pop(request.order_id, None)
            self._refusal(side, row.advice, answer, now_ns, False)

    def is_unknown(self, name: ClientOrderId) -> bool:
        return name in self._unknown

    def all_decided(self, now_ns: int) -> bool:
        made = m.Create | m.AmendResting  # an amend may give its order another id
        making = any(isinstance(each.request, made) for each in self._in_flight.values())
        unsure = now_ns < self._unsure_until_ns
        return not (making or unsure or self._unknown or self._blurred)

    def _refusal(
        self, side: Side_, advice: Advice, answer: m.Refused, now_ns: int, again: bool
    ) -> None:
        if answer.status == 0:
            return
        if advice is Advice.FIX and not again:
            self._wrong_until_ns[side] = now_ns + PARK_NS
        elif advice is Advice.PARK_MARKET:
            self.parked_market_ns[side[0]] = now_ns
        if answer.code == Code.MARKET_RESOLVED:
            self.parked_market_ns[side[0]] = now_ns

    def parked(self, side: Side_, now_ns: int) -> bool:
        return now_ns < self._wrong_until_ns.get(side, 0)


def side_of(order: QtyOrder | v.OrderState) -> Side_:
    return order.market_id, (order.outcome is Outcome.YES) == (order.side is Side.BUY)


def shown_side(order: model.Order) -> Side_:
    is_yes, buys = order.outcome.value == Outcome.YES, order.side.value == Side.BUY
    return order.market_id, is_yes == buys
