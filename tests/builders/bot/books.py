"""Ledgers over an empty desk, read by hand, for claims about fills, audits and settlement."""

from bot.core import messages as m
from bot.core.account.reconciler import AccountChange, AccountReconciler
from bot.core.orders.manager import OrderManager
from bot.core.orders.outbox import Outbox
from bot.core.settings import BudgetSettings, StalenessSettings
from tests.builders.bot import made
from tests.builders.bot.made import EVENT, LAG_NS, MARKET, T0
from venue.wire import model
from venue.wire.money import Cents, FeeRate, Outcome, Qty
from venue.wire.names import MarketId, Ticker

OTHER = MarketId("aaaaaaaa-0000-4000-8000-000000000002")
RATE = FeeRate.parse("0.0700")
CENTS = 10_000


def rung(market_id: MarketId, number: int, event: Ticker = EVENT) -> model.Market:
    """A rung of a ladder; the higher its number, the higher its strike."""
    return model.Market(
        ticker=Ticker(f"{event}-{100 + number}B"),
        market_id=market_id,
        event_ticker=event,
        project_market_id="",
        name="",
        outcome_label="",
        state=model.MarketState.ACTIVE,
        min_price=1,
        max_price=99,
        tick_size=1,
        strike_value=str(100 + number),
        strike_unit="USD billions",
        maker_fee_rate="0.0700",
        taker_fee_rate="0.0700",
        open_interest=Qty(0),
        created_at=made.INSTANT,
        updated_at=made.INSTANT,
    )


class Books:
    """The books of one account, with its cash and positions as the venue shows them.

    Time only goes on; an audit takes four lags.
    """

    def __init__(self, started: m.Started | None = None) -> None:
        self.out = Outbox(BudgetSettings())
        staleness = StalenessSettings(read_lag_ns=LAG_NS)
        self.desk = OrderManager(staleness, self.out)
        self.of = AccountReconciler(staleness, self.desk, self.out)
        self.of.restore(started or m.Started("0" * 20, ()))
        for number, market_id in enumerate((MARKET, OTHER)):
            self.of.list_market(rung(market_id, number), RATE, RATE)
        self.now_ns = T0
        self.of.on_series(T0)
        self.cents = CENTS
        self.held: dict[tuple[MarketId, Outcome], int] = {}
        self.listed: list[model.Fill] = []  # newest first

    @property
    def stopped(self) -> str:
        """The contradiction that was found; empty without one."""
        found = self.out.inconsistencies.contradiction
        return "" if found is None else found.kind.value

    @property
    def blocked(self) -> bool:
        """True while nothing may add exposure on the first rung."""
        return bool(self.out.inconsistencies.blocks(MARKET))

    def noted(self, name: str) -> list[dict[str, str | int]]:
        """The fields of the notes of this name."""
        notes = [each for each in self.out.effects if isinstance(each, m.Noted)]
        return [each.fields for each in notes if each.name == name]

    def opened(self) -> "Books":
        """The books, opened with what the venue shows."""
        self.walk()
        self.read()
        self.of.open_books(self.now_ns)
        return self

    def trade(self, fill: model.Fill, *, listed: bool = True) -> None:
        """A fill happens: the venue moves cash and shares."""
        sign = 1 if fill.side is model.ShownSide.BUY else -1
        place = fill.market_id, Outcome(fill.outcome.value)
        self.held[place] = self.held.get(place, 0) + sign * fill.qty
        self.cents -= sign * fill.qty * fill.outcome_price + (fill.fee_cents or 0)
        if listed:
            self.listed.insert(0, fill)

    def walk(self, size: int = 100) -> AccountChange:
        """A walk of the fills, pages of so many rows, begun and ended a lag from now."""
        self.now_ns += LAG_NS
        rows: list[model.Fill] = []
        for at in range(0, max(1, len(self.listed)), size):
            kept, may_end = self.of.on_fills_page(tuple(self.listed[at : at + size]), self.now_ns)
            rows += kept
            if may_end:
                break
        return self.of.on_fills(rows, self.now_ns, self.now_ns, ())

    def read(self) -> None:
        """A balance and positions, read two lags from now."""
        self.now_ns += 2 * LAG_NS
        shown = model.Balance(Cents(self.cents), Cents(0), Cents(self.cents))
        self.of.on_balance(shown, self.now_ns, self.now_ns)
        rows = [
            model.Position(
                ticker=Ticker("x"),
                market_id=market_id,
                outcome=model.ShownOutcome(outcome.value),
                qty=Qty(qty),
            )
            for (market_id, outcome), qty in self.held.items()
            if qty
        ]
        self.of.on_positions(rows, self.now_ns, self.now_ns)

    def audit(self, times: int = 1) -> AccountChange:
        """So many quiet audits, in a row; what the last one changed."""
        for _ in range(times):
            self.walk()
            self.read()
            change = self.walk()
        return change

    def resolve(self, market_id: MarketId, winner: Outcome) -> None:
        """A rung resolves: its positions leave, and the winning shares pay."""
        for outcome in Outcome:
            shares = self.held.pop((market_id, outcome), 0)
            self.cents += 100 * shares * (outcome is winner)
        self.of.settlement.on_resolved(market_id, self.now_ns)
