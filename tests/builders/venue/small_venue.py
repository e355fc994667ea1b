"""The smallest opening a venue can trade with: one company, one rung, one user with cash."""

from typing import Any

from venue.engine.messages import (
    AddUser,
    Deposit,
    ListCompany,
    ListEvent,
    ListMarket,
    PlaceOrder,
)
from venue.wire.model import EventStatus
from venue.wire.money import Cents, FeeRate, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, ProjectId, Ticker, UserId
from venue.wire.requests import QtyOrder, TimeInForce

ANNA = UserId("anna")
PROJECT = ProjectId("00000000-0000-4000-8000-000000000001")
MARKET = MarketId("00000000-0000-4000-8000-000000000002")
RATE = FeeRate.parse("0.0175")
OPENING: list[Any] = [
    ListCompany(PROJECT, "Linden Works", "LINDEN"),
    ListEvent(
        event_ticker=Ticker("LINDEN-26Q4"),
        series_ticker=Ticker("LINDEN"),
        project_market_id="00000000-0000-4000-8000-000000000003",
        project_id=PROJECT,
        title="Linden",
        category="valuation",
        status=EventStatus.OPEN,
        mutually_exclusive=False,
        resolution_date_ns=2 * 10**18,
    ),
    ListMarket(
        market_id=MARKET,
        ticker=Ticker("LINDEN-26Q4-1B"),
        event_ticker=Ticker("LINDEN-26Q4"),
        name="above 1B",
        outcome_label="above 1B",
        maker_fee_rate=RATE,
        taker_fee_rate=RATE,
        strike_value="1",
        strike_unit="USD billions",
    ),
    AddUser(ANNA),
    Deposit(ANNA, Cents(1_000_000)),
]


def small_buy(number: int) -> PlaceOrder:
    """A buy of one YES at 5 by anna, whose id has this number."""
    key, gtc = ClientOrderId(f"order {number}"), TimeInForce.GTC
    return PlaceOrder(ANNA, QtyOrder(MARKET, Outcome.YES, Side.BUY, Price(5), Qty(1), gtc, key))
