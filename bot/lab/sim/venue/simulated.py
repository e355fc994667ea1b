"""The market of a simulated world: the events of one series of the account, and their books.

The exchange has two copies of the read side that lag differently, so that two reads in a row may go
back in time, as an asynchronously projected read side may.
"""

from collections import deque
from collections.abc import Iterator

from bot.lab.exchange.exchange import MAKER, Exchange, LevelBook, PageLimits, ShownBook, accounts
from bot.lab.sim.odds import SECOND, Odds
from bot.lab.sim.second import SERIES as ALL_SERIES
from bot.lab.sim.second import series_of
from bot.lab.sim.venue.readings import OtherReadings
from venue.engine import messages as v
from venue.wire import model
from venue.wire.money import Cents, FeeRate
from venue.wire.names import MarketId, ProjectId, Ticker, UserId

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
    in order, `fast_lag_ns` late. resolves_ns: when every event is said to end.
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
        self.resolves_ns = start_ns + RESOLUTION_NS
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
