"""The wind-down of an event: halved sizes, then only reductions, then nothing."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.quoting.guards import WindDown, allowed, net_after
from bot.core.settings import CurfewSettings
from bot.core.trading_state import InForce, TradingState
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
    ("hours", "settings", "state"),
    [
        (24.01, {}, TradingState.ACTIVE),
        (24, {}, TradingState.REDUCED),
        (1.01, {}, TradingState.REDUCED),
        (1, {}, TradingState.REDUCE_ONLY),
        (0, {}, TradingState.REDUCE_ONLY),
        (0.001, {"halve_ns": 0, "reduce_ns": 0}, TradingState.ACTIVE),
        (0.25, {"stop_ns": HOUR_NS // 4}, TradingState.HALTED),
    ],
)
def test_the_state_of_a_wind_down_follows_the_hours_left(hours, settings, state):
    wind_down, now_ns = WindDown(CurfewSettings(**settings)), 10**18
    wind_down.judge(now_ns + int(hours * HOUR_NS), now_ns)
    restriction = wind_down.restriction
    assert (TradingState.ACTIVE if restriction is None else restriction.state) is state


def quotes(*levels: tuple[BookSide, int, int]) -> dict[MarketId, tuple[Quote, ...]]:
    return {RUNG: tuple(Quote(side, Price(p), Qty(q), Price(p)) for side, p, q in levels)}


def sizes(wanted, net: int, state: TradingState) -> list[tuple[BookSide, int, int]]:
    left = allowed(wanted, {RUNG: net}, InForce(state, 2))
    return [(q.side, q.price, q.qty) for q in left[RUNG]]


BOTH_SIDES = [(BID, 47, 10), (BID, 48, 10), (ASK, 53, 20), (ASK, 52, 20)]


@pytest.mark.parametrize(
    ("wanted", "net", "state", "left"),
    [
        (
            [(BID, 48, 10), (BID, 47, 15), (ASK, 52, 1)],
            0,
            TradingState.REDUCED,
            [(BID, 48, 5), (BID, 47, 7), (ASK, 52, 1)],
        ),
        (BOTH_SIDES, 13, TradingState.REDUCE_ONLY, [(ASK, 52, 10), (ASK, 53, 3)]),
        (BOTH_SIDES, -3, TradingState.REDUCE_ONLY, [(BID, 48, 3)]),
        (BOTH_SIDES, 0, TradingState.REDUCE_ONLY, []),
    ],
)
def test_sizes_are_halved_and_then_only_reductions_left_boldest_first(wanted, net, state, left):
    assert sizes(quotes(*wanted), net, state) == left


@pytest.mark.parametrize(("halve_ns", "shares"), [(HOUR_NS, 5), (HOUR_NS // 4, 10), (0, 10)])
def test_reductions_are_halved_from_halve_ms_on(halve_ns, shares):
    thin = Thin([70])
    thin.start()
    ladder = thin.trader.quoting.ladders[0]
    ladder.use_settings(
        msgspec.structs.replace(thin.initial_settings, curfew=CurfewSettings(halve_ns=halve_ns)),
        None,
    )
    thin.ends_ns = thin.now_ns + HOUR_NS // 2
    thin.run(8)
    assert ladder.in_force.state is TradingState.REDUCE_ONLY
    left = allowed(quotes((ASK, 75, 10)), {RUNG: 30}, ladder.in_force)
    assert [quote.qty for quote in left[RUNG]] == [shares]


def test_changed_wind_down_settings_apply_at_the_next_tick():
    thin = Thin([70])
    thin.start()
    ladder, settings = thin.trader.quoting.ladders[0], thin.initial_settings
    for stop_ns, state in (
        (90 * 24 * HOUR_NS, TradingState.HALTED),
        (HOUR_NS, TradingState.ACTIVE),
    ):
        curfew = CurfewSettings(halve_ns=stop_ns, reduce_ns=stop_ns, stop_ns=stop_ns)
        ladder.use_settings(msgspec.structs.replace(settings, curfew=curfew), None)
        thin.give(m.Tick())
        assert ladder.in_force.state is state
        assert bool(ladder.rungs[0].wanted) is (state is TradingState.ACTIVE)


def test_takes_are_halved_and_reduced_too():
    takes = {RUNG: (Take(BID, Price(52), Qty(8), whole=True),)}
    assert allowed(takes, {RUNG: 0}, InForce(TradingState.REDUCED, 2)) == {
        RUNG: (Take(BID, Price(52), Qty(4), whole=True),)
    }
    assert allowed(takes, {RUNG: 5}, InForce(TradingState.REDUCE_ONLY, 2)) == {RUNG: ()}


@pytest.mark.parametrize(("net", "resting"), [(30, 22), (8, 0), (5, 0)])
def test_a_take_and_a_quote_together_do_not_reduce_more_than_the_position(net, resting):
    reduce_only, held = InForce(TradingState.REDUCE_ONLY, 1), {RUNG: net}
    taken = allowed({RUNG: (Take(ASK, Price(70), Qty(8)),)}, held, reduce_only)
    resting_on = allowed(quotes((ASK, 75, 100)), net_after(held, taken), reduce_only)
    assert sum(quote.qty for quote in resting_on[RUNG]) == resting
    assert sum(take.qty for take in taken[RUNG]) == min(8, net)


levels = st.lists(
    st.tuples(st.sampled_from([BID, ASK]), st.integers(1, 99), st.integers(1, 100)),
    max_size=6,
    unique_by=lambda level: level[:2],
)


@given(levels, st.integers(-60, 60))
def test_no_fill_while_reducing_enlarges_a_position(wanted, net):
    standing = sizes(quotes(*wanted), net, TradingState.REDUCE_ONLY)
    bids = sum(qty for side, _, qty in standing if side is BID)
    asks = sum(qty for side, _, qty in standing if side is ASK)
    assert 0 <= bids <= max(0, -net)
    assert 0 <= asks <= max(0, net)
    assert {(side, price) for side, price, _ in standing} <= {level[:2] for level in wanted}


def test_in_the_last_hour_a_flat_trader_cancels_its_quotes():
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
    assert allowed(wanted, {RUNG: 13}, InForce(TradingState.HALTED, 2)) == {}


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


def test_nothing_is_created_while_a_closed_order_may_have_reduced_the_position():
    """Of an order that has ended nobody may know for a while whether it traded."""
    thin = Unreadable(curfew=CurfewSettings(halve_ns=0))
    thin.start()
    thin.ends_ns = thin.now_ns + HOUR_NS // 2
    thin.run(8, lambda: thin.show(0), NS_PER_SECOND)
    assert thin.trader.quoting.ladders[0].in_force.state is TradingState.REDUCE_ONLY
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


def test_while_flattening_a_smaller_sale_replaces_an_order_instead_of_amending_it(monkeypatch):
    """All but one share may trade before an amend, and then it sets what remains (S13)."""
    thin = Held(lambda: Offers(Offers.Params()))
    thin.start()
    at_ns = thin.now_ns
    thin.give(m.FlattenRequested("home"))
    monkeypatch.setattr(Offers, "qty", Qty(4))
    thin.run(8, lambda: thin.show(0), NS_PER_SECOND)
    assert [order.remaining_qty for order in thin.orders.values()] == [4]
    assert [type(request) for request in thin.writes(at_ns)] == [m.CancelResting, m.Create]
