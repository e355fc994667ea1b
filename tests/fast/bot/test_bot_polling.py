"""How often the trader reads its account: as often as something of ours may have changed."""

import pytest

from bot.core import messages as m
from bot.core.settings import StalenessSettings
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty

QUIET = StalenessSettings(poll_quiet_ns=20 * NS_PER_SECOND)
READS = (m.ReadSeries, m.ReadBalance, m.ReadPositions, m.ReadFills, m.ReadResting)


@pytest.fixture
def venue() -> Thin:
    """A venue on which the bot has quoted two rungs for a minute in which nothing happened."""
    thin = Thin([40, 60], staleness=QUIET)
    thin.start()
    thin.run(60)
    return thin


def reads(venue: Thin, seconds: float, *kinds: type[m.Read]) -> int:
    """Reads that the trader sends in that time."""
    since_ns = venue.now_ns
    venue.run(seconds)
    return sum(at_ns > since_ns and isinstance(each, kinds) for at_ns, each in venue.sent)


def test_in_a_quiet_hour_the_bot_sends_at_most_half_a_read_a_second(venue):
    assert 0 < reads(venue, 3_600, *READS) <= 1_800


def test_the_series_is_read_at_its_normal_period_in_a_quiet_hour(venue):
    assert reads(venue, 100, m.ReadSeries) == 20


def test_a_print_at_our_price_has_the_fills_read_within_the_fast_period(venue):
    price = next(iter(venue.orders.values())).price
    trade = m.Trade(venue.markets[0].market_id, venue.now_ns, "t", Price(price), Qty(1), False)
    venue.give(trade)
    assert reads(venue, 1.5, m.ReadFills, m.ReadOrder) > 0


def test_after_a_write_every_list_is_read_once_more_at_its_normal_period(venue):
    venue.mids[0] += 3
    venue.show_all()
    venue.run(1)
    assert venue.writes(venue.now_ns - NS_PER_SECOND)
    since_ns = venue.now_ns
    venue.run(6)
    assert {type(each) for at_ns, each in venue.sent if at_ns >= since_ns} >= {*READS}


def test_a_list_read_again_unchanged_asks_for_no_decision(venue):
    decided = venue.trader.out.counters.decisions
    assert reads(venue, 20, *READS) > 0
    assert venue.trader.out.counters.decisions == decided


def test_without_the_quiet_period_every_list_keeps_its_normal_one():
    thin = Thin([40, 60], staleness=StalenessSettings())
    thin.start()
    thin.run(60)
    assert reads(thin, 100, m.ReadBalance) == 20
