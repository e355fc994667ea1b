"""Orders of an earlier run that a start keeps."""

from tests.builders.bot.past import KEPT, Past
from venue.wire.instant import NS_PER_MS


def test_a_kept_order_keeps_its_queue_position_when_the_fills_are_read_late():
    for fills_ms in range(0, 3_000, 250):
        of = Past(earlier=1, fills_ns=fills_ms * NS_PER_MS)
        of.begin_kept()
        assert KEPT in of.orders, fills_ms
