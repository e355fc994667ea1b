"""Claims about a venue that was set back to an earlier state while the bot trades there."""

import msgspec

from bot.core import messages as m
from bot.core.account.gonefill import GONE_NS
from bot.core.report import Phase
from strategies.fixed_spread import FixedSpread
from tests.bot.thin import EVENT, Thin
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Qty

BEGIN_CENTS = 10**9


class Account(Thin):
    """A venue at which orders fill. `set_back` has it forget all that happened. counts: whether
    its ids of fills count up from nothing, so that after that they are used anew."""

    counts = False
    fills: tuple[model.Fill, ...] = ()
    cash_cents = BEGIN_CENTS
    lags = False
    notes: tuple[m.Noted, ...] = ()

    def fill(self, qty: int = 1) -> None:
        """So many shares of the oldest order of ours trade."""
        order = next(iter(self.orders.values()))
        left = Qty(order.remaining_qty - qty)
        self.orders[order.order_id] = msgspec.structs.replace(
            order,
            filled_qty=Qty(order.filled_qty + qty),
            remaining_qty=left,
            status=model.OrderStatus.PARTIALLY_FILLED,
        )
        level = order.price if order.outcome is model.ShownOutcome.YES else 100 - order.price
        fill = model.Fill(
            fill_id=f"f{len(self.fills) if self.counts else self.now_ns}",
            trade_id=f"t{self.now_ns}",
            order_id=order.order_id,
            ticker=order.ticker,
            market_id=order.market_id,
            event_ticker=EVENT,
            outcome=order.outcome,
            side=order.side,
            outcome_price=order.price,
            trade_price=level,
            qty=Qty(qty),
            fee_cents=Cents(0),
            liquidity=model.Liquidity.MAKER,
            created_at=instant.from_ns(self.now_ns),
        )
        self.fills = (fill, *self.fills)
        self.cash_cents -= _moved(fill) * order.price

    def set_back(self) -> None:
        """Orders, fills, positions and cash are those of the beginning."""
        self.orders.clear()
        self.fills, self.cash_cents = (), BEGIN_CENTS

    def answer(self, request: m.Request) -> m.Answer:
        match request:
            case m.ReadBalance():
                cash = Cents(self.cash_cents)
                return m.Done(m.BalanceShown(model.Balance(cash, Cents(0), cash)))
            case m.ReadFills():
                return m.Done(m.FillsShown(() if self.lags else self.fills, ""))
            case m.ReadPositions():
                held = {(each.ticker, each.market_id, each.outcome): 0 for each in self.fills}
                for each in self.fills:
                    held[each.ticker, each.market_id, each.outcome] += _moved(each)
                rows = [
                    model.Position(ticker=ticker, market_id=at, outcome=outcome, qty=Qty(qty))
                    for (ticker, at, outcome), qty in held.items()
                ]
                return m.Done(m.PositionsShown(tuple(rows), ""))
            case m.CancelResting(order_id=order_id) | m.AmendResting(order_id=order_id):
                if order_id not in self.orders:
                    return m.Refused(404, "order_not_found", "")
        return super().answer(request)

    def told(self, effect: m.Effect) -> None:
        if isinstance(effect, m.Noted):
            self.notes += (effect,)

    def said(self, name: str) -> int:
        """How often something was noted."""
        return sum(note.name == name for note in self.notes)


def _moved(fill: model.Fill) -> int:
    return fill.qty if fill.side is model.ShownSide.BUY else -fill.qty


def traded(*, counts: bool = False) -> Account:
    """An account on which a fill was booked."""
    venue = Account([50], lambda: FixedSpread(FixedSpread.Params()))
    venue.counts = counts
    venue.start()
    venue.fill()
    venue.run(10)
    assert not venue.trader.out.findings
    return venue


def test_a_venue_that_was_set_back_is_told_once_and_no_position_grows_until_a_new_start():
    venue = traded()
    venue.set_back()
    venue.run(GONE_NS / NS_PER_SECOND + 20)
    assert "stop this bot and start it again" in venue.trader.out.findings["fills_forgotten"]
    since_ns = venue.now_ns
    venue.run(120)
    assert venue.said("fills_forgotten") == 1
    assert not [each for each in venue.writes(since_ns) if not isinstance(each, m.CancelResting)]
    venue.give(m.StopRequested("the end"))
    venue.run(6)
    assert venue.trader.phase is Phase.STOPPED
    assert not venue.orders


def test_a_venue_that_was_set_back_is_told_though_another_fill_has_the_id_of_the_forgotten_one():
    venue = traded(counts=True)
    orders = dict(venue.orders)
    venue.set_back()
    venue.orders.update(orders)
    venue.fill(2)
    venue.run(GONE_NS / NS_PER_SECOND + 20)
    assert "stop this bot and start it again" in venue.trader.out.findings["fills_forgotten"]


def test_a_list_that_lags_for_less_than_that_is_no_venue_that_was_set_back():
    venue = traded()
    venue.lags = True
    venue.run(GONE_NS / NS_PER_SECOND - 8)
    venue.lags = False
    venue.run(60)
    assert not venue.said("fills_forgotten")


def test_a_list_that_forgets_what_is_old_is_no_venue_that_was_set_back():
    venue = traded()
    venue.lags = True
    venue.run(300)
    assert not venue.said("fills_forgotten")
    assert not venue.trader.out.findings
