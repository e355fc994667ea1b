"""Claims about the moment at which the books open: what an unseen order does meanwhile counts."""

import msgspec

from bot.core import messages as m
from tests.bot import made
from tests.bot.meddled import Meddled
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Qty

CASH_CENTS = 10**9
QTY = 4


class LeftOver(Meddled):
    """An account on which a bid for four shares rests that no journal knows: it fills just before
    the first list of what rests is captured, and after all else was."""

    def __init__(self) -> None:
        super().__init__()
        of = made.own()
        self.cost_cents = QTY * of.price
        self.fill = msgspec.structs.replace(
            made.fill(of, 1, QTY),
            market_id=self.markets[0].market_id,
            ticker=self.markets[0].ticker,
            created_at=instant.from_ns(self.now_ns),
        )
        self.has_filled = False
        self.held_at_first_create: tuple[int, int] | None = None
        self.meddle = self.amid

    def amid(self, request: m.Request) -> m.Answer | None:
        """The account before and after; the venue answers what is not of it."""
        match request:
            case m.ReadResting():
                self.has_filled = True
            case m.ReadBalance():
                locked = 0 if self.has_filled else self.cost_cents
                total = CASH_CENTS - (self.cost_cents if self.has_filled else 0)
                cash = model.Balance(Cents(total - locked), Cents(locked), Cents(total))
                return m.Done(m.BalanceShown(cash))
            case m.ReadPositions() if self.has_filled:
                held = model.Position(
                    ticker=self.fill.ticker,
                    market_id=self.fill.market_id,
                    outcome=model.ShownOutcome.YES,
                    qty=Qty(QTY),
                )
                return m.Done(m.PositionsShown((held,), ""))
            case m.ReadFills() if self.has_filled:
                return m.Done(m.FillsShown((self.fill,), ""))
            case m.Create() if self.held_at_first_create is None:
                held_now = self.trader.ledgers.holdings(self.markets[0].market_id)
                self.held_at_first_create = held_now
        return None


def test_while_cash_is_locked_that_no_listed_order_locks_the_books_wait_for_its_fill():
    venue = LeftOver()
    venue.start()
    assert venue.has_filled
    assert venue.held_at_first_create == (QTY, 0)
    assert not venue.trader.out.findings


def test_cash_that_stays_locked_by_nothing_that_is_listed_keeps_nobody_from_quoting():
    venue = Meddled()
    cash = model.Balance(Cents(CASH_CENTS - 40), Cents(40), Cents(CASH_CENTS))
    shown = m.Done(m.BalanceShown(cash))
    venue.meddle = lambda request: shown if isinstance(request, m.ReadBalance) else None
    began_ns = venue.now_ns
    venue.start()
    assert len(venue.orders) == 4
    first_ns = min(at_ns for at_ns, request in venue.sent if isinstance(request, m.Create))
    assert first_ns - began_ns < 4 * NS_PER_SECOND
