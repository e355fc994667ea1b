"""Requests sent and held back: tokens, counters, alerts, and rejected keys."""

import pytest

from bot.core import messages as m
from bot.core.orders.outbox import Outbox
from bot.core.orders.request_budget import Priority, RequestBudget
from bot.core.settings import BudgetSettings, KeySettings
from tests.builders.bot import made
from tests.builders.bot.thin import Thin
from venue.wire.errors import CODES, Advice, Code
from venue.wire.money import Outcome
from venue.wire.names import MarketId, OrderId, Ticker
from venue.wire.requests import Amend

SECOND = 1_000_000_000
READ = m.ReadBalance()
CANCEL = m.CancelResting(OrderId("1"))
ORDER = made.intent()
CREATE = m.Create(ORDER, False)
DONE = m.Ok(m.OrdersBody((), ""))


def outbox(**keys: bool) -> Outbox:
    """An outbox with a full budget for each of its keys."""
    return Outbox(BudgetSettings(), KeySettings(**keys))


def send(out: Outbox, now_ns: int = 0, request: m.Request = READ) -> m.RequestId | None:
    """Send a request; its id, or None when it may not leave."""
    if not out.send(request, Priority.READ, "why", now_ns):
        return None
    return last(out).request_id


def last(out: Outbox) -> m.Send:
    """The request that left last."""
    return next(each for each in reversed(out.effects) if isinstance(each, m.Send))


def reject(
    out: Outbox, status: int, code: str, now_ns: int = 0, request: m.Request = READ, **headers
) -> None:
    """A request is sent and rejected."""
    request_id = send(out, now_ns, request)
    assert request_id is not None
    out.answered(m.Response(request_id, m.Rejected(status, code, ""), **headers), now_ns)


def test_a_write_is_in_flight_until_its_first_response():
    out = outbox()
    send(out)
    assert out.writes_in_flight == 0
    request_id = send(out, request=CANCEL)
    assert out.writes_in_flight == 1
    assert out.answered(m.Response(request_id, m.Unknown("")), 0) is not None
    assert out.answered(m.Response(request_id, m.Unknown("")), 0) is None
    assert out.writes_in_flight == 0
    assert out.counters.unknown_answers == 1


@pytest.mark.parametrize("code", [code for code in Code if CODES[code].advice is Advice.WAIT])
def test_a_rate_limited_budget_stays_closed_for_retry_after(code):
    out = outbox()
    reject(out, CODES[code].status, code, retry_after_ns=2 * SECOND)
    assert send(out, 2 * SECOND - 1) is None
    assert send(out, 2 * SECOND) is not None


@pytest.mark.parametrize("status", [401, 403])
def test_a_rejected_key_stops_everything_but_one_probe_every_ten_seconds(status):
    out = outbox()
    reject(out, status, "")
    assert "key_refused" in out.findings
    assert send(out, 10 * SECOND - 1) is None
    assert send(out, 10 * SECOND) is not None
    assert send(out, 10 * SECOND) is None


def test_an_alert_is_noted_when_it_is_raised_and_when_it_clears():
    out = outbox()
    out.find("it", "one")
    out.find("it", "two")
    out.clear("it")
    out.clear("it")
    names = [effect.name for effect in out.effects if isinstance(effect, m.Noted)]
    assert names == ["it", "it_cleared"]


def test_the_counted_reject_codes_are_bounded():
    out = outbox()
    for number in range(200):
        reject(out, 418, f"made_up_{number}", now_ns=number * SECOND)
    assert len(out.counters.refused) <= 64


WAITS = {"rate_limited", "engine_overloaded", "engine_unavailable"}
STOPS = {"unauthenticated", "forbidden_scope", "api_key_misconfigured", "conflicting_credentials"}


@pytest.mark.parametrize("request_", [READ, CANCEL, CREATE], ids=["read", "cancel", "create"])
@pytest.mark.parametrize("code", [each for each in Code if CODES[each].status < 500])
def test_every_code_stops_the_key_makes_it_wait_or_does_neither(code, request_):
    """The table docs/failure-modes.md#codes, as far as the whole credential is concerned."""
    out = outbox()
    reject(out, CODES[code].status, code, request=request_)
    assert ("key_refused" in out.findings) is (code in STOPS)
    assert (send(out) is None) is (code in WAITS | STOPS)
    assert out.counters.refused == {code: 1}


@pytest.mark.parametrize(
    ("status", "code", "headers", "opens_ns", "rate_limited"),
    [
        (429, "rate_limited", {}, SECOND, 1),
        (429, "", {}, SECOND, 1),
        (429, "brand_new", {}, SECOND, 1),
        (429, "engine_overloaded", {"retry_after_ns": 3 * SECOND}, 3 * SECOND, 0),
        (503, "engine_unavailable", {}, SECOND // 4, 0),
    ],
)
def test_a_reject_for_load_closes_the_budget_for_a_while(
    status, code, headers, opens_ns, rate_limited
):
    out = outbox()
    reject(out, status, code, **headers)
    assert (out.purse.opens_ns(), out.counters.rate_limited) == (opens_ns, rate_limited)


def test_a_rejected_book_read_holds_back_no_other_request():
    out = outbox()
    reject(out, 503, "engine_unavailable", request=m.ReadBook(made.MARKET))
    assert send(out) is not None


def test_a_timeout_neither_waits_nor_resets_the_backoff():
    out = outbox()
    reject(out, 503, "engine_unavailable")
    probe = send(out, SECOND)
    out.answered(m.Response(probe, m.Unknown("")), SECOND)
    reject(out, 503, "engine_unavailable", SECOND)
    assert out.purse.opens_ns() == SECOND + SECOND // 2


def test_a_definite_reject_resets_the_backoff():
    out = outbox()
    reject(out, 503, "engine_unavailable")
    reject(out, 422, "insufficient_balance", SECOND, request=CREATE)
    reject(out, 503, "engine_unavailable", 2 * SECOND)
    assert out.purse.opens_ns() == 2 * SECOND + SECOND // 4


@pytest.mark.parametrize(
    ("reply", "works"),
    [
        (DONE, True),
        (m.Rejected(404, "order_not_found", ""), True),
        (m.Rejected(404, "", ""), False),
    ],
    ids=["a page", "another rejection", "an error page of a proxy"],
)
def test_a_response_of_the_venue_itself_shows_that_a_rejected_key_works_again(reply, works):
    out = outbox()
    reject(out, 401, "unauthenticated")
    out.answered(m.Response(send(out, 10 * SECOND), reply), 10 * SECOND)
    assert ("key_refused" in out.findings) is not works
    assert (send(out, 10 * SECOND) is not None) is works


def test_reads_use_the_read_key_if_there_is_one():
    for split in (False, True):
        out = outbox(read=split)
        send(out)
        assert last(out).key is (m.Key.READ if split else m.Key.TRADE)
        send(out, request=CREATE)
        assert last(out).key is m.Key.TRADE


def test_each_key_has_its_own_budget():
    out = outbox(read=True)
    while send(out) is not None:
        pass
    assert out.counters.requests["read"] == 340
    assert out.purse.tokens(0) == 400
    reject(out, 429, "rate_limited", request=CREATE)
    assert send(out, SECOND // 2) is not None


@pytest.mark.parametrize(
    ("request_", "finding", "other"),
    [(READ, "read_key_refused", CREATE), (CREATE, "key_refused", READ)],
)
def test_a_rejected_key_is_named_and_stops_no_other(request_, finding, other):
    out = outbox(read=True)
    reject(out, 403, "forbidden_scope", request=request_)
    assert list(out.findings) == [finding]
    assert f"on the {'read' if request_ is READ else 'trade'} key" in out.findings[finding]
    assert send(out, request=request_) is None
    assert send(out, request=other) is not None


def test_the_standby_key_takes_over_cancels_alone():
    out = outbox(standby=True)
    send(out, request=CANCEL)
    assert last(out).key is m.Key.TRADE
    reject(out, 401, "unauthenticated", request=CREATE)
    assert send(out, request=CREATE) is None
    assert send(out, request=CANCEL) is not None
    assert last(out).key is m.Key.STANDBY


def test_cancels_return_to_the_trade_key_when_it_works_again():
    out = outbox(standby=True)
    reject(out, 401, "unauthenticated", request=CREATE)
    out.probe_key(10 * SECOND - 1)
    assert out.counters.requests["cancel"] == 0
    out.probe_key(10 * SECOND)
    out.probe_key(10 * SECOND)
    assert out.counters.requests["cancel"] == 1
    probe = last(out)
    assert (probe.key, probe.request) == (m.Key.TRADE, m.CancelResting(OrderId("9" * 20)))
    not_found = m.Rejected(404, "order_not_found", "")
    out.answered(m.Response(probe.request_id, not_found), 10 * SECOND)
    assert out.findings == {}
    send(out, 10 * SECOND, CANCEL)
    assert last(out).key is m.Key.TRADE


def test_a_rejected_standby_key_is_probed_once_the_trade_key_works():
    out = outbox(standby=True)
    reject(out, 401, "unauthenticated", request=CREATE)
    reject(out, 401, "unauthenticated", request=CANCEL)
    assert list(out.findings) == ["key_refused", "standby_key_refused"]
    not_found = m.Rejected(404, "order_not_found", "")
    for key in (m.Key.TRADE, m.Key.STANDBY):
        out.probe_key(10 * SECOND)
        assert last(out).key is key
        out.answered(m.Response(last(out).request_id, not_found), 10 * SECOND)
    assert out.findings == {}
    out.probe_key(20 * SECOND)
    assert out.counters.requests["cancel"] == 3


def test_a_single_key_is_probed_by_its_reads():
    out = outbox()
    reject(out, 401, "unauthenticated")
    out.probe_key(10 * SECOND)
    assert out.counters.requests["cancel"] == 0


def test_two_outboxes_share_one_budget():
    purse = RequestBudget(BudgetSettings(), 0)
    one, two = (Outbox(BudgetSettings(), None, purse) for _ in range(2))
    while send(one) is not None:
        pass
    assert send(two) is None
    reject(two, 429, "rate_limited", SECOND, retry_after_ns=5 * SECOND)
    assert send(one, 6 * SECOND - 1) is None
    one.rests(300)
    assert two.flat_ns(200, 6 * SECOND) == SECOND // 2


def test_the_outbox_records_when_a_priority_ran_dry():
    out = outbox()
    while out.send(CREATE, Priority.CREATE, "", 0):
        pass
    assert out.dry_ns == {Priority.CREATE: 0}


@pytest.mark.parametrize(
    ("request_", "counted"),
    [
        (m.CancelResting(OrderId("0x83")), "unfit_id"),
        (m.AmendResting(OrderId("0x83"), Amend(price=5)), "unfit_id"),
        (m.ReadOrder(OrderId("..")), "unfit_id"),
        (m.ReadBook(MarketId("a/b")), "unfit_id"),
        (m.ReadSeries(Ticker("X?"), ""), "unfit_id"),
        (CANCEL, "not_connected"),
        (CREATE, "not_connected"),
        (m.ReadBook(MarketId("a")), "not_connected"),
        (m.ReadSeries(Ticker("X"), ""), "not_connected"),
        (READ, "not_connected"),
    ],
    ids=str,
)
def test_a_request_that_was_not_sent_holds_others_back_unless_its_id_is_unfit(request_, counted):
    out = outbox()
    reject(out, 0, "", request=request_)
    assert (send(out) is None) is (counted == "not_connected")
    assert out.counters.refused == {counted: 1}


SECOND = 10**9


def emptied() -> Outbox:
    """An outbox whose budget holds its reserve and nothing more."""
    out = Outbox(BudgetSettings(rate_per_second=1, burst=3, reserve=2))
    assert out.send(READ, Priority.READ, "why", 0)
    return out


def test_a_request_without_a_token_is_counted_once_an_instant():
    out = emptied()
    for _ in range(5):
        assert not out.send(READ, Priority.READ, "why", 0)
    assert not out.send(READ, Priority.CREATE, "why", 0)
    assert not out.send(READ, Priority.READ, "why", 1)
    assert out.send(READ, Priority.CANCEL, "why", 0)
    assert out.counters.denied == {"read": 2, "create": 1}


def test_actions_held_back_are_counted_by_limit():
    out = emptied()
    for limit in ("pace", "exposure", "pace"):
        out.holds_back(limit)
    assert out.counters.held_back == {"pace": 2, "exposure": 1}


class Poor(Thin):
    """A venue on which cash suffices for no ask. rejected_ns: when one was rejected."""

    def __init__(self) -> None:
        self.rejected_ns: list[int] = []
        super().__init__([50])

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.Create) and request.order.outcome is Outcome.NO:
            self.rejected_ns.append(self.now_ns)
            return m.Rejected(422, "insufficient_balance", "")
        return super().answer(request)

    def free_cash(self) -> None:
        """Our orders end and free their cash."""
        for own in self.trader.desk.live_orders:
            own.cancel_requested = True
            self.trader.quoting.orders_changed(own.market_id)
        self.show(0, self.now_ns)


def test_a_retry_after_a_reject_is_not_counted_as_held_back():
    thin = Poor()
    thin.start()
    thin.run(20, lambda: thin.show(0, thin.now_ns), SECOND)
    (rung,) = thin.trader.plan(thin.now_ns).events[0].rungs
    assert [each.held_back[:15] for each in rung.intentions] == ["", "refused: retry "]
    assert thin.trader.report(thin.now_ns).counters.held_back == {}


def test_a_third_reject_for_funds_in_a_minute_waits_a_minute():
    thin = Poor()
    thin.start()
    thin.run(55, thin.free_cash, SECOND)
    assert len(thin.rejected_ns) == 3
    thin.run(60, thin.free_cash, SECOND)
    assert len(thin.rejected_ns) == 6
    assert thin.rejected_ns[3] - thin.rejected_ns[2] >= 60 * SECOND
