"""Claims about an account that cannot be read: a limit that cannot be checked has been reached."""

import pytest

from bot.core import messages as m
from tests.builders.bot.meddled import Meddled, quoted
from venue.wire.instant import NS_PER_SECOND

READS = (m.ReadBalance, m.ReadPositions, m.ReadFills, m.ReadResting)


@pytest.fixture
def venue() -> Meddled:
    """A venue on which the bot quotes two rungs."""
    return quoted(Meddled())


@pytest.mark.parametrize("kind", READS)
def test_nothing_is_quoted_once_a_list_of_ours_was_not_read_for_a_minute(venue, kind):
    lost = m.Unknown("no answer")
    venue.meddle = lambda asked: lost if isinstance(asked, kind) else None
    venue.go(50)
    assert len(venue.orders) == 4
    venue.go(20)
    assert not venue.orders
    assert "not read for long" in venue.trader.withheld


def test_quotes_come_back_with_the_reads(venue):
    lost = m.Unknown("no answer")
    venue.meddle = lambda asked: lost if isinstance(asked, m.ReadBalance) else None
    venue.go(70)
    assert not venue.orders
    venue.meddle = lambda _asked: None
    for index in range(2):
        venue.show(index)
    venue.go(5)
    assert len(venue.orders) == 4


def test_a_series_that_cannot_be_read_stops_no_quotes(venue):
    lost = m.Unknown("no answer")
    venue.meddle = lambda asked: lost if isinstance(asked, m.ReadSeries) else None
    venue.go(70)
    assert len(venue.orders) == 4


def test_a_series_that_was_not_read_for_a_minute_is_told_until_it_is_read_again(venue):
    lost = m.Unknown("no answer")
    venue.meddle = lambda asked: lost if isinstance(asked, m.ReadSeries) else None
    venue.go(50)
    assert "series_unread" not in venue.notes
    venue.go(20)
    assert venue.notes.count("series_unread") == 1
    assert "series_unread_cleared" not in venue.notes
    venue.meddle = lambda _asked: None
    venue.go(5)
    assert "series_unread_cleared" in venue.notes


@pytest.mark.parametrize("kind", [m.ReadSeries, *READS])
def test_a_start_that_waits_for_a_list_which_cannot_be_read_says_so(kind):
    venue, lost = Meddled(), m.Unknown("no answer")
    venue.meddle = lambda asked: lost if isinstance(asked, kind) else None
    venue.give(m.Started("0" * 20, (), new_account=True))
    venue.give(m.FeedOpened())
    venue.go(70)
    finding = "series_unread" if kind is m.ReadSeries else "account_unread"
    assert venue.notes.count(finding) == 1
    venue.meddle = lambda _asked: None
    venue.go(5)
    assert f"{finding}_cleared" in venue.notes


def test_a_process_that_stood_still_has_left_nothing_unread(venue):
    venue.now_ns += 600 * NS_PER_SECOND
    venue.go(5)
    assert "account_unread" not in venue.notes
    assert "series_unread" not in venue.notes
