"""Scores of live runs: our fair value, the mid and each source, at horizons before the end."""

import math

import pytest

from bot.core import messages as m
from bot.core.settings import OutsideSource
from bot.core.trader import Trader
from bot.lab.live_scores import FAIR, MID, LiveScore, LiveScores
from bot.lab.sim.venue import RESOLUTION_NS
from bot.lab.sim.world import START_NS as WORLD_START_NS
from tests.builders.bot.thin import SERIES, START_NS, Thin
from tests.builders.bot.worlds import calm, first_market, make_of, quoting
from tests.builders.io.commands import finished
from venue.engine import messages as v
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Outcome

MIDS = [80, 65, 50, 35, 20]
LEFT_S = 60 * 86_400
HORIZON_S = LEFT_S - 10
"""Ten seconds into the run."""


class Scored(Thin):
    """A run whose steps are scored."""

    def __init__(self, scores: LiveScores) -> None:
        self.scores = scores
        super().__init__(MIDS, outside_sources=(OutsideSource(name="model", weight=0.0),))

    def give(self, event: m.Event) -> list[m.Effect]:
        effects = super().give(event)
        self.scores.on_step(self.trader, event, effects, self.now_ns)
        return effects

    def tell_winner(self, rung: int, winner: Outcome) -> None:
        fields = {"market_id": self.markets[rung].market_id, "winner": winner.value}
        note = m.Noted("debug", "winner_told", fields)
        self.scores.on_step(self.trader, m.Tick(), [note], self.now_ns)


def scored(value: float = 130e9, horizon_s: int = HORIZON_S) -> Scored:
    """A run of 20 s with a source that states this value of the company."""
    run = Scored(LiveScores([horizon_s]))
    run.start()
    until_ns = START_NS + 3_600 * NS_PER_SECOND
    run.give(m.OutsideValue("model", SERIES, m.ValueUnit.DOLLARS, value, 2e9, run.now_ns, until_ns))
    run.run(15)
    return run


def by_way(run: Scored) -> dict[str, LiveScore]:
    return {each.way: each for each in run.scores.scores()}


def test_every_way_is_scored_on_the_rungs_whose_outcome_is_known():
    run = scored()
    run.tell_winner(2, Outcome.YES)  # so it won the two lower ones, too
    found = by_way(run)
    assert list(found) == [FAIR, MID, "model"]
    assert {each.forecasts for each in found.values()} == {3}
    chances = (0.8, 0.65, 0.5)
    assert found[MID].brier == pytest.approx(sum((1 - p) ** 2 for p in chances) / 3)
    assert found[MID].log_score == pytest.approx(sum(-math.log(p) for p in chances) / 3)
    assert found[MID].fair_brier == found[FAIR].brier == found[FAIR].fair_brier


def test_a_source_that_knew_better_scores_better_though_nothing_was_traded_on_it():
    run = scored()
    run.tell_winner(4, Outcome.YES)
    found = by_way(run)
    assert found["model"].brier < found[MID].brier - 0.02
    assert found["model"].log_score < found[MID].log_score
    assert found["model"].fair_brier == found[FAIR].brier


def test_an_event_without_an_outcome_is_not_scored():
    assert scored().scores.scores() == ()


@pytest.mark.parametrize("horizon_s", [LEFT_S + 1, LEFT_S - 3_600])
def test_a_time_that_no_run_saw_is_not_scored(horizon_s):
    run = scored(horizon_s=horizon_s)
    run.tell_winner(2, Outcome.YES)
    assert run.scores.scores() == ()


def test_a_run_that_was_away_at_the_time_does_not_count():
    run = Scored(LiveScores([HORIZON_S]))
    run.start()
    run.now_ns += 120 * NS_PER_SECOND
    run.run(1)
    run.tell_winner(2, Outcome.YES)
    assert run.scores.scores() == ()


def test_an_event_that_the_venue_settles_in_the_run_is_scored():
    world = quoting(calm(rungs=(1,), crowd_per_second=80.0, variants={}))
    horizon_s = (RESOLUTION_NS + WORLD_START_NS - world.now_ns) // NS_PER_SECOND
    world.wait(NS_PER_SECOND)
    world.crowd_acts(world.now_ns + 10 * NS_PER_SECOND)
    truth = world.auditor.truth
    market = first_market(world)
    assert world.driver.run_until(world.now_ns + 20 * NS_PER_SECOND, lambda: truth.net(market) != 0)
    world.exchange.execute(v.ResolveMarket(market, Outcome.YES), world.now_ns)
    world.wait(25 * NS_PER_SECOND)
    scores, trader = LiveScores([horizon_s]), Trader(world.process.settings, make_of(world))
    for event, at_ns, _ in world.process.log:
        scores.on_step(trader, event, trader.receive(event, at_ns), at_ns)
    assert [(each.way, each.forecasts) for each in scores.scores()] == [(FAIR, 1), (MID, 1)]


def test_without_a_journal_the_command_ends_with_3(tmp_path):
    done = finished("bot", "calibrate", tmp_path, "--live")
    assert done.returncode == 3
    assert "no journal here" in done.stderr
