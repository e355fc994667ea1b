"""A backtest against the embedded venue on the same flow: profit, fills and markouts of the whole
trader with the demo's configuration.

Of each seed the crowd's session is played twice: with the trader in it, where the queue is real and
the crowd meets its orders, and among itself. The second is recorded, and the trader is backtested
on that recording under each reading of the queue. Loop, latency, fees and reads are the same code.
Marked to the true fair value, which both sessions have in common; a markout is what shares gained
by it within ten seconds of a fill. Anchor: the embedded venue. Differences are paired by seed, with
bootstrapped 95 % intervals.
"""

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from bench.crowded import RESOLUTION_NS, TEN_MAKERS, CrowdedMarket, clock, recorded
from bot.config.bot_config import BotConfig, finish, read_draft
from bot.lab.backtest.run import Backtest
from bot.lab.evaluate.statistics import mean_difference, resamples
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.exchange import PaperAccount
from bot.lab.exchange.queue_model import QueueModel
from venue.crowd.latent import GRID_NS, LatentValue, fair_cents, remaining_sd
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import Tape, tape_catalogue
from venue.engine.messages import ListEvent
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, FeeRate, book_side, canonical
from venue.wire.names import MarketId

_CONFIG: Final = Path(__file__).resolve().parents[1] / "configs/demo.yaml"
_TERMS: Final = Terms(maker_rate=FeeRate.parse("0.0100"), taker_rate=FeeRate.parse("0.0175"))
_SEEDS: Final = range(1, 9)
_MARKOUT_NS: Final = 10 * NS_PER_SECOND

CROWDS: Final = {
    "the demo's crowd": CrowdSettings(noise_takes_per_rung_per_minute=12, informed_share=0.05),
    "ten makers a rung": TEN_MAKERS,
}


class Score(NamedTuple):
    """The result of a run. Dollars, shares; markout: dollars."""

    profit: float
    fills: float
    shares: float
    markout: float


class Fairs:
    """The true value of every rung of a session at every instant."""

    def __init__(self, ticking: Tape, crowd: CrowdSettings) -> None:
        self._crowd = crowd
        self._log_strikes = {
            rung.market_id: math.log(float(rung.strike or 0)) for rung in ticking.rungs
        }
        catalogue = tape_catalogue(ticking, RESOLUTION_NS, _TERMS.maker_rate, _TERMS.taker_rate)
        (event,) = [each for each in catalogue if isinstance(each, ListEvent)]
        log_start = statistics.median(self._log_strikes.values())
        self._start_ns = ticking.start_ts
        latent = LatentValue(crowd, event.event_ticker, log_start, self._start_ns)
        self._values = [log_start]
        for at_ns in range(self._start_ns + GRID_NS, ticking.end_ts + 1, GRID_NS):
            latent.advance(at_ns)
            self._values.append(latent.at(at_ns))

    def cents(self, market: MarketId, at_ns: int) -> float:
        """The fair price of YES; after the end that of the end."""
        place = min((at_ns - self._start_ns) // GRID_NS, len(self._values) - 1)
        sd = remaining_sd(self._crowd, RESOLUTION_NS - at_ns)
        return fair_cents(self._values[max(0, place)], self._log_strikes[market], sd)

    def score(self, account: PaperAccount, end_ns: int) -> Score:
        gained = gained_soon = 0.0
        for fill in account.fills:
            sign = 1 if book_side(fill.outcome, fill.side) is BookSide.BID else -1
            price = canonical(fill.outcome, fill.outcome_price)
            soon = self.cents(fill.market_id, fill.at_ns + _MARKOUT_NS)
            gained_soon += sign * (soon - price) * fill.qty
            gained += sign * (self.cents(fill.market_id, end_ns) - price) * fill.qty
            gained -= fill.fee_cents
        shares = sum(fill.qty for fill in account.fills)
        return Score(gained / 100, len(account.fills), shares, gained_soon / 100)


def lived(config: BotConfig, crowd: CrowdSettings, seed: int, seconds: float) -> dict[str, Score]:
    """The score in the embedded venue, as `venue`, and of the backtest under each reading."""
    crowd = crowd.model_copy(update={"seed": seed})
    ticking = clock(seed, seconds)
    fairs = Fairs(ticking, crowd)
    scores = {}
    tape = recorded(ticking, crowd, _TERMS)
    runs = {"venue": (ticking, QueueModel.PESSIMISTIC)}
    runs |= {reading.value: (tape, reading) for reading in QueueModel}
    for name, (played, reading) in runs.items():
        venue = CrowdedMarket(ticking, crowd, _TERMS) if name == "venue" else None
        run = Backtest(
            played, config.trader, config.make_strategy, reading, _TERMS, RESOLUTION_NS, venue
        ).run()
        run.venue.account.prove(run.venue.gain_cents)
        scores[name] = fairs.score(run.venue.account, ticking.end_ts)
    return scores


def _rows(name: str, found: Sequence[dict[str, Score]]) -> list[tuple[str, str]]:
    places = resamples(len(found))
    table = {run: np.array([scores[run] for scores in found], dtype=float) for run in found[0]}
    rows = []
    for run, scores in table.items():
        profit, fills, shares, markout = scores.mean(axis=0).tolist()
        summary = (
            f"profit ${profit:.2f}, {fills:.0f} fills, {shares:.0f} shares, "
            f"markout {100 * markout / max(1.0, shares):+.2f} c a share"
        )
        if run != "venue":
            gaps = {
                label: mean_difference(scores[:, column], table["venue"][:, column], places)
                for column, label in enumerate(("profit $", "fills ", "shares "))
            }
            parts = [
                f"{label}{gap.value:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}]"
                for label, gap in gaps.items()
            ]
            summary += "; less the venue's: " + ", ".join(parts)
        rows.append((f"{name}, {run}", summary))
    return rows


def run(quick: bool) -> list[tuple[str, str]]:
    config = finish(read_draft(_CONFIG))
    rows = []
    for name, crowd in CROWDS.items():
        seeds = _SEEDS[:2] if quick else _SEEDS
        found = [lived(config, crowd, seed, 120 if quick else 300) for seed in seeds]
        rows += [(f"{name}: seeds", f"{len(found)}"), *_rows(name, found)]
    return rows
