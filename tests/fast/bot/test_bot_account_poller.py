"""Reads of the account, page by page: complete lists only, and when each is due."""

import pytest

from bot.core import messages as m
from bot.core.account.poller import READ_AGAIN_NS, AccountPoller, Resource
from bot.core.settings import StalenessSettings
from tests.builders.bot import made
from tests.builders.bot.engines import event
from venue.wire import model
from venue.wire.money import Cents
from venue.wire.names import Ticker

SECOND = 1_000_000_000
BALANCE = m.Ok(m.BalanceBody(model.Balance(Cents(1), Cents(2), Cents(3))))


def poller(on_fills_page=lambda rows, now_ns: (rows, False), **staleness: int) -> AccountPoller:
    """A poller that has read nothing yet."""
    return AccountPoller(made.EVENT, StalenessSettings(**staleness), on_fills_page)


def poller_of_three_series() -> AccountPoller:
    """A poller of three series."""
    others = (Ticker("BETA-VAL"), Ticker("GAMMA-VAL"))
    return AccountPoller(
        Ticker("ALPHA-VAL"), StalenessSettings(), lambda rows, now_ns: (rows, False), others
    )


def ask(of: AccountPoller, kind: Resource, now_ns: int) -> m.Read:
    """The request for the next page of a list, as sent."""
    walk, request = next((w, r) for w, r in of.due(now_ns) if w.kind is kind)
    of.on_sent(walk, now_ns)
    return request


def page(cursor: str, *orders: model.Order) -> m.Ok:
    return m.Ok(m.OrdersBody(orders, cursor))


def fills_page(cursor: str, *numbers: int) -> m.Ok:
    return m.Ok(m.FillsBody(tuple(made.fill(made.own(), each, 1) for each in numbers), cursor))


def test_every_list_is_due_at_the_start():
    assert [walk.kind for walk, _ in poller().due(0)] == list(Resource)


def test_a_list_with_a_read_in_flight_is_not_due():
    of = poller()
    ask(of, Resource.RESTING, 0)
    assert Resource.RESTING not in [walk.kind for walk, _ in of.due(SECOND)]


def test_a_paged_read_follows_the_cursors_and_is_as_of_its_first_page():
    of, own = poller(), made.own()
    first = ask(of, Resource.RESTING, 5)
    assert first == m.ReadResting("")
    assert of.on_answer(first, page("a", made.shown(own)), 6) is None
    second = ask(of, Resource.RESTING, 7)
    assert second == m.ReadResting("a")
    walk = of.on_answer(second, page("", made.shown(own)), 8)
    assert (len(walk.rows), walk.begun_ns) == (2, 5)
    assert of.done_ns[Resource.RESTING] == 8


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        (Resource.RESTING, m.Unknown("")),
        (Resource.RESTING, page("a")),
        (Resource.RESTING, m.Rejected(400, "invalid_cursor", "")),
        (Resource.FILLS, m.Rejected(400, "invalid_cursor", "")),
    ],
    ids=["timeout", "the same cursor", "rejected cursor", "rejected cursor of the fills"],
)
def test_a_list_whose_second_page_fails_is_read_again_from_its_first_page(kind, reply):
    of = poller()
    first = page("a", made.shown(made.own())) if kind is Resource.RESTING else fills_page("a", 1)
    of.on_answer(ask(of, kind, 0), first, 1)
    assert of.on_answer(ask(of, kind, 2), reply, 3) is None
    assert kind not in of.done_ns
    assert kind not in [walk.kind for walk, _ in of.due(3 + READ_AGAIN_NS - 1)]
    assert ask(of, kind, 3 + READ_AGAIN_NS) in (m.ReadResting(""), m.ReadFills(""))


def test_a_failing_read_is_retried_with_backoff():
    of, now_ns, pauses_ms = poller(), 0, []
    for _ in range(7):
        of.on_answer(ask(of, Resource.BALANCE, now_ns), m.Unknown(""), now_ns)
        of.schedule_by(Resource.BALANCE, now_ns)
        pauses_ms.append((of.due_ns[Resource.BALANCE] - now_ns) // 1_000_000)
        now_ns = of.due_ns[Resource.BALANCE]
    assert pauses_ms == [100, 200, 400, 800, 1_000, 1_000, 1_000]
    of.on_answer(ask(of, Resource.BALANCE, now_ns), BALANCE, now_ns)
    of.schedule_by(Resource.BALANCE, now_ns)
    assert of.due_ns[Resource.BALANCE] == now_ns + READ_AGAIN_NS


def test_a_rejected_first_page_is_not_retried_at_once():
    of = poller()
    of.on_answer(ask(of, Resource.RESTING, 0), m.Rejected(400, "invalid_cursor", ""), 1)
    assert Resource.RESTING not in [walk.kind for walk, _ in of.due(2)]


def test_a_read_of_fills_ends_where_the_rest_is_known():
    of = poller(lambda rows, now_ns: (rows, True))
    own = made.own()
    shown = m.Ok(m.FillsBody((made.fill(own, 1, 2),), "more"))
    walk = of.on_answer(ask(of, Resource.FILLS, 0), shown, 1)
    assert len(walk.rows) == 1


def finish_all(of: AccountPoller, now_ns: int) -> None:
    """Read every list to its end at one instant."""
    answers = {
        Resource.SERIES: m.Ok(m.SeriesBody((), "")),
        Resource.BALANCE: BALANCE,
        Resource.POSITIONS: m.Ok(m.PositionsBody((), "")),
        Resource.FILLS: m.Ok(m.FillsBody((), "")),
        Resource.RESTING: page(""),
    }
    for kind, answer in answers.items():
        of.on_answer(ask(of, kind, now_ns), answer, now_ns)


TURNS = (
    Resource.BALANCE,
    Resource.POSITIONS,
    Resource.SERIES,
    Resource.FILLS,
    Resource.RESTING,
)


@pytest.mark.parametrize("ended_ns", [0, 1, 4 * SECOND, 17 * SECOND // 5])
def test_each_list_is_read_in_a_turn_of_its_own_within_five_seconds(ended_ns):
    of = poller()
    finish_all(of, 100 * SECOND + ended_ns)
    for turn, kind in enumerate(TURNS):
        assert of.due_ns[kind] % (5 * SECOND) == turn * SECOND
        assert 0 < of.due_ns[kind] - 100 * SECOND - ended_ns <= 5 * SECOND


def test_a_list_read_in_its_turn_is_due_a_period_later():
    of = poller()
    of.on_answer(ask(of, Resource.RESTING, 104 * SECOND), page(""), 104 * SECOND + 1)
    assert of.due_ns[Resource.RESTING] == 109 * SECOND


def test_orders_and_account_are_polled_at_their_own_periods():
    of = poller(poll_orders_ns=3 * SECOND, poll_account_ns=10 * SECOND)
    finish_all(of, 0)
    assert of.due_ns[Resource.BALANCE] == 10 * SECOND
    assert of.due_ns[Resource.SERIES] == 4 * SECOND
    assert of.due_ns[Resource.FILLS] == 9 * SECOND // 5


def test_doubtful_orders_are_polled_every_second_and_the_account_is_not():
    of = poller()
    of.on_answer(ask(of, Resource.RESTING, 0), page(""), 0)
    of.on_answer(ask(of, Resource.FILLS, 0), m.Ok(m.FillsBody((), "")), 0)
    of.on_answer(ask(of, Resource.BALANCE, 0), BALANCE, 0)
    of.sweep_soon(SECOND // 10)
    assert (of.due_ns[Resource.RESTING], of.due_ns[Resource.FILLS]) == (SECOND, SECOND)
    of.sweep_soon(4 * SECOND)
    assert of.due_ns[Resource.RESTING] == SECOND
    assert of.due_ns[Resource.BALANCE] == 5 * SECOND


def test_schedule_by_never_delays_a_read():
    of = poller()
    of.on_answer(ask(of, Resource.BALANCE, 0), BALANCE, 0)
    of.schedule_by(Resource.BALANCE, 2 * SECOND)
    of.schedule_by(Resource.BALANCE, 4 * SECOND)
    assert of.due_ns[Resource.BALANCE] == 2 * SECOND


def test_a_response_without_a_read_changes_nothing():
    of = poller()
    assert of.on_answer(m.ReadResting(""), page(""), 0) is None
    assert of.on_answer(m.ReadBook(made.MARKET), BALANCE, 0) is None
    assert of.done_ns == {}


def test_the_next_due_time_follows_every_request_and_response():
    of, half = poller(), SECOND // 2
    finish_all(of, 0)
    assert of.next_due_ns == SECOND  # the positions' turn
    of.schedule_by(Resource.RESTING, half)
    assert of.next_due_ns == half
    request = ask(of, Resource.RESTING, half)
    assert of.next_due_ns == SECOND
    assert of.due(half) == []
    of.on_answer(request, page("a"), half + 1)
    assert [walk.kind for walk, _ in of.due(half + 1)] == [Resource.RESTING]
    request = ask(of, Resource.RESTING, half + 1)
    assert of.due(half + 1) == []
    of.on_answer(request, m.Unknown(""), half + 2)
    assert of.next_due_ns == half + 2 + READ_AGAIN_NS


def test_a_list_counts_as_unread_a_minute_after_its_last_read():
    of, late_ns = poller(), 61 * SECOND
    finish_all(of, 0)
    request = ask(of, Resource.RESTING, 30 * SECOND)
    of.on_answer(request, page(""), 30 * SECOND)
    assert of.unread(31 * SECOND) == ()
    assert of.unread(late_ns) == TURNS[:4]
    assert of.unread(late_ns + 30 * SECOND)[-1] is Resource.RESTING
    of.on_resume(late_ns + 30 * SECOND)
    assert of.unread(late_ns + 31 * SECOND) == ()


def events(cursor: str, quarter: int) -> m.Ok:
    return m.Ok(m.SeriesBody((event(quarter),), cursor))


def test_another_series_that_cannot_be_read_is_left_out_and_named():
    of = poller_of_three_series()
    of.on_answer(ask(of, Resource.SERIES, 0), events("", 1), 1)
    assert ask(of, Resource.SERIES, 2) == m.ReadSeries(Ticker("BETA-VAL"), "")
    of.on_answer(m.ReadSeries(Ticker("BETA-VAL"), ""), events("a", 2), 3)
    of.on_answer(ask(of, Resource.SERIES, 4), m.Unknown(""), 5)
    gamma = ask(of, Resource.SERIES, 6)
    assert gamma == m.ReadSeries(Ticker("GAMMA-VAL"), "")
    walk = of.on_answer(gamma, events("", 3), 7)
    assert walk.missed == ("BETA-VAL",)
    assert walk.rows == [event(1), event(3)]
    assert of.done_ns[Resource.SERIES] == 7


def test_a_read_fails_if_our_own_series_cannot_be_read():
    of = poller_of_three_series()
    assert of.on_answer(ask(of, Resource.SERIES, 0), m.Unknown(""), 1) is None
    assert Resource.SERIES not in of.done_ns
    assert ask(of, Resource.SERIES, 1 + SECOND) == m.ReadSeries(Ticker("ALPHA-VAL"), "")


def test_the_page_limit_counts_for_each_series_alone():
    of, now_ns = poller_of_three_series(), 0
    for pages in (600, 600, 1):
        for number in range(1, pages + 1):
            cursor = str(number) if number < pages else ""
            now_ns += 1
            walk = of.on_answer(ask(of, Resource.SERIES, now_ns), events(cursor, 1), now_ns)
    assert (walk.missed, len(walk.rows)) == ((), 1_201)


def test_a_failed_page_of_fills_is_retried_at_its_cursor():
    of = poller()
    of.on_answer(ask(of, Resource.FILLS, 0), fills_page("a", 2), 1)
    assert of.on_answer(ask(of, Resource.FILLS, 2), m.Unknown(""), 3) is None
    assert Resource.FILLS not in [walk.kind for walk, _ in of.due(3 + READ_AGAIN_NS - 1)]
    assert of.next_due_ns <= 3 + READ_AGAIN_NS
    again_ns = 3 + READ_AGAIN_NS
    walk = of.on_answer(ask(of, Resource.FILLS, again_ns), fills_page("", 1), again_ns + 1)
    assert (len(walk.rows), walk.begun_ns) == (2, 0)


def test_a_page_of_fills_that_fails_six_times_restarts_the_read():
    of, now_ns = poller(), 10
    of.on_answer(ask(of, Resource.FILLS, 0), fills_page("a", 2), 1)
    for _ in range(5):
        assert ask(of, Resource.FILLS, now_ns) == m.ReadFills("a")
        of.on_answer(m.ReadFills("a"), m.Unknown(""), now_ns)
        now_ns += SECOND
    ask(of, Resource.FILLS, now_ns)
    assert of.on_answer(m.ReadFills("a"), m.Unknown(""), now_ns) is None
    assert ask(of, Resource.FILLS, now_ns + SECOND) == m.ReadFills("")


def test_failures_of_a_page_of_fills_do_not_count_for_the_next_page():
    of, now_ns = poller(), 10
    of.on_answer(ask(of, Resource.FILLS, 0), fills_page("0", 99), 1)
    for number in range(12):
        ask(of, Resource.FILLS, now_ns)
        of.on_answer(m.ReadFills(str(number)), m.Unknown(""), now_ns)
        now_ns += SECOND
        ask(of, Resource.FILLS, now_ns)
        of.on_answer(m.ReadFills(str(number)), fills_page(str(number + 1), number), now_ns)
    assert ask(of, Resource.FILLS, now_ns) == m.ReadFills("12")


def test_only_the_wanted_rows_of_fills_are_kept():
    of = poller(lambda rows, now_ns: (rows[:1], False))
    of.on_answer(ask(of, Resource.FILLS, 0), fills_page("a", 5, 4, 3), 1)
    walk = of.on_answer(ask(of, Resource.FILLS, 2), fills_page("", 2, 1), 3)
    assert [fill.fill_id for fill in walk.rows] == [
        made.fill(made.own(), number, 1).fill_id for number in (5, 2)
    ]


@pytest.mark.parametrize(("kind", "pages"), [(Resource.RESTING, 1_001), (Resource.FILLS, 10_001)])
def test_a_read_without_end_fails_at_its_page_limit(kind: Resource, pages: int):
    of = poller(lambda rows, now_ns: ((), False))
    of.on_answer(ask(of, kind, 0), page("0") if kind is Resource.RESTING else fills_page("0"), 0)
    for number in range(1, pages):
        request = ask(of, kind, 0)
        cursor = str(number)
        of.on_answer(request, page(cursor) if kind is Resource.RESTING else fills_page(cursor), 0)
    assert ask(of, kind, SECOND) == (
        m.ReadFills("") if kind is Resource.FILLS else m.ReadResting("")
    )
