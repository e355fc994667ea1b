"""`bot incident`: one report of a night: is all flat, who did what, what was seen, what to do."""

import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec
import typer

from bot.cli.common import (
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    exit_on_fault,
    prepare_look,
    read_lenient,
    readable_keys,
)
from bot.cli.incident_text import incident_text
from bot.cli.options import ConfigPath, Json, StateDir, StatusUrl, moment_ns
from bot.cli.running_bot import StatusBody, find_bot
from bot.config.bot_config import Draft, ExternalSettings
from bot.core import messages as m
from bot.core.report import Phase
from bot.io import loop
from bot.io.adapter import OrderClient, VenueAddress, adapter_named, ask
from bot.io.journal.records import JournalFault
from bot.io.journal.recovery import PAPER_AT, address_kept
from bot.io.secret import Secret
from bot.io.state.heartbeat import read_pulse
from bot.io.state.kill_switch_file import CrashLog, KillSwitchFile
from bot.io.state.locks import StateFault, held_by_a_bot
from bot.lab.incident import (
    NO_BOT,
    STOPPED,
    BotPart,
    IncidentReport,
    OrderLine,
    SharesLine,
    VenuePart,
    causes_of,
    verdict_of,
)
from bot.lab.journal_history import OpenFinding, read_history
from venue.wire import instant
from venue.wire.names import Ticker, fold_ticker

_B = TypeVar("_B", m.SeriesBody, m.OrdersBody, m.PositionsBody)

REQUEST_S: Final = 4.0
"""Timeout of a read of the venue."""

_PAGES_MAX: Final = 100


def incident(
    config: ConfigPath,
    since: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="From 30m ago, or 2026-11-21T21:38:43Z; else the last hour."
        ),
    ] = "",
    status: StatusUrl = "",
    state_dir: StateDir = None,
    json_line: Json = False,
) -> None:
    """Is everything flat, who did what when, what was seen, and the runbook of each cause.

    It asks the bot's page, the venue with the first key that it accepts (the bot's, the standby,
    the reaper's), and the state directory, and changes nothing. A part that cannot be read is
    named, and the rest is reported: it works with the bot dead, and with the venue dead.

    The last hour is that of the journal, so that of a dead bot it is the hour before its end.

    Ends with 0 if no order rests and no share is held; with 4 if orders may rest or shares are
    held; with 3 if nobody can say, or the journal cannot be read.

    Example: bot incident configs/demo.yaml --since 30m
    """
    with exit_on_fault():
        draft = read_lenient(config)
        now_ns = time.time_ns()
        since_ns = None
        if since:
            since_ns = moment_ns("--since", since, lambda ns: now_ns - ns, "30m")
        report = _report(draft, since_ns, now_ns, status, state_dir)
    typer.echo(msgspec.json.encode(report).decode() if json_line else incident_text(report))
    if report.flat is False:
        raise typer.Exit(EXIT_LEFT_OVER)
    if report.flat is None or report.journal is None or report.journal.damage:
        raise typer.Exit(EXIT_VENUE)


def _report(
    draft: Draft, since_ns: int | None, now_ns: int, status: str, state_dir: Path | None
) -> IncidentReport:
    folder = state_dir or draft.state.directory
    bot = _ask_bot(draft, status, state_dir, folder)
    latch = KillSwitchFile(folder).read_latch()
    journal, journal_fault = None, ""
    try:
        journal = read_history(folder, since_ns)
    except JournalFault as fault:
        journal_fault = str(fault)
    if journal is not None and journal.ended and bot.why == NO_BOT and not bot.holds_lock:
        bot = msgspec.structs.replace(bot, why=STOPPED)
    venue = _ask_venue(draft, folder, bot)
    flat, verdict = verdict_of(bot, venue, journal)
    unread = [] if bot.address or bot.why == STOPPED else [f"the bot's page: {bot.why}"]
    if venue is not None and venue.why:
        unread.append(f"the venue: {venue.why}")
    if journal_fault:
        unread.append(f"the journal: {journal_fault}")
    return IncidentReport(
        name=draft.name,
        series=fold_ticker(draft.file.series),
        at_ns=now_ns,
        flat=flat,
        verdict=verdict,
        bot=bot,
        venue=venue,
        latch=latch,
        journal=journal,
        journal_fault=journal_fault,
        unread=(*unread, *(journal.damage if journal is not None else ())),
        causes=tuple(causes_of(bot, venue, latch, journal)),
    )


# --- the bot --------------------------------------------------------------------------------------


def _ask_bot(draft: Draft, status: str, state_dir: Path | None, folder: Path) -> BotPart:
    pulse = read_pulse(folder)
    holds_lock = False
    with contextlib.suppress(StateFault):
        holds_lock = held_by_a_bot(folder)
    part = BotPart(
        holds_lock=holds_lock,
        crashed=not holds_lock and folder.is_dir() and CrashLog(folder).has_crashed,
        last_beat="" if pulse is None else instant.from_ns(pulse.wall_ns),
    )
    try:
        page = find_bot(draft, status, state_dir)
        if page is None:
            return msgspec.structs.replace(part, why=NO_BOT)
        shown, _ = page.fetch_status()
    except typer.Exit:  # the reason is printed already
        return msgspec.structs.replace(part, why="what answers is not this bot")
    return _shown_part(part, page.base, shown)


def _shown_part(part: BotPart, base: str, shown: StatusBody) -> BotPart:
    report = shown.report
    if report is None:
        starting = Phase.STARTING.value
        return msgspec.structs.replace(part, address=base, state=starting, unhealthy=starting)
    rungs = [rung for event in report.events for rung in event.rungs]
    return msgspec.structs.replace(
        part,
        address=base,
        state=shown.state or report.phase.value,
        unhealthy=shown.unhealthy,
        restricted="; ".join(each.text() for each in report.restrictions),
        latched=report.latched,
        paper=report.paper,
        config_fault=report.config.fault,
        orders=tuple(
            OrderLine(
                order.order_id or order.client_order_id,
                rung.ticker,
                order.side.value,
                order.price,
                order.remaining_qty,
                order.state,
            )
            for rung in rungs
            for order in rung.orders
        ),
        shares=tuple(
            SharesLine(rung.ticker, rung.yes_qty, rung.no_qty)
            for rung in rungs
            if rung.yes_qty or rung.no_qty
        ),
        findings=tuple(
            OpenFinding(*_name_and_text(finding, report.now_ns)) for finding in report.findings
        ),
        refused=report.counters.refused,
        unanswered=report.counters.unknown_answers,
    )


def _name_and_text(finding: str, at_ns: int) -> tuple[str, int, str]:
    name, _, text = finding.partition(": ")
    return name, at_ns, text


# --- the venue ------------------------------------------------------------------------------------


class _Unread(Exception):
    """A read had no usable answer; the text says why."""

    def __init__(self, why: str, *, refused: bool = False) -> None:
        super().__init__(why)
        self.is_refused = refused


def _ask_venue(draft: Draft, folder: Path, bot: BotPart) -> VenuePart | None:
    """None where no order of the run is at a venue apart from it."""
    settings, traded = draft.venue, address_kept(folder) or ""
    if not isinstance(settings, ExternalSettings) or bot.paper or traded.startswith(PAPER_AT):
        return None
    if traded not in ("", settings.base_url):
        return VenuePart(why=f"the last run traded at {traded}, the file says {settings.base_url}")
    keys = readable_keys(draft, settings)
    if not keys:
        return VenuePart(why="no key of it can be read")
    prepare_look(keys.values())
    return loop.run(lambda: _read_venue(settings, keys, fold_ticker(draft.file.series)))


async def _read_venue(
    settings: ExternalSettings, keys: Mapping[str, Secret], series: Ticker
) -> VenuePart:
    adapter = adapter_named(settings.adapter)
    refused: list[str] = []
    why = ""
    for place, key in keys.items():
        address = VenueAddress(settings.base_url, settings.stream_url, key)
        client = adapter.order_client(address, 1, request_s=REQUEST_S, sane_only=False)
        try:
            part = await _read_account(client, series)
            return msgspec.structs.replace(part, refused_keys=tuple(refused))
        except _Unread as fault:
            why = str(fault)
            if not fault.is_refused:
                break
            refused.append(f"{place}: {why}")
        finally:
            await client.drain(0.0)
    return VenuePart(why=why, refused_keys=tuple(refused))


async def _read_account(client: OrderClient, series: Ticker) -> VenuePart:
    """Orders and shares of the account. Raises _Unread."""
    events = [
        event
        for body in await _pages(client, lambda cursor: m.ReadSeries(series, cursor), m.SeriesBody)
        for event in body.events
    ]
    ours = {market.ticker for event in events for market in event.markets}
    listed = await _pages(client, m.ReadResting, m.OrdersBody)
    resting = [order for body in listed for order in body.orders]
    shares: dict[str, dict[str, int]] = {}
    for body in await _pages(client, m.ReadPositions, m.PositionsBody):
        for held in body.positions:
            if held.qty and held.ticker in ours:
                shares.setdefault(held.ticker, {})[str(held.outcome)] = held.qty
    return VenuePart(
        orders=tuple(
            OrderLine(
                order.order_id,
                order.ticker,
                f"{order.side} {order.outcome}",
                order.price,
                order.remaining_qty,
                str(order.status),
            )
            for order in resting
            if order.ticker in ours
        ),
        shares=tuple(
            SharesLine(ticker, held.get("yes", 0), held.get("no", 0))
            for ticker, held in sorted(shares.items())
        ),
        other_orders=sum(order.ticker not in ours for order in resting),
    )


async def _pages(client: OrderClient, request: Callable[[str], m.Read], kind: type[_B]) -> list[_B]:
    """Every page of a list. Raises _Unread."""
    found: list[_B] = []
    cursor = ""
    for _ in range(_PAGES_MAX):
        body = await _page(client, request(cursor))
        if not isinstance(body, kind):
            raise _Unread("another body than was asked for")
        found.append(body)
        cursor = body.cursor
        if not cursor:
            return found
    raise _Unread(f"a list of over {_PAGES_MAX} pages")


async def _page(client: OrderClient, request: m.Read) -> m.Body:
    answer = (await ask(client, request)).answer
    match answer:
        case m.Ok(body=body):
            return body
        case m.Rejected(status=0, message=message):
            raise _Unread(f"not reached: {message}")
        case m.Rejected(status=status, code=code):
            raise _Unread(f"{status} {code}".rstrip(), refused=status in (401, 403))
        case m.Unknown(reason=reason):
            raise _Unread(reason)
