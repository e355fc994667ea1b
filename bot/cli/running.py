"""What `bot run` does: one process that trades the series of one or more configurations.

Several series trade on one account: the venue and the key of all must be the same, each has its own
state directory, and they spend from one request bucket and share one limit of loss. The page, the
terminal and what the venue is started with are those of the first configuration.
"""

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from bot.cli.common import FILES_OF_A_RUN, enough_files, keep_memory_private
from bot.cli.papering import of_paper, on_paper, paper_site
from bot.cli.sites import site_of, start_venue

if TYPE_CHECKING:
    from socket import socket

    from bot.config.bot_config import BotConfig, Draft
    from bot.core.settings import TraderSettings
    from bot.core.trader import Trader
    from bot.io.clock import Clock
    from bot.io.run.embedded import EmbeddedVenue
    from bot.io.run.runner import RunResult
    from bot.io.run.session import Plan, Site


class Options(NamedTuple):
    """What the command line says. run_ns: None is until stopped. status_port: None is the one of
    the configuration.

    state_dir: of one series its state directory; of several the folder in which each has one.
    paper: orders stay on a local exchange; queue_model: of that, None is the configuration's.
    """

    run_ns: int | None
    json_line: bool
    tape: Path | None
    seed: int | None
    status_port: int | None
    state_dir: Path | None
    paper: bool = False
    queue_model: str | None = None


def run_all(drafts: "Sequence[Draft]", options: Options) -> "tuple[int, dict[str, object]]":
    """Trade until stopped. The exit code and the summary: of one series its own, of several that of
    each by its ticker.

    Raises ConfigFault for configurations that cannot go together, and every ShellFault.
    """
    from bot.io.clock import Clock
    from bot.io.secret import set_aside
    from bot.io.state.locks import StateDirectory

    enough_files(FILES_OF_A_RUN)
    clock = Clock()
    _check_alike(drafts, options)
    for draft in drafts:
        set_aside(draft.variables)
    with ExitStack() as held:
        states = []
        for draft in drafts:
            folder = _state_of(draft, options, alone=len(drafts) == 1)
            state = StateDirectory.open(folder)
            held.callback(state.close)
            states.append(state.path)
        embedded = start_venue(drafts[0], states[0], options.seed, options.tape)
        if embedded is not None:
            held.callback(embedded.stop_child)
        # The strategies, the traders and the libraries load while the venue opens.
        from bot.config.bot_config import finish
        from bot.io.run.result import summary_of
        from bot.io.run.session import worst

        configs = [finish(draft) for draft in drafts]
        if options.paper:
            configs = [of_paper(config) for config in configs]
        ended = _trade(configs, clock, states, embedded, options)
        summaries = {
            each.report.series_ticker: summary_of(each, clock.process_start_ns()) for each in ended
        }
    code = int(worst(ended))
    if len(drafts) == 1:
        return code, next(iter(summaries.values()))
    return code, {"exit_code": code, "series": summaries}


def told(summary: dict[str, object]) -> str:
    """The summary for a person: one line each, empty things and what `bot pnl` tells left out."""
    series = summary.get("series")
    if isinstance(series, dict):
        parts = [f"{ticker}\n{told(each)}" for ticker, each in series.items()]
        return "\n\n".join([*parts, f"exit_code: {summary['exit_code']}"])
    return "\n".join(
        f"{name}: {value}"
        for name, value in summary.items()
        if value not in (None, "", [], {}) and name not in ("profit", "shadows")
    )


# --- what goes together ---------------------------------------------------------------------------


def _state_of(draft: "Draft", options: Options, *, alone: bool) -> Path:
    if options.state_dir is None:
        folder = draft.state.directory
        if not options.paper:
            return folder
        folder = folder if folder.name else folder.absolute()  # as of `state.dir: .`
        return folder.parent / f"{folder.name}-paper"
    return options.state_dir if alone else options.state_dir / draft.name


def _check_alike(drafts: "Sequence[Draft]", options: Options) -> None:
    """Raise ConfigFault for what can be told from the files alone."""
    from bot.config.bot_config import ConfigFault, EmbeddedSettings
    from venue.wire.names import fold_ticker

    if len(drafts) == 1:
        return
    first = drafts[0]
    faults = []
    if options.paper:
        faults.append("--paper: run one configuration with it; each has a process of its own")
    if options.tape is not None:
        faults.append("--tape: a tape brings one series; run one configuration with it")
    seen: dict[str, Draft] = {}
    for draft in drafts:
        for what, value in (
            (f"series: {fold_ticker(draft.file.series)}", fold_ticker(draft.file.series)),
            (f"name: {draft.name}", f"name {draft.name}"),
        ):
            before = seen.setdefault(value, draft)
            if before is not draft:
                faults.append(f"{draft.source.path}: {what}, as in {before.source.path}")
        if draft.file.budget != first.file.budget:
            faults.append(_differs(draft, first, "budget", "one key has one bucket"))
        mine, theirs = draft.venue, first.venue
        if isinstance(mine, EmbeddedSettings) and isinstance(theirs, EmbeddedSettings):
            if mine.config.resolve() != theirs.config.resolve():
                faults.append(_differs(draft, first, "venue", "one process has one venue"))
        elif type(mine) is not type(theirs):
            faults.append(_differs(draft, first, "venue", "one process has one venue"))
    if faults:
        raise ConfigFault(faults)


def _differs(draft: "Draft", first: "Draft", part: str, why: str) -> str:
    return f"{draft.source.path}: {part}: not the one of {first.source.path}; {why}"


def _sites(
    configs: "Sequence[BotConfig]", embedded: "EmbeddedVenue | None"
) -> "tuple[Site, tuple[str, ...]]":
    """The one site of all, and the series that an embedded venue named. Raises ConfigFault when
    venue or keys are not the same."""
    from bot.config.bot_config import ConfigFault

    first, named = site_of(configs[0], embedded)
    faults = []
    for config in configs[1:] if embedded is None else ():
        site, _ = site_of(config, None)
        same_place = (site.base_url, site.stream_url) == (first.base_url, first.stream_url)
        if not (same_place and _keys(site) == _keys(first)):
            path, other = config.source.path, configs[0].source.path
            faults.append(
                f"{path}: venue: not the venue and the key of {other}; "
                "series on another account are for another process"
            )
    if faults:
        raise ConfigFault(faults)
    return first, named


def _keys(site: "Site") -> dict[str, str]:
    return {"trade": site.key.reveal(), **{key: each.reveal() for key, each in site.others.items()}}


# --- trading --------------------------------------------------------------------------------------


def _trade(
    configs: "Sequence[BotConfig]",
    clock: "Clock",
    states: Sequence[Path],
    embedded: "EmbeddedVenue | None",
    options: Options,
) -> "tuple[RunResult, ...]":
    keep_memory_private()
    if options.paper:
        # Nobody trades on the account of its key: a live bot may hold that one meanwhile.
        return _trade_at(*paper_site(configs[0], embedded), configs, clock, states, options)
    site, named = _sites(configs, embedded)
    # Before the page: the bot that holds the account may well have its port, too.
    with _account_held(site, states[0]):
        return _trade_at(site, named, configs, clock, states, options)


def _trade_at(
    site: "Site",
    named: tuple[str, ...],
    configs: "Sequence[BotConfig]",
    clock: "Clock",
    states: Sequence[Path],
    options: Options,
) -> "tuple[RunResult, ...]":
    import msgspec

    from bot.io import loop
    from bot.io.run.session import run_plans
    from bot.io.state.small_files import keep_page
    from bot.io.status.status import address, listen
    from venue.wire.names import fold_ticker

    status = configs[0].status
    port = status.port if options.status_port is None else options.status_port
    page = listen(status.host, port)
    if options.paper:
        typer.echo("PAPER: no order of this run reaches the venue", err=options.json_line)
    typer.echo(f"status page: {address(page)}", err=options.json_line)
    for state in states:
        keep_page(state, address(page))
    # A tape brings its own series; the configuration cannot know its name.
    brought = fold_ticker(named[0]) if options.tape is not None and named else None
    series = [brought or config.trader.series_ticker for config in configs]
    plans: list[Plan] = []
    for place, (config, state) in enumerate(zip(configs, states, strict=True)):
        trader = plans[0].trader if plans else None
        beside = tuple(ticker for ticker in series if ticker != series[place])
        settings = msgspec.structs.replace(
            config.trader, series_ticker=series[place], other_series=beside
        )
        plan = _plan(config, settings, trader, site, state, page, options)
        if options.paper:
            plan = on_paper(plan, config.paper, options.queue_model, clock)
        plans.append(plan)
    ended: list[tuple[RunResult, ...]] = []

    async def traded() -> None:
        ended.append(await run_plans(plans, clock))

    # What is loaded by now stays: walked over by every full collection, it would hold up the loop.
    gc.freeze()
    try:
        loop.run(traded)
    except RuntimeError:
        # The loop closes with a thread of its own, which a machine out of memory or threads
        # refuses. What the run came to is known by then, and how it ended is to be told.
        if not ended:
            raise
    return ended[0]


def _plan(
    config: "BotConfig",
    settings: "TraderSettings",
    first: "Trader | None",
    site: "Site",
    state: Path,
    page: "socket",
    options: Options,
) -> "Plan":
    """The plan of one series. first: the trader whose purses and account it shares, if any."""
    import msgspec

    from bot.cli.sidecars import companions_of
    from bot.config.live import LiveConfig
    from bot.config.strategies import Makers
    from bot.core.messages import Key
    from bot.core.trader import Trader
    from bot.io.journal.journal import Archivist
    from bot.io.run.session import Plan
    from bot.io.run.watchdog import StrategyWatchdog
    from bot.lab.shadow_sidecar import ShadowSidecar

    watch = StrategyWatchdog(config.strategy_budget_ns)
    shadows = [ShadowSidecar(config.source.path, state)] if config.shadows else []
    makers = Makers(config.source.path.parent, watch.wrapped)
    trader = Trader(
        settings,
        watch.wrapped(config.make_strategy),
        None if first is None else first.out.purse_of(Key.TRADE),
        None if first is None else first.out.purse_of(Key.READ),
        None if first is None else first.quoting.weighing.account,
        makers,
        None if first is None else first.out.purse_of(Key.STANDBY),
    )
    return Plan(
        trader=trader,
        watch=watch,
        requests_in_flight=settings.pace.requests_in_flight,
        site=site,
        state=state,
        segment_bytes=config.state.segment_bytes,
        segments_kept=config.state.segments_kept,
        page=page,
        allowed_hosts=config.status.allowed_hosts,
        live_table=sys.stdout.isatty() and not options.json_line,
        run_ns=options.run_ns,
        control=config.status.control,
        configured=msgspec.structs.replace(config.configured, settings=settings),
        live=lambda tell: LiveConfig(config, makers, trader.reconfiguration, tell, state),
        companions=(
            *companions_of(config, state, paper=options.paper),
            Archivist(state),
            *shadows,
        ),
        shadows=lambda: tuple(report for each in shadows for report in each.reports),
    )


@contextmanager
def _account_held(site: "Site", state: Path) -> Iterator[None]:
    """Keep other bots of this host off the account; an embedded venue's is new and nobody else's.

    Raises AccountFault when another bot holds it.
    """
    if site.embedded is not None:
        yield
        return
    from bot.io.state.locks import AccountLock

    lock = AccountLock.acquire(site.base_url, site.key, state)
    try:
        yield
    finally:
        lock.close()
