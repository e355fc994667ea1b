"""Values stated from outside move the fair curve; stale, malformed and absurd ones are dropped."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.fair_value.curve import FairCurve, RungInput
from bot.core.fair_value.outside_values import OutsideCurve, StatedValue
from bot.core.report import OutsideValueReport
from bot.core.settings import OPERATOR, OutsideSource
from tests.builders.bot.thin import EVENT, SERIES, START_NS, Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty
from venue.wire.names import Ticker

HOUR_NS = 3_600 * NS_PER_SECOND
MIDS = [80, 65, 50, 35, 20]  # strikes of $100B to $140B: the market's median is $120B
MODEL = OutsideSource(name="model", max_age_ns=2 * HOUR_NS)


TICKERS = [Ticker(f"{EVENT}-{strike}B") for strike in range(100, 150, 10)]
BOOKS = [
    RungInput(((Price(mid - 2), Qty(100)),), ((Price(mid + 2), Qty(100)),), START_NS, None)
    for mid in MIDS
]
LEFT_S = 60 * 86_400.0


def market_curve() -> FairCurve:
    curve = FairCurve([1e9 * strike for strike in range(100, 150, 10)])
    curve.update(BOOKS, None, LEFT_S, START_NS)
    return curve


def world(*sources: OutsideSource) -> Thin:
    thin = Thin(MIDS, outside_sources=sources or (MODEL,))
    thin.start()
    return thin


def statement(value: float = 122e9, **changes: object) -> m.OutsideValue:
    wanted = {
        "source": "model",
        "about": SERIES,
        "unit": m.ValueUnit.DOLLARS,
        "value": value,
        "sd": 2e9,
        "observed_ns": START_NS,
        "until_ns": START_NS + HOUR_NS,
        **changes,
    }
    return m.OutsideValue(**wanted)


def stated(thin: Thin, value: float = 122e9, **changes: object) -> m.OutsideValue:
    times = {"observed_ns": thin.now_ns, "until_ns": thin.now_ns + HOUR_NS}
    return statement(value, **{**times, **changes})


def chance(thin: Thin, rung: int, value: float, **changes: object) -> m.OutsideValue:
    ticker = thin.markets[rung].ticker
    wanted = {"about": ticker, "unit": m.ValueUnit.CHANCE, "sd": 0.02, **changes}
    return stated(thin, value, **wanted)


def fairs_after(thin: Thin, *values: m.Event) -> list[float]:
    """The fair values five seconds after these."""
    for value in values:
        thin.give(value)
    thin.run(5)
    return fairs(thin)


def fairs(thin: Thin) -> list[float]:
    (event,) = thin.trader.report(thin.now_ns).events
    return [rung.fair_cents or math.nan for rung in event.rungs]


def row(thin: Thin) -> OutsideValueReport:
    (event,) = thin.trader.report(thin.now_ns).events
    (found,) = event.outside_values
    return found


def alert(thin: Thin) -> str:
    return thin.trader.out.findings.get("outside_value_unused", "")


def quotes(thin: Thin) -> int:
    return len(thin.orders)


@given(st.floats(110e9, 130e9), st.floats(0.1e9, 8e9), st.floats(0, 1))
def test_a_value_moves_every_rung_towards_it_and_never_past_it(value, sd, weight):
    curve, moved = market_curve(), OutsideCurve()
    before = [fair.value_cents for fair in curve.published if fair is not None]
    source = OutsideSource(name="model", weight=weight, max_deviations=1_000)
    moved.use([StatedValue(statement(value, sd=sd), source)])
    fairs = moved.adjusted(curve, TICKERS, LEFT_S, START_NS)
    (row,) = moved.rows(START_NS)
    assert row.market == pytest.approx(120e9, rel=0.01)
    assert not row.unused
    sign = 1 if value > row.market else -1
    # All the way is a move of log(value / market) along the strikes.
    steepest = 40 * curve.line.steepness
    all_the_way = steepest * abs(math.log(value / row.market))
    for old, fair in zip(before, fairs, strict=True):
        assert -0.01 <= sign * (fair.value_cents - old) <= all_the_way + 0.01


@given(st.floats(60e9, 240e9), st.floats(1e6, 50e9), st.floats(0.5, 6))
def test_one_value_moves_the_curve_by_no_more_than_its_bound_of_the_markets_error(value, sd, most):
    curve, moved = market_curve(), OutsideCurve()
    source = OutsideSource(name="model", max_deviations=most)
    moved.use([StatedValue(statement(value, sd=sd), source)])
    market = curve.published[2]
    (fair,) = moved.adjusted(curve, TICKERS, LEFT_S, START_NS)[2:3]
    assert abs(fair.value_cents - market.value_cents) <= most * market.sd_cents + 0.3


def test_a_value_counts_by_its_precision_times_its_weight():
    moves = {}
    for weight, sd in ((1.0, 0.8e9), (0.25, 0.8e9), (1.0, 1.6e9), (0.0, 0.8e9)):
        thin = world(OutsideSource(name="model", weight=weight))
        before = fairs(thin)[2]
        moves[weight, sd] = fairs_after(thin, stated(thin, 123e9, sd=sd))[2] - before
    assert moves[1.0, 0.8e9] > 2 * moves[0.25, 0.8e9] > 1
    assert moves[0.25, 0.8e9] == pytest.approx(moves[1.0, 1.6e9], abs=0.3)
    assert moves[0.0, 0.8e9] == 0


def test_two_sources_that_agree_move_the_curve_further_than_one():
    both = world(MODEL, OutsideSource(name="other"))
    one = fairs_after(both, stated(both, 124e9))[2]
    two = fairs_after(both, stated(both, 124e9, source="other"))[2]
    assert two > one + 0.4


def test_a_chance_moves_its_own_rung():
    thin = world()
    before = fairs(thin)
    after = fairs_after(thin, chance(thin, 2, 0.54, sd=0.01))
    assert after[2] > before[2] + 0.3
    assert [after[place] for place in (0, 1, 3, 4)] == [before[place] for place in (0, 1, 3, 4)]


def test_the_curve_learns_nothing_of_values_from_outside():
    advised, alone = market_curve(), market_curve()
    moved = OutsideCurve()
    moved.use([StatedValue(statement(125e9), MODEL)])
    for second in range(1, 600):
        now_ns = START_NS + second * NS_PER_SECOND
        fairs = moved.adjusted(advised, TICKERS, LEFT_S, now_ns)
        for curve in (advised, alone):
            curve.update(BOOKS, None, LEFT_S, now_ns)
    assert fairs != advised.published
    assert advised.line == alone.line
    assert advised.published == alone.published


@pytest.mark.parametrize("unit", [m.ValueUnit.DOLLARS, m.ValueUnit.CHANCE])
def test_an_absurd_value_is_dropped_with_an_alert_while_quoting_goes_on(unit):
    thin = world()
    before, resting = fairs(thin), quotes(thin)
    absurd = stated(thin, 12.2e9) if unit is m.ValueUnit.DOLLARS else chance(thin, 2, 0.05)
    assert fairs_after(thin, absurd) == before
    assert "standard deviations from the market's" in alert(thin)
    assert row(thin).unused in alert(thin)
    assert quotes(thin) == resting > 0
    assert not thin.trader.restrictions


def test_a_dropped_value_stays_dropped_until_its_source_states_another():
    thin = world()
    fairs_after(thin, stated(thin, 150e9, sd=1e9))
    assert alert(thin)
    thin.mids = [97, 95, 90, 80, 70]
    thin.show_all()
    fairs_after(thin)
    assert alert(thin)
    fairs_after(thin, stated(thin, 150e9, sd=20e9))
    assert not alert(thin)
    assert not row(thin).unused


def test_the_bound_of_deviations_is_that_of_the_source():
    strict, lenient = (
        world(OutsideSource(name="model", max_deviations=bound)) for bound in (1.0, 9.0)
    )
    for thin in (strict, lenient):
        fairs_after(thin, stated(thin, 127e9, sd=2e9))
    assert alert(strict)
    assert not alert(lenient)


def test_a_value_expires_at_its_instant_and_the_curve_is_the_markets_again():
    thin = world()
    before = fairs(thin)
    value = stated(thin, 125e9, until_ns=thin.now_ns + 10 * NS_PER_SECOND)
    assert fairs_after(thin, value) != before
    decided = thin.trader.quoting.ladders[0].decided_ns
    assert decided < value.until_ns
    thin.run((value.until_ns - thin.now_ns) / NS_PER_SECOND - 0.001)
    assert row(thin).unused == ""
    thin.run(0.002)
    assert thin.trader.quoting.ladders[0].decided_ns == value.until_ns
    assert fairs(thin) == pytest.approx(before, abs=0.3)
    assert row(thin).unused == "expired"


def test_a_polled_source_without_a_newer_value_raises_an_alert_and_the_operator_none():
    for source, is_fault in (("model", True), (OPERATOR, False)):
        thin = world()
        until_ns = thin.now_ns + 3 * NS_PER_SECOND
        fairs_after(thin, stated(thin, source=source, until_ns=until_ns))
        assert bool(alert(thin)) is is_fault
        assert row(thin).unused == "expired"


def test_a_value_expires_at_the_age_that_its_source_may_have():
    thin = world(OutsideSource(name="model", max_age_ns=60 * NS_PER_SECOND))
    fairs_after(thin, stated(thin))
    assert row(thin).left_ns == 55 * NS_PER_SECOND


def test_an_older_value_counts_for_less():
    moves = []
    for age_ns in (0, 2 * 86_400 * NS_PER_SECOND):
        thin = world(OutsideSource(name="model", max_age_ns=9 * 86_400 * NS_PER_SECOND))
        before = fairs(thin)[2]
        value = stated(thin, 124e9, observed_ns=thin.now_ns - age_ns)
        moves.append(fairs_after(thin, value)[2] - before)
    assert moves[0] > moves[1] + 0.25


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"value": 0.0}, "a dollars of 0"),
        ({"value": math.nan}, "a dollars of nan"),
        ({"sd": 0.0}, "a standard deviation of 0"),
        ({"sd": math.inf}, "a standard deviation of inf"),
        ({"unit": m.ValueUnit.CHANCE, "value": 1.0}, "a chance of 1"),
        ({"observed_ns": 2**62}, "its time lies ahead"),
        ({"source": "nobody"}, "the configuration has no such source"),
    ],
)
def test_a_malformed_value_raises_an_alert_and_the_former_one_stays(changes, why):
    thin = world()
    fairs_after(thin, stated(thin, 122e9))
    fairs_after(thin, stated(thin, **{"value": 125e9, **changes}))
    assert why in alert(thin)
    assert row(thin).value == 122e9
    fairs_after(thin, stated(thin, 123e9), m.OutsideValueCleared("nobody"))
    assert not alert(thin)


def test_a_source_that_cannot_be_read_raises_an_alert_until_it_can():
    thin = world()
    fairs_after(thin, m.OutsideSourceRead("model", "value.json, line 1: not JSON"))
    assert alert(thin) == "model: value.json, line 1: not JSON"
    fairs_after(thin, m.OutsideSourceRead("model"))
    assert not alert(thin)


def test_a_value_about_nothing_of_the_series_raises_an_alert():
    thin = world()
    fairs_after(thin, stated(thin, about=Ticker("OTHER")))
    assert "about no event or market of the series" in alert(thin)


def test_a_cleared_value_moves_nothing_any_more():
    thin = world()
    before = fairs(thin)
    fairs_after(thin, stated(thin, 125e9), chance(thin, 1, 0.6))
    assert fairs_after(thin, m.OutsideValueCleared("model", SERIES)) != before
    assert fairs_after(thin, m.OutsideValueCleared("model")) == pytest.approx(before, abs=0.3)
    assert not thin.trader.report(thin.now_ns).events[0].outside_values


def test_a_binary_market_takes_a_chance_and_no_value_in_dollars():
    thin = Thin([40], outside_sources=(MODEL,))
    thin.markets = [msgspec.structs.replace(thin.markets[0], strike_value=None, strike_unit=None)]
    thin.start()
    before = fairs(thin)
    fairs_after(thin, stated(thin, about=EVENT))
    assert fairs(thin) == before
    assert "binary market" in alert(thin)
    assert (
        fairs_after(thin, m.OutsideValueCleared("model"), chance(thin, 0, 0.44, sd=0.01)) > before
    )


def test_without_prices_of_the_market_no_value_counts():
    thin = Thin(MIDS, outside_sources=(MODEL,))
    thin.show_all = lambda: None
    thin.show = lambda index, ts_ns=None: None
    thin.start()
    fairs_after(thin, stated(thin))
    assert row(thin).unused == "no prices of the market to compare it with"
    assert not alert(thin)


def test_a_value_that_came_before_its_event_is_used_once_that_is_listed():
    thin = Thin(MIDS, outside_sources=(MODEL,))
    thin.give(stated(thin, 123e9, about=EVENT))
    thin.start()
    assert not row(thin).unused
    assert row(thin).market is not None
    assert not alert(thin)


@given(st.lists(st.tuples(st.floats(100e9, 150e9), st.floats(1e8, 2e10)), max_size=4))
def test_the_curve_never_rises_whatever_is_stated(values):
    curve, moved = market_curve(), OutsideCurve()
    source = OutsideSource(name="model", max_deviations=1_000)
    rungs = [statement(0.5, about=TICKERS[place], unit=m.ValueUnit.CHANCE, sd=0.01)
             for place in range(len(values))]  # fmt: skip
    dollars = [statement(value, sd=sd) for value, sd in values]
    moved.use([StatedValue(value, source) for value in (*dollars, *rungs)])
    fairs = [fair.value_cents for fair in moved.adjusted(curve, TICKERS, LEFT_S, START_NS)]
    assert fairs == sorted(fairs, reverse=True)
    assert 0.5 <= fairs[-1] <= fairs[0] <= 99.5
