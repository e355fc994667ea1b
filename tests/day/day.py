"""The whole bot through hours of virtual time: its loop, journal, records, log and metrics.

Everything between the frame's bytes and the request is the bot's own, with the settings of the demo
configuration, as `bot run` puts it together for a container: lines of JSON, no live table. Time is
virtual, sockets are none, and the market stands in another process.
"""

import asyncio
import logging
import multiprocessing
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import structlog

from bot.cli.sidecars import sidecars_of
from bot.config.bot_config import BotConfig, finish, read_draft
from bot.core.trader import Trader
from bot.io.adapter import Connection
from bot.io.clock import Clock
from bot.io.journal.journal import Journal, segments
from bot.io.logs import LogTail, SecretRedactor, configure_logs
from bot.io.run.runner import Child, Runner
from bot.io.run.terminal import show_lines
from bot.io.run.watchdog import StrategyWatchdog
from bot.lab.sim.venue import SERIES
from tests.builders.shell.loop import START_S, VirtualLoop, virtual_time
from tests.day.growth import Counts, counted, grown, resident_bytes, slope
from tests.day.market import Distant, MarketLike, serve
from tests.day.site import Channel, Requests
from venue.wire.instant import NS_PER_SECOND

CONFIG = Path(__file__).parents[2] / "configs" / "demo.yaml"
SCRAPE_S = 15.0
DAY_S = 86_400
MB = 1_000_000
_NONCE = "da" * 10
_TOLD_S = 10.0
_GROWN_SHOWN = 12


class Sample(msgspec.Struct, frozen=True):
    """How things stood at one moment. frames: whole books. journal_bytes: written in all.

    series: of the metrics, that were there at any time: one may be absent for a while.
    """

    virtual_s: float
    frames: int
    resident: int
    log_bytes: int
    journal_bytes: int
    series: int


class Grown(msgspec.Struct, frozen=True):
    """A count that was larger at the end than after the warm-up."""

    name: str
    before: int
    after: int


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to. Rates are those after the warm-up; MB are millions of bytes.

    cpu_share: of the bot's process alone. series: of the metrics, after the warm-up and at the end;
    new_series: those that came in between. held_mb_per_million: what can be reached from the bot's
    objects; memory beyond it is the interpreter's. ended: the bot's exit code.
    """

    virtual_hours: float
    wall_s: float
    cpu_share: float
    frames: int
    other_frames: int
    decisions: int
    fills: int
    requests: int
    resident_mb: tuple[float, float]
    growth_mb_per_million: float
    log_lines: int
    log_mb_per_day: float
    journal_mb_per_day: float
    journal_kept_mb: float
    series: tuple[int, int]
    new_series: list[str]
    objects: list[Grown]
    entries: list[Grown]
    held_bytes: list[Grown]
    held_mb_per_million: float
    findings: list[str]
    ended: int
    samples: list[Sample]


class Counted(msgspec.Struct, frozen=True):
    """What there was after so many frames: what the bot held, and the metrics' samples by name."""

    frames: int
    held: Counts
    series: frozenset[str]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """How long a run is, in virtual time, and how it is looked at.

    minutes: of wall time at most. warm_s: what does not count at its beginning. sample_s: between
    two looks at the memory. count_s: between two counts of all that the bot holds.
    """

    hours: float
    minutes: float | None = None
    warm_s: float = 3600.0
    sample_s: float = 60.0
    count_s: float = 600.0
    quiet: bool = True


class _Watched:
    def __init__(self, runner: Runner, channel: Channel, state: Path, asked: Asked) -> None:
        self.runner = runner
        self.channel = channel
        self.asked = asked
        self.samples: list[Sample] = []
        self.warm: Counted | None = None
        self.newest: Counted | None = None
        self._state = state
        self._journal: dict[str, int] = {}
        self._series: set[str] = set()

    async def scrape(self) -> None:
        while True:
            await asyncio.sleep(SCRAPE_S)
            self._read_metrics()
            for path in segments(self._state):
                self._journal[path.name] = path.stat().st_size

    def _read_metrics(self) -> None:
        self.runner.look()
        text = self.runner.metrics.text().decode()
        lines = (line for line in text.splitlines() if not line.startswith("#"))
        self._series.update(line.rpartition(" ")[0] for line in lines)

    async def sample(self) -> None:
        while True:
            self.take()
            await asyncio.sleep(self.asked.sample_s)

    def take(self) -> None:
        self.samples.append(
            Sample(
                virtual_s(),
                self.channel.books,
                resident_bytes(),
                log_path(self._state).stat().st_size,
                sum(self._journal.values()),
                len(self._series),
            )
        )

    async def count(self) -> None:
        """Count everything after the warm-up, and now and then from there on."""
        await asyncio.sleep(self.asked.warm_s)
        self.warm = self.newest = self.counted()
        while True:
            await asyncio.sleep(self.asked.count_s)
            self.newest = self.counted()

    def counted(self) -> Counted:
        self._read_metrics()
        return Counted(self.channel.books, counted(self.runner), frozenset(self._series))


def virtual_s() -> float:
    """Since the beginning of the run."""
    return asyncio.get_running_loop().time() - START_S


def log_path(state: Path) -> Path:
    return state / "lines.log"


@contextmanager
def distant_market(seed: int) -> Iterator[MarketLike]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=serve, args=(theirs, seed), daemon=True)
    child.start()
    theirs.close()
    try:
        yield Distant(ours)
    finally:
        ours.close()
        child.join()


@contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    """The bot's logging into a file; as before afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    with path.open("w", encoding="utf-8") as stream:
        configure_logs(SecretRedactor(), stream=stream, tail=LogTail())
        yield
        root.handlers, root.level = handlers, level
        structlog.reset_defaults()


def live(state: Path, market: MarketLike, asked: Asked) -> Day:
    """Live through it and say what it came to.

    state: an empty directory for what the bot keeps. An interrupt ends it in good order.
    """
    began_s, cpu_s = time.perf_counter(), time.process_time()
    before = signal.getsignal(signal.SIGINT)
    try:
        loop = VirtualLoop(0)
        with (
            _logging_to(log_path(state)),
            asyncio.Runner(loop_factory=lambda: loop) as runner,
            virtual_time(loop),
        ):
            watched, ended = runner.run(_run(state, market, asked))
    finally:
        signal.signal(signal.SIGINT, before)
    wall_s, used_s = time.perf_counter() - began_s, time.process_time() - cpu_s
    return _told(watched, state, ended, wall_s, used_s)


def _runner(
    config: BotConfig, state: Path, clock: Clock, market: MarketLike
) -> tuple[Runner, Channel]:
    """The bot as `bot run` makes it, but for its sockets and the series, which is the market's."""
    settings = msgspec.structs.replace(config.trader, series_ticker=SERIES)
    watch = StrategyWatchdog(config.strategy_budget_ns)
    requests = Requests(settings.pace.requests_in_flight)
    made: list[Channel] = []

    def feed_of(emit: object) -> Channel:
        made.append(Channel(emit, clock, market, requests))  # type: ignore[arg-type]
        return made[0]

    runner = Runner(
        Trader(settings, watch.wrapped(config.make_strategy)),
        clock,
        Connection(requests, feed_of),
        lambda failed: Journal(
            state,
            clock.now_ns(),
            failed,
            segment_bytes=config.state.segment_bytes,
            segments_kept=config.state.segments_kept,
        ),
        state=state,
        watch=watch,
        configured=msgspec.structs.replace(config.configured, settings=settings),
        companions=sidecars_of(config, state),
    )
    return runner, made[0]


async def _run(state: Path, market: MarketLike, asked: Asked) -> tuple[_Watched, int]:
    runner, channel = _runner(finish(read_draft(CONFIG)), state, Clock(), market)
    watched = _Watched(runner, channel, state, asked)
    signal.signal(signal.SIGINT, lambda *_: runner.request_stop("SIGINT"))
    children = (
        Child("lines", lambda: show_lines(runner.look)),
        Child("scrape", watched.scrape),
        Child("sample", watched.sample),
        Child("count", watched.count),
        Child("progress", lambda: _progress(watched)),
    )
    run_ns = int(asked.hours * 3600 * NS_PER_SECOND)
    ended = await runner.run(_NONCE, children, run_ns, new_account=True, signals=False)
    watched.take()
    return watched, int(ended.exit_code)


async def _progress(watched: _Watched) -> None:
    """Say how far it is, and end it when the wall time is over."""
    asked = watched.asked
    minutes = asked.minutes
    began_s = told_s = time.perf_counter()
    while True:
        await asyncio.sleep(1.0)
        now_s = time.perf_counter()
        if minutes is not None and now_s - began_s > 60 * minutes:
            minutes = None
            watched.runner.request_stop("the wall time is over")
        if asked.quiet or now_s - told_s < _TOLD_S:
            continue
        told_s = now_s
        done_h = virtual_s() / 3600
        newest = watched.samples[-1] if watched.samples else None
        memory = "" if newest is None else f", {newest.resident / MB:.1f} MB"
        left_s = (now_s - began_s) * (asked.hours / done_h - 1)
        print(
            f"{done_h:.2f} of {asked.hours:g} h, {watched.channel.books:,} frames{memory}, "
            f"{left_s / 60:.0f} min to go",
            file=sys.stderr,
            flush=True,
        )


def _told(watched: _Watched, state: Path, ended: int, wall_s: float, cpu_s: float) -> Day:
    samples = watched.samples
    later = [each for each in samples if each.virtual_s >= watched.asked.warm_s] or samples[-1:]
    first, last = later[0], later[-1]
    report = watched.runner.newest()
    assert report is not None
    days = max(last.virtual_s - first.virtual_s, 1.0) / DAY_S
    points = [(each.frames / 1e6, each.resident / MB) for each in later]
    counters = report.counters
    warm = watched.warm or watched.counted()
    newest = watched.newest or warm
    with log_path(state).open(encoding="utf-8") as log:
        lines = sum(1 for _ in log)
    return Day(
        virtual_hours=last.virtual_s / 3600,
        wall_s=wall_s,
        cpu_share=cpu_s / max(last.virtual_s, 1.0),
        frames=watched.channel.books,
        other_frames=watched.channel.others,
        decisions=counters.decisions,
        fills=counters.fills,
        requests=sum(counters.requests.values()),
        resident_mb=(first.resident / MB, last.resident / MB),
        growth_mb_per_million=slope(points),
        log_lines=lines,
        log_mb_per_day=(last.log_bytes - first.log_bytes) / days / MB,
        journal_mb_per_day=(last.journal_bytes - first.journal_bytes) / days / MB,
        journal_kept_mb=sum(path.stat().st_size for path in segments(state)) / MB,
        series=(first.series, last.series),
        new_series=sorted(newest.series - warm.series),
        objects=_grown(warm.held.objects, newest.held.objects),
        entries=_grown(warm.held.entries, newest.held.entries),
        held_bytes=_grown(warm.held.bytes, newest.held.bytes),
        held_mb_per_million=_held_slope(warm, newest),
        findings=[str(each) for each in report.findings],
        ended=ended,
        samples=samples,
    )


def _grown(before: dict[str, int], after: dict[str, int]) -> list[Grown]:
    return [Grown(*row) for row in grown(before, after, _GROWN_SHOWN)]


def _held_slope(warm: Counted, newest: Counted) -> float:
    frames = newest.frames - warm.frames
    grew = sum(newest.held.bytes.values()) - sum(warm.held.bytes.values())
    return grew / frames if frames else 0.0
