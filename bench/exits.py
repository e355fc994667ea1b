"""Exits of an event: how often flat, how often the cap ends them, and the preview against what came
of it.

A trader holds shares bought or sold at the touch, quotes nothing, and must exit at a random moment:
on two recorded full-depth tapes of one rung, in a backtest with the pessimistic queue, 100 exits
within two minutes each; and under 100 seeds of the crowd on five rungs, within a minute, in the
real engine. The cap is one to eight cents a share. Anchor: what crossing everything at once
would have cost on the same books, and the share of it that each cap pays for.
"""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from bench.crowded import RESOLUTION_NS, CrowdedMarket, clock
from bench.maker import TERMS
from bot.core import messages as m
from bot.core.quoting.exit import CAP_REACHED, FLAT, NOTHING_TO_CROSS, TIME_OVER
from bot.core.report import ExitPreview
from bot.core.settings import CurfewSettings, RiskSettings, TraderSettings
from bot.core.trader import Trader
from bot.lab.backtest.run import Backtest
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.strategy.api import EventView, Quotes, Strategy, Take
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import Tape, read_tape
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, FeeRate, Price, Qty

_TAPES: Final = tuple(
    Path(__file__).resolve().parents[2] / "shared/data" / name
    for name in ("inxd-23apr10", "inxd-23apr13")
)
_EACH: Final = 50
_CROWD_SEEDS: Final = 100
_CAPS: Final = (1, 2, 4, 8)
_OUTCOMES: Final = (FLAT, CAP_REACHED, NOTHING_TO_CROSS, TIME_OVER)
_SIZES: Final = (10, 30, 100)
_TAPE_NS: Final = 120 * NS_PER_SECOND
_CROWD_NS: Final = 60 * NS_PER_SECOND
_CROWD_S: Final = 130.0
_RATES: Final = (FeeRate.parse("0.0100"), FeeRate.parse("0.0175"))


class Holds(Strategy):
    """Takes from the touch until it holds what is wanted on each rung, and wants nothing else."""

    def __init__(self, wanted: dict[int, int]) -> None:
        """wanted: YES less NO shares by place of the rung."""
        super().__init__(None)
        self.wanted = wanted

    def quote(self, view: EventView) -> Quotes:
        out: dict[str, tuple[Take, ...]] = {}
        for place, rung in enumerate(view.rungs):
            missing = self.wanted.get(place, 0) - rung.net_qty
            side = BookSide.BID if missing > 0 else BookSide.ASK
            touch = rung.best_ask if missing > 0 else rung.best_bid
            if missing and touch is not None and rung.quotable:
                out[rung.market_id] = (Take(side, Price(touch), Qty(abs(missing))),)
        return out  # type: ignore[return-value]


class Exited(NamedTuple):
    """One exit. cap: cents a share."""

    cap: int
    expected: ExitPreview
    left: int
    cost_cents: int
    over: str  # how it ended

    @property
    def shares(self) -> int:
        return self.expected.start_qty


class Sequel:
    """Holds, exits and resumes, one exit after the other."""

    def __init__(self, rng: random.Random, count: int, within_ns: int) -> None:
        self.found: list[Exited] = []
        self.strategy = Holds({})
        self._rng, self._left, self._within_ns = rng, count, within_ns
        self._next_ns = 0
        self._cap = 0
        self._is_running = False

    def step(self, trader: Trader, now_ns: int, tell: Callable[[m.Event], None]) -> bool:
        """False once all are over."""
        if now_ns < self._next_ns or not (self._left or self._is_running):
            return bool(self._left or self._is_running)
        self._next_ns = now_ns + NS_PER_SECOND
        ladders = trader.quoting.ladders
        if not ladders:
            return True
        ladder, rng = ladders[0], self._rng
        event = ladder.event.event_ticker
        if self._is_running:
            running = ladder.exit
            if running is not None and running.is_noted:
                self._take_down(trader, now_ns)
                tell(m.ResumeRequested(event=event))
                self._is_running = False
            return bool(self._left or self._is_running)
        held = [sum(trader.ledgers.holdings(rung.market_id)) for rung in ladder.rungs]
        if not self.strategy.wanted:
            rungs = range(len(ladder.rungs))
            sizes = [rng.choice(_SIZES) * rng.choice((1, -1)) for _ in rungs]
            self.strategy.wanted = dict(zip(rungs, sizes, strict=True))
            ladder.needs_decision = True
            self._next_ns = now_ns + rng.randint(10, 40) * NS_PER_SECOND
        elif any(held):
            self._left -= 1
            self._is_running = True
            self.strategy.wanted = {}
            self._cap = rng.choice(_CAPS)
            most = Cents(self._cap * _net(trader))
            tell(m.ExitRequested(event, self._within_ns, most, "bench"))
        return True

    def _take_down(self, trader: Trader, now_ns: int) -> None:
        done = trader.report(now_ns).events[0].exit
        if done is not None and done.preview is not None and done.preview.start_qty:
            self.found.append(
                Exited(self._cap, done.preview, done.left_qty, done.cost_cents, done.over)
            )


def _net(trader: Trader) -> int:
    held = [trader.ledgers.holdings(r.market_id) for r in trader.quoting.ladders[0].rungs]
    return sum(abs(yes - no) for yes, no in held)


def _settings(series: str) -> TraderSettings:
    risk = RiskSettings(
        event_loss_cents=Cents(30_000),
        series_loss_cents=Cents(30_000_000),
        rung_position_qty=Qty(1_000_000),
        order_qty=Qty(10_000),
    )
    nothing = CurfewSettings(halve_ns=0, reduce_ns=0)
    return TraderSettings(series_ticker=series, risk=risk, curfew=nothing)  # type: ignore[arg-type]


def exited(
    sequel: Sequel, tape: Tape, terms: Terms, venue: CrowdedMarket | None = None
) -> list[Exited]:
    """Exits one after the other: along a tape, or with `venue` among its crowd."""
    resolution_ns = None if venue is None else RESOLUTION_NS
    settings, model = _settings(tape.series), QueueModel.PESSIMISTIC
    run = Backtest(tape, settings, lambda: sequel.strategy, model, terms, resolution_ns, venue)
    run.run(lambda _: sequel.step(run.trader, run.recorded_ns, run.deliver))
    return sequel.found


def on_tape(folder: Path, count: int) -> list[Exited]:
    terms = Terms(maker_rate=_RATES[0], taker_rate=_RATES[1], cash_cents=Cents(100_000_000))
    sequel = Sequel(random.Random(f"exits {folder.name}"), count, _TAPE_NS)
    return exited(sequel, read_tape(folder), terms)


def under_crowd(seed: int) -> list[Exited]:
    """One exit of five rungs."""
    ticking = clock(seed, _CROWD_S)
    venue = CrowdedMarket(ticking, CrowdSettings(seed=seed), TERMS)
    return exited(Sequel(random.Random(seed), 1, _CROWD_NS), ticking, TERMS, venue)


@cache
def measured(quick: bool) -> dict[str, list[Exited]]:
    """The exits by market."""
    tapes = [folder for folder in _TAPES if folder.is_dir()]
    return {
        "tape": [each for folder in tapes for each in on_tape(folder, 5 if quick else _EACH)],
        "crowd": [
            each for seed in range(4 if quick else _CROWD_SEEDS) for each in under_crowd(seed)
        ],
    }


def table(found: dict[str, list[Exited]]) -> str:
    """A row for each market and cap; costs in cents a share held at the beginning."""
    rows = [
        f"| market | cap | exits | {' | '.join(_OUTCOMES)} | left | expected | cost | expected |"
        " error | at once |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for market, exits in found.items():
        for cap in (*_CAPS, 0):
            here = [each for each in exits if not cap or each.cap == cap]
            if here:
                rows.append(f"| {market} | {cap or 'all'} | {_row(here)} |")
    return "\n".join(rows)


def _row(here: list[Exited]) -> str:
    shares = sum(each.shares for each in here)
    errors = [(each.cost_cents - each.expected.cost_cents) / each.shares for each in here]
    return " | ".join(
        (
            str(len(here)),
            *(f"{sum(each.over == over for each in here) / len(here):.0%}" for over in _OUTCOMES),
            f"{sum(each.left for each in here) / shares:.1%}",
            f"{sum(each.expected.left_qty for each in here) / shares:.1%}",
            f"{sum(each.cost_cents for each in here) / shares:.2f}",
            f"{sum(each.expected.cost_cents for each in here) / shares:.2f}",
            f"{sum(map(abs, errors)) / len(errors):.2f}",
            f"{sum(each.expected.now_cost_cents for each in here) / shares:.2f}",
        )
    )


def run(quick: bool) -> list[tuple[str, str]]:
    found = measured(quick)
    return [("exits", "\n" + table(found))]
