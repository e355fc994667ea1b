"""One run from a configuration to an exit code: puts the parts together and takes them apart.

Source: design, The bot, in the order a datum flows.
"""

import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from socket import socket

import msgspec
import structlog
from rich.console import Console

from bot.core.messages import Key
from bot.core.trader import Trader
from bot.io.clock import Clock
from bot.io.embedded import EmbeddedVenue
from bot.io.faults import ShellFault
from bot.io.feed import Feed
from bot.io.journal import Journal
from bot.io.logs import Masker, configure_logs
from bot.io.probe import obstacles
from bot.io.rest import Rest
from bot.io.runner import Child, Ended, Runner
from bot.io.secret import Secret
from bot.io.status import address, make_app, serve
from bot.io.terminal import show_lines, show_table
from bot.io.watched import Watch


class SiteFault(ShellFault):
    """The venue does not answer, or refuses the key, a scope or the series."""


class Site(msgspec.Struct, frozen=True):
    """Where the venue is and what opens it; `embedded` is the child when it is one of ours.

    others: keys beside the one that trades, by what they are for.
    """

    base_url: str
    stream_url: str
    key: Secret
    embedded: EmbeddedVenue | None
    others: dict[Key, Secret] = {}


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run. `live_table`: the terminal is ours to draw on. run_ns: None is until stopped."""

    trader: Trader
    watch: Watch
    requests_in_flight: int
    site: Site
    state: Path
    segment_bytes: int
    segments_kept: int
    page: socket
    allowed_hosts: tuple[str, ...]
    live_table: bool
    run_ns: int | None


async def run_plan(plan: Plan, clock: Clock) -> Ended:
    """Trade as planned and say how it ended.

    Raises SiteFault, JournalFault and LatchFault, all before anything is traded.
    """
    masker = Masker()
    for key in (plan.site.key, *plan.site.others.values()):
        masker.learn(key)
    # A live table owns the terminal: what would scroll it away goes to a file.
    configure_logs(masker, plan.state / "bot.log" if plan.live_table else None)
    site = plan.site
    rest = Rest(site.base_url, site.key, plan.requests_in_flight, others=site.others)
    if plan.site.embedded is None:
        await _look_first(rest, plan)
    runner = Runner(
        plan.trader,
        clock,
        rest,
        lambda failed: _open_journal(plan, clock, failed),
        lambda emit: Feed(plan.site.stream_url, emit),
        state=plan.state,
        watch=plan.watch,
    )
    return await runner.run(
        secrets.token_hex(10),
        _children(plan, runner),
        plan.run_ns,
        new_account=plan.site.embedded is not None,
    )


def _open_journal(plan: Plan, clock: Clock, failed: Callable[[str], None]) -> Journal:
    """The journal of this run; what is wrong with that of earlier ones is told by place."""
    journal = Journal(
        plan.state,
        clock.now_ns(),
        failed,
        segment_bytes=plan.segment_bytes,
        segments_kept=plan.segments_kept,
    )
    if journal.memory.damage:
        structlog.stdlib.get_logger("bot").error(
            "journal_damaged",
            at=journal.memory.damage,
            advice="everything that rests is cancelled first; keep the file and check the disk",
        )
    return journal


async def _look_first(rest: Rest, plan: Plan) -> None:
    """Raise SiteFault when it would be pointless to begin; see `bot.io.probe.obstacles`."""
    for found in await obstacles(rest, plan.trader.series_ticker):
        await rest.drain()
        raise SiteFault(f"{found.name}: {found.found}; {found.advice}")


def _children(plan: Plan, runner: Runner) -> tuple[Child, ...]:
    app = make_app(runner.look, runner.metrics, plan.allowed_hosts)
    children = [Child("status", lambda: serve(app, plan.page))]
    if plan.live_table:
        console, where = Console(file=sys.stdout), address(plan.page)
        children.append(
            Child("terminal", lambda: show_table(runner.look, runner.last_notes, where, console))
        )
    else:
        children.append(Child("lines", lambda: show_lines(runner.look)))
    embedded = plan.site.embedded
    if embedded is not None:
        children.append(Child("venue", embedded.gone))
    return tuple(children)
