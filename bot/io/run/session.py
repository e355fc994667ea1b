"""One run from a configuration to an exit code: builds the parts and closes them.

Several series of one account share the request budget, the account risk, the signals and the status
page, and begin and end together. A breaker latches its own series alone.
"""

import asyncio
import secrets
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from socket import socket
from typing import Final

import anyio
import msgspec
import structlog
from rich.console import Console

from bot.core import messages as m
from bot.core.report import ShadowReport
from bot.core.trader import Trader
from bot.io.adapter import Connection, VenueAdapter, VenueAddress, connect
from bot.io.client.preflight import obstacles
from bot.io.clock import Clock
from bot.io.faults import OperatorError
from bot.io.journal.journal import Journal
from bot.io.journal.records import JournalFault
from bot.io.journal.recovery import EMBEDDED, keep_address
from bot.io.logs import LogForm, LogTail, SecretRedactor, configure_logs
from bot.io.outside_values import OutsidePoller, PolledSource
from bot.io.run.config_watcher import FileWatch, LiveFile
from bot.io.run.embedded import EmbeddedVenue
from bot.io.run.result import Exit, RunResult
from bot.io.run.runner import Child, Paper, Runner, Sidecar, signals_to
from bot.io.run.terminal import show_lines, show_table
from bot.io.run.watchdog import StrategyWatchdog
from bot.io.state.locks import StateFault
from bot.io.status.control import Control, token_in
from bot.io.status.serving import address, serve
from bot.io.status.snapshot import StatusSource
from bot.io.status.status import StatusApp
from venue.wire.names import Ticker

_WORST_FIRST: Final = (Exit.LEFT_OVER, Exit.BUG, Exit.VENUE, Exit.CONFIGURATION, Exit.OK)

_WORSE_THAN_A_FAULT: Final = (Exit.LEFT_OVER, Exit.BUG)

Run = Callable[[Runner, tuple[Child, ...]], Awaitable[RunResult]]
"""Lets a runner trade with these children."""


def worst(ended: Sequence[RunResult]) -> Exit:
    """The exit code of a process whose series ended so."""
    codes = [each.exit_code for each in ended]
    return next(code for code in _WORST_FIRST if code in codes)


class _Shared:
    """A child of all runners: it runs once, and each of them learns of its end."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._over = asyncio.Event()
        self._log = structlog.stdlib.get_logger("bot")

    async def run(self) -> None:
        try:
            await self._child.run()
        except Exception:  # noqa: BLE001 - the task's boundary: every runner drains by itself
            self._log.exception("child_failed", child=self._child.name)
        finally:
            self._over.set()

    def for_one(self) -> Child:
        async def ended() -> None:
            await self._over.wait()

        return Child(self._child.name, ended)


class MultiRunner:
    def __init__(
        self,
        runners: Mapping[Ticker, Runner],
        shared: Sequence[Child],
    ) -> None:
        self._runners = dict(runners)
        self._shared = [_Shared(child) for child in shared]
        self._ended: dict[Ticker, RunResult] = {}
        self._faults: list[OperatorError] = []

    async def run(self, run: Run) -> tuple[RunResult, ...]:
        """Trade until all have ended; the results of those that began, in order.

        Raises the first fault that kept one from beginning, once the others have drained; but not
        where they ended worse than by a fault.
        """
        async with anyio.create_task_group() as shared_tasks:
            for shared in self._shared:
                shared_tasks.start_soon(shared.run)
            with signals_to(tuple(self._runners.values())):
                async with anyio.create_task_group() as tasks:
                    for ticker, runner in self._runners.items():
                        tasks.start_soon(self._live, ticker, runner, run)
            shared_tasks.cancel_scope.cancel()
        ended = tuple(self._ended[each] for each in self._runners if each in self._ended)
        if self._faults and not (ended and worst(ended) in _WORSE_THAN_A_FAULT):
            raise self._faults[0]
        for fault in self._faults:
            structlog.stdlib.get_logger("bot").error("series_kept_down", text=str(fault))
        return ended

    async def _live(self, ticker: Ticker, runner: Runner, run: Run) -> None:
        # Every line that is logged from here on says whose it is.
        structlog.contextvars.bind_contextvars(series=ticker)
        children = tuple(shared.for_one() for shared in self._shared)
        try:
            self._ended[ticker] = await run(runner, children)
        except OperatorError as fault:
            self._faults.append(fault)
        for other, each in self._runners.items():
            if other != ticker and other not in self._ended:
                each.request_stop(f"{ticker} has ended")


class SiteFault(OperatorError):
    """The venue does not answer, or refuses the key, a scope or the series."""


class Site(msgspec.Struct, frozen=True):
    """The venue of a run. embedded: the child process if the venue is ours."""

    adapter: VenueAdapter
    address: VenueAddress
    embedded: EmbeddedVenue | None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run. live_table: there is a terminal to draw on. run_ns: None until stopped. control:
    the status page takes commands with a token. live: makes the watched configuration file, given
    where its events go. paper: None for the venue itself. name: of the configuration."""

    trader: Trader
    watch: StrategyWatchdog
    requests_in_flight: int
    site: Site
    state: Path
    segment_bytes: int
    segments_kept: int
    page: socket
    allowed_hosts: tuple[str, ...]
    live_table: bool
    run_ns: int | None
    control: bool = False
    configured: m.Configuration | None = None
    live: Callable[[Callable[[m.Event], None]], LiveFile] | None = None
    companions: tuple[Sidecar, ...] = ()
    losses_by_records: Callable[[], m.LossRecord | None] = lambda: None
    shadows: Callable[[], tuple[ShadowReport, ...]] = tuple
    paper: Paper | None = None
    name: str = ""
    log_form: LogForm = LogForm.AUTO
    outside_sources: tuple[PolledSource, ...] = ()


async def run_plans(plans: Sequence[Plan], clock: Clock) -> tuple[RunResult, ...]:
    """Trade every series and return the results, in order. Page, terminal and site are those of the
    first.

    Raises SiteFault, JournalFault and LatchFault, all before anything is traded on that series.
    """
    first = plans[0]
    masker = SecretRedactor()
    of_companions = [key for plan in plans for each in plan.companions for key in each.secrets]
    for key in (*first.site.address.secrets, *of_companions):
        masker.learn(key)
    # A live table owns the terminal: what would scroll it away goes to a file.
    tail, console = LogTail(), drawn_on(plans)
    log = None if console is None else first.state / "bot.log"
    try:
        configure_logs(masker, log, tail=tail, form=first.log_form)
    except OSError as fault:
        raise StateFault(f"{log}: cannot be written: {fault.strerror}; is it a file?") from None
    runners = await _runners(plans, clock)
    shown = {
        ticker: StatusSource(
            runner.look,
            runner.metrics,
            runner.last_notes,
            runner.tell,
            plan.state,
            runner.plan,
            plan.name,
        )
        for plan, (ticker, runner) in zip(plans, runners.items(), strict=True)
    }
    children = _children(plans, shown, masker, tail, console)

    async def run(runner: Runner, beside: tuple[Child, ...], *, signals: bool = False) -> RunResult:
        new_account = first.site.embedded is not None
        nonce = secrets.token_hex(10)
        return await runner.run(
            nonce, beside, first.run_ns, new_account=new_account, signals=signals
        )

    if len(plans) == 1:
        (runner,) = runners.values()
        return (await run(runner, children, signals=True),)
    return await MultiRunner(runners, children).run(run)


async def _runners(plans: Sequence[Plan], clock: Clock) -> dict[Ticker, Runner]:
    """A runner for each series. Raises SiteFault and JournalFault, with everything closed."""
    runners: dict[Ticker, Runner] = {}
    try:
        for plan in plans:
            runners[plan.trader.series_ticker] = await _runner(plan, clock)
    except OperatorError:
        for runner in runners.values():
            await runner.abandon()
        raise
    return runners


async def _runner(plan: Plan, clock: Clock) -> Runner:
    site = plan.site
    connection = await (_live(plan) if plan.paper is None else plan.paper.connect())
    return Runner(
        plan.trader,
        clock,
        connection,
        lambda failed: open_journal(plan, clock, failed),
        state=plan.state,
        watch=plan.watch,
        configured=plan.configured,
        reaper=site.embedded is None and plan.paper is None,
        companions=plan.companions,
        losses_by_records=plan.losses_by_records,
        shadows=plan.shadows,
        paper=plan.paper is not None,
    )


async def _live(plan: Plan) -> Connection:
    site = plan.site
    connection = connect(site.adapter, site.address, plan.requests_in_flight)
    for found in await obstacles(connection, site.address, plan.trader.series_ticker):
        await connection.requests.drain()
        raise SiteFault(f"{found.name}: {found.found}; {found.advice}")
    return connection


def open_journal(plan: Plan, clock: Clock, failed: Callable[[str], None]) -> Journal:
    """The journal of this run; warns of damage in earlier ones. Raises JournalFault."""
    journal = Journal(
        plan.state,
        clock.now_ns(),
        failed,
        segment_bytes=plan.segment_bytes,
        segments_kept=plan.segments_kept,
    )
    place = EMBEDDED if plan.site.embedded is not None else plan.site.address.base_url
    if plan.paper is not None:
        place = plan.paper.place
    try:
        keep_address(plan.state, place, journal.memory)
    except JournalFault:
        journal.withdraw()
        raise
    if journal.cut_bytes:
        structlog.stdlib.get_logger("bot").warning(
            "journal_tail_cut",
            bytes=journal.cut_bytes,
            advice="the last run ended within a write; orders and fills are read again",
        )
    if journal.memory.damage:
        structlog.stdlib.get_logger("bot").error(
            "journal_damaged",
            at=journal.memory.damage,
            advice="everything that rests is cancelled first; keep the file and check the disk",
        )
    return journal


def drawn_on(plans: Sequence[Plan]) -> Console | None:
    """The terminal for a live table; None where there is none that can move its cursor, and with
    several series: a table shows one. The log is shown instead."""
    if not plans[0].live_table or len(plans) > 1:
        return None
    console = Console(file=sys.stdout)
    return None if console.is_dumb_terminal else console


def _children(
    plans: Sequence[Plan],
    shown: Mapping[Ticker, StatusSource],
    masker: SecretRedactor,
    tail: LogTail,
    console: Console | None,
) -> tuple[Child, ...]:
    """The tasks that all series share. console: where a table is drawn."""
    first, only = plans[0], next(iter(shown.values()))
    control = None
    if first.control:
        token = token_in([plan.state for plan in plans])
        masker.learn(token)
        control = Control(token, shown)
    app = StatusApp(shown, first.allowed_hosts, control=control, tail=tail)
    children = [Child("status", lambda: serve(app, first.page))]
    if console is not None:
        table = partial(show_table, only.look, only.last_notes, address(first.page), console)
        children.append(Child("terminal", table))
    else:
        children.append(Child("lines", lambda: _lines(shown)))
    files = [
        plan.live(each.tell)
        for plan, each in zip(plans, shown.values(), strict=True)
        if plan.live is not None
    ]
    if files:
        children.append(Child("config", FileWatch(files).run))
    for plan, each in zip(plans, shown.values(), strict=True):
        if plan.outside_sources:
            poller = OutsidePoller(plan.outside_sources, each.tell)
            children.append(Child("outside_values", poller.run))
    embedded = first.site.embedded
    if embedded is not None:
        children.append(Child("venue", embedded.gone))
    return tuple(children)


async def _lines(shown: Mapping[Ticker, StatusSource]) -> None:
    """A line for each series every few seconds, until cancelled."""
    async with anyio.create_task_group() as tasks:
        for ticker, each in shown.items():
            tasks.start_soon(_lines_of, ticker if len(shown) > 1 else None, each)


async def _lines_of(ticker: Ticker | None, shown: StatusSource) -> None:
    if ticker is not None:
        structlog.contextvars.bind_contextvars(series=ticker)
    await show_lines(shown.look)
