"""The lab as functions, for notebooks and for the commands: `laddermaker.lab`.

`bot backtest`, `evaluate`, `sweep`, `replay` and `what-if` call the functions here. A keyword with
two underscores, or with a dot, sets a key of the configuration, as `--set` does:
`risk__order_qty=5`.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import msgspec

from bot.config.bot_config import BotConfig, finish, read_draft
from bot.config.overrides import CALENDAR, override_text
from bot.config.plugins import name_class
from bot.config.strategies import Makers
from bot.core.trading_state import TradingState
from bot.io.state.atomic_file import replace_named
from bot.lab import frames
from bot.lab.backtest import run as tables
from bot.lab.backtest.lookahead import (
    PLAYS,
    LookaheadFault,
    LookaheadSign,
    lookahead_signs,
    watched,
)
from bot.lab.backtest.tapes import Tape, read_tapes, tape_folders, warnings, winners
from bot.lab.evaluate.compare import Comparison
from bot.lab.evaluate.evaluation import Evaluation
from bot.lab.evaluate.page import markdown
from bot.lab.exchange.assumptions import Latency, Terms, milliseconds
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.progress import QUIET, RECORD_S, STEP_S, Console, ShowProgress, replay_s
from bot.lab.replay import Replayed, replayer_of
from bot.lab.replay import replay as replay_run
from bot.lab.report.figures import FIGURES, drawn
from bot.lab.report.page import report
from bot.lab.report.session import Saved, Session
from bot.lab.report.sources import (
    BacktestOutcome,
    BacktestRun,
    backtest_runs,
    broken_off,
    played,
    run_backtests_apart,
    sessions_of,
)
from bot.lab.session import entries_of, runs_meant, until_named
from bot.lab.sweep import trials
from bot.lab.sweep.output import markdown as sweep_markdown
from bot.lab.sweep.plan import SweepPlan
from bot.lab.sweep.sweep import Findings, TrialRow
from bot.lab.what_if.changes import Trial
from bot.lab.what_if.compare import WhatIfResult, compare
from bot.lab.what_if.compare import text as what_if_text
from bot.lab.what_if.run import RunFigures
from bot.page.skeleton import html_page
from bot.strategy.api import Strategy
from venue.wire.instant import from_ns
from venue.wire.money import FeeRate

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")

Place = str | Path
StrategyName = type[Strategy] | str
"""A class, or a text as `strategy.name` in a configuration has it."""

_GUARD_RUNS: Final = 2.5
"""A proof that the strategy does not look ahead: a whole run and three cut ones."""

_SHOWN_EVERY: Final = 100
"""Records between two updates of the progress."""


class Drawing:
    """A page that a notebook shows in its cell; `str` of it is the whole HTML file."""

    def __init__(self, title: str, inner: str) -> None:
        self._page = html_page(title, inner)

    def __str__(self) -> str:
        return self._page

    def _repr_html_(self) -> str:
        # Its style sheet must not reach the notebook.
        escaped = self._page.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{escaped}" width="100%" height="560" frameborder="0"></iframe>'


class LabResult(Generic[T]):
    """What a function of the lab found. found: the values that the command prints as JSON."""

    def __init__(
        self,
        found: T,
        text: Callable[[], str],
        columns: dict[str, str],
        rows: Callable[[], Iterable[dict[str, Any]]],
    ) -> None:
        """columns: names and pandas types of the frame."""
        self.found = found
        self._text = text
        self._columns = columns
        self._rows = rows

    def __str__(self) -> str:
        return self._text()

    __repr__ = __str__

    def frame(self) -> "DataFrame":
        """The table as a dataframe. Raises LibraryFault without pandas."""
        return frames.frame_of(self._columns, self._rows())


def terms(
    *,
    latency: str = "30ms",
    feed_latency: str = "10ms",
    read_lag: str = "100ms",
    maker_fee: str = "0",
    taker_fee: str = "0.07",
    power: float = 3.0,
    index: bool = False,
    seed: int = 1,
    faults: float = 0.0,
) -> Terms:
    """The terms of a backtest, by the options of `bot backtest`. Raises ValueError."""
    return Terms(
        latency=Latency.parse(latency),
        feed_ns=milliseconds(feed_latency),
        read_lag_ns=milliseconds(read_lag),
        maker_rate=FeeRate.parse(maker_fee),
        taker_rate=FeeRate.parse(taker_fee),
        power=power,
        with_index=index,
        seed=seed,
        faults=faults,
    )


def _sets(strategy: StrategyName | None, sets: Sequence[str], more: dict[str, Any]) -> list[str]:
    """Every key that is set, as text. Raises ValueError for a keyword that names no key."""
    unknown = [key for key in more if "." not in key and "__" not in key and key != CALENDAR]
    if unknown:
        raise ValueError(
            f"{unknown[0]}: neither an option nor a key of the configuration, such as "
            "risk__order_qty"
        )
    named = [] if strategy is None else [override_text("strategy.name", _text_of(strategy))]
    return [*named, *sets, *(override_text(key, value) for key, value in more.items())]


def _text_of(strategy: StrategyName) -> str:
    return strategy if isinstance(strategy, str) else name_class(strategy)


def _require_importable(sets: Sequence[str], why: str) -> None:
    """Raises ValueError if the strategy is a class that no other process can import."""
    if any("#" in text for text in sets if text.startswith("strategy.name=")):
        raise ValueError(_IMPORTABLE.format(why))


_IMPORTABLE: Final = (
    "{}: the strategy is a class of this process alone; write it into a file and name that: "
    "./mine.py"
)


# --- backtest -------------------------------------------------------------------------------------


class BacktestFindings(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a backtest, as `bot backtest --json` prints them.

    whole: False if it was ended early. same_answers: how many answers of the strategy were the same
    without the future, None if that was not proved. notes: what a reader has to know of the data.
    runs, begun: how many runs there were to be, and how many began.
    """

    whole: bool
    terms: Terms
    same_answers: int | None
    notes: tuple[str, ...]
    results: tuple[tables.Result, ...]
    runs: int
    begun: int

    @property
    def strategy_fault(self) -> str:
        """The first fault of a strategy that failed at every decision of every run, else empty."""
        if any(each.strategy_answers for each in self.results):
            return ""
        return next((each.strategy_fault for each in self.results if each.strategy_errors), "")


class BacktestResult(LabResult[BacktestFindings]):
    """A backtest: a result for each event and queue model, and what was sampled meanwhile.

    sessions: as a report draws them, empty where nothing was sampled.
    """

    def __init__(self, found: BacktestFindings, sessions: Sequence[Session]) -> None:
        super().__init__(found, self._lines, _BACKTEST_COLUMNS, self._table)
        self.sessions = tuple(sessions)

    @property
    def results(self) -> tuple[tables.Result, ...]:
        return self.found.results

    def _lines(self) -> str:
        found = self.found
        lines = [tables.text(found.results), *found.notes]
        if not found.whole:
            lines.append(f"ended early: {found.begun} of {found.runs} runs had begun")
        if found.same_answers is not None:
            lines.append(f"guard: {found.same_answers} answers were the same without the future")
        return "\n".join(lines)

    def _table(self) -> Iterable[dict[str, Any]]:
        for each in self.found.results:
            row = msgspec.structs.asdict(each)
            row |= {"queue_model": each.bound, "requests": sum(each.requests.values())}
            row |= {"net_cents": each.net_millicents / 1000}
            row |= {"halved_hours": each.wind_down_hours.get(TradingState.REDUCED, 0.0)}
            yield row | {"refused": sum(each.refused.values())}

    def quotes(self, *, time_index: bool = False) -> "DataFrame":
        """As `frames.quotes`, which says what the columns are; so are the four below."""
        return frames.quotes(self.sessions, time_index=time_index)

    def curve(self, *, time_index: bool = False) -> "DataFrame":
        return frames.curve(self.sessions, time_index=time_index)

    def fills(self, *, time_index: bool = False) -> "DataFrame":
        return frames.fills(self.sessions, time_index=time_index)

    def markouts(self, *, time_index: bool = False) -> "DataFrame":
        return frames.markouts(self.sessions, time_index=time_index)

    def diagnostics(self, *, time_index: bool = False) -> "DataFrame":
        return frames.diagnostics(self.sessions, time_index=time_index)

    def plot(self, figure: str = "profit", *, event: str | None = None) -> Drawing:
        """One figure of the report, a drawing for each queue model. event: its ticker, the first
        without one. Raises ValueError for an unknown figure or event."""
        return plot(self.sessions, figure, event=event)

    def html(self) -> str:
        """The report as one HTML file."""
        return report(self.sessions)

    def save(self, path: Place) -> None:
        """Write what was sampled as a file for `bot report` and for dataframes."""
        replace_named(Path(path), self.saved())

    def saved(self) -> bytes:
        return msgspec.json.encode(Saved(whole=self.found.whole, sessions=list(self.sessions)))


_BACKTEST_COLUMNS: Final = frames.columns(
    "tape event queue_model settled net_cents:float64 fees_cents:int64 fills:int64 maker_qty:int64 "
    "taker_qty:int64 printed_qty:int64 held_qty:int64 requests:int64 refused:int64 decisions:int64 "
    "strategy_errors:int64 worst_case_max_cents:int64 halved_hours:float64 latched records:int64 "
    "hours:float64 whole:bool"
)


def plot(
    source: frames.Source,
    figure: str = "profit",
    *,
    event: str | None = None,
    config: Place | None = None,
) -> Drawing:
    """One figure of the report: `profit`, `curve`, `inventory`, `worst`, `markouts`, `fills`,
    `uptime`, `requests` or `diagnostics`. source, config: as of `frames.quotes`. event: of a
    backtest's events, the first without one. Raises ValueError for an unknown figure or event, and
    if nothing was sampled; otherwise as `frames.quotes` does."""
    if isinstance(source, str | Path):
        folder = Path() if config is None else Path(config).parent
        sessions: Sequence[Session] = sessions_of(Path(source), Makers(folder))
    else:
        sessions = source
    chosen = next((each for each in FIGURES if each.key == figure), None)
    if chosen is None:
        known = ", ".join(each.key for each in FIGURES)
        raise ValueError(f"{figure}: no such figure; there are {known}")
    wanted = [each for each in sessions if event in (None, each.series, each.name)]
    if not wanted:
        raise ValueError(f"{event or 'no event'}: nothing was sampled")
    shown = [each for each in wanted if each.name == wanted[0].name]
    labels = [f"<p class='label'>queue {each.bound}</p>" if each.bound else "" for each in shown]
    parts = zip(labels, drawn(chosen, shown), strict=True)
    return Drawing(f"{shown[0].name}: {chosen.head}", "".join(f"{a}{b}" for a, b in parts))


def backtest(
    strategy: StrategyName | None,
    data: Place,
    config: Place,
    *,
    queue_models: Sequence[QueueModel | str] = tuple(QueueModel),
    terms: Terms | None = None,
    events: int = 10_000,
    records: int | None = None,
    jobs: int = 1,
    guard: bool = False,
    sampled: bool = True,
    sets: Sequence[str] = (),
    console: Console = QUIET,
    **more: Any,
) -> BacktestResult:
    """Play recorded markets through the whole trader, once under each queue model.

    strategy: instead of the configuration's, without the parameters of that one. data: a tape, a
    folder of tapes, a state directory, or Parquet. terms: of `terms`. events: of each tape at most.
    records: of each event at most. jobs: processes. guard: True to prove first that the strategy
    does not look ahead. sampled: False for the results alone, in less time. sets: texts as of
    `--set`. more: further keys, such as `strategy__params__levels=3`.

    Raises ConfigFault, TapeFault, ValueError for an option, Stalled for a strategy that does not
    return, LookaheadFault for one that looks ahead or opens the data, and BrokenProcessPool.
    """
    data, config = Path(data), Path(config)
    every = tuple(_sets(strategy, sets, more))
    if guard or jobs > 1:
        _require_importable(every, "guard=True and jobs > 1 run other processes")
    chosen = {QueueModel(each) for each in queue_models}
    models = tuple(model for model in QueueModel if model in chosen)
    terms = terms or Terms()
    tapes = [
        (folder, tape)
        for folder in tape_folders(data)
        for tape in itertools.islice(read_tapes(folder), events)
    ]
    # Outcomes are read before file access is watched, and no trader sees them.
    ends = [winners(tape, folder) for folder, tape in tapes]
    passes = len(models) / jobs + (_GUARD_RUNS if guard else 0)
    console.announce(sum(len(tape.records[:records]) for _, tape in tapes) * RECORD_S * passes)
    same = None
    if guard:
        same = _same_without_future(tapes, config, terms, records, every, console)
    runs = backtest_runs(
        [*zip([tape for _, tape in tapes], ends, strict=True)],
        models,
        terms,
        records,
        reports=sampled,
    )
    folders = [data, *(folder for folder, _ in tapes)]
    came, whole = _run_all(runs, config, every, folders, jobs, console)
    sessions = [session for each in came for session in each.sessions]
    found = BacktestFindings(
        whole=whole,
        terms=terms,
        same_answers=same,
        notes=tuple(text for folder, _ in tapes[:1] for text in warnings(folder)),
        results=tuple(result for each in came for result in each.results),
        runs=len(runs),
        begun=len(came),
    )
    return BacktestResult(found, sessions if whole else broken_off(sessions))


def _same_without_future(
    tapes: Sequence[tuple[Path, Tape]],
    config: Path,
    terms: Terms,
    records: int | None,
    sets: tuple[str, ...],
    console: Console,
) -> int:
    """How many answers were the same without the future. Raises LookaheadFault at the first that
    differs."""
    same = 0
    with console.progress("runs", PLAYS * len(tapes)) as show:
        for number, (folder, tape) in enumerate(tapes):

            def through(plays: int, done: int = number * PLAYS) -> None:
                show(done + plays)

            show(number * PLAYS, f"{tape.event} guard")
            for found in lookahead_signs(tape, folder, config, terms, records, through, sets):
                if isinstance(found, LookaheadSign):
                    when = f" at {from_ns(found.at_ns)}" if found.at_ns else ""
                    where = f"on {found.event}{when}: {found.found}"
                    raise LookaheadFault(f"the strategy looks ahead {where}")
                same += found
    return same


def _run_all(
    runs: Sequence[BacktestRun],
    config: Path,
    sets: tuple[str, ...],
    folders: Sequence[Path],
    jobs: int,
    console: Console,
) -> tuple[list[BacktestOutcome], bool]:
    """What came of each run, and True if none was left out. Raises LookaheadFault if a strategy
    opened a file of the data."""
    jobs = min(jobs, len(runs))
    ending = "" if jobs <= 1 else "ending: runs that have begun are finished"
    with (
        console.interruptible(ending) as wanted,
        watched(folders, config) as opened,
        console.progress("records", sum(run.records for run in runs)) as show,
    ):
        configured = finish(read_draft(config, sets=sets))  # its faults come before anything runs
        came: list[BacktestOutcome] = []
        done = 0
        if jobs <= 1:
            for run in runs:
                if wanted():
                    came.append(_run_here(run, configured, wanted, show, done))
                    done += run.records
        else:
            for run, found in run_backtests_apart(runs, config, folders, jobs, wanted, sets):
                came.append(found)
                done += run.records
                show(done, f"{run.tape.event} {run.reading.name.lower()}")
    files = [*opened, *(path for each in came for path in each.opened)]
    if files:
        raise LookaheadFault(f"{files[0]} was opened while the strategy ran")
    return came, wanted()


def _run_here(
    run: BacktestRun,
    config: BotConfig,
    wanted: Callable[[], bool],
    show: ShowProgress,
    done: int,
) -> BacktestOutcome:
    """done: records of the runs before it."""

    def through(records: int) -> bool:
        if records % _SHOWN_EVERY == 0:
            show(done + records)
        return wanted()

    show(done, f"{run.tape.event} {run.reading.name.lower()}")
    came = played(run, config, through)
    show(done + run.records)
    return came


# --- evaluate -------------------------------------------------------------------------------------


class EndedEarly(Exception):
    """A person ended it before there was a result. What a file of results holds is kept."""


def evaluate(
    strategies: StrategyName | Sequence[StrategyName],
    worlds: str | Sequence[str] = "base",
    seeds: str = "1-100",
    *,
    tune: str = "",
    steps: int = 600,
    baselines: bool = True,
    jobs: int = 1,
    results: Place | None = None,
    holdout: bool = False,
    console: Console = QUIET,
) -> LabResult[Comparison]:
    """Simulate strategies in seeded worlds with the whole trader. The first is compared with the
    others. The texts are those of `bot evaluate`; results: a file that a later call continues from.

    Raises StrategyFault, SeedFault, ValueError for unknown worlds, NotKept, EndedEarly and
    BrokenProcessPool.
    """
    given = [strategies] if isinstance(strategies, str | type) else strategies
    names = ",".join(_text_of(each) for each in given)
    if jobs > 1 and "#" in names:
        raise ValueError(_IMPORTABLE.format("jobs > 1 runs other processes"))
    asked = Evaluation(
        names,
        worlds if isinstance(worlds, str) else ",".join(worlds),
        seeds,
        tune=tune,
        steps=steps,
        baselines=baselines,
        results=None if results is None else Path(results),
        holdout=holdout,
    )
    run_simulations(asked, jobs, console)
    if asked.left:
        raise EndedEarly(f"{len(asked.left)} of {asked.total} simulations did not run")
    found = asked.comparison()
    return LabResult(found, lambda: markdown(found), _FRONTIER_COLUMNS, lambda: _frontier(found))


def run_simulations(asked: Evaluation, jobs: int, console: Console) -> None:
    """Run what an evaluation lacks, or a part of it. Raises as `Evaluation.run` does."""
    console.announce(sum(task.world.steps for task in asked.missing) * STEP_S / jobs)
    with (
        console.interruptible("ending: simulations that have begun are finished") as is_more,
        console.progress("simulations", len(asked.missing)) as show,
    ):
        for done, task in enumerate(asked.run(jobs, is_more), 1):
            show(done, f"{task.world.name} seed {task.seed}")


_FRONTIER_COLUMNS: Final = frames.columns(
    "strategy world risk value:float64 chosen:bool seeds:int64 mean:float64 sd:float64 "
    "edge:float64 edge_error:float64 ratio:float64 q05:float64 q01:float64 latched:int64"
)


def _frontier(found: Comparison) -> Iterable[dict[str, Any]]:
    for line in found.lines:
        for point in line.points:
            row = msgspec.structs.asdict(point)
            yield row | {"strategy": line.entry, "world": line.world, "risk": line.risk}


# --- sweep ----------------------------------------------------------------------------------------


def sweep(
    strategy: StrategyName | None,
    data: Place | None,
    config: Place,
    over: Sequence[str] | Mapping[str, object],
    *,
    world: str = "",
    jobs: int = 1,
    results: Place | None = None,
    sets: Sequence[str] = (),
    console: Console = QUIET,
    options: Mapping[str, Any] | None = None,
    **more: Any,
) -> LabResult[Findings]:
    """Find which values of keys earn most, each on the same seeds of a world or recorded events.

    strategy, config, sets and more: as of `backtest`. data: tapes; None where `world` is given.
    over: texts as of `bot sweep --over`, or values by key: `{"risk.order_qty": [20, 40]}`, and a
    text for a range. options: further arguments of `SweepPlan`, such as
    `{"how": "random", "trials": 20, "seeds": "1-20", "terms": terms(latency="50ms")}`.

    Raises what `SweepPlan` does, TrialFault or StrategyFailed where the configuration itself fails,
    RunnerFault, NotKept, and EndedEarly before the first trial.
    """
    every = _sets(strategy, sets, more)
    if jobs > 1:
        _require_importable(every, "jobs > 1 runs other processes")
    plan = SweepPlan(
        Path(config),
        _over(over) if isinstance(over, Mapping) else over,
        data=None if data is None else Path(data),
        world=world,
        results=None if results is None else Path(results),
        sets=every,
        **(options or {}),
    )
    with trials.processes(jobs) as runner:
        whole = run_trials(plan, runner, console)
    if not plan.sweep.trials:
        raise EndedEarly("not even the configuration itself had run on every case")
    found = plan.findings(whole=whole)
    keys = {key: "string" for row in found.rows for key in row.settings}
    return LabResult(
        found,
        lambda: sweep_markdown(found),
        frames.columns(_TRIAL_COLUMNS) | keys,
        lambda: (_trial(row, keys) for row in (found.base, *found.rows)),
    )


def run_trials(plan: SweepPlan, runner: trials.Runner, console: Console) -> bool:
    """Run the trials of a sweep; False if it was ended early. Raises as `SweepPlan.run` does."""
    simulations = 0
    total = (plan.most + 1) * len(plan.sweep.cases)
    with (
        console.interruptible() as wanted,
        console.progress("simulations", total) as show,
    ):

        def done(more: int) -> None:
            nonlocal simulations
            simulations += more
            show(simulations, f"{len(plan.sweep.trials)} trials")

        return plan.run(runner, wanted, done)


def _over(values: Mapping[str, object]) -> list[str]:
    return [
        f"{key.replace('__', '.')}="
        + (each if isinstance(each, str) else ",".join(map(str, cast("Iterable[object]", each))))
        for key, each in values.items()
    ]


_TRIAL_COLUMNS: Final = (
    "number:int64 score:float64 mean:float64 sd:float64 least:float64 gain:float64 "
    "gain_low:float64 gain_high:float64 p:float64 better:int64 worse:int64 latched:int64"
)


def _trial(row: TrialRow, keys: Iterable[str]) -> dict[str, Any]:
    """keys: of the search; the configuration itself sets none of them."""
    gain = {"gain": row.gain.value, "gain_low": row.gain.least, "gain_high": row.gain.most}
    settings = {key: row.settings.get(key) for key in keys}
    return msgspec.structs.asdict(row) | settings | gain


# --- replay and what-if ---------------------------------------------------------------------------

_SLOWER_THAN_REPLAY: Final = 13
"""A queue model takes as long as so many replays: two runs, each with an exchange."""


def replays(
    journal: Place,
    *,
    config: Place | None = None,
    until: str = "",
    every: bool = False,
    notes: bool = True,
    console: Console = QUIET,
) -> Iterator[Replayed]:
    """Replay the newest run of a state directory or segment, or every run of it.

    config: the configuration of that run, if its strategy is a file next to it. until: where to
    stop, as of `bot replay`. notes: False to compare decisions alone. Raises JournalFault, and
    ValueError for `until`.
    """
    makers = Makers(Path() if config is None else Path(config).parent)
    meant = runs_meant(Path(journal), every=every)
    for run in meant:
        stop = until_named(until, run, meant)
        if not until:
            console.announce(replay_s(run.paths))
        again = replayer_of(run, makers, notes=notes)
        with console.progress("entries", entries_of(run) if console.is_watched else None) as show:
            found = replay_run(again, stop, show)
        yield found


def replay(journal: Place, **options: Any) -> Replayed:
    """Replay the newest run. Arguments and faults as of `replays`."""
    (found,) = replays(journal, **options)
    return found


def what_if(
    journal: Place,
    *,
    config: Place | None = None,
    strategy: StrategyName | None = None,
    queue_models: Sequence[QueueModel | str] = (QueueModel.PESSIMISTIC, QueueModel.EXPECTED),
    until: str = "",
    terms: Terms | None = None,
    sets: Sequence[str] = (),
    console: Console = QUIET,
    **more: Any,
) -> LabResult[WhatIfResult]:
    """Compare a journalled session with what another configuration would have done.

    config: instead of the run's. strategy, sets and more: as of `backtest`. until: where to stop,
    as of `bot replay`. Raises ConfigFault, JournalFault, Stalled, and ValueError for `until`.
    """
    (run,) = runs_meant(Path(journal), every=False)
    folder = Path() if config is None else Path(config).parent
    trial = Trial(_sets(strategy, sets, more), None if config is None else Path(config), folder)
    makers = Makers(folder)
    stop = until_named(until, run)
    again = replayer_of(run, makers)
    had = run.started.configured
    assert had is not None  # else it could not be replayed
    # A tape has a series of its own, whatever the file says.
    settings = msgspec.structs.replace(had.settings, series_ticker=again.trader.series_ticker)
    had = msgspec.structs.replace(had, settings=settings)
    models = tuple(QueueModel(each) for each in queue_models)
    if not until:
        console.announce(_SLOWER_THAN_REPLAY * len(models) * replay_s(run.paths))
    with console.progress("events") as show:

        def through(what: str, done: int, of: int) -> None:
            show(done, what, of or None)

        found = compare(run, again, had, trial, makers, terms or Terms(), models, stop, through)
    return LabResult(
        found, lambda: what_if_text(found), _WHAT_IF_COLUMNS, lambda: _what_if_rows(found)
    )


_WHAT_IF_COLUMNS: Final = frames.columns(
    "what queue_model hours:float64 profit_cents:float64 fees_cents:int64 fills:int64 "
    "maker_qty:int64 taker_qty:int64 requests:int64 refused:int64 worst_case_max_cents:int64 "
    "decisions:int64 strategy_errors:int64 latched"
)


def _what_if_rows(found: WhatIfResult) -> Iterable[dict[str, Any]]:
    yield _figures("happened", None, found.happened)
    for model in found.played:
        yield _figures("unchanged", model.reading, model.unchanged)
        if model.changed is not None:
            yield _figures("changed", model.reading, model.changed)


def _figures(what: str, queue_model: str | None, of: RunFigures) -> dict[str, Any]:
    row = msgspec.structs.asdict(of) | {"what": what, "queue_model": queue_model}
    row["profit_cents"] = None if of.profit is None else of.profit.profit / 1000
    return row | {
        "requests": sum(of.requests.values()),
        "refused": sum(of.refused.values()),
    }
