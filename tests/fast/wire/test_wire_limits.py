"""Claims about the published numbers and the token bucket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venue.wire import limits
from venue.wire.instant import NS_PER_SECOND
from venue.wire.limits import TokenBucket
from venue.wire.money import PRICE_MAX

PUBLISHED = {
    "RATE_PER_SECOND": 250,
    "RATE_BURST": 500,
    "PAGE_LIMIT_MIN": 1,
    "PAGE_LIMIT_MAX": 1000,
    "PAGE_LIMIT_DEFAULT": 100,
    "CLIENT_ORDER_ID_LENGTH_MAX": 64,
    "SEARCH_LENGTH_MIN": 2,
    "ACTIVE_KEYS_PER_USER_MAX": 10,
    "REVOCATION_DELAY_NS_MAX": 60 * 10**9,
    "SUBSCRIPTION_TARGETS_MAX": 200,
    "QTY_MAX": 1_000_000,
    "NOTIONAL_CENTS_MAX": 100_000_000,
    "BODY_BYTES_MAX": 16_384,
    "BODY_DEPTH_MAX": 8,
    "CANDLE_WINDOW_DEFAULT_NS": 86_400 * 10**9,
}


@pytest.mark.parametrize(("name", "value"), PUBLISHED.items())
def test_limits_have_their_published_values(name, value):
    assert getattr(limits, name) == value


def test_the_largest_size_at_any_price_stays_below_the_notional_ceiling():
    assert limits.QTY_MAX * PRICE_MAX <= limits.NOTIONAL_CENTS_MAX


BUCKETS = st.tuples(st.integers(1, 50), st.integers(1, 20))
GAPS_NS = st.lists(
    st.one_of(st.just(0), st.integers(0, NS_PER_SECOND // 10), st.integers(0, 3 * NS_PER_SECOND)),
    max_size=120,
)


@given(BUCKETS, GAPS_NS)
def test_any_window_of_t_seconds_passes_at_most_burst_plus_rate_x_t_requests(bucket_of, gaps_ns):
    rate, burst = bucket_of
    bucket, now_ns, accepted_ns = TokenBucket.full(rate, burst, 0), 0, []
    for gap_ns in gaps_ns:
        now_ns += gap_ns
        if bucket.spend_token(now_ns):
            accepted_ns.append(now_ns)
    for first, start_ns in enumerate(accepted_ns):
        for last in range(first, len(accepted_ns)):
            window_e9 = (accepted_ns[last] - start_ns) * rate
            assert (last - first + 1 - burst) * NS_PER_SECOND <= window_e9


@given(BUCKETS, GAPS_NS)
def test_a_bucket_holds_between_zero_and_its_burst(bucket_of, gaps_ns):
    rate, burst = bucket_of
    bucket, now_ns = TokenBucket.full(rate, burst, 0), 0
    for gap_ns in gaps_ns:
        now_ns += gap_ns
        bucket.spend_token(now_ns)
        assert 0 <= bucket.level_e9 <= burst * NS_PER_SECOND


@given(BUCKETS, st.integers(1, 5))
def test_a_token_is_available_exactly_after_the_wait(bucket_of, wanted):
    rate, burst = bucket_of
    wanted = min(wanted, burst)
    bucket = TokenBucket.full(rate, burst, 0)
    while bucket.spend_token(0):
        pass
    wait_ns = bucket.wait_ns(wanted)
    bucket.refill(wait_ns - 1)
    assert bucket.whole_tokens == wanted - 1
    bucket.refill(wait_ns)
    assert bucket.whole_tokens == wanted


def test_refilling_in_small_steps_equals_one_refill():
    steps, once = TokenBucket(250, 500, 0, 0), TokenBucket(250, 500, 0, 0)
    for now_ns in range(0, 1_000_003, 7):
        steps.refill(now_ns)
    once.refill(now_ns)
    assert steps == once


@given(BUCKETS, GAPS_NS)
def test_a_caller_that_keeps_to_the_rate_is_never_limited(bucket_of, gaps_ns):
    rate, burst = bucket_of
    bucket, now_ns = TokenBucket.full(rate, burst, 0), 0
    for gap_ns in gaps_ns:
        now_ns += gap_ns + -(-NS_PER_SECOND // rate)
        assert bucket.spend_token(now_ns)


def test_the_published_bucket_refills_completely_in_two_seconds():
    bucket = TokenBucket.full(limits.RATE_PER_SECOND, limits.RATE_BURST, 0)
    assert bucket.wait_ns() == 0
    assert sum(bucket.spend_token(0) for _ in range(1000)) == 500
    bucket.refill(2 * NS_PER_SECOND)
    assert bucket.whole_tokens == 500


def test_a_limited_request_costs_no_token():
    bucket = TokenBucket(1, 1, NS_PER_SECOND - 1, 0)
    assert not bucket.spend_token(0)
    assert bucket.level_e9 == NS_PER_SECOND - 1


def test_a_clock_that_steps_back_adds_no_token():
    bucket = TokenBucket.full(1, 1, 10 * NS_PER_SECOND)
    assert bucket.spend_token(10 * NS_PER_SECOND)
    assert not bucket.spend_token(0)
    assert not bucket.spend_token(10 * NS_PER_SECOND + NS_PER_SECOND - 1)
    assert bucket.spend_token(11 * NS_PER_SECOND)


def test_a_clock_that_steps_back_takes_no_token_away():
    bucket = TokenBucket.full(1, 1, 10 * NS_PER_SECOND)
    assert bucket.spend_token(0)
