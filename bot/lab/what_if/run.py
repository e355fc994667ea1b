"""Runs the trader again in the market of a journalled run, in virtual time, and measures it.

What no request of ours caused comes when it came. Every request is answered after a latency drawn
from those of the run; requests that failed then do not fail now.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Final

import msgspec
from msgspec import Struct, structs

from bot.core import messages as m
from bot.core.reconfigure import Remake
from bot.core.report import ProfitRow
from bot.core.trader import Trader
from bot.lab.driver import Driver
from bot.lab.evaluate.timeout import ended_when_stalled
from bot.lab.exchange.assumptions import Latency, Terms
from bot.lab.exchange.exchange import MAKER, PaperAccount
from bot.lab.exchange.live import LiveMarket, catalogue_of
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.simulated_venue import TermsLink
from bot.lab.exchange.trader_run import TraderRun, alone
from bot.lab.journal_market import JournalMarket, MarketEvent
from bot.lab.own_orders import OwnFill, OwnOrders, RestingChange
from bot.lab.progress import Progress, no_progress
from venue.engine import messages as v
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.limits import QTY_MAX
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker
from venue.wire.requests import QtyOrder, TimeInForce

_HOUR_NS: Final = 3600 * NS_PER_SECOND


class Quoted(msgspec.Struct, frozen=True):
    ticker: Ticker
    side: str
    present: float  # the part of the time in which anything of ours rested there, 0 to 1
    price_cents: float | None  # our best price, canonical YES
    qty: float | None  # shares that rested; both averaged over that time, None where it is none
    filled_qty: int  # shares


class Sources(msgspec.Struct, frozen=True):
    """Thousandths of a cent: profit = spread + adverse + drift - fees."""

    profit: int
    spread: int
    adverse: int
    drift: int
    fees: int


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Money in cents, profit in thousandths of one."""

    hours: float
    quotes: tuple[Quoted, ...]
    present: float  # mean of `Quoted.present`
    fills: int
    maker_qty: int  # maker_qty, taker_qty: shares that came to us, and that we took
    taker_qty: int
    fees_cents: int
    profit: Sources | None  # None before quoting
    requests: dict[str, int]  # by kind
    refused: dict[str, int]  # by code
    unknown: int  # answers that said neither
    worst_case_max_cents: int  # the most that could have been lost at once
    decisions: int
    latched: str
    events: int  # that the trader took in
    strategy_errors: int
    strategy_fault: str  # the first of them, else empty


def figures_of(
    trader: Trader,
    own: OwnOrders,
    span_ns: tuple[int, int],
    tickers: Mapping[MarketId, Ticker],
    events: int,
    clock_ahead_ns: int = 0,
) -> RunFigures:
    """tickers: of every rung, in order. span_ns: by the bot's clock. clock_ahead_ns: of that clock
    against the venue's."""
    report = trader.report(span_ns[1])
    counters = report.counters
    begin_ns, end_ns = (at_ns - clock_ahead_ns for at_ns in span_ns)
    # The inventory at the start was bought before it; another series has fills of its own.
    fills = [fill for fill in own.fills() if fill.at_ns > begin_ns and fill.market_id in tickers]
    quotes = tuple(_quoted(own.changes(), fills, (begin_ns, end_ns), tickers))
    return RunFigures(
        hours=(span_ns[1] - span_ns[0]) / _HOUR_NS,
        quotes=quotes,
        present=sum(each.present for each in quotes) / len(quotes) if quotes else 0.0,
        fills=len(fills),
        maker_qty=sum(fill.qty for fill in fills if fill.maker),
        taker_qty=sum(fill.qty for fill in fills if not fill.maker),
        fees_cents=report.fees_cents,
        profit=None if report.profit is None else _sources(report.profit.total),
        requests=dict(counters.requests),
        refused=dict(counters.refused),
        unknown=counters.unknown_answers,
        worst_case_max_cents=report.worst_case_max_cents,
        decisions=counters.decisions,
        latched=report.latched,
        events=events,
        strategy_errors=counters.strategy_errors,
        strategy_fault=trader.out.first_fault,
    )


def _sources(row: ProfitRow) -> Sources:
    return Sources(
        row.profit_millicents,
        row.spread_millicents,
        row.adverse_millicents,
        row.drift_millicents,
        1_000 * row.fees_cents,
    )


def _quoted(
    changes: Sequence[RestingChange],
    fills: Sequence[OwnFill],
    span_ns: tuple[int, int],
    tickers: Mapping[MarketId, Ticker],
) -> Iterator[Quoted]:
    begin_ns, end_ns = span_ns
    by_side: dict[tuple[MarketId, BookSide], list[RestingChange]] = {}
    for each in changes:
        by_side.setdefault((each.market_id, each.side), []).append(each)
    for market_id, side in product(tickers, BookSide):
        best = max if side is BookSide.BID else min
        resting: dict[OrderId, RestingChange] = {}
        present_ns = price_ns = qty_ns = 0
        at_ns = begin_ns
        for change in [*by_side.get((market_id, side), []), None]:
            now_ns = end_ns if change is None else min(max(change.at_ns, begin_ns), end_ns)
            passed, at_ns = now_ns - at_ns, now_ns
            if passed > 0 and resting:
                present_ns += passed
                price_ns += passed * best(order.price for order in resting.values())
                qty_ns += passed * sum(order.qty for order in resting.values())
            if change is not None:
                resting.pop(change.order_id, None)
                if change.qty:
                    resting[change.order_id] = change
        yield Quoted(
            tickers[market_id],
            side.value,
            present_ns / (end_ns - begin_ns) if end_ns > begin_ns else 0.0,
            price_ns / present_ns if present_ns else None,
            qty_ns / present_ns if present_ns else None,
            sum(fill.qty for fill in fills if (fill.market_id, fill.side) == (market_id, side)),
        )


_USUAL_TRIP_NS: Final = 30 * NS_PER_MS  # of a run in which nothing was answered
_TOLD_EVERY: Final = 500
_EVEN: Final = Price(50)
_ENOUGH_CENTS: Final = Cents(200)  # for a share at an even price, with any fee


class Setup(Struct, frozen=True):
    """reconfigured: what a change of the run's configuration becomes; None: it does not come."""

    configured: m.Configuration
    remake: Remake  # makes the strategies
    reconfigured: Callable[[m.Reconfigured], m.Reconfigured | None] = lambda event: event


class WhatIfRun:
    """One run under one queue model; call `run` once."""

    def __init__(
        self,
        market: JournalMarket,
        started: m.Started,
        setup: Setup,
        terms: Terms,
        queue_model: QueueModel,
    ) -> None:
        self._market = market
        self._started = started
        self._setup = setup
        self._own = OwnOrders()
        terms = structs.replace(
            terms,
            cash_cents=Cents(0) if market.cash_cents is None else market.cash_cents,
            feed_ns=market.feed_ns,
            latency=_latency(market.write_trips_ns),
            read_latency=_latency(market.read_trips_ns),
        )
        self._driver = Driver(market.begun_ns)
        self.venue = WhatIfMarket(market, terms, queue_model)
        self.trader = Trader(
            _alone(setup.configured).settings,
            setup.remake(setup.configured.strategy),
            remake=setup.remake,
        )
        self._run = TraderRun(self._driver, self.venue, self.trader, TermsLink(terms))
        self._run.observer = lambda event, _effects, _now_ns: self._own.on_message(event)

    def run(self, progress: Progress = no_progress) -> RunFigures:
        """progress: records played. Raises Stalled and DoesNotClose."""
        market, driver, run = self._market, self._driver, self._run
        for at_ns, event in market.world:
            driver.schedule_at(at_ns, partial(self._happens, event))
        for at_ns, command in market.states:
            driver.schedule_at(at_ns, partial(self._operated, command))
        began = structs.replace(
            self._started,
            open_intents=(),
            working=(),
            journal=m.JournalFate.FOUND,
            configured=_alone(self._setup.configured),
            paper=False,
        )
        with ended_when_stalled():
            run.deliver([began])
            for done, each in enumerate(market.history):
                # State from before the run holds at its beginning.
                at_ns = max(each.seen.ts_ns + market.clock_ahead_ns, market.begun_ns)
                if at_ns > market.ended_ns:
                    break
                driver.reach(at_ns)
                self.venue.play(each, at_ns)
                run.venue.publish()
                if done % _TOLD_EVERY == 0:
                    progress(done)
            driver.run_until(market.ended_ns)
        self.venue.account.prove(self.venue.gain_cents)
        tickers = {each.market_id: each.ticker for each in market.markets.values()}
        span_ns = (market.begun_ns, market.ended_ns)
        return figures_of(self.trader, self._own, span_ns, tickers, run.events)

    def _operated(self, command: v.Command) -> None:
        self.venue.exchange.execute(command, self._driver.now_ns)

    def _happens(self, event: m.Event) -> None:
        if isinstance(event, m.Reconfigured):
            changed = self._setup.reconfigured(event)
            if changed is None:
                return
            event = structs.replace(changed, configured=_alone(changed.configured))
        self._run.deliver([event])


def _latency(trips_ns: Sequence[int]) -> Latency:
    return Latency(_USUAL_TRIP_NS, measured_ns=tuple(trips_ns))


def _alone(configured: m.Configuration) -> m.Configuration:
    return structs.replace(configured, settings=alone(configured.settings))


class WhatIfMarket(LiveMarket):
    """The markets of a run, with the inventory of its start. The rest of a print that filled us
    goes to others at its price, whose shares are gone until their size changes."""

    def __init__(self, market: JournalMarket, terms: Terms, queue_model: QueueModel) -> None:
        begun_ns = market.begun_ns
        newest = [
            structs.replace(
                event,
                markets=tuple(
                    each
                    for each in market.markets.values()
                    if each.event_ticker == event.event_ticker
                ),
            )
            for event in market.events.values()
        ]
        super().__init__(catalogue_of(newest), terms, queue_model, begun_ns)
        # Inventory may be larger than the largest order.
        parts = [
            (market_id, outcome, min(qty - begin, QTY_MAX))
            for market_id, outcome, qty in market.holdings
            if market_id in market.markets
            for begin in range(0, qty, QTY_MAX)
        ]
        for place, (market_id, outcome, qty) in enumerate(parts):
            self._endow(place, market_id, outcome, qty, begun_ns)
        self.exchange.read_all(begun_ns)

    def _endow(
        self, place: int, market_id: MarketId, outcome: Outcome, qty: int, now_ns: int
    ) -> None:
        self.exchange.execute(v.Deposit(MAKER, Cents(_ENOUGH_CENTS * qty)), now_ns)
        name = ClientOrderId(f"held-{place}")
        bought = QtyOrder(market_id, outcome, Side.BUY, _EVEN, Qty(qty), TimeInForce.GTC, name)
        self.exchange.execute(v.PlaceOrder(MAKER, bought), now_ns)
        side, price = book_side(outcome, Side.BUY), canonical(outcome, _EVEN)
        self._acting_as_print = True
        self._meet(market_id, side, price, qty, now_ns)
        self._acting_as_print = False
        self.exchange.execute(v.Withdraw(MAKER, Cents(self.gain_cents)), now_ns)
        held = {**self.account.shares}
        self.account = PaperAccount()
        self.account.shares = held

    def play(self, event: MarketEvent, now_ns: int) -> None:
        before, seen = len(self.account.fills), event.seen
        if isinstance(seen, m.BookUpdate):
            self.on_frame(structs.replace(seen, ts_ns=now_ns), now_ns)
            return
        # Prints of several fills of ours may have one id: each counts.
        self._print(seen, now_ns, now_ns)
        if not event.filled_us:
            return
        left = seen.size - sum(fill.qty for fill in self.account.fills[before:])
        side = BookSide.ASK if seen.taker_bought_yes else BookSide.BID
        depth = self.depths[seen.market_id].on_side(side)
        for price, size in depth.remaining_levels():
            if price == seen.price:
                depth.mark_taken(price, min(left, size))
                self._changed[seen.market_id] = None
