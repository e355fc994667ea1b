"""Cancelling everything: it ends with nothing resting whatever fails, and never says so wrongly."""

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
from tests.builders.bot.naive_account import MS, T0, NaiveAccount, S, shown, with_orders
from venue.wire.money import Qty
from venue.wire.names import Ticker

LAG_NS = S
FATES = ("lost_before", "lost_after", "limited", "unavailable", "broken_before", "broken_after")
VERIFY = SweepSettings()


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
def test_a_cancel_all_ends_clean_with_nothing_resting_whatever_fails(
    orders, lag_ms, fates, trips_ms, strangers, halt
):
    """Lost, throttled, halted and lagging: strangers that appear meanwhile are cancelled too."""
    halts = () if halt is None else ((T0 + halt[0] * MS, T0 + sum(halt) * MS),)
    trips_ns = [trip * MS for trip in trips_ms]
    naive = with_orders(orders, lag_ns=lag_ms * MS, fates=fates, trips_ns=trips_ns, halts=halts)
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
def test_a_cancel_all_that_runs_out_of_time_names_every_resting_order(
    orders, fates, deadline_ms, trips_ms
):
    trips_ns = [trip * MS for trip in trips_ms]
    naive = with_orders(orders, fates=fates, trips_ns=trips_ns)
    verdict = naive.run(SweepSettings(deadline_ns=deadline_ms * MS)).verdict
    if isinstance(verdict, Overdue):
        assert naive.now_ns <= T0 + deadline_ms * MS + 1_800 * MS
        if verdict.listed:
            left = {each.order_id for each in verdict.left}
            assert set(naive.resting(naive.now_ns)) <= left
            assert [each.order_id for each in verdict.left] == sorted(left)
    else:
        assert isinstance(verdict, Clean)


def test_the_proof_is_two_empty_lists_a_second_apart_after_the_last_response():
    naive = with_orders(5)
    assert naive.run(VERIFY).verdict == Clean(5)
    first, second = lists(naive)[-2:]
    last_answer = max(naive.died.values()) + MS
    assert first >= last_answer + LAG_NS
    assert second >= first + S


@pytest.mark.parametrize(("orders", "within_ns"), [(0, 0), (200, 3 * S // 2)])
def test_a_cancel_all_is_clean_after_all_cancels_and_two_empty_lists(orders, within_ns):
    naive = with_orders(orders, trips_ns=[10 * MS] * 10_000)
    assert naive.run(VERIFY).verdict == Clean(orders)
    assert max(naive.died.values(), default=T0) <= T0 + within_ns
    assert len(cancels(naive)) == orders


def test_orders_of_the_first_page_are_cancelled_before_the_last_page_is_read():
    naive = with_orders(12)
    naive.run(VERIFY)
    kinds = [type(each) for _, each in naive.requests]
    first_cancel = kinds.index(m.CancelResting)
    assert m.ReadResting in kinds[first_cancel : first_cancel + 4]


def test_a_cancel_all_sends_nothing_inside_retry_after():
    naive = with_orders(30, fates=["ok", "limited", "limited", "ok", "limited"])
    assert naive.run(VERIFY).verdict == Clean(30)
    assert naive.breaches == []


def sent(effects: list[m.Effect]) -> list[m.Send]:
    return [each for each in effects if isinstance(each, m.Send)]


@pytest.mark.parametrize("code", ["rate_limited", "engine_overloaded", ""])
def test_a_429_without_retry_after_pauses_a_cancel_all_for_a_second(code):
    sweeper = CancelAll(VERIFY, T0)
    (listed,) = sent(sweeper.on_event(m.Tick(), T0))
    page = m.Ok(m.OrdersBody((shown("1"),), ""))
    (cancel,) = sent(sweeper.on_event(m.Response(listed.request_id, page, None), T0))
    sweeper.on_event(m.Response(cancel.request_id, m.Rejected(429, code, ""), None), T0)
    assert sent(sweeper.on_event(m.Tick(), T0 + S - 1)) == []
    again = sent(sweeper.on_event(m.Tick(), T0 + S))
    assert m.CancelResting("1") in [each.request for each in again]


def test_a_cancel_that_times_out_is_repeated_until_the_venue_answers():
    naive = with_orders(1)
    answers: list[m.Answer | None] = [None, *[m.Unknown("ReadTimeout")] * 7]
    naive.answer_cancel = lambda _: answers.pop()
    assert naive.run(VERIFY).verdict == Clean(1)
    sent = [at for at, _ in cancels(naive)]
    assert len(sent) == 8
    gaps = [later - earlier for earlier, later in itertools.pairwise(sent)]
    assert min(gaps) >= S // 4
    assert max(gaps) <= 6 * S


@pytest.mark.parametrize("answer", [m.Rejected(404, "order_not_found", ""), None])
def test_a_404_is_believed_only_if_the_next_list_agrees(answer):
    """404 for an order that still rests: the next list shows it, and it is cancelled again."""
    naive = with_orders(1)
    answers = [answer]
    naive.answer_cancel = lambda _: answers.pop() if answers else None
    assert naive.run(VERIFY).verdict == Clean(1)
    assert len(cancels(naive)) == (1 if answer is None else 2)


def test_an_order_in_a_lagging_list_is_not_cancelled_twice():
    naive = with_orders(3, lag_ns=900 * MS)
    assert naive.run(VERIFY).verdict == Clean(3)
    assert len(cancels(naive)) == 3


@pytest.mark.parametrize(
    "answer", [m.Rejected(422, "market_halted", ""), m.Rejected(400, "invalid_order_id", "")]
)
def test_a_rejected_cancel_is_repeated_every_five_seconds_and_named(answer):
    naive = with_orders(2)
    naive.answer_cancel = lambda order_id: answer if order_id == "1001" else None
    verdict = naive.run(SweepSettings(deadline_ns=21 * S)).verdict
    assert verdict == Overdue(
        1, (Left(shown("1001").order_id, Ticker("ACME-VAL-27Q1-100B"), 10, answer.code),), True
    )
    assert len([each for _, each in cancels(naive) if each.order_id == "1001"]) == 5


@pytest.mark.parametrize(
    ("status", "code"), [(401, "unauthenticated"), (403, "forbidden_scope"), (401, "")]
)
def test_a_rejected_key_stops_a_cancel_all_and_names_the_known_orders(status, code):
    naive = with_orders(2)
    naive.answer_cancel = lambda _: m.Rejected(status, code, "")
    verdict = naive.run(VERIFY).verdict
    assert isinstance(verdict, KeyRefused)
    assert (verdict.status, verdict.code) == (status, code)
    assert [each.order_id for each in verdict.left] == ["1000", "1001"]


def test_without_verify_the_orders_of_one_list_are_cancelled():
    naive = with_orders(7, fates=["ok", "lost_before", "limited"], page=1_000)
    naive.place("9000", T0 + 2 * MS)
    assert naive.run(SweepSettings(verify=False)).verdict == CancelsAcknowledged(7)
    assert len(lists(naive)) == 1
    assert naive.resting(naive.now_ns) == ["9000"]


def test_a_response_about_another_order_is_ignored():
    naive = with_orders(2)
    mixed_up = [m.Ok(m.CancelBody(shown("1001"), Qty(10)))]
    naive.answer_cancel = lambda each: mixed_up.pop() if each == "1000" and mixed_up else None
    sweeper = naive.run(SweepSettings(verify=False))
    assert sweeper.verdict == CancelsAcknowledged(2)
    assert naive.resting(naive.now_ns) == []


def test_an_unreadable_account_is_not_reported_as_empty():
    naive = with_orders(3, fates=["broken_before"] * 1_000)
    verdict = naive.run(SweepSettings(deadline_ns=10 * S)).verdict
    assert verdict == Overdue(0, (), False)


def requests_after(sweeper: CancelAll, *answers: m.Answer) -> list[m.Request]:
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


def test_a_repeated_cursor_is_a_failed_read():
    sweeper = CancelAll(VERIFY, T0)
    requests = requests_after(sweeper, page("a"), page("b"), page("a"))
    assert requests == [m.ReadResting(""), m.ReadResting("a"), m.ReadResting("b")]
    assert not sweeper.verifying


def test_a_repeated_response_changes_nothing():
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
def test_a_cancel_all_of_a_series_leaves_orders_of_other_series_alone(event, swept):
    sweeper = CancelAll(SweepSettings(series_ticker=Ticker("ACME-VAL")), T0)
    requests = requests_after(sweeper, page("", shown("7", event)))
    assert (m.CancelResting(shown("7").order_id) in requests) is swept


def test_known_orders_are_cancelled_whatever_their_series():
    orders = [shown("7", "ACME-VAL-27Q1"), shown("8", "OTHER-27Q1"), shown("9", "OTHER-27Q1")]
    known = frozenset({orders[1].order_id})
    for series, swept in ((Ticker("ACME-VAL"), orders[:2]), (None, orders[1:2])):
        sweeper = CancelAll(SweepSettings(series_ticker=series, known=known), T0)
        requests = requests_after(sweeper, page("", *orders))
        assert [each for each in requests if isinstance(each, m.CancelResting)] == [
            m.CancelResting(order.order_id) for order in swept
        ]


def test_an_unreachable_host_is_retried_with_backoff_up_to_four_seconds():
    naive = with_orders(0)
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
