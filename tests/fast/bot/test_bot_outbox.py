"""Claims about what leaves: ids, tokens, counters, findings, and a refused key."""

import pytest

from bot.core import messages as m
from bot.core.orders.outbox import Outbox, kind_of
from bot.core.orders.request_budget import Priority, RequestBudget
from bot.core.settings import BudgetSettings, KeySettings
from tests.builders.bot import made
from venue.wire import codec
from venue.wire.errors import CODES, Advice, Code
from venue.wire.names import MarketId, OrderId, Ticker
from venue.wire.requests import Amend

SECOND = 1_000_000_000
READ = m.ReadBalance()


CANCEL = m.CancelResting(OrderId("1"))
ORDER = made.intent()
CREATE = m.Create(ORDER, codec.encode_new_order(ORDER), False)
DONE = m.Ok(m.OrdersBody((), ""))


def outbox(**keys: bool) -> Outbox:
    """An outbox with a full purse for each of its keys."""
    out = Outbox(BudgetSettings(), KeySettings(**keys))
    return out


def send(out: Outbox, now_ns: int = 0, request: m.Request = READ) -> m.RequestId | None:
    """Send a request; its id, or None when it may not leave."""
    if not out.send(request, Priority.READ, "why", now_ns):
        return None
    return last(out).request_id


def last(out: Outbox) -> m.Send:
    """The request that left last."""
    return next(each for each in reversed(out.effects) if isinstance(each, m.Send))


def refuse(
    out: Outbox, status: int, code: str, now_ns: int = 0, request: m.Request = READ, **headers
) -> None:
    """Send a request and have it refused."""
    request_id = send(out, now_ns, request)
    assert request_id is not None
    out.answered(m.Response(request_id, m.Rejected(status, code, ""), **headers), now_ns)


def test_request_ids_are_used_once():
    out = outbox()
    assert [send(out) for _ in range(3)] == [1, 2, 3]


def test_every_request_has_its_kind():
    order = made.intent()
    create = m.Create(order, codec.encode_new_order(order), False)
    assert kind_of(create) == "create"
    assert kind_of(m.AmendResting(OrderId("1"), Amend(price=5))) == "amend"
    assert kind_of(m.CancelResting(OrderId("1"))) == "cancel"
    assert kind_of(READ) == "read"


def test_only_writes_count_as_writes_in_flight():
    out = outbox()
    send(out)
    assert out.writes_in_flight == 0
    request_id = send(out, request=m.CancelResting(OrderId("1")))
    assert out.writes_in_flight == 1
    out.answered(m.Response(request_id, m.Unknown("")), 0)
    assert out.writes_in_flight == 0


def test_an_answer_that_comes_twice_counts_once():
    out = outbox()
    request_id = send(out, request=m.CancelResting(OrderId("1")))
    assert out.answered(m.Response(request_id, m.Unknown("")), 0) is not None
    assert out.answered(m.Response(request_id, m.Unknown("")), 0) is None
    assert out.writes_in_flight == 0
    assert out.counters.unknown_answers == 1


@pytest.mark.parametrize("code", [code for code in Code if CODES[code].advice is Advice.WAIT])
def test_a_refusal_for_pace_closes_the_purse(code):
    out = outbox()
    refuse(out, CODES[code].status, code, retry_after_ns=2 * SECOND)
    assert send(out, 2 * SECOND - 1) is None
    assert send(out, 2 * SECOND) is not None


def test_a_request_that_never_left_this_host_backs_off():
    out = outbox()
    refuse(out, 0, "")
    assert send(out) is None
    assert out.counters.refused == {"not_connected": 1}


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_stops_everything_but_one_probe_each_ten_seconds(status):
    out = outbox()
    refuse(out, status, "")
    assert "key_refused" in out.findings
    assert send(out, 10 * SECOND - 1) is None
    assert send(out, 10 * SECOND) is not None
    assert send(out, 10 * SECOND) is None


def test_a_key_that_works_again_lifts_the_stop():
    out = outbox()
    refuse(out, 401, "unauthenticated")
    probe = send(out, 10 * SECOND)
    out.answered(m.Response(probe, m.Ok(m.OrdersBody((), ""))), 10 * SECOND)
    assert out.findings == {}
    assert send(out, 10 * SECOND) is not None


def test_a_finding_is_told_once_and_once_more_when_it_is_over():
    out = outbox()
    out.find("it", "one")
    out.find("it", "two")
    out.clear("it")
    out.clear("it")
    names = [effect.name for effect in out.effects if isinstance(effect, m.Noted)]
    assert names == ["it", "it_cleared"]


def test_names_of_refusals_are_bounded():
    out = outbox()
    for number in range(200):
        refuse(out, 418, f"made_up_{number}", now_ns=number * SECOND)
    assert len(out.counters.refused) <= 64


# --- what a refusal says of the purse and the key -------------------------------------------------

WAITS = {"rate_limited", "engine_overloaded", "engine_unavailable"}
STOPS = {"unauthenticated", "forbidden_scope", "api_key_misconfigured", "conflicting_credentials"}


@pytest.mark.parametrize("request_", [READ, CANCEL, CREATE], ids=["read", "cancel", "create"])
@pytest.mark.parametrize("code", [each for each in Code if CODES[each].status < 500])
def test_every_code_stops_the_key_or_makes_it_wait_or_does_neither(code, request_):
    """The table docs/failure-modes.md#codes, as far as the whole credential is concerned."""
    out = outbox()
    refuse(out, CODES[code].status, code, request=request_)
    assert ("key_refused" in out.findings) is (code in STOPS)
    assert (send(out) is None) is (code in WAITS | STOPS)
    assert out.counters.refused == {code: 1}


@pytest.mark.parametrize("code", ["rate_limited", "", "brand_new"])
def test_a_429_without_a_readable_header_waits_a_second(code):
    out = outbox()
    refuse(out, 429, code)
    assert out.purse.opens_ns() == SECOND
    assert out.counters.rate_limited == 1


def test_an_overloaded_engine_is_no_sign_of_a_pace_too_quick():
    out = outbox()
    refuse(out, 429, "engine_overloaded", retry_after_ns=3 * SECOND)
    assert (out.purse.opens_ns(), out.counters.rate_limited) == (3 * SECOND, 0)


def test_a_venue_that_cannot_take_requests_in_is_asked_again_soon():
    out = outbox()
    refuse(out, 503, "engine_unavailable")
    assert out.purse.opens_ns() == SECOND // 4


def test_a_venue_without_books_to_read_holds_nothing_else_up():
    out = outbox()
    refuse(out, 503, "engine_unavailable", request=m.ReadBook(made.MARKET))
    assert send(out) is not None


def test_an_unknown_answer_neither_waits_nor_begins_the_backoff_anew():
    out = outbox()
    refuse(out, 503, "engine_unavailable")
    probe = send(out, SECOND)
    out.answered(m.Response(probe, m.Unknown("")), SECOND)
    refuse(out, 503, "engine_unavailable", SECOND)
    assert out.purse.opens_ns() == SECOND + SECOND // 2


def test_a_decided_refusal_begins_the_backoff_anew():
    out = outbox()
    refuse(out, 503, "engine_unavailable")
    refuse(out, 422, "insufficient_balance", SECOND, request=CREATE)
    refuse(out, 503, "engine_unavailable", 2 * SECOND)
    assert out.purse.opens_ns() == 2 * SECOND + SECOND // 4


def test_a_refusal_for_any_other_reason_shows_that_the_key_works_again():
    out = outbox()
    refuse(out, 401, "unauthenticated")
    refuse(out, 404, "order_not_found", 10 * SECOND)
    assert out.findings == {}
    assert send(out, 10 * SECOND) is not None


def test_a_page_of_some_proxy_does_not_show_that_the_key_works():
    out = outbox()
    refuse(out, 401, "unauthenticated")
    refuse(out, 404, "", 10 * SECOND)
    assert "key_refused" in out.findings


# --- several keys ---------------------------------------------------------------------------------


def test_reads_go_on_the_read_key_if_there_is_one():
    for split in (False, True):
        out = outbox(read=split)
        send(out)
        assert last(out).key is (m.Key.READ if split else m.Key.TRADE)
        send(out, request=CREATE)
        assert last(out).key is m.Key.TRADE


def test_each_key_has_a_purse_of_its_own():
    out = outbox(read=True)
    while send(out) is not None:
        pass
    assert out.counters.requests["read"] == 340
    assert out.purse.tokens(0) == 400
    refuse(out, 429, "rate_limited", request=CREATE)
    assert send(out, SECOND // 2) is not None


@pytest.mark.parametrize(
    ("request_", "finding", "other"),
    [(READ, "read_key_refused", CREATE), (CREATE, "key_refused", READ)],
)
def test_a_refusal_names_the_key_and_stops_no_other(request_, finding, other):
    out = outbox(read=True)
    refuse(out, 403, "forbidden_scope", request=request_)
    assert list(out.findings) == [finding]
    assert f"on the {'read' if request_ is READ else 'trade'} key" in out.findings[finding]
    assert send(out, request=request_) is None
    assert send(out, request=other) is not None


def test_the_standby_key_takes_over_cancels_alone():
    out = outbox(standby=True)
    send(out, request=CANCEL)
    assert last(out).key is m.Key.TRADE
    refuse(out, 401, "unauthenticated", request=CREATE)
    assert send(out, request=CREATE) is None
    assert send(out, request=CANCEL) is not None
    assert last(out).key is m.Key.STANDBY


def test_cancels_come_back_to_the_trade_key_when_it_works_again():
    out = outbox(standby=True)
    refuse(out, 401, "unauthenticated", request=CREATE)
    out.probe_key(10 * SECOND - 1)
    assert out.counters.requests["cancel"] == 0
    out.probe_key(10 * SECOND)
    out.probe_key(10 * SECOND)
    assert out.counters.requests["cancel"] == 1
    probe = last(out)
    assert (probe.key, probe.request) == (m.Key.TRADE, m.CancelResting(OrderId("9" * 20)))
    gone = m.Rejected(404, "order_not_found", "")
    out.answered(m.Response(probe.request_id, gone), 10 * SECOND)
    assert out.findings == {}
    send(out, 10 * SECOND, CANCEL)
    assert last(out).key is m.Key.TRADE


def test_a_standby_key_that_was_refused_is_asked_whether_it_works_once_the_trade_key_does():
    out = outbox(standby=True)
    refuse(out, 401, "unauthenticated", request=CREATE)
    refuse(out, 401, "unauthenticated", request=CANCEL)
    assert list(out.findings) == ["key_refused", "standby_key_refused"]
    gone = m.Rejected(404, "order_not_found", "")
    for key in (m.Key.TRADE, m.Key.STANDBY):
        out.probe_key(10 * SECOND)
        assert last(out).key is key
        out.answered(m.Response(last(out).request_id, gone), 10 * SECOND)
    assert out.findings == {}
    out.probe_key(20 * SECOND)
    assert out.counters.requests["cancel"] == 3


def test_a_single_key_needs_no_probe_beside_its_reads():
    out = outbox()
    refuse(out, 401, "unauthenticated")
    out.probe_key(10 * SECOND)
    assert out.counters.requests["cancel"] == 0


def test_two_outboxes_may_spend_from_one_purse():
    purse = RequestBudget(BudgetSettings(), 0)
    one, two = (Outbox(BudgetSettings(), None, purse) for _ in range(2))
    while send(one) is not None:
        pass
    assert send(two) is None
    refuse(two, 429, "rate_limited", SECOND, retry_after_ns=5 * SECOND)
    assert send(one, 6 * SECOND - 1) is None
    one.rests(300)
    assert two.flat_ns(200, 6 * SECOND) == SECOND // 2


def test_a_lane_without_a_token_is_dry_at_that_instant_alone():
    out = outbox()
    while out.send(CREATE, Priority.CREATE, "", 0):
        pass
    assert out.dry_ns == {Priority.CREATE: 0}


@pytest.mark.parametrize(
    "request_",
    [
        m.CancelResting(OrderId("0x83")),
        m.AmendResting(OrderId("0x83"), Amend(price=5)),
        m.ReadOrder(OrderId("..")),
        m.ReadBook(MarketId("a/b")),
        m.ReadSeries(Ticker("X?"), ""),
    ],
    ids=lambda request: type(request).__name__,
)
def test_a_request_whose_id_never_leaves_lets_the_others_leave(request_):
    out = outbox()
    refuse(out, 0, "", request=request_)
    assert send(out) is not None
    assert out.counters.refused == {"unfit_id": 1}


@pytest.mark.parametrize(
    "request_",
    [CANCEL, CREATE, m.ReadBook(MarketId("a")), m.ReadSeries(Ticker("X"), "")],
    ids=lambda request: type(request).__name__,
)
def test_a_request_that_could_have_left_and_did_not_is_waited_for(request_):
    out = outbox()
    refuse(out, 0, "", request=request_)
    assert send(out) is None
    assert out.counters.refused == {"not_connected": 1}
