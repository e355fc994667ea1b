"""The sums of an exposure to the last share and cent: at a bound, by level, and as they grow."""

import pytest

from bot.core.risk.exposure import bounds_of, live_of
from bot.core.risk.limits import limits_in_force
from tests.fast.bot.test_bot_risk import ask, bid, limits
from tests.fast.bot.test_bot_risk_rules import bounds, two
from venue.wire.money import Cents
from venue.wire.names import MarketId

M0 = MarketId("m0")


@pytest.mark.parametrize(
    ("bound", "reached"),
    [
        ("loss_cents", 600),
        ("net_qty", 20),
        ("gross_qty", 20),
        ("gross_cents", 600),
        ("resting_cents", 500),
    ],
)
def test_a_bound_is_kept_when_it_is_reached_and_not_a_cent_or_share_beyond(bound, reached):
    exposure = two(-100, (10, 0))
    exposure.add_order(live_of(M0, bid(50, 10)))
    assert exposure.is_within(bounds(**{bound: reached}))
    assert not exposure.is_within(bounds(**{bound: reached - 1}))


def test_sums_that_were_asked_for_count_a_level_that_comes_after():
    exposure = two(0, (0, 0), (0, 0))
    assert (exposure.gross_qty, exposure.gross_cents) == (0, 0)
    exposure.add_level(([3, 0], [0, 4]), ([150, 0], [0, 160]))
    assert (exposure.gross_qty, exposure.gross_cents, exposure.resting_cents) == (7, 310, 310)


@pytest.mark.parametrize("asked", [False, True])
def test_what_is_counted_of_a_rung_at_once_is_all_that_is_live_there(asked):
    exposure, other = two(-7, (10, 4), (0, 3)), two(-7, (10, 4), (0, 3))
    exposure.add_order(live_of(M0, bid(50, 9)))
    if asked:
        assert exposure.gross_qty and exposure.worst_cents
    exposure.set_rung(0, (3, 150), (16, 800))
    other.add_order(live_of(M0, bid(50, 3)))
    other.add_order(live_of(M0, ask(50, 16)))
    for sums in ("worst_cents", "resting_cents", "gross_qty", "gross_cents", "net_qty"):
        assert getattr(exposure, sums) == getattr(other, sums)


def test_gross_grows_by_what_reaches_beyond_the_largest_position_alone():
    exposure = two(0, (10, 0))
    exposure.add_order(live_of(M0, bid(50, 3)))
    exposure.add_order(live_of(M0, ask(50, 16)))
    # With the bid 13, with the ask -6: the largest is 13.
    assert [exposure.gross_growth(0, qty, is_bid=True) for qty in (0, 4)] == [0, 4]
    assert [exposure.gross_growth(0, qty, is_bid=False) for qty in (7, 9)] == [0, 2]


def test_the_loss_apart_grows_by_what_goes_beyond_the_worse_outcome_alone():
    exposure = two(0, (10, 4))
    exposure.add_order(live_of(M0, bid(50, 3)))
    exposure.add_order(live_of(M0, ask(50, 16)))
    # YES leaves 1000 - 800, NO 400 - 150: the worse is 200.
    assert [exposure.gross_loss_growth(0, cents, is_bid=True) for cents in (50, 60)] == [0, 10]
    assert [exposure.gross_loss_growth(0, cents, is_bid=False) for cents in (0, 60)] == [0, 60]


def test_a_loss_apart_that_has_reached_its_bound_leaves_no_room_for_a_cent():
    exposure = two(-99, (0, 0))
    assert exposure.largest(live_of(M0, bid(1, 9)), bounds(gross_cents=99)) == 0
    assert exposure.largest(live_of(M0, bid(1, 9)), bounds(gross_cents=100)) == 1


def test_the_bounds_of_an_event_hold_each_rung_to_its_position():
    of = bounds_of(limits_in_force(limits(position=7)), Cents(50))
    assert (of.position_qty, of.loss_cents) == (7, 50)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((bid(50, 3), ask(60, 2)), (ask(60, 2), bid(40, 1))),
        ((bid(50, 3), bid(50, 3)), (bid(50, 3),)),
        ((bid(50, 3),), (bid(50, 3), bid(50, 3))),
        ((), (ask(60, 2),)),
        ((ask(60, 2),), ()),
    ],
)
def test_orders_that_take_the_place_of_others_count_as_if_those_had_never_been(before, after):
    replaced, plain = (two(0, (5, 0), (0, 0)) for _ in range(2))
    for quote in before:
        replaced.add_order(live_of(M0, quote))
    replaced.set_orders(M0, [live_of(M0, quote) for quote in after])
    for quote in after:
        plain.add_order(live_of(M0, quote))
    assert tuple(replaced.worst_by_outcome()) == tuple(plain.worst_by_outcome())
    assert (replaced.net_qty, replaced.gross_qty) == (plain.net_qty, plain.gross_qty)
    assert (replaced.gross_cents, replaced.resting_cents) == (
        plain.gross_cents,
        plain.resting_cents,
    )


@pytest.mark.parametrize(
    ("held", "is_bid"),
    [((10, 4), False), ((4, 10), True)],
)
@pytest.mark.parametrize(("loss", "room"), [(70, 6), (170, 3)])
def test_past_the_loss_apart_what_works_a_position_off_has_room_for_whole_shares(
    held, is_bid, loss, room
):
    # The outcome that it hurts is better by 600 cents, and 6 shares are to be worked off.
    exposure = two(-5_000, held)
    none = bounds(gross_cents=0)
    assert exposure.side_rooms(0, loss, none, is_bid=is_bid).gross_cents == room
    assert exposure.side_rooms(0, loss, none, is_bid=not is_bid).gross_cents <= 0
