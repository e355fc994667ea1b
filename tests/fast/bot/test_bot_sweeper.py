"""Claims about a sweep: it ends with nothing resting whatever fails, and never says so wrongly."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.execution.cancel_all import (
    CancelAll,
    CancelsAcknowledged,
    Clean,
    KeyRefused,
    Left,
    Overdue,
    SweepSettings,
)
from tests.builders.bot.naive_account import MS, T0, NaiveAccount, S, shown
from venue.wire.money import Qty
from venue.wire.names import Ticker

LAG_NS = S
FATES = ("lost_before", "lost_after", "limited", "unavailable", "broken_before", "broken_after")
VERIFY = SweepSettings()


def account(orders: int, **more) -> NaiveAccount:
    """An account with so many resting orders."""
    made = NaiveAccount(**more)
    for number in range(orders):
        made.place(str(1_000 + number), T0 - 100 * S - number)
    return made


def cancels(of: NaiveAccount) -> list[tuple[int, m.CancelResting]]:
    return [(at, each) for at, each in of.requests if isinstance(each, m.CancelResting)]


def lists(of: NaiveAccount) -> list[int]:
    """When each list was begun."""
    return [at for at, each in of.requests if each == m.ReadResting("")]


@given(
    orders=st.integers(0, 25),
    lag_ms=st.integers(0, 950),
    fates=st.lists(st.sampled_from(("ok", "ok", "ok", *FATES)), max_size=60),
    trips_ms=st.lists(st.integers(1, 1_500), max_size=40),
    strangers=st.lists(st.integers(0, 8_000), max_size=8),
    halt=st.none() | st.tuples(st.integers(0, 3_000), st.integers(0, 20_000)),
)
@settings(max_examples=60, deadline=None)
def test_whatever_fails_a_sweep_ends_clean_and_then_nothing_rests(
    orders, lag_ms, fates, trips_ms, strangers, halt
):
    """Lost, throttled, halted and lagging: strangers that appear meanwhile are cancelled too."""
    halts = () if halt is None else ((T0 + halt[0] * MS, T0 + sum(halt) * MS),)
    trips_ns = [trip * MS for trip in trips_ms]
    naive = account(orders, lag_ns=lag_ms * MS, fates=fates, trips_ns=trips_ns, halts=halts)
    for number, after_ms in enumerate(strangers):
        naive.place(str(5_000 + number), T0 + after_ms * MS)
    sweeper = naive.run(VERIFY)
    assert isinstance(sweeper.verdict, Clean)
    last_list_ns = lists(naive)[-1]
    # What appeared after the last list could not be known.
    old_enough = last_list_ns - LAG_NS
    assert [o for o in naive.resting(naive.now_ns) if naive.born[o] <= old_enough] == []
    assert naive.breaches == []


@given(
    orders=st.integers(1, 12),
    fates=st.lists(st.sampled_from(("ok", *FATES)), max_size=40),
    deadline_ms=st.integers(1, 4_000),
    trips_ms=st.lists(st.integers(1, 900), max_size=40),
)
@settings(max_examples=60, deadline=None)
def test_a_sweep_that_runs_out_of_time_names_everything_that_rests(
    orders, fates, deadline_ms, trips_ms
):
    trips_ns = [trip * MS for trip in trips_ms]
    naive = account(orders, fates=fates, trips_ns=trips_ns)
    verdict = naive.run(SweepSettings(deadline_ns=deadline_ms * MS)).verdict
    if isinstance(verdict, Overdue):
        assert naive.now_ns <= T0 + deadline_ms * MS + 1_800 * MS
        if verdict.listed:
            left = {each.order_id for each in verdict.left}
            assert set(naive.resting(naive.now_ns)) <= left
            assert [each.order_id for each in verdict.left] == sorted(left)
    else:
        assert isinstance(verdict, Clean)


def test_the_proof_is_two_empty_lists_a_second_apart_and_late_after_the_last_answer():
    naive = account(5)
    assert naive.run(VERIFY).verdict == Clean(5)
    first, second = lists(naive)[-2:]
    last_answer = max(naive.died.values()) + MS
    assert first >= last_answer + LAG_NS
    assert second >= first + S


def test_an_empty_account_is_clean_after_two_lists_and_no_cancel():
    naive = account(0)
    assert naive.run(VERIFY).verdict == Clean(0)
    assert len(naive.requests) == 2


def test_two_hundred_orders_are_gone_within_a_second_and_a_half():
    naive = account(200, trips_ns=[10 * MS] * 10_000)
    assert naive.run(VERIFY).verdict == Clean(200)
    assert max(naive.died.values()) <= T0 + 3 * S // 2


def test_an_order_of_the_first_page_is_cancelled_before_the_last_page_is_read():
    naive = account(12)
    naive.run(VERIFY)
    kinds = [type(each) for _, each in naive.requests]
    first_cancel = kinds.index(m.CancelResting)
    assert m.ReadResting in kinds[first_cancel : first_cancel + 4]


@pytest.mark.slow
def test_a_halted_venue_is_asked_at_most_160_times_in_ten_minutes_and_then_swept():
    naive = account(200, halts=((0, T0 + 600 * S),), page=1_000)
    sweeper = naive.run(VERIFY)
    during = [each for at, each in naive.requests if at < T0 + 600 * S]
    assert len(during) <= 160
    assert sweeper.verdict == Clean(200)
    assert max(naive.died.values()) <= T0 + 610 * S


def test_nothing_leaves_inside_retry_after():
    naive = account(30, fates=["ok", "limited", "limited", "ok", "limited"])
    assert naive.run(VERIFY).verdict == Clean(30)
    assert naive.breaches == []


def sent(effects: list[m.Effect]) -> list[m.Send]:
    return [each for each in effects if isinstance(each, m.Send)]


@pytest.mark.parametrize("code", ["rate_limited", "engine_overloaded", ""])
def test_a_429_that_does_not_say_how_long_is_waited_out_for_a_second(code):
    """Row 16, as the trader waits."""
    sweeper = CancelAll(VERIFY, T0)
    (listed,) = sent(sweeper.on_event(m.Tick(), T0))
    page = m.Ok(m.OrdersBody((shown("1"),), ""))
    (cancel,) = sent(sweeper.on_event(m.Response(listed.request_id, page, None), T0))
    sweeper.on_event(m.Response(cancel.request_id, m.Rejected(429, code, ""), None), T0)
    assert sent(sweeper.on_event(m.Tick(), T0 + S - 1)) == []
    again = sent(sweeper.on_event(m.Tick(), T0 + S))
    assert m.CancelResting("1") in [each.request for each in again]


def test_an_unknown_answer_is_repeated_until_the_venue_decides():
    naive = account(1)
    told: list[m.Answer | None] = [None, *[m.Unknown("ReadTimeout")] * 7]
    naive.answer_cancel = lambda _: told.pop()
    assert naive.run(VERIFY).verdict == Clean(1)
    sent = [at for at, _ in cancels(naive)]
    assert len(sent) == 8
    gaps = [later - earlier for earlier, later in itertools.pairwise(sent)]
    assert min(gaps) >= S // 4
    assert max(gaps) <= 6 * S


@pytest.mark.parametrize("answer", [m.Rejected(404, "order_not_found", ""), None])
def test_an_order_that_is_not_found_or_gone_is_believed_only_when_lists_agree(answer):
    """404 for an order that still rests: the next list shows it, and it is cancelled again."""
    naive = account(1)
    told = [answer]
    naive.answer_cancel = lambda _: told.pop() if told else None
    assert naive.run(VERIFY).verdict == Clean(1)
    assert len(cancels(naive)) == (1 if answer is None else 2)


def test_an_order_shown_by_a_lagging_list_is_not_cancelled_twice():
    naive = account(3, lag_ns=900 * MS)
    assert naive.run(VERIFY).verdict == Clean(3)
    assert len(cancels(naive)) == 3


@pytest.mark.parametrize(
    "answer", [m.Rejected(422, "market_halted", ""), m.Rejected(400, "invalid_order_id", "")]
)
def test_a_cancel_refused_for_another_reason_is_repeated_every_five_seconds_and_named(answer):
    naive = account(2)
    naive.answer_cancel = lambda order_id: answer if order_id == "1001" else None
    verdict = naive.run(SweepSettings(deadline_ns=21 * S)).verdict
    assert verdict == Overdue(
        1, (Left(shown("1001").order_id, Ticker("ACME-VAL-27Q1-100B"), 10, answer.code),), True
    )
    assert len([each for _, each in cancels(naive) if each.order_id == "1001"]) == 5


@pytest.mark.parametrize(
    ("status", "code"), [(401, "unauthenticated"), (403, "forbidden_scope"), (401, "")]
)
def test_a_refused_key_stops_the_sweep_and_names_what_it_knows(status, code):
    naive = account(2)
    naive.answer_cancel = lambda _: m.Rejected(status, code, "")
    verdict = naive.run(VERIFY).verdict
    assert isinstance(verdict, KeyRefused)
    assert (verdict.status, verdict.code) == (status, code)
    assert [each.order_id for each in verdict.left] == ["1000", "1001"]


def test_without_verify_every_order_of_one_list_is_cancelled_and_no_more_is_claimed():
    naive = account(7, fates=["ok", "lost_before", "limited"], page=1_000)
    naive.place("9000", T0 + 2 * MS)
    assert naive.run(SweepSettings(verify=False)).verdict == CancelsAcknowledged(7)
    assert len(lists(naive)) == 1
    assert naive.resting(naive.now_ns) == ["9000"]


def test_an_answer_about_another_order_says_nothing_of_this_one():
    naive = account(2)
    mixed_up = [m.Ok(m.CancelBody(shown("1001"), Qty(10)))]
    naive.answer_cancel = lambda each: mixed_up.pop() if each == "1000" and mixed_up else None
    sweeper = naive.run(SweepSettings(verify=False))
    assert sweeper.verdict == CancelsAcknowledged(2)
    assert naive.resting(naive.now_ns) == []


def test_an_account_that_cannot_be_read_is_not_called_empty():
    naive = account(3, fates=["broken_before"] * 1_000)
    verdict = naive.run(SweepSettings(deadline_ns=10 * S)).verdict
    assert verdict == Overdue(0, (), False)


def fed(sweeper: CancelAll, *answers: m.Answer) -> list[m.Request]:
    """Answer request after request, 10 ms each; the requests of the sweep."""
    now_ns = T0
    asked: list[m.Send] = []
    waiting = list(answers)
    event: m.Tick | m.Response = m.Tick()
    while True:
        asked += [e for e in sweeper.on_event(event, now_ns) if isinstance(e, m.Send)]
        now_ns += 10 * MS
        if not waiting:
            return [each.request for each in asked]
        event = m.Response(asked[len(answers) - len(waiting)].request_id, waiting.pop(0))


def page(cursor: str, *orders) -> m.Ok:
    return m.Ok(m.OrdersBody(tuple(orders), cursor))


def test_a_repeated_cursor_is_a_failed_read_and_no_empty_one():
    sweeper = CancelAll(VERIFY, T0)
    requests = fed(sweeper, page("a"), page("b"), page("a"))
    assert requests == [m.ReadResting(""), m.ReadResting("a"), m.ReadResting("b")]
    assert not sweeper.verifying


def test_an_answer_that_comes_twice_changes_nothing():
    sweeper = CancelAll(VERIFY, T0)
    [send] = [e for e in sweeper.on_event(m.Tick(), T0) if isinstance(e, m.Send)]
    replied = m.Response(send.request_id, page("", shown("7")))
    sweeper.on_event(replied, T0 + MS)
    again = sweeper.on_event(replied, T0 + 2 * MS)
    assert not [effect for effect in again if isinstance(effect, m.Send)]
    assert sweeper.found == 1


@pytest.mark.parametrize(
    ("event", "swept"),
    [
        ("ACME-VAL-27Q1", True),
        ("acme-val-27q1", True),
        ("ACME-VALUE-27Q1", False),
        ("ACME-VAL-B-27Q1", False),
        ("ACME-27Q1", False),
    ],
)
def test_a_sweep_of_a_series_leaves_the_orders_of_others_alone(event, swept):
    sweeper = CancelAll(SweepSettings(series_ticker=Ticker("ACME-VAL")), T0)
    requests = fed(sweeper, page("", shown("7", event)))
    assert (m.CancelResting(shown("7").order_id) in requests) is swept


def test_known_orders_are_swept_whatever_their_series_and_with_no_series_they_alone():
    orders = [shown("7", "ACME-VAL-27Q1"), shown("8", "OTHER-27Q1"), shown("9", "OTHER-27Q1")]
    known = frozenset({orders[1].order_id})
    for series, swept in ((Ticker("ACME-VAL"), orders[:2]), (None, orders[1:2])):
        sweeper = CancelAll(SweepSettings(series_ticker=series, known=known), T0)
        requests = fed(sweeper, page("", *orders))
        assert [each for each in requests if isinstance(each, m.CancelResting)] == [
            m.CancelResting(order.order_id) for order in swept
        ]


def test_a_host_that_cannot_be_reached_is_tried_again_after_pauses_that_grow_to_four_seconds():
    naive = account(0)
    sweeper = CancelAll(SweepSettings(deadline_ns=10 * S), T0)
    now_ns, sent, wake_ns = T0, [], T0
    while sweeper.verdict is None:
        now_ns = wake_ns
        effects = sweeper.on_event(m.Tick(), now_ns)
        while sends := [e for e in effects if isinstance(e, m.Send)]:
            sent += sends
            gone = m.Rejected(0, "", "ConnectError")
            effects = sweeper.on_event(m.Response(sends[0].request_id, gone), now_ns)
        wakes = [e.at_ns for e in effects if isinstance(e, m.WakeAt)]
        wake_ns = wakes[-1] if wakes else now_ns
    assert 5 <= len(sent) <= 7
    assert sweeper.verdict == Overdue(0, (), False)
    assert naive.requests == []
