"""The terminal of a run: a live table, or a line of the log every few seconds.

A thread of its own draws the table, so that a stopped terminal (Ctrl-S) does not hold up the
trader.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import anyio
import structlog
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bot.core.outcome_risk import CompanyRisk, OutcomeRisk
from bot.core.report import EventReport, LossBudgetReport, Report, RungReport
from bot.io.client.answers import plain
from bot.io.status.snapshot import Snapshot
from bot.strategy.api import Levels
from venue.wire.instant import second_of
from venue.wire.money import BookSide, dollars

REFRESH_PER_SECOND: Final = 2
LINES_S: Final = 5.0
WIPED_S: Final = 1.0
"""Timeout for removing the table at the end."""

_TOUCH: Final = "  touch"
"""As wide as two prices of two figures."""

Look = Callable[[], Snapshot | None]


async def show_lines(look: Look, every_s: float = LINES_S) -> None:
    log = structlog.stdlib.get_logger("bot")
    while True:
        await asyncio.sleep(every_s)
        snapshot = look()
        if snapshot is not None:
            report = snapshot.report
            log.info(
                "state",
                phase=report.phase.value,
                state=snapshot.state,
                age_ms=snapshot.age_ms,
                resting=report.resting,
                unknown=report.unknown_open,
                fills=report.counters.fills,
                pnl_cents=report.pnl_cents,
                worst_case_cents=report.worst_case_cents,
                tokens=report.tokens,
                findings=len(report.findings),
                latched=report.latched,
                idle=snapshot.idle,
                **({"paper": True} if report.paper else {}),
            )


async def show_table(
    look: Look, notes: Callable[[], list[str]], address: str, console: Console
) -> None:
    """Keep a live table on the terminal, until cancelled. A terminal that has gone ends nothing."""
    display = _Display(address, console)
    display.start()
    try:
        while True:
            display.update(look(), notes())
            await asyncio.sleep(1 / REFRESH_PER_SECOND)
    finally:
        display.over.set()
        with anyio.CancelScope(shield=True):
            await asyncio.to_thread(display.join, WIPED_S)


class _Display(threading.Thread):
    """The newest snapshot, taken on the event loop, drawn on this thread, a daemon that keeps no
    process alive."""

    def __init__(self, address: str, console: Console) -> None:
        super().__init__(name="display", daemon=True)
        self.over = threading.Event()
        self._address = address
        self._snapshot: Snapshot | None = None
        self._notes: list[str] = []
        self._before: tuple[int, int] | None = None
        self._per_second = 0.0
        self._live = Live(  # asks for the first drawing at once
            get_renderable=self._drawn, console=console, auto_refresh=False, transient=True
        )

    def run(self) -> None:
        with suppress(OSError):
            self._live.start(refresh=True)
        while not self.over.wait(1 / REFRESH_PER_SECOND):
            with suppress(OSError):
                self._live.refresh()
        with suppress(OSError):
            self._live.stop()

    def update(self, snapshot: Snapshot | None, notes: list[str]) -> None:
        self._notes = notes
        if snapshot is None:
            return
        sent = sum(snapshot.report.counters.requests.values())
        if self._before is not None and snapshot.now_ns > self._before[0]:
            seconds = (snapshot.now_ns - self._before[0]) / 1e9
            self._per_second = (sent - self._before[1]) / seconds
        self._before = (snapshot.now_ns, sent)
        self._snapshot = snapshot

    def _drawn(self) -> RenderableType:
        if self._snapshot is None:
            return Text("starting …")
        return picture(self._snapshot, self._notes, self._address, self._per_second)


def picture(
    snapshot: Snapshot, notes: list[str], address: str, per_second: float
) -> RenderableType:
    """The totals, alerts, a table per event and the last few notes. A low terminal cuts off
    the end."""
    report = snapshot.report
    why = snapshot.unhealthy()
    mark = "PAPER  " if report.paper else ""
    head = f"{mark}{report.series_ticker}  {snapshot.state}  {address}"
    parts: list[RenderableType] = [_text(head, "bold")]
    parts += [_text(each.text(), "yellow") for each in report.restrictions]
    if report.config.fault:
        fault = f"the configuration before the newest change is in force: {report.config.fault}"
        parts.append(_text(fault, "yellow"))
    if why and report.phase == "quoting":
        parts.append(_text(why, "yellow"))
    parts += [_text(each, "yellow") for each in (snapshot.idle, snapshot.notice) if each]
    parts.append(_text(_totals(report, per_second)))
    parts += [_text(loss_budget_text(each)) for each in report.loss_budgets]
    parts += [_text(finding, "red") for finding in report.findings]
    parts += _ladders(report.events)
    parts += [_text(company_line(company), "dim") for company in report.companies]
    parts += [_text(note, "dim") for note in notes]
    return Group(*parts)


def _text(text: str, style: str = "") -> Text:
    return Text(plain(text, None), style=style)


def _ladders(events: Sequence[EventReport]) -> list[RenderableType]:
    """One line a rung at 80 columns, and one heading for all: the 17 rungs of the demo fit into 24
    lines."""
    names = [_name(rung) for event in events for rung in event.rungs]
    width = max(map(len, names), default=0)
    parts: list[RenderableType] = []
    for event in events:
        parts.append(_text(f"{event.event_ticker}  {plain(event.title)}", "italic"))
        parts += [_text(each.text(), "yellow") for each in event.restrictions]
        parts.append(_ladder(event, width, is_first=event is events[0]))
        if event.risk is not None:
            parts.append(_text(risk_line(event.risk), "dim"))
        parts += [_text(row.text(), "dim") for row in event.outside_values]
    return parts


def loss_budget_text(shown: LossBudgetReport) -> str:
    """The use of a loss budget, in one line."""
    until = "" if shown.until_ns is None else f" to {second_of(shown.until_ns)}"
    raised_cents = sum(each.cents for each in shown.raises)
    raised = f", raised by {dollars(raised_cents)}" if raised_cents else ""
    lost = f"lost {dollars(shown.lost_cents)} of {dollars(shown.limit_cents)}{raised}"
    now = f"{dollars(-shown.loss_now_cents)} now"
    return f"loss budget ({shown.period}): {lost}; {now}; from {second_of(shown.from_ns)}{until}"


def company_line(company: CompanyRisk) -> str:
    """The risk of a company's events together, on one line."""
    events = f"{', '.join(company.events)} together, correlation {company.correlation:g}"
    return f"{events}: {'unknown' if company.risk is None else risk_line(company.risk)}"


def risk_line(risk: OutcomeRisk) -> str:
    """The risk of what is held, on one line."""
    return (
        f"held: expected {dollars(risk.expected_cents)}   shortfall "
        f"{dollars(risk.shortfall_95_cents)} at 95 %, {dollars(risk.shortfall_99_cents)} at 99 %   "
        f"over limit {risk.over_limit_chance:.1%}"
    )


def _ladder(event: EventReport, width: int, *, is_first: bool) -> Table:
    """width: of the names of all events, so that columns align."""
    table = Table(box=None, pad_edge=False, collapse_padding=True, show_header=is_first)
    table.add_column("rung", min_width=width, no_wrap=True)
    for name in ("own bid", "own ask", _TOUCH, "fair", "YES-NO", "orders"):
        table.add_column(name, min_width=len(name), justify="right", no_wrap=True)
    table.add_column("why not")
    for rung in event.rungs:
        table.add_row(*(_text(cell) for cell in _cells(rung)))
    return table


def _name(rung: RungReport) -> str:
    return rung.strike_text or rung.ticker


def _cells(rung: RungReport) -> tuple[str, ...]:
    bids = [order.price for order in rung.orders if order.side is BookSide.BID]
    asks = [order.price for order in rung.orders if order.side is BookSide.ASK]
    return (
        _name(rung),
        str(max(bids)) if bids else "-",
        str(min(asks)) if asks else "-",
        f"{_touch(rung.bids)} / {_touch(rung.asks)}",
        "-" if rung.fair_cents is None else f"{rung.fair_cents:.1f}",
        str(rung.yes_qty - rung.no_qty),
        str(len(rung.orders)),
        rung.blocked,
    )


def _touch(levels: Levels) -> str:
    return str(levels[0][0]) if levels else "-"


def _totals(report: Report, per_second: float) -> str:
    worst = f"{dollars(report.worst_case_cents)} of {dollars(report.worst_case_limit_cents)}"
    return (
        f"fills {report.counters.fills}   profit {dollars(report.pnl_cents)}   "
        f"worst case {worst}   {per_second:.1f} requests/s   tokens {report.tokens}   "
        f"resting {report.resting}   unknown {report.unknown_open}"
    )
