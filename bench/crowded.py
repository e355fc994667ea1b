"""The embedded venue with its crowd in the place of a tape: the queue is real, nothing is modelled.

The same crowd without us can be recorded as a tape. Every trader of the crowd draws from a stream
of its own whatever others do, so the tape and the venue with us in it have the same flow up to
what our orders change: by that a backtest can be measured against the truth.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.exchange import LevelBook, ShownBook
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.recorded import RecordedMarket
from bot.strategy.api import Levels
from venue.crowd.run import CrowdPlan, make_actor, opening_commands
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import BookRecord, Record, Tape, TapeRung, TradeRecord, tape_catalogue
from venue.engine import messages as v
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Outcome, Qty, Side, canonical
from venue.wire.names import MarketId

START_NS: Final = 1_800_000_000 * NS_PER_SECOND
BEAT_NS: Final = 25 * NS_PER_MS
"""Time between two reactions of the crowd, each to the state one beat before."""

STRIKES: Final = ("175", "200", "212.5", "225", "250")
RESOLUTION_NS: Final = START_NS + 60 * 86_400 * NS_PER_SECOND
TEN_MAKERS: Final = CrowdSettings(
    makers=10,
    maker_offset_min_cents=1.0,
    maker_offset_max_cents=3.0,
    noise_reach_cents=2.0,
    noise_takes_per_rung_per_minute=40,
)
_APART_NS: Final = 1_000
"""Between two commands of one beat: every change has an instant of its own."""

_SERIES: Final = "CROWD"


def market_id(rung: int) -> MarketId:
    return MarketId(f"00000000-0000-4000-9000-{rung:012d}")


def ladder(name: str, strikes: Sequence[str] = STRIKES) -> Tape:
    """An event of these rungs, of which nothing is recorded."""
    return Tape(
        name=name.lower(),
        series=_SERIES,
        event=name,
        strike_unit="USD billions",
        sources=tuple(f"{name}-{strike}" for strike in strikes),
        partition=False,
        has_books=True,
        rungs=tuple(
            TapeRung(market_id(place), strike, strike) for place, strike in enumerate(strikes)
        ),
        records=(),
        start=0,
        start_ts=START_NS,
        end_ts=START_NS,
        values=(),
    )


def ticking_for(tape: Tape, seconds: float) -> Tape:
    """The event of a tape with one record for each of the crowd's beats, which say nothing but
    their time."""
    # The trader is there a second before the first of them.
    first_ns = START_NS + 2 * NS_PER_SECOND
    times = (first_ns + beat * BEAT_NS for beat in range(int(seconds * NS_PER_SECOND) // BEAT_NS))
    records = tuple(BookRecord(at_ns, tape.sources[0], (), ()) for at_ns in times)
    return msgspec.structs.replace(
        tape, records=records, start=0, start_ts=records[0].ts, end_ts=records[-1].ts, values=()
    )


def clock(seed: int, seconds: float) -> Tape:
    """The beats of an event of five rungs."""
    return ticking_for(ladder(f"{_SERIES}-{seed}"), seconds)


class CrowdedMarket(RecordedMarket):
    """The engine with our orders and a crowd's. heard: called with every command's events."""

    def __init__(
        self, ticking: Tape, crowd: CrowdSettings, terms: Terms, tape: Tape | None = None
    ) -> None:
        """ticking: of `clock`. tape: played by the crowd, where it is no crowd of seeds."""
        self.heard: Callable[[list[v.Event], int], None] = lambda _events, _now_ns: None
        self._levels = {rung.market_id: LevelBook(START_NS) for rung in ticking.rungs}
        self._unseen: list[v.Event] = []
        self._moved_ns: dict[MarketId, int] = {}
        super().__init__(ticking, terms, QueueModel.PESSIMISTIC, RESOLUTION_NS, START_NS)
        catalogue = tape_catalogue(ticking, RESOLUTION_NS, terms.maker_rate, terms.taker_rate)
        plan = CrowdPlan(crowd, tuple(catalogue), tape)
        self._crowd = make_actor(plan)
        for command in opening_commands(plan):
            self.exchange.execute(command, START_NS)

    def play(self, place: int) -> None:
        seen, self._unseen = self._unseen, []
        at_ns = self._records[place].ts
        self._crowd.observe(seen, at_ns)
        for number, command in enumerate(self._crowd.step(at_ns), 1):
            self.exchange.execute(command, at_ns + number * _APART_NS)

    def on_events(self, events: list[v.Event], now_ns: int) -> None:
        super().on_events(events, now_ns)
        self._unseen += events
        for event in events:
            if isinstance(event, v.LevelChanged):
                self._levels[event.market_id].change(event)
                moved_ns = self._moved_ns.get(event.market_id, now_ns)
                self._moved_ns[event.market_id] = max(moved_ns, now_ns)
                self._changed[event.market_id] = None
                bids, asks = self._levels[event.market_id].levels()
                if bids and asks:
                    self.marks[event.market_id] = bids[0][0] + asks[0][0]
        self.heard(events, now_ns)

    def shown_book(self, market_id: MarketId, now_ns: int) -> ShownBook:
        """The whole book, of the instant of the last change that it shows."""
        moved_ns = self._moved_ns.get(market_id, now_ns)
        return ShownBook(*self._levels[market_id].levels(), max(now_ns, moved_ns))

    def others(self, market: MarketId) -> tuple[Levels, Levels]:
        """The book of a market without our orders."""
        whole = self._levels[market].levels()
        own = (self.queues.on_side(market, side).sizes_by_price for side in BookSide)
        bids, asks = (
            tuple((price, Qty(left)) for price, size in side if (left := size - mine.get(price, 0)))
            for side, mine in zip(whole, own, strict=True)
        )
        return bids, asks


class Recorder:
    """Records a venue's channel without our orders as a tape.

    Each change gives its prints first and then the whole book at the same time. Prints against
    our orders are kept.
    """

    def __init__(self, venue: CrowdedMarket, ticking: Tape) -> None:
        """ticking: the venue's."""
        self._venue = venue
        self._ticking = ticking
        self._sources = dict(zip(venue.markets, ticking.sources, strict=True))
        self._books: dict[MarketId, BookRecord] = {}
        self._records: list[Record] = []
        venue.heard = self._hear

    def _hear(self, events: list[v.Event], now_ns: int) -> None:
        moved: dict[MarketId, None] = {}
        for event in events:
            if isinstance(event, v.TradePrinted):
                yes = (event.taker_outcome is Outcome.YES) is (event.taker_side is Side.BUY)
                bought = Outcome.YES if yes else Outcome.NO
                source = self._sources[event.market_id]
                row = TradeRecord(now_ns, source, event.price, event.qty, bought)
                self._records.append(row)
            elif isinstance(event, v.LevelChanged):
                moved[event.market_id] = None
        for market in moved:
            self._show(market, now_ns)

    def _show(self, market: MarketId, now_ns: int) -> None:
        bids, asks = self._venue.others(market)
        no = tuple((canonical(Outcome.NO, price), size) for price, size in asks)
        record = BookRecord(now_ns, self._sources[market], bids, no)
        before = self._books.get(market)
        if before is None or (before.yes, before.no) != (record.yes, record.no):
            self._books[market] = record
            self._records.append(record)

    @property
    def tape(self) -> Tape:
        records = self._records
        return msgspec.structs.replace(
            self._ticking,
            records=tuple(records),
            start_ts=records[0].ts,
            end_ts=records[-1].ts,
        )


def recorded(ticking: Tape, crowd: CrowdSettings, terms: Terms) -> Tape:
    venue = CrowdedMarket(ticking, crowd, terms)
    recorder = Recorder(venue, ticking)
    for place in range(len(ticking.records)):
        venue.play(place)
    return recorder.tape
