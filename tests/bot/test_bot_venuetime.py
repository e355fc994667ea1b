"""Claims about what the venue's clock shows, as its stamps tell it; and when it was set back."""

import pytest

from bot.core.books.venuetime import VenueTime
from bot.core.messages import ImpliedValueSeen
from bot.core.series.implied import ImpliedValues
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import ProjectId

S = NS_PER_SECOND
HOUR = 3_600 * S
BEGUN = 1_000 * S


def agreed(lead_ns: int = 0) -> VenueTime:
    """Three stamps have agreed that the venue's clock leads by so much."""
    of = VenueTime()
    for place in range(3):
        of.told(BEGUN + place + lead_ns, BEGUN + place)
    assert of.ahead_ns is not None
    return of


def told(of: VenueTime, lead_ns: int, *seconds: float) -> None:
    """Stamps with such a lead, so many seconds after the beginning."""
    for second in seconds:
        now_ns = BEGUN + round(second * S)
        of.told(now_ns + lead_ns, now_ns)


def test_a_clock_that_was_set_back_is_followed_after_five_seconds_of_stamps_that_agree() -> None:
    of = agreed(HOUR)
    told(of, 0, 1, 2, 3, 4, 5)
    of.was_read(BEGUN, BEGUN + 5 * S)
    assert of.ahead_ns == HOUR
    told(of, 0, 6)
    assert (of.ahead_ns, of.set_backs) == (0, 1)
    assert of.is_beyond(BEGUN + HOUR, BEGUN + 7 * S)


def test_no_clock_was_set_back_before_a_read_has_said_so_too() -> None:
    of = agreed(HOUR)
    of.was_read(BEGUN, BEGUN)
    told(of, 0, *range(1, 60))
    assert of.is_doubted
    assert of.set_backs == 0
    of.was_read(BEGUN, BEGUN + 59 * S)
    told(of, 0, 60)
    assert not of.is_doubted
    assert of.set_backs == 1


def test_reads_of_now_keep_the_clock_known_however_old_the_frames_are() -> None:
    of = agreed(HOUR)
    for second in range(1, 600):
        told(of, HOUR - 30 * S, second)
        of.was_read(BEGUN + second * S + HOUR, BEGUN + second * S)
    assert of.ahead_ns == HOUR


def test_one_stamp_by_the_old_clock_begins_the_five_seconds_anew() -> None:
    of = agreed(HOUR)
    told(of, 0, 1, 2, 3)
    told(of, HOUR, 4)
    told(of, 0, 5, 6, 7, 8, 9)
    of.was_read(BEGUN, BEGUN + 9 * S)
    assert of.set_backs == 0
    told(of, 0, 10)
    assert of.set_backs == 1


def test_a_read_that_is_of_now_by_the_old_clock_shows_that_frames_are_late_and_no_clock_moved() -> (
    None
):
    of = agreed(HOUR)
    for second in range(1, 30):
        told(of, HOUR - 90 * S, second)
        of.was_read(BEGUN + second * S + HOUR - S, BEGUN + second * S)
    assert (of.ahead_ns, of.set_backs) == (HOUR, 0)


def test_stamps_that_do_not_agree_set_no_clock_back() -> None:
    of = agreed(HOUR)
    for second in range(1, 30):
        told(of, -100 * S * second, second)
    assert of.set_backs == 0


@pytest.mark.parametrize("late_s", [1, 20, 59])
def test_what_is_late_by_less_than_a_minute_sets_no_clock_back(late_s: int) -> None:
    of = agreed(HOUR)
    told(of, HOUR - late_s * S, *range(1, 60))
    assert of.set_backs == 0


@pytest.mark.parametrize("lead_ns", [-HOUR, 0, HOUR])
def test_an_implied_value_is_as_old_as_the_venues_own_clock_says(lead_ns: int) -> None:
    of, company = agreed(lead_ns), ProjectId("c")
    values = ImpliedValues(of)
    values.saw(ImpliedValueSeen(company, BEGUN + lead_ns, 1e9, 0.5), BEGUN)
    ages = [values.view(company, BEGUN + seconds * S) for seconds in (0, 60)]
    assert [round(each.age_s, 3) for each in ages if each is not None] == [0.0, 60.0]
