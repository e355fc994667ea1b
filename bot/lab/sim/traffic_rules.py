"""What one process may do with orders at its start, decided rungs, stale books and its rate limit.

Times are the bot's own, but the `ts` of books is the venue's.
"""

from collections import deque
from collections.abc import Collection, Iterable
from typing import Final

from bot.core import messages as m
from bot.core.settings import BudgetSettings, StartSettings, Strangers, TraderSettings
from bot.lab.sim.coverage import EventCounts
from bot.lab.sim.exposure_rules import Exposure
from bot.lab.sim.scenario import MS, SECOND
from bot.lab.sim.truth import DOLLAR, BookPlace, Truth, check, side_of
from bot.strategy.api import Levels
from venue.wire import instant
from venue.wire.errors import Advice, Code, row_for
from venue.wire.money import Outcome, Side
from venue.wire.names import ClientOrderId, MarketId
from venue.wire.requests import QtyOrder


class Inheritance:
    """What rested when a process began. It may adopt what its journal knows. Where it must leave
    unknown orders alone, it cancels none of them and creates no order while they rest."""

    def __init__(self, started: m.Started, truth: Truth, start: StartSettings) -> None:
        self._truth = truth
        self._keeps = start.strangers is Strangers.ADOPT
        self._known = {order.order_id for order in started.working}
        named = {intent.order.client_order_id for intent in started.open_intents}
        leaves_alone = start.strangers is Strangers.REFUSE and not started.latched
        self._alone = {
            order_id
            for order_id in truth.working
            if leaves_alone
            and order_id not in self._known
            and truth.names.get(order_id) not in named
        }

    def on_adopted(self, effect: m.OrdersAdopted) -> None:
        strange = [each for each in effect.order_ids if each not in self._known]
        check(not strange, "B6", f"taken over, and in no journal: {strange}")
        kept = not effect.order_ids or self._keeps
        check(kept, "B6", f"taken over, and to be cancelled: {effect.order_ids}")

    def audit_send(self, request: m.Request) -> None:
        if isinstance(request, m.CancelResting):
            left = request.order_id in self._alone
            check(not left, "B6", f"{request.order_id} is not known, and was to be left alone")
        elif isinstance(request, m.Create) and not request.again:
            there = self._alone & self._truth.working.keys()
            check(not there, "B4", f"new exposure while {there} rest, which no journal knows")


class Decided:
    """The winners that the bot has noted decide other rungs: all below a YES winner pay, none above
    a NO winner does."""

    def __init__(self, truth: Truth, exposure: Exposure) -> None:
        self._truth = truth
        self._exposure = exposure
        self._winners: dict[MarketId, Outcome] = {}

    def on_start(self, winners: Iterable[tuple[MarketId, Outcome]]) -> None:
        for market, winner in winners:
            self._set_winner(market, winner)

    def on_note(self, note: m.Noted) -> None:
        if note.name == "winner_told":
            self._set_winner(
                MarketId(str(note.fields["market_id"])), Outcome(str(note.fields["winner"]))
            )

    def _set_winner(self, market: MarketId, winner: Outcome) -> None:
        won = self._truth.resolved.get(market)
        check(winner is won, "B9", f"{market}: {winner} noted, {won} won")
        self._winners[market] = winner

    def decided_by(self, market: MarketId) -> str:
        """What decides a rung that still trades; empty where nothing does."""
        if not self._winners or market in self._truth.resolved:
            return ""
        rungs = self._exposure.ladder_of(market)
        at = rungs.index(market)
        for where, winner in self._winners.items():
            if where in rungs and (at < rungs.index(where)) is (winner is Outcome.YES):
                return f"{where} has paid {winner}"
        return ""


PULLED_NS: Final = 2 * SECOND  # a book in doubt is confirmed, or its quotes are pulled, within this
_HEARD_NS: Final = 5 * SECOND
_BOOK_NS: Final = 10 * SECOND
_GAP_NS: Final = 250 * MS


class _DeliveredBook:
    def __init__(self) -> None:
        self.book: tuple[Levels, Levels] = ((), ())
        self.ts_ns: int | None = None
        self.confirmed_ns = 0
        self.suspect_ns: int | None = None  # since when it has been in doubt
        self.unasked = False  # nothing has been asked for since a pause of the process

    @property
    def crossed(self) -> bool:
        bids, asks = self.book
        return bool(bids and asks and bids[0][0] >= asks[0][0])

    def doubt(self, now_ns: int) -> None:
        if self.suspect_ns is None:
            self.suspect_ns = now_ns

    def confirm(self, now_ns: int) -> None:
        if not self.unasked:
            self.confirmed_ns, self.suspect_ns = now_ns, None


class FeedWatch:
    def __init__(self) -> None:
        self._open = False
        self._closed_ns = 0
        self._heard_ns = -_BOOK_NS
        self._last_ns: int | None = None
        self._rungs: dict[MarketId, _DeliveredBook] = {}

    def on_event(self, event: m.Event, now_ns: int) -> None:
        if self._last_ns is not None and now_ns - self._last_ns > _GAP_NS:
            self._doubt_all(now_ns)
            for rung in self._rungs.values():
                rung.unasked = True
        self._last_ns = now_ns
        if isinstance(event, m.BookUpdate):
            self._book(event, now_ns)
        elif isinstance(event, m.Trade | m.FeedAlive | m.SubscriptionAccepted):
            self._heard_ns = now_ns
        elif isinstance(event, m.FeedOpened):
            self._open, self._heard_ns = True, now_ns
        elif isinstance(event, m.FeedClosed):
            self._open, self._closed_ns = False, now_ns
            self._rungs.clear()
        elif isinstance(event, m.MalformedFrame) and event.known:
            self._doubt_all(now_ns)

    def on_subscribe(self) -> None:
        for rung in self._rungs.values():
            rung.unasked = False

    def _doubt_all(self, now_ns: int) -> None:
        for rung in self._rungs.values():
            rung.doubt(now_ns)

    def _book(self, seen: m.BookUpdate, now_ns: int) -> None:
        self._heard_ns = now_ns
        rung = self._rungs.setdefault(seen.market_id, _DeliveredBook())
        if rung.ts_ns is None or seen.ts_ns >= rung.ts_ns:
            rung.ts_ns, rung.book = seen.ts_ns, (seen.bids, seen.asks)
            rung.confirm(now_ns)

    def on_book_read(self, request: m.ReadBook, answer: m.Answer, now_ns: int) -> None:
        if not isinstance(answer, m.Ok) or not isinstance(answer.body, m.BookBody):
            return
        shown = answer.body.book
        if instant.is_zero(shown.as_of):
            return
        rung = self._rungs.setdefault(request.market_id, _DeliveredBook())
        bids = tuple((level.price, level.size) for level in shown.bids)
        asks = tuple((level.price, level.size) for level in shown.asks)
        as_of_ns = instant.to_ns(shown.as_of)
        if (bids, asks) == rung.book and rung.ts_ns is not None:
            rung.confirm(now_ns)
        elif rung.ts_ns is None or as_of_ns >= rung.ts_ns:
            # Nothing else has shown it: it waits for a second word.
            rung.ts_ns, rung.book = as_of_ns, (bids, asks)
            rung.doubt(now_ns)

    def reaches(self, market: MarketId, is_bid: bool, level: int, ours: Collection[int]) -> int:
        """How many ticks a price is through the others' best; far below zero without one."""
        bids, asks = self._rungs[market].book if market in self._rungs else ((), ())
        far = [price for price, _ in (asks if is_bid else bids) if price not in ours]
        if not far:
            return -DOLLAR
        return level - far[0] if is_bid else far[0] - level

    def stale(self, market: MarketId, now_ns: int, patience_ns: int = 0) -> str:
        """Why a rung may not be quoted, else empty. patience_ns: how long orders may rest after the
        channel closed or the book became doubtful."""
        rung = self._rungs.get(market)
        if not self._open and now_ns - self._closed_ns >= patience_ns:
            return "the channel is closed"
        if now_ns - self._heard_ns > _HEARD_NS:
            return "the channel is silent"
        if rung is None or rung.ts_ns is None:
            return "no book is known"
        if rung.suspect_ns is None:
            if now_ns - rung.confirmed_ns > _BOOK_NS:
                return "its book is old"
        elif now_ns - rung.suspect_ns >= patience_ns:
            return "its book is in doubt"
        return "its book is crossed" if rung.crossed else ""


_MINUTE_NS: Final = 60 * SECOND
_WRONG_NS: Final = 60 * SECOND
"""No new order on a side of a rung for so long after a refusal that says the request is wrong."""

_BARE_NS: Final = SECOND  # so long a 429 holds everything back that does not say how long
_READS_MAX: Final = 64
_ORDERS_MIN: Final = 20
_TIMES: Final = 3  # so often as many orders as may rest may be placed in a minute


class Tokens:
    def __init__(self, per_second: int, burst: int, now_ns: int) -> None:
        self._per_second, self._burst_e9 = per_second, burst * SECOND
        self._level_e9, self._at_ns = self._burst_e9, now_ns

    def level_e9(self, now_ns: int) -> int:
        """The tokens that there are, times 10**9."""
        flowed = (now_ns - self._at_ns) * self._per_second
        return min(self._burst_e9, self._level_e9 + flowed)

    def spend(self, now_ns: int) -> int:
        """Take one; returns the rest, times 10**9, below zero where there was none."""
        self._level_e9, self._at_ns = self.level_e9(now_ns) - SECOND, now_ns
        return self._level_e9


class Bucket:
    def __init__(self, budget: BudgetSettings, coverage: EventCounts, now_ns: int) -> None:
        self._coverage = coverage
        self._rate, self._reserve_e9 = budget.rate_per_second, budget.reserve * SECOND
        self._tokens = Tokens(budget.rate_per_second, budget.burst, now_ns)
        self.closed_until_ns = 0

    def on_request(self, request: m.Request, now_ns: int) -> None:
        """B5."""
        check(now_ns >= self.closed_until_ns, "B5", "sent inside Retry-After")
        left_e9 = self._tokens.spend(now_ns)
        check(left_e9 >= 0, "B5", "more than burst + rate x t were sent")
        reserved = left_e9 < self._reserve_e9
        if isinstance(request, m.Create) and not request.again:
            check(not reserved, "B5", "a create took a reserved token")
        elif reserved and isinstance(request, m.CancelResting):
            self._coverage.hit("cancel_from_reserve")

    def is_dry(self, now_ns: int) -> bool:
        return self._tokens.level_e9(now_ns) - 2 * SECOND < self._reserve_e9

    def can_be_flat(self, orders: int, within_ns: int, now_ns: int) -> None:
        """B3: so many orders could be cancelled in time with the tokens left after this create."""
        missing_e9 = orders * SECOND - self._tokens.level_e9(now_ns)
        takes_ns = max(0, -(-missing_e9 // self._rate))
        text = f"cancelling {orders} orders would take {takes_ns} ns, at most {within_ns}"
        check(takes_ns <= within_ns, "B3", text)


class Rates:
    def __init__(self, settings: TraderSettings, now_ns: int) -> None:
        self._creates: deque[int] = deque()
        self.on_settings(settings, now_ns)

    def on_settings(self, settings: TraderSettings, now_ns: int) -> None:
        """Throttles start full again."""
        self._settings = settings
        self._markets: dict[MarketId, Tokens] = {}
        self._all = Tokens(settings.pace.writes_per_second, settings.pace.writes_burst, now_ns)

    def on_breaker_cleared(self) -> None:
        self._creates.clear()

    def on_write(self, market: MarketId, now_ns: int) -> None:
        """B5, of a first create, or an amend that does not step back."""
        pace, mine = self._settings.pace, self._markets
        if market not in mine:
            rate = pace.market_writes_per_second, pace.market_writes_burst
            mine[market] = Tokens(*rate, now_ns)
        check(
            mine[market].spend(now_ns) >= 0, "B5", f"more writes on {market} than its pace allows"
        )
        fits = self._all.spend(now_ns) >= 0
        check(fits, "B5", "more writes than the pace of the account allows")

    def on_create(self, now_ns: int) -> None:
        """B13, of a first create."""
        minute = self._creates
        minute.append(now_ns)
        while now_ns - minute[0] >= _MINUTE_NS:
            minute.popleft()
        usual = _TIMES * max(self._settings.risk.resting_orders, _ORDERS_MIN)
        most = self._settings.breakers.creates_per_minute or usual
        text = f"{len(minute)} creates in a minute, at most {most}"
        check(len(minute) <= most, "B13", text)


class Traffic:
    """The requests and responses of one process. bucket: one that other series share, else None."""

    def __init__(
        self,
        settings: TraderSettings,
        truth: Truth,
        coverage: EventCounts,
        now_ns: int,
        bucket: Bucket | None = None,
    ) -> None:
        self._truth = truth
        self._writes_max = settings.pace.requests_in_flight
        self.bucket = Bucket(settings.budget, coverage, now_ns) if bucket is None else bucket
        self.rates = Rates(settings, now_ns)
        self._in_flight: dict[m.RequestId, tuple[m.Send, int]] = {}
        self._writes: dict[str, m.RequestId] = {}
        self._wrong_until_ns: dict[BookPlace, int] = {}
        self._unknown: dict[ClientOrderId, BookPlace] = {}
        self.is_kept_away = False  # the venue takes no writes, as far as the bot knows
        self._kept_away_ns = 0

    def audit_send(self, effect: m.Send, now_ns: int) -> None:
        request, request_id = effect.request, effect.request_id
        check(request_id not in self._in_flight, "B12", "a request id used twice")
        self._in_flight[request_id] = effect, now_ns
        if effect.key is m.Key.TRADE:
            self.bucket.on_request(request, now_ns)
        if isinstance(request, m.Create):
            self._one_write(request.order.client_order_id, request_id)
            if not request.again:
                self._first(request.order, now_ns)
        elif isinstance(request, m.AmendResting | m.CancelResting):
            self._one_write(request.order_id, request_id)
            if isinstance(request, m.AmendResting) and not self._may_step_back(request):
                self.rates.on_write(self._truth.side_of[request.order_id][0], now_ns)
        reads = len(self._in_flight) - len(self._writes)
        check(reads <= _READS_MAX, "B14", f"{reads} reads in flight")

    def _may_step_back(self, request: m.AmendResting) -> bool:
        """True if an amend moves its order away from the touch, or the order does not work any
        more: such an amend need not wait for the throttle."""
        order = self._truth.working.get(request.order_id)
        if order is None:
            return True
        price = request.amend.price or order.price
        return price < order.price if order.side is Side.BUY else price > order.price

    def _one_write(self, key: str, request_id: m.RequestId) -> None:
        check(key not in self._writes, "B14", f"two writes of {key} in flight")
        self._writes[key] = request_id

    def _first(self, order: QtyOrder, now_ns: int) -> None:
        # Cancels and recovery are not held back by the cap on writes in flight.
        writes, side = len(self._writes), side_of(order)
        check(writes <= self._writes_max, "B14", f"{writes} writes in flight")
        check(not self.is_wrong(side, now_ns), "B12", f"{order} after such a one was refused")
        for name, where in self._unknown.items():
            check(where != side, "B1", f"{order} next to the unknown {name}")
        self.rates.on_write(order.market_id, now_ns)
        self.rates.on_create(now_ns)

    def on_response(self, replied: m.Response, now_ns: int) -> m.Request | None:
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
                self.on_create_resolved(name)
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
        # A create that is retried may have landed long ago, and only be shown.
        if sent_ns >= self._kept_away_ns and not again:
            self.is_kept_away = False

    def on_create_resolved(self, name: ClientOrderId) -> None:
        self._unknown.pop(name, None)

    def is_wrong(self, side: BookPlace, now_ns: int) -> bool:
        """True while nothing may be asked for this side: a request was refused as wrong."""
        return now_ns < self._wrong_until_ns.get(side, 0)
