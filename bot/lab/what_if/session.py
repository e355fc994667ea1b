"""A journalled run as a market to trade in again: what others showed, with what was ours taken out.

Books come without our own shares, as `bot.lab.own_orders` knows them of each instant. A print that
filled us stays one: it is there for whoever would have met it. What we took is given back: it goes
on standing at its price for as long as the size there is what it was after we came, `GIVEN_BACK_NS`
at most, and the print of it is gone.

All of it happens at the venue's own instants, on the bot's clock, and arrives when it arrived then.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import Struct, structs

from bot.core import messages as m
from bot.io.journal.records import JournalFault
from bot.lab.exchange.live import catalogue_of, is_readable
from bot.lab.own_orders import OwnFill, OwnOrders
from bot.lab.session import UNCAUSED, Run, Until, beside_of, placed_entries
from bot.lab.what_if.measure import Measure
from venue.engine import messages as v
from venue.wire import model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty
from venue.wire.names import MarketId, Ticker, fold_ticker

GIVEN_BACK_NS: Final = 10 * NS_PER_SECOND
"""What we took then goes on standing for so long at most, where we do not take it."""

_CLOCKS_AGREE_NS: Final = NS_PER_SECOND
"""A lowest delay of the channel below this one says that both clocks are one."""

_HAPPENS_AGAIN: Final = (*UNCAUSED, m.JournalFailed, m.ConfigRefused)
"""Events that come again when they came then."""


class Act(Struct, frozen=True):
    """A book or a print of others. seen: as of the bot's clock; arrives_ns: when it reached the
    bot. ours: a print that filled an order of ours then."""

    seen: m.BookUpdate | m.Trade
    arrives_ns: int
    ours: bool = False


@dataclass
class Session:
    """What a run met. Times on the bot's clock."""

    run: Run
    gap_ns: int
    """A silence of the bot that counts as standing still."""
    ended_ns: int = 0
    """Where it ends."""
    cut: str = ""
    """Why that is before its end, else empty."""
    tickers: dict[MarketId, Ticker] = field(default_factory=dict)
    """Of its markets."""
    catalogue: list[v.Command] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    """The market without us, in order of time."""
    world: list[tuple[int, m.Event]] = field(default_factory=list)
    """Events to the trader that no request brought about."""
    states: list[tuple[int, v.Command]] = field(default_factory=list)
    """Halts and resumptions, as reads showed them."""
    cash_cents: Cents | None = None
    """At the start; None where no read showed it."""
    holdings: list[tuple[MarketId, Outcome, int]] = field(default_factory=list)
    """Shares at the start."""
    write_trips_ns: list[int] = field(default_factory=list)
    read_trips_ns: list[int] = field(default_factory=list)
    """Round trips of answered requests."""
    feed_ns: int = 0
    """Median delay of the channel."""
    stalls: list[tuple[int, int]] = field(default_factory=list)
    """Stretches in which the process stood still."""
    clock_ahead_ns: int = 0
    """How far the bot's clock is ahead of the venue's; 0 where they agree."""
    fills: list[OwnFill] = field(default_factory=list)
    """Ours, at the venue's instants."""
    happened: Measure = field(default_factory=Measure)
    short_qty: int = 0
    """Shares of ours that a book should have shown and did not."""


def session_of(run: Run, until: Until, gap_ns: int) -> Session:
    """Read a run. gap_ns: a silence of the bot that counts as standing still.

    Raises JournalFault when it cannot be read, and when it shows no market.
    """
    session = Session(run, gap_ns, ended_ns=run.begun_ns)
    reader = _Reader(session)
    for placed in placed_entries(run.paths):
        at_ns, message = placed.entry.at_ns, placed.entry.message
        if isinstance(message, m.Event) and until.has_passed(at_ns, placed.number, placed.place):
            session.cut = "as asked for"
        else:
            reader.take(at_ns, message)
        if session.cut:
            break
    reader.settle()
    return session


class _Reader:
    """Goes through the entries of a run once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._beside = beside_of(session.run)
        self._own = session.happened.own
        self._books: dict[tuple[MarketId, int], tuple[int, m.BookUpdate]] = {}
        self._prints: dict[str, tuple[int, m.Trade]] = {}
        self._events: dict[Ticker, model.Event] = {}
        self._markets: dict[MarketId, model.Market] = {}
        self._sent: dict[int, tuple[int, list[int]]] = {}
        self._held = False

    def take(self, at_ns: int, message: m.Event | m.Effect) -> None:
        """The next entry."""
        session = self._session
        if at_ns - session.ended_ns > session.gap_ns:
            session.stalls.append((session.ended_ns, at_ns))
        session.ended_ns = max(session.ended_ns, at_ns)
        session.happened.take(message)
        match message:
            case m.BookUpdate():
                # One that is shown again, to whoever subscribes again, is no other book.
                self._books.setdefault((message.market_id, message.ts_ns), (at_ns, message))
            case m.Trade():
                self._prints.setdefault(message.trade_id, (at_ns, message))
            case m.Send(request_id=number, request=request):
                is_write = isinstance(request, m.Write)
                trips = session.write_trips_ns if is_write else session.read_trips_ns
                self._sent[number] = at_ns, trips
            case m.Response(request_id=number, answer=answer):
                sent_ns, trips = self._sent.pop(number, (at_ns, []))
                if isinstance(answer, m.Ok):
                    trips.append(at_ns - sent_ns)
                    self._shown(at_ns, answer.body)
            case _ if isinstance(message, _HAPPENS_AGAIN):
                session.world.append((at_ns, message))

    def _shown(self, at_ns: int, body: m.Body) -> None:
        match body:
            case m.SeriesBody():
                for event in body.events:
                    # What is traded beside it tells only what else pays into the cash.
                    if fold_ticker(event.series_ticker) not in self._beside:
                        self._listed(at_ns, event)
            case m.BalanceBody() if self._session.cash_cents is None:
                self._session.cash_cents = body.balance.total_cents
            case m.PositionsBody() if not self._held:
                self._held = not body.cursor
                self._session.holdings += [
                    (position.market_id, Outcome(position.outcome.value), position.qty)
                    for position in body.positions
                    if position.market_id is not None
                    and position.outcome is not model.ShownOutcome.UNKNOWN
                ]
            case _:
                pass

    def _listed(self, at_ns: int, event: model.Event) -> None:
        """A page of the series: rungs, and whether they take orders. What of it cannot be read is
        passed over, as the trader does."""
        if not is_readable(event):
            return
        states = self._session.states
        self._events.setdefault(event.event_ticker, event)
        for market in event.markets:
            before = self._markets.get(market.market_id)
            was = model.MarketState.ACTIVE if before is None else before.state
            self._markets[market.market_id] = market
            if market.state is was:
                continue
            if market.state is model.MarketState.HALTED:
                states.append((at_ns, v.HaltMarket(market.market_id)))
            elif market.state is model.MarketState.ACTIVE:
                states.append((at_ns, v.ResumeMarket(market.market_id)))
            elif market.state is model.MarketState.RESOLVED and before is None:
                # Over before it began; nobody holds any of it.
                states.append((at_ns, v.ResolveMarket(market.market_id, Outcome.NO)))
            elif market.state is model.MarketState.RESOLVED:
                what = f"{market.ticker} resolved, and what it paid the journal does not say"
                self._session.cut = what

    # --- put together -----------------------------------------------------------------------------

    def settle(self) -> None:
        """Everything was read: the market without us. Raises JournalFault when there is none."""
        session = self._session
        if not self._books or not self._markets:
            raise JournalFault(
                f"{session.run.paths[0]}: the run saw no book of any rung: no market to trade in"
            )
        shift_ns, session.feed_ns = self._clocks()
        session.clock_ahead_ns = shift_ns
        begun_ns = session.run.begun_ns
        # A walk of the fills shows those of earlier runs, too, and those of series beside it.
        fills = [
            fill
            for fill in self._own.fills()
            if fill.at_ns + shift_ns > begun_ns and fill.market_id in self._markets
        ]
        others = _Others(self._own, fills)
        for at_ns, seen in self._in_order(fills, shift_ns + session.feed_ns):
            if seen.market_id not in self._markets:
                continue
            if isinstance(seen, m.BookUpdate):
                frame: m.BookUpdate | m.Trade | None = others.book(seen)
                is_ours = False
            else:
                frame, is_ours = others.printed(seen)
            if frame is not None:
                # What was so before the run began is so when it begins.
                frame = structs.replace(frame, ts_ns=max(frame.ts_ns + shift_ns, begun_ns))
                session.acts.append(Act(frame, max(at_ns, begun_ns), is_ours))
        session.short_qty = others.short_qty
        session.tickers = {each.market_id: each.ticker for each in self._markets.values()}
        session.catalogue = self._catalogue()
        session.holdings = [held for held in session.holdings if held[0] in self._markets]
        session.fills = fills

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
    ) -> list[tuple[int, m.BookUpdate | m.Trade]]:
        """Books and prints by the venue's clock, a print before the book of its instant. A fill of
        ours whose print the channel did not bring is put in."""
        seen: list[tuple[int, m.BookUpdate | m.Trade]] = [*self._prints.values()]
        for fill in fills:
            if fill.trade_id not in self._prints and fill.maker:
                bought = fill.side is BookSide.ASK
                made = m.Trade(
                    fill.market_id, fill.at_ns, fill.trade_id, fill.price, Qty(fill.qty), bought
                )
                seen.append((fill.at_ns + late_ns, made))
        seen += self._books.values()
        return sorted(seen, key=lambda row: row[1].ts_ns)

    def _catalogue(self) -> list[v.Command]:
        """The commands that list what the series showed, its markets as they were shown last."""
        return catalogue_of(
            msgspec.structs.replace(
                event,
                markets=tuple(
                    market
                    for market in self._markets.values()
                    if market.event_ticker == event.event_ticker
                ),
            )
            for event in self._events.values()
        )


class _Others:
    """The market without us, in order of the venue's time. short_qty: as of Session."""

    def __init__(self, own: OwnOrders, fills: Sequence[OwnFill]) -> None:
        self.short_qty = 0
        self._own = own
        self._maker = {fill.trade_id: fill for fill in fills if fill.maker}
        self._taken = {fill.trade_id: fill for fill in fills if not fill.maker}
        self._given: dict[tuple[MarketId, BookSide, Price], list[int]] = {}

    def printed(self, seen: m.Trade) -> tuple[m.Trade | None, bool]:
        """A print, None of one that was our own doing; True if it filled an order of ours."""
        mine = self._taken.get(seen.trade_id)
        if mine is not None:
            key = (seen.market_id, mine.side.other, seen.price)
            given = self._given.setdefault(key, [0, 0, -1])
            given[:] = [given[0] + mine.qty, seen.ts_ns + GIVEN_BACK_NS, -1]
            return None, False
        return seen, seen.trade_id in self._maker

    def book(self, seen: m.BookUpdate) -> m.BookUpdate:
        """A book without our own shares, and with what we had taken of it."""
        others = self._own.without(seen)
        self.short_qty += others.missing_qty
        bids, asks = dict(others.bids), dict(others.asks)
        self._give_back(seen, bids, asks)
        best = tuple(sorted(bids.items(), reverse=True)), tuple(sorted(asks.items()))
        return m.BookUpdate(seen.market_id, seen.ts_ns, *best)

    def _give_back(
        self, seen: m.BookUpdate, bids: dict[Price, Qty], asks: dict[Price, Qty]
    ) -> None:
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
