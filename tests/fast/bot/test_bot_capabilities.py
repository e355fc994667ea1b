"""The trader does without what its venue cannot do."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.orders.cancel_reasons import CancelReason
from bot.core.settings import StalenessSettings
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_SECOND

QUIET = StalenessSettings(poll_quiet_ns=20 * NS_PER_SECOND)


def begun(**capabilities: bool) -> Thin:
    """A venue with these capabilities, on which the bot has quoted two rungs for a minute."""
    thin = Thin([40, 60], staleness=QUIET)
    able = m.VenueCapabilities(**capabilities)
    thin.begin(60, m.Started("0" * 20, (), new_account=True, capabilities=able))
    return thin


def reads_in_100_s(venue: Thin, kind: type) -> int:
    since_ns = venue.now_ns
    venue.run(100)
    return sum(at_ns > since_ns and isinstance(each, kind) for at_ns, each in venue.sent)


def moved(venue: Thin) -> list[m.Request]:
    """The writes after others' quotes have moved by two cents."""
    since_ns = venue.now_ns
    venue.mids[0] += 2
    venue.show_all()
    venue.run(20)
    return venue.writes(since_ns)


def test_orders_are_cancelled_and_created_where_amends_keep_no_place():
    venue = begun(amend_keeps_place=False)
    writes = moved(venue)
    assert {type(each) for each in writes} == {m.CancelResting, m.Create}
    prices = [each.price for each in venue.orders.values()]
    assert len(prices) == 4
    assert venue.trader.desk.amends_off is CancelReason.NO_AMENDS


def test_orders_are_amended_where_amends_keep_their_place():
    assert m.AmendResting in {type(each) for each in moved(begun())}


@pytest.mark.parametrize(("pushed", "fills"), [(True, 5), (False, 20)])
def test_fills_are_read_at_the_normal_period_unless_the_channel_shows_ours(pushed, fills):
    assert reads_in_100_s(begun(pushed_fills=pushed), m.ReadFills) == fills


def test_the_other_lists_have_their_quiet_period_also_where_no_fills_are_pushed():
    assert reads_in_100_s(begun(pushed_fills=False), m.ReadBalance) == 5


def test_a_start_of_an_older_journal_has_every_capability():
    now = msgspec.msgpack.encode(m.Started("0" * 20, ()))
    then = msgspec.msgpack.decode(now)
    del then["capabilities"]
    read = msgspec.msgpack.decode(msgspec.msgpack.encode(then), type=m.Started)
    assert read.capabilities == m.VenueCapabilities(True, True, True, True)
