"""The flow model of an event: how often fills come, and what they cost."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.fair_value.flow import (
    DECAY_MAX,
    DECAY_MIN,
    DISTANCES_CENTS,
    MARKOUT_NS,
    REFIT_NS,
    FlowModel,
    fit,
)
from bot.strategy.pricing.costs import adverse_prior, shrunk, slope_of
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price
from venue.wire.names import MarketId

BID, ASK = BookSide.BID, BookSide.ASK
A, B = MarketId("a"), MarketId("b")


def decide_for(learner: FlowModel, seconds: int, rungs: int = 1, since_ns: int = 0) -> int:
    """Decide once a second for so long; the time it is then."""
    fairs = dict.fromkeys(map(MarketId, map(str, range(rungs))), 50.0)
    for second in range(seconds + 1):
        learner.on_decision(fairs, since_ns + second * NS_PER_SECOND)
    return since_ns + seconds * NS_PER_SECOND


@given(st.floats(0.2, 1.5), st.floats(50, 5_000))
def test_the_fit_recovers_an_exponential(decay: float, amplitude: float) -> None:
    counts = [amplitude * math.exp(-decay * distance) for distance in DISTANCES_CENTS]
    enough = sum(count >= 1 for count in counts) >= 4
    found = fit(counts, 1_000.0)
    if enough:
        assert found is not None
        assert found == pytest.approx((amplitude / 1_000.0, decay), rel=1e-6)
    else:
        assert found is None


@pytest.mark.parametrize("decay", [0.05, 3.5])
def test_a_decay_outside_its_bounds_is_rejected(decay: float) -> None:
    assert not DECAY_MIN <= decay <= DECAY_MAX
    counts = [1e9 * math.exp(-decay * distance) for distance in DISTANCES_CENTS]
    assert fit(counts, 1_000.0) is None


def test_trades_count_by_their_distance_from_fair() -> None:
    learner = FlowModel()
    # Of every half a cent further there are half as many, buyers and sellers alike.
    for step in range(12):
        for _ in range(2 ** (12 - step)):
            learner.on_print(49.999 - 0.5 * step, Price(50), BID)
            learner.on_print(50.001 + 0.5 * step, Price(50), ASK)
    decide_for(learner, REFIT_NS // NS_PER_SECOND + 1)
    assert learner.intensity is not None
    assert learner.intensity.decay_per_cent == pytest.approx(2 * math.log(2), rel=0.1)


def test_nothing_is_fitted_before_ten_minutes_or_from_few_trades() -> None:
    learner = FlowModel()
    for distance in range(1, 7):
        learner.on_print(50.0, Price(50 + distance), BID)
    decide_for(learner, REFIT_NS // NS_PER_SECOND - 1)
    assert learner.intensity is None
    decide_for(learner, 5, since_ns=REFIT_NS)
    assert learner.intensity is None


def test_the_trade_rate_is_per_rung_and_side() -> None:
    def amplitude(rungs: int) -> float:
        learner = FlowModel()
        for distance in (1, 1, 2, 3, 4) * 20:
            learner.on_print(50.0, Price(50 + distance), BID)
        decide_for(learner, REFIT_NS // NS_PER_SECOND + 1, rungs)
        assert learner.intensity is not None
        return learner.intensity.amplitude_per_s

    assert amplitude(5) == pytest.approx(amplitude(1) / 5)


def test_a_trade_without_a_fair_value_changes_no_intensity() -> None:
    one, other = FlowModel(), FlowModel()
    for learner in (one, other):
        for distance in (1, 1, 2, 3, 4) * 20:
            learner.on_print(50.0, Price(50 + distance), BID)
    other.on_print(None, Price(99), BID)
    for learner in (one, other):
        decide_for(learner, REFIT_NS // NS_PER_SECOND + 1)
    assert one.intensity == other.intensity


@pytest.mark.parametrize(("side", "fair", "against"), [(BID, 47.0, 3.0), (ASK, 53.0, 3.0)])
def test_adverse_selection_is_measured_ten_seconds_after_a_fill(side, fair, against) -> None:
    learner = FlowModel()
    learner.on_own_fill(A, 50.0, side, 0)
    assert not learner.on_decision({A: fair}, MARKOUT_NS - 1)
    assert list(learner.on_decision({A: fair}, MARKOUT_NS)) == [A]
    learned = learner.adverse[A]
    mine, other = (
        (learned.bid_cents, learned.ask_cents)
        if side is BID
        else (learned.ask_cents, learned.bid_cents)
    )
    assert mine == pytest.approx(shrunk(against, 1, adverse_prior(slope_of(fair))))
    assert other is None
    assert B not in learner.adverse


def test_many_fills_outweigh_the_prior() -> None:
    learner = FlowModel()
    for number in range(2_000):
        learner.on_own_fill(A, 50.0, BID, number)
        learner.on_decision({A: 48.0}, number + MARKOUT_NS)
    cents = learner.adverse[A].bid_cents
    assert cents is not None
    # About a hundred of them are remembered, and the prior weighs as much as fifty.
    assert 1.3 < cents < 2.0


def test_a_fill_without_a_fair_value_changes_no_adverse_selection() -> None:
    learner = FlowModel()
    learner.on_own_fill(A, None, BID, 0)
    assert not learner.on_decision({A: 50.0}, MARKOUT_NS)
    learner.on_own_fill(A, 50.0, BID, 0)
    assert not learner.on_decision({A: None}, MARKOUT_NS)
    assert not learner.adverse


def test_the_strategy_sees_intensity_and_adverse_selection() -> None:
    seen = []

    class Listening(FixedSpread):
        def quote(self, view):
            seen.append(view)
            return super().quote(view)

    thin = Thin([60], lambda: Listening(FixedSpread.Params()))
    thin.start()
    learner = thin.trader.quoting.ladders[0].flow
    for distance in (1, 1, 2, 3, 4) * 20:
        learner.on_print(50.0, Price(50 + distance), BID)
    learner.on_own_fill(thin.markets[0].market_id, 70.0, BID, thin.now_ns)

    def swing() -> None:
        thin.mids[0] = 121 - thin.mids[0]
        thin.show(0)

    thin.run(12, swing, NS_PER_SECOND)
    learned = seen[-1].rungs[0].adverse_bid_cents
    assert learned is not None
    assert learned > 0.2
    assert seen[-1].intensity is None
    thin.run(REFIT_NS / NS_PER_SECOND, swing, NS_PER_SECOND)
    assert seen[-1].intensity == learner.intensity is not None
