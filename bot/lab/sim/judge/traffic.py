"""One life's manners to the venue: its pace, no wait cut short, nothing refused asked again, one
write an order, bounded flight, nothing new on the side of an unknown order.

All times are the bot's own.
"""

from collections import deque
from typing import Final

from bot.core import messages as m
from bot.core.settings import BudgetSettings, TraderSettings
from bot.lab.sim.coverage import Seen
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.truth import DOLLAR, BookPlace, Truth, side_of
from bot.lab.sim.odds import MS, SECOND
from venue.wire.errors import Advice, Code, row_for
from venue.wire.names import ClientOrderId, MarketId
from venue.wire.requests import QtyOrder

_MINUTE_NS: Final = 60 * SECOND
_WRONG_NS: Final = 60 * SECOND
"""No new order on a side of a rung for so long after a refusal that says the request is wrong."""

_BARE_NS: Final = SECOND
"""So long a 429 holds everything back that does not say how long."""

_READS_MAX: Final = 64
_ORDERS_MIN: Final = 20
_TIMES: Final = 3
"""Of the orders that may rest, so many may be placed, or fill, in a minute."""

_JUDGED_NS: Final = 150 * MS
"""A breaker looks ten times a second; before the beat in which something leaves at the latest."""


class Tokens:
    """A bucket that nobody fills but time."""

    def __init__(self, per_second: int, burst: int, now_ns: int) -> None:
        self._per_second, self._burst_e9 = per_second, burst * SECOND
        self._level_e9, self._at_ns = self._burst_e9, now_ns

    def level_e9(self, now_ns: int) -> int:
        """The tokens that there are, times 10**9."""
        flowed = (now_ns - self._at_ns) * self._per_second
        return min(self._burst_e9, self._level_e9 + flowed)

    def take(self, now_ns: int) -> int:
        """Take one; what is left, times 10**9, below zero where there was none."""
        self._level_e9, self._at_ns = self.level_e9(now_ns) - SECOND, now_ns
        return self._level_e9


class Bucket:
    """The tokens of one process, and how long it has to wait by what was answered."""

    def __init__(self, budget: BudgetSettings, seen: Seen, now_ns: int) -> None:
        self._seen = seen
        self._rate, self._reserve_e9 = budget.rate_per_second, budget.reserve * SECOND
        self._tokens = Tokens(budget.rate_per_second, budget.burst, now_ns)
        self.closed_until_ns = 0

    def spent(self, request: m.Request, now_ns: int) -> None:
        """B5: a request leaves, with a token that is there, and after the wait that was asked."""
        check(now_ns >= self.closed_until_ns, "B5", "sent inside Retry-After")
        left_e9 = self._tokens.take(now_ns)
        check(left_e9 >= 0, "B5", "more than burst + rate x t were sent")
        reserved = left_e9 < self._reserve_e9
        if isinstance(request, m.Create) and not request.again:
            check(not reserved, "B5", "a create took a reserved token")
        elif reserved and isinstance(request, m.CancelResting):
            self._seen.hit("cancel_from_reserve")

    def is_dry(self, now_ns: int) -> bool:
        return self._tokens.level_e9(now_ns) - 2 * SECOND < self._reserve_e9

    def can_be_flat(self, orders: int, within_ns: int, now_ns: int) -> None:
        """B3: so many orders could be cancelled in time with the tokens left after this create."""
        missing_e9 = orders * SECOND - self._tokens.level_e9(now_ns)
        takes_ns = max(0, -(-missing_e9 // self._rate))
        text = f"cancelling {orders} orders would take {takes_ns} ns, at most {within_ns}"
        check(takes_ns <= within_ns, "B3", text)


class Rates:
    """What a market and the account bear of writes, and what a minute bears before a breaker.

    Limits that are not given follow from the others, reckoned here and not by the trader.
    """

    def __init__(self, settings: TraderSettings, now_ns: int) -> None:
        self._creates: deque[tuple[int, int]] = deque()  # when, and what it was worth
        self._fills: deque[tuple[int, int]] = deque()  # when booked, and how many
        self._booked = 0
        self.follow(settings, now_ns)

    def follow(self, settings: TraderSettings, now_ns: int) -> None:
        """Other settings: what they bear at most is forgiven anew."""
        self._settings = settings
        self._markets: dict[MarketId, Tokens] = {}
        self._all = Tokens(settings.pace.writes_per_second, settings.pace.writes_burst, now_ns)

    def cleared(self) -> None:
        self._creates.clear()
        self._fills.clear()

    def written(self, market: MarketId, now_ns: int) -> None:
        """A first create or an amend leaves."""
        pace, mine = self._settings.pace, self._markets
        if market not in mine:
            rate = pace.market_writes_per_second, pace.market_writes_burst
            mine[market] = Tokens(*rate, now_ns)
        check(mine[market].take(now_ns) >= 0, "B5", f"more writes on {market} than its pace allows")
        fits = self._all.take(now_ns) >= 0
        check(fits, "B5", "more writes than the pace of the account allows")
        _drop(self._fills, now_ns)
        most = self._settings.breakers.fills_per_minute or _TIMES * self._orders
        fills = sum(count for at_ns, count in self._fills if at_ns <= now_ns - _JUDGED_NS)
        check(fills <= most, "B13", f"new exposure after {fills} fills in a minute, at most {most}")

    def created(self, order: QtyOrder, now_ns: int) -> None:
        breakers, minute = self._settings.breakers, self._creates
        _drop(minute, now_ns)
        minute.append((now_ns, order.price * order.qty))
        most = breakers.creates_per_minute or _TIMES * self._orders
        text = f"{len(minute)} creates in a minute, at most {most}"
        check(len(minute) <= most, "B13", text)
        worth = sum(cents for _, cents in minute)
        shares = self._orders * self._settings.risk.order_qty
        most = breakers.notional_cents_per_minute or DOLLAR * shares
        check(worth <= most, "B13", f"creates of {worth} cents in a minute, at most {most}")

    def booked(self, fills: int, now_ns: int) -> None:
        if fills > self._booked:
            self._fills.append((now_ns, fills - self._booked))
        self._booked = fills

    @property
    def _orders(self) -> int:
        return max(self._settings.risk.resting_orders, _ORDERS_MIN)


def _drop(minute: deque[tuple[int, int]], now_ns: int) -> None:
    while minute and now_ns - minute[0][0] >= _MINUTE_NS:
        minute.popleft()


class Traffic:
    """Follows the requests and answers of one life. bucket: that of the process, which other series
    may share; None for one of its own. is_kept_away: the venue takes no writes, as far as the bot
    knows."""

    def __init__(
        self,
        settings: TraderSettings,
        truth: Truth,
        seen: Seen,
        now_ns: int,
        bucket: Bucket | None = None,
    ) -> None:
        self._truth = truth
        self._writes_max = settings.pace.requests_in_flight
        self.bucket = Bucket(settings.budget, seen, now_ns) if bucket is None else bucket
        self.rates = Rates(settings, now_ns)
        self._in_flight: dict[m.RequestId, tuple[m.Send, int]] = {}
        self._writes: dict[str, m.RequestId] = {}
        self._wrong_until_ns: dict[BookPlace, int] = {}
        self._unknown: dict[ClientOrderId, BookPlace] = {}
        self.is_kept_away = False
        self._kept_away_ns = 0

    # --- out --------------------------------------------------------------------------------------

    def sent(self, effect: m.Send, now_ns: int) -> None:
        """A request leaves. Raises `Broken` when it should not."""
        request, request_id = effect.request, effect.request_id
        check(request_id not in self._in_flight, "B12", "a request id used twice")
        self._in_flight[request_id] = effect, now_ns
        if effect.key is m.Key.TRADE:
            self.bucket.spent(request, now_ns)
        if isinstance(request, m.Create):
            self._one_write(request.order.client_order_id, request_id)
            if not request.again:
                self._first(request.order, now_ns)
        elif isinstance(request, m.AmendResting | m.CancelResting):
            self._one_write(request.order_id, request_id)
            if isinstance(request, m.AmendResting) and request.order_id in self._truth.side_of:
                self.rates.written(self._truth.side_of[request.order_id][0], now_ns)
        reads = len(self._in_flight) - len(self._writes)
        check(reads <= _READS_MAX, "B14", f"{reads} reads in flight")

    def _one_write(self, key: str, request_id: m.RequestId) -> None:
        check(key not in self._writes, "B14", f"two writes of {key} in flight")
        self._writes[key] = request_id

    def _first(self, order: QtyOrder, now_ns: int) -> None:
        # Cancels and recovery are not held back by the cap on writes in flight.
        writes, side = len(self._writes), side_of(order)
        check(writes <= self._writes_max, "B14", f"{writes} writes in flight")
        check(not self.is_wrong(side, now_ns), "B12", f"{order} after such a one was refused")
        for name, where in self._unknown.items():
            check(where != side, "B1", f"{order} beside the unknown {name}")
        self.rates.written(order.market_id, now_ns)
        self.rates.created(order, now_ns)

    # --- in ---------------------------------------------------------------------------------------

    def answered(self, replied: m.Response, now_ns: int) -> m.Request | None:
        """The request that this answers; None when it is answered already."""
        if replied.request_id not in self._in_flight:
            return None
        effect, sent_ns = self._in_flight.pop(replied.request_id)
        request, answer = effect.request, replied.answer
        if effect.key is m.Key.TRADE:
            self._waits(answer, replied.retry_after_ns, now_ns)
        if isinstance(request, m.Create):
            name, side = request.order.client_order_id, side_of(request.order)
            self._writes.pop(name, None)
            if isinstance(answer, m.Ok):
                self.settled(name)
                self._taken_in(sent_ns, again=request.again)
            elif isinstance(answer, m.Unknown):
                self._unknown[name] = side
            else:
                if answer.code == Code.DUPLICATE_ORDER_ID:
                    self._unknown[name] = side
                self._refused(side, answer, now_ns, again=request.again)
        elif isinstance(request, m.AmendResting | m.CancelResting):
            self._writes.pop(request.order_id, None)
            if isinstance(answer, m.Rejected):
                self._refused(self._truth.side_of.get(request.order_id), answer, now_ns)
            elif isinstance(answer, m.Ok):
                self._taken_in(sent_ns)
        return request

    def _waits(self, answer: m.Answer, retry_ns: int | None, now_ns: int) -> None:
        is_bare = retry_ns is None and isinstance(answer, m.Rejected) and answer.status == 429
        until_ns = now_ns + (_BARE_NS if is_bare else retry_ns or 0)
        self.bucket.closed_until_ns = max(self.bucket.closed_until_ns, until_ns)

    def _refused(
        self, side: BookPlace | None, answer: m.Rejected, now_ns: int, *, again: bool = False
    ) -> None:
        if answer.status == 0:
            return
        advice = row_for(answer.status, answer.code).advice
        if advice is Advice.FIX and side is not None and not again:
            self._wrong_until_ns[side] = now_ns + _WRONG_NS
        elif advice is Advice.PARK_VENUE:
            self.is_kept_away, self._kept_away_ns = True, now_ns

    def _taken_in(self, sent_ns: int, *, again: bool = False) -> None:
        # A create that is sent again may have landed long ago, and only be shown.
        if sent_ns >= self._kept_away_ns and not again:
            self.is_kept_away = False

    def settled(self, name: ClientOrderId) -> None:
        self._unknown.pop(name, None)

    def is_wrong(self, side: BookPlace, now_ns: int) -> bool:
        """True while a request for this side was refused as wrong, so that nothing is asked."""
        return now_ns < self._wrong_until_ns.get(side, 0)
