"""Ready-made orders, readings and answers for the claims about the trader's parts."""

from bot.core import messages as m
from bot.core.orders.order import OwnOrder, State
from venue.wire import model
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker
from venue.wire.requests import QtyOrder, TimeInForce

MARKET = MarketId("aaaaaaaa-0000-4000-8000-000000000001")
EVENT = Ticker("ACME-VAL-27Q1")
LAG_NS = 1_000_000_000
T0 = 1_000 * LAG_NS
INSTANT = "2027-01-01T00:00:00.000000000Z"


def intent(
    outcome: Outcome = Outcome.YES,
    side: Side = Side.BUY,
    price: int = 40,
    qty: int = 10,
    number: int = 1,
) -> QtyOrder:
    """A create of ours."""
    return QtyOrder(
        MARKET,
        outcome,
        side,
        Price(price),
        Qty(qty),
        TimeInForce.GTC,
        ClientOrderId(f"boot-{number}"),
    )


def own(state: State = State.OPEN, now_ns: int = T0, number: int = 1, **wanted) -> OwnOrder:
    """An own order in a state, its last write answered at `now_ns`."""
    order = intent(number=number, **wanted)
    made = OwnOrder(order, now_ns, "made")
    made.state = state
    if state not in (State.PENDING_NEW, State.NEW_UNKNOWN):
        made.order_id = OrderId(str(1_000 + number))
    return made


def shown(of: OwnOrder, **other) -> model.Order:
    """What the venue would show of an own order as we believe it, but for `other`: what has filled
    more works no longer."""
    filled = other.pop("filled", of.filled)
    remaining = other.pop("remaining", max(0, of.remaining - max(0, filled - of.filled)))
    status = other.pop("status", None)
    if status is None:
        status = model.OrderStatus.PARTIALLY_FILLED if filled else model.OrderStatus.OPEN
    return model.Order(
        order_id=OrderId(other.pop("order_id", of.order_id or "1001")),
        ticker=Ticker("ACME-VAL-27Q1-100B"),
        market_id=of.market_id,
        event_ticker=EVENT,
        outcome=model.ShownOutcome(of.outcome.value),
        side=model.ShownSide(of.side.value),
        price=Price(other.pop("price", of.price)),
        qty=Qty(other.pop("qty", filled + remaining)),
        remaining_qty=Qty(remaining),
        filled_qty=Qty(filled),
        status=status,
        time_in_force=model.ShownTimeInForce.GTC,
        created_at=INSTANT,
        updated_at=INSTANT,
    )


def over(of: OwnOrder, status: model.OrderStatus, filled: int) -> model.Order:
    """The same order, ended."""
    return shown(of, status=status, filled=filled, remaining=0)


def fill(of: OwnOrder, number: int, qty: int, fee_cents: int = 0) -> model.Fill:
    """A fill of an own order at its limit."""
    return model.Fill(
        fill_id=f"f{number}",
        trade_id=f"t{number}",
        order_id=of.order_id or OrderId("1001"),
        ticker=Ticker("ACME-VAL-27Q1-100B"),
        market_id=of.market_id,
        event_ticker=EVENT,
        outcome=model.ShownOutcome(of.outcome.value),
        side=model.ShownSide(of.side.value),
        outcome_price=of.price,
        trade_price=of.yes_price,
        qty=Qty(qty),
        fee_cents=Cents(fee_cents),
        liquidity=model.Liquidity.MAKER,
        created_at=f"2027-01-01T00:00:{number:02d}.000000000Z",
    )


def done(order: model.Order) -> m.Ok:
    """A 2xx that shows an order."""
    return m.Ok(m.OrderBody(order))
