"""The fair curve over all rungs, its repair, and what it implies."""

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


# --- the curve ------------------------------------------------------------------------------------


def test_nothing_known_gives_no_fair_value_anywhere() -> None:
    curve = FairCurve(STRIKES).update([EMPTY] * 7, None, QUARTER_S, 0)
    assert curve == (None,) * 7


def test_a_lognormal_ladder_is_found_again_to_half_a_cent() -> None:
    truth = survival(130.0, 0.25)
    fairs = known(FairCurve(STRIKES).update([around(v) for v in truth], None, QUARTER_S, 0))
    for fair, value in zip(fairs, truth, strict=True):
        assert fair.value_cents == pytest.approx(value, abs=0.5)


@pytest.mark.parametrize(("led_cents", "led_qty", "moves"), [(75, 1, False), (75, 5, True)])
def test_only_as_many_shares_as_speak_hold_a_value_where_a_book_has_one_side(
    led_cents: int, led_qty: int, moves: bool
) -> None:
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


def test_the_fit_beats_the_raw_middles_on_noisy_books() -> None:
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


def test_a_ladder_of_a_day_is_fitted_as_well_as_one_of_a_quarter() -> None:
    strikes = [6_900.0 + 15 * index for index in range(7)]
    truth = survival(6_945.0, 0.005, strikes)
    fairs = known(FairCurve(strikes).update([around(v) for v in truth], None, 20_000.0, 0))
    for fair, value in zip(fairs, truth, strict=True):
        assert fair.value_cents == pytest.approx(value, abs=0.7)


def test_a_curve_that_is_not_lognormal_is_followed_once_the_line_has_proved_wrong() -> None:
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


def test_an_empty_rung_is_filled_in_from_its_neighbours_and_is_less_sure() -> None:
    truth = survival(130.0, 0.25)
    inputs = [around(v) for v in truth]
    inputs[3] = EMPTY
    fairs = known(FairCurve(STRIKES).update(inputs, None, QUARTER_S, 0))
    assert fairs[3].value_cents == pytest.approx(truth[3], abs=1.0)
    assert fairs[3].sd_cents > fairs[2].sd_cents


def test_the_feed_alone_gives_a_curve_around_its_value() -> None:
    fairs = known(
        FairCurve(STRIKES).update([EMPTY] * 7, ImpliedView(STRIKES[3], 1.0, 0.0), QUARTER_S, 0)
    )
    assert fairs[3].value_cents == pytest.approx(50.0, abs=0.5)
    assert [fair.value_cents for fair in fairs] == sorted(
        (fair.value_cents for fair in fairs), reverse=True
    )


@pytest.mark.parametrize("age_s", [0.0, 40 * 86_400.0])
def test_the_feed_pulls_less_the_older_it_is_and_the_less_sure(age_s: float) -> None:
    inputs = [around(v) for v in survival(130.0, 0.25)]

    def middle(implied: ImpliedView | None) -> float:
        return known(FairCurve(STRIKES).update(inputs, implied, QUARTER_S, 0))[3].value_cents

    plain = middle(None)
    sure = middle(ImpliedView(180.0, 1.0, age_s))
    unsure = middle(ImpliedView(180.0, 0.0, age_s))
    assert plain < unsure < sure
    assert age_s == 0.0 or sure - plain < 0.5 * (middle(ImpliedView(180.0, 1.0, 0.0)) - plain)


def test_prints_move_the_fair_value_toward_where_it_trades() -> None:
    inputs = [around(v) for v in survival(130.0, 0.25)]
    plain = known(FairCurve(STRIKES).update(inputs, None, QUARTER_S, 0))
    traded = [RungInput(each.bids, each.asks, 0, (each.bids[0][0], 0)) for each in inputs]
    low = known(FairCurve(STRIKES).update(traded, None, QUARTER_S, 0))
    assert all(a.value_cents < b.value_cents for a, b in zip(low, plain, strict=True))


def test_the_only_side_of_a_book_bounds_its_rung() -> None:
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
def test_a_feed_that_cannot_be_a_value_is_no_feed(value: float, confidence: float) -> None:
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
def test_the_curve_never_rises_and_stays_inside_half_a_tick_whatever_is_shown(
    frames: list[list[tuple[int, int, int] | None]], value: float | None, left_s: float
) -> None:
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


def test_the_same_inputs_give_the_same_curve_to_the_bit() -> None:
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


def test_a_binary_market_is_worth_what_its_own_data_says() -> None:
    curve = FairCurve(None)
    implied = ImpliedView(500.0, 1.0, 0.0)
    (fair,) = curve.update([book(40, 44)], implied, QUARTER_S, 0)
    assert fair is not None
    assert fair.value_cents == pytest.approx(42.0)
    assert curve.update([EMPTY], implied, QUARTER_S, 1) == (None,)
    (printed,) = curve.update([RungInput((), (), 0, (30.0, 0))], None, QUARTER_S, 2)
    assert printed is not None
    assert printed.value_cents == pytest.approx(30.0)


@pytest.mark.parametrize(
    ("strikes", "rung"),
    [(None, book(40, 44)), (STRIKES, book(None, 99)), (STRIKES, book(40, 44))],
)
def test_a_curve_keeps_no_more_however_long_it_is_looked_at(
    strikes: list[float] | None, rung: RungInput
) -> None:
    curve, count = FairCurve(strikes), 1 if strikes is None else len(strikes)
    for second in range(50):
        seen = msgspec.structs.replace(rung, changed_ns=second * NS_PER_SECOND)
        curve.update([seen] * count, None, 86_400.0, second * NS_PER_SECOND)
    fields = vars(curve)
    kept = {name: len(each) for name, each in fields.items() if isinstance(each, list)}
    assert max(kept.values()) <= count, kept


def test_while_nothing_is_known_nothing_is_said_to_rise() -> None:
    curve = FairCurve(STRIKES)
    curve.update([book(40, 44), *[book(60, 64)] * (len(STRIKES) - 1)], None, 86_400.0, 0)
    assert min(bucket_masses(curve.drawn_cents)) < 0
    curve.update([book(None, None)] * len(STRIKES), None, 86_400.0, NS_PER_SECOND)
    assert curve.drawn_cents == ()


def test_the_only_side_of_a_book_that_is_not_believed_now_moves_no_other_rung() -> None:
    curve = FairCurve(STRIKES)
    truth = survival(125.0, 0.1)
    books = [around(value, 1) for value in truth]
    offered = book(None, 4)  # as it stood when its market was halted, before the value rose
    books[3] = msgspec.structs.replace(offered, confirmed_ns=0)
    after = known(curve.update(books, None, QUARTER_S, 3_600 * S))
    assert truth[4] == pytest.approx(19.8, abs=0.1)
    assert after[4].value_cents == pytest.approx(truth[4], abs=0.5)
    assert after[3].value_cents == pytest.approx(after[4].value_cents, abs=0.5)


def test_what_is_learned_of_how_sure_values_are_takes_none_of_them_away() -> None:
    curve, books = FairCurve(STRIKES), [around(value, 1) for value in survival(130.0, 0.2)]
    for second in range(60):
        curve.update(books, None, QUARTER_S, second * S)
        assert not any(map(math.isnan, curve.all_cents))


def test_a_line_that_was_learned_steepens_while_the_feed_alone_is_heard() -> None:
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
def test_a_binary_market_is_not_worth_what_lies_beyond_the_only_side_of_its_book(
    bid: int | None, ask: int | None, cents: float
) -> None:
    curve = FairCurve(None)
    traded = msgspec.structs.replace(book(bid, ask), traded=(40.0, 0))
    assert known(curve.update([traded], None, QUARTER_S, 0))[0].value_cents == cents
    few = msgspec.structs.replace(book(bid, ask, size=4), traded=(40.0, 0))
    assert known(curve.update([few], None, QUARTER_S, S))[0].value_cents == 40


def test_a_binary_market_that_has_resolved_has_no_fair_value_till_that_is_taken_back() -> None:
    curve = FairCurve(None)
    over = [msgspec.structs.replace(around(50.0), is_over=state) for state in (False, True, False)]
    shown = [
        curve.update([rung], None, QUARTER_S, at_ns)[0] is not None
        for at_ns, rung in enumerate(over)
    ]
    assert shown == [True, False, True]


def test_how_sure_a_binary_market_is_follows_its_book_though_the_middle_stands_still() -> None:
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
def test_strikes_that_are_no_ladder_are_refused(strikes: list[float]) -> None:
    with pytest.raises(ValueError, match="above zero and rising"):
        FairCurve(strikes)


# --- monotone repair ------------------------------------------------------------------------------

weighted = st.lists(st.tuples(st.floats(0, 100), st.floats(0.01, 100)), min_size=1, max_size=12)


def test_pooling_takes_the_weighted_mean_of_what_is_out_of_order() -> None:
    assert monotone([50, 60, 10], [1, 3, 1]) == pytest.approx([57.5, 57.5, 10])


def test_values_in_order_are_left_alone() -> None:
    assert monotone([60, 50, 50, 10], [1, 2, 3, 4]) == [60, 50, 50, 10]


@settings(deadline=None)
@given(weighted)
def test_the_repair_is_in_order_and_keeps_the_weighted_sum(
    points: list[tuple[float, float]],
) -> None:
    values, weights = [v for v, _ in points], [w for _, w in points]
    out = monotone(values, weights)
    assert all(a >= b for a, b in itertools.pairwise(out))
    kept = sum(o * w for o, w in zip(out, weights, strict=True))
    assert kept == pytest.approx(sum(v * w for v, w in points))


@settings(deadline=None)
@given(weighted, st.lists(st.floats(0, 100), min_size=12, max_size=12))
def test_no_other_sequence_in_order_is_nearer(
    points: list[tuple[float, float]], other: list[float]
) -> None:
    values, weights = [v for v, _ in points], [w for _, w in points]
    rival = sorted(other[: len(values)], reverse=True)

    def distance(candidate: list[float]) -> float:
        return sum(w * (c - v) ** 2 for c, v, w in zip(candidate, values, weights, strict=True))

    assert distance(monotone(values, weights)) <= distance(rival) + 1e-6


# --- what a curve implies -------------------------------------------------------------------------


def test_bucket_masses_are_the_steps_of_the_curve_and_add_up_to_one() -> None:
    masses = bucket_masses([80.0, 50.0, 20.0])
    assert masses == pytest.approx((0.2, 0.3, 0.3, 0.2))
    assert sum(bucket_masses([99.5, 0.5])) == pytest.approx(1.0)


def test_a_rising_curve_shows_as_a_mass_below_zero() -> None:
    assert min(bucket_masses([40.0, 45.0])) < 0


def test_a_higher_rung_bid_above_a_lower_rungs_ask_is_an_arbitrage() -> None:
    bids = [Price(50), Price(30), Price(47)]
    asks = [Price(55), Price(45), Price(60)]
    (found,) = arbitrages(bids, asks)
    assert found == Arbitrage(1, 2, Price(45), Price(47))


def test_the_cheapest_lower_ask_is_the_one_named_and_empty_sides_are_passed_over() -> None:
    found = arbitrages([None, None, Price(40)], [Price(38), Price(35), None])
    assert found == (Arbitrage(1, 2, Price(35), Price(40)),)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 98), st.integers(1, 10)), min_size=1, max_size=6))
def test_there_is_no_arbitrage_exactly_when_a_curve_fits_inside_all_the_books(
    touches: list[tuple[int, int]],
) -> None:
    bids = [Price(bid) for bid, _ in touches]
    asks = [Price(min(99, bid + width)) for bid, width in touches]
    # The highest curve that never rises and stays below every ask is the running least ask.
    highest = [min(asks[: index + 1]) for index in range(len(asks))]
    fits = all(bid <= top for bid, top in zip(bids, highest, strict=True))
    assert (not arbitrages(bids, asks)) == fits
