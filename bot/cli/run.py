"""`bot run`: one process that trades the series of one or more configurations, on one account. The
status page, the terminal and the venue's settings are those of the first."""

import gc
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    FILES_OF_A_RUN,
    exit_on_fault,
    fail,
    keep_memory_private,
    require_open_files,
    require_valid,
    stdout_to_stderr,
)
from bot.cli.options import Json, Logs, RunFor, Sets, StateDir, VenueSeed, VenueTape, duration_ns
from bot.cli.site import paper_config, paper_plan, paper_site, site_of, start_venue
from bot.io.signals import remembered

if TYPE_CHECKING:
    from socket import socket

    from bot.config.bot_config import BotConfig, Draft
    from bot.core.settings import TraderSettings
    from bot.core.trader import Trader
    from bot.io.clock import Clock
    from bot.io.run.embedded import EmbeddedVenue
    from bot.io.run.result import RunResult
    from bot.io.run.session import Plan, Site

# The rest is imported within: signals are deferred first, and most of it loads while the embedded
# venue opens.


class RunOptions(NamedTuple):
    """The options of `bot run`. run_ns: None until stopped. status_port: None for the configured.

    state_dir: with one series its state directory, with several the folder that holds theirs.
    queue_model: of a paper run, None for the configured. logs: a `LogForm`.
    """

    run_ns: int | None
    json_line: bool
    tape: Path | None
    seed: int | None
    status_port: int | None
    state_dir: Path | None
    paper: bool = False
    queue_model: str | None = None
    logs: str = "auto"


def run(
    configs: Annotated[
        list[Path], typer.Argument(metavar="CONFIG...", help="One YAML file for each series.")
    ],
    sets: Sets = None,
    for_: RunFor = None,
    json_line: Json = False,
    tape: VenueTape = None,
    seed: VenueSeed = None,
    status_port: Annotated[
        int | None,
        typer.Option(min=0, max=65_535, help="Port of the status page; 0 takes a free one."),
    ] = None,
    state_dir: StateDir = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", help="Trade on paper: the venue's market, our orders on a local exchange."
        ),
    ] = False,
    queue_model: Annotated[
        Literal["pessimistic", "expected", "optimistic"] | None,
        typer.Option(help="With --paper: the queue model, instead of paper.queue_model."),
    ] = None,
    logs: Logs = "auto",
) -> None:
    """Stop it with Ctrl-C or SIGTERM; it ends with a summary. SIGUSR1 pauses and SIGUSR2 resumes.
    Several series share the account: one venue, one key, one request budget, one status page.
    Ends with 3 if the strategy failed at every decision.

    With --paper no order reaches the venue: its key needs the scope read only, and the state is
    kept in ./state/<name>-paper. A live bot may trade the series meanwhile.

    --set counts for every CONFIG, also when the file changes during the run.

    Example: bot run configs/demo.yaml --for 20s --json
    """
    if queue_model is not None and not paper:
        fail(EXIT_CONFIGURATION, "--queue-model: only with --paper")
    run_ns = None if for_ is None else duration_ns("--for", for_)
    options = RunOptions(
        run_ns, json_line, tape, seed, status_port, state_dir, paper, queue_model, logs
    )
    with remembered():
        with exit_on_fault(), stdout_to_stderr() if json_line else nullcontext():
            from bot.config.bot_config import read_draft

            drafts = [read_draft(config, sets=sets or ()) for config in configs]
            # What a paper run left rests on its local exchange; its next run finds it.
            with nullcontext() if paper else _nothing_left_behind(drafts, state_dir):
                code, summary = run_all([require_valid(draft) for draft in drafts], options)
        try:
            typer.echo(json.dumps(summary) if json_line else summary_text(summary))
        except OSError:
            if not code:  # that orders may be left is worth more than a lost summary
                raise
    raise typer.Exit(code)


@contextmanager
def _nothing_left_behind(drafts: "Sequence[Draft]", state_dir: Path | None) -> Iterator[None]:
    """If the block refuses to start, cancel what earlier runs left; see `clear_up`."""
    from bot.config.bot_config import ConfigFault
    from bot.io.faults import OperatorError

    try:
        yield
    except (ConfigFault, OperatorError) as fault:
        from bot.cli.refused_start import clear_up

        clear_up(fault, drafts, state_dir)
        raise


def run_all(drafts: "Sequence[Draft]", options: RunOptions) -> "tuple[int, dict[str, object]]":
    """Trade until stopped. The exit code and the summary: of several series that of each by ticker.

    Raises ConfigFault for configurations that cannot run together, and every OperatorError.
    """
    from bot.io.clock import Clock
    from bot.io.secret import set_aside
    from bot.io.state.locks import StateDirectory

    require_open_files(FILES_OF_A_RUN)
    clock = Clock()
    _require_compatible(drafts, options)
    for draft in drafts:
        set_aside(draft.variables)
    with ExitStack() as held:
        states = []
        for draft in drafts:
            state = StateDirectory.open(_state_of(draft, options, alone=len(drafts) == 1))
            held.callback(state.close)
            states.append(state.path)
        embedded = start_venue(drafts[0], states[0], options.seed, options.tape)
        if embedded is not None:
            held.callback(embedded.stop_child)
        # The strategies, the trader and the libraries load while the venue opens.
        from bot.config.bot_config import finish
        from bot.io.run.result import summary_of
        from bot.io.run.session import worst

        configs = [finish(draft) for draft in drafts]
        if options.paper:
            configs = [paper_config(config) for config in configs]
        ended = _trade(configs, clock, states, embedded, options, held)
        summaries = {
            each.report.series_ticker: summary_of(each, clock.process_start_ns()) for each in ended
        }
    code = int(worst(ended))
    if len(drafts) == 1:
        return code, next(iter(summaries.values()))
    return code, {"exit_code": code, "series": summaries}


def summary_text(summary: dict[str, object]) -> str:
    """A line for each figure, without empty ones and those that `bot pnl` shows."""
    series = summary.get("series")
    if isinstance(series, dict):
        parts = [f"{ticker}\n{summary_text(each)}" for ticker, each in series.items()]
        return "\n\n".join([*parts, f"exit_code: {summary['exit_code']}"])
    return "\n".join(
        f"{name}: {value}"
        for name, value in summary.items()
        if value not in (None, "", [], {}) and name not in ("profit", "shadows")
    )


# --- what can run together ------------------------------------------------------------------------


def _state_of(draft: "Draft", options: RunOptions, *, alone: bool) -> Path:
    if options.state_dir is not None:
        return options.state_dir if alone else options.state_dir / draft.name
    folder = draft.state.directory
    if not options.paper:
        return folder
    folder = folder if folder.name else folder.absolute()  # as of `state.dir: .`
    return folder.parent / f"{folder.name}-paper"


def _require_compatible(drafts: "Sequence[Draft]", options: RunOptions) -> None:
    """Raise ConfigFault for what the files alone show to be impossible."""
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

        def differs(part: str, why: str, draft: "Draft" = draft) -> str:
            return f"{draft.source.path}: {part}: not the one of {first.source.path}; {why}"

        ticker = fold_ticker(draft.file.series)
        for what in (f"series: {ticker}", f"name: {draft.name}"):
            before = seen.setdefault(what, draft)
            if before is not draft:
                faults.append(f"{draft.source.path}: {what}, as in {before.source.path}")
        if draft.file.budget != first.file.budget:
            faults.append(differs("budget", "one key has one bucket"))
        mine, theirs = draft.venue, first.venue
        if isinstance(mine, EmbeddedSettings) and isinstance(theirs, EmbeddedSettings):
            if mine.config.resolve() != theirs.config.resolve():
                faults.append(differs("venue", "one process has one venue"))
        elif type(mine) is not type(theirs):
            faults.append(differs("venue", "one process has one venue"))
    if faults:
        raise ConfigFault(faults)


def _shared_site(
    configs: "Sequence[BotConfig]", embedded: "EmbeddedVenue | None"
) -> "tuple[Site, tuple[str, ...]]":
    """The site of all, and the series that an embedded venue named. Raises ConfigFault if venue or
    keys differ."""
    from bot.config.bot_config import ConfigFault

    def place(site: "Site") -> tuple[object, ...]:
        address = site.address
        keys = {"trade": address.key.reveal()}
        keys |= {key: each.reveal() for key, each in address.others.items()}
        return type(site.adapter), address.base_url, address.stream_url, keys

    first, named = site_of(configs[0], embedded)
    faults = [
        f"{config.source.path}: venue: not the venue and the key of {configs[0].source.path}; "
        "series on another account are for another process"
        for config in (configs[1:] if embedded is None else ())
        if place(site_of(config, None)[0]) != place(first)
    ]
    if faults:
        raise ConfigFault(faults)
    return first, named


# --- trading --------------------------------------------------------------------------------------


def _trade(
    configs: "Sequence[BotConfig]",
    clock: "Clock",
    states: Sequence[Path],
    embedded: "EmbeddedVenue | None",
    options: RunOptions,
    held: ExitStack,
) -> "tuple[RunResult, ...]":
    """held: what is closed when all is over."""
    import msgspec

    from bot.io import loop
    from bot.io.run.session import run_plans
    from bot.io.state.locks import AccountLock
    from bot.io.state.small_files import keep_page
    from bot.io.status.serving import address, listen
    from venue.wire.names import fold_ticker

    keep_memory_private()
    if options.paper:
        # It does not trade on the account of its key, which a live bot may hold meanwhile.
        site, named = paper_site(configs[0], embedded)
    else:
        site, named = _shared_site(configs, embedded)
        if site.embedded is None:
            # Before the page: a bot that holds the account may well have its port, too.
            lock = AccountLock.acquire(site.address.base_url, site.address.key, states[0])
            held.callback(lock.close)
    status = configs[0].status
    port = status.port if options.status_port is None else options.status_port
    page = listen(status.host, port)
    if options.paper:
        typer.echo("PAPER: no order of this run reaches the venue", err=options.json_line)
    typer.echo(f"status page: {address(page)}", err=options.json_line)
    for state in states:
        keep_page(state, address(page))
    # A tape has a series of its own, whatever the configuration says.
    own = fold_ticker(named[0]) if options.tape is not None and named else None
    series = [own or config.trader.series_ticker for config in configs]
    plans: list[Plan] = []
    for number, (config, state) in enumerate(zip(configs, states, strict=True)):
        settings = msgspec.structs.replace(
            config.trader,
            series_ticker=series[number],
            other_series=tuple(ticker for ticker in series if ticker != series[number]),
        )
        first = plans[0].trader if plans else None
        plan = _plan(config, settings, first, site, state, page, options)
        if options.paper:
            plan = paper_plan(plan, config.paper, options.queue_model, clock)
        plans.append(plan)
    ended: list[tuple[RunResult, ...]] = []

    async def traded() -> None:
        ended.append(await run_plans(plans, clock))

    # A full collection over everything loaded so far would hold up the loop.
    gc.freeze()
    try:
        loop.run(traded)
    except RuntimeError:
        # The loop ends with a thread of its own, which a machine out of memory or threads refuses.
        # The result of the run is known by then.
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
    options: RunOptions,
) -> "Plan":
    """The plan of one series. first: the trader whose budgets and account it shares, if any."""
    import msgspec

    from bot.cli.sidecars import losses_by_records, sidecars_of
    from bot.config.live import LiveConfig
    from bot.config.strategies import Makers
    from bot.core.messages import Key
    from bot.core.trader import Trader
    from bot.io.journal.journal import Archivist
    from bot.io.logs import LogForm
    from bot.io.run.session import Plan
    from bot.io.run.watchdog import StrategyWatchdog
    from bot.lab.shadow_sidecar import ShadowSidecar

    watch = StrategyWatchdog(config.strategy_budget_ns)
    source = config.source
    shadows = [ShadowSidecar(source.path, state, source.sets)] if config.shadows else []
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
        log_form=LogForm(options.logs),
        run_ns=options.run_ns,
        control=config.status.control,
        configured=msgspec.structs.replace(config.configured, settings=settings),
        name=config.name,
        live=lambda tell: LiveConfig(config, makers, trader.reconfiguration, tell, state),
        companions=(
            *sidecars_of(config, state, paper=options.paper),
            Archivist(state),
            *shadows,
        ),
        losses_by_records=lambda: None if options.paper else losses_by_records(config, state),
        shadows=lambda: tuple(report for each in shadows for report in each.reports),
        outside_sources=config.outside_sources,
    )
