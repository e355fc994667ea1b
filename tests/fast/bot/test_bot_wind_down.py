"""The wind-down of an event: halved sizes, then only reductions, then nothing."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.quoting.guards import WindDownStage, allowed, stage_of
from bot.core.settings import CurfewSettings
from bot.strategy.api import EventView, Quote, Quotes, Strategy, Take
from tests.builders.bot.planned import ASK, BID
from tests.builders.bot.thin import Thin
from venue.wire import model
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId

RUNG = MarketId("m0")
HOUR_NS = 3_600 * NS_PER_SECOND


@pytest.mark.parametrize(
    ("hours", "settings", "stage"),
    [
        (24.01, {}, WindDownStage.OPEN),
        (24, {}, WindDownStage.HALVED),
        (1.01, {}, WindDownStage.HALVED),
        (1, {}, WindDownStage.REDUCING),
        (0, {}, WindDownStage.REDUCING),
        (0.001, {"halve_ns": 0, "reduce_ns": 0}, WindDownStage.OPEN),
        (0.25, {"stop_ns": HOUR_NS // 4}, WindDownStage.ENDED),
    ],
)
def test_the_stage_of_wind_down_follows_the_hours_left(hours, settings, stage):
    assert stage_of(CurfewSettings(**settings), int(hours * HOUR_NS))[0] is stage


def quotes(*levels: tuple[BookSide, int, int]) -> dict[MarketId, tuple[Quote, ...]]:
    return {RUNG: tuple(Quote(side, Price(p), Qty(q), Price(p)) for side, p, q in levels)}


def sizes(wanted, net: int, stage: WindDownStage) -> list[tuple[BookSide, int, int]]:
    return [(q.side, q.price, q.qty) for q in allowed(wanted, {RUNG: net}, stage, divisor=2)[RUNG]]


BOTH_SIDES = [(BID, 47, 10), (BID, 48, 10), (ASK, 53, 20), (ASK, 52, 20)]


@pytest.mark.parametrize(
    ("wanted", "net", "stage", "left"),
    [
        (
            [(BID, 48, 10), (BID, 47, 15), (ASK, 52, 1)],
            0,
            WindDownStage.HALVED,
            [(BID, 48, 5), (BID, 47, 7), (ASK, 52, 1)],
        ),
        (BOTH_SIDES, 13, WindDownStage.REDUCING, [(ASK, 52, 10), (ASK, 53, 3)]),
        (BOTH_SIDES, -3, WindDownStage.REDUCING, [(BID, 48, 3)]),
        (BOTH_SIDES, 0, WindDownStage.REDUCING, []),
    ],
)
def test_sizes_are_halved_and_then_only_reductions_left_boldest_first(wanted, net, stage, left):
    assert sizes(quotes(*wanted), net, stage) == left


@pytest.mark.parametrize(("halve_ns", "shares"), [(HOUR_NS, 5), (HOUR_NS // 4, 10), (0, 10)])
def test_reductions_are_halved_from_halve_ms_on(halve_ns: int, shares: int) -> None:
    thin = Thin([70])
    thin.start()
    ladder = thin.trader.quoting.ladders[0]
    ladder.use_settings(
        msgspec.structs.replace(thin.initial_settings, curfew=CurfewSettings(halve_ns=halve_ns)),
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


def test_changed_wind_down_settings_apply_at_the_next_tick() -> None:
    thin = Thin([70])
    thin.start()
    ladder, settings = thin.trader.quoting.ladders[0], thin.initial_settings
    for stop_ns, stage in ((90 * 24 * HOUR_NS, WindDownStage.ENDED), (HOUR_NS, WindDownStage.OPEN)):
        curfew = CurfewSettings(halve_ns=stop_ns, reduce_ns=stop_ns, stop_ns=stop_ns)
        ladder.use_settings(msgspec.structs.replace(settings, curfew=curfew), None)
        thin.give(m.Tick())
        assert ladder.stage is stage
        assert bool(ladder.rungs[0].wanted) is (stage is WindDownStage.OPEN)


def test_takes_are_halved_and_reduced_too() -> None:
    takes = {RUNG: (Take(BID, Price(52), Qty(8), whole=True),)}
    assert allowed(takes, {RUNG: 0}, WindDownStage.HALVED, divisor=2) == {
        RUNG: (Take(BID, Price(52), Qty(4), whole=True),)
    }
    assert allowed(takes, {RUNG: 5}, WindDownStage.REDUCING, divisor=2) == {RUNG: ()}


@pytest.mark.parametrize(("net", "resting"), [(30, 22), (8, 0), (5, 0)])
def test_a_take_and_a_quote_together_do_not_reduce_more_than_the_position(
    net: int, resting: int
) -> None:
    thin = Thin([70])
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
def test_no_fill_while_reducing_enlarges_a_position(wanted, net) -> None:
    standing = sizes(quotes(*wanted), net, WindDownStage.REDUCING)
    bids = sum(qty for side, _, qty in standing if side is BID)
    asks = sum(qty for side, _, qty in standing if side is ASK)
    assert 0 <= bids <= max(0, -net)
    assert 0 <= asks <= max(0, net)
    assert {(side, price) for side, price, _ in standing} <= {level[:2] for level in wanted}


def test_in_the_last_hour_a_flat_trader_cancels_its_quotes() -> None:
    thin = Thin([70, 40])
    thin.start()
    assert len(thin.orders) == 4
    thin.ends_ns = thin.now_ns + HOUR_NS // 2
    thin.run(8)
    assert not thin.orders


def test_past_the_resolution_date_only_reductions_are_left_even_without_a_wind_down():
    thin = Thin([70, 40], curfew=CurfewSettings(halve_ns=0, reduce_ns=0))
    thin.ends_ns = thin.now_ns + 30 * NS_PER_SECOND
    thin.start()
    thin.run(24)
    assert len(thin.orders) == 4
    thin.run(2)
    assert not thin.orders


def test_no_quote_is_allowed_after_the_end():
    wanted = quotes((ASK, 52, 10))
    assert allowed(wanted, {RUNG: 13}, WindDownStage.ENDED, divisor=2) == {}


class Held(Thin):
    """The account holds ten YES shares of the first rung."""

    def __init__(self, make: Callable[[], Strategy] | None = None, **settings: object) -> None:
        super().__init__([70], make, **settings)

    def start(self) -> None:
        self.begin(0.1, m.Started("0" * 20, ()))
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
            )
            return m.Ok(m.PositionsBody((held,), ""))
        return super().answer(request)


class Unreadable(Held):
    """Amends come too late, and no read shows how an order ended."""

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.AmendResting):
            return m.Rejected(422, Code.ORDER_NOT_CANCELABLE, "")
        if isinstance(request, m.ReadOrder | m.ReadResting | m.ReadFills) and self.orders:
            return m.Unknown("lost")
        return super().answer(request)


def test_nothing_is_created_while_a_closed_order_may_have_reduced_the_position() -> None:
    """Of an order that has ended nobody may know for a while whether it traded."""
    thin = Unreadable(curfew=CurfewSettings(halve_ns=0))
    thin.start()
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


def test_while_flattening_a_smaller_sale_replaces_an_order_instead_of_amending_it(
    monkeypatch,
) -> None:
    """All but one share may trade before an amend, and then it sets what remains (S13)."""
    thin = Held(lambda: Offers(Offers.Params()))
    thin.start()
    at_ns = thin.now_ns
    thin.give(m.FlattenRequested("home"))
    monkeypatch.setattr(Offers, "qty", Qty(4))
    thin.run(8, lambda: thin.show(0), NS_PER_SECOND)
    assert [order.remaining_qty for order in thin.orders.values()] == [4]
    assert [type(request) for request in thin.writes(at_ns)] == [m.CancelResting, m.Create]
