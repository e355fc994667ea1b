"""Laws of the request budget."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.orders.request_budget import Priority, RequestBudget
from bot.core.settings import BudgetSettings

SECOND = 1_000_000_000
SETTINGS = BudgetSettings(rate_per_second=200, burst=400, reserve=60)


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.integers(0, 2 * SECOND), st.integers(1, 150), st.sampled_from(list(Priority))),
        min_size=1,
        max_size=30,
    )
)
def test_no_window_holds_more_requests_than_burst_and_rate(tries):
    of, now_ns = RequestBudget(SETTINGS, 0), 0
    times: list[int] = []
    for gap_ns, wanted, lane in tries:
        now_ns += gap_ns
        times += [now_ns] * sum(of.spend(lane, now_ns) for _ in range(wanted))
    for first in range(0, len(times), 7):
        for last in range(first, len(times), 7):
            window = Fraction(times[last] - times[first], SECOND)
            assert last - first + 1 <= 400 + 200 * window
