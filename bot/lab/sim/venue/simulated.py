"""The venue of a simulated world: the real engine and read side behind a made-up front door.

Two replicas of the read side lag differently, so that two reads in a row may go back in time, as
an asynchronously projected read side may. Nothing here knows the trader's own books.
"""

from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from bot.core import messages as m
from bot.lab.exchange.exchange import (
    MAKER,
    LevelBook,
    PageLimits,
    cancel_shown,
    read,
    refusal,
    shown,
)
from bot.lab.sim.odds import SECOND, Odds
from bot.lab.sim.second import SERIES as ALL_SERIES
from bot.lab.sim.second import series_of
from bot.lab.sim.venue.ids import ChangingIds
from bot.lab.sim.venue.readings import Readings
from venue.core import messages as v
from venue.core.engine import Engine
from venue.read.projector import Projector, Views
from venue.wire import codec, model
from venue.wire.errors import Code
from venue.wire.limits import RATE_BURST, RATE_PER_SECOND, TokenBucket
from venue.wire.money import Cents, FeeRate, Qty
from venue.wire.names import MarketId, ProjectId, Ticker, UserId

SERIES = ALL_SERIES[0]
PROJECT = ProjectId("aaaaaaaa-0000-4000-8000-000000000001")
CROWD = tuple(UserId(f"crowd-{index}") for index in range(5))
_LOWEST, _STEP = 100, 25
_ID_KEY = b"simulated"
_SECOND_FROM = 50
"""Events of the second series count from this, in their ids."""

RESOLUTION_NS = 90 * 24 * 3600 * SECOND

_PRIVATE = (v.FillBooked, v.PositionChanged, v.BalanceChanged)
Watcher = Callable[[v.Command, v.Answer, list[v.Event], int], None]


def market_id(event: int, rung: int) -> MarketId:
    return MarketId(f"bbbbbbbb-{event:04d}-4000-8000-{rung:012d}")


class SimulatedVenue:
    """Engine, two replicas of the read side, and one credential's token bucket: as one series of
    the account sees them, with its own markets.

    clock_ns: how far the venue's clock is ahead of the world's. `frames`: what becomes visible on
    the channel; each command's public events, in order, `fast_lag_ns` late. resolves_ns: when every
    event is said to end.
    """

    def __init__(self, odds: Odds, start_ns: int, first: "SimulatedVenue | None" = None) -> None:
        self._first = first
        if first is None:
            self.engine = Engine(order_id_key=_ID_KEY)
            self.fast = Projector(Views(), odds.fast_lag_ns)
            self.slow = Projector(Views(), odds.slow_lag_ns)
            self.bucket = TokenBucket.full(RATE_PER_SECOND, RATE_BURST, start_ns)
            self.watchers: list[Watcher] = []
            self._faces = [self]
            self.clock_ns = 0
            self._ids = ChangingIds(self.engine, MAKER) if odds.variant("amend_ids") else None
            order = self.engine.order if self._ids is None else self._ids.order
            self.readings = Readings(odds, self.engine, MAKER, order)
        else:
            self.engine, self.bucket, self.watchers = first.engine, first.bucket, first.watchers
            self.fast, self.slow, self._faces = first.fast, first.slow, first._faces
            self.readings, self._ids = first.readings, first._ids
            self._faces.append(self)
        self._pages = PageLimits(*[odds.page_limit] * 4)
        self.series, _ = series_of(odds)
        self.markets: dict[Ticker, list[MarketId]] = {}
        self.tapes: dict[MarketId, LevelBook] = {}
        self.frames: deque[tuple[int, list[v.Event]]] = deque()
        self._strikes: dict[Ticker, list[int]] = {}
        self._lag_ns = odds.fast_lag_ns
        self._list(odds, start_ns)

    def _list(self, odds: Odds, start_ns: int) -> None:
        self._rates = FeeRate.parse(odds.maker_fee_rate), FeeRate.parse(odds.fee_rate)
        if self._first is None:
            self.apply(v.ListCompany(PROJECT, "Acme", "ACME"), start_ns)
        # Of every event, also of one that is listed later: moods tell the time by it.
        self.resolves_ns = start_ns + RESOLUTION_NS
        for event, rungs in enumerate(odds.rungs):
            ticker = self.list_event(start_ns)
            for rung in range(rungs):
                self.list_rung(ticker, self.rung_id(event, rung), start_ns)

    def rung_id(self, event: int, rung: int) -> MarketId:
        return market_id(event + self._offset, rung)

    @property
    def _offset(self) -> int:
        return 0 if self._first is None else _SECOND_FROM

    def list_event(self, now_ns: int) -> Ticker:
        event = len(self.markets)
        ticker = Ticker(f"{self.series}-27Q{event + 1}")
        self.apply(
            v.ListEvent(
                event_ticker=ticker,
                series_ticker=self.series,
                project_market_id=f"cccccccc-{event + self._offset:04d}-4000-8000-000000000000",
                project_id=PROJECT,
                title=f"Acme at the end of quarter {event + 1}",
                category="valuation",
                status=model.EventStatus.OPEN,
                mutually_exclusive=False,
                resolution_date_ns=self.resolves_ns,
            ),
            now_ns,
        )
        self.markets[ticker] = []
        return ticker

    def list_rung(self, event: Ticker, market: MarketId, now_ns: int, place: int = -1) -> None:
        strikes = self._strikes.setdefault(event, [])
        place = len(strikes) if place < 0 else place
        if place == len(strikes):
            strike = strikes[-1] + _STEP if strikes else _LOWEST
        else:
            below = strikes[place - 1] if place else strikes[0] - _STEP
            strike = (below + strikes[place]) // 2
        strikes.insert(place, strike)
        self.markets[event].insert(place, market)
        self.tapes[market] = LevelBook(now_ns)
        maker_rate, taker_rate = self._rates
        self.apply(
            v.ListMarket(
                market_id=market,
                ticker=Ticker(f"{event}-{strike}B"),
                event_ticker=event,
                name=f"above {strike}",
                outcome_label="above",
                maker_fee_rate=maker_rate,
                taker_fee_rate=taker_rate,
                strike_value=str(strike),
                strike_unit="USD billions",
            ),
            now_ns,
        )

    def open_accounts(self, odds: Odds, now_ns: int) -> None:
        for user in (MAKER, *CROWD):
            self.apply(v.AddUser(user), now_ns)
            cash = odds.cash_cents if user == MAKER else 1_000_000_000
            self.apply(v.Deposit(user, Cents(cash)), now_ns)

    def all_markets(self) -> Iterator[MarketId]:
        yield from self.tapes

    def apply(self, command: v.Command, now_ns: int) -> v.Answer:
        if self._first is not None:
            return self._first.apply(command, now_ns)
        carry_out = self.engine.apply if self._ids is None else self._ids.apply
        answer, events = carry_out(command, now_ns + self.clock_ns)
        assert not isinstance(answer, v.Refused) or not events, "a refused command did something"
        if events:
            # What only the crowd may see of its own account is read by nobody here.
            shown = [event for event in events if not _of_crowd(event)]
            self.fast.publish(shown, now_ns)
            self.slow.publish(shown, now_ns)
            for face in self._faces:
                face.frames.append((now_ns + self._lag_ns, shown))
            self.readings.charge(events)
        self.readings.applied(command)
        for watcher in self.watchers:
            watcher(command, answer, events, now_ns)
        while self.readings.due:
            self.readings.due.pop()
            self.apply(v.Withdraw(MAKER, Cents(1)), now_ns)
        return answer

    # --- the front door ---------------------------------------------------------------------------

    def write(self, request: m.Write, now_ns: int) -> m.Answer:
        if isinstance(request, m.Create):
            order = codec.parse_new_order(request.body, MarketId)
            return self._shown(self.apply(v.PlaceOrder(MAKER, order), now_ns))
        answer = self.readings.refused_or_accepted(request, cancel_shown)
        if answer is not None:
            return answer
        if isinstance(request, m.AmendResting):
            asked = codec.parse_amend(codec.encode_amend(request.amend))
            amend = self.readings.amend(request.order_id, asked)
            if amend is None:
                return refusal(Code.INVALID_QTY)
            return self._shown(self.apply(v.AmendOrder(MAKER, request.order_id, amend), now_ns))
        return self._shown(self.apply(v.CancelOrder(MAKER, request.order_id), now_ns))

    def _shown(self, answer: v.Answer) -> m.Answer:
        told = shown(answer)
        if isinstance(told, m.Done) and isinstance(told.body, m.CancelShown):
            # filled_qty comes from the projection and is a floor.
            order = told.body.order
            seen = self.slow.views.account.order(MAKER, order.order_id)
            floor = msgspec.structs.replace(order, filled_qty=seen.filled_qty if seen else Qty(0))
            return m.Done(m.CancelShown(floor, told.body.reduced_by))
        return told

    def read(self, request: m.Read, views: Views) -> m.Answer:
        answer = read(views, MAKER, request, self._pages)
        if isinstance(answer, m.Done) and isinstance(answer.body, m.FillsShown):
            fills = self.readings.fills(answer.body.fills)
            return m.Done(m.FillsShown(fills, answer.body.cursor))
        return answer

    # --- the channel ------------------------------------------------------------------------------

    def newly_shown(self, now_ns: int) -> list[v.Event]:
        visible: list[v.Event] = []
        while self.frames and self.frames[0][0] <= now_ns:
            for event in self.frames.popleft()[1]:
                if isinstance(event, v.LevelChanged) and event.market_id in self.tapes:
                    self.tapes[event.market_id].change(event)
                visible.append(event)
        return visible

    def book_frame(self, market: MarketId) -> m.BookSeen:
        tape = self.tapes[market]
        bids, asks = tape.levels()
        return m.BookSeen(market, tape.at_ns, bids, asks)


def _of_crowd(event: v.Event) -> bool:
    if isinstance(event, v.OrderChanged):
        return event.order.user_id != MAKER
    return isinstance(event, _PRIVATE) and event.user_id != MAKER
