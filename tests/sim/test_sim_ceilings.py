"""Claims about limits by the judge: what stood above a lowered one may stay, and no more."""

import msgspec
import pytest

from bot.core.settings import RiskSettings
from bot.lab.sim.judge.ceilings import LEARNS_NS, Ceilings
from venue.wire.names import ClientOrderId

LIMITS = RiskSettings(series_loss_cents=900, rung_position_qty=10, order_qty=5)
LOWER = msgspec.structs.replace(LIMITS, rung_position_qty=6)
PLACE = ("position", "a rung")


OLD, YOUNG = ClientOrderId("old"), ClientOrderId("young")


@pytest.fixture
def ceilings() -> Ceilings:
    """The limit is 10."""
    return Ceilings(LIMITS)


@pytest.fixture
def lowered(ceilings: Ceilings) -> Ceilings:
    """The limit is 6 where 9 are in use."""
    assert ceilings.change(LOWER, {PLACE: 9}, 0)
    return ceilings


def test_a_limit_is_reached_and_not_passed(ceilings):
    assert ceilings.admits(*PLACE, 10, 0, sent=True)
    assert not ceilings.admits(*PLACE, 11, 0, sent=True)


def test_what_stands_above_a_lowered_limit_never_grows(lowered):
    assert lowered.admits(*PLACE, 9, 0, sent=True)
    assert not lowered.admits(*PLACE, 10, 0, sent=True)


def test_what_is_less_stays_less_once_the_bot_must_have_learned_of_it(lowered):
    assert lowered.admits(*PLACE, 7, 0, sent=True)
    assert lowered.admits(*PLACE, 8, LEARNS_NS, sent=True)
    assert not lowered.admits(*PLACE, 9, LEARNS_NS, sent=True)
    assert lowered.admits(*PLACE, 5, 2 * LEARNS_NS, sent=True)
    assert lowered.admits(*PLACE, 5, 3 * LEARNS_NS, sent=True)
    assert not lowered.admits(*PLACE, 7, 3 * LEARNS_NS, sent=True)


def test_another_place_is_held_to_the_lowered_limit_at_once(lowered):
    assert not lowered.admits("position", "another rung", 7, 0, sent=True)


def test_a_limit_that_is_raised_again_holds_as_it_did(lowered):
    assert not lowered.change(LIMITS, {PLACE: 9}, 0)
    assert lowered.admits(*PLACE, 10, 0, sent=True)


def test_what_is_sent_again_counts_again_and_breaks_nothing(ceilings):
    ceilings.made(OLD)
    ceilings.change(LOWER, {PLACE: 9}, 0)
    ceilings.lift(OLD, {PLACE: 12}, 0)
    assert ceilings.admits(*PLACE, 12, 0, sent=True)


def test_the_same_in_a_later_life_that_began_below_the_lowered_limit(ceilings):
    ceilings.made(OLD)
    ceilings.change(LOWER, {PLACE: 3}, 0)
    ceilings.change(LOWER, {PLACE: 3}, 0)
    assert not ceilings.admits(*PLACE, 9, 0, sent=True)
    ceilings.lift(OLD, {PLACE: 9}, 0)
    assert ceilings.admits(*PLACE, 9, 0, sent=True)
    assert not ceilings.admits(*PLACE, 10, 0, sent=True)


def test_what_is_sent_again_passes_no_limit_that_is_as_it_was_when_it_was_made(ceilings):
    ceilings.made(OLD)
    ceilings.lift(OLD, {PLACE: 12}, 0)
    assert not ceilings.admits(*PLACE, 12, 0, sent=True)
    ceilings.change(LOWER, {PLACE: 3}, 0)
    ceilings.made(YOUNG)
    ceilings.lift(YOUNG, {PLACE: 9}, 0)
    assert not ceilings.admits(*PLACE, 9, 0, sent=True)


def test_fees_rounded_up_fill_by_fill_may_add_cents_and_nothing_that_is_sent_may(ceilings):
    lower = msgspec.structs.replace(LIMITS, event_loss_cents=100)
    ceilings.change(lower, {("loss", "e"): 200}, 0)
    assert ceilings.admits("loss", "e", 202, 0, sent=False, slack=2)
    assert ceilings.admits("loss", "e", 202, 0, sent=True, slack=2)
    assert not ceilings.admits("loss", "e", 203, 0, sent=True, slack=2)
