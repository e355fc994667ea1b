"""A journalled run as a market to trade in again: what others showed, with what was ours taken out.

Books come without our own shares, as `bot.lab.own_orders` knows them of each instant. A print that
filled us stays one: it is there for whoever would have met it. What we took is given back: it goes
on standing at its price for as long as the size there is what it was after we came, `GIVEN_BACK_NS`
at most, and the print of it is gone.

All of it happens at the venue's own instants, on the bot's clock, and arrives when it arrived then.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from bot.core import messages as m
from bot.io.journal.records import JournalFault
from bot.lab.own_orders import OwnFill, OwnOrders, RestingChange
from bot.lab.session import Run, Until, beside_of, placed_entries
from venue.core import messages as v
from venue.crowd.tape import BookRecord, Record, Tape, TapeRung, TradeRecord
from venue.wire import instant, model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Price, Qty, canonical
from venue.wire.names import MarketId, Ticker, fold_ticker

GIVEN_BACK_NS: Final = 10 * NS_PER_SECOND
"""What we took then goes on standing for so long at most, where we do not take it."""

_CLOCKS_AGREE_NS: Final = NS_PER_SECOND
"""A lowest delay of the channel below this one says that both clocks are one."""

_OF_THE_WORLD: Final = (
    m.FeedOpened,
    m.FeedClosed,
    m.FeedHeard,
    m.ImpliedValueSeen,
    m.FrameGarbled,
    m.StopRequested,
    m.PauseRequested,
    m.FlattenRequested,
    m.ResumeRequested,
    m.LatchSet,
    m.LatchCleared,
    m.JournalFailed,
    m.Reconfigured,
    m.ConfigRefused,
)
"""Events that no request of ours brought about: they come again when they came then."""


class Act(msgspec.Struct, frozen=True):
    """A record of the market. record.ts: when it happened; arrives_ns: when it reached the bot.
    ours: a print that filled an order of ours then."""

    record: Record
    arrives_ns: int
    ours: bool = False


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """What a run met. Times on the bot's clock.

    ended_ns: up to where it is told; cut: why that is before its end, else empty. tape: its markets
    by id, and the records. acts: the same, in order of time. world: events to the trader.
    states: halts and resumptions, as reads showed them. holdings: shares at the start.
    round_trips_ns: of answered writes, and of answered reads. feed_ns: median delay of the channel.
    stalls: stretches in which the process stood still. own, fills: what of ours rested, and filled.
    short_qty: shares of ours that a book should have shown and did not.
    """

    run: Run
    ended_ns: int
    cut: str
    tape: Tape
    catalogue: tuple[v.Command, ...]
    acts: tuple[Act, ...]
    world: tuple[tuple[int, m.Event], ...]
    states: tuple[tuple[int, v.Command], ...]
    cash_cents: Cents
    holdings: tuple[tuple[MarketId, Outcome, int], ...]
    round_trips_ns: tuple[tuple[int, ...], tuple[int, ...]]
    feed_ns: int
    stalls: tuple[tuple[int, int], ...]
    own: tuple[RestingChange, ...]
    fills: tuple[OwnFill, ...]
    short_qty: int


def session_of(run: Run, until: Until, gap_ns: int) -> Session:
    """Read a run. gap_ns: a silence of the bot that counts as standing still.

    Raises JournalFault when it cannot be read, and when it shows no market.
    """
    reader = _Reader(run, gap_ns)
    for placed in placed_entries(run.paths):
        if isinstance(placed.entry.message, m.Event) and until.has_passed(
            placed.entry.at_ns, placed.number, placed.place
        ):
            reader.cut = "as asked for"
            break
        reader.take(placed.entry.at_ns, placed.entry.message)
        if reader.cut:
            break
    return reader.session()


class _Reader:
    """Goes through the entries of a run once."""

    def __init__(self, run: Run, gap_ns: int) -> None:
        self.cut = ""
        self._run = run
        self._beside = beside_of(run)
        self._gap_ns = gap_ns
        self._own = OwnOrders()
        self._books: dict[tuple[MarketId, int], tuple[int, m.BookSeen]] = {}
        self._prints: dict[str, tuple[int, m.TradeSeen]] = {}
        self._world: list[tuple[int, m.Event]] = []
        self._states: list[tuple[int, v.Command]] = []
        self._events: dict[Ticker, model.Event] = {}
        self._markets: dict[MarketId, model.Market] = {}
        self._sent: dict[int, tuple[int, bool]] = {}
        self._trips: tuple[list[int], list[int]] = ([], [])
        self._stalls: list[tuple[int, int]] = []
        self._cash_cents: Cents | None = None
        self._holdings: list[tuple[MarketId, Outcome, int]] = []
        self._held = False
        self._last_ns = run.begun_ns

    def take(self, at_ns: int, message: m.Event | m.Effect) -> None:
        """The next entry."""
        if at_ns - self._last_ns > self._gap_ns:
            self._stalls.append((self._last_ns, at_ns))
        self._last_ns = max(self._last_ns, at_ns)
        match message:
            case m.BookSeen():
                # One that is shown again, to whoever subscribes again, is no other book.
                self._books.setdefault((message.market_id, message.ts_ns), (at_ns, message))
            case m.TradeSeen():
                self._prints.setdefault(message.trade_id, (at_ns, message))
            case m.Send():
                writes = isinstance(message.request, m.Write)
                self._sent[message.request_id] = (at_ns, writes)
            case m.Replied():
                self._replied(at_ns, message)
            case _ if isinstance(message, _OF_THE_WORLD):
                self._world.append((at_ns, message))

    def _replied(self, at_ns: int, replied: m.Replied) -> None:
        sent = self._sent.pop(replied.request_id, None)
        if not isinstance(replied.answer, m.Done):
            return
        if sent is not None:
            self._trips[0 if sent[1] else 1].append(at_ns - sent[0])
        body = replied.answer.body
        self._own.take(replied)
        match body:
            case m.SeriesShown():
                for event in body.events:
                    # What is traded beside it tells only what else pays into the cash.
                    if fold_ticker(event.series_ticker) not in self._beside:
                        self._listed(at_ns, event)
            case m.BalanceShown() if self._cash_cents is None:
                self._cash_cents = body.balance.total_cents
            case m.PositionsShown() if not self._held:
                self._held = not body.cursor
                self._holdings += _held(body.positions)
            case _:
                pass

    def _listed(self, at_ns: int, event: model.Event) -> None:
        """A page of the series: rungs, and whether they take orders. What of it cannot be read is
        passed over, as the trader does."""
        if not _is_readable(event):
            return
        self._events.setdefault(event.event_ticker, event)
        for market in event.markets:
            before = self._markets.get(market.market_id)
            was = model.MarketState.ACTIVE if before is None else before.state
            self._markets[market.market_id] = market
            if market.state is was:
                continue
            if market.state is model.MarketState.HALTED:
                self._states.append((at_ns, v.HaltMarket(market.market_id)))
            elif market.state is model.MarketState.ACTIVE:
                self._states.append((at_ns, v.ResumeMarket(market.market_id)))
            elif market.state is model.MarketState.RESOLVED and before is None:
                # Over before it began; nobody holds any of it.
                self._states.append((at_ns, v.ResolveMarket(market.market_id, Outcome.NO)))
            elif market.state is model.MarketState.RESOLVED:
                self.cut = f"{market.ticker} resolved, and what it paid the journal does not say"

    # --- put together -----------------------------------------------------------------------------

    def session(self) -> Session:
        """All of it. Raises JournalFault when there is no market in it."""
        if not self._books or not self._markets:
            raise JournalFault(
                f"{self._run.paths[0]}: the run saw no book of any rung: no market to trade in"
            )
        shift_ns, feed_ns = self._clocks()
        begun_ns = self._run.begun_ns
        changes = self._own.changes()
        # A walk of the fills shows those of earlier runs, too, and those of series beside it.
        fills = [
            fill
            for fill in self._own.fills()
            if fill.at_ns + shift_ns > begun_ns and fill.market_id in self._markets
        ]
        others = _Others(self._own, fills, shift_ns)
        acts: list[Act] = []
        for at_ns, seen in self._in_order(fills, shift_ns + feed_ns):
            if isinstance(seen, m.BookSeen) and seen.market_id in self._markets:
                acts.append(Act(others.book(seen), at_ns))
            elif isinstance(seen, m.TradeSeen) and seen.market_id in self._markets:
                act = others.printed(seen, at_ns)
                acts += [] if act is None else [act]
        acts = [_not_before(act, begun_ns) for act in acts]
        return Session(
            run=self._run,
            ended_ns=self._last_ns,
            cut=self.cut,
            tape=self._tape([act.record for act in acts]),
            catalogue=tuple(self._catalogue()),
            acts=tuple(acts),
            world=tuple(self._world),
            states=tuple(self._states),
            cash_cents=self._cash_cents or Cents(0),
            holdings=tuple(held for held in self._holdings if held[0] in self._markets),
            round_trips_ns=(tuple(self._trips[0]), tuple(self._trips[1])),
            feed_ns=feed_ns,
            stalls=tuple(self._stalls),
            own=tuple(msgspec.structs.replace(c, at_ns=c.at_ns + shift_ns) for c in changes),
            fills=tuple(msgspec.structs.replace(f, at_ns=f.at_ns + shift_ns) for f in fills),
            short_qty=others.short_qty,
        )

    def _clocks(self) -> tuple[int, int]:
        """How far the bot's clock is ahead of the venue's, 0 where they agree, and how long the
        channel takes."""
        delays = [at_ns - seen.ts_ns for at_ns, seen in self._books.values()]
        delays = sorted([*delays, *(at_ns - seen.ts_ns for at_ns, seen in self._prints.values())])
        lowest = delays[len(delays) // 100]
        shift_ns = 0 if 0 <= lowest < _CLOCKS_AGREE_NS else lowest - NS_PER_MS
        return shift_ns, max(NS_PER_MS, delays[len(delays) // 2] - shift_ns)

    def _in_order(
        self, fills: Sequence[OwnFill], late_ns: int
    ) -> list[tuple[int, m.BookSeen | m.TradeSeen]]:
        """Books and prints by the venue's clock, a print before the book of its instant. A fill of
        ours whose print the channel did not bring is put in."""
        seen: list[tuple[int, m.BookSeen | m.TradeSeen]] = [*self._prints.values()]
        for fill in fills:
            if fill.trade_id not in self._prints and fill.maker:
                bought = fill.side is BookSide.ASK
                made = m.TradeSeen(
                    fill.market_id, fill.at_ns, fill.trade_id, fill.price, Qty(fill.qty), bought
                )
                seen.append((fill.at_ns + late_ns, made))
        seen += self._books.values()
        return sorted(seen, key=lambda row: row[1].ts_ns)

    def _tape(self, records: Sequence[Record]) -> Tape:
        markets = list(self._markets.values())
        first = next(iter(self._events.values()))
        return Tape(
            name=self._run.started.boot_nonce,
            series=first.series_ticker,
            event=first.event_ticker,
            strike_unit=markets[0].strike_unit or "",
            sources=tuple(market.market_id for market in markets),
            partition=False,
            has_books=any(isinstance(record, BookRecord) for record in records),
            rungs=tuple(
                TapeRung(market.market_id, market.ticker, market.strike_value) for market in markets
            ),
            lines=tuple(msgspec.json.encode(record) for record in records),
            start=0,
            start_ts=records[0].ts,
            end_ts=records[-1].ts,
            values=(),
        )

    def _catalogue(self) -> list[v.Command]:
        """The commands that list what the series showed."""
        commands: list[v.Command] = []
        for company in dict.fromkeys(event.project_id for event in self._events.values()):
            event = next(e for e in self._events.values() if e.project_id == company)
            commands.append(v.ListCompany(company, event.series_ticker, event.series_ticker))
        for event in self._events.values():
            commands.append(
                v.ListEvent(
                    event_ticker=event.event_ticker,
                    series_ticker=event.series_ticker,
                    project_market_id=event.project_market_id,
                    project_id=event.project_id,
                    title=event.title,
                    category=event.category,
                    status=model.EventStatus.OPEN,
                    mutually_exclusive=event.mutually_exclusive,
                    resolution_date_ns=instant.to_ns(event.resolution_date),
                    sub_title=event.sub_title,
                    resolution_source=event.resolution_source,
                )
            )
        return [*commands, *(_listing(market) for market in self._markets.values())]


def _is_readable(event: model.Event) -> bool:
    """Whether its date and its rungs' fees are what they ought to be."""
    try:
        instant.to_ns(event.resolution_date)
        for market in event.markets:
            FeeRate.parse(market.maker_fee_rate)
            FeeRate.parse(market.taker_fee_rate)
    except ValueError:
        return False
    return True


def _listing(market: model.Market) -> v.ListMarket:
    return v.ListMarket(
        market_id=market.market_id,
        ticker=market.ticker,
        event_ticker=market.event_ticker,
        name=market.name,
        outcome_label=market.outcome_label,
        maker_fee_rate=FeeRate.parse(market.maker_fee_rate),
        taker_fee_rate=FeeRate.parse(market.taker_fee_rate),
        strike_value=market.strike_value,
        strike_unit=market.strike_unit,
        description=market.description,
    )


def _held(positions: Sequence[model.Position]) -> list[tuple[MarketId, Outcome, int]]:
    return [
        (position.market_id, Outcome(position.outcome.value), position.qty)
        for position in positions
        if position.market_id is not None and position.outcome is not model.ShownOutcome.UNKNOWN
    ]


def _not_before(act: Act, begun_ns: int) -> Act:
    """What was so before the run began is so when it begins."""
    if act.record.ts >= begun_ns:
        return act
    record = msgspec.structs.replace(act.record, ts=begun_ns)
    return Act(record, max(act.arrives_ns, begun_ns), act.ours)


class _Others:
    """The market without us, in order of the venue's time. short_qty: as of Session."""

    def __init__(self, own: OwnOrders, fills: Sequence[OwnFill], shift_ns: int) -> None:
        self.short_qty = 0
        self._own = own
        self._shift_ns = shift_ns
        self._maker = {fill.trade_id: fill for fill in fills if fill.maker}
        self._taken = {fill.trade_id: fill for fill in fills if not fill.maker}
        self._given: dict[tuple[MarketId, BookSide, Price], list[int]] = {}

    def printed(self, seen: m.TradeSeen, at_ns: int) -> Act | None:
        """A print; None of one that was our own doing."""
        mine = self._taken.get(seen.trade_id)
        if mine is not None:
            key = (seen.market_id, mine.side.other, seen.price)
            given = self._given.setdefault(key, [0, 0, -1])
            given[:] = [given[0] + mine.qty, seen.ts_ns + GIVEN_BACK_NS, -1]
            return None
        bought = Outcome.YES if seen.taker_bought_yes else Outcome.NO
        ts = seen.ts_ns + self._shift_ns
        record = TradeRecord(ts, seen.market_id, seen.price, seen.size, bought)
        return Act(record, at_ns, seen.trade_id in self._maker)

    def book(self, seen: m.BookSeen) -> Record:
        """A book without our own shares, and with what we had taken of it."""
        others = self._own.without(seen)
        self.short_qty += others.missing_qty
        bids, asks = dict(others.bids), dict(others.asks)
        self._give_back(seen, bids, asks)
        yes = tuple(sorted(bids.items(), reverse=True))
        no = tuple((canonical(Outcome.NO, price), asks[price]) for price in sorted(asks))
        return BookRecord(seen.ts_ns + self._shift_ns, seen.market_id, yes, no)

    def _give_back(self, seen: m.BookSeen, bids: dict[Price, Qty], asks: dict[Price, Qty]) -> None:
        """Put back what we took, where the size is still the one that we left."""
        for key, given in [*self._given.items()]:
            market_id, side, price = key
            if market_id != seen.market_id:
                continue
            mine, theirs = (bids, asks) if side is BookSide.BID else (asks, bids)
            size = mine.get(price, Qty(0))
            given[2] = size if given[2] < 0 else given[2]
            crossed = any((price >= p) if side is BookSide.BID else (price <= p) for p in theirs)
            if given[2] != size or seen.ts_ns > given[1] or crossed:
                del self._given[key]
            else:
                mine[price] = Qty(size + given[0])
