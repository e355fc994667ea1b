"""Claims about the moment at which the books open: what an unseen order does meanwhile counts."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.report import Phase
from tests.bot import made
from tests.bot.meddled import Held, Meddled
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Qty, Side

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


class Sold(Meddled):
    """An account that holds four shares, of which a left order sells one: it fills right after the
    list of positions was captured, lists of what rests fail until then, and a sale locks no cash.
    """

    def __init__(self) -> None:
        super().__init__()
        bought, sold = made.own(), made.own(side=Side.SELL, number=2)
        self.fills = [
            msgspec.structs.replace(
                made.fill(of, number, qty),
                market_id=self.markets[0].market_id,
                ticker=self.markets[0].ticker,
                created_at=instant.from_ns(self.now_ns),
            )
            for of, number, qty in ((sold, 2, 1), (bought, 1, QTY))
        ]
        self.begun_ns = self.now_ns
        self.has_filled = False
        self.meddle = self.amid

    def amid(self, request: m.Request) -> m.Answer | None:
        """The account before and after; the venue answers what is not of it."""
        match request:
            case m.ReadResting() if not self.has_filled:
                return m.Unknown("lost")
            case m.ReadPositions():
                held = model.Position(
                    ticker=self.markets[0].ticker,
                    market_id=self.markets[0].market_id,
                    outcome=model.ShownOutcome.YES,
                    qty=Qty(QTY - self.has_filled),
                )
                # So late that nothing of an earlier run can be under way any more.
                self.has_filled |= self.now_ns >= self.begun_ns + NS_PER_SECOND
                return m.Done(m.PositionsShown((held,), ""))
            case m.ReadFills():
                return m.Done(m.FillsShown(tuple(self.fills[not self.has_filled :]), ""))
        return None


def test_while_shares_are_not_what_the_fills_leave_the_books_wait_for_what_moved_them():
    venue = Sold()
    venue.give(m.Started("0" * 20, ()))
    venue.give(m.FeedOpened())
    venue.go(20)
    assert venue.has_filled
    assert venue.trader.ledgers.holdings(venue.markets[0].market_id) == (QTY - 1, 0)
    assert "position_differs" not in venue.trader.out.findings


class Traded(Meddled):
    """An account that was given shares, and on which a person buys one more every second."""

    def __init__(self) -> None:
        super().__init__()
        self.fills: list[model.Fill] = []
        self.meddle = self.amid

    def buy(self) -> None:
        """One more share, and its fill."""
        fill = made.fill(made.own(number=9), len(self.fills), 1)
        of_ours = {"market_id": self.markets[0].market_id, "ticker": self.markets[0].ticker}
        at = instant.from_ns(self.now_ns)
        self.fills.insert(0, msgspec.structs.replace(fill, created_at=at, **of_ours))

    def amid(self, request: m.Request) -> m.Answer | None:
        """The account as it is; the venue answers what is not of it."""
        match request:
            case m.ReadPositions():
                held = model.Position(
                    ticker=self.markets[0].ticker,
                    market_id=self.markets[0].market_id,
                    outcome=model.ShownOutcome.YES,
                    qty=Qty(QTY + len(self.fills)),
                )
                return m.Done(m.PositionsShown((held,), ""))
            case m.ReadFills():
                return m.Done(m.FillsShown(tuple(self.fills), ""))
        return None


def test_shares_that_no_fill_explains_keep_nobody_from_quoting_though_others_trade_on():
    venue = Traded()
    venue.give(m.Started("0" * 20, ()))
    venue.give(m.FeedOpened())
    for _ in range(20):
        venue.buy()
        venue.go(1)
    assert venue.trader.phase is Phase.QUOTING


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


SEEN_RESTING_NS = NS_PER_SECOND // 2
LAGGING_NS = 9 * NS_PER_SECOND // 10


class SlowLists(Meddled):
    """An account on which an order of an earlier run rests for half a second more. Fills and
    positions tell that it filled nine tenths later still; the balance and what rests at once."""

    def __init__(self, side: Side) -> None:
        super().__init__()
        of, earlier = made.own(side=side), made.own(number=2)
        market = self.markets[0]
        placed = {"market_id": market.market_id, "ticker": market.ticker}
        self.filled_ns = self.now_ns + SEEN_RESTING_NS
        at = instant.from_ns(self.filled_ns)
        self.order = msgspec.structs.replace(made.shown(of), qty=QTY, remaining_qty=QTY, **placed)
        self.fill = msgspec.structs.replace(made.fill(of, 1, QTY), created_at=at, **placed)
        at = instant.from_ns(self.now_ns - 60 * NS_PER_SECOND)
        self.is_bid = side is Side.BUY
        bought = msgspec.structs.replace(made.fill(earlier, 2, QTY), created_at=at, **placed)
        self.fills_before = () if self.is_bid else (bought,)
        self.cost_cents = QTY * of.price
        self.meddle = self.amid

    def start(self) -> None:
        """An earlier run may have written until now; the series is read last of all."""
        self.give(m.Started("0" * 20, (), new_account=False))
        self.give(m.FeedOpened())
        self.give(m.Beat())
        (series,) = self.held
        self.let(series, self.answer(series.request))
        self.held.clear()
        for index in range(len(self.mids)):
            self.show(index)
        self.run(8)

    def amid(self, request: m.Request) -> m.Answer | None:
        """The account before and after; the venue answers what is not of it."""
        has_filled = self.now_ns >= self.filled_ns
        is_listed = self.now_ns >= self.filled_ns + LAGGING_NS
        match request:
            case m.ReadSeries() if not self.trader.quoting.ladders:
                raise Held
            case m.ReadResting() if not has_filled:
                return m.Done(m.OrdersShown((self.order,), ""))
            case m.ReadBalance():
                locked = self.cost_cents if self.is_bid and not has_filled else 0
                moved = (-self.cost_cents if self.is_bid else self.cost_cents) * has_filled
                total = CASH_CENTS + moved
                cash = model.Balance(Cents(total - locked), Cents(locked), Cents(total))
                return m.Done(m.BalanceShown(cash))
            case m.ReadPositions() if is_listed is self.is_bid:
                held = model.Position(
                    ticker=self.fill.ticker,
                    market_id=self.fill.market_id,
                    outcome=model.ShownOutcome.YES,
                    qty=Qty(QTY),
                )
                return m.Done(m.PositionsShown((held,), ""))
            case m.ReadFills():
                latest = (self.fill,) if is_listed else ()
                return m.Done(m.FillsShown((*latest, *self.fills_before), ""))
        return None


@pytest.mark.parametrize("side", list(Side))
def test_what_was_seen_to_rest_and_rests_no_more_is_waited_for_before_the_books_open(side):
    venue = SlowLists(side)
    venue.start()
    assert any(isinstance(request, m.Create) for _, request in venue.sent)
    held = (QTY, 0) if side is Side.BUY else (0, 0)
    assert venue.trader.ledgers.holdings(venue.markets[0].market_id) == held
    assert venue.trader.report(venue.now_ns).ledger_difference_cents == 0
    assert not venue.trader.out.findings


@pytest.mark.parametrize("is_locked", [False, True], ids=["known clock", "cash is locked"])
def test_others_who_trade_on_keep_no_start_waiting_for_ever(is_locked):
    venue = Traded()
    cash = model.Balance(Cents(CASH_CENTS - 40), Cents(40), Cents(CASH_CENTS))
    account = venue.meddle

    def meddle(request: m.Request) -> m.Answer | None:
        if is_locked and isinstance(request, m.ReadBalance):
            return m.Done(m.BalanceShown(cash))
        return account(request)

    venue.meddle = meddle
    venue.trader.quoting.venue_time.ahead_ns = 0
    venue.give(m.Started("0" * 20, ()))
    venue.give(m.FeedOpened())
    for _ in range(40):
        venue.buy()
        venue.go(0.5)
    assert venue.trader.phase is Phase.QUOTING


def test_what_was_paid_before_the_opening_for_shares_taken_over_is_no_loss_of_this_run():
    venue = Traded()
    venue.buy()
    fills, venue.fills = venue.fills, []
    bought = msgspec.structs.replace(fills[0], qty=QTY, outcome_price=90, trade_price=90)
    venue.trader.quoting.venue_time.ahead_ns = 0
    venue.go(5)
    venue.start()
    market_id = venue.markets[0].market_id
    assert venue.trader.ledgers.book.taken_over(market_id) == (QTY, 0)
    account = venue.meddle

    def listed(request: m.Request) -> m.Answer | None:
        if isinstance(request, m.ReadFills):
            return m.Done(m.FillsShown((bought,), ""))
        return account(request)

    venue.meddle = listed
    venue.run(20)
    assert venue.trader.ledgers.book.taken_over(market_id) == (0, 0)
    assert venue.trader.ledgers.holdings(market_id) == (QTY, 0)
    levels = venue.trader.guard.breakers.levels(venue.now_ns)
    assert {each.name: each.used for each in levels}["loss_cents"] == 0
    assert venue.trader.out.findings == {}
