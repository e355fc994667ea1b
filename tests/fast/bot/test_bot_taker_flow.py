"""Taker flow and book lean: what a strategy sees, and the groups of our fills by them."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.account.lean import FLOW_MIN_QTY, LEAN_MIN, leaning
from bot.core.market_data.market_state import MarketState, VenueClock
from bot.core.messages import Trade
from bot.core.settings import PaceSettings
from bot.strategy.api import FLOW_HALF_LIFE_S, EventView, RungView, Strategy, Take
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId

BID, ASK = BookSide.BID, BookSide.ASK
T0 = 1_800_000_000 * NS_PER_SECOND
MINUTE_NS = round(FLOW_HALF_LIFE_S * NS_PER_SECOND)

TRADES = st.lists(
    st.tuples(st.integers(0, 5 * MINUTE_NS), st.integers(1, 500), st.booleans()), max_size=20
)


def levels(*rows: tuple[int, int]):
    return tuple((Price(price), Qty(qty)) for price, qty in rows)


class Watcher(Strategy):
    """Records its views; wants `wanted` on the first rung, once."""

    def __init__(self) -> None:
        super().__init__(None)
        self.seen: list[EventView] = []
        self.wanted: list[Take] = []

    def quote(self, view: EventView):
        self.seen.append(view)
        wanted, self.wanted = tuple(self.wanted), []
        return {view.rungs[0].market_id: wanted}


@pytest.fixture
def watched() -> tuple[Thin, Watcher]:
    """A ladder of two rungs whose strategy has been asked, and that strategy."""
    watcher = Watcher()
    thin = Thin([60, 40], lambda: watcher, PaceSettings(decide_ns=0))
    thin.start()
    return thin, watcher


def print_trade(thin: Thin, index: int, size: int, *, buys: bool, trade_id: str) -> None:
    """Takers bought or sold YES of a rung; the strategy is asked."""
    market_id, price = thin.markets[index].market_id, thin.mids[index]
    thin.give(m.Trade(market_id, thin.now_ns, trade_id, Price(price), Qty(size), buys))
    thin.give(m.Tick())


def test_the_flow_of_a_rung_is_what_takers_bought_less_what_they_sold(watched):
    thin, watcher = watched
    print_trade(thin, 0, 30, buys=True, trade_id="a")
    print_trade(thin, 0, 12, buys=False, trade_id="b")
    print_trade(thin, 0, 12, buys=False, trade_id="b")  # a repeat
    assert [rung.taker_flow_qty for rung in watcher.seen[-1].rungs] == [18, 0]


def test_half_of_the_flow_is_left_after_its_half_life(watched):
    thin, watcher = watched
    print_trade(thin, 0, 30, buys=True, trade_id="a")
    thin.run(FLOW_HALF_LIFE_S, thin.show_all, NS_PER_SECOND)
    print_trade(thin, 0, 1, buys=False, trade_id="b")
    assert watcher.seen[-1].rungs[0].taker_flow_qty == pytest.approx(14)


def test_the_flow_of_an_event_is_up_where_any_rung_is_bought(watched):
    thin, watcher = watched
    print_trade(thin, 0, 30, buys=True, trade_id="a")
    print_trade(thin, 1, 10, buys=True, trade_id="b")
    assert watcher.seen[-1].taker_flow_qty == 40


def test_the_trade_of_our_own_take_is_not_in_the_flow(watched):
    thin, watcher = watched
    watcher.wanted = [Take(BID, Price(62), Qty(8))]
    print_trade(thin, 1, 1, buys=False, trade_id="a")  # so that the strategy is asked
    assert [each.order.qty for each in thin.writes() if isinstance(each, m.Create)] == [8]
    print_trade(thin, 0, 20, buys=True, trade_id="b")  # eight of them may be ours
    assert watcher.seen[-1].rungs[0].taker_flow_qty == 12


def flow_after(trades: list[tuple[int, int, bool]], *, is_mirrored: bool = False) -> float:
    """The flow that a market state holds after trades at (ns since the one before, size, buys)."""
    state, now_ns = MarketState(VenueClock(), 3.0), T0
    for number, (wait_ns, size, buys) in enumerate(trades):
        now_ns += wait_ns
        taker_bought_yes = buys is not is_mirrored
        seen = Trade(MarketId("m"), now_ns, str(number), Price(50), Qty(size), taker_bought_yes)
        assert state.on_trade(seen, (), now_ns) == 0
    return state.flow_qty


@given(TRADES)
def test_the_flow_is_the_sum_of_all_trades_each_faded_by_its_age(trades):
    at_ns = [sum(wait_ns for wait_ns, _, _ in trades[: n + 1]) for n in range(len(trades))]
    expected = sum(
        (size if buys else -size) * 0.5 ** ((at_ns[-1] - then_ns) / MINUTE_NS)
        for then_ns, (_, size, buys) in zip(at_ns, trades, strict=True)
    )
    assert flow_after(trades) == pytest.approx(expected, abs=1e-9, rel=1e-9)


@given(TRADES)
def test_with_buyers_and_sellers_exchanged_the_flow_changes_its_sign(trades):
    assert flow_after(trades, is_mirrored=True) == -flow_after(trades)


# --- the lean of the book -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bids", "asks", "lean"),
    [
        (((40, 30),), ((60, 10),), 0.5),
        (((40, 10),), ((60, 30),), -0.5),
        (((40, 10), (39, 900)), ((60, 10),), 0.0),  # deeper levels do not count
        ((), ((60, 10),), None),
        (((40, 10),), (), None),
        ((), (), None),
    ],
)
def test_the_lean_of_a_book_is_that_of_its_best_levels(bids, asks, lean):
    assert RungView.example(bids=levels(*bids), asks=levels(*asks)).book_lean == lean


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_lean_is_between_its_bounds_and_turns_with_the_sides(bid_qty, ask_qty):
    one = RungView.example(bids=levels((40, bid_qty)), asks=levels((60, ask_qty)))
    turned = RungView.example(bids=levels((40, ask_qty)), asks=levels((60, bid_qty)))
    assert -1 < one.book_lean < 1
    assert one.book_lean == -turned.book_lean


def test_the_lean_of_an_event_is_the_mean_of_its_two_sided_rungs():
    up = RungView.example(bids=levels((40, 30)), asks=levels((60, 10)))
    flat, empty = RungView.example(), RungView.example(bids=())
    assert EventView.example(up, flat, empty).book_lean == 0.25
    assert EventView.example(empty).book_lean is None


def test_the_examples_of_views_have_the_flow_they_are_given():
    bought = RungView.example(traded_flow_qty=40.0)
    faded = msgspec.structs.replace(bought, flow_age_s=2 * FLOW_HALF_LIFE_S)
    assert EventView.example(bought, faded).taker_flow_qty == 50


# --- groups of fills ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lean", "bought", "sold"),
    [
        (LEAN_MIN, "with", "against"),
        (0.33, "neutral", "neutral"),
        (-0.33, "neutral", "neutral"),
        (-LEAN_MIN, "against", "with"),
        (None, "unknown", "unknown"),
    ],
)
def test_a_fill_is_with_a_book_that_leans_its_way(lean, bought, sold):
    assert leaning(BID, lean, LEAN_MIN) == bought
    assert leaning(ASK, lean, LEAN_MIN) == sold


@pytest.mark.parametrize(
    ("flow_qty", "bought"),
    [
        (FLOW_MIN_QTY, "with"),
        (0.99, "neutral"),
        (-0.99, "neutral"),
        (-FLOW_MIN_QTY, "against"),
        (None, "unknown"),
    ],
)
def test_a_fill_is_with_takers_who_traded_its_way(flow_qty, bought):
    assert leaning(BID, flow_qty, FLOW_MIN_QTY) == bought


@given(st.floats(-1, 1))
def test_a_sale_is_grouped_as_a_purchase_in_the_mirrored_market(lean):
    assert leaning(ASK, lean, LEAN_MIN) == leaning(BID, -lean, LEAN_MIN)
    assert leaning(ASK, 3 * lean, FLOW_MIN_QTY) == leaning(BID, -3 * lean, FLOW_MIN_QTY)
