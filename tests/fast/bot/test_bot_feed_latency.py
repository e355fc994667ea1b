"""The latency of the channel, by its trades."""

import pytest

from bot.core.quoting.feed_monitor import FeedLatency
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

S, MS = NS_PER_SECOND, NS_PER_MS


def trades(took_ns: list[int], each_ns: int = 200 * MS) -> tuple[FeedLatency, int]:
    """The latency after trades that took so long, and the instant then."""
    lag, now = FeedLatency(500 * MS), 1_000 * S
    for took in took_ns:
        now += each_ns
        lag.on_print(now - took, now)
    return lag, now


@pytest.mark.parametrize(
    ("took_ns", "late"),
    [
        ([3_600 * S + 10 * MS] * 100, False),
        ([10 * MS] * 10 + [510 * MS] * 10, False),
        ([10 * MS] * 10 + [510 * MS + 1] * 10, True),
        ([10 * MS] * 10 + [5 * S, 10 * MS], False),
        ([10 * MS + step * 100_000 for step in range(3_000)], False),
    ],
    ids=["another clock", "half a second", "a nanosecond more", "one late trade", "500 ppm drift"],
)
def test_a_channel_is_late_if_trades_take_over_half_a_second_longer_than_before(took_ns, late):
    lag, now = trades(took_ns)
    assert (now < lag.late_until_ns) is late


@pytest.mark.parametrize(("ahead_ns", "late"), [(None, False), (0, True), (-5 * S, False)])
def test_trades_late_from_the_start_show_by_the_venue_clock(ahead_ns, late):
    lag = FeedLatency(500 * MS)
    for second in range(10):
        lag.on_print(second * S, second * S + 1_500 * MS, ahead_ns)
    assert (lag.late_until_ns > 10 * S + 500 * MS) is late


@pytest.mark.parametrize(("ahead_ns", "late"), [(3_600 * S, True), (3_598 * S, False)])
def test_the_first_trades_after_a_clock_change_show_latency_by_the_venue_clock(ahead_ns, late):
    lag, now = trades([10 * MS] * 20)
    for _ in range(10):
        now += 200 * MS
        lag.on_print(now + 3_598 * S, now, ahead_ns)
    assert (now < lag.late_until_ns) is late


def test_repeated_latency_lasts_two_to_eight_seconds_without_trades():
    lag, now = trades([10 * MS] * 10 + [5 * S])
    for silence_s in (2, 4, 8, 8):
        assert now + silence_s * S - 1 < lag.late_until_ns
        assert not (now + silence_s * S < lag.late_until_ns)
        now += silence_s * S
        lag.on_print(now - 5 * S, now)


def test_a_trade_in_time_resets_the_duration_of_latency():
    lag, now = trades([10 * MS] * 10 + [5 * S, 5 * S, 10 * MS, 5 * S], each_ns=3 * S)
    assert now + 2 * S - 1 < lag.late_until_ns
    assert not (now + 2 * S < lag.late_until_ns)
