"""The fair curve over all rungs, its monotone repair, and what it implies."""

import itertools
import math
import random

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.core.distribution import bucket_masses, monotone
from bot.core.fair_value.curve import Fair, FairCurve, RungInput
from bot.strategy.api import ImpliedView, Levels
from bot.strategy.pricing.arbitrage import Arbitrage, arbitrages
from bot.strategy.pricing.probit import from_probit
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty

S = NS_PER_SECOND
QUARTER_S = 90 * 86_400.0
STRIKES = [100.0 * 1.08**index for index in range(7)]
EMPTY = RungInput((), (), 0, None)


def book(bid: int | None, ask: int | None, size: int = 50) -> RungInput:
    def side(price: int | None) -> Levels:
        return () if price is None else ((Price(price), Qty(size)),)

    return RungInput(side(bid), side(ask), 0, None)


def survival(median: float, log_sd: float, strikes: list[float] = STRIKES) -> list[float]:
    return [from_probit(math.log(median / strike) / log_sd) for strike in strikes]


def around(value: float, half: int = 2) -> RungInput:
    middle = min(96, max(4, round(value)))
    return book(middle - half, middle + half)


def known(curve: tuple[Fair | None, ...]) -> list[Fair]:
    fairs = [fair for fair in curve if fair is not None]
    assert len(fairs) == len(curve)
    return fairs


def test_without_data_there_is_no_fair_value() -> None:
    curve = FairCurve(STRIKES).update([EMPTY] * 7, None, QUARTER_S, 0)
    assert curve == (None,) * 7


@pytest.mark.parametrize(
    ("strikes", "median", "log_sd", "left_s", "off"),
    [
        (STRIKES, 130.0, 0.25, QUARTER_S, 0.5),
        ([6_900.0 + 15 * index for index in range(7)], 6_945.0, 0.005, 20_000.0, 0.7),
    ],
    ids=["a quarter", "a day"],
)
def test_the_curve_recovers_a_lognormal_ladder(strikes, median, log_sd, left_s, off):
    truth = survival(median, log_sd, strikes)
    fairs = known(FairCurve(strikes).update([around(v) for v in truth], None, left_s, 0))
    for fair, value in zip(fairs, truth, strict=True):
        assert fair.value_cents == pytest.approx(value, abs=off)


@pytest.mark.parametrize(("led_cents", "led_qty", "moves"), [(75, 1, False), (75, 5, True)])
def test_few_shares_on_a_one_sided_book_do_not_move_the_value(led_cents, led_qty, moves) -> None:
    strikes = STRIKES[:3]
    stands = ((Price(40), Qty(50)),)
    led = ((Price(led_cents), Qty(led_qty)), *stands)
    values = []
    for bids in (stands, led):
        one_sided = RungInput(bids, (), 0, None)
        inputs = [book(60, 64), one_sided, book(30, 34)]
        values.append(
            [
                fair.value_cents
                for fair in known(FairCurve(strikes).update(inputs, None, QUARTER_S, 0))
            ]
        )
    assert (values[0] != values[1]) is moves


def test_the_curve_beats_the_mids_on_noisy_books() -> None:
    rng = random.Random(11)
    raw_error = fit_error = 0.0
    for trial in range(60):
        truth = survival(rng.uniform(105, 160), rng.uniform(0.15, 0.4))
        middles = [min(95, max(5, round(v + rng.gauss(0, 2)))) for v in truth]
        inputs = [book(m - 2, m + 2) for m in middles]
        fairs = known(FairCurve(STRIKES).update(inputs, None, QUARTER_S, trial))
        raw_error += sum((m - v) ** 2 for m, v in zip(middles, truth, strict=True))
        fit_error += sum((f.value_cents - v) ** 2 for f, v in zip(fairs, truth, strict=True))
    assert fit_error < 0.6 * raw_error


def test_the_curve_follows_a_lasting_shape_that_is_not_lognormal() -> None:
    bent = [90.0, 88.0, 86.0, 50.0, 14.0, 12.0, 10.0]
    curve = FairCurve(STRIKES)
    inputs = [around(value, 1) for value in bent]
    first = known(curve.update(inputs, None, QUARTER_S, 0))
    later = first
    for minute in range(1, 120):
        later = known(curve.update(inputs, None, QUARTER_S, minute * 60 * S))

    def off(fairs: list[Fair]) -> float:
        return max(abs(f.value_cents - v) for f, v in zip(fairs, bent, strict=True))

    assert off(later) < 1.0 < off(first)


def test_an_empty_rung_is_interpolated_with_a_larger_error() -> None:
    truth = survival(130.0, 0.25)
    inputs = [around(v) for v in truth]
    inputs[3] = EMPTY
    fairs = known(FairCurve(STRIKES).update(inputs, None, QUARTER_S, 0))
    assert fairs[3].value_cents == pytest.approx(truth[3], abs=1.0)
    assert fairs[3].sd_cents > fairs[2].sd_cents


def test_the_feed_alone_gives_a_curve() -> None:
    fairs = known(
        FairCurve(STRIKES).update([EMPTY] * 7, ImpliedView(STRIKES[3], 1.0, 0.0), QUARTER_S, 0)
    )
    assert fairs[3].value_cents == pytest.approx(50.0, abs=0.5)
    assert [fair.value_cents for fair in fairs] == sorted(
        (fair.value_cents for fair in fairs), reverse=True
    )


@pytest.mark.parametrize("age_s", [0.0, 40 * 86_400.0])
def test_an_older_or_less_certain_feed_pulls_less(age_s: float) -> None:
    inputs = [around(v) for v in survival(130.0, 0.25)]

    def middle(implied: ImpliedView | None) -> float:
        return known(FairCurve(STRIKES).update(inputs, implied, QUARTER_S, 0))[3].value_cents

    plain = middle(None)
    sure = middle(ImpliedView(180.0, 1.0, age_s))
    unsure = middle(ImpliedView(180.0, 0.0, age_s))
    assert plain < unsure < sure
    assert age_s == 0.0 or sure - plain < 0.5 * (middle(ImpliedView(180.0, 1.0, 0.0)) - plain)


def test_trades_move_the_fair_value_toward_their_price() -> None:
    inputs = [around(v) for v in survival(130.0, 0.25)]
    plain = known(FairCurve(STRIKES).update(inputs, None, QUARTER_S, 0))
    traded = [RungInput(each.bids, each.asks, 0, (each.bids[0][0], 0)) for each in inputs]
    low = known(FairCurve(STRIKES).update(traded, None, QUARTER_S, 0))
    assert all(a.value_cents < b.value_cents for a, b in zip(low, plain, strict=True))


def test_the_only_side_of_a_book_bounds_its_fair_value() -> None:
    inputs = [around(v) for v in survival(130.0, 0.25)]
    free = known(FairCurve(STRIKES).update(inputs, None, QUARTER_S, 0))[3].value_cents
    floor = math.ceil(free) + 3
    inputs[3] = book(floor, None)
    fairs = known(FairCurve(STRIKES).update(inputs, None, QUARTER_S, 0))
    assert fairs[3].value_cents == pytest.approx(floor)
    ceiling = math.floor(free) - 3
    inputs[3] = book(None, ceiling)
    fairs = known(FairCurve(STRIKES).update(inputs, None, QUARTER_S, 0))
    assert fairs[3].value_cents == pytest.approx(ceiling)


@pytest.mark.parametrize(
    ("value", "confidence"),
    [(0.0, 1.0), (-5.0, 1.0), (math.inf, 1.0), (math.nan, 1.0), (130.0, math.nan)],
)
def test_an_impossible_feed_value_is_ignored(value: float, confidence: float) -> None:
    implied = ImpliedView(value, confidence, 0.0)
    assert FairCurve(STRIKES).update([EMPTY] * 7, implied, QUARTER_S, 0) == (None,) * 7


touches = st.one_of(
    st.none(), st.tuples(st.integers(1, 97), st.integers(1, 40), st.integers(1, 500))
)


@settings(deadline=None)
@given(
    st.lists(st.lists(touches, min_size=7, max_size=7), min_size=1, max_size=4),
    st.one_of(st.none(), st.floats(1.0, 1e6)),
    st.floats(0.0, 1e8),
)
@example([[None] * 7, [None, (97, 1, 131), None, None, None, None, None]], None, 0.0)
def test_the_curve_never_rises_and_stays_half_a_tick_from_certainty(frames, value, left_s) -> None:
    curve = FairCurve(STRIKES)
    implied = None if value is None else ImpliedView(value, 0.5, 1.0)
    for number, frame in enumerate(frames):
        inputs = [
            EMPTY if touch is None else book(touch[0], min(99, touch[0] + touch[1]), touch[2])
            for touch in frame
        ]
        out = curve.update(inputs, implied, left_s, number * 20 * S)
        if out[0] is None:
            assert out == (None,) * 7
            continue
        fairs = known(out)
        values = [fair.value_cents for fair in fairs]
        assert all(a >= b for a, b in itertools.pairwise(values))
        assert 0.5 <= values[-1] <= values[0] <= 99.5
        assert all(0 < fair.sd_cents <= 50 for fair in fairs)


def test_the_curve_is_deterministic() -> None:
    def run() -> list[tuple[Fair | None, ...]]:
        rng, curve = random.Random(3), FairCurve(STRIKES)
        return [
            curve.update(
                [around(v + rng.gauss(0, 2)) for v in survival(130.0, 0.25)],
                ImpliedView(128.0, 0.7, 3.0),
                QUARTER_S - second,
                second * S,
            )
            for second in range(50)
        ]

    assert run() == run()


def test_a_binary_market_is_valued_by_its_own_data() -> None:
    curve = FairCurve(None)
    implied = ImpliedView(500.0, 1.0, 0.0)
    (fair,) = curve.update([book(40, 44)], implied, QUARTER_S, 0)
    assert fair is not None
    assert fair.value_cents == pytest.approx(42.0)
    assert curve.update([EMPTY], implied, QUARTER_S, 1) == (None,)
    (printed,) = curve.update([RungInput((), (), 0, (30.0, 0))], None, QUARTER_S, 2)
    assert printed is not None
    assert printed.value_cents == pytest.approx(30.0)


def test_without_data_no_curve_is_drawn() -> None:
    curve = FairCurve(STRIKES)
    curve.update([book(40, 44), *[book(60, 64)] * (len(STRIKES) - 1)], None, 86_400.0, 0)
    assert min(bucket_masses(curve.drawn_cents)) < 0
    curve.update([book(None, None)] * len(STRIKES), None, 86_400.0, NS_PER_SECOND)
    assert curve.drawn_cents == ()


def test_a_stale_one_sided_book_moves_no_other_rung() -> None:
    curve = FairCurve(STRIKES)
    truth = survival(125.0, 0.1)
    books = [around(value, 1) for value in truth]
    offered = book(None, 4)  # as it stood when its market was halted, before the value rose
    books[3] = msgspec.structs.replace(offered, confirmed_ns=0)
    after = known(curve.update(books, None, QUARTER_S, 3_600 * S))
    assert truth[4] == pytest.approx(19.8, abs=0.1)
    assert after[4].value_cents == pytest.approx(truth[4], abs=0.5)
    assert after[3].value_cents == pytest.approx(after[4].value_cents, abs=0.5)


def test_no_value_becomes_nan_as_errors_are_learned() -> None:
    curve, books = FairCurve(STRIKES), [around(value, 1) for value in survival(130.0, 0.2)]
    for second in range(60):
        curve.update(books, None, QUARTER_S, second * S)
        assert not any(map(math.isnan, curve.all_cents))


def test_a_learned_line_steepens_with_time_on_the_feed_alone() -> None:
    curve, day_s = FairCurve(STRIKES), 86_400.0
    told = ImpliedView(130.0, 1.0, 0.0)
    for second in range(0, 600, 10):
        books = [around(value, 1) for value in survival(130.0, 0.2)]
        curve.update(books, told, 4 * day_s - second, second * S)
    # A sixteenth of the time is left: the value may still move by a quarter of what it could.
    later = known(curve.update([EMPTY] * 7, told, day_s / 4, int(3.75 * day_s) * S))
    for fair, value in zip(later, survival(130.0, 0.05), strict=True):
        assert fair.value_cents == pytest.approx(value, abs=1.5)


@pytest.mark.parametrize(
    ("bid", "ask", "cents"), [(60, None, 60), (None, 25, 25), (35, None, 40), (None, 45, 40)]
)
def test_the_only_side_of_a_binary_book_bounds_its_fair_value(bid, ask, cents) -> None:
    curve = FairCurve(None)
    traded = msgspec.structs.replace(book(bid, ask), traded=(40.0, 0))
    assert known(curve.update([traded], None, QUARTER_S, 0))[0].value_cents == cents
    few = msgspec.structs.replace(book(bid, ask, size=4), traded=(40.0, 0))
    assert known(curve.update([few], None, QUARTER_S, S))[0].value_cents == 40


def test_a_resolved_binary_market_has_no_fair_value() -> None:
    curve = FairCurve(None)
    over = [msgspec.structs.replace(around(50.0), is_over=state) for state in (False, True, False)]
    shown = [
        curve.update([rung], None, QUARTER_S, at_ns)[0] is not None
        for at_ns, rung in enumerate(over)
    ]
    assert shown == [True, False, True]


def test_the_error_of_a_binary_market_follows_the_width_of_its_book() -> None:
    curve = FairCurve(None)
    sds = [
        known(curve.update([around(50.0, half)], None, QUARTER_S, at_ns))[0].sd_cents
        for at_ns, half in enumerate((1, 20, 1))
    ]
    assert sds[0] < 1
    assert sds[1] > 10
    assert sds[2] == pytest.approx(sds[0])


@pytest.mark.parametrize(
    "strikes",
    [
        [],
        [0.0, 1.0],
        [-1.0, 2.0],
        [2.0, 2.0],
        [3.0, 2.0],
        [1e11, 1e11 + 1e-4],  # other numbers with the same logarithm
        [1.0, math.inf],
    ],
    ids=str,
)
def test_strikes_that_are_not_positive_and_rising_are_rejected(strikes: list[float]) -> None:
    with pytest.raises(ValueError, match="above zero and rising"):
        FairCurve(strikes)


weighted = st.lists(st.tuples(st.floats(0, 100), st.floats(0.01, 100)), min_size=1, max_size=12)


@settings(deadline=None)
@given(weighted, st.lists(st.floats(0, 100), min_size=12, max_size=12))
def test_the_monotone_repair_is_the_nearest_falling_sequence(points, other):
    values, weights = [v for v, _ in points], [w for _, w in points]
    out = monotone(values, weights)
    assert all(a >= b for a, b in itertools.pairwise(out))
    kept = sum(o * w for o, w in zip(out, weights, strict=True))
    assert kept == pytest.approx(sum(v * w for v, w in points))
    rival = sorted(other[: len(values)], reverse=True)

    def distance(candidate: list[float]) -> float:
        return sum(w * (c - v) ** 2 for c, v, w in zip(candidate, values, weights, strict=True))

    assert distance(out) <= distance(rival) + 1e-6


def test_bucket_masses_are_the_steps_of_the_curve() -> None:
    assert bucket_masses([80.0, 50.0, 20.0]) == pytest.approx((0.2, 0.3, 0.3, 0.2))
    assert sum(bucket_masses([99.5, 0.5])) == pytest.approx(1.0)
    assert min(bucket_masses([40.0, 45.0])) < 0


@pytest.mark.parametrize(
    ("bids", "asks", "found"),
    [
        ([50, 30, 47], [55, 45, 60], Arbitrage(1, 2, Price(45), Price(47))),
        ([None, None, 40], [38, 35, None], Arbitrage(1, 2, Price(35), Price(40))),
    ],
)
def test_a_bid_above_the_lowest_ask_of_a_lower_rung_is_an_arbitrage(bids, asks, found):
    assert arbitrages(bids, asks) == (found,)
