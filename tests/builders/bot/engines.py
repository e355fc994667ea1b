"""A quoting engine over binary events, for claims about reads of the series and shared limits."""

from bot.core.account.reconciler import AccountReconciler
from bot.core.orders.manager import OrderManager
from bot.core.orders.outbox import Outbox
from bot.core.quoting.engine import QuotingEngine
from bot.core.risk.buying_power import AccountRisk
from bot.core.settings import BudgetSettings, RiskSettings, TraderSettings
from bot.strategy.api import Strategy
from tests.builders.bot.made import INSTANT, T0
from venue.wire import model
from venue.wire.money import Cents, Price, Qty
from venue.wire.names import MarketId, ProjectId, Ticker

SERIES = Ticker("ACME-VAL")

RISK = RiskSettings(
    event_loss_cents=Cents(1_000),
    series_loss_cents=Cents(1_000),
    rung_position_qty=Qty(10),
    order_qty=Qty(10),
)


def event(
    quarter: int, rate: str = "0.0100", taker: str = "0.0175", resolution: str = INSTANT
) -> model.Event:
    """A binary event of a quarter with these fee rates."""
    ticker = Ticker(f"{SERIES}-27Q{quarter}")
    market = model.Market(
        ticker=Ticker(f"{ticker}-YES"),
        market_id=MarketId(f"aaaaaaaa-0000-4000-8000-00000000000{quarter}"),
        event_ticker=ticker,
        project_market_id="p",
        name="n",
        outcome_label="yes",
        state=model.MarketState.ACTIVE,
        min_price=Price(1),
        max_price=Price(99),
        tick_size=1,
        maker_fee_rate=rate,
        taker_fee_rate=taker,
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
        resolution_date=resolution,
        markets=(market,),
    )


class Engine(QuotingEngine):
    """A quoting engine that shows its order manager and books."""

    def __init__(
        self,
        strategy: type[Strategy] = Strategy,
        risk: RiskSettings = RISK,
        account: AccountRisk | None = None,
    ) -> None:
        settings = TraderSettings(series_ticker=SERIES, risk=risk)
        self.out = Outbox(BudgetSettings())
        self.desk = OrderManager(settings.staleness, self.out)
        self.ledgers = AccountReconciler(settings.staleness, self.desk, self.out)
        super().__init__(
            settings, lambda: strategy(None), self.desk, self.ledgers, self.out, account
        )

    def read(self, at_ns: int, *events: model.Event) -> None:
        """A read of the series, begun and answered at an instant."""
        self.take_series(events, at_ns, at_ns)


def engine(*events: model.Event) -> tuple[Engine, Outbox]:
    """An engine that has read these events, and its outbox."""
    of = Engine()
    of.read(T0, *events)
    return of, of.out
