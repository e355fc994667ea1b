"""Claims about the opening of the books: what is held counts, and not what the fills left."""

import pytest

from bot.core import messages as m
from bot.core.limits.risk import Exposure
from bot.core.report import Phase
from bot.lab.sim.odds import SECOND
from bot.lab.sim.venue.exchange import MAKER
from bot.lab.sim.world import World
from strategies.ladder_joint import STRATEGY as LADDER_JOINT
from tests.bot.made import LAG_NS, MARKET, T0
from tests.bot.test_bot_latch import opened
from tests.bot.test_bot_ledgers import Books
from tests.bot.thin import START_NS, Thin
from venue.core import messages as v
from venue.wire import instant, model
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, OrderId
from venue.wire.requests import QtyOrder, TimeInForce


def opens(world: World) -> tuple[Exposure, int]:
    """What the first event may lose as its trader reckons it once it quotes; cents its fills came
    to."""
    world.start(world.process)
    trader = world.process.trader
    assert world.run_until(world.now_ns + 8 * SECOND, lambda: trader.phase is Phase.QUOTING)
    ladder = trader.quoting.ladders[0]
    cash = trader.ledgers.book.event_cash_cents(ladder.event.event_ticker)
    return trader.quoting.weighing.exposure(ladder), cash


@pytest.mark.parametrize("winner", list(Outcome))
def test_shares_that_paid_before_the_start_pay_in_no_outcome_again(winner: Outcome) -> None:
    world = opened()
    exchange = world.exchange
    rung = next(exchange.all_markets())
    order = QtyOrder(
        rung,
        Outcome.YES,
        Side.BUY,
        Price(99),
        Qty(5),
        TimeInForce.IOC,
        ClientOrderId("of an earlier run"),
    )
    bought = exchange.apply(v.PlaceOrder(MAKER, order), world.now_ns)
    assert isinstance(bought, v.Placed)
    assert bought.order.filled_qty == 5
    exchange.apply(v.ResolveMarket(rung, winner), world.now_ns)
    world.run_until(world.now_ns + 3 * SECOND)
    exposure, spent = opens(world)
    assert spent < 0
    assert set(exposure.outcome_cents) == {spent}


def test_shares_taken_over_pay_when_their_rung_resolves_and_are_held_no_more():
    books = Books()
    books.balance(10_000, T0)
    books.positions({Outcome.NO: 7}, T0)
    books.of.open_books()
    books.fills(T0 + 2 * LAG_NS)
    assert books.of.holdings(MARKET) == (0, 7)
    books.of.settling.resolved(MARKET, 0)
    books.positions({}, T0 + 3 * LAG_NS)
    books.fills(T0 + 5 * LAG_NS)
    books.balance(10_700, T0 + 7 * LAG_NS)
    books.fills(T0 + 9 * LAG_NS)
    assert books.of.holdings(MARKET) == (0, 0)
    assert books.out.findings == {}


class Bought(Thin):
    """A thin venue on which ten shares were bought, and sold again, before the start."""

    def answer(self, request: m.Request) -> m.Answer:
        """The fills of then; everything else as ever."""
        if not isinstance(request, m.ReadFills):
            return super().answer(request)
        rung, at = self.markets[0], instant.from_ns(START_NS - 3_600 * SECOND)
        fills = [
            model.Fill(
                fill_id=side,
                trade_id=side,
                order_id=OrderId("77"),
                ticker=rung.ticker,
                market_id=rung.market_id,
                event_ticker=rung.event_ticker,
                outcome=model.ShownOutcome.YES,
                side=side,
                outcome_price=Price(70),
                trade_price=Price(70),
                qty=Qty(10),
                liquidity=model.Liquidity.MAKER,
                created_at=at,
                fee_cents=3,
            )
            for side in (model.ShownSide.BUY, model.ShownSide.SELL)
        ]
        return m.Done(m.FillsShown(tuple(fills), ""))


def test_fees_of_fills_before_the_start_are_none_of_the_run() -> None:
    venue = Bought([70, 50], lambda: LADDER_JOINT(LADDER_JOINT.Params()))
    venue.start()
    report = venue.trader.report(venue.now_ns)
    assert venue.trader.ledgers.book.fees_cents == 6
    assert report.profit is not None
    assert report.fees_cents == report.profit.total.fees_cents == 0
