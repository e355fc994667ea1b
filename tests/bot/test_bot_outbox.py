"""Claims about what leaves: ids, tokens, counters, findings, and a refused key."""

import pytest

from bot.core import messages as m
from bot.core.outbox import Outbox, kind_of
from bot.core.settings import BudgetSettings
from bot.core.spend import Lane
from tests.bot import made
from venue.wire import codec
from venue.wire.errors import CODES, Advice, Code
from venue.wire.names import OrderId
from venue.wire.requests import Amend

SECOND = 1_000_000_000
READ = m.ReadBalance()


def outbox() -> Outbox:
    """An outbox with a full purse."""
    out = Outbox(BudgetSettings())
    out.purse.begin(0)
    return out


def send(out: Outbox, now_ns: int = 0, request: m.Request = READ) -> m.RequestId | None:
    """Send a request; its id, or None when it may not leave."""
    if not out.send(request, Lane.READ, "why", now_ns):
        return None
    sent = out.effects[-1]
    assert isinstance(sent, m.Send)
    return sent.request_id


def refuse(out: Outbox, status: int, code: str, now_ns: int = 0, **headers) -> None:
    """Send a request and have it refused."""
    request_id = send(out, now_ns)
    assert request_id is not None
    out.answered(m.Replied(request_id, m.Refused(status, code, ""), **headers), now_ns)


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
    out.answered(m.Replied(request_id, m.Unknown("")), 0)
    assert out.writes_in_flight == 0


def test_an_answer_that_comes_twice_counts_once():
    out = outbox()
    request_id = send(out, request=m.CancelResting(OrderId("1")))
    assert out.answered(m.Replied(request_id, m.Unknown("")), 0) is not None
    assert out.answered(m.Replied(request_id, m.Unknown("")), 0) is None
    assert out.writes_in_flight == 0
    assert out.unknown_answers == 1


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
    assert out.refused == {"not_connected": 1}


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
    out.answered(m.Replied(probe, m.Done(m.OrdersShown((), ""))), 10 * SECOND)
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
    assert len(out.refused) <= 64
