"""One rung that may be quoted, on an account without a history, and actions to carry out there."""

import msgspec

from bot.core import messages as m
from bot.core.account.reconciler import AccountReconciler
from bot.core.execution.executor import OrderExecutor
from bot.core.execution.kill_switch import KillSwitch
from bot.core.execution.suspected_fills import SuspectedFills
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.orders.request_budget import Priority
from bot.core.planning.actions import AmendAction, CreateAction
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import MarketQuoter
from bot.core.risk.breakers import CircuitBreakers, limits_of
from bot.core.settings import BudgetSettings, PaceSettings, RiskSettings, TraderSettings
from bot.strategy.api import Levels, Strategy
from tests.builders.bot import made
from tests.builders.bot.engines import SERIES, event
from tests.builders.bot.made import T0
from venue.wire import model
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.requests import Amend

SECOND = 1_000_000_000
MS = 1_000_000


def noting(denied: list[object]) -> type[MarketQuoter]:
    """A market quoter that only records the actions it is denied."""

    class Noting(MarketQuoter):
        __slots__ = ()

        def denied(self, wish) -> None:
            denied.append(wish)

    return Noting


class Account:
    """The executor of one rung that may be quoted, with what it denies in `denied`."""

    def __init__(self, risk=None, pace=None, **other) -> None:
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
            **other,
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
        self.quoting.take_series([event(1, rate="0", taker="0")], T0, T0)
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
        """Carry actions out; the requests sent, in order."""
        before = len(self.out.effects)
        self.sending.spend([(self.rung, wish) for wish in wishes], now_ns)
        return [each.request for each in self.out.effects[before:] if isinstance(each, m.Send)]

    def leave_tokens(self, count: int) -> None:
        """Spend the request budget down to so many tokens."""
        while self.out.purse.tokens(T0) > count:
            self.out.purse.spend(Priority.CANCEL, T0)

    def show_balance(self, cents: int, now_ns: int = T0) -> None:
        """A balance shows so much free cash, as of now."""
        balance = model.Balance(Cents(cents), Cents(0), Cents(cents))
        self.sending.balance_read(balance, now_ns, now_ns)

    def cancel(self, *wishes, now_ns: int = T0) -> list[m.Request]:
        """Carry the cancels among actions out; the requests sent."""
        before = len(self.out.effects)
        self.sending.cancel([(self.rung, wish) for wish in wishes], now_ns)
        return [each.request for each in self.out.effects[before:] if isinstance(each, m.Send)]


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


def step_back(own: OwnOrder, price: int) -> AmendAction:
    """The same of an order that is bolder than its quotes allow."""
    return msgspec.structs.replace(move(own, price), is_step_back=True)


def prices(requests: list[m.Request]) -> list[int]:
    """Prices of creates."""
    return [each.order.price for each in requests if isinstance(each, m.Create)]


def kinds(requests: list[m.Request]) -> list[str]:
    """Names of the kinds of requests."""
    return [type(each).__name__ for each in requests]


def decided_at(of: Account, best_bid: int, best_ask: int) -> None:
    """The strategy ran on these best prices of other traders."""
    of.rung.state.external = ((Price(best_bid), Qty(5)),), ((Price(best_ask), Qty(5)),)
    show_touch(of, best_bid, best_ask)


def show_touch(of: Account, best_bid: int, best_ask: int) -> None:
    """The best prices of other traders are these now."""
    show_book(of, ((Price(best_bid), Qty(5)),), ((Price(best_ask), Qty(5)),))
    of.rung.ladder.needs_decision = False


def show_book(of: Account, bids: Levels, asks: Levels) -> None:
    """A book arrives."""
    seen = m.BookUpdate(made.MARKET, T0, bids, asks)
    of.rung.state.on_book(seen, (), of.settings.staleness, T0, is_blocked=False)
