"""Claims about rungs that pay while a start reads the account: no winner is told by a guess."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.account.ledgers import FORGET_AFTER_NS
from bot.core.orders.order import State
from bot.core.report import Phase
from bot.core.settings import TrustSettings
from strategies.ladder_joint import STRATEGY as LADDER_JOINT
from tests.bot import made
from tests.bot.made import EVENT, LAG_NS, MARKET, T0
from tests.bot.test_bot_booking import AHEAD_NS, dated
from tests.bot.test_bot_ledgers import FILL, OTHER, Books, market
from tests.bot.test_bot_quoting import event
from tests.bot.thin import START_NS, Thin
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Outcome, Price, Qty
from venue.wire.names import OrderId

SPENT = 203
"""Cents that the five YES of `FILL` cost, with their fee."""


def opened_amid(paid_cents: int) -> Books:
    """Books opened with five YES in the list of positions and a balance that holds so much of what
    they pay, a moment before their rung is seen resolved."""
    books = Books()
    books.fills(T0, FILL)
    books.balance(10_000 - SPENT + paid_cents, T0)
    books.positions({Outcome.YES: 5}, T0)
    assert books.of.open_books() == []
    return books


def bought_beside(books: Books, qty: int) -> None:
    """Another rung is bought at 40 without a fee after the opening, and resolves with the first."""
    beside = made.fill(made.own(State.OPEN), 2, qty, fee_cents=0)
    books.fills(T0 + LAG_NS, FILL, msgspec.structs.replace(beside, market_id=OTHER))
    books.of.settling.resolved(OTHER, T0 + 2 * LAG_NS)


def gone(books: Books, from_ns: int, cents: int) -> Books:
    """The rung of the five is seen resolved, and its shares gone; the balance then is so much."""
    books.of.settling.resolved(MARKET, from_ns)
    books.positions({}, from_ns + 2 * LAG_NS)
    books.fills(from_ns + 4 * LAG_NS)
    books.balance(cents, from_ns + 6 * LAG_NS)
    books.fills(from_ns + 8 * LAG_NS)
    return books


@pytest.mark.parametrize("paid_cents", [0, 500], ids=str)
def test_a_rung_that_may_have_paid_into_the_opening_balance_has_no_winner(paid_cents):
    cents = 10_000 - SPENT + paid_cents
    books = gone(opened_amid(paid_cents), T0, cents)
    assert books.of.book.winner(MARKET) is None
    assert books.of.difference_cents == 0
    assert books.out.findings == {}


def test_shares_without_a_winner_are_held_no_more_and_their_event_leaves_as_any_other():
    """It is as if the books had been opened without them: no gain and no loss."""
    books = gone(opened_amid(500), T0, 10_000 - SPENT + 500)
    assert books.of.holdings(MARKET) == (0, 0)
    assert [each[2:] for each in books.of.booking.of_opening] == [(-5, 0)]
    rung = msgspec.structs.replace(market(MARKET, 0), state=model.MarketState.RESOLVED)
    books.of.settling.resolved(OTHER, T0)
    over = msgspec.structs.replace(event(1), event_ticker=EVENT, markets=(rung,))
    assert books.of.may_forget(over, T0 + FORGET_AFTER_NS + LAG_NS)


def test_a_rung_without_a_winner_is_waited_for_no_more():
    books = gone(opened_amid(500), T0, 10_000 - SPENT + 500)
    assert books.of.settling.waiting() == []
    assert books.of.settling.paid_by_ns() == LAG_NS


def test_cash_that_comes_after_the_opening_tells_the_winner_all_the_same():
    books = gone(opened_amid(0), T0, 10_000 - SPENT + 500)
    assert books.of.book.winner(MARKET) is Outcome.YES
    assert books.of.event_cash_cents(EVENT, [MARKET]) == 500 - SPENT
    assert books.of.difference_cents == 0


@pytest.mark.parametrize(
    ("begun_ns", "winner"),
    [(T0 + LAG_NS - 1, None), (T0 + LAG_NS, Outcome.NO)],
    ids=["a lag before", "a lag after"],
)
def test_shares_that_a_list_shows_a_lag_after_the_opening_balance_had_not_paid(begun_ns, winner):
    books = opened_amid(0)
    books.positions({Outcome.YES: 5}, begun_ns)
    gone(books, T0 + 2 * LAG_NS, 10_000 - SPENT)
    assert books.of.book.winner(MARKET) is winner


def listed_after(books: Books, cents: int, fill: model.Fill) -> None:
    """The books open with so much, and with no shares; then the list shows a fill of before."""
    books.fills(T0 - LAG_NS)
    books.balance(cents, T0)
    books.positions({}, T0)
    books.of.open_books(AHEAD_NS)
    books.fills(T0 + LAG_NS, fill)


@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize("seen_ns", [T0, T0 + 2 * LAG_NS], ids=["before", "after"])
def test_a_rung_whose_fill_is_listed_after_the_opening_may_have_paid_before_it(outcome, seen_ns):
    """seen_ns: when it is seen resolved, before that walk of the fills or after it."""
    books, cents = Books(), 10_000 - SPENT + 500
    if seen_ns == T0:
        books.of.settling.resolved(MARKET, T0)
    listed_after(books, cents, dated(1, 5, outcome=outcome))
    gone(books, seen_ns, cents)
    assert books.of.book.winner(MARKET) is None
    assert books.of.settling.waiting() == []
    assert books.of.difference_cents == 0
    assert books.out.findings == {}


def test_shares_that_are_listed_once_nothing_tells_of_their_rung_are_held_no_more_either():
    books, cents = Books(), 10_000 - SPENT + 500
    first, second = dated(1, 5), dated(2, 1, NS_PER_SECOND)
    listed_after(books, cents, first)
    gone(books, T0, cents)
    books.fills(T0 + 10 * LAG_NS, first, second)
    assert books.of.holdings(MARKET) == (1, 0)
    books.balance(cents, T0 + 12 * LAG_NS)
    books.fills(T0 + 14 * LAG_NS, first, second)
    assert books.of.holdings(MARKET) == (0, 0)
    assert books.of.book.winner(MARKET) is None
    assert books.of.difference_cents == 0


@pytest.mark.parametrize("pays_cents", [0, 500], ids=str)
def test_a_rung_whose_shares_are_shown_after_such_a_fill_pays_from_then_on(pays_cents):
    books, cents = Books(), 10_000 - SPENT
    listed_after(books, cents, dated(1, 5))
    books.positions({Outcome.YES: 5}, T0 + 2 * LAG_NS)
    gone(books, T0 + 3 * LAG_NS, cents + pays_cents)
    assert books.of.book.winner(MARKET) is (Outcome.YES if pays_cents else Outcome.NO)
    assert books.of.difference_cents == 0


@pytest.mark.parametrize("pays_cents", [0, 600], ids=str)
def test_a_rung_whose_shares_were_shown_before_such_a_fill_pays_from_then_on(pays_cents):
    """The list was asked for a lag after the opening balance: the rung had not paid."""
    books, cents = Books(), 10_000 - SPENT
    books.fills(T0, FILL)
    books.balance(cents, T0)
    books.positions({Outcome.YES: 5}, T0)
    books.of.open_books(AHEAD_NS)
    books.fills(T0 + LAG_NS)
    books.positions({Outcome.YES: 6}, T0 + 2 * LAG_NS)
    books.fills(T0 + 3 * LAG_NS, FILL, dated(2, 1))
    gone(books, T0 + 4 * LAG_NS, cents + pays_cents)
    assert books.of.book.winner(MARKET) is (Outcome.YES if pays_cents else Outcome.NO)
    assert books.of.difference_cents == 0
    assert books.of.booking.of_opening[1:] == []


def test_a_rung_bought_after_the_opening_is_told_beside_one_that_may_have_paid_before():
    books = opened_amid(500)
    bought_beside(books, 3)
    gone(books, T0 + 2 * LAG_NS, 10_000 - SPENT + 500 - 120 + 300)
    assert books.of.book.winner(MARKET) is None
    assert books.of.book.winner(OTHER) is Outcome.YES
    assert books.of.difference_cents == 0


def test_cash_that_either_of_two_rungs_may_have_paid_tells_neither():
    books = opened_amid(0)
    bought_beside(books, 5)
    gone(books, T0 + 2 * LAG_NS, 10_000 - SPENT - 200 + 500)
    assert (books.of.book.winner(MARKET), books.of.book.winner(OTHER)) == (None, None)


def test_cash_that_a_rung_may_have_paid_whose_end_is_not_seen_yet_tells_no_other_winner():
    """Its shares leave the list before the series shows that it has resolved."""
    books = opened_amid(0)
    beside = made.fill(made.own(State.OPEN), 2, 5, fee_cents=0)
    books.fills(T0 + LAG_NS, FILL, msgspec.structs.replace(beside, market_id=OTHER))
    both = {(MARKET, Outcome.YES): 5, (OTHER, Outcome.YES): 5}
    books.of.settling.positions_shown(both, T0 + LAG_NS - 1)
    gone(books, T0 + 2 * LAG_NS, 10_000 - SPENT - 200 + 500)
    assert books.of.book.winner(MARKET) is None
    books.of.settling.resolved(OTHER, T0 + 11 * LAG_NS)
    gone(books, T0 + 12 * LAG_NS, 10_000 - SPENT - 200 + 500)
    assert (books.of.book.winner(MARKET), books.of.book.winner(OTHER)) == (None, None)


class PaidLate(Thin):
    """A thin venue on which ten shares were bought before the start, of a rung that has resolved:
    they are held no more, and a balance that lags shows only later what they paid."""

    def __init__(self) -> None:
        super().__init__([70, 50], lambda: LADDER_JOINT(LADDER_JOINT.Params()))
        self.markets[0] = msgspec.structs.replace(self.markets[0], state=model.MarketState.RESOLVED)
        self.paid_ns = START_NS + TrustSettings().read_lag_ns

    def answer(self, request: m.Request) -> m.Answer:
        """The fill of then, and the balance as it lags; everything else as ever."""
        if isinstance(request, m.ReadBalance):
            cents = Cents(1_000_000 + (1_000 if self.now_ns >= self.paid_ns else 0))
            return m.Done(m.BalanceShown(model.Balance(cents, Cents(0), cents)))
        if not isinstance(request, m.ReadFills):
            return super().answer(request)
        rung = self.markets[0]
        fill = model.Fill(
            fill_id="1",
            trade_id="1",
            order_id=OrderId("77"),
            ticker=rung.ticker,
            market_id=rung.market_id,
            event_ticker=rung.event_ticker,
            outcome=model.ShownOutcome.YES,
            side=model.ShownSide.BUY,
            outcome_price=Price(70),
            trade_price=Price(70),
            qty=Qty(10),
            liquidity=model.Liquidity.MAKER,
            created_at=instant.from_ns(START_NS - 3_600 * LAG_NS),
            fee_cents=3,
        )
        return m.Done(m.FillsShown((fill,), ""))


def test_books_open_with_a_balance_that_holds_what_was_paid_for_shares_that_are_gone():
    venue = PaidLate()
    venue.start()
    venue.run(60)
    assert venue.trader.phase is Phase.QUOTING
    assert venue.trader.out.findings == {}
    assert venue.trader.report(venue.now_ns).ledger_difference_cents == 0


class LeftToCancel(PaidLate):
    """Its start finds an order, too, that it can cancel only five seconds later. bought: whether
    the shares that were paid have ever been held."""

    def __init__(self, *, bought: bool) -> None:
        super().__init__()
        self.bought = bought
        of = made.own(State.OPEN)
        left = made.shown(of)
        rung = self.markets[1]
        self.orders[left.order_id] = msgspec.structs.replace(
            left, market_id=rung.market_id, ticker=rung.ticker, event_ticker=rung.event_ticker
        )

    def answer(self, request: m.Request) -> m.Answer:
        """Cancels are refused at first."""
        if isinstance(request, m.CancelResting) and self.now_ns < START_NS + 5 * NS_PER_SECOND:
            return m.Refused(503, "engine_unavailable", "")
        if isinstance(request, m.ReadFills) and not self.bought:
            return m.Done(m.FillsShown((), ""))
        return super().answer(request)

    def quotes_ns(self) -> int:
        """When quoting begins."""
        self.give(m.Started("0" * 20, ()))
        self.give(m.FeedOpened())
        while self.trader.phase is not Phase.QUOTING:
            self.run(0.01)
        return self.now_ns


def test_what_was_paid_before_keeps_no_start_waiting_that_has_waited_for_something_else():
    paid, none = LeftToCancel(bought=True), LeftToCancel(bought=False)
    assert paid.quotes_ns() == none.quotes_ns()
