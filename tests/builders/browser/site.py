"""A status page for a browser to open: the app in a thread, over a ladder that a test changes."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from bot.core.distribution import Implied
from bot.core.report import (
    Against,
    BreakerReport,
    BudgetReport,
    FillReport,
    MarkoutReport,
    OrderReport,
    Phase,
    ProfitReport,
    ProfitRow,
    Report,
    RungReport,
)
from bot.io.logs import LogTail
from bot.io.secret import Secret
from bot.io.status.control import Control
from bot.io.status.serving import Streams, address, listen, serve
from bot.io.status.snapshot import Snapshot
from bot.io.status.status import StatusApp
from tests.builders.io.pages import SECOND, TOKEN, EventLog, shown_by
from tests.builders.io.samples import operator_value, report, spent_budget
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker

FAIRS = (91.5, 74.0, 52.5, 30.0, 11.5)
STRIKES = ("175", "200", "212.5", "225", "250")
HOSTILE = '</script><script>alert(2)</script><img src=x onerror="alert(1)"><b>bold</b>'
NOW_NS = 1_795_300_000 * SECOND


def order(rung: int, side: BookSide, price: int, reason: str = "") -> OrderReport:
    outcome = Outcome.YES if side is BookSide.BID else Outcome.NO
    name = f"n-{rung}-{side}-{price}"
    return OrderReport(
        ClientOrderId(name), OrderId(f"1{rung}{price}"), side, Price(price), outcome, Side.BUY,
        Qty(10), Qty(0), "open", 42 * SECOND, f"quote {side} {price}", Qty(10), Price(price),
        reason or f"wanted here: level 1 of 1, 10 shares, on rung {STRIKES[rung]}", 12.0, 3.0, 20.0,
    )  # fmt: skip


def rung(number: int, reason: str = "") -> RungReport:
    """One rung with a bid and an ask of ours around its fair value."""
    fair = FAIRS[number]
    bid, ask = int(fair) - 3, int(fair) + 4
    return RungReport(
        MarketId(f"0b2c6a54-7d6e-5c0e-9d37-2f7f0f4c1a1{number}"),
        Ticker(f"X-26Q4-{STRIKES[number]}B"), f"{STRIKES[number]} USD billions", "active", "",
        ((Price(bid - 1), Qty(50)),), ((Price(ask + 1), Qty(50)),), fair, 0.8, Price(bid),
        Qty(3 * number), Qty(4), SECOND,
        (order(number, BookSide.BID, bid, reason), order(number, BookSide.ASK, ask)), "0.0175",
    )  # fmt: skip


def _row(name: str) -> ProfitRow:
    markouts = (MarkoutReport(1, Against.FAIR, 4, 30, 1.25, 0.5),)
    return ProfitRow(name, 4, 30, 61_000, 90_000, -20_000, 1_000, 10, markouts)


def picture(
    phase: Phase = Phase.QUOTING, reason: str = "", title: str = "X at the end", **changes: Any
) -> Report:
    """A ladder of five rungs. reason: of the first order; changes: fields of the report."""
    base = report(phase, NOW_NS)
    event = msgspec.structs.replace(
        base.events[0],
        title=title,
        rungs=tuple(rung(number, reason if number == 0 else "") for number in range(5)),
        outcome_cents=tuple(Cents(cents) for cents in (900, 400, -1_250, -300, 150, 700)),
        worst_case_cents=Cents(9_083),
        implied=Implied((0.1, 0.15, 0.2, 0.25, 0.2, 0.1), 1.8e11, 2.1e11, 2.4e11),
        limits=(BreakerReport("event_loss_cents", 9_083, 10_000),),
        outside_values=(operator_value(Ticker("X")),),
    )
    fill = FillReport(
        at_ns=NOW_NS, ticker="X-26Q4-200B", side=BookSide.BID, price=Price(71), qty=Qty(4),
        fee_cents=1, fair_cents=74.0, reason="quote bid", markouts_cents=(2.5, -1.0, None, None),
    )  # fmt: skip
    profit = ProfitReport(_row("total"), 30_000, 0, 41_000, 0, 0, {"side": (_row("bid"),)})
    report_ = msgspec.structs.replace(
        base,
        events=(event,),
        profit=profit,
        fills=(fill,),
        budget=BudgetReport(320, 400, 60, 200, 0),
        breakers=(BreakerReport("unknown_age_ns", 0, 900 * SECOND),),
        loss_budgets=(spent_budget(),),
        resting=10,
    )
    return msgspec.structs.replace(report_, **changes)


class Site:
    """What a test shows, and what was asked. age_ns: since the last decision."""

    def __init__(self) -> None:
        self.shown: dict[Ticker, Report] = {Ticker("X"): picture()}
        self.age_ns = 0
        self.event_log = EventLog()
        self.tail = LogTail()
        self.url = ""

    @property
    def report(self) -> Report:
        return self.shown[Ticker("X")]

    @report.setter
    def report(self, shown: Report) -> None:
        self.shown[Ticker("X")] = shown

    def look(self, ticker: Ticker) -> Snapshot:
        shown = self.shown[ticker]
        return Snapshot(shown.now_ns, shown.now_ns - self.age_ns, shown)


@contextmanager
def site(*others: str) -> Iterator[Site]:
    """The page on loopback until the block ends, its controls open. others: further series."""
    made = Site()
    for name in others:
        made.shown[Ticker(name)] = picture(series_ticker=Ticker(name))
    ready = threading.Event()
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        ended = asyncio.Event()
        shown = {
            ticker: shown_by(lambda ticker=ticker: made.look(ticker), made.event_log)
            for ticker in made.shown
        }
        door = Control(Secret(TOKEN), shown)
        app = StatusApp(shown, (), control=door, tail=made.tail, streams=Streams(tick_s=0.1))
        listener = listen("127.0.0.1", 0)
        made.url = address(listener)
        serving = asyncio.ensure_future(serve(app, listener))
        stop.append((asyncio.get_running_loop(), ended))
        ready.set()
        await ended.wait()
        serving.cancel()
        await asyncio.wait([serving])

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert ready.wait(10)
    try:
        yield made
    finally:
        loop, ended = stop[0]
        loop.call_soon_threadsafe(ended.set)
        thread.join(10)
