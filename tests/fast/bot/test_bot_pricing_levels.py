"""Claims about the levels of a side: as if the ones before had filled, legal, and in order."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.strategy.pricing.levels import (
    LEAST_EDGE,
    LadderSide,
    Levels,
    Pricing,
    SideInputs,
    in_order,
    quoted_levels,
    reach,
    side_at_touch,
    side_levels,
    stepped_back,
)
from venue.wire.money import Price

HOW = Pricing(decay=0.6, risk_aversion=0.0, cara=None)
EVEN = SideInputs(1, 50.0, 50.0, 0.03, 0.0, (0.0, 0.0, 0.0), 1, 98, (10, 15, 22), 10**9)


def prices(levels: Levels) -> list[int]:
    return [price for price, _, _ in levels]


def test_a_level_is_priced_as_if_those_before_it_had_filled() -> None:
    steep = replace(EVEN, own=0.5)
    both = side_levels(replace(steep, sizes=(10, 15), fees=(0.0, 0.0)), 0, HOW)
    after = replace(steep, value=50.0 - 0.5 * 10, sizes=(15,), fees=(0.0,))
    assert both[1][:2] == side_levels(after, 0, HOW)[0][:2]


def test_asks_mirror_bids_about_the_middle() -> None:
    bids = side_levels(EVEN, 0, HOW)
    asks = side_levels(replace(EVEN, sign=-1, low=2, high=99), 0, HOW)
    mirrored = tuple((100 - price, size, 100 - limit) for price, size, limit in bids)
    assert asks == mirrored


def test_what_room_there_is_moves_no_price() -> None:
    whole = side_levels(EVEN, 0, HOW)
    for room in range(60):
        some = side_levels(replace(EVEN, room=room), 0, HOW)
        assert prices(some) == prices(whole)
        assert sum(size for _, size, _ in some) == min(room, 47)
        assert all(size for _, size, _ in quoted_levels(some, 1, 0))


def test_a_side_without_an_edge_has_no_levels() -> None:
    assert side_levels(replace(EVEN, value=0.9), 0, HOW) == ()
    assert side_levels(replace(EVEN, sign=-1, value=99.5, low=2, high=99), 0, HOW) == ()


def test_a_far_quote_stands_where_nothing_else_does_and_a_price_is_legal() -> None:
    assert quoted_levels((), 99, 2) == ((99, 2, 99),)
    assert quoted_levels(((40, 0, 41),), 1, 2) == ((1, 2, 1),)
    assert quoted_levels(((40, 0, 41),), 1, 0) == ()
    assert quoted_levels(None, 1, 2) == ()
    assert quoted_levels(((40, 5, 41), (39, 0, 39)), 1, 2) == ((40, 5, 41),)


def test_an_old_book_costs_the_first_price_a_tick_and_no_limit() -> None:
    tight = replace(EVEN, high=46)
    assert prices(side_levels(tight, 0, HOW))[0] == 46
    ((price, _, limit), *_) = side_levels(tight, 1, HOW)
    assert (price, limit) == (45, 46)


def test_an_order_may_stay_while_a_third_of_the_best_edge_is_left() -> None:
    ((_, _, limit), *_) = side_levels(EVEN, 0, HOW)
    worth = 50.0 - 0.03 * 5
    least = LEAST_EDGE / 0.6
    assert worth - limit >= least > worth - (limit + 1)


terms = st.builds(
    SideInputs,
    sign=st.sampled_from([1, -1]),
    fair=st.integers(2, 398).map(lambda quarters: quarters / 4),
    value=st.floats(-60, 160),
    own=st.floats(0, 2),
    cost=st.floats(0, 5),
    fees=st.just((0.4, 0.4, 0.4)),
    low=st.integers(1, 98),
    high=st.integers(1, 99),
    sizes=st.just((10, 15, 22)),
    room=st.integers(0, 60),
)
ways = st.builds(
    Pricing,
    decay=st.floats(0.1, 3),
    risk_aversion=st.sampled_from([0.0, 0.01]),
    cara=st.sampled_from([None, 0.05]),
)


@settings(deadline=None)
@given(terms, st.integers(0, 1), ways)
def test_levels_keep_a_tick_between_prices_and_between_limits_inside_the_legal_range(
    given_terms: SideInputs, gap: int, how: Pricing
) -> None:
    levels = side_levels(given_terms, gap, how)
    sign = given_terms.sign
    for price, size, limit in levels:
        assert given_terms.low <= price <= given_terms.high
        assert sign * (limit - price) >= 0
        assert size >= 0
    for place in (0, 2):
        ranked = [-sign * level[place] for level in levels]
        assert all(low < high for low, high in itertools.pairwise(ranked))


@settings(deadline=None)
@given(terms, st.floats(0, 30), ways)
def test_a_lower_reservation_value_raises_no_price_of_either_side(
    given_terms: SideInputs, less: float, how: Pricing
) -> None:
    before = side_levels(given_terms, 0, how)
    after = side_levels(replace(given_terms, value=given_terms.value - less), 0, how)
    assert all(low <= high for low, high in zip(prices(after), prices(before), strict=False))
    if given_terms.sign > 0:
        assert len(after) <= len(before)
    else:
        assert len(after) >= len(before)


@settings(deadline=None)
@given(terms, st.integers(1, 99), st.integers(0, 1), ways)
def test_levels_made_as_if_alone_are_those_beside_a_touch_out_of_their_reach(
    given_terms: SideInputs, touch: int, gap: int, how: Pricing
) -> None:
    sign = given_terms.sign
    alone = replace(given_terms, low=1 if sign > 0 else 2, high=98 if sign > 0 else 99)
    free = side_levels(alone, 0, how)
    near = side_at_touch(alone, Price(touch), gap, how)
    if sign * (touch - reach(free, sign)) > gap:
        assert near == free
    assert (near is None) == (touch == (1 if sign > 0 else 99))
    assert all(sign * (touch - price) > gap for price, _, _ in near or ())
    assert all(sign * (touch - limit) > 0 for _, _, limit in near or ())


# --- all rungs ------------------------------------------------------------------------------------

sides = st.lists(
    st.one_of(
        st.none(),
        st.lists(st.integers(1, 99), max_size=3, unique=True).map(
            lambda found: tuple((price, 5, price) for price in sorted(found, reverse=True))
        ),
    ),
    max_size=7,
)


def mirrored(side: Levels | None) -> Levels | None:
    if side is None:
        return None
    return tuple((100 - price, size, 100 - limit) for price, size, limit in side)


@given(sides)
def test_bids_step_back_until_none_rises_with_the_strike(bids: list[Levels | None]) -> None:
    stepped = stepped_back(bids, 1)
    for level in range(3):
        at = [side[level][0] for side in stepped if side is not None and len(side) > level]
        assert at == sorted(at, reverse=True)
    for before, after in zip(bids, stepped, strict=True):
        assert (before is None) == (after is None)
        assert all(low[0] <= high[0] for low, high in zip(after or (), before or (), strict=False))
        assert all(high[0] > low[0] >= 1 for high, low in itertools.pairwise(after or ()))


@given(sides)
def test_asks_step_as_bids_do_in_the_mirror(bids: list[Levels | None]) -> None:
    asks = stepped_back([mirrored(side) for side in bids], -1)
    assert [mirrored(side) for side in asks] == stepped_back(bids, 1)


@given(sides, st.integers(0, 6), st.integers(0, 3), st.integers(1, 99))
def test_a_side_that_wants_less_lets_no_other_have_more(
    bids: list[Levels | None], at: int, keep: int, less: int
) -> None:
    if at >= len(bids) or (side := bids[at]) is None:
        return
    lower = tuple((price - less, size, price - less) for price, size, _ in side if price > less)
    stepped = stepped_back(bids, 1)
    after = stepped_back([*bids[:at], lower[:keep], *bids[at + 1 :]], 1)
    for was, now in zip(stepped, after, strict=True):
        assert len(now or ()) <= len(was or ())
        assert all(low[0] <= high[0] for low, high in zip(now or (), was or (), strict=False))


@given(sides)
def test_sides_in_order_between_neighbours_are_left_as_they_are(
    bids: list[Levels | None],
) -> None:
    tidy: list[Levels | None] = []
    for side in stepped_back(bids, 1):
        if not tidy or in_order(side, tidy[-1], 1):
            tidy.append(side)
    assert all(new is old for new, old in zip(stepped_back(tidy, 1), tidy, strict=True))


@given(sides, st.lists(st.tuples(st.integers(0, 6), sides)), st.sampled_from([1, -1]))
def test_a_ladder_brought_into_order_bit_by_bit_is_as_if_all_of_it_were_anew(
    first: list[Levels | None], later: list[tuple[int, list[Levels | None]]], sign: int
) -> None:
    kept = LadderSide(sign, len(first))
    for at, some in [(0, first), *later]:
        for place, side in zip(range(at, len(first)), some, strict=False):
            kept.levels[place] = side if sign > 0 else mirrored(side)
            kept.changed.append(place)
        ordered = kept.ordered()
        anew = stepped_back(kept.levels[::sign], sign)[::sign]
        assert ordered == anew
        assert kept.is_stepped or ordered is kept.levels
        assert not kept.changed


def test_a_level_that_the_neighbour_ahead_has_not_is_not_taken_to_be_in_order() -> None:
    one, two = ((40, 5, 40),), ((30, 5, 30), (29, 5, 29))
    assert not in_order(one, two, 1)
    assert not in_order(two, one, 1)
    assert not in_order(one, None, 1)
    assert in_order(None, one, 1)
    assert in_order(((30, 5, 30),), one, 1)
    assert in_order(((60, 5, 60),), ((50, 5, 50),), -1)
    assert not in_order(((50, 5, 50),), ((60, 5, 60),), -1)
