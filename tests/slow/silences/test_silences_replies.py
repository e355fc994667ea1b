"""Claims about other replies: statuses, fields, codes and endpoints that the interface leaves open.

Each test runs the bot's real shell against the real venue, whose bytes are changed on the way; it
is judged by the engine's own events. The number in a name is the silence's.
"""

import hashlib

import pytest

from bot.core import messages as m
from tests.builders.shell.life import Plan, assert_exact, assert_safe, live
from tests.builders.silences.bends import (
    FeePerFill,
    Instead,
    Replies,
    answered,
    once_each,
    orders_in,
    refused,
    rows_of,
)

WRITES = ("POST", "PUT", "DELETE")


def life_with(bend, **changes):
    """A run on a venue of one rung with a bend: three seconds of trade, then calm."""
    usual = {"seed": 3, "rungs": 1, "faulty_s": 3.0, "calm_s": 2.5, "bend": bend}
    return live(Plan(**{**usual, **changes}))


@pytest.mark.parametrize("status", [200, 202, 206, 299])
def test_s1_any_2xx_is_the_success_of_a_write(status):
    def change(method, path, was, body):
        return (status if method in WRITES and was < 300 else was), body

    life = life_with(Replies(change))
    assert_exact(life)
    assert life.trader.out.counters.unknown_answers == 0


@pytest.mark.parametrize("code", ["invalid_parameter", "conflicting_identifiers", "of_tomorrow"])
def test_s3_a_rejected_list_of_orders_changes_no_order(code):
    def answer(method, path, body):
        return refused(400, code) if (method, path) == ("GET", "/orders") else None

    bend = Instead(answer, 1.0, 2.8)
    life = life_with(bend)
    assert bend.given >= 1
    assert_exact(life)


OPTIONAL = ("fill_id", "trade_id", "ticker", "market_id", "event_ticker", "trade_price",
            "fee_cents", "liquidity")  # fmt: skip


def without(*names):
    def change(fill):
        for name in names:
            del fill[name]

    return change


def size_as(name, kind):
    def change(fill):
        fill[name] = kind(fill.pop("qty"))

    return change


def more_fields(fill):
    fill |= {"rebate_cents": 0, "venue": {"name": "x"}, "notes": [1, 2]}


def ids_as_numbers(fill):
    for name in ("fill_id", "trade_id"):
        fill[name] = int.from_bytes(hashlib.sha256(fill[name].encode()).digest()[:7])


FILLS = {
    **{f"without {name}": without(name) for name in OPTIONAL},
    "without any optional field": without(*OPTIONAL),
    "more fields": more_fields,
    "ids as numbers": ids_as_numbers,
    "size": size_as("size", int),
    "quantity": size_as("quantity", str),
    "filled_qty": size_as("filled_qty", int),
    "shares": size_as("shares", str),
    "year 1": lambda fill: fill.update(created_at="0001-01-01T00:00:00Z"),
    "year 1600": lambda fill: fill.update(created_at="1600-01-01T00:00:00.000000000Z"),
}


@pytest.mark.parametrize("change_fill", FILLS.values(), ids=FILLS)
def test_s4_fills_of_another_shape_are_booked_exactly(change_fill):
    def change(method, path, status, body):
        for fill in rows_of(body, "fills"):
            change_fill(fill)
        return status, body

    life = life_with(Replies(change))
    assert life.truth.fills > 0
    assert_exact(life)


MONEY_OF_POSITIONS = ("cost_basis", "avg_entry_price", "realized_pnl")


@pytest.mark.parametrize("value", [None, -999_999_999, 10**15, "12"])
def test_s5_the_money_fields_of_positions_do_not_change_any_order(value):
    def change(method, path, status, body):
        for position in rows_of(body, "positions"):
            for name in MONEY_OF_POSITIONS:
                if value is None:
                    del position[name]
                else:
                    position[name] = value
        return status, body

    life, usual = life_with(Replies(change)), life_with(None)
    assert life.truth.held
    assert_exact(life)
    assert life.sent(m.Write) == usual.sent(m.Write)


def test_s6_the_bot_never_reads_the_public_trades():
    life = life_with(Instead(lambda _, path, __: refused(404, "x") if "trades" in path else None))
    assert_exact(life)
    assert not [path for _, path, _ in life.site.requests if "trades" in path]


def test_s16_fees_rounded_up_per_fill_are_booked_as_the_fills_show_them():
    bend = FeePerFill("0.0700", shown_in_fills=True)
    life = life_with(bend, rungs=2, rate="0.0700", crowd_per_s=8.0)
    assert bend.more_cents > 0
    assert_exact(life)


def test_s16_fees_rounded_up_per_fill_that_no_fill_shows_are_booked_as_fees():
    bend = FeePerFill("0.0700", shown_in_fills=False)
    life = life_with(bend, rungs=2, rate="0.0700", crowd_per_s=8.0)
    assert bend.more_cents > 0
    assert_safe(life)
    assert life.wanted == []
    assert not life.trader.out.findings
    assert life.ended.report.ledger_difference_cents == 0
    assert life.trader.ledgers.fee_difference_cents == bend.more_cents


@pytest.mark.parametrize("more", [-3, 7])
def test_s17_a_reserve_at_another_rate_changes_no_order(more):
    def change(method, path, status, body):
        if path == "/portfolio/balance" and body.get("reserved_cents"):
            body["reserved_cents"] += more
            body["available_cents"] -= more
        for order in orders_in(body):
            if order.get("reserved_cents"):
                order["reserved_cents"] += more
        return status, body

    life, usual = life_with(Replies(change)), life_with(None)
    assert_exact(life)
    assert life.sent(m.Write) == usual.sent(m.Write)


def test_s28_an_always_empty_order_book_read_is_ignored():
    def change(method, path, status, body):
        if path.endswith("/orderbook"):
            body |= {"as_of": "0001-01-01T00:00:00Z", "bids": [], "asks": []}
        return status, body

    bend = Replies(change)
    bend.frames = once_each()
    life = life_with(bend, rungs=2, crowd_per_s=0.5, calm_s=5.0)
    assert [path for _, path, _ in life.site.requests if path.endswith("/orderbook")]
    assert_exact(life)


@pytest.mark.parametrize("code", ["budget_not_fillable", "no_executable_liquidity", "of_tomorrow"])
def test_s35_a_create_that_buys_nothing_may_be_any_422(code):
    left = [4]

    def answer(method, path, body):
        if method != "POST" or not left[0]:
            return None
        left[0] -= 1
        return refused(422, code)

    life = life_with(Instead(answer), rungs=2)
    assert left == [0]
    assert_safe(life)
    assert not [body for method, _, body in life.site.requests if b"budget_cents" in body]


def test_s35_a_create_that_buys_nothing_may_be_an_order_canceled_unfilled():
    left = [3]

    def change(method, path, status, body):
        if method == "POST" and status == 201 and left[0]:
            left[0] -= 1
            bend.site.withdraw(body["order_id"])
            body |= {"status": "canceled", "remaining_qty": 0, "filled_qty": 0}
        return status, body

    bend = Replies(change)
    life = life_with(bend)
    assert left == [0]
    assert_exact(life)


@pytest.mark.parametrize("share", [0.15, 0.5])
def test_s39_an_overloaded_engine_may_name_no_retry_time(share):
    count = [0.0]

    def answer(method, path, body):
        count[0] += share
        if count[0] < 1 or method == "GET":
            return None
        count[0] -= 1
        return refused(429, "engine_overloaded")

    bend = Instead(answer, 0.0, 3.0)
    life = life_with(bend, calm_s=6.0)
    assert bend.given > 0
    assert_exact(life)


@pytest.mark.parametrize(
    ("status", "code", "headers"),
    [
        (401, "unauthenticated", True),
        (401, "unauthenticated", False),
        (403, "forbidden_scope", True),
    ],
)
def test_s42_a_rejected_key_may_cost_tokens_or_none(status, code, headers):
    def answer(method, path, body):
        said = refused(status, code)
        if headers:
            left = b"%d" % (490 - bend.given)
            limits = [(b"x-ratelimit-limit", b"500"), (b"x-ratelimit-remaining", left)]
            said = (said[0], [*said[1], *limits], said[2])
        return said

    bend = Instead(answer, 1.0, 1.6)
    life = life_with(bend, calm_s=13.0)
    assert 0 < bend.given <= 40
    assert_exact(life)


@pytest.mark.parametrize(
    "said",
    [
        refused(404, "market_not_found"),
        refused(405, "method_not_allowed"),
        refused(501, "not_implemented"),
        answered(404, b"<html>no such page</html>"),
        answered(500, b""),
    ],
)
def test_s49_a_missing_endpoint_may_answer_anything(said):
    bend = Instead(lambda _, path, __: said if path.endswith("/orderbook") else None)
    bend.frames = once_each()
    life = life_with(bend, rungs=2, crowd_per_s=0.5, calm_s=5.0)
    assert bend.given > 0
    assert_exact(life)


@pytest.mark.parametrize("reset", [b"250", b"1800000009999", b"soon"])
def test_s51_the_instant_at_which_a_bucket_refills_may_be_of_any_unit(reset):
    count = [0.0]

    def answer(method, path, body):
        count[0] += 0.2
        if count[0] < 1:
            return None
        count[0] -= 1
        said = refused(429, "rate_limited")
        return said[0], [*said[1], (b"retry-after", b"1"), (b"x-ratelimit-reset", reset)], said[2]

    bend = Instead(answer, 0.4, 3.0)
    life = life_with(bend, calm_s=6.0)
    assert bend.given > 0
    assert_exact(life)
