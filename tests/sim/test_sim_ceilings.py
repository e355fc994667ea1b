"""Claims about limits by the judge: what stood above a lowered one may stay, and no more."""

import msgspec
import pytest

from bot.core.settings import RiskSettings
from bot.lab.sim.ceilings import Ceilings

LIMITS = RiskSettings(series_loss_cents=900, rung_position_qty=10, order_qty=5)
LOWER = msgspec.structs.replace(LIMITS, rung_position_qty=6)
PLACE = ("position", "a rung")


@pytest.fixture
def lowered() -> Ceilings:
    """The limit is 6 where 9 are in use."""
    ceilings = Ceilings(LIMITS)
    assert ceilings.change(LOWER, {PLACE: 9})
    return ceilings


def test_a_limit_is_reached_and_not_passed():
    ceilings = Ceilings(LIMITS)
    assert ceilings.admits(*PLACE, 10, sent=True)
    assert not ceilings.admits(*PLACE, 11, sent=True)


def test_what_stands_above_a_lowered_limit_may_shrink_and_never_grow(lowered):
    assert lowered.admits(*PLACE, 9, sent=True)
    assert lowered.admits(*PLACE, 8, sent=True)
    assert not lowered.admits(*PLACE, 9, sent=True)


def test_what_has_come_below_a_lowered_limit_stays_below(lowered):
    assert lowered.admits(*PLACE, 6, sent=True)
    assert not lowered.admits(*PLACE, 7, sent=True)


def test_another_place_is_held_to_the_lowered_limit_at_once(lowered):
    assert not lowered.admits("position", "another rung", 7, sent=True)


def test_a_limit_that_is_raised_again_holds_as_it_did(lowered):
    assert not lowered.change(LIMITS, {PLACE: 9})
    assert lowered.admits(*PLACE, 10, sent=True)


def test_fees_rounded_up_fill_by_fill_may_add_cents_and_nothing_that_is_sent_may():
    ceilings = Ceilings(LIMITS)
    ceilings.change(msgspec.structs.replace(LIMITS, event_loss_cents=100), {("loss", "e"): 200})
    assert ceilings.admits("loss", "e", 202, sent=False, slack=2)
    assert not ceilings.admits("loss", "e", 203, sent=True, slack=2)
