"""Claims about `bot worst-case`: where it begins, what it answers, and what it says is wrong."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from bot.cli.main import app
from bot.core.report import EventReport, OrderReport, RungReport
from bot.lab.worst_case import WhatIfFault, answers, events_of_status
from tests.builders.io.loopback import loopback
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, Ticker

ROOT = Path(__file__).resolve().parents[3]
DEMO = str(ROOT / "configs" / "demo.yaml")
THREE = ("--rungs", "175B,200B,225B")


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["worst-case", *arguments])


def asked(*arguments: str) -> dict[str, Any]:
    done = invoke(DEMO, "--json", *arguments)
    assert done.exit_code == 0, done.output
    (event,) = json.loads(done.stdout)["events"]
    return dict(event)


def test_without_holdings_and_orders_the_worst_case_is_zero():
    event = asked(*THREE)
    assert [each["name"] for each in event["outcomes"]] == [
        "below 175B",
        "175B to 200B",
        "200B to 225B",
        "above 225B",
    ]
    assert event["worst_cents"] == 0
    assert event["within"] is True


def test_an_order_loses_its_price_and_fee_where_its_rung_fails():
    event = asked(*THREE, "--order", "200B:bid:45:10", "--fee-rate", "0.0175")
    assert [each["worst_cents"] for each in event["outcomes"]] == [-460, -460, 0, 0]
    assert [each["nothing_fills_cents"] for each in event["outcomes"]] == [0, 0, 0, 0]
    assert event["worst_cents"] == -460


def test_shares_bought_at_a_price_have_cost_it_and_the_fee():
    event = asked(*THREE, "--hold", "175B=yes:10@80", "--fee-rate", "0.07")
    # 10 x 80, and ceil(10 x 0.07 x 0.8 x 0.2 dollars) = 12 cents
    assert [each["nothing_fills_cents"] for each in event["outcomes"]] == [-812, 188, 188, 188]


def test_shares_of_both_outcomes_can_be_held():
    event = asked(*THREE, "--hold", "175B=yes:10@40,no:4@50")
    cents = [400 - 600, *[1_000 - 600] * 3]
    assert [each["nothing_fills_cents"] for each in event["outcomes"]] == cents
    assert (event["rungs"][0]["yes_qty"], event["rungs"][0]["no_qty"]) == (10, 4)


def test_shares_without_a_price_are_refused_where_no_book_is_known():
    done = invoke(DEMO, *THREE, "--hold", "175B=no:10")
    assert done.exit_code == 2
    assert done.stderr == (
        "--hold 175B=no:10: no best bid is known there; say the price: 175B=no:10@45\n"
    )


@pytest.mark.parametrize(
    ("hold", "cents", "said"),
    [
        ("yes:20", -10 * 46, "10 yes bought at 46, the best ask in the book"),
        ("yes:4", 6 * 44, "6 yes sold at 44, the best bid in the book"),
        ("no:10", -10 * 56, "10 no bought at 56, the best bid in the book"),
        ("yes:20@30", -10 * 30, "10 yes bought at 30, as --hold says"),
        ("yes:10", 0, ""),
    ],
)
def test_shares_without_a_price_are_traded_at_the_best_one_of_the_book(tmp_path, hold, cents, said):
    path = tmp_path / "what-if.yaml"
    path.write_text("rungs: [{label: 175B, yes_qty: 10, bid: 44, ask: 46}]\n")
    words = ("--file", str(path), "--hold", f"175B={hold}")
    below, _ = asked(*words)["outcomes"]
    assert below["nothing_fills_cents"] == cents + (1_000 if hold == "no:10" else 0)
    shown = invoke(DEMO, *words).stdout.splitlines()[1]
    assert shown == f"  175B: {said}" if said else "if the outcome is" in shown


def test_the_room_is_the_largest_order_at_the_price_asked_about():
    event = asked(*THREE, "--at", "40")
    # 200 dollars of the demo's limit, and 300 shares of one rung.
    assert [each["bid_room_qty"] for each in event["rungs"]] == [300, 300, 300]
    event = asked(*THREE, "--at", "80")
    assert [each["bid_room_qty"] for each in event["rungs"]] == [250, 250, 250]
    event = asked(*THREE, "--at", "80", "--order", "175B:bid:80:249")
    assert [each["bid_room_qty"] for each in event["rungs"]] == [1, 1, 1]
    assert [each["ask_room_qty"] for each in event["rungs"]] == [300, 300, 300]


def test_an_exceeded_limit_is_reported():
    event = asked(*THREE, "--order", "200B:bid:99:250")
    assert event["within"] is False
    used = {each["name"]: (each["used"], each["limit"]) for each in event["limits"]}
    assert used["event_loss_cents"] == (24_750, 20_000)
    assert "EXCEEDED" in invoke(DEMO, *THREE, "--order", "200B:bid:99:250").stdout


def test_a_person_gets_dollars_and_the_worst_outcome_marked():
    shown = invoke(DEMO, *THREE, "--order", "200B:bid:45:10").stdout
    assert "event given" in shown
    assert next(line for line in shown.splitlines() if "175B to 200B" in line).split()[-3:] == [
        "-$4.50",
        "<-",
        "worst",
    ]


FILE = """\
event: GIVEN-26Q4
fee_rate: 0.0175
cash_cents: -812
rungs:
  - {label: 175B, yes_qty: 10, price: 80}
  - {label: 200B, no_qty: 2}
orders:
  - {rung: 200B, side: ask, price: 60, qty: 5}
"""


def test_a_file_gives_rungs_holdings_and_orders(tmp_path):
    path = tmp_path / "what-if.yaml"
    path.write_text(FILE)
    event = asked("--file", str(path))
    assert event["event"] == "GIVEN-26Q4"
    assert [each["nothing_fills_cents"] for each in event["outcomes"]] == [-612, 388, 188]
    # Asks lose 40 and a fee of 1 a share where their rung pays.
    assert [each["worst_cents"] for each in event["outcomes"]] == [-612, 388, 188 - 5 * 41]
    assert [each["at"] for each in event["rungs"]] == [80, 50]
    more = asked("--file", str(path), "--order", "175B:bid:10:1")
    assert more["worst_cents"] == -612 - 11


@pytest.mark.parametrize(
    ("hold", "pays"),
    [
        ("175B=yes:10@80", [-612, 388, 188]),  # what is held already, once more: nothing is traded
        ("175B=yes:15@60", [-612 - 303, 388 + 197, 188 + 197]),  # ceil(5 x 0.0175 x 24) = 3 cents
        ("175B=yes:4@60", [-612 + 357, 388 - 243, 188 - 243]),
    ],
)
def test_shares_given_with_a_price_are_traded_from_those_held(tmp_path, hold, pays):
    path = tmp_path / "what-if.yaml"
    path.write_text(FILE)
    event = asked("--file", str(path), "--hold", hold)
    assert [each["nothing_fills_cents"] for each in event["outcomes"]] == pays


# (what is replaced in the file, by what, what the fault must say)
FILE_FAULTS = [
    ("price: 60", "price: 100", "orders.0.price: '100'; accepted: a whole number"),
    ("side: ask", "side: sell", ":8: orders.0.side: 'sell'; accepted: bid or ask"),
    ("rung: 200B", "rung: 210B", ":8: orders.0.rung: no '210B'; 175B, 200B"),
    ("label: 200B", "label: 175B", "each label once"),
    ("yes_qty: 10", "yes_qty: -1", ":5: rungs.0.yes_qty: '-1'"),
    ("cash_cents: -812", "cash_cents: -8.12", ":3: cash_cents: '-8.12'"),
    ("cash_cents", "cash_cent", "did you mean cash_cents?"),
    ("0.0175", "2", "fee rate of 175B"),
    ("rungs:", "rungs: [", "not YAML"),
]


@pytest.mark.parametrize(("what", "by", "says"), FILE_FAULTS, ids=[row[1] for row in FILE_FAULTS])
def test_a_fault_of_a_file_is_reported_with_its_place(tmp_path, what, by, says):
    path = tmp_path / "what-if.yaml"
    path.write_text(FILE.replace(what, by, 1))
    done = invoke(DEMO, "--file", str(path))
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stdout == ""


# (options, what the fault must say)
FAULTS = [
    (("--order", "200B:bid:45"), "--order 200B:bid:45: want RUNG:bid:45:10"),
    (("--order", "200B:bid:45:" + "9" * 5_000), "want RUNG:bid:45:10"),
    (("--order", "200B:buy:45:10"), "want RUNG:bid:45:10"),
    (("--order", "200B:bid:0:10"), "price 0; accepted: 1 to 99 cents"),
    (("--order", "200B:bid:45:0"), "size 0; accepted: 1 to 1000000 shares"),
    (("--order", "210B:bid:45:10"), "no rung '210B'; there are 175B, 200B, 225B"),
    (("--hold", "200B"), "--hold 200B: want RUNG=yes:10@45"),
    (("--hold", "200B=maybe:3"), "want RUNG=yes:10@45"),
    (("--hold", "210B=yes:3"), "no rung '210B'"),
    (("--at", "100"), "--at 100: price 100"),
    (("--event", "OTHER"), "--event OTHER: there is given"),
    (("--fee-rate", "1.5"), "fee rate of 175B"),
    (("--file", "x.yaml"), "--file and --rungs: one of them"),
]


@pytest.mark.parametrize(("options", "says"), FAULTS, ids=[" ".join(row[0]) for row in FAULTS])
def test_a_wrong_option_ends_with_2_and_says_what_is_wanted(options, says):
    done = invoke(DEMO, *THREE, *options)
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("rungs", ["175B,,200B", "175B,175B"])
def test_rungs_are_given_once_each(rungs):
    done = invoke(DEMO, "--rungs", rungs)
    assert done.exit_code == 2
    assert "each once, lowest first" in done.stderr


# --- a running bot --------------------------------------------------------------------------------


def order(number: int, side: Side, outcome: Outcome, level: int, qty: int, worst: int):
    return OrderReport(
        client_order_id=ClientOrderId(f"boot-{number}"),
        order_id=None,
        side=BookSide.BID if (side is Side.BUY) == (outcome is Outcome.YES) else BookSide.ASK,
        price=Price(level),
        outcome=outcome,
        own_side=side,
        remaining_qty=Qty(qty),
        filled_qty=Qty(0),
        state="open",
        age_ns=1,
        why="made",
        may_fill_qty=Qty(qty),
        worst_price=Price(worst),
    )


def rung(event: str, label: str, yes: int, no: int, *orders: OrderReport) -> RungReport:
    return RungReport(
        market_id=MarketId(f"m-{event}-{label}"),
        ticker=Ticker(f"{event}-{label}"),
        strike_text=label,
        state="active",
        blocked="",
        bids=((Price(60), Qty(5)),),
        asks=((Price(63), Qty(5)),),
        fair_cents=61.7,
        fair_sd_cents=1.0,
        last_price=None,
        yes_qty=Qty(yes),
        no_qty=Qty(no),
        book_age_ns=None,
        orders=orders,
        fee_rate="0",
    )


def status_json() -> bytes:
    orders = (
        order(1, Side.BUY, Outcome.YES, 40, 10, 45),  # an amend to 45 is on its way
        order(2, Side.BUY, Outcome.NO, 70, 5, 30),
    )
    events = [
        EventReport(
            event_ticker=Ticker(ticker),
            title=ticker,
            status="open",
            resolution_ns=1,
            rungs=(rung(ticker, "175B", 3, 0, *live), rung(ticker, "200B", 0, 2)),
            outcome_cents=(Cents(-100), Cents(200), Cents(0)),
            worst_case_cents=Cents(0),
        )
        for ticker, live in (("X-26Q4", orders), ("X-27Q1", ()))
    ]
    shown = {"age_ms": 1, "unhealthy": "", "report": {"events": events}, "series": ["AURELIA-VAL"]}
    shown["names"] = ["demo"]
    return msgspec.json.encode(msgspec.to_builtins(shown))


@pytest.fixture
def two_events(tmp_path) -> Path:
    path = tmp_path / "status.json"
    path.write_bytes(status_json())
    return path


def test_a_status_page_gives_holdings_and_live_orders_at_their_worst(two_events):
    event = asked("--file", str(two_events), "--event", "X-26Q4")
    assert [each["nothing_fills_cents"] for each in event["outcomes"]] == [-100, 200, 0]
    worst = [-100 - 450, 200 - 150, 0 - 150]
    assert [each["worst_cents"] for each in event["outcomes"]] == worst
    assert [each["at"] for each in event["rungs"]] == [62, 62]
    assert [each["label"] for each in event["rungs"]] == ["175B", "200B"]


def test_chances_of_a_file_give_the_risk_of_what_is_held_in_it(tmp_path):
    path = tmp_path / "held.yaml"
    text = "rungs: [{label: A, yes_qty: 10}]\ncash_cents: -400\nchances: "
    path.write_text(f"{text}[0.25, 0.75]\n")
    answer = asked("--file", str(path))
    assert answer["risk"]["expected_cents"] == -0.25 * 400 + 0.75 * 600
    assert answer["risk"]["shortfall_95_cents"] == 400
    shown = invoke(DEMO, "--file", str(path)).stdout
    assert "held: expected $3.50   shortfall $4.00 at 95 %, $4.00 at 99 %" in shown
    path.write_text(f"{text}[0.25, 0.7]\n")
    done = invoke(DEMO, "--file", str(path))
    assert done.exit_code == 2
    assert f"{path}:3: chances: accepted: 2 numbers, 0 or more, that add up to 1" in done.stderr


def test_an_order_in_another_event_uses_up_the_limit_of_the_series(two_events):
    words = ("--file", str(two_events), "--order", "X-27Q1-200B:bid:50:700")
    first, second = json.loads(invoke(DEMO, "--json", *words).stdout)["events"]
    assert second["worst_cents"] == -100 - 35_000
    for event in (first, asked(*words, "--event", "X-26Q4")):
        limits = {each["name"]: each["limit"] for each in event["limits"]}
        assert limits["event_loss_cents"] == 40_000 - 35_100


def test_a_label_of_several_events_is_of_the_event_that_is_named(two_events):
    words = ("--file", str(two_events))
    done = invoke(DEMO, *words, "--order", "200B:bid:50:1")
    assert done.exit_code == 2
    assert "say --event, or which: X-26Q4-200B, X-27Q1-200B" in done.stderr
    event = asked(*words, "--event", "X-27Q1", "--order", "200B:bid:50:1")
    assert event["rungs"][1]["bid_qty"] == 1
    event = asked(*words, "--event", "X-27Q1", "--hold", "200B=yes:7")
    assert event["rungs"][1]["yes_qty"] == 7
    assert [(each["rung"], each["price"]) for each in event["assumed"]] == [("200B", 63)]


def test_the_example_of_the_help_works_as_it_is_printed():
    line = invoke("--help").output.partition("Example: bot worst-case ")[2].replace("\\\n", "")
    assert invoke(*line.replace("configs/demo.yaml", DEMO).split()).exit_code == 0


def page(body: bytes, code: int = 200) -> AbstractContextManager[str]:
    """A page on loopback whose status is this."""
    return loopback(
        lambda asked: (code if asked.path.partition("?")[0] == "/status.json" else 404, body)
    )


def test_worst_case_starts_from_the_status_page_of_the_running_bot():
    with page(status_json()) as url:
        event = asked("--status", url, "--event", "X-26Q4", "--order", "X-26Q4-200B:ask:50:2")
    assert event["worst_cents"] == -550
    assert event["rungs"][1]["ask_qty"] == 2


def test_worst_case_asks_the_page_that_the_configuration_names(tmp_path):
    with page(status_json()) as url:
        path = tmp_path / "demo.yaml"
        text = Path(DEMO).read_text().replace("port: 8090", f"port: {url.rpartition(':')[2]}")
        path.write_text(text.replace("embedded: venue.yaml", f"embedded: {DEMO}"))
        done = invoke(str(path), "--json")
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["events"]) == 2


def test_worst_case_without_a_running_bot_ends_with_3_and_says_what_to_do():
    with page(b"", 500) as url:
        done = invoke(DEMO, "--status", url)
    assert done.exit_code == 3
    assert "no bot answers there" in done.stderr
    assert "--file or --rungs" in done.stderr


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"<html>", "not the status of a bot"),
        (b'{"report": {"events": []}}', "knows no event yet"),
        (b'{"report": null}', "knows no event yet"),
        (b'{"report": {"events": [{"x": 1}]}}', "not the status of a bot"),
    ],
)
def test_a_page_without_events_is_a_fault(body, says):
    with pytest.raises(WhatIfFault, match=says):
        events_of_status(body, "there")


def test_worst_case_agrees_with_the_trader(tmp_path):
    from bot.core.trader import Trader
    from bot.lab.sim.scenario import SECOND
    from tests.builders.bot.worlds import quoting

    world = quoting()
    world.driver.run_until(world.now_ns + 3 * SECOND)
    trader: Trader = world.process.trader
    report = trader.report(world.now_ns)
    body = msgspec.json.encode({"report": report})
    found = answers(events_of_status(body, "here"), world.process.settings.risk)
    assert [each.event for each in found] == [event.event_ticker for event in report.events]
    for answer, event, ladder in zip(found, report.events, trader.quoting.ladders, strict=True):
        exposure = trader.quoting.weighing.exposure(ladder)
        assert tuple(each.worst_cents for each in answer.outcomes) == tuple(
            exposure.worst_by_outcome()
        )
        assert -answer.worst_cents == event.worst_case_cents > 0
        assert answer.limits == event.limits
        assert answer.risk == event.risk is not None
        assert answer.within
