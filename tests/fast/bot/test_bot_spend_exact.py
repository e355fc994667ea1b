"""The purse and the pace at their last token and nanosecond."""

import pytest

from bot.core.orders.request_budget import MARKETS_MAX, Priority, RequestBudget, WriteThrottle
from bot.core.settings import BudgetSettings, PaceSettings
from tests.fast.bot.test_bot_spend import MS, SECOND, purse, spent
from venue.wire.names import MarketId


def test_requests_are_numbered_from_one_and_counted_until_they_are_answered():
    of = purse()
    assert (of.spent, of.in_flight) == (0, 0)
    for number in (1, 2, 3):
        assert of.spend(Priority.READ, 0)
        assert (of.spent, of.in_flight) == (number, number)
    of.answered(None, 0, 1)
    assert (of.spent, of.in_flight) == (3, 2)
    for _ in range(4):
        of.answered(None, 0)
    assert of.in_flight == 0


def test_a_denied_request_is_neither_counted_nor_numbered():
    of = purse()
    count = spent(of, Priority.CREATE, 0)
    assert not of.spend(Priority.CREATE, 0)
    assert (of.spent, of.in_flight) == (count, count) == (340, 340)


def test_users_are_numbered_as_they_join_and_the_first_need_not():
    of = purse()
    assert [of.join(), of.join()] == [1, 2]


def test_a_new_purse_is_open():
    of = purse(5 * SECOND)
    assert of.opens_ns() == 5 * SECOND
    assert of.spend(Priority.CREATE, 5 * SECOND)


# --- after an outage ------------------------------------------------------------------------------


def test_amends_and_reads_of_a_ramp_do_not_count_as_creates():
    of = purse()
    of.outage_over(0)
    for _ in range(80):
        assert of.spend(Priority.AMEND, 0)
        assert of.spend(Priority.READ, 0)
    assert spent(of, Priority.CREATE, 0) == 100


def test_creates_before_an_outage_do_not_count_in_its_ramp():
    of = purse()
    spent(of, Priority.CREATE, 0)
    of.outage_over(2 * SECOND)
    assert spent(of, Priority.CREATE, 2 * SECOND) == 100
    of.outage_over(4 * SECOND)
    assert spent(of, Priority.CREATE, 4 * SECOND) == 100


def test_ten_seconds_after_an_outage_even_one_who_used_all_its_ramp_is_held_back_no_more():
    of = purse()
    of.outage_over(0)
    for tick in range(200):
        spent(of, Priority.CREATE, tick * 50 * MS)
    assert spent(of, Priority.CREATE, 10 * SECOND - 1) < 12
    assert spent(of, Priority.CREATE, 10 * SECOND) > 300
    assert spent(of, Priority.CREATE, 11 * SECOND) == 200


@pytest.mark.parametrize("users", [1, 2, 3, 4])
def test_the_ramp_is_shared_by_all_who_joined_and_renewed_for_each(users):
    of = purse()
    for _ in range(users - 1):
        of.join()
    for second in (0, 20):
        of.outage_over(second * SECOND)
        for user in range(users):
            assert spent(of, Priority.CREATE, second * SECOND, user) == 100 // users


# --- what the venue says --------------------------------------------------------------------------


def test_a_count_of_nothing_left_empties_the_purse_until_tokens_flow_in():
    of = purse()
    of.spend(Priority.READ, 0)
    of.answered(0, 0, 1)
    assert of.tokens(5 * MS - 1) == 0
    assert of.tokens(5 * MS) == 1


def test_a_count_is_of_the_instant_at_which_it_came():
    of = purse()
    spent(of, Priority.CANCEL, 0)
    for _ in range(400):
        of.answered(None, 0)
    of.answered(150, SECOND)
    assert of.tokens(SECOND) == 150


def test_a_wait_lasts_at_least_the_own_backoff_and_counts_from_its_own_instant():
    of = purse()
    of.told_to_wait(SECOND // 10, 7 * SECOND)
    assert of.opens_ns() == 7 * SECOND + SECOND // 4
    of.told_to_wait(3 * SECOND, of.opens_ns())
    assert of.opens_ns() == 7 * SECOND + SECOND // 4 + 3 * SECOND


def test_a_venue_that_is_away_is_not_asked_before_the_instant_it_named():
    of = purse()
    of.unserved(7 * SECOND, 0)
    assert of.opens_ns() == 7 * SECOND


def test_a_user_who_has_said_nothing_of_its_orders_has_none_to_cancel():
    of = purse()
    alone_ns = of.flat_ns(1_000, 0)
    of.join()
    assert of.flat_ns(1_000, 0) == alone_ns > 0


def test_the_time_to_flat_is_whole_nanoseconds_rounded_up():
    of = RequestBudget(BudgetSettings(rate_per_second=3, burst=6, reserve=2), 0)
    told = of.flat_ns(7, 0)
    assert (told, type(told)) == (333_333_334, int)
    assert of.flat_ns(8, 0) == 666_666_667


def test_a_refusal_at_the_very_end_of_a_wait_lengthens_the_backoff():
    of = purse()
    of.unserved(None, 0)
    of.unserved(None, SECOND // 4 - 1)
    assert of.opens_ns() == SECOND // 2 - 1
    of.unserved(None, SECOND // 2 - 1)
    assert of.opens_ns() == SECOND - 1


def test_an_easing_without_a_backoff_begins_no_ramp():
    of = purse()
    of.eased(0)
    assert spent(of, Priority.CREATE, 0) == 340


# --- sharing --------------------------------------------------------------------------------------


def test_what_is_owed_in_one_kind_of_lane_does_not_hold_back_the_other():
    of = purse()
    other = of.join()
    spent(of, Priority.CREATE, 0)
    assert not of.spend(Priority.CREATE, 0, other)
    assert spent(of, Priority.CANCEL, 0) == 60


def test_a_token_got_ends_the_claim_of_a_user_that_was_denied():
    of = purse()
    other = of.join()
    spent(of, Priority.CREATE, 0)
    assert not of.spend(Priority.CREATE, 0, other)
    now_ns = 50 * MS
    assert of.spend(Priority.CREATE, now_ns, other)
    assert spent(of, Priority.CREATE, now_ns) == 9


# --- the pace -------------------------------------------------------------------------------------


def test_of_the_markets_whose_pace_is_kept_the_longest_unwritten_is_forgotten():
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


def test_the_pace_of_a_market_opens_when_both_it_and_the_account_do():
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
