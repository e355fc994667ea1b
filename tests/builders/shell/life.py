"""One run of the bot's real shell in virtual time, and what holds of it by the engine's word."""

import asyncio
import os
import random
import re
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
from structlog.testing import capture_logs

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import RiskSettings, StalenessSettings, TraderSettings
from bot.core.trader import Trader
from bot.io.adapter import Connection
from bot.io.client import sockets
from bot.io.client.feed import Feed
from bot.io.client.rest import TIMEOUTS, Rest
from bot.io.clock import Clock
from bot.io.journal.journal import Journal, read_journal, segments
from bot.io.run.result import RunResult
from bot.io.run.runner import Runner
from bot.io.secret import Secret
from bot.strategy.api import Strategy
from strategies.fixed_spread import FixedSpread
from tests.builders.shell.loop import VirtualLoop, run
from tests.builders.shell.net import Network
from tests.builders.shell.site import BASE_URL, KEY, SERIES, STREAM_URL, Bend, Site
from tests.builders.shell.truth import Truth
from venue.engine.messages import OrderState
from venue.rest import openapi
from venue.wire.money import BookSide, Cents, Outcome, Qty

SETTINGS = TraderSettings(
    series_ticker=SERIES,
    risk=RiskSettings(
        event_loss_cents=Cents(100_000),
        series_loss_cents=Cents(100_000),
        rung_position_qty=Qty(200),
        order_qty=Qty(25),
    ),
    staleness=StalenessSettings(read_lag_ns=300_000_000),
)
LOT = 10


@dataclass
class Plan:
    """What a run is like. Times in virtual seconds.

    faulty_s: how long the crowd trades and faults last; calm_s: how long nothing happens after
    that, before the stop. planted: called once the disk and the clocks are virtual. act: a test's
    own actions, during the run; it may use the whole world.
    connect: how a paper run reaches the venue; None for a live one, whose orders go there.
    """

    seed: int = 0
    rungs: int = 2
    rate: str = "0.0100"
    crowd_per_s: float = 3.0
    faulty_s: float = 4.0
    calm_s: float = 4.0
    bend: Bend | None = None
    stream_path: str = "/v1/stream"
    stream_url: str = STREAM_URL
    act: Callable[["Life"], Awaitable[None]] | None = None
    stop: bool = True
    planted: Callable[[], object] = lambda: None
    strategy: Callable[[], Strategy] = lambda: FixedSpread(FixedSpread.Params(lot_qty=LOT))
    timeouts: httpx.Timeout = field(default_factory=lambda: TIMEOUTS)
    connect: Callable[[Clock], Connection] | None = None
    capabilities: m.VenueCapabilities = field(default_factory=m.VenueCapabilities)


@dataclass
class Life:
    """A world while it runs, and what is left of it afterwards."""

    plan: Plan
    loop: VirtualLoop
    network: Network
    site: Site
    folder: Path
    trader: Trader
    runner: Runner
    watch: "Watch"
    ended: RunResult | None = None
    wanted: list[str] = field(default_factory=list)
    resting_at_stop: list[OrderState] = field(default_factory=list)
    entries: list[Any] = field(default_factory=list)

    @property
    def truth(self) -> Truth:
        return self.site.truth

    def pause(self) -> None:
        self.loop.deliver(signal.SIGUSR1)

    def terminate(self) -> None:
        self.loop.deliver(signal.SIGTERM)

    def shift(self, cents: int) -> None:
        """Everybody else's value of every rung moves, and so do the quotes of the patient ones."""
        self.loop.create_task(self.site.crowd.shift(cents))

    def resume(self) -> None:
        """The operator's signal to go on; nothing happens once the run is over."""
        if signal.SIGUSR2 in self.loop.signals:
            self.loop.deliver(signal.SIGUSR2)

    def sent(self, kind: Any) -> list[Any]:
        """The requests of a kind that the journal says were to leave, in order."""
        return [
            entry.message.request
            for entry in self.entries
            if isinstance(entry.message, m.Send) and isinstance(entry.message.request, kind)
        ]


class Disk:
    """Which bytes of which file are synced: `fdatasync` costs virtual time only."""

    def __init__(self) -> None:
        self.synced: dict[int, int] = {}

    def sync(self, handle: int) -> None:
        self.synced[os.fstat(handle).st_ino] = os.fstat(handle).st_size

    def holds(self, path: Path) -> bytes:
        """What a crash of the machine would leave of a file."""
        return path.read_bytes()[: self.synced.get(path.stat().st_ino, 0)]

    @contextmanager
    def mounted(self) -> Iterator[None]:
        """In place of the operating system's while the block lasts."""
        with (
            mock.patch.object(os, "fdatasync", self.sync),
            mock.patch.object(os, "fsync", self.sync),
        ):
            yield


_CERTIFICATES = sockets.trusted()


_DESCRIPTION = openapi.document()
# httpcore looks for this module before every request; that it is not there takes a while to find.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]


@contextmanager
def spared() -> Iterator[None]:
    """What every client and venue would make anew: certificates, and the published description."""
    with (
        mock.patch.object(sockets, "trusted", lambda: _CERTIFICATES),
        mock.patch.object(openapi, "document", lambda: _DESCRIPTION),
    ):
        yield


class Watch:
    """What the shell does with its requests: begun, answered, cancelled, and in which order.

    unjournalled: creates whose bytes left while the disk did not hold them.
    """

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.begun = 0
        self.cancelled = 0
        self.creates = 0
        self.unjournalled: list[bytes] = []
        self._folder = folder
        self._disk = disk

    def leaving(self, data: bytes) -> None:
        for name in _CLIENT_ORDER_ID.findall(data):
            self.creates += 1
            if not any(name in self._disk.holds(path) for path in segments(self._folder)):
                self.unjournalled.append(name)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Every request of every client of the process while the block lasts."""
        real = httpx.AsyncClient.send

        async def send(client: Any, *args: Any, **options: Any) -> Any:
            self.begun += 1
            try:
                return await real(client, *args, **options)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise

        with mock.patch.object(httpx.AsyncClient, "send", send):
            yield


_CLIENT_ORDER_ID = re.compile(rb'"client_order_id":"([^"]*)"')


def live(plan: Plan) -> Life:
    """Live through a plan: open, faults, calm, stop. The world afterwards, for judging."""
    loop = VirtualLoop(plan.seed)
    random.seed(plan.seed)
    with (
        tempfile.TemporaryDirectory(prefix="shell-") as folder,
        capture_logs(),
        (disk := Disk()).mounted(),
        spared(),
        (watch := Watch(Path(folder), disk)).watching(),
    ):
        plan.planted()
        life: Life = run(loop, _world(plan, loop, Path(folder), watch))
        return life


async def _world(plan: Plan, loop: VirtualLoop, folder: Path, watch: Watch) -> Life:
    network = Network(loop, random.Random(f"net {plan.seed}"), (0.0005, 0.004))
    network.leaving = watch.leaving
    site = Site(
        loop, network, seed=plan.seed, rungs=plan.rungs, rate=plan.rate, bend=plan.bend,
        stream_path=plan.stream_path,
    )  # fmt: skip
    serving = loop.create_task(site.run())
    await asyncio.sleep(0)
    await site.crowd.open()
    await asyncio.sleep(2.0)
    trader = Trader(SETTINGS, plan.strategy)
    clock = Clock()
    if plan.connect is None:
        rest = Rest(BASE_URL, Secret(KEY), 32, timeouts=plan.timeouts)
        connection = Connection(rest, lambda emit: Feed(plan.stream_url, emit), plan.capabilities)
    else:
        connection = plan.connect(clock)
    runner = Runner(
        trader,
        clock,
        connection,
        lambda failed: Journal(folder, clock.now_ns(), failed),
        state=folder,
        paper=plan.connect is not None,
    )
    life = Life(plan, loop, network, site, folder, trader, runner, watch)
    site.bot_began_s = loop.time()
    running = loop.create_task(runner.run(f"{plan.seed:020x}", (), None))
    acting = [loop.create_task(site.crowd.trade(plan.crowd_per_s, loop.time() + plan.faulty_s))]
    if plan.act is not None:
        acting.append(loop.create_task(_acted(plan.act(life))))
    if plan.stop:
        acting.append(loop.create_task(_stop_later(life)))
    life.ended = await running
    for task in acting:
        task.cancel()
    ends = await asyncio.gather(*acting, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):
            raise end
    life.entries = [entry for path in segments(folder) for entry in read_journal(path)]
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    for wire in network.wires:
        wire.tear()
    await asyncio.sleep(30)
    return life


async def _acted(act: Awaitable[None]) -> None:
    await act


async def _stop_later(life: Life) -> None:
    await asyncio.sleep(life.plan.faulty_s + life.plan.calm_s)
    if signal.SIGTERM not in life.loop.signals:
        return
    life.wanted, life.resting_at_stop = differences(life), life.truth.resting()
    life.loop.deliver(signal.SIGTERM)


# --- judging --------------------------------------------------------------------------------------


def differences(life: Life) -> list[str]:
    """Where the engine's resting orders are not about the quotes wanted, rung by rung and side."""
    out = []
    if life.trader.phase is not Phase.QUOTING:
        out.append(f"{life.trader.phase}: {life.trader.out.findings}")
    for ladder in life.trader.quoting.ladders:
        for rung in ladder.rungs:
            for side in BookSide:
                have = life.truth.resting_at(rung.market_id, side is BookSide.BID)
                want = {int(q.price): int(q.qty) for q in rung.wanted if q.side is side}
                total, wanted = sum(have.values()), sum(want.values())
                off = 2 * abs(total - wanted) > wanted
                far = any(min(abs(at - price) for price in want) > 3 for at in have if want)
                if off or far or rung.blocked:
                    out.append(f"{rung.market.ticker} {side}: {have}, wanted {want} {rung.blocked}")
    return out


def assert_safe(life: Life) -> None:
    """What holds of every run that was stopped in order, whatever the venue did."""
    truth, trader, ended = life.truth, life.trader, life.ended
    assert ended is not None
    assert truth.resting() == [], f"orphans: {truth.resting()}"
    assert truth.self_trades == 0
    assert life.watch.cancelled == 0
    assert life.watch.unjournalled == []
    assert_answered_once(life)
    creates = {request.order.client_order_id for request in life.sent(m.Create)}
    assert set(truth.names) <= creates, "orders that no intent of the journal explains"
    assert ended.died == ()
    assert int(ended.exit_code) == 0, (ended, trader.out.findings)
    for (market, outcome), qty in truth.held.items():
        if market in truth.resolved:
            continue  # nobody says who won; shares that lost stay in the books at no worth
        assert trader.ledgers.holdings(market)[outcome is Outcome.NO] == qty, (market, outcome)


def assert_answered_once(life: Life) -> None:
    """Every request that was sent got exactly one answer, by the journal."""
    sent, answered = set(), []
    for entry in life.entries:
        if isinstance(entry.message, m.Send):
            sent.add(entry.message.request_id)
        elif isinstance(entry.message, m.Response):
            answered.append(entry.message.request_id)
    assert len(answered) == len(set(answered))
    assert set(answered) == sent


def assert_exact(life: Life) -> None:
    """As `assert_safe`, and the books agree to the cent, nothing is found, all rested as wanted."""
    assert_safe(life)
    assert life.wanted == [], life.wanted
    assert life.trader.out.findings == {}
    assert life.ended is not None
    assert life.ended.report.ledger_difference_cents == 0
