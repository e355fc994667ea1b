"""Claims about one request bucket for several series: nobody starves, and every cancel passes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.orders.request_budget import Priority, RequestBudget
from bot.core.settings import BudgetSettings
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

RATE, BURST, RESERVE = 40, 60, 15
BEAT_NS = 50 * NS_PER_MS


def shared_budget(users: int) -> RequestBudget:
    made = RequestBudget(BudgetSettings(rate_per_second=RATE, burst=BURST, reserve=RESERVE), 0)
    for _ in range(users - 1):
        made.join()
    return made


def spend_all(shared: RequestBudget, lane: Priority, most: int, now_ns: int, user: int) -> int:
    """As many requests of a kind as there are tokens for this user, at most so many."""
    for count in range(most):
        if not shared.spend(lane, now_ns, user):
            return count
        shared.answered(None, now_ns)
    return most


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=5),
    st.sampled_from([Priority.READ, Priority.AMEND, Priority.CREATE]),
)
def test_every_series_gets_at_least_half_its_share_of_the_request_budget(
    wants: list[int], lane: Priority
) -> None:
    shared = shared_budget(len(wants))
    taken = [0] * len(wants)
    seconds, now_ns = 20, 0
    while now_ns < seconds * NS_PER_SECOND:
        for user, most in enumerate(wants):
            taken[user] += spend_all(shared, lane, most, now_ns, user)
        now_ns += BEAT_NS
    wanted = [most * seconds * NS_PER_SECOND // BEAT_NS for most in wants]
    share = RATE * seconds // len(wants)
    for mine, all_mine in zip(taken, wanted, strict=True):
        assert 2 * mine >= min(all_mine, share)
    assert sum(taken) <= BURST + RATE * seconds


@settings(max_examples=40)
@given(st.integers(2, 5), st.lists(st.integers(0, 4), min_size=5, max_size=5), st.integers(0, 40))
def test_cancels_of_every_series_pass_while_others_use_up_the_budget(
    users: int, cancels: list[int], beats: int
) -> None:
    shared = shared_budget(users)
    for beat in range(beats + 1):
        for user in range(users):
            spend_all(shared, Priority.CREATE, 100, beat * BEAT_NS, user)
    now_ns, left = beats * BEAT_NS, RESERVE
    for user in range(users):
        most = min(cancels[user], left)
        assert spend_all(shared, Priority.CANCEL, most, now_ns, user) == most
        left -= most
