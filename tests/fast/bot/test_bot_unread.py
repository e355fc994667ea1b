"""An account that cannot be read: a limit that cannot be checked counts as reached."""

import pytest

from bot.core import messages as m
from tests.builders.bot.meddled import Meddled
from venue.wire.instant import NS_PER_SECOND

READS = (m.ReadBalance, m.ReadPositions, m.ReadFills, m.ReadResting)


@pytest.mark.parametrize("kind", READS)
def test_nothing_is_quoted_while_a_list_of_the_account_is_unread_for_a_minute(venue, kind):
    venue.lose(kind)
    venue.go(50)
    assert len(venue.orders) == 4
    venue.go(20)
    assert not venue.orders
    assert "not read for long" in venue.trader.withheld
    venue.lose()
    venue.show_all()
    venue.go(5)
    assert len(venue.orders) == 4


def test_a_series_unread_for_a_minute_raises_an_alert_and_stops_no_quotes(venue):
    venue.lose(m.ReadSeries)
    venue.go(50)
    assert "series_unread" not in venue.notes
    venue.go(20)
    assert venue.notes.count("series_unread") == 1
    assert len(venue.orders) == 4
    venue.lose()
    venue.go(5)
    assert "series_unread_cleared" in venue.notes


@pytest.mark.parametrize("kind", [m.ReadSeries, *READS])
def test_a_start_that_waits_for_an_unread_list_raises_an_alert(kind):
    venue = Meddled()
    venue.lose(kind)
    venue.give(m.Started("0" * 20, (), new_account=True))
    venue.give(m.FeedOpened())
    venue.go(70)
    finding = "series_unread" if kind is m.ReadSeries else "account_unread"
    assert venue.notes.count(finding) == 1
    venue.lose()
    venue.go(5)
    assert f"{finding}_cleared" in venue.notes


def test_after_a_pause_of_the_process_no_list_counts_as_unread(venue):
    venue.now_ns += 600 * NS_PER_SECOND
    venue.go(5)
    assert "account_unread" not in venue.notes
    assert "series_unread" not in venue.notes
