"""Values that several tests of the shell need."""

from bot.core import messages as m
from bot.core.report import (
    Counters,
    EventReport,
    LossBudgetReport,
    OrderReport,
    OutsideValueReport,
    Phase,
    Report,
    RungReport,
)
from bot.core.settings import BudgetPeriod
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker
from venue.wire.requests import QtyOrder, TimeInForce

RUNG = MarketId("0b2c6a54-7d6e-5c0e-9d37-2f7f0f4c1a11")
ORDER_ID = OrderId("12345678901234567890")


def create(name: str = "a-1", again: bool = False) -> m.Create:
    order = QtyOrder(
        RUNG,
        Outcome.YES,
        Side.BUY,
        Price(40),
        Qty(10),
        TimeInForce.GTC,
        ClientOrderId(name),
    )
    return m.Create(order, again)


def sent(request: m.Request, number: int = 1) -> m.Send:
    return m.Send(m.RequestId(number), request, "for a test")


def intent(name: str) -> m.UnconfirmedCreate:
    return m.UnconfirmedCreate(create(name).order)


def reply(answer: m.Answer, number: int = 1) -> m.Response:
    return m.Response(m.RequestId(number), answer)


ORDER_JSON = (
    b'{"order_id":"12345678901234567890","ticker":"X-26Q4-1B","market_id":"'
    + RUNG.encode()
    + b'","event_ticker":"X-26Q4","outcome":"yes","side":"buy","price":40,"qty":10,'
    b'"remaining_qty":10,"filled_qty":0,"status":"open","time_in_force":"gtc",'
    b'"created_at":"2026-11-21T09:00:00.000000001Z",'
    b'"updated_at":"2026-11-21T09:00:00.000000001Z"}'
)


def report(phase: Phase = Phase.QUOTING, now_ns: int = 10**9, blocked: str = "") -> Report:
    """A picture with one event, one rung and one order."""
    order = OrderReport(
        ClientOrderId("a-1"), ORDER_ID, BookSide.BID, Price(40), Outcome.YES, Side.BUY, Qty(10),
        Qty(0), "open", 5, "best \x1b[31m<b>[red]price",
    )  # fmt: skip
    rung = RungReport(
        RUNG, Ticker("X-26Q4-1B"), "1 USD billions", "active", blocked, ((Price(39), Qty(5)),),
        ((Price(45), Qty(5)),), 42.0, 1.0, None, Qty(3), Qty(0), 10**8, (order,),
    )  # fmt: skip
    event = EventReport(
        Ticker("X-26Q4"), "X \x07[bold]at the end", "open", 0, (rung,), (Cents(-5), Cents(9)),
        Cents(405),
    )  # fmt: skip
    counters = Counters(
        frames=7, frames_garbled=0, decisions=3, fills=1,
        requests={"create": 2, "amend": 1, "cancel": 0, "read": 4},
        amends_kept_place=1, amends_lost_place=0, refused={"rate_limited": 1}, unknown_answers=0,
        self_trades=0, rate_limited=1, strategy_errors=0,
    )  # fmt: skip
    return Report(
        now_ns=now_ns, phase=phase, series_ticker=Ticker("X"), started_ns=0,
        first_two_sided_ns=None, events=(event,), counters=counters, tokens=400, in_flight=0,
        resting=1, unknown_open=0, flat_ns=0, cash_available_cents=Cents(1000),
        pnl_cents=Cents(-7), fees_cents=Cents(1), worst_case_cents=Cents(405),
        worst_case_max_cents=Cents(405), worst_case_limit_cents=Cents(1000),
        ledger_difference_cents=Cents(0), feed_heard_ns=now_ns, findings=(),
    )  # fmt: skip


def spent_budget() -> LossBudgetReport:
    """A loss budget of the day that is used up."""
    return LossBudgetReport(
        period=BudgetPeriod.DAY,
        limit_cents=Cents(2_000),
        lost_cents=Cents(2_100),
        loss_now_cents=Cents(2_050),
        high_water_cents=Cents(0),
        from_ns=0,
        until_ns=None,
        raises=(),
    )


def operator_value(about: Ticker) -> OutsideValueReport:
    """A value of the operator's that is used."""
    return OutsideValueReport(
        source="operator",
        about=about,
        unit="dollars",
        value=2.135e11,
        sd=2e9,
        age_ns=42 * 10**9,
        left_ns=3_000 * 10**9,
        weight=0.5,
        market=2.1e11,
    )
