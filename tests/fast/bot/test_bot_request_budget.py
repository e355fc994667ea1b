"""The request budget and the write throttle, to the last token and nanosecond."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.orders.request_budget import (
    CLAIM_MAX,
    MARKETS_MAX,
    Priority,
    RequestBudget,
    WriteThrottle,
)
from bot.core.settings import BudgetSettings, PaceSettings
from venue.wire.names import MarketId

SECOND = 1_000_000_000
MS = 1_000_000
SETTINGS = BudgetSettings(rate_per_second=200, burst=400, reserve=60)
MARKET, OTHER = MarketId("a"), MarketId("b")


def budget(now_ns: int = 0) -> RequestBudget:
    return RequestBudget(SETTINGS, now_ns)


def spent(of: RequestBudget, lane: Priority, now_ns: int, user: int = 0) -> int:
    """How many requests of a lane may leave at one instant."""
    count = 0
    while of.spend(lane, now_ns, user):
        count += 1
    return count


def answered_all(of: RequestBudget, now_ns: int) -> None:
    """Every request gets an answer without a count."""
    while of.in_flight:
        of.answered(None, now_ns)


@pytest.mark.parametrize(
    ("lane", "count"),
    [
        (Priority.CREATE, 340),
        (Priority.AMEND, 340),
        (Priority.READ, 340),
        (Priority.CANCEL, 400),
        (Priority.RECOVER, 400),
    ],
)
def test_only_cancels_and_recovery_may_use_the_reserve(lane, count):
    assert spent(budget(), lane, 0) == count
    assert budget(3_600 * SECOND).tokens(3_600 * SECOND) == 400
    of = budget()
    spent(of, Priority.CREATE, 0)
    assert spent(of, lane, 0) == count - 340


@pytest.mark.parametrize(("burst", "can"), [(61, True), (62, False)])
def test_a_replacement_needs_two_tokens_beyond_the_reserve(burst, can):
    of = RequestBudget(BudgetSettings(burst=burst, reserve=60), 0)
    while of.tokens(0) > 61:
        of.spend(Priority.CANCEL, 0)
    assert of.can_replace(0) is can


def test_tokens_refill_at_the_rate():
    of = budget()
    spent(of, Priority.CANCEL, 0)
    assert not of.spend(Priority.CANCEL, 5 * MS - 1)
    assert of.spend(Priority.CANCEL, 5 * MS)


def test_no_request_is_sent_inside_retry_after():
    of = budget()
    of.told_to_wait(2 * SECOND, 0)
    assert not of.spend(Priority.CANCEL, 2 * SECOND - 1)
    assert of.spend(Priority.CANCEL, 2 * SECOND)


@pytest.mark.parametrize(("asked_s", "waits_s"), [(60, 60), (61, 60), (10**9, 60), (-5, 0.25)])
def test_a_wait_asked_for_is_clamped(asked_s, waits_s):
    of = budget()
    of.told_to_wait(asked_s * SECOND, 0)
    assert of.opens_ns() == waits_s * SECOND


def test_a_shorter_wait_does_not_shorten_a_longer_one():
    of = budget()
    of.told_to_wait(5 * SECOND, 0)
    of.told_to_wait(SECOND, MS)
    assert of.opens_ns() == 5 * SECOND


@pytest.mark.parametrize(
    ("tell", "expected"),
    [
        (RequestBudget.told_to_wait, [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]),
        (RequestBudget.unserved, [0.25, 0.5, 1, 2, 4, 4, 4, 4, 4, 4]),
    ],
    ids=["rate limited", "unavailable"],
)
def test_the_backoff_without_a_header_doubles_up_to_a_limit(tell, expected):
    of, now_ns, waits = budget(), 0, []
    for _ in range(10):
        tell(of, None, now_ns)
        waits.append((of.opens_ns() - now_ns) / SECOND)
        now_ns = of.opens_ns()
    assert waits == expected


def test_a_second_reject_of_the_same_volley_does_not_lengthen_the_backoff():
    of = budget()
    of.told_to_wait(None, 0)
    of.told_to_wait(None, MS)
    assert of.opens_ns() == SECOND // 4 + MS


def test_an_accepted_request_resets_the_backoff():
    of = budget()
    of.told_to_wait(None, 0)
    of.told_to_wait(None, SECOND)
    of.eased(2 * SECOND)
    of.told_to_wait(None, 10 * SECOND)
    assert of.opens_ns() == 10 * SECOND + SECOND // 4


@given(st.integers(0, 500), st.integers(0, 60))
def test_the_venues_remaining_count_lowers_ours_and_never_raises_it(left, others):
    of = budget()
    spent(of, Priority.CREATE, 0)
    answered_all(of, 0)
    for _ in range(others + 1):
        assert of.spend(Priority.CANCEL, 0) or others == 60
    of.answered(left, 0)
    ours = max(0, 60 - others - 1)
    assert of.tokens(0) == min(ours, max(0, left - of.in_flight))


def test_a_remaining_count_of_an_overtaken_request_is_ignored():
    of = budget()
    for _ in range(3):
        of.spend(Priority.READ, 0)
    of.answered(300, SECOND, 3)
    of.answered(5, SECOND, 1)
    assert of.tokens(SECOND) == 298
    of.answered(5, SECOND, 4)
    assert of.tokens(SECOND) == 5


@pytest.mark.parametrize(
    ("limit", "burst", "reserve", "per_second"),
    [(1_000, 400, 60, 200), (500, 400, 60, 200), (100, 80, 12, 40), (1, 1, 0, 1), (0, 1, 0, 1)],
)
def test_a_lower_limit_header_scales_burst_reserve_and_rate(limit, burst, reserve, per_second):
    of = budget()
    of.spend(Priority.READ, 0)
    of.answered(None, 0, 1, limit)
    shown = of.report(2 * SECOND)
    assert (shown.burst, shown.reserve, shown.rate_per_second) == (burst, reserve, per_second)
    assert of.tokens(2 * SECOND) == burst or limit < 2
    of.spend(Priority.CANCEL, 4 * SECOND)
    of.answered(None, 4 * SECOND, 2, 500)
    assert of.report(4 * SECOND).burst == 400


def read(of: RequestBudget, left: int, now_ns: int, *, is_throttled: bool = False) -> None:
    """One read, answered at once with so many tokens left."""
    assert of.spend(Priority.CANCEL, now_ns)
    of.answered(left, now_ns, of.spent, 500, is_throttled=is_throttled)


def test_tokens_missing_for_two_seconds_show_foreign_usage_and_lower_the_rate():
    of = budget()
    for tenth in range(21):
        assert not of.foreign.is_found
        read(of, 250, tenth * SECOND // 10)
    assert of.foreign.is_found
    assert of.report(2 * SECOND).rate_per_second == 100
    assert of.spend(Priority.CREATE, 2 * SECOND)
    of.answered(490, 3 * SECOND, of.spent, 500)
    assert not of.foreign.is_found
    assert of.report(3 * SECOND).rate_per_second == 200


def test_contradictory_counts_and_counts_of_a_429_show_no_foreign_usage():
    of = budget()
    for second in range(20):
        read(of, 0 if second % 3 else 499, second * SECOND)
        read(of, 0, second * SECOND + SECOND // 2, is_throttled=True)
    assert not of.foreign.is_found


@pytest.mark.parametrize(
    # A quarter of the burst and of the rate.
    ("at_s", "may_have_left"),
    [(0, 100), (1, 150), (2, 200), (5, 350), (8, 500)],
)
def test_after_an_outage_a_quarter_of_the_creates_is_sent_for_ten_seconds(at_s, may_have_left):
    of, count = budget(), 0
    of.outage_over(0)
    for tick in range(at_s * 20 + 1):
        count += spent(of, Priority.CREATE, tick * 50 * MS)
    assert count == may_have_left


@pytest.mark.parametrize(("refusals", "ramped"), [(3, False), (4, True)])
def test_a_backoff_of_two_seconds_ends_in_a_ramp(refusals, ramped):
    of, now_ns = budget(), 0
    for _ in range(refusals):
        of.unserved(None, now_ns)
        now_ns = of.opens_ns()
    of.eased(now_ns)
    assert spent(of, Priority.CREATE, now_ns) == (100 if ramped else 340)


def served(every_ms: tuple[int, ...], seconds: int = 10) -> list[int]:
    """What users get who ask for all they can have, each as often as it does."""
    of = budget()
    users = [0, *(of.join() for _ in every_ms[1:])]
    spent(of, Priority.CANCEL, 0)
    counts = [0] * len(users)
    for ms in range(1, seconds * 1_000 + 1):
        for user, every in zip(users, every_ms, strict=True):
            if ms % every == 0:
                counts[user] += spent(of, Priority.CREATE, ms * MS, user)
    return counts


@pytest.mark.parametrize(("every_ms", "apart"), [((1, 100), 30), ((1, 7, 50), 20)])
def test_users_get_equal_shares_however_often_they_ask(every_ms, apart):
    counts = served(every_ms)
    assert max(counts) - min(counts) <= apart
    assert sum(counts) >= 1_880


def test_one_user_may_spend_all_that_others_do_not_want():
    of = budget()
    other = of.join()
    assert spent(of, Priority.CREATE, 0) == 340
    assert spent(of, Priority.CREATE, SECOND) == 200
    assert not of.spend(Priority.CREATE, SECOND, other)


def test_an_idle_user_has_no_claim_to_past_tokens():
    of = budget()
    other = of.join()
    for second in range(60):
        spent(of, Priority.CREATE, second * SECOND)
    assert not of.spend(Priority.CREATE, 59 * SECOND, other)
    assert not of.spend(Priority.CREATE, 59 * SECOND)
    now_ns = 59 * SECOND + 100 * MS
    assert spent(of, Priority.CREATE, now_ns, other) == 20 // 2 + CLAIM_MAX // 2
    assert spent(of, Priority.CREATE, now_ns) == 20 // 2 - CLAIM_MAX // 2


def test_a_user_that_stops_asking_holds_no_other_back():
    of = budget()
    other = of.join()
    spent(of, Priority.CREATE, 0)
    assert not of.spend(Priority.CREATE, 0, other)
    assert spent(of, Priority.CREATE, 250 * MS) == 50 // 2 - CLAIM_MAX // 2
    assert spent(of, Priority.CREATE, 250 * MS + 1) == 50 // 2 + CLAIM_MAX // 2


def test_the_time_to_flat_counts_missing_tokens_and_the_wait():
    of = budget()
    assert of.flat_ns(400, 0) == 0
    assert of.flat_ns(401, 0) == 5 * MS
    assert of.flat_ns(600, 0) == SECOND
    of.told_to_wait(3 * SECOND, 0)
    assert of.flat_ns(600, 0) == 4 * SECOND
    assert of.flat_ns(600, SECOND) == 3 * SECOND


def test_the_time_to_flat_counts_the_orders_of_other_users():
    of = budget()
    other = of.join()
    of.rests(300, other)
    of.rests(50)
    assert of.flat_ns(200, 0) == 500 * MS
    assert of.flat_ns(300, 0, other) == 0
    assert of.flat_ns(370, 0, other) == 100 * MS


PACE = PaceSettings(
    market_writes_per_second=2, market_writes_burst=6, writes_per_second=50, writes_burst=300
)


def written(of: WriteThrottle, market: MarketId, now_ns: int) -> int:
    """How many creates and amends of a market the pace bears at one instant."""
    count = 0
    while of.admits(market, now_ns):
        of.on_write(market, now_ns)
        count += 1
    return count


def test_a_market_takes_six_writes_at_once_and_two_a_second():
    of = WriteThrottle(PACE)
    assert written(of, MARKET, 0) == 6
    assert of.opens_ns(MARKET, 0) == 500 * MS
    assert written(of, MARKET, 500 * MS - 1) == 0
    assert written(of, MARKET, 500 * MS) == 1
    assert written(of, MARKET, 2_500 * MS) == 4
    assert written(of, OTHER, 0) == 6


def test_all_markets_together_take_three_hundred_writes_at_once_and_fifty_a_second():
    of = WriteThrottle(PACE)
    markets = [MarketId(str(number)) for number in range(100)]
    assert sum(written(of, market, 0) for market in markets) == 300
    assert of.opens_ns(markets[99], 0) == 20 * MS
    assert sum(written(of, market, SECOND) for market in markets) == 50


def test_cancels_are_not_throttled_and_count():
    of = WriteThrottle(PACE)
    for _ in range(20):
        of.on_write(MARKET, 0)
    assert written(of, MARKET, 0) == 0
    assert written(of, MARKET, 500 * MS) == 1


def test_sent_requests_are_numbered_and_counted_until_they_are_answered():
    of = budget()
    count = spent(of, Priority.CREATE, 0)
    assert not of.spend(Priority.CREATE, 0)
    assert (of.spent, of.in_flight) == (count, count) == (340, 340)
    tokens = of.tokens(0)
    of.answered(None, 0, 1)
    assert (of.spent, of.in_flight, of.tokens(0)) == (340, 339, tokens)
    for _ in range(340):
        of.answered(None, 0)
    assert of.in_flight == 0


def test_amends_and_reads_are_not_ramped_after_an_outage():
    of = budget()
    of.outage_over(0)
    for _ in range(80):
        assert of.spend(Priority.AMEND, 0)
        assert of.spend(Priority.READ, 0)
    assert spent(of, Priority.CREATE, 0) == 100


def test_creates_before_an_outage_do_not_count_in_its_ramp():
    of = budget()
    spent(of, Priority.CREATE, 0)
    of.outage_over(2 * SECOND)
    assert spent(of, Priority.CREATE, 2 * SECOND) == 100
    of.outage_over(4 * SECOND)
    assert spent(of, Priority.CREATE, 4 * SECOND) == 100


def test_the_ramp_after_an_outage_ends_after_ten_seconds():
    of = budget()
    of.outage_over(0)
    for tick in range(200):
        spent(of, Priority.CREATE, tick * 50 * MS)
    assert spent(of, Priority.CREATE, 10 * SECOND - 1) < 12
    assert spent(of, Priority.CREATE, 10 * SECOND) > 300
    assert spent(of, Priority.CREATE, 11 * SECOND) == 200


@pytest.mark.parametrize("users", [1, 2, 3, 4])
def test_the_users_share_the_ramp_of_each_outage(users):
    of = budget()
    for _ in range(users - 1):
        of.join()
    for second in (0, 20):
        of.outage_over(second * SECOND)
        for user in range(users):
            assert spent(of, Priority.CREATE, second * SECOND, user) == 100 // users


def test_a_remaining_count_of_zero_empties_the_budget():
    of = budget()
    of.spend(Priority.READ, 0)
    of.answered(0, 0, 1)
    assert of.tokens(5 * MS - 1) == 0
    assert of.tokens(5 * MS) == 1


def test_a_remaining_count_applies_at_the_instant_of_its_response():
    of = budget()
    spent(of, Priority.CANCEL, 0)
    for _ in range(400):
        of.answered(None, 0)
    of.answered(150, SECOND)
    assert of.tokens(SECOND) == 150


def test_a_wait_lasts_at_least_our_own_backoff():
    of = budget()
    of.told_to_wait(SECOND // 10, 7 * SECOND)
    assert of.opens_ns() == 7 * SECOND + SECOND // 4
    of.told_to_wait(3 * SECOND, of.opens_ns())
    assert of.opens_ns() == 7 * SECOND + SECOND // 4 + 3 * SECOND


def test_an_unavailable_venue_is_asked_again_at_the_instant_it_named():
    of = budget()
    of.unserved(7 * SECOND, 0)
    assert of.opens_ns() == 7 * SECOND


def test_a_user_without_reported_orders_adds_no_time_to_flat():
    of = budget()
    alone_ns = of.flat_ns(1_000, 0)
    of.join()
    assert of.flat_ns(1_000, 0) == alone_ns > 0


def test_the_time_to_flat_is_rounded_up_to_whole_nanoseconds():
    of = RequestBudget(BudgetSettings(rate_per_second=3, burst=6, reserve=2), 0)
    flat_ns = of.flat_ns(7, 0)
    assert (flat_ns, type(flat_ns)) == (333_333_334, int)
    assert of.flat_ns(8, 0) == 666_666_667


def test_a_reject_at_the_end_of_a_wait_lengthens_the_backoff():
    of = budget()
    of.unserved(None, 0)
    of.unserved(None, SECOND // 4 - 1)
    assert of.opens_ns() == SECOND // 2 - 1
    of.unserved(None, SECOND // 2 - 1)
    assert of.opens_ns() == SECOND - 1


def test_a_claim_on_creates_does_not_hold_back_cancels():
    of = budget()
    other = of.join()
    spent(of, Priority.CREATE, 0)
    assert not of.spend(Priority.CREATE, 0, other)
    assert spent(of, Priority.CANCEL, 0) == 60


def test_a_denied_users_claim_ends_with_its_next_token():
    of = budget()
    other = of.join()
    spent(of, Priority.CREATE, 0)
    assert not of.spend(Priority.CREATE, 0, other)
    now_ns = 50 * MS
    assert of.spend(Priority.CREATE, now_ns, other)
    assert spent(of, Priority.CREATE, now_ns) == 9


def test_the_market_unwritten_for_longest_is_forgotten_beyond_the_bound():
    of = WriteThrottle(PaceSettings(market_writes_burst=2, writes_burst=100_000))
    for number in range(MARKETS_MAX):
        of.on_write(MarketId(str(number)), 0)
        of.on_write(MarketId(str(number)), 0)
    newest = MarketId("one more")
    of.on_write(newest, 0)
    of.on_write(newest, 0)
    assert not of.admits(newest, 0)
    assert not of.admits(MarketId("1"), 0)
    assert of.admits(MarketId("0"), 0)


def test_a_write_is_admitted_once_both_market_and_account_throttle_allow_it():
    of = WriteThrottle(
        PaceSettings(
            market_writes_per_second=2,
            market_writes_burst=2,
            writes_per_second=5,
            writes_burst=3,
        )
    )
    first, second = MarketId("a"), MarketId("b")
    assert of.opens_ns(first, SECOND) == SECOND
    of.on_write(first, SECOND)
    of.on_write(first, SECOND)
    assert of.opens_ns(first, SECOND) == 1_500 * MS
    of.on_write(second, SECOND)
    assert of.opens_ns(second, SECOND) == 1_200 * MS
    assert of.opens_ns(first, SECOND) == 1_500 * MS
    assert not of.admits(second, 1_200 * MS - 1)
    assert of.admits(second, 1_200 * MS)
    assert not of.admits(first, 1_500 * MS - 1)
    assert of.admits(first, 1_500 * MS)
