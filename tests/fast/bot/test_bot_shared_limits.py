"""Events and series that share a limit which leaves them less than they want."""

import random

import msgspec
import pytest

from bot.core import messages as m
from bot.core.orders.outbox import Outbox
from bot.core.risk.buying_power import AccountRisk
from bot.core.settings import PaceSettings, RiskSettings, TraderSettings
from bot.core.trader import Trader
from bot.core.trading_state import TradingState
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from tests.builders.bot.engines import RISK, Engine, event
from tests.builders.bot.made import T0
from tests.builders.bot.restricted import by_operator
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Price, Qty
from venue.wire.names import MarketId, Ticker


class TenAtSixty(Strategy):
    """A bid of ten shares, 61 cents a share, the fee included."""

    def quote(self, view: EventView) -> Quotes:
        return {rung.market_id: (Quote(BookSide.BID, Price(60), Qty(10)),) for rung in view.rungs}


TIGHT = [{"series_loss_cents": 1_000}, {"series_loss_cents": 9_000, "resting_cents": 1_000}]


def two_tight(limits: dict[str, int]) -> tuple[Engine, Outbox]:
    """Two events that were just decided: the second was cut to what the first leaves it."""
    series = Engine(TenAtSixty, msgspec.structs.replace(RISK, **limits))
    series.read(T0, event(1), event(2))
    for ladder in series.ladders:
        ladder.rungs[0].blocked = ""
    series.decide(T0)
    wanted = [sum(each.qty for each in ladder.rungs[0].wanted) for ladder in series.ladders]
    assert wanted == [10, 6]
    return series, series.out


@pytest.mark.parametrize("limits", TIGHT)
def test_a_trimmed_event_is_decided_again_once_others_leave_it_more_of_the_limit(limits):
    series, out = two_tight(limits)
    first, cut = series.ladders
    later_ns = T0 + NS_PER_SECOND
    series.decide(later_ns)
    assert out.counters.decisions == 2
    first.rungs[0].blocked, first.needs_decision = "halted", True
    series.decide(later_ns)
    assert [each.qty for each in cut.rungs[0].wanted] == [10]
    series.decide(later_ns + NS_PER_SECOND)
    assert out.counters.decisions == 4


@pytest.mark.parametrize("limits", TIGHT)
def test_an_event_without_quotes_is_not_decided_again_for_more_of_the_limit(limits):
    series, out = two_tight(limits)
    series.restrict([by_operator(TradingState.HALTED)])
    for beat in range(1, 5):
        series.decide(T0 + beat * NS_PER_SECOND)
    assert out.counters.decisions == 4, "once each, as they may not quote any more"


def test_size_above_the_venues_order_limit_leaves_its_room_to_other_events():
    series = Engine(TenAtSixty, msgspec.structs.replace(RISK, series_loss_cents=Cents(1_000)))
    series.read(T0, event(1), event(2))
    for ladder in series.ladders:
        ladder.rungs[0].blocked = ""
    series.limit_order_qty(series.ladders[0].rungs[0].market_id, Qty(5))
    series.decide(T0)
    wanted = [sum(each.qty for each in ladder.rungs[0].wanted) for ladder in series.ladders]
    assert wanted == [2, 10]


def test_room_that_another_series_frees_counts_at_the_next_decision():
    """Else each of two series would follow every order that the other replaces, for ever."""
    account, at_risk = AccountRisk(), [Cents(400)]
    account.join(lambda: at_risk[0])
    risk = msgspec.structs.replace(RISK, account_loss_cents=Cents(1_000))
    series = Engine(TenAtSixty, risk, account)
    series.read(T0, event(1), event(2))
    series.ladders[0].rungs[0].blocked = ""
    series.decide(T0)
    cut = series.ladders[0]
    assert [each.qty for each in cut.rungs[0].wanted] == [8]
    at_risk[0] = Cents(0)
    series.decide(T0 + NS_PER_SECOND)
    assert series.out.counters.decisions == 2
    cut.needs_decision = True
    series.decide(T0 + NS_PER_SECOND)
    assert [each.qty for each in cut.rungs[0].wanted] == [10]


class Table(Strategy):
    """Wants of each rung what a table says."""

    wants: dict[MarketId, tuple[Quote, ...]]

    def quote(self, view: EventView) -> Quotes:
        return {rung.market_id: self.wants[rung.market_id] for rung in view.rungs}


class Several(Thin):
    """A series of several events; `shape`: how many rungs each has."""

    def __init__(
        self,
        drawn: random.Random,
        number: int,
        risk: RiskSettings,
        pace: PaceSettings,
        account: AccountRisk | None,
    ) -> None:
        shape = [drawn.randint(1, 3) for _ in range(drawn.randint(2, 4))]
        self.mids_of = [sorted(drawn.sample(range(15, 86), n), reverse=True) for n in shape]
        super().__init__([mid for mids in self.mids_of for mid in mids], lambda: Strategy(None))
        series = Ticker(f"ACME{number}-VAL")
        self.events: list[list[MarketId]] = []
        plain, self.markets = iter(self.markets), []
        for quarter, rungs in enumerate(shape, 1):
            ticker = Ticker(f"{series}-27Q{quarter}")
            for _ in range(rungs):
                market, at = next(plain), len(self.markets)
                ids = {
                    "ticker": Ticker(f"{ticker}-{100 + 10 * at}B"),
                    "market_id": MarketId(f"{number}aaaaaaa-0000-4000-8000-{at:012d}"),
                    "event_ticker": ticker,
                }
                self.markets.append(msgspec.structs.replace(market, **ids))
            self.events.append([market.market_id for market in self.markets[-rungs:]])
        self.series = series
        self.wants: dict[MarketId, tuple[Quote, ...]] = {}
        for at in range(len(shape)):
            self.draw(drawn, at)
        wishes = type("Wishes", (Table,), {"wants": self.wants})
        settings = TraderSettings(series_ticker=series, risk=risk, pace=pace)
        self.trader = Trader(settings, lambda: wishes(None), account_risk=account)

    def draw(self, drawn: random.Random, at: int) -> None:
        """Other quotes are wanted of an event from here on."""
        for market_id, mid in zip(self.events[at], self.mids_of[at], strict=True):
            self.wants[market_id] = tuple(
                Quote(
                    side,
                    Price(mid - 4 - 2 * level if side is BookSide.BID else mid + 4 + 2 * level),
                    Qty(drawn.choice((1, 2, 3, 5, 8, 13, 20))),
                )
                for side in BookSide
                for level in range(drawn.choice((0, 1, 1, 2)))
            )
        for ladder in self.trader.quoting.ladders:
            ladder.needs_decision |= ladder.rungs[0].market_id in self.events[at]

    def rung(self, index: int):
        return self.trader.quoting.rung(self.markets[index].market_id)

    def ts_ns(self, index: int) -> int:
        rung = self.rung(index)
        return self.now_ns if rung is None else rung.state.ts_ns or self.now_ns

    def answer(self, request: m.Request) -> m.Answer:
        answer = super().answer(request)
        if isinstance(request, m.Create):
            [market] = [x for x in self.markets if x.market_id == request.order.market_id]
            order = msgspec.structs.replace(
                answer.body.order, ticker=market.ticker, event_ticker=market.event_ticker
            )
            self.orders[order.order_id] = order
            return m.Ok(m.OrderBody(order))
        if isinstance(request, m.ReadSeries):
            [one] = answer.body.events
            events = []
            for ids in self.events:
                mine = tuple(market for market in self.markets if market.market_id in ids)
                events.append(
                    msgspec.structs.replace(
                        one,
                        event_ticker=mine[0].event_ticker,
                        series_ticker=self.series,
                        markets=mine,
                    )
                )
            return m.Ok(m.SeriesBody(tuple(events), ""))
        return answer


def writes_within(worlds: list[Several], seconds: int) -> int:
    """Let time pass for all of them by turns. How many writes left."""
    begun_ns = worlds[0].now_ns
    for beat in range(1, seconds * 50 + 1):
        for world in worlds:
            world.now_ns = begun_ns + beat * 20 * NS_PER_MS
            world.give(m.FeedAlive())
            world.give(m.Tick())
    return sum(len(world.writes(begun_ns + 1)) for world in worlds)


@pytest.mark.parametrize("several_series", [False, True])
@pytest.mark.parametrize("seed", range(5, 13))
def test_on_a_still_market_nothing_is_written_though_events_share_tight_limits(
    seed, several_series
):
    drawn = random.Random(seed)
    risk = RiskSettings(
        event_loss_cents=Cents(drawn.choice((300, 1_000, 3_000))),
        series_loss_cents=Cents(drawn.choice((500, 1_000, 2_000))),
        account_loss_cents=Cents(drawn.choice((600, 1_500)) if several_series else 0),
        resting_cents=Cents(drawn.choice((0, 800, 1_500))),
        rung_position_qty=Qty(drawn.choice((10, 40))),
        order_qty=Qty(20),
    )
    pace = PaceSettings(resize_pct=drawn.choice((1, 10, 25)))
    account = AccountRisk() if several_series else None
    numbers = (1, 2) if several_series else (1,)
    worlds = [Several(drawn, number, risk, pace, account) for number in numbers]
    for world in worlds:
        world.give(m.Started(f"{world.series:0<20.20}", (), new_account=True))
        world.give(m.FeedOpened())
        for index in range(len(world.mids)):
            world.show(index)
    assert writes_within(worlds, 6)
    for _ in range(3):
        world = drawn.choice(worlds)
        world.draw(drawn, drawn.randrange(len(world.events)))
        writes_within(worlds, 12)
        decisions = sum(each.trader.out.counters.decisions for each in worlds)
        assert writes_within(worlds, 3) == 0
        asked = sum(each.trader.out.counters.decisions for each in worlds) - decisions
        assert asked <= 3 * sum(len(each.events) for each in worlds), "nothing else calls for it"
