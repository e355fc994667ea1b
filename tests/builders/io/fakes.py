"""A small trader and its surroundings, for claims about the loop alone."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from bot.core import messages as m
from bot.core.report import Phase, Reaction, Report
from bot.io.adapter import Connection
from bot.io.client.feed import Feed, FeedTimes
from bot.io.client.rest import Rest
from bot.io.clock import Clock
from bot.io.journal.journal import Journal
from bot.io.run.result import RunResult
from bot.io.run.runner import Runner, Sidecar
from bot.io.run.watchdog import StrategyWatchdog
from bot.io.secret import Secret
from tests.builders.io.samples import report

Behaviour = Callable[[m.Event], list[m.Effect]]


class FakeTrader:
    """Keeps what it was given; does what `behave` says; finishes on a Beat after a stop.

    finishes: whether it ever does. patient: only once every request of its has its answer.
    """

    def __init__(
        self, behave: Behaviour | None = None, finishes: bool = True, patient: bool = True
    ) -> None:
        self.events: list[m.Event] = []
        self.times: list[int] = []
        self.stopping = False
        self.phase = Phase.QUOTING
        self._behave = behave
        self._finishes = finishes
        self._patient = patient
        self._unanswered = 0
        self._more = asyncio.Event()
        self.left = m.DrainComplete((), ())
        self.effects: list[m.Effect] = []
        self.reactions: dict[m.RequestId, Reaction] = {}

    def receive(self, event: m.Event, now_ns: int) -> list[m.Effect]:
        self.events.append(event)
        self.times.append(now_ns)
        self.stopping = self.stopping or isinstance(event, m.StopRequested | m.JournalFailed)
        self._more.set()
        effects = [] if self._behave is None else self._behave(event)
        self._unanswered += sum(isinstance(effect, m.Send) for effect in effects)
        self._unanswered -= isinstance(event, m.Response)
        done = self._finishes and not (self._patient and self._unanswered)
        if self.stopping and done and isinstance(event, m.Tick):
            effects = [*effects, self.left]
        return effects

    async def until(self, kind: type) -> None:
        """Return when an event of a kind has come."""
        async with asyncio.timeout(10):
            while not self.of(kind):
                self._more.clear()
                await self._more.wait()

    def report(self, now_ns: int) -> Report:
        return report(Phase.STOPPED if self.stopping else Phase.QUOTING, now_ns)

    def left_over(self) -> m.DrainComplete:
        """What is said to be left when time runs out."""
        return self.left

    def of(self, kind: type) -> list[m.Event]:
        return [event for event in self.events if isinstance(event, kind)]


def runner_of(
    trader: FakeTrader,
    folder: Path,
    base_url: str = "http://127.0.0.1:1/v1",
    drain_ns: int = 10**9,
    *,
    keeps: bool = False,
    rest: Rest | None = None,
    watch: StrategyWatchdog | None = None,
    companions: tuple[Sidecar, ...] = (),
) -> Runner:
    """A runner of that trader; its channel leads nowhere. keeps: latch, crashes and heartbeat."""
    clock = Clock()
    times = FeedTimes(open_s=0.1, backoff_min_s=0.01, backoff_max_s=0.02)
    return Runner(
        trader,
        clock,
        Connection(
            rest or Rest(base_url, Secret("lm_test"), 4),
            lambda emit: Feed("ws://127.0.0.1:1", emit, times),
        ),
        lambda failed: Journal(folder, clock.now_ns(), failed),
        state=folder if keeps else None,
        drain_ns=drain_ns,
        watch=watch,
        companions=companions,
    )


async def run(runner: Runner, run_ns: int | None = 50_000_000, children=()) -> RunResult:
    async with asyncio.timeout(10):
        return await runner.run("ab" * 10, children, run_ns)
