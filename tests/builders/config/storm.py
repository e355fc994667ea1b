"""A bot in this process on a venue beside it, under a crowd, while its file changes all the time.

Every content names a number of its own, in a strategy's parameters and in each live section alike.
After every event that the trader takes in, the numbers that its parts hold are read: they are one
and the same, or a change was seen half done.
"""

import os
import random
import secrets
import signal
from collections import Counter
from pathlib import Path

import anyio

from bot.config.bot_config import BotConfig, finish, read_draft
from bot.config.live import LiveConfig
from bot.config.strategies import Makers
from bot.core import messages as m
from bot.core.orders.order import State
from bot.core.report import Phase
from bot.core.trader import Trader
from bot.io.adapter import VenueAddress, connect
from bot.io.client.native import NativeAdapter
from bot.io.clock import Clock
from bot.io.journal.journal import Journal
from bot.io.run.config_watcher import FileWatch
from bot.io.run.result import RunResult
from bot.io.run.runner import Child, Runner
from bot.io.run.watchdog import StrategyWatchdog
from bot.io.secret import Secret
from tests.builders.e2e.runs import Venue
from venue.wire.instant import NS_PER_MS

TEXT = """\
series: AURELIA-VAL
venue:
  base_url: {base_url}
  key_file: maker.key
strategy:
  name: fixed_spread
  params:
    half_spread_cents: 1
    lot_qty: {lot}
    max_position_qty: {number}
risk:
  event_loss_cents: 100000
  series_loss_cents: 200000
  rung_position_qty: {number}
  order_qty: 100
throttle:
  place_horizon_ms: {number}
jump_guard:
  print_qty: 0
  jump_cents: 0
  pull_ms: {number}
wind_down:
  halve_ms: {number}
breakers:
  rejects_per_minute: {number}
"""

WRONG = (
    ("order_qty: 100", "order_qty: 0"),
    ("order_qty: 100", "order_qty: 12.50"),
    ("order_qty: 100", "order_quantity: 100"),
    ("lot_qty: 1", "lot_qty: one"),
    ("name: fixed_spread", "name: fixed_spraed"),
    ("series_loss_cents: 200000", "series_loss_cents: 2"),
    ("jump_guard:", "jump_guard"),
    ("wind_down:", "risk:"),
    ("breakers:", "breakers: &all"),
    ("series: AURELIA-VAL", "series: QUILLON-VAL"),
    ("key_file: maker.key", "key_file: other.key"),
    ("throttle:\n", "throttle:\n  requests_in_flight: 7\n"),
    ("strategy:\n", "strategy:\n  budget_ms: 7\n"),
    ("breakers:", "budget:\n  burst: 300\nbreakers:"),
)
"""What makes a file wrong, or takes a restart: a text and what stands in its place."""


def numbers(trader: Trader) -> set[int]:
    """The numbers of the configurations that the parts of a trader hold to."""
    quoting = trader.quoting
    found = {
        trader.reconfiguration.settings.risk.rung_position_qty,
        quoting.settings.risk.rung_position_qty,
        quoting.weighing._limits.rung_position_qty,
        quoting._make_strategy().params.max_position_qty,
        trader._sending._settings.risk.rung_position_qty,
        trader._sending.checks.throttle._settings.place_horizon_ns // NS_PER_MS,
        trader.guard.breakers.limits.rejects_per_minute,
        trader.guard.breakers.limits.rejects_per_minute,
    }
    for ladder in quoting.ladders:
        found |= {
            ladder.strategy.params.max_position_qty,
            ladder.pace.place_horizon_ns // NS_PER_MS,
            ladder.wind_down.settings.halve_ns // NS_PER_MS,
            ladder.jump_guard._settings.pull_ns // NS_PER_MS,
        }
    found |= {each._limits.rung_position_qty for each in quoting.weighing._trimmers.values()}
    return found


class Storm:
    """One run under changes. mixed: numbers that were held at the same time. samples: how many
    quotable rungs had both sides, and how many there were, after each Beat while quoting. calm: the
    share of them in the second before the first change."""

    def __init__(self, folder: Path, venue: Venue, seed: int) -> None:
        self.folder = folder
        self.venue = venue
        self.chance = random.Random(seed)
        self.path = folder / "bot.yaml"
        (folder / "maker.key").write_text(venue.keys["maker"])
        (folder / "maker.key").chmod(0o600)
        self.number = 1_000
        self.path.write_text(self.text())
        self.config: BotConfig = finish(read_draft(self.path))
        self.watch = StrategyWatchdog(self.config.strategy_budget_ns)
        makers = Makers(folder, self.watch.wrapped)
        self.trader = Trader(self.config.trader, makers(self.config.choice), remake=makers)
        self.makers = makers
        self.mixed: list[set[int]] = []
        self.wrong: list[str] = []
        self.samples: list[tuple[int, int]] = []
        self.calm = 0.0
        self.kinds: Counter[str] = Counter()

        self.events = 0
        self._receive = self.trader.receive
        self.trader.receive = self.received  # type: ignore[method-assign]

    def text(self) -> str:
        lot = self.chance.randrange(10, 15)
        return TEXT.format(base_url=self.venue.base_url, number=self.number, lot=lot)

    def received(self, event: m.Event, now_ns: int) -> list[m.Effect]:
        effects = self._receive(event, now_ns)
        self.events += 1
        found = numbers(self.trader)
        if len(found) > 1:
            self.mixed.append(found)
        if isinstance(event, m.Tick) and self.trader.phase is Phase.QUOTING:
            self.samples.append(self.two_sided())
        return effects

    def two_sided(self) -> tuple[int, int]:
        """Rungs where orders of ours rest, or are being amended, on both sides; and all."""
        rungs = [rung for rung in self.trader.quoting.active_rungs() if not rung.blocked]
        standing = (State.OPEN, State.PENDING_REPLACE)
        sides = [
            {
                own.book_side
                for own in self.trader.desk.live(rung.market_id)
                if own.state in standing
            }
            for rung in rungs
        ]
        return sum(len(each) == 2 for each in sides), len(rungs)

    # --- the run ----------------------------------------------------------------------------------

    async def run(self, changes: int, *, only_valid: bool = False) -> RunResult:
        clock = Clock()
        state = self.folder / "state"
        state.mkdir()
        venue = self.config.venue
        address = VenueAddress(venue.base_url, venue.stream_url, Secret(self.venue.keys["maker"]))
        runner = Runner(
            self.trader,
            clock,
            connect(NativeAdapter(), address, 32),
            lambda failed: Journal(state, clock.now_ns(), failed),
            watch=self.watch,
            configured=self.config.configured,
        )
        live = LiveConfig(self.config, self.makers, self.trader.reconfiguration, runner.tell)
        watching = FileWatch([live], poll_s=0.1, settle_s=0.01)

        async def change() -> None:
            await self.until(lambda: share(self.samples[-20:]) > 0.75)
            self.samples.clear()
            await anyio.sleep(1)
            self.calm = share(self.samples)
            self.samples.clear()
            for _ in range(changes):
                await self.change(only_valid=only_valid)
            await anyio.sleep(0.2)
            runner.tell(m.StopRequested("the storm is over"))
            await anyio.sleep_forever()

        children = (Child("config", watching.run), Child("changes", change))
        return await runner.run(secrets.token_hex(10), children)

    async def until(self, holds) -> None:
        with anyio.fail_after(20):
            while not holds():  # noqa: ASYNC110 - a pure trader can wake nobody
                await anyio.sleep(0.005)

    async def change(self, *, only_valid: bool) -> None:
        """One change, and what has to come of it."""
        reconfiguration = self.trader.reconfiguration
        heard, before = reconfiguration.heard, self.in_force
        self.number += 1
        text = self.text()
        well = only_valid or self.chance.random() < 0.5
        if not well:
            text = self.spoiled(text)
        await self.write(text)
        os.kill(os.getpid(), signal.SIGHUP)
        await self.until(lambda: reconfiguration.heard > heard)
        expected = self.number if well else before
        self.kinds["applied" if well else "refused"] += 1
        if self.in_force != expected:
            self.wrong.append(f"{self.in_force} in force, {expected} expected:\n{text}")

    @property
    def in_force(self) -> int:
        return self.trader.reconfiguration.settings.risk.rung_position_qty

    def spoiled(self, text: str) -> str:
        how = self.chance.randrange(len(WRONG) + 2)
        if how < len(WRONG):
            return text.replace(*WRONG[how])
        if how == len(WRONG):
            return text[: text.index("order_qty: 100")]
        return text + self.chance.choice(("\tx: 1\n", "series: ACME\n", "---\na: b\n", "\x00\n"))

    async def write(self, text: str) -> None:
        """As editors do: a new file in its place, at once, or bit by bit."""
        how = self.chance.randrange(3)
        if how == 0:
            fresh = self.folder / "bot.yaml.new"
            fresh.write_text(text)
            fresh.replace(self.path)
        elif how == 1:
            self.path.write_text(text)
        else:
            self.kinds["bit by bit"] += 1
            cut = self.chance.randrange(len(text))
            with self.path.open("w") as file:
                file.write(text[:cut])
                file.flush()
                os.kill(os.getpid(), signal.SIGHUP)
                await anyio.sleep(0.03)
                file.write(text[cut:])


def share(samples: list[tuple[int, int]]) -> float:
    """The part of all rungs, over all samples, that had both sides."""
    return sum(both for both, _ in samples) / max(1, sum(of for _, of in samples))
