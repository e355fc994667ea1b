"""Claims about the end of an event: halved sizes, then only what reduces a position."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.quoting.guards import WindDownStage, allowed, stage_of
from bot.core.settings import CurfewSettings
from bot.core.trader import Trader
from bot.strategy.api import EventView, Quote, Quotes, Strategy, Take
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin
from venue.wire import model
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Price, Qty
from venue.wire.names import MarketId

BID, ASK = BookSide.BID, BookSide.ASK
RUNG = MarketId("m0")
HOUR_NS = 3_600 * NS_PER_SECOND


@pytest.mark.parametrize(
    ("hours", "stage"),
    [
        (24.01, WindDownStage.OPEN),
        (24, WindDownStage.HALVED),
        (1.01, WindDownStage.HALVED),
        (1, WindDownStage.REDUCING),
        (0, WindDownStage.REDUCING),
    ],
)
def test_the_last_day_is_halved_and_the_last_hour_only_reduces(
    hours: float, stage: WindDownStage
) -> None:
    assert stage_of(CurfewSettings(), int(hours * HOUR_NS))[0] is stage


def test_both_can_be_switched_off() -> None:
    off = CurfewSettings(halve_ns=0, reduce_ns=0)
    assert stage_of(off, 1)[0] is WindDownStage.OPEN


def quotes(*levels: tuple[BookSide, int, int]) -> dict[MarketId, tuple[Quote, ...]]:
    return {RUNG: tuple(Quote(side, Price(p), Qty(q), Price(p)) for side, p, q in levels)}


def sizes(wanted, net: int, stage: WindDownStage) -> list[tuple[BookSide, int, int]]:
    return [(q.side, q.price, q.qty) for q in allowed(wanted, {RUNG: net}, stage, divisor=2)[RUNG]]


def test_before_that_the_very_quotes_stand() -> None:
    wanted = quotes((BID, 48, 10))
    assert allowed(wanted, {}, WindDownStage.OPEN, divisor=1) is wanted


def test_sizes_are_halved_and_a_share_is_left() -> None:
    wanted = quotes((BID, 48, 10), (BID, 47, 15), (ASK, 52, 1))
    assert sizes(wanted, 0, WindDownStage.HALVED) == [(BID, 48, 5), (BID, 47, 7), (ASK, 52, 1)]


def test_only_what_reduces_stands_at_last_the_boldest_first() -> None:
    wanted = quotes((BID, 47, 10), (BID, 48, 10), (ASK, 53, 20), (ASK, 52, 20))
    assert sizes(wanted, 13, WindDownStage.REDUCING) == [(ASK, 52, 10), (ASK, 53, 3)]
    assert sizes(wanted, -3, WindDownStage.REDUCING) == [(BID, 48, 3)]
    assert sizes(wanted, 0, WindDownStage.REDUCING) == []


@pytest.mark.parametrize(("halve_ns", "shares"), [(HOUR_NS, 5), (HOUR_NS // 4, 10), (0, 10)])
def test_what_reduces_is_halved_no_sooner_than_halve_ms_says(halve_ns: int, shares: int) -> None:
    thin = Thin([70], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    ladder = thin.trader.quoting.ladders[0]
    ladder.use_settings(
        msgspec.structs.replace(
            thin.trader.reconfiguration.settings, curfew=CurfewSettings(halve_ns=halve_ns)
        ),
        None,
    )
    thin.ends_ns = thin.now_ns + HOUR_NS // 2
    thin.run(8)
    view = ladder.view(None, thin.trader.desk, thin.trader.ledgers, thin.now_ns)
    at = view.rungs[0].market_id
    wanted = {at: (Quote(ASK, Price(75), Qty(10), Price(75)),)}
    assert ladder.stage is WindDownStage.REDUCING
    left, _ = ladder.wind_down(wanted, {}, {at: 30})
    assert [quote.qty for quote in left[at]] == [shares]


def test_another_curfew_holds_from_the_next_beat_on() -> None:
    thin = Thin([70], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    ladder, settings = thin.trader.quoting.ladders[0], thin.trader.reconfiguration.settings
    for stop_ns, stage in ((90 * 24 * HOUR_NS, WindDownStage.ENDED), (HOUR_NS, WindDownStage.OPEN)):
        curfew = CurfewSettings(halve_ns=stop_ns, reduce_ns=stop_ns, stop_ns=stop_ns)
        ladder.use_settings(msgspec.structs.replace(settings, curfew=curfew), None)
        thin.give(m.Tick())
        assert ladder.stage is stage
        assert bool(ladder.rungs[0].wanted) is (stage is WindDownStage.OPEN)


def test_takes_are_held_to_the_same() -> None:
    takes = {RUNG: (Take(BID, Price(52), Qty(8), whole=True),)}
    assert allowed(takes, {RUNG: 0}, WindDownStage.HALVED, divisor=2) == {
        RUNG: (Take(BID, Price(52), Qty(4), whole=True),)
    }
    assert allowed(takes, {RUNG: 5}, WindDownStage.REDUCING, divisor=2) == {RUNG: ()}


@pytest.mark.parametrize(("net", "resting"), [(30, 22), (8, 0), (5, 0)])
def test_what_a_take_shrinks_is_not_shrunk_by_a_quote_beside_it_too(net: int, resting: int) -> None:
    thin = Thin([70], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    ladder = thin.trader.quoting.ladders[0]
    ladder.flattening = "asked for"
    wanted = quotes((ASK, 75, 100))
    takes = {RUNG: (Take(ASK, Price(70), Qty(8)),)}
    resting_on, taken = ladder.wind_down(wanted, takes, {RUNG: net})
    assert sum(quote.qty for quote in resting_on[RUNG]) == resting
    assert sum(take.qty for take in taken[RUNG]) == min(8, net)


levels = st.lists(
    st.tuples(st.sampled_from([BID, ASK]), st.integers(1, 99), st.integers(1, 100)),
    max_size=6,
    unique_by=lambda level: level[:2],
)


@given(levels, st.integers(-60, 60))
def test_no_fill_of_what_stands_at_last_grows_a_position(
    wanted: list[tuple[BookSide, int, int]], net: int
) -> None:
    standing = sizes(quotes(*wanted), net, WindDownStage.REDUCING)
    bids = sum(qty for side, _, qty in standing if side is BID)
    asks = sum(qty for side, _, qty in standing if side is ASK)
    assert 0 <= bids <= max(0, -net)
    assert 0 <= asks <= max(0, net)
    assert {(side, price) for side, price, _ in standing} <= {level[:2] for level in wanted}


def test_in_the_last_hour_the_trader_keeps_only_what_reduces_what_it_holds() -> None:
    thin = Thin([70, 40], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    assert len(thin.orders) == 4
    thin.ends_ns = thin.now_ns + HOUR_NS // 2
    thin.run(8)
    assert not thin.orders


def test_past_the_very_end_only_what_reduces_stands_though_no_curfew_is_set_and_nothing_moves() -> (
    None
):
    thin = Thin([70, 40], lambda: FixedSpread(FixedSpread.Params()))
    thin.ends_ns = thin.now_ns + 30 * NS_PER_SECOND
    off = CurfewSettings(halve_ns=0, reduce_ns=0)
    settings = msgspec.structs.replace(thin.trader.reconfiguration.settings, curfew=off)
    thin.trader = Trader(settings, lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    thin.run(24)
    assert len(thin.orders) == 4
    thin.run(2)
    assert not thin.orders


def test_at_the_stop_nothing_stands_and_0_never_stops() -> None:
    stops = CurfewSettings(stop_ns=HOUR_NS // 4)
    assert stage_of(stops, HOUR_NS // 4)[0] is WindDownStage.ENDED
    assert stage_of(CurfewSettings(), 0)[0] is WindDownStage.REDUCING
    assert allowed(quotes((ASK, 52, 10)), {RUNG: 13}, WindDownStage.ENDED, divisor=2) == {}


class Held(Thin):
    """Its account holds ten YES shares of the first rung."""

    def __init__(
        self, make: Callable[[], Strategy] = lambda: FixedSpread(FixedSpread.Params())
    ) -> None:
        super().__init__([70], make)

    def start(self) -> None:
        self.give(m.Started("0" * 20, ()))
        self.give(m.FeedOpened())
        self.show(0)
        self.run(20, lambda: self.show(0), NS_PER_SECOND)

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.ReadPositions):
            here = self.markets[0]
            held = model.Position(
                ticker=here.ticker,
                market_id=here.market_id,
                event_ticker=here.event_ticker,
                outcome=model.ShownOutcome.YES,
                qty=Qty(10),
                cost_basis=Cents(0),
                avg_entry_price=Cents(0),
                realized_pnl=Cents(0),
            )
            return m.Ok(m.PositionsBody((held,), ""))
        return super().answer(request)


class Untold(Held):
    """What its orders have come to cannot be read: that they have ended is all it says."""

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.AmendResting):
            return m.Rejected(422, Code.ORDER_NOT_CANCELABLE, "")
        if isinstance(request, m.ReadOrder | m.ReadResting | m.ReadFills) and self.orders:
            return m.Unknown("lost")
        return super().answer(request)


def test_nothing_is_made_beside_an_order_that_may_have_shrunk_all_there_was_at_last() -> None:
    """Of an order that has ended nobody may know for a while whether it traded."""
    thin = Untold()
    thin.start()
    off = CurfewSettings(halve_ns=0)
    settings = msgspec.structs.replace(thin.trader.reconfiguration.settings, curfew=off)
    thin.trader.quoting.ladders[0].use_settings(settings, None)
    thin.ends_ns = thin.now_ns + HOUR_NS // 2
    thin.run(8, lambda: thin.show(0), NS_PER_SECOND)
    assert thin.trader.quoting.ladders[0].stage is WindDownStage.REDUCING
    (left,) = thin.orders.values()
    assert (left.side, left.remaining_qty) == (model.ShownSide.SELL, 10)
    at_ns, thin.mids = thin.now_ns, [68]
    thin.run(4, lambda: thin.show(0), NS_PER_SECOND)
    kinds = [type(request) for request in thin.writes(at_ns)]
    assert m.AmendResting in kinds
    assert m.Create not in kinds


class Offers(Strategy):
    """Sells so many shares at 72."""

    qty = Qty(10)

    def quote(self, view: EventView) -> Quotes:
        return {view.rungs[0].market_id: (Quote(ASK, Price(72), self.qty),)}


def test_while_everything_is_to_be_flat_no_amend_can_sell_more_than_is_held(monkeypatch) -> None:
    """All but one share may trade before an amend, and then it sets what remains (S13)."""
    thin = Held(lambda: Offers(Offers.Params()))
    thin.start()
    at_ns = thin.now_ns
    thin.give(m.FlattenRequested("home"))
    monkeypatch.setattr(Offers, "qty", Qty(4))
    thin.run(8, lambda: thin.show(0), NS_PER_SECOND)
    assert [order.remaining_qty for order in thin.orders.values()] == [4]
    assert [type(request) for request in thin.writes(at_ns)] == [m.CancelResting, m.Create]
