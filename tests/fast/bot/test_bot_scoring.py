"""Claims about the account of profit beside the ledger, where rungs come while the trader runs."""

from bot.core import messages as m
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import EVENT, Thin, market
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Price, Qty
from venue.wire.names import OrderId

LATE = 2


class ByHand(Thin):
    """A venue of two rungs where a person trades on our account; a third rung comes later."""

    def __init__(self) -> None:
        super().__init__([70, 50], lambda: FixedSpread(FixedSpread.Params()))
        self.booked: list[model.Fill] = []

    def answer(self, request: m.Request) -> m.Answer:
        """See `Thin`; what was bought by hand is in every list."""
        match request:
            case m.ReadFills():
                return m.Ok(m.FillsBody(tuple(reversed(self.booked)), ""))
            case m.ReadBalance():
                paid = sum(each.qty * each.outcome_price + 1 for each in self.booked)
                cash = Cents(10**9 - paid)
                return m.Ok(m.BalanceBody(model.Balance(cash, Cents(0), cash)))
            case m.ReadPositions():
                return m.Ok(m.PositionsBody(tuple(map(_held, self.booked)), ""))
            case _:
                return super().answer(request)

    def bought_by_hand(self, index: int) -> None:
        """Ten shares of a rung at 30 cents, and a cent of fee."""
        rung, number = market(index), len(self.booked) + 1
        self.booked.append(
            model.Fill(
                fill_id=f"f{number}",
                trade_id=f"t{number}",
                order_id=OrderId(f"90{number}"),
                ticker=rung.ticker,
                market_id=rung.market_id,
                event_ticker=EVENT,
                outcome=model.ShownOutcome.YES,
                side=model.ShownSide.BUY,
                outcome_price=Price(30),
                trade_price=Price(30),
                qty=Qty(10),
                liquidity=model.Liquidity.TAKER,
                created_at=instant.from_ns(self.now_ns),
                fee_cents=1,
            )
        )

    def list_the_third(self) -> None:
        """The ladder has one rung more from now on."""
        self.markets.append(market(LATE))
        self.mids.append(30)

    def live(self, seconds: float) -> None:
        """Time passes, and every book is shown each second."""
        self.run(seconds, lambda: [self.show(at) for at in range(len(self.mids))], NS_PER_SECOND)

    def difference(self) -> int:
        """What the account of fills and the ledger differ by."""
        profit = self.trader.report(self.now_ns).profit
        assert profit is not None
        return profit.difference_millicents


def _held(fill: model.Fill) -> model.Position:
    return model.Position(ticker=fill.ticker, outcome=model.ShownOutcome.YES, qty=fill.qty)


def begun() -> ByHand:
    venue = ByHand()
    venue.start()
    venue.live(10)
    return venue


def test_a_fill_by_hand_on_a_rung_that_is_listed_later_leaves_nothing_unexplained():
    venue = begun()
    venue.bought_by_hand(LATE)
    venue.live(60)
    venue.list_the_third()
    venue.live(90)
    assert venue.rung(LATE).market_id == market(LATE).market_id
    assert venue.difference() == 0
    venue.bought_by_hand(0)
    venue.live(60)
    assert venue.difference() == 0
    assert not venue.trader.out.findings


def test_a_fill_by_hand_booked_before_the_next_beat_after_its_rung_was_listed_counts_once():
    venue = begun()
    venue.list_the_third()
    [event] = venue._read(m.ReadSeries("", "")).body.events
    quoting, ledgers = venue.trader.quoting, venue.trader.ledgers
    quoting.take_series([event], venue.now_ns, venue.now_ns)
    venue.bought_by_hand(LATE)
    change = ledgers.on_fills(venue.booked, venue.now_ns, venue.now_ns, ())
    quoting.on_account_change(change, venue.now_ns)
    quoting.learn(change, venue.now_ns)
    venue.live(60)
    assert quoting.pnl.report().total.qty == 10
    assert venue.difference() == 0
    assert not venue.trader.out.findings
