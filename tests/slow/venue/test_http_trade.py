"""Claims about order writes: commands made, answers worded, faults told apart."""

import json

import pytest

from tests.builders.venue.rest_bench import HIGH, LOW, TICKERS, Client, ScriptedDesk, order, uid
from venue.engine import messages as m
from venue.rest.venue_port import EngineOverloaded, EngineUnavailable, ReplyLost
from venue.wire.errors import CODES, Code
from venue.wire.instant import from_ns
from venue.wire.model import OrderStatus
from venue.wire.money import Outcome, Side
from venue.wire.requests import Amend, BudgetOrder, QtyOrder, TimeInForce

pytestmark = pytest.mark.anyio
BODY = {
    "ticker": TICKERS[LOW].lower(),
    "outcome": "YES",
    "side": "Buy",
    "price": 40,
    "qty": 10,
    "client_order_id": "mine-1",
}
ORDER_FIELDS = {
    "order_id", "ticker", "market_id", "event_ticker", "outcome", "side", "price", "qty",
    "remaining_qty", "filled_qty", "status", "time_in_force", "created_at", "updated_at",
}  # fmt: skip


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def desk() -> ScriptedDesk:
    return ScriptedDesk()


def placed(fresh: bool = True, spent: int | None = None) -> m.Placed:
    return m.Placed(order(7), "mine-1", fresh, spent)


# --- create --------------------------------------------------------------------------------------


async def test_a_create_becomes_one_command_of_the_caller(desk):
    desk.answers.append(placed())
    await Client(desk).ask("POST", "/orders", json=BODY)
    wanted = QtyOrder(LOW, Outcome.YES, Side.BUY, 40, 10, TimeInForce.GTC, "mine-1")
    assert desk.commands == [m.PlaceOrder("anna", wanted)]


async def test_a_budget_order_becomes_a_budget_command(desk):
    desk.answers.append(placed(spent=399))
    body = {k: v for k, v in BODY.items() if k not in ("qty", "ticker")}
    body |= {"market_id": HIGH.upper(), "budget_cents": 500, "time_in_force": "FOK"}
    reply = await Client(desk).ask("POST", "/orders", json=body)
    wanted = BudgetOrder(HIGH, Outcome.YES, 40, 500, TimeInForce.FOK, "mine-1")
    assert desk.commands == [m.PlaceOrder("anna", wanted)]
    assert set(reply.json()) == ORDER_FIELDS | {"client_order_id", "spent_cents"}
    assert reply.json()["spent_cents"] == 399


@pytest.mark.parametrize(("fresh", "status"), [(True, 201), (False, 200)])
async def test_a_new_order_is_201_and_a_known_one_200(desk, fresh, status):
    desk.answers.append(placed(fresh))
    assert (await Client(desk).ask("POST", "/orders", json=BODY)).status_code == status


async def test_the_reply_to_a_create_echoes_the_key_and_shows_no_reserve(desk):
    desk.answers.append(placed())
    reply = (await Client(desk).ask("POST", "/orders", json=BODY)).json()
    assert set(reply) == ORDER_FIELDS | {"client_order_id"}
    assert reply["client_order_id"] == "mine-1"
    assert (reply["order_id"], reply["outcome"], reply["status"]) == ("7", "yes", "open")


async def test_the_reply_is_dated_by_the_gateway_and_a_resend_afresh(desk):
    desk.answers += [placed(), placed(fresh=False)]
    first = (await Client(desk).ask("POST", "/orders", json=BODY)).json()
    assert first["created_at"] == from_ns(desk.clock_ns)
    desk.clock_ns += 5
    again = (await Client(desk).ask("POST", "/orders", json=BODY)).json()
    assert again["created_at"] == from_ns(desk.clock_ns)
    assert again["updated_at"] == first["updated_at"] == from_ns(order(7).updated_ns)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"market_id": LOW}, "conflicting_identifiers"),
        ({"ticker": None}, "invalid_request_body"),
        ({"ticker": "A_B"}, "invalid_market_identifier"),
        ({"ticker": None, "market_id": "ACME"}, "invalid_market_identifier"),
        ({"ticker": "NOPE"}, "market_not_found"),
        ({"ticker": None, "market_id": uid(99)}, "market_not_found"),
        ({"price": 0}, "invalid_price"),
        ({"price": 100}, "invalid_price"),
        ({"price": "40"}, "invalid_request_body"),
        ({"qty": 0}, "invalid_qty"),
        ({"qty": 1_000_001}, "invalid_qty"),
        ({"qty": True}, "invalid_request_body"),
        ({"budget_cents": 5}, "invalid_budget"),
        ({"outcome": "maybe"}, "invalid_enum_value"),
        ({"side": ""}, "invalid_enum_value"),
        ({"client_order_id": None}, "missing_idempotency_key"),
        ({"client_order_id": "x" * 65}, "invalid_request_body"),
    ],
)
async def test_a_bad_create_never_reaches_the_engine(desk, change, code):
    body = {k: v for k, v in (BODY | change).items() if v is not None}
    status = CODES[Code(code)].status
    assert await Client(desk).refusal("POST", "/orders", json=body) == (status, code)
    assert desk.commands == []


# --- amend and cancel ----------------------------------------------------------------------------


async def test_an_amend_becomes_one_command_and_its_reply_has_the_bare_fields(desk):
    desk.answers.append(m.Amended(order(7, price=41), False))
    reply = await Client(desk).ask("PUT", "/orders/7", json={"price": 41, "side": "ignored"})
    assert desk.commands == [m.AmendOrder("anna", "7", Amend(price=41))]
    assert reply.status_code == 200
    assert set(reply.json()) == ORDER_FIELDS
    assert (reply.json()["price"], reply.json()["created_at"]) == (41, from_ns(desk.clock_ns))


@pytest.mark.parametrize(
    ("path", "body", "refused"),
    [
        ("/orders/7", {}, (400, "invalid_request_body")),
        ("/orders/7", {"qty": None}, (400, "invalid_request_body")),
        ("/orders/7", {"qty": 0}, (400, "invalid_qty")),
        ("/orders/7", {"price": 100}, (400, "invalid_price")),
        ("/orders/x", {}, (400, "invalid_order_id")),
        ("/orders/%zz", {"qty": 1}, (400, "invalid_order_id")),
        ("/orders/123456789012345678901", {"qty": 1}, (400, "invalid_order_id")),
    ],
)
async def test_a_bad_amend_never_reaches_the_engine(desk, path, body, refused):
    assert await Client(desk).refusal("PUT", path, json=body) == refused
    assert desk.commands == []


async def test_a_cancel_reports_what_the_engine_removed_and_the_order(desk):
    ended = order(7, status=OrderStatus.CANCELED, remaining_qty=0, reserved_cents=0)
    desk.answers.append(m.Cancelled(ended, 10))
    reply = await Client(desk).ask("DELETE", "/orders/7")
    assert desk.commands == [m.CancelOrder("anna", "7")]
    assert reply.status_code == 200
    assert (set(reply.json()), reply.json()["reduced_by"]) == ({"order", "reduced_by"}, 10)
    assert set(reply.json()["order"]) == ORDER_FIELDS
    assert reply.json()["order"]["created_at"] == from_ns(ended.created_ns)


async def test_a_cancel_that_removed_nothing_says_0(desk):
    desk.answers.append(m.Cancelled(order(7, status=OrderStatus.CANCELED), 0))
    assert (await Client(desk).ask("DELETE", "/orders/7")).json()["reduced_by"] == 0


# --- what the engine or the desk says no to ------------------------------------------------------

WRITES = [
    ("POST", "/orders", BODY),
    ("PUT", "/orders/7", {"qty": 1}),
    ("DELETE", "/orders/7", None),
]


@pytest.mark.parametrize(
    "code", [code for code, row in CODES.items() if row.status in (404, 409, 422)]
)
@pytest.mark.parametrize(("method", "path", "body"), WRITES)
async def test_a_refusal_of_the_engine_keeps_its_code_and_status(desk, method, path, body, code):
    desk.answers.append(m.Refused(code, "why"))
    reply = await Client(desk).ask(method, path, content=json.dumps(body).encode())
    assert reply.json() == {"code": code.value, "error": "why"}
    assert reply.status_code == CODES[code].status
    assert "x-ratelimit-remaining" in reply.headers


@pytest.mark.parametrize(
    ("fault", "refused"),
    [
        (EngineUnavailable(), (503, "engine_unavailable")),
        (ReplyLost(), (503, "result_unknown")),
        (EngineOverloaded(), (429, "engine_overloaded")),
    ],
)
@pytest.mark.parametrize(("method", "path", "body"), WRITES)
async def test_what_became_of_a_command_is_told_apart(desk, method, path, body, fault, refused):
    desk.answers.append(fault)
    content = json.dumps(body).encode()
    assert await Client(desk).refusal(method, path, content=content) == refused


async def test_an_overloaded_engine_asks_to_wait_but_does_not_say_the_bucket_is_empty(desk):
    desk.answers.append(EngineOverloaded())
    reply = await Client(desk).ask("DELETE", "/orders/7")
    assert reply.headers["retry-after"] == "1"
    assert reply.headers["x-ratelimit-remaining"] == "499"
    assert int(reply.headers["x-ratelimit-reset"]) > desk.clock_ns // 10**9


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
async def test_an_answer_of_another_kind_is_an_internal_error(desk, method, path, body):
    desk.answers.append(m.Accepted())
    content = json.dumps(body).encode()
    assert await Client(desk).refusal(method, path, content=content) == (500, "internal_error")
