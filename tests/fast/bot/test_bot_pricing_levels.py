"""Levels of a side: priced as if the levels before had filled, legal, and in order."""

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


def test_a_level_is_priced_as_if_the_levels_before_it_had_filled() -> None:
    steep = replace(EVEN, own=0.5)
    both = side_levels(replace(steep, sizes=(10, 15), fees=(0.0, 0.0)), 0, HOW)
    after = replace(steep, value=50.0 - 0.5 * 10, sizes=(15,), fees=(0.0,))
    assert both[1][:2] == side_levels(after, 0, HOW)[0][:2]


def test_asks_mirror_bids() -> None:
    bids = side_levels(EVEN, 0, HOW)
    asks = side_levels(replace(EVEN, sign=-1, low=2, high=99), 0, HOW)
    mirrored = tuple((100 - price, size, 100 - limit) for price, size, limit in bids)
    assert asks == mirrored


def test_room_limits_sizes_and_no_prices() -> None:
    whole = side_levels(EVEN, 0, HOW)
    for room in range(60):
        some = side_levels(replace(EVEN, room=room), 0, HOW)
        assert prices(some) == prices(whole)
        assert sum(size for _, size, _ in some) == min(room, 47)
        assert all(size for _, size, _ in quoted_levels(some, 1, 0))


def test_a_side_without_an_edge_has_no_levels() -> None:
    assert side_levels(replace(EVEN, value=0.9), 0, HOW) == ()
    assert side_levels(replace(EVEN, sign=-1, value=99.5, low=2, high=99), 0, HOW) == ()


def test_a_far_quote_is_used_only_on_a_side_without_levels() -> None:
    assert quoted_levels((), 99, 2) == ((99, 2, 99),)
    assert quoted_levels(((40, 0, 41),), 1, 2) == ((1, 2, 1),)
    assert quoted_levels(((40, 0, 41),), 1, 0) == ()
    assert quoted_levels(None, 1, 2) == ()
    assert quoted_levels(((40, 5, 41), (39, 0, 39)), 1, 2) == ((40, 5, 41),)


def test_an_old_book_moves_the_first_price_by_a_tick_and_no_price_limit() -> None:
    tight = replace(EVEN, high=46)
    assert prices(side_levels(tight, 0, HOW))[0] == 46
    ((price, _, limit), *_) = side_levels(tight, 1, HOW)
    assert (price, limit) == (45, 46)


def test_the_price_limit_leaves_a_third_of_the_best_edge() -> None:
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
def test_levels_are_a_tick_apart_and_within_the_legal_range(given_terms, gap, how) -> None:
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
def test_a_lower_reservation_value_raises_no_price(given_terms, less, how) -> None:
    before = side_levels(given_terms, 0, how)
    after = side_levels(replace(given_terms, value=given_terms.value - less), 0, how)
    assert all(low <= high for low, high in zip(prices(after), prices(before), strict=False))
    if given_terms.sign > 0:
        assert len(after) <= len(before)
    else:
        assert len(after) >= len(before)


@settings(deadline=None)
@given(terms, st.integers(1, 99), st.integers(0, 1), ways)
def test_a_distant_touch_does_not_change_the_levels(given_terms, touch, gap, how) -> None:
    sign = given_terms.sign
    alone = replace(given_terms, low=1 if sign > 0 else 2, high=98 if sign > 0 else 99)
    free = side_levels(alone, 0, how)
    near = side_at_touch(alone, Price(touch), gap, how)
    if sign * (touch - reach(free, sign)) > gap:
        assert near == free
    assert (near is None) == (touch == (1 if sign > 0 else 99))
    assert all(sign * (touch - price) > gap for price, _, _ in near or ())
    assert all(sign * (touch - limit) > 0 for _, _, limit in near or ())


sides = st.lists(
    st.one_of(
        st.none(),
        st.lists(st.integers(1, 99), max_size=3, unique=True).map(
            lambda found: tuple((price, 5, price) for price in sorted(found, reverse=True))
        ),
    ),
    max_size=7,
)


def mirror_of(side: Levels | None) -> Levels | None:
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
def test_asks_step_back_as_mirrored_bids(bids: list[Levels | None]) -> None:
    asks = stepped_back([mirror_of(side) for side in bids], -1)
    assert [mirror_of(side) for side in asks] == stepped_back(bids, 1)


@given(sides, st.integers(0, 6), st.integers(0, 3), st.integers(1, 99))
def test_a_smaller_side_never_enlarges_its_neighbours(bids, at, keep, less) -> None:
    if at >= len(bids) or (side := bids[at]) is None:
        return
    lower = tuple((price - less, size, price - less) for price, size, _ in side if price > less)
    stepped = stepped_back(bids, 1)
    after = stepped_back([*bids[:at], lower[:keep], *bids[at + 1 :]], 1)
    for was, now in zip(stepped, after, strict=True):
        assert len(now or ()) <= len(was or ())
        assert all(low[0] <= high[0] for low, high in zip(now or (), was or (), strict=False))


@given(sides, st.lists(st.tuples(st.integers(0, 6), sides)), st.sampled_from([1, -1]))
def test_a_ladder_ordered_step_by_step_equals_one_ordered_at_once(first, later, sign) -> None:
    kept = LadderSide(sign, len(first))
    for at, some in [(0, first), *later]:
        for place, side in zip(range(at, len(first)), some, strict=False):
            kept.levels[place] = side if sign > 0 else mirror_of(side)
            kept.changed.append(place)
        ordered = kept.ordered()
        anew = stepped_back(kept.levels[::sign], sign)[::sign]
        assert ordered == anew
        assert kept.is_stepped or ordered is kept.levels
        assert not kept.changed


def test_a_side_with_more_levels_than_its_neighbour_is_not_in_order() -> None:
    one, two = ((40, 5, 40),), ((30, 5, 30), (29, 5, 29))
    assert not in_order(one, two, 1)
    assert not in_order(two, one, 1)
    assert not in_order(one, None, 1)
    assert in_order(None, one, 1)
    assert in_order(((30, 5, 30),), one, 1)
    assert in_order(((60, 5, 60),), ((50, 5, 50),), -1)
    assert not in_order(((50, 5, 50),), ((60, 5, 60),), -1)
