"""Claims about an event that was cut while others had the room: it gets what they leave."""

import msgspec

from bot.core import messages as m
from bot.core.settings import PaceSettings, RiskSettings, TraderSettings
from bot.core.strategy import EventView, Quote, Quotes, Strategy
from bot.core.trader import Trader
from tests.bot.thin import SERIES, Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Price, Qty
from venue.wire.names import Ticker

RISK = RiskSettings(
    event_loss_cents=Cents(1_000),
    series_loss_cents=Cents(1_000),
    rung_position_qty=Qty(100),
    order_qty=Qty(100),
)


class Twenty(Strategy):
    """Twenty shares at 45 cents, wherever the best bid of others is above 40."""

    def quote(self, view: EventView) -> Quotes:
        wanted = (Quote(BookSide.BID, Price(45), Qty(20)),)
        return {rung.market_id: wanted for rung in view.rungs if (rung.best_bid or 0) > 40}


class TwoEvents(Thin):
    """Each rung is an event of its own; the series may lose what one such bid costs."""

    def __init__(self) -> None:
        super().__init__([50, 50], lambda: Twenty(None))
        settings = TraderSettings(series_ticker=SERIES, risk=RISK, pace=PaceSettings())
        self.trader = Trader(settings, lambda: Twenty(None))
        self.markets[1] = msgspec.structs.replace(
            self.markets[1],
            ticker=Ticker(f"{SERIES}-27Q2-100B"),
            event_ticker=Ticker(f"{SERIES}-27Q2"),
        )

    def answer(self, request: m.Request) -> m.Answer:
        """The series, an event for each rung."""
        answer = super().answer(request)
        if isinstance(answer, m.Done) and isinstance(answer.body, m.SeriesShown):
            events = tuple(
                msgspec.structs.replace(
                    answer.body.events[0], event_ticker=each.event_ticker, markets=(each,)
                )
                for each in self.markets
            )
            return m.Done(m.SeriesShown(events, ""))
        return answer

    def rung(self, index: int):
        """What the trader believes of the rung of an event."""
        return self.trader.quoting.ladders[index].rungs[0]

    def bid(self, index: int) -> int:
        """Shares that are bid for in an event."""
        live = self.trader.desk.live(self.markets[index].market_id)
        return sum(own.remaining for own in live)


def test_what_one_event_leaves_of_a_limit_that_it_shares_another_gets_on_a_still_book():
    venue = TwoEvents()
    venue.start()
    shares = [venue.bid(0), venue.bid(1)]
    assert sorted(shares)[0] < 20
    short = shares.index(min(shares))
    other = 1 - short
    venue.mids[other] = 30
    venue.now_ns += NS_PER_SECOND
    venue.show(other)
    venue.run(2)
    assert venue.bid(other) == 0
    assert venue.bid(short) == 20


def test_an_event_alone_on_its_account_is_not_looked_at_again():
    """Nothing but its own books and orders changes what it may lose."""
    venue = Thin([50], lambda: Twenty(None))
    risk = msgspec.structs.replace(RISK, event_loss_cents=Cents(300))
    settings = TraderSettings(series_ticker=SERIES, risk=risk)
    venue.trader = Trader(settings, lambda: Twenty(None))
    venue.start()
    (ladder,) = venue.trader.quoting.ladders
    assert sum(own.remaining for own in venue.trader.desk.all_live()) == 5
    assert ladder.eased_ns > venue.now_ns + 3_600 * NS_PER_SECOND
