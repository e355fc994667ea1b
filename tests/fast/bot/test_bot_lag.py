"""Claims about how late the channel is, by its prints."""

import pytest

from bot.core.quoting.feed_monitor import FeedLatency
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

S, MS = NS_PER_SECOND, NS_PER_MS


def prints(lag: FeedLatency, took_ns: list[int], each_ns: int = 200 * MS) -> int:
    now = 1_000 * S
    for took in took_ns:
        now += each_ns
        lag.on_print(now - took, now)
    return now


def test_prints_that_take_as_long_as_ever_are_in_time_whatever_the_clocks_say():
    lag = FeedLatency(500 * MS)
    now = prints(lag, [3_600 * S + 10 * MS] * 100)
    assert not (now < lag.late_until_ns)


@pytest.mark.parametrize(("drift_ns", "late"), [(500 * MS, False), (500 * MS + 1, True)])
def test_a_drift_beyond_half_a_second_is_late(drift_ns, late):
    lag = FeedLatency(500 * MS)
    now = prints(lag, [10 * MS] * 10 + [10 * MS + drift_ns] * 10)
    assert (now < lag.late_until_ns) is late


@pytest.mark.parametrize(("ahead_ns", "late"), [(None, False), (0, True), (-5 * S, False)])
def test_prints_that_are_late_from_the_first_on_are_so_by_what_else_tells_the_venues_time(
    ahead_ns, late
):
    lag = FeedLatency(500 * MS)
    for second in range(10):
        lag.on_print(second * S, second * S + 1_500 * MS, ahead_ns)
    assert (lag.late_until_ns > 10 * S + 500 * MS) is late


@pytest.mark.parametrize(("ahead_ns", "late"), [(3_600 * S, True), (3_598 * S, False)])
def test_the_first_prints_after_a_clock_was_set_ahead_are_late_by_what_else_tells_the_time(
    ahead_ns, late
):
    lag = FeedLatency(500 * MS)
    now = prints(lag, [10 * MS] * 20)
    for _ in range(10):
        now += 200 * MS
        lag.on_print(now + 3_598 * S, now, ahead_ns)
    assert (now < lag.late_until_ns) is late


def test_one_late_print_among_others_in_time_is_an_accident():
    lag = FeedLatency(500 * MS)
    now = prints(lag, [10 * MS] * 10 + [5 * S, 10 * MS])
    assert not (now < lag.late_until_ns)


def test_lateness_is_forgotten_when_nothing_trades():
    lag = FeedLatency(500 * MS)
    now = prints(lag, [10 * MS] * 10 + [5 * S] * 10)
    assert now < lag.late_until_ns
    assert not (now + 2 * S < lag.late_until_ns)


def test_lateness_that_comes_again_after_a_silence_is_forgotten_after_up_to_eight_seconds():
    lag = FeedLatency(500 * MS)
    now = prints(lag, [10 * MS] * 10 + [5 * S])
    for silence_s in (2, 4, 8, 8):
        assert now + silence_s * S - 1 < lag.late_until_ns
        assert not (now + silence_s * S < lag.late_until_ns)
        now += silence_s * S
        lag.on_print(now - 5 * S, now)


def test_a_print_in_time_ends_what_a_silence_is_given_for_lateness():
    lag = FeedLatency(500 * MS)
    now = prints(lag, [10 * MS] * 10 + [5 * S, 5 * S, 10 * MS, 5 * S], each_ns=3 * S)
    assert now + 2 * S - 1 < lag.late_until_ns
    assert not (now + 2 * S < lag.late_until_ns)


def test_a_slow_drift_of_the_clocks_is_not_lateness():
    lag = FeedLatency(500 * MS)
    now = prints(lag, [10 * MS + step * 100_000 for step in range(3_000)])  # 500 ppm, ten minutes
    assert not (now < lag.late_until_ns)
