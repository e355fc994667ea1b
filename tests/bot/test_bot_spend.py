"""Claims about the request budget: windows, the reserve, waiting when told to, and the ramp."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.settings import BudgetSettings
from bot.core.spend import Lane, Purse

SECOND = 1_000_000_000
MS = 1_000_000
SETTINGS = BudgetSettings(rate_per_second=200, burst=400, reserve=60)


def purse(now_ns: int = 0) -> Purse:
    """A full purse."""
    made = Purse(SETTINGS, now_ns)
    made.begin(now_ns)
    return made


def spent(of: Purse, lane: Lane, now_ns: int) -> int:
    """How many requests of a lane may leave at one instant."""
    count = 0
    while of.spend(lane, now_ns):
        count += 1
    return count


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.integers(0, 2 * SECOND), st.integers(1, 150), st.sampled_from(list(Lane))),
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
    for lane in (Lane.CREATE, Lane.AMEND, Lane.READ):
        assert spent(purse(), lane, 0) == 340


def test_cancels_and_recovery_may_use_the_reserve():
    of = purse()
    spent(of, Lane.CREATE, 0)
    assert spent(of, Lane.CANCEL, 0) == 60
    assert not of.spend(Lane.RECOVER, 0)


def test_tokens_flow_in_at_the_rate():
    of = purse()
    spent(of, Lane.CANCEL, 0)
    assert not of.spend(Lane.CANCEL, 5 * MS - 1)
    assert of.spend(Lane.CANCEL, 5 * MS)


def test_nothing_leaves_inside_retry_after_not_even_a_cancel():
    of = purse()
    of.told_to_wait(2 * SECOND, 0)
    assert not of.spend(Lane.CANCEL, 2 * SECOND - 1)
    assert of.spend(Lane.CANCEL, 2 * SECOND)


def test_a_shorter_wait_does_not_shorten_a_longer_one():
    of = purse()
    of.told_to_wait(5 * SECOND, 0)
    of.told_to_wait(SECOND, MS)
    assert of.opens_ns() == 5 * SECOND


def test_refusals_without_a_header_back_off_twice_as_long_each_time_up_to_a_bound():
    of, now_ns, waits = purse(), 0, []
    for _ in range(10):
        of.told_to_wait(None, now_ns)
        waits.append(of.opens_ns() - now_ns)
        now_ns = of.opens_ns()
    assert waits[:3] == [SECOND // 4, SECOND // 2, SECOND]
    assert max(waits) == waits[-1] == 30 * SECOND


def test_a_second_refusal_of_the_same_volley_does_not_lengthen_the_backoff():
    of = purse()
    of.told_to_wait(None, 0)
    of.told_to_wait(None, MS)
    assert of.opens_ns() == SECOND // 4 + MS


def test_an_accepted_request_begins_the_backoff_anew():
    of = purse()
    of.told_to_wait(None, 0)
    of.told_to_wait(None, SECOND)
    of.eased()
    of.told_to_wait(None, 10 * SECOND)
    assert of.opens_ns() == 10 * SECOND + SECOND // 4


@given(st.integers(0, 500))
def test_the_venues_count_lowers_ours_and_never_raises_it(tokens_left):
    of = purse()
    spent(of, Lane.CREATE, 0)
    of.answered(tokens_left, 0)
    assert of.tokens(0) == min(60, tokens_left)


def test_an_answer_without_a_count_changes_no_tokens():
    of = purse()
    of.answered(None, 0)
    assert of.tokens(0) == 400


def test_after_an_outage_creates_come_back_over_ten_seconds():
    early, half, late = purse(), purse(), purse()
    for of in (early, half, late):
        of.outage_over(0)
    assert spent(early, Lane.CREATE, 0) == 100
    assert spent(half, Lane.CREATE, 5 * SECOND) == 250
    assert spent(late, Lane.CREATE, 10 * SECOND) == 340


def test_the_ramp_holds_back_no_amend_and_no_read():
    of = purse()
    of.outage_over(0)
    assert spent(of, Lane.AMEND, 0) == 340


def test_time_to_flat_counts_missing_tokens_and_the_wait():
    of = purse()
    assert of.flat_ns(400, 0) == 0
    assert of.flat_ns(600, 0) == SECOND
    of.told_to_wait(3 * SECOND, 0)
    assert of.flat_ns(600, 0) == 4 * SECOND
