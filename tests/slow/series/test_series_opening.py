"""Claims about how the series of one account begin: none quotes before all have opened their books.

Books are opened while nothing fills; a series that quoted, and was filled, before the others had
opened theirs would keep them from it for as long as it is filled often.
"""

import msgspec

from bot.core import messages as m
from bot.core.quoting.portfolio_risk import TOGETHER_NS
from bot.core.report import Phase
from bot.core.risk.buying_power import AccountRisk
from bot.core.settings import StartSettings, Strangers, TraderSettings
from bot.core.trader import Trader
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.past import Past
from tests.builders.bot.thin import FAR_LIMITS, SERIES, Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import Ticker


def on(account: AccountRisk) -> Thin:
    """A venue whose trader shares an account."""
    venue = Thin([50], lambda: FixedSpread(FixedSpread.Params()))
    settings = venue.trader.reconfiguration.settings
    venue.trader = Trader(settings, lambda: FixedSpread(FixedSpread.Params()), account_risk=account)
    return venue


def test_a_series_whose_books_are_open_waits_for_those_of_the_other_and_then_both_quote():
    account = AccountRisk()
    first, second = on(account), on(account)
    first.start()
    assert first.trader.phase is Phase.STARTING
    assert not first.orders
    second.start()
    first.run(1)
    assert len(first.orders) == len(second.orders) == 2


def test_books_are_open_while_a_series_waits_for_another():
    account = AccountRisk()
    first, _ = on(account), on(account)
    first.start()
    assert first.trader.ledgers.is_open


def test_a_series_that_never_opens_is_not_waited_for_for_ever():
    account = AccountRisk()
    first, _ = on(account), on(account)
    first.start()
    first.run(TOGETHER_NS / NS_PER_SECOND - 6)
    assert not first.orders
    first.run(3)
    assert len(first.orders) == 2


def test_a_series_that_begins_latched_is_not_waited_for():
    account = AccountRisk()
    first, second = on(account), on(account)
    second.give(m.Started("0" * 20, (), new_account=True, latched="a breaker"))
    first.start()
    assert len(first.orders) == 2


def test_a_series_alone_waits_for_nobody():
    venue = on(AccountRisk())
    venue.start()
    assert venue.trader.phase is Phase.QUOTING
    assert len(venue.orders) == 2


class Bid(Strategy):
    """Thirty shares wanted."""

    def quote(self, view: EventView) -> Quotes:
        wanted = (Quote(BookSide.BID, Price(45), Qty(30)),)
        return {rung.market_id: wanted for rung in view.rungs}


def test_what_was_cut_while_a_series_waited_for_another_is_quoted_on_a_still_book_afterwards():
    """It keeps an order, and so quotes at once, within what it may lose already."""
    account = AccountRisk()
    first, second = Past(0), on(account)
    risk = msgspec.structs.replace(FAR_LIMITS, account_loss_cents=FAR_LIMITS.series_loss_cents)
    start = StartSettings(strangers=Strangers.ADOPT)
    settings = TraderSettings(series_ticker=SERIES, risk=risk, start=start)
    first.trader = Trader(settings, lambda: Bid(None), account_risk=account)
    first.begin_kept(8)
    assert first.trader.phase is Phase.QUOTING
    assert sum(own.remaining for own in first.trader.desk.live_orders) == 10
    second.start()
    first.run(1)
    assert sum(own.remaining for own in first.trader.desk.live_orders) == 30


def test_a_sound_series_quotes_beside_one_that_cannot_be_read_and_says_so_once():
    sick = Ticker("SICK-VAL")
    notes: list[str] = []

    class Venue(Thin):
        """It knows nothing of one of the series."""

        def answer(self, request: m.Request) -> m.Answer:
            if isinstance(request, m.ReadSeries) and request.series_ticker == sick:
                return m.Rejected(404, "market_not_found", "")
            return super().answer(request)

        def on_effect(self, effect: m.Effect) -> None:
            notes.extend([effect.name] if isinstance(effect, m.Noted) else [])

    venue = Venue([50], lambda: FixedSpread(FixedSpread.Params()))
    settings = venue.trader.reconfiguration.settings
    beside = msgspec.structs.replace(settings, other_series=(sick,))
    venue.trader = Trader(beside, lambda: FixedSpread(FixedSpread.Params()))
    venue.start()
    venue.run(30)
    assert venue.trader.phase is Phase.QUOTING
    assert len(venue.orders) == 2
    assert notes.count("series_beside_unread") == 1
