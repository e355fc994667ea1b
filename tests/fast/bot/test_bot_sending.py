"""Claims about what leaves first, what a limit holds back, and what no limit ever holds back."""

from types import SimpleNamespace

import msgspec
import pytest

from bot.core import messages as m
from bot.core.account.reconciler import AccountReconciler
from bot.core.execution.executor import OrderExecutor
from bot.core.execution.kill_switch import KillSwitch
from bot.core.execution.suspected_fills import SuspectedFills
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.orders.request_budget import Priority
from bot.core.planning.actions import AmendAction, CancelAction, CreateAction
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import MarketQuoter
from bot.core.risk.breakers import CircuitBreakers, limits_of
from bot.core.settings import BudgetSettings, PaceSettings, RiskSettings, TraderSettings
from bot.strategy.api import Levels, Strategy
from tests.builders.bot import made
from tests.builders.bot.made import INSTANT, LAG_NS, T0
from venue.wire import model
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import ProjectId, Ticker
from venue.wire.requests import Amend

SECOND = 1_000_000_000
MS = 1_000_000
SERIES = Ticker("ACME-VAL")
NO_MORE = "no room left for more: exposure"


def noting(denied: list[object]) -> type[MarketQuoter]:
    """A rung that does no more with what it is denied than to note it."""

    class Noting(MarketQuoter):
        __slots__ = ()

        def denied(self, wish) -> None:
            denied.append(wish)

    return Noting


class Account:
    """One rung that may be quoted, on an account without a history."""

    def __init__(self, risk=None, pace=None) -> None:
        limits = {
            "event_loss_cents": 100_000,
            "series_loss_cents": 100_000,
            "rung_position_qty": 1_000,
            "order_qty": 100,
            "resting_orders": 500,
        }
        self.settings = TraderSettings(
            series_ticker=SERIES,
            risk=RiskSettings(**{**limits, **(risk or {})}),
            pace=PaceSettings(**{"market_writes_burst": 400, "writes_burst": 400, **(pace or {})}),
        )
        breakers = CircuitBreakers(limits_of(self.settings.breakers, self.settings.risk))
        self.out = Outbox(BudgetSettings())
        self.desk = OrderManager(self.settings.staleness, self.out)
        self.ledgers = AccountReconciler(self.settings.staleness, self.desk, self.out)
        self.quoting = QuotingEngine(
            self.settings, lambda: Strategy(None), self.desk, self.ledgers, self.out
        )
        self.hints = SuspectedFills(self.settings.staleness)
        kill_switch = KillSwitch(
            self.settings, breakers, self.desk, self.ledgers, self.quoting, self.out
        )
        self.sending = OrderExecutor(
            self.settings, self.desk, self.ledgers, self.quoting, self.hints, kill_switch, self.out
        )
        self.sending.nonce = "boot"
        self.quoting.take_series([event()], T0, T0)
        self.rung = self.quoting.ladders[0].rungs[0]
        self.rung.blocked, self.rung.state.judge_ns = "", NEVER_NS
        self.denied: list[object] = []
        self.rung.__class__ = noting(self.denied)

    def rests(self, price: int, number: int = 1, qty: int = 10, **wanted) -> OwnOrder:
        """An order of ours that rests."""
        own = made.own(State.OPEN, T0 - 9 * SECOND, number, price=price, qty=qty, **wanted)
        self.desk.add_order(own)
        self.rung.orders_changed()
        return own

    def spend(self, *wishes, now_ns: int = T0) -> list[m.Request]:
        """Carry wishes out. The requests that left, in order."""
        before = len(self.out.effects)
        self.sending.spend([(self.rung, wish) for wish in wishes], now_ns)
        return [each.request for each in self.out.effects[before:] if isinstance(each, m.Send)]

    def cancel(self, *wishes, now_ns: int = T0) -> list[m.Request]:
        """Carry the cancels among wishes out."""
        before = len(self.out.effects)
        self.sending.cancel([(self.rung, wish) for wish in wishes], now_ns)
        return [each.request for each in self.out.effects[before:] if isinstance(each, m.Send)]


def event() -> model.Event:
    """One binary market."""
    ticker = Ticker(f"{SERIES}-27Q1")
    market = model.Market(
        ticker=Ticker(f"{ticker}-YES"),
        market_id=made.MARKET,
        event_ticker=ticker,
        project_market_id="p",
        name="n",
        outcome_label="yes",
        state=model.MarketState.ACTIVE,
        min_price=Price(1),
        max_price=Price(99),
        tick_size=1,
        maker_fee_rate="0",
        taker_fee_rate="0",
        open_interest=Qty(0),
        created_at=INSTANT,
        updated_at=INSTANT,
    )
    return model.Event(
        event_ticker=ticker,
        series_ticker=SERIES,
        project_market_id="p",
        project_id=ProjectId("q"),
        title="t",
        category="c",
        status=model.EventStatus.OPEN,
        mutually_exclusive=False,
        resolution_date=INSTANT,
        markets=(market,),
    )


def create(price: int = 40, qty: int = 10, value: float = 1.0) -> CreateAction:
    """A wanted bid."""
    return CreateAction(
        BookSide.BID, Price(price), Outcome.YES, Side.BUY, Qty(qty), "wanted", value
    )


def offer(price: int = 60, qty: int = 10) -> CreateAction:
    """A wanted ask."""
    return CreateAction(BookSide.ASK, Price(price), Outcome.NO, Side.BUY, Qty(qty), "wanted", 1.0)


def move(own: OwnOrder, price: int, value: float = 1.0) -> AmendAction:
    """A wanted change of price."""
    return AmendAction(own, Amend(price=Price(price)), False, "moved", value)


def prices(requests: list[m.Request]) -> list[int]:
    """Prices of creates."""
    return [each.order.price for each in requests if isinstance(each, m.Create)]


# --- which goes first -----------------------------------------------------------------------------


def test_the_most_valuable_wish_leaves_first_and_of_equals_the_first_wished_for():
    of = Account()
    sent = of.spend(create(10, value=1), create(20, value=3), create(30, value=2), create(11))
    assert prices(sent) == [20, 30, 10, 11]


def test_with_one_token_left_only_the_most_valuable_leaves():
    of = Account()
    while of.out.purse.tokens(T0) > 61:
        of.out.purse.spend(Priority.CREATE, T0)
    assert prices(of.spend(create(10, value=1), create(20, value=3))) == [20]
    assert of.denied == []


def test_a_read_of_an_order_that_may_have_filled_competes_by_its_shares():
    of = Account()
    own = of.rests(45)
    print_ = m.Trade(made.MARKET, 1, "t", Price(45), Qty(5), False)
    of.hints.on_frame(print_, [own], T0 - SECOND)
    sent = of.spend(create(20, value=6), create(30, value=4))
    assert [type(each).__name__ for each in sent] == ["Create", "ReadOrder", "Create"]
    assert sent[1] == m.ReadOrder(own.order_id)
    assert of.spend() == []


def test_a_read_leaves_where_nothing_may_be_written():
    of = Account()
    of.sending.venue.on_reject("venue_halted", T0)
    own = of.rests(45)
    of.hints.on_frame(m.Trade(made.MARKET, 1, "t", Price(45), Qty(5), False), [own], T0 - SECOND)
    assert of.spend(create()) == [m.ReadOrder(own.order_id)]


def asked(of: Account, best_bid: int, best_ask: int) -> None:
    """The strategy was shown these prices of others."""
    of.rung.state.external = ((Price(best_bid), Qty(5)),), ((Price(best_ask), Qty(5)),)
    come(of, best_bid, best_ask)


def come(of: Account, best_bid: int, best_ask: int) -> None:
    """Others show these prices by now."""
    show(of, ((Price(best_bid), Qty(5)),), ((Price(best_ask), Qty(5)),))
    of.rung.ladder.needs_decision = False


def show(of: Account, bids: Levels, asks: Levels) -> None:
    """A frame arrives."""
    seen = m.BookUpdate(made.MARKET, T0, bids, asks)
    of.rung.state.on_book(seen, (), of.settings.staleness, T0, is_blocked=False)


@pytest.mark.parametrize("quote", [create(55), offer(45)])
def test_a_quote_to_whose_price_others_have_come_waits_until_the_strategy_was_asked(quote):
    of = Account()
    asked(of, 40, 60)
    come(of, 45, 55)
    assert of.spend(quote) == []
    assert of.rung.ladder.needs_decision
    assert "after the strategy ran" in of.sending.held_back(of.rung, quote, T0)
    asked(of, 45, 55)
    assert len(of.spend(quote)) == 1


def test_an_order_does_not_move_to_where_others_have_come_since_the_strategy_was_asked():
    of = Account()
    own = of.rests(30)
    asked(of, 40, 60)
    come(of, 40, 50)
    assert of.spend(move(own, 50)) == []
    assert len(of.spend(move(own, 49))) == 1


def test_a_quote_does_not_wait_for_our_own_order_that_its_price_would_meet():
    of = Account()
    asked(of, 40, 60)
    of.rests(50, outcome=Outcome.NO)
    show(of, ((Price(40), Qty(5)),), ((Price(50), Qty(10)), (Price(60), Qty(5))))
    assert len(of.spend(create(50))) == 1


def test_a_wish_of_a_rung_that_may_not_send_stays_where_it_is():
    of = Account()
    of.rung.state.suspect_since_ns = T0
    assert of.spend(create()) == []


def test_no_more_writes_are_on_their_way_than_allowed():
    of = Account(pace={"requests_in_flight": 2})
    assert prices(of.spend(*(create(price) for price in (10, 20, 30)))) == [10, 20]
    assert of.denied == []


# --- limits ---------------------------------------------------------------------------------------


def test_what_a_limit_denies_is_told_to_its_rung():
    of = Account(risk={"rung_position_qty": 100})
    of.rests(40, qty=100)
    wish = create(41)
    assert of.spend(wish) == []
    assert of.denied == [wish]


def test_a_create_leaves_with_as_much_as_the_limits_admit():
    of = Account(risk={"rung_position_qty": 100})
    of.rests(40, qty=95)
    [sent] = of.spend(create(41, qty=10))
    assert sent.order.qty == 5


def test_no_more_orders_rest_than_allowed():
    of = Account(risk={"resting_orders": 2})
    of.rests(40)
    assert prices(of.spend(create(30, value=2), create(20))) == [30]
    assert len(of.denied) == 1


@pytest.mark.parametrize(
    ("most", "rests", "leave"),
    [(3, (), [40, 39, 40]), (2, (), [40, 40]), (2, (38,), [40]), (1, (), [40])],
    ids=["room for all", "for two of three", "for one beside a bid", "for one"],
)
def test_where_orders_are_few_a_side_without_any_comes_before_more_of_another(most, rests, leave):
    of = Account(risk={"resting_orders": most})
    for price in rests:
        of.rests(price)
    sent = of.spend(create(40, value=5), create(39, value=4), offer(60))
    assert prices(sent) == leave
    sides = [request.order.outcome for request in sent]
    assert (sides[-1] is Outcome.NO) is (most > 1)  # the offer, at 40 cents of NO


@pytest.mark.parametrize(("flat_ms", "count"), [(484, 0), (485, 1), (494, 1), (495, 2)])
def test_no_create_makes_the_time_to_flat_longer_than_allowed(flat_ms, count):
    """With 100 tokens left, 195 orders take 475 ms; each create adds one, and takes a token."""
    of = Account(risk={"flat_ns": flat_ms * MS})
    while of.out.purse.tokens(T0) > 100:
        of.out.purse.spend(Priority.CANCEL, T0)
    for number in range(195):
        of.rests(10, number, qty=1)
    sent = of.spend(*(create(20 + price, qty=1) for price in range(5)))
    assert of.out.flat_ns(len(of.desk.live_orders), T0) <= flat_ms * MS
    assert len(sent) == count


def test_where_the_time_to_flat_leaves_room_for_few_a_side_without_any_comes_first_too():
    of = Account(risk={"flat_ns": 495 * MS})
    while of.out.purse.tokens(T0) > 100:
        of.out.purse.spend(Priority.CANCEL, T0)
    for number in range(195):
        of.rests(10, number, qty=1)
    sent = of.spend(create(40, qty=1, value=5), create(39, qty=1, value=4), offer(60, qty=1))
    assert [request.order.outcome for request in sent] == [Outcome.NO, Outcome.YES]


def test_orders_of_others_on_the_key_count_for_the_time_to_flat():
    of = Account(risk={"flat_ns": 500 * MS})
    other = of.out.purse.join()
    of.out.purse.rests(497, other)
    assert prices(of.spend(create(30), create(20))) == [30]


def test_one_market_bears_so_many_writes_and_then_two_a_second():
    of = Account(pace={"market_writes_burst": 3, "market_writes_per_second": 2})
    wishes = [create(price) for price in (10, 20, 30, 35)]
    assert prices(of.spend(*wishes)) == [10, 20, 30]
    assert of.denied == [wishes[3]]
    assert prices(of.spend(wishes[3], now_ns=T0 + SECOND // 2)) == [35]


def test_a_cancel_leaves_whatever_the_pace():
    of = Account(pace={"market_writes_burst": 1, "writes_burst": 1})
    own = [of.rests(price, number) for number, price in enumerate((10, 20, 30))]
    assert len(of.cancel(*(CancelAction(each, "not wanted") for each in own))) == 3


@pytest.mark.parametrize(("loss_cents", "gives_way"), [(410, False), (439, False), (440, True)])
def test_an_order_gives_way_to_a_larger_one_only_where_a_limit_admits_a_share_more(
    loss_cents, gives_way
):
    of = Account(risk={"event_loss_cents": loss_cents, "series_loss_cents": loss_cents})
    own = of.rests(40)
    wish = CancelAction(own, "to be merged", 1.0, create(40, 5))
    assert of.sending.held_back(of.rung, wish, T0) == ("" if gives_way else NO_MORE)
    assert of.cancel(wish) == ([m.CancelResting(own.order_id)] if gives_way else [])
    assert of.denied == ([] if gives_way else [wish])


@pytest.mark.parametrize(("fair", "left"), [(39.9, "CancelResting"), (40.0, None), (45.0, None)])
def test_an_order_beyond_the_fair_price_that_may_not_move_is_cancelled(fair, left):
    of = Account(pace={"market_writes_burst": 1, "market_writes_per_second": 1})
    own = of.rests(40)
    of.spend(create(10))
    of.rung.fair = SimpleNamespace(value_cents=fair)  # type: ignore[assignment]
    wish = move(own, 30)
    sent = of.spend(wish)
    assert [type(each).__name__ for each in sent] == ([left] if left else [])
    assert of.denied == ([] if left else [wish])


def only_the_reserve(of: Account) -> None:
    """Leave no token but those that are kept for cancels and recovery."""
    while of.out.purse.tokens(T0) > 60:
        of.out.purse.spend(Priority.CANCEL, T0)


@pytest.mark.parametrize(
    ("fair", "to", "left"),
    [
        (39, 30, "CancelResting"),
        (39, 35, "CancelResting"),
        (39, 41, None),  # bolder still: the strategy wants it beyond the fair price
        (40, 30, None),
    ],
)
def test_an_order_that_must_step_back_is_cancelled_from_the_reserve_where_no_token_is_left(
    fair, to, left
):
    of = Account()
    bid, offered = of.rests(40, 1), of.rests(40, 2, outcome=Outcome.NO)  # an ask at 60
    of.rung.fair = SimpleNamespace(value_cents=fair)  # type: ignore[assignment]
    only_the_reserve(of)
    assert [type(each).__name__ for each in of.spend(move(bid, to))] == ([left] if left else [])
    of.rung.fair = SimpleNamespace(value_cents=100 - fair)  # type: ignore[assignment]
    assert [type(each).__name__ for each in of.spend(move(offered, to))] == ([left] if left else [])


def test_with_tokens_left_an_order_that_must_step_back_is_moved():
    of = Account()
    own = of.rests(40)
    of.rung.fair = SimpleNamespace(value_cents=39)  # type: ignore[assignment]
    assert [type(each).__name__ for each in of.spend(move(own, 30))] == ["AmendResting"]


@pytest.mark.parametrize("code", ["venue_cancel_only", "venue_halted"])
def test_an_order_that_must_step_back_is_cancelled_where_the_venue_takes_cancels_alone(code):
    of = Account()
    own = of.rests(40)
    of.rung.fair = SimpleNamespace(value_cents=39)  # type: ignore[assignment]
    of.sending.venue.on_reject(code, T0)
    wish = move(own, 30)
    told = of.sending.held_back(of.rung, wish, T0)
    takes_cancels = code == "venue_cancel_only"
    assert told.endswith(": cancelled instead") is takes_cancels
    assert of.spend(wish) == ([m.CancelResting(own.order_id)] if takes_cancels else [])


def test_a_change_that_a_limit_does_not_admit_ends_the_order():
    of = Account(risk={"event_loss_cents": 410, "series_loss_cents": 410})
    own = of.rests(40)
    assert of.spend(move(own, 90)) == [m.CancelResting(own.order_id)]


# --- findings -------------------------------------------------------------------------------------


def differ(of: Account, ours: int, theirs: int) -> None:
    """Make our books and the venue's differ about the YES shares of the rung."""
    cash = model.Balance(Cents(0), Cents(0), Cents(0))
    of.ledgers.on_series(T0)
    of.ledgers.on_balance(cash, T0, T0)
    of.ledgers.on_positions([], T0, T0)
    of.ledgers.open_books(T0)
    bought = msgspec.structs.replace(
        made.fill(made.own(State.OPEN, number=99), 1, ours), market_id=made.MARKET
    )
    of.ledgers.on_fills((bought,), T0, T0, [])
    held = model.Position(
        ticker=Ticker("x"),
        market_id=made.MARKET,
        outcome=model.ShownOutcome.YES,
        qty=Qty(theirs),
    )
    at_ns = T0 + 5 * LAG_NS
    of.ledgers.on_balance(cash, at_ns, at_ns)
    of.ledgers.on_positions([held], at_ns, at_ns)
    of.ledgers.on_fills((bought,), at_ns + 2 * LAG_NS, at_ns + 2 * LAG_NS, [])
    assert "position_differs" in of.out.findings


def test_while_positions_differ_only_what_shrinks_one_is_made():
    of = Account()
    differ(of, 20, 12)
    [sent] = of.spend(create(30), offer(60, qty=50), now_ns=T0 + 9 * LAG_NS)
    assert (sent.order.outcome, sent.order.qty) == (Outcome.NO, 12)


def test_what_may_shrink_a_position_already_leaves_less_to_make():
    of = Account()
    of.rests(62, qty=8, outcome=Outcome.NO)
    differ(of, 20, 12)
    [sent] = of.spend(offer(60, qty=50), now_ns=T0 + 9 * LAG_NS)
    assert sent.order.qty == 4


def test_while_positions_differ_what_could_let_one_grow_or_turn_is_pulled():
    of = Account()
    bid = of.rests(30, 1)
    oldest = of.rests(38, 2, qty=8, outcome=Outcome.NO)
    exact = of.rests(39, 3, qty=4, outcome=Outcome.NO)
    beyond = of.rests(40, 4, qty=1, outcome=Outcome.NO)
    of.sending.pull_growth()
    assert not any(own.cancel_requested for own in (bid, oldest, exact, beyond))
    differ(of, 20, 12)
    of.sending.pull_growth()
    assert [own.cancel_requested for own in (bid, oldest, exact, beyond)] == [
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(("stands_qty", "gives_way"), [(12, False), (11, True)])
def test_while_positions_differ_an_order_gives_way_only_where_more_may_shrink_one(
    stands_qty, gives_way
):
    of = Account()
    own = of.rests(40, qty=stands_qty, outcome=Outcome.NO)
    differ(of, 20, 12)
    wish = CancelAction(own, "to be merged", 1.0, offer(60, qty=38))
    now_ns = T0 + 9 * LAG_NS
    assert of.sending.held_back(of.rung, wish, now_ns) == ("" if gives_way else NO_MORE)
    left = of.cancel(wish, now_ns=now_ns)
    assert left == ([m.CancelResting(own.order_id)] if gives_way else [])


# --- ids ------------------------------------------------------------------------------------------


def test_every_create_has_an_id_of_its_own_that_begins_with_the_boot():
    of = Account()
    sent = of.spend(create(10), create(20))
    assert [each.order.client_order_id for each in sent] == ["boot-1", "boot-2"]
