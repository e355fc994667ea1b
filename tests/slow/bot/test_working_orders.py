"""The working orders that a rung keeps between plans equal what it would compute again."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.market_data.queue_position import Queues
from bot.core.orders.order import State
from bot.core.planning.actions import AmendAction
from bot.core.planning.diff import WorkingOrders, by_side, plan_orders
from bot.core.planning.queue_value import QuoteEconomics, TradeRates, quote_economics
from bot.core.settings import PaceSettings
from bot.core.trader import Trader
from bot.lab.sim.run import run
from bot.strategy.api import Quote
from tests.builders.bot import made
from tests.builders.bot.made import T0
from tests.builders.bot.planned import ASK, BID, LATER
from venue.wire.money import BookSide, Outcome, Price, Qty, Side

PACE = PaceSettings()
ROUTES = [{}, {"outcome": Outcome.NO, "side": Side.BUY}, {"side": Side.SELL}]

levels = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 12), st.integers(0, 2)),
    max_size=3,
    unique_by=lambda t: t[0],
)

orders_of_a_rung = st.lists(
    st.tuples(
        st.sampled_from(ROUTES),
        st.integers(0, 5),
        st.integers(1, 12),
        st.sampled_from([State.OPEN] * 8 + [State.PENDING_REPLACE, State.REPLACE_UNKNOWN]),
    ),
    max_size=5,
)


def quotes(side: BookSide, drawn: list[tuple[int, int, int]]) -> list[Quote]:
    sign, best = (-1, 49) if side is BID else (1, 50)
    return [
        Quote(side, Price(best + sign * off), Qty(qty), Price(best + sign * (off - bolder)))
        for off, qty, bolder in drawn
    ]


def worth(now_ns: int) -> QuoteEconomics:
    flow = TradeRates()
    flow.on_trade(500, T0)
    return quote_economics(
        49.5, (flow, flow), (((48, 3),), ((52, 3),)), Queues(1.0), PACE, 1e5, now_ns
    )


@settings(max_examples=300, deadline=None)
@given(
    orders_of_a_rung,
    st.lists(st.tuples(levels, levels), min_size=1, max_size=3),
    st.integers(0, 12),
    st.sampled_from([(), (BID,)]),
)
def test_a_plan_from_kept_working_orders_equals_one_from_new_ones(drawn, wishes, held, short):
    orders = []
    for number, (route, off, qty, state) in enumerate(drawn):
        is_bid = not route
        level = 50 - off if is_bid else 50 + off
        price = 100 - level if route.get("outcome") is Outcome.NO else level
        orders.append(made.own(state, number=number, price=price, qty=qty, **route))

    def ours() -> WorkingOrders:
        return WorkingOrders(orders, held, held)

    kept = ours()
    for bids, asks in [(bids, asks) for bids, _ in wishes for _, asks in wishes]:
        wanted = by_side([*quotes(BID, bids), *quotes(ASK, asks)])
        rest = (PACE, LATER, worth(LATER), short)
        assert plan_orders(*wanted, kept, *rest) == plan_orders(*wanted, ours(), *rest)


def test_a_bolder_order_moves_once_the_other_side_is_wanted_at_its_price():
    order = made.own(price=50, qty=10)
    kept, bids = WorkingOrders([order], 0, 0), quotes(BID, [(1, 10, 2)])
    rest = (PACE, LATER, msgspec.structs.replace(worth(LATER), fair_cents=50.5), ())
    apart, meeting = quotes(ASK, [(2, 10, 0)]), quotes(ASK, [(0, 10, 0)])
    assert [wish.book_side for wish in plan_orders(bids, apart, kept, *rest).actions] == [ASK]
    first = plan_orders(bids, meeting, kept, *rest).actions[0]
    assert isinstance(first, AmendAction)
    assert first.order is order


def _seen(ours: WorkingOrders) -> tuple[object, ...]:
    found = [
        (own.client_order_id, own.order_id, own.yes_price, own.remaining, own.max_fillable)
        for side in BookSide
        for own in ours.orders[side]
    ]
    changing = [own.cancel_requested or own.state is not State.OPEN for own in ours.everyone]
    stands = [
        None if levels is None else [(level.price, level.qty) for level in levels]
        for levels in ours.levels.values()
    ]
    return ours.free, found, changing, ours.to_cancel, stands


def test_the_kept_working_orders_of_a_rung_equal_its_orders_throughout_a_run(monkeypatch):
    receive, looked = Trader.receive, 0

    def looking(self: Trader, event, now_ns):
        nonlocal looked
        effects = receive(self, event, now_ns)
        is_planned = isinstance(event, m.Tick) and self.ledgers.is_open
        for ladder in self.quoting.ladders if is_planned else ():
            for rung in ladder.rungs:
                if rung.ours is None:
                    continue
                orders = self.desk.live(rung.market_id)
                held = self.ledgers.holdings(rung.market_id)
                looked += 1
                assert _seen(rung.ours) == _seen(WorkingOrders(orders, *held)), (
                    event,
                    rung.market.ticker,
                )
        return effects

    monkeypatch.setattr(Trader, "receive", looking)
    for seed in (67, 75, 81, 91):  # runs that end with orders that rest
        run(seed)
    assert looked > 100
