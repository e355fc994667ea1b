"""The market of a simulated world: the events of one series of the account, and their books.

The exchange has two copies of the read side that lag differently, so that two reads in a row may go
back in time, as an asynchronously projected read side may.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from bot.core import messages as m
from bot.io.client.answers import answer_of
from bot.lab.exchange.exchange import (
    MAKER,
    Exchange,
    GapReading,
    LevelBook,
    PageLimits,
    ShownBook,
    accounts,
    cancel_shown,
    refusal,
)
from bot.lab.sim.odds import SECOND, Odds, series_of
from bot.lab.sim.odds import SERIES as ALL_SERIES
from venue.core import messages as v
from venue.core.engine import Engine
from venue.wire import codec, model
from venue.wire.errors import Code
from venue.wire.model import TERMINAL, Liquidity, OrderStatus
from venue.wire.money import Cents, FeeRate, Qty, fee_cents
from venue.wire.names import MarketId, OrderId, ProjectId, Ticker, UserId

SERIES = ALL_SERIES[0]
PROJECT = ProjectId("aaaaaaaa-0000-4000-8000-000000000001")
CROWD = tuple(UserId(f"crowd-{index}") for index in range(5))
_LOWEST, _STEP = 100, 25
_SECOND_FROM = 50
"""Events of the second series count from this, in their ids."""

RESOLUTION_NS = 90 * 24 * 3600 * SECOND
_CROWD_CENTS = Cents(1_000_000_000)


def market_id(event: int, rung: int) -> MarketId:
    return MarketId(f"bbbbbbbb-{event:04d}-4000-8000-{rung:012d}")


class SimulatedVenue:
    """The markets of one series; both series of an account share the exchange.

    front: the exchange. frames: what becomes visible on the channel, each command's public events,
    in order, `fast_lag_ns` late.
    """

    def __init__(self, odds: Odds, start_ns: int, first: "SimulatedVenue | None" = None) -> None:
        if first is None:
            self.front = Exchange(
                self,
                (),
                start_ns,
                order_id_key=b"simulated",
                pages=PageLimits(*[odds.page_limit] * 4),
                read_lag_ns=odds.fast_lag_ns,
                stale_lag_ns=odds.slow_lag_ns,
            )
            self.readings = OtherReadings(odds, self.front)
            self._series: list[SimulatedVenue] = []
        else:
            self.front, self.readings, self._series = first.front, first.readings, first._series
        self._first_event = _SECOND_FROM * len(self._series)
        self._series.append(self)
        self.engine, self.watchers = self.front.engine, self.front.watchers
        self.series, _ = series_of(odds)
        self.markets: dict[Ticker, list[MarketId]] = {}
        self.tapes: dict[MarketId, LevelBook] = {}
        self.frames: deque[tuple[int, list[v.Event]]] = deque()
        self._strikes: dict[Ticker, list[int]] = {}
        self._lag_ns = odds.fast_lag_ns
        self._rates = FeeRate.parse(odds.maker_fee_rate), FeeRate.parse(odds.fee_rate)
        # Of every event, also of one that is listed later: moods tell the time by it.
        self._resolves_ns = start_ns + RESOLUTION_NS
        if first is None:
            self.apply(v.ListCompany(PROJECT, "Acme", "ACME"), start_ns)
        for event, rungs in enumerate(odds.rungs):
            ticker = self.list_event(start_ns)
            for rung in range(rungs):
                self.list_rung(ticker, self.rung_id(event, rung), start_ns)

    def rung_id(self, event: int, rung: int) -> MarketId:
        return market_id(event + self._first_event, rung)

    def list_event(self, now_ns: int) -> Ticker:
        event = len(self.markets)
        ticker = Ticker(f"{self.series}-27Q{event + 1}")
        self.apply(
            v.ListEvent(
                event_ticker=ticker,
                series_ticker=self.series,
                project_market_id=f"cccccccc-{event + self._first_event:04d}-4000-8000-{0:012d}",
                project_id=PROJECT,
                title=f"Acme at the end of quarter {event + 1}",
                category="valuation",
                status=model.EventStatus.OPEN,
                mutually_exclusive=False,
                resolution_date_ns=self._resolves_ns,
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
        cash = {MAKER: Cents(odds.cash_cents), **dict.fromkeys(CROWD, _CROWD_CENTS)}
        for command in accounts(cash):
            self.apply(command, now_ns)

    def all_markets(self) -> Iterator[MarketId]:
        yield from self.tapes

    def apply(self, command: v.Command, now_ns: int) -> v.Answer:
        """Carry out a command of anybody's, and charge what the venue's reading of it costs."""
        answer = self.front.apply(command, now_ns)
        while self.readings.due:
            self.readings.due.pop()
            self.front.apply(v.Withdraw(MAKER, Cents(1)), now_ns)
        return answer

    # --- the market source ------------------------------------------------------------------------

    def on_events(self, events: list[v.Event], now_ns: int) -> None:
        public: list[v.Event] = [
            each for each in events if isinstance(each, v.LevelChanged | v.TradePrinted)
        ]
        if public:
            for series in self._series:
                series.frames.append((now_ns + series._lag_ns, public))

    def carry_out(self, exchange: Exchange, command: v.Command, now_ns: int) -> v.Answer:
        """Whoever can be reached is in the engine already."""
        return self.apply(command, now_ns)

    def shown_book(self, market_id: MarketId, now_ns: int) -> ShownBook:
        tapes = (series.tapes for series in self._series)
        tape = next(each[market_id] for each in tapes if market_id in each)
        return ShownBook(*tape.levels(), tape.at_ns)

    # --- the channel ------------------------------------------------------------------------------

    def newly_shown(self, now_ns: int) -> list[v.Event]:
        visible: list[v.Event] = []
        while self.frames and self.frames[0][0] <= now_ns:
            for event in self.frames.popleft()[1]:
                if isinstance(event, v.LevelChanged) and event.market_id in self.tapes:
                    self.tapes[event.market_id].change(event)
                visible.append(event)
        return visible


_ENDED_AMEND: Final = {
    "404": refusal(Code.ORDER_NOT_FOUND),
    "409": m.Refused(409, "order_state_conflict", ""),
}


class OtherReadings(GapReading):
    """The readings that a seed has drawn.

    dearer: fills, by their ids, that cost a cent more than they show. due: those of them that are
    not paid for yet.
    """

    def __init__(self, odds: Odds, exchange: Exchange) -> None:
        self._variant = odds.variant
        self._rates = FeeRate.parse(odds.fee_rate), FeeRate.parse(odds.maker_fee_rate)
        self._exchange = exchange
        self._changes_ids = odds.variant("amend_ids") != ""
        self._status = int(odds.variant("success_status", "0"))
        self._halted: set[MarketId] = set()
        self._shown: dict[OrderId, OrderId] = {}  # by the engine's
        self._engines: dict[OrderId, OrderId] = {}  # by the one that is shown now
        self._over: dict[OrderId, v.OrderState] = {}  # as they ended, by an id that an amend took
        self._last: dict[OrderId, v.OrderState] = {}
        self.dearer: dict[str, None] = {}
        self.due: list[str] = []
        exchange.reading = self
        exchange.watchers.append(self._applied)

    # --- writes -----------------------------------------------------------------------------------

    def meant(self, request: m.Write) -> m.Write | m.Answer:
        """The write that the venue takes this one for, or the answer where it acts on none."""
        if isinstance(request, m.Create) or (order := self.order(request.order_id)) is None:
            return request
        is_over = order.status in TERMINAL
        if isinstance(request, m.AmendResting):
            if is_over and (ended := _ENDED_AMEND.get(self._variant("ended_amend"))):
                return ended
            return self._total(request, order) if self._variant("amend_qty") else request
        if not is_over:
            refuses = self._variant("halted_cancels") and order.market_id in self._halted
            return refusal(Code.MARKET_HALTED) if refuses else request
        second = self._variant("second_cancel")
        if second == "refused" and order.status is OrderStatus.CANCELED:
            return refusal(Code.ORDER_NOT_CANCELABLE)
        return m.Done(cancel_shown(order, Qty(0))) if second == "accepted" else request

    def _total(self, request: m.AmendResting, order: v.OrderState) -> m.Write | m.Answer:
        """S13: the quantity of an amend counts what has filled."""
        amend = request.amend
        if amend.qty is None:
            return request
        left = amend.qty - order.filled_qty
        if left < 1:
            return refusal(Code.INVALID_QTY)
        return replace(request, amend=replace(amend, qty=Qty(left)))

    def shown(self, request: m.Request, answer: m.Answer) -> m.Answer:
        """The answer as this venue words it."""
        body = answer.body if isinstance(answer, m.Done) else None
        if isinstance(body, m.CancelShown):
            # The filled quantity comes from the read side and is a floor.
            seen = self._exchange.stale.views.account.order(MAKER, body.order.order_id)
            order = replace(body.order, filled_qty=seen.filled_qty if seen else Qty(0))
            body = m.CancelShown(order, body.reduced_by)
            answer = m.Done(body)
        elif isinstance(body, m.FillsShown) and self._variant("fill_fees"):
            fills = tuple(replace(fill, fee_cents=None) for fill in body.fills)
            return m.Done(m.FillsShown(fills, body.cursor))
        if self._status and not isinstance(request, m.Read):
            if isinstance(body, m.CancelShown):
                text = codec.encode(model.Cancelled(body.order, body.reduced_by))
                return answer_of(request, self._status, text)
            if isinstance(body, m.OrderShown):
                return answer_of(request, self._status, codec.encode(body.order))
        return answer

    def _applied(self, command: v.Command, _: v.Answer, events: list[v.Event], __: int) -> None:
        if isinstance(command, v.HaltMarket):
            self._halted.add(command.market_id)
        elif isinstance(command, v.ResumeMarket):
            self._halted.discard(command.market_id)
        if self._variant("fill_fees"):
            for event in events:
                if isinstance(event, v.FillBooked) and event.user_id == MAKER:
                    self._charge(event)

    def _charge(self, fill: v.FillBooked) -> None:
        """S16: the fee of a fill is rounded up by itself, and may be a cent more."""
        rate = self._rates[fill.liquidity is Liquidity.MAKER]
        fee = fee_cents(rate, fill.qty, fill.outcome_price)
        balance = self._exchange.engine.balance(MAKER)
        if fee > fill.fee_cents and balance is not None and balance[0] > len(self.due):
            self.dearer[fill.fill_id] = None
            self.due.append(fill.fill_id)

    # --- other ids --------------------------------------------------------------------------------

    def apply(
        self, engine: Engine, command: v.Command, now_ns: int
    ) -> tuple[v.Answer, list[v.Event]]:
        """Have the engine carry out a command about an order by the id that is shown of it."""
        if not self._changes_ids:
            return engine.apply(command, now_ns)
        if isinstance(command, v.CancelOrder | v.AmendOrder):
            if command.order_id in self._over:
                return v.Refused(Code.ORDER_NOT_CANCELABLE, "it has another id"), []
            order_id = self._engines.get(command.order_id, command.order_id)
            command = replace(command, order_id=order_id)
        answer, events = engine.apply(command, now_ns)
        ended: list[v.Event] = []
        if isinstance(answer, v.Amended) and answer.order.user_id == MAKER:
            ended = [self._renamed(answer.order.order_id, now_ns)]
        shown = [*ended, *(self._event(event) for event in events)]
        if isinstance(answer, v.Placed | v.Amended | v.Cancelled):
            answer = replace(answer, order=self._order(answer.order))
        return answer, shown

    def _renamed(self, order_id: OrderId, now_ns: int) -> v.Event:
        before = self._order(self._last[order_id])
        self._engines.pop(before.order_id, None)
        self._shown[order_id] = after = OrderId(str(int(before.order_id) + 1))
        self._engines[after] = order_id
        nothing = {"remaining_qty": Qty(0), "reserved_cents": Cents(0)}
        over = replace(before, status=OrderStatus.CANCELED, updated_ns=now_ns, **nothing)
        self._over[before.order_id] = over
        return v.OrderChanged(now_ns, over)

    def _event(self, event: v.Event) -> v.Event:
        if isinstance(event, v.OrderChanged) and event.order.user_id == MAKER:
            self._last[event.order.order_id] = event.order
            return replace(event, order=self._order(event.order))
        if isinstance(event, v.FillBooked) and event.user_id == MAKER:
            return replace(event, order_id=self._shown.get(event.order_id, event.order_id))
        return event

    def order(self, order_id: OrderId) -> v.OrderState | None:
        """An order by an id that it has or had."""
        if order_id in self._over:
            return self._over[order_id]
        order = self._exchange.engine.order(self._engines.get(order_id, order_id))
        return None if order is None else self._order(order)

    def _order(self, order: v.OrderState) -> v.OrderState:
        return replace(order, order_id=self._shown.get(order.order_id, order.order_id))
