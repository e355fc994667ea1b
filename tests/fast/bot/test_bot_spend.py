"""Claims about the request budget: windows, the reserve, waiting, the ramp, sharing, the pace."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
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


def purse(now_ns: int = 0) -> RequestBudget:
    """A full purse."""
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


@pytest.mark.slow
@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.integers(0, 2 * SECOND), st.integers(1, 150), st.sampled_from(list(Priority))),
        min_size=1,
        max_size=30,
    )
)
def test_no_window_holds_more_than_burst_and_what_flowed_in(tries):
    of, now_ns = purse(), 0
    times: list[int] = []
    for gap_ns, wanted, lane in tries:
        now_ns += gap_ns
        times += [now_ns] * sum(of.spend(lane, now_ns) for _ in range(wanted))
    for first in range(0, len(times), 7):
        for last in range(first, len(times), 7):
            window = Fraction(times[last] - times[first], SECOND)
            assert last - first + 1 <= 400 + 200 * window


def test_creates_amends_and_reads_leave_the_reserve():
    for lane in (Priority.CREATE, Priority.AMEND, Priority.READ):
        assert spent(purse(), lane, 0) == 340


def test_cancels_and_recovery_may_use_the_reserve():
    of = purse()
    spent(of, Priority.CREATE, 0)
    assert spent(of, Priority.CANCEL, 0) == 60
    assert not of.spend(Priority.RECOVER, 0)
    assert spent(purse(), Priority.RECOVER, 0) == 400


@pytest.mark.parametrize(("burst", "can"), [(61, True), (62, False)])
def test_an_order_can_be_replaced_with_two_tokens_beyond_the_reserve_or_with_all_there_are(
    burst, can
):
    of = RequestBudget(BudgetSettings(burst=burst, reserve=60), 0)
    while of.tokens(0) > 61:
        of.spend(Priority.CANCEL, 0)
    assert of.can_replace(0) is can


def test_tokens_flow_in_at_the_rate():
    of = purse()
    spent(of, Priority.CANCEL, 0)
    assert not of.spend(Priority.CANCEL, 5 * MS - 1)
    assert of.spend(Priority.CANCEL, 5 * MS)


def test_a_purse_that_begins_late_holds_no_more_than_its_burst():
    assert purse(3_600 * SECOND).tokens(3_600 * SECOND) == 400


# --- waiting --------------------------------------------------------------------------------------


def test_nothing_leaves_inside_retry_after_not_even_a_cancel():
    of = purse()
    of.told_to_wait(2 * SECOND, 0)
    assert not of.spend(Priority.CANCEL, 2 * SECOND - 1)
    assert of.spend(Priority.CANCEL, 2 * SECOND)


@pytest.mark.parametrize(("asked_s", "waits_s"), [(60, 60), (61, 60), (10**9, 60), (-5, 0.25)])
def test_a_wait_asked_for_is_clamped(asked_s, waits_s):
    of = purse()
    of.told_to_wait(asked_s * SECOND, 0)
    assert of.opens_ns() == waits_s * SECOND


def test_a_shorter_wait_does_not_shorten_a_longer_one():
    of = purse()
    of.told_to_wait(5 * SECOND, 0)
    of.told_to_wait(SECOND, MS)
    assert of.opens_ns() == 5 * SECOND


def waits(tell) -> list[float]:
    """Seconds of ten waits, each told as soon as the one before is over."""
    of, now_ns, out = purse(), 0, []
    for _ in range(10):
        tell(of, now_ns)
        out.append((of.opens_ns() - now_ns) / SECOND)
        now_ns = of.opens_ns()
    return out


def test_refusals_without_a_header_back_off_twice_as_long_each_time_up_to_thirty_seconds():
    told = waits(lambda of, now_ns: of.told_to_wait(None, now_ns))
    assert told == [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_a_venue_that_is_away_is_asked_again_after_four_seconds_at_the_latest():
    told = waits(lambda of, now_ns: of.unserved(None, now_ns))
    assert told == [0.25, 0.5, 1, 2, 4, 4, 4, 4, 4, 4]


def test_a_second_refusal_of_the_same_volley_does_not_lengthen_the_backoff():
    of = purse()
    of.told_to_wait(None, 0)
    of.told_to_wait(None, MS)
    assert of.opens_ns() == SECOND // 4 + MS


def test_an_accepted_request_begins_the_backoff_anew():
    of = purse()
    of.told_to_wait(None, 0)
    of.told_to_wait(None, SECOND)
    of.eased(2 * SECOND)
    of.told_to_wait(None, 10 * SECOND)
    assert of.opens_ns() == 10 * SECOND + SECOND // 4


# --- what the venue counts ------------------------------------------------------------------------


@given(st.integers(0, 500), st.integers(0, 60))
def test_the_venues_count_less_what_is_on_its_way_lowers_ours_and_never_raises_it(left, others):
    of = purse()
    spent(of, Priority.CREATE, 0)
    answered_all(of, 0)
    for _ in range(others + 1):
        assert of.spend(Priority.CANCEL, 0) or others == 60
    of.answered(left, 0)
    ours = max(0, 60 - others - 1)
    assert of.tokens(0) == min(ours, max(0, left - of.in_flight))


def test_a_count_of_a_request_that_was_overtaken_says_nothing():
    of = purse()
    for _ in range(3):
        of.spend(Priority.READ, 0)
    of.answered(300, SECOND, 3)
    of.answered(5, SECOND, 1)
    assert of.tokens(SECOND) == 298
    of.answered(5, SECOND, 4)
    assert of.tokens(SECOND) == 5


def test_an_answer_without_a_count_changes_no_tokens():
    of = purse()
    of.answered(None, 0)
    assert of.tokens(0) == 400
    assert of.in_flight == 0


@pytest.mark.parametrize(
    ("limit", "burst", "reserve", "per_second"),
    [(1_000, 400, 60, 200), (500, 400, 60, 200), (100, 80, 12, 40), (1, 1, 0, 1), (0, 1, 0, 1)],
)
def test_a_lowered_limit_scales_burst_reserve_and_rate_until_another_is_shown(
    limit, burst, reserve, per_second
):
    of = purse()
    of.spend(Priority.READ, 0)
    of.answered(None, 0, 1, limit)
    shown = of.report(2 * SECOND)
    assert (shown.burst, shown.reserve, shown.rate_per_second) == (burst, reserve, per_second)
    assert of.tokens(2 * SECOND) == burst or limit < 2
    of.spend(Priority.CANCEL, 4 * SECOND)
    of.answered(None, 4 * SECOND, 2, 500)
    assert of.report(4 * SECOND).burst == 400


# --- somebody else on the key ---------------------------------------------------------------------


def read(of: RequestBudget, left: int, now_ns: int, *, is_throttled: bool = False) -> None:
    """One read, answered at once with so many tokens left."""
    assert of.spend(Priority.CANCEL, now_ns)
    of.answered(left, now_ns, of.spent, 500, is_throttled=is_throttled)


def test_tokens_missing_for_two_seconds_are_somebody_elses_and_the_rate_falls_to_what_is_left():
    of = purse()
    for tenth in range(21):
        assert not of.foreign.is_found
        read(of, 250, tenth * SECOND // 10)
    assert of.foreign.is_found
    assert of.report(2 * SECOND).rate_per_second == 100
    assert of.spend(Priority.CREATE, 2 * SECOND)
    of.answered(490, 3 * SECOND, of.spent, 500)
    assert not of.foreign.is_found
    assert of.report(3 * SECOND).rate_per_second == 200


def test_counts_that_another_denies_and_counts_of_a_429_find_nobody():
    of = purse()
    for second in range(20):
        read(of, 0 if second % 3 else 499, second * SECOND)
        read(of, 0, second * SECOND + SECOND // 2, is_throttled=True)
    assert not of.foreign.is_found


# --- after an outage ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    # A quarter of the burst and of the rate.
    ("at_s", "may_have_left"),
    [(0, 100), (1, 150), (2, 200), (5, 350), (8, 500)],
)
def test_after_an_outage_a_quarter_of_creates_leaves_for_ten_seconds(at_s, may_have_left):
    of, count = purse(), 0
    of.outage_over(0)
    for tick in range(at_s * 20 + 1):
        count += spent(of, Priority.CREATE, tick * 50 * MS)
    assert count == may_have_left


def test_ten_seconds_after_an_outage_nothing_is_held_back():
    of = purse()
    of.outage_over(0)
    assert spent(of, Priority.CREATE, 10 * SECOND) == 340


def test_the_ramp_holds_back_no_amend_and_no_read():
    for lane in (Priority.READ, Priority.AMEND):
        of = purse()
        of.outage_over(0)
        assert spent(of, lane, 0) == 340


@pytest.mark.parametrize(("refusals", "ramped"), [(3, False), (4, True)])
def test_a_backoff_that_had_grown_to_two_seconds_ends_in_a_ramp(refusals, ramped):
    of, now_ns = purse(), 0
    for _ in range(refusals):
        of.unserved(None, now_ns)
        now_ns = of.opens_ns()
    of.eased(now_ns)
    assert spent(of, Priority.CREATE, now_ns) == (100 if ramped else 340)


def test_two_users_share_the_ramp_evenly():
    of = purse()
    other = of.join()
    of.outage_over(0)
    assert spent(of, Priority.CREATE, 0) == 50
    assert spent(of, Priority.CREATE, 0, other) == 50


# --- several users --------------------------------------------------------------------------------


def served(every_ms: tuple[int, ...], seconds: int = 10) -> list[int]:
    """What users get who ask for all they can have, each as often as it does."""
    of = purse()
    users = [0, *(of.join() for _ in every_ms[1:])]
    spent(of, Priority.CANCEL, 0)
    counts = [0] * len(users)
    for ms in range(1, seconds * 1_000 + 1):
        for user, every in zip(users, every_ms, strict=True):
            if ms % every == 0:
                counts[user] += spent(of, Priority.CREATE, ms * MS, user)
    return counts


def test_a_user_that_asks_oftener_does_not_starve_another():
    eager, patient = served((1, 100))
    assert abs(eager - patient) <= 30
    assert eager + patient >= 1_880


def test_three_users_each_get_a_third():
    counts = served((1, 7, 50))
    assert max(counts) - min(counts) <= 20


def test_what_others_do_not_want_is_left_to_one():
    of = purse()
    other = of.join()
    assert spent(of, Priority.CREATE, 0) == 340
    assert spent(of, Priority.CREATE, SECOND) == 200
    assert not of.spend(Priority.CREATE, SECOND, other)


def test_a_user_that_was_idle_has_no_claim_to_what_it_left():
    of = purse()
    other = of.join()
    for second in range(60):
        spent(of, Priority.CREATE, second * SECOND)
    assert not of.spend(Priority.CREATE, 59 * SECOND, other)
    assert not of.spend(Priority.CREATE, 59 * SECOND)
    now_ns = 59 * SECOND + 100 * MS
    assert spent(of, Priority.CREATE, now_ns, other) == 20 // 2 + CLAIM_MAX // 2
    assert spent(of, Priority.CREATE, now_ns) == 20 // 2 - CLAIM_MAX // 2


def test_a_user_that_stops_asking_holds_nobody_back():
    of = purse()
    other = of.join()
    spent(of, Priority.CREATE, 0)
    assert not of.spend(Priority.CREATE, 0, other)
    assert spent(of, Priority.CREATE, 250 * MS) == 50 // 2 - CLAIM_MAX // 2
    assert spent(of, Priority.CREATE, 250 * MS + 1) == 50 // 2 + CLAIM_MAX // 2


# --- time to flat ---------------------------------------------------------------------------------


def test_time_to_flat_counts_missing_tokens_and_the_wait():
    of = purse()
    assert of.flat_ns(400, 0) == 0
    assert of.flat_ns(401, 0) == 5 * MS
    assert of.flat_ns(600, 0) == SECOND
    of.told_to_wait(3 * SECOND, 0)
    assert of.flat_ns(600, 0) == 4 * SECOND
    assert of.flat_ns(600, SECOND) == 3 * SECOND


def test_time_to_flat_counts_the_orders_of_others_on_the_key():
    of = purse()
    other = of.join()
    of.rests(300, other)
    of.rests(50)
    assert of.flat_ns(200, 0) == 500 * MS
    assert of.flat_ns(300, 0, other) == 0
    assert of.flat_ns(370, 0, other) == 100 * MS


# --- the pace of writes ---------------------------------------------------------------------------

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


def test_a_market_bears_six_writes_at_once_and_two_a_second():
    of = WriteThrottle(PACE)
    assert written(of, MARKET, 0) == 6
    assert of.opens_ns(MARKET, 0) == 500 * MS
    assert written(of, MARKET, 500 * MS - 1) == 0
    assert written(of, MARKET, 500 * MS) == 1
    assert written(of, MARKET, 2_500 * MS) == 4


def test_one_market_does_not_hold_back_another():
    of = WriteThrottle(PACE)
    written(of, MARKET, 0)
    assert written(of, OTHER, 0) == 6


def test_all_markets_together_bear_three_hundred_at_once_and_fifty_a_second():
    of = WriteThrottle(PACE)
    markets = [MarketId(str(number)) for number in range(100)]
    assert sum(written(of, market, 0) for market in markets) == 300
    assert of.opens_ns(markets[99], 0) == 20 * MS
    assert sum(written(of, market, SECOND) for market in markets) == 50


def test_cancels_pass_and_count():
    of = WriteThrottle(PACE)
    for _ in range(20):
        of.on_write(MARKET, 0)
    assert written(of, MARKET, 0) == 0
    assert written(of, MARKET, 500 * MS) == 1


def test_markets_whose_pace_is_kept_are_bounded():
    of = WriteThrottle(PACE)
    for number in range(MARKETS_MAX + 50):
        of.on_write(MarketId(str(number)), number * SECOND)
    assert len(of._markets) == MARKETS_MAX
