"""The state of one market: its book, trades, freshness, our own size and takes."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.market_data.market_state import MarketState, VenueClock, microprice
from bot.core.messages import BookUpdate, Trade
from bot.core.orders.order import OwnOrder, State
from bot.core.settings import StalenessSettings
from bot.strategy.api import Levels
from tests.builders.bot import made
from tests.builders.bot.made import MARKET, T0
from tests.builders.bot.planned import ASK, BID
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Outcome, Price, Qty, Side
from venue.wire.requests import TimeInForce

S = NS_PER_SECOND
TRUST = StalenessSettings()


def levels(*pairs: tuple[int, int]) -> Levels:
    return tuple((Price(price), Qty(size)) for price, size in pairs)


BIDS = levels((40, 10), (39, 5))
ASKS = levels((44, 7), (50, 100))


def trade(trade_id: str, ts_ns: int, price: int = 44, size: int = 1, *, buys: bool = True) -> Trade:
    return Trade(MARKET, ts_ns, trade_id, Price(price), Qty(size), buys)


def show(
    of: MarketState, ts_ns: int, now_ns: int, bids: Levels = BIDS, asks: Levels = ASKS
) -> None:
    """A frame of its book arrives."""
    of.on_book(BookUpdate(MARKET, ts_ns, bids, asks), (), TRUST, now_ns, is_blocked=False)


def read(of: MarketState, as_of_ns: int, now_ns: int) -> bool:
    """A read of the very book that is held arrives."""
    sides = [tuple(model.Level(price, size) for price, size in side) for side in (of.bids, of.asks)]
    shown = model.Orderbook("T", MARKET, instant.from_ns(as_of_ns), *sides)  # type: ignore[arg-type]
    return of.on_read(shown, now_ns, is_blocked=False)


def empty_state() -> MarketState:
    return MarketState(VenueClock(), 1.0)


def known(ts_ns: int = 100 * S, now_ns: int = 0) -> MarketState:
    state = empty_state()
    show(state, ts_ns, now_ns)
    return state


def why_not(of: MarketState, now_ns: int) -> str:
    return of.judge_freshness("", TRUST, now_ns)


def test_a_market_without_a_book_is_unknown():
    state = empty_state()
    assert not state.is_known
    assert why_not(state, 0) == "no book yet"
    assert (state.bids, state.asks) == ((), ())


def test_an_older_book_changes_nothing():
    state = known()
    version = state.version
    show(state, 100 * S - 1, 5, (), ())
    assert (state.bids, state.asks, state.ts_ns) == (BIDS, ASKS, 100 * S)
    assert (state.confirmed_ns, state.version) == (0, version)


def test_a_book_of_the_same_instant_replaces_the_last():
    state = known()
    show(state, 100 * S, 7, ())
    assert (state.bids, state.confirmed_ns) == ((), 7)


def test_after_a_lost_feed_any_book_counts():
    state = known()
    state.forget_book()
    assert why_not(state, 0) == "no book yet"
    show(state, 1, 0)
    assert state.is_known


def test_a_book_is_stale_after_ten_seconds_unless_a_read_confirms_it():
    state = known(now_ns=5)
    assert why_not(state, 5 + 10 * S) == ""
    assert why_not(state, 6 + 10 * S) == "book stale"
    assert read(state, 101 * S, 9 * S)
    assert why_not(state, 15 * S) == ""
    assert not read(empty_state(), 101 * S, 9 * S)


@pytest.mark.parametrize("ask", [39, 40])
def test_a_crossed_or_locked_book_is_stale(ask):
    state = empty_state()
    show(state, 1, 0, asks=levels((ask, 1)))
    assert why_not(state, 0) == "book stale"


@pytest.mark.parametrize(("lead_ns", "believed"), [(S, True), (S + 1, False), (3 * S, False)])
def test_a_trade_over_a_second_newer_than_the_book_makes_it_stale_a_second_later(lead_ns, believed):
    state = known()
    state.on_trade(trade("t", 100 * S + lead_ns), (), S)
    assert (state.suspect_since_ns is None) is believed
    assert why_not(state, 2 * S) == ""
    assert why_not(state, 2 * S + 1) == ("" if believed else "book stale")


@pytest.mark.parametrize(
    ("explain", "stale"),
    [
        (lambda state: show(state, 102 * S, 2 * S), ""),
        (lambda state: read(state, 102 * S, 2 * S), ""),
        (lambda state: show(state, 101 * S, 2 * S), "book stale"),
    ],
    ids=["a newer book", "a newer read", "a book still too old"],
)
def test_a_newer_book_or_read_explains_a_trade(explain, stale):
    state = known()
    state.on_trade(trade("t", 103 * S), (), S)
    explain(state)
    assert why_not(state, 2 * S + 1) == stale


def test_a_trade_counts_once():
    state = known()
    assert state.on_trade(trade("a", 10, 41), (), 0) == 0
    assert state.on_trade(trade("a", 10, 41), (), 0) is None
    assert state.on_trade(trade("b", 10, 42), (), 0) == 0


def test_the_last_price_follows_the_venues_time():
    state = known()
    state.on_trade(trade("new", 20, 43), (), 0)
    state.on_trade(trade("old", 10, 41), (), 1)
    assert state.last_price == 43


def test_the_newest_trades_are_remembered_up_to_a_limit():
    state = known()
    for number in range(2_000):
        state.on_trade(trade(str(number), number), (), 0)
    assert [state.has_printed(name) for name in ("1999", "1500", "0")] == [True, True, False]


def resting(*orders: tuple[BookSide, int, int]) -> list[OwnOrder]:
    """Open orders of ours: side, canonical price, shares."""
    return [
        made.own(
            State.OPEN, price=price, qty=qty, number=at, side=Side.BUY if side is BID else Side.SELL
        )
        for at, (side, price, qty) in enumerate(orders)
    ]


@pytest.mark.parametrize(
    ("orders", "external"),
    [
        ([(BID, 40, 4), (BID, 39, 5), (ASK, 40, 9)], (levels((40, 6)), ASKS)),
        ([(ASK, 44, 50), (ASK, 45, 1)], (BIDS, levels((50, 100)))),
    ],
    ids=["an emptied level is dropped", "size not shown yet"],
)
def test_the_external_book_is_without_our_size(orders, external):
    assert known().without_own(resting(*orders)) == external


@settings(deadline=None)
@given(
    st.dictionaries(st.integers(1, 99), st.integers(1, 50), max_size=8),
    st.dictionaries(st.integers(1, 99), st.integers(1, 50), max_size=8),
)
def test_external_and_own_size_add_up_to_the_book(all_sizes, own):
    state = empty_state()
    show(state, 0, 0, levels(*sorted(all_sizes.items(), reverse=True)), ())
    left, _ = state.without_own(resting(*((BID, price, qty) for price, qty in own.items())))
    expected = {p: q - own.get(p, 0) for p, q in all_sizes.items() if q > own.get(p, 0)}
    assert dict(left) == expected
    assert [p for p, _ in left] == sorted(expected, reverse=True)


def take(outcome: Outcome = Outcome.YES) -> OwnOrder:
    """A purchase of 50 that has left, to trade at once or not at all, and has no answer."""
    order = made.intent(qty=50, outcome=outcome)
    order = msgspec.structs.replace(order, time_in_force=TimeInForce.IOC)
    return OwnOrder(order, T0, "made")


def filled(of: OwnOrder, qty: int = 50) -> model.Order:
    return made.over(of, model.OrderStatus.FILLED, qty)


def parts(
    of: MarketState, *sizes: int, own: tuple[OwnOrder, ...] = (), buys: bool = True, at_ns: int = T0
) -> list[int | None]:
    """How many shares of prints of these sizes are ours."""
    return [
        of.on_trade(trade(f"{buys}-{at}-{len(own)}", 1, size=size, buys=buys), own, at_ns)
        for at, size in enumerate(sizes)
    ]


@pytest.mark.parametrize("outcome", list(Outcome))
def test_trades_up_to_the_size_of_an_answered_take_are_ours(outcome):
    state, buys = empty_state(), outcome is Outcome.YES
    state.on_own_take(filled(take(outcome)), T0)
    assert parts(state, 50, buys=not buys) == [0]
    assert parts(state, 20, 20, 45, 5, buys=buys) == [20, 20, 10, 0]


def test_a_trade_before_the_response_to_a_take_counts_once():
    state, own = empty_state(), take()
    assert parts(state, 50, 50, own=(own,)) == [50, 0]
    state.on_own_take(filled(own), T0)
    assert parts(state, 50) == [0]


@pytest.mark.parametrize(("seconds", "part"), [(5, 50), (5.001, 0)])
def test_a_trade_over_five_seconds_after_a_take_is_not_ours(seconds, part):
    at_ns, answered = T0 + int(seconds * S), empty_state()
    answered.on_own_take(filled(take()), T0)
    assert parts(answered, 50, at_ns=at_ns) == [part]
    assert parts(empty_state(), 50, own=(take(),), at_ns=at_ns) == [part]


def test_resting_orders_and_responses_without_a_side_are_no_takes():
    state = empty_state()
    state.on_own_take(msgspec.structs.replace(filled(take()), side=model.ShownSide.UNKNOWN), T0)
    assert parts(state, 50, own=(made.own(State.OPEN, qty=50),)) == [0]


def test_the_microprice_leans_to_the_thinner_side_up_to_a_hundred_shares():
    assert microprice(40, 30, 44, 10) == pytest.approx(43.0)
    assert microprice(40, 10, 44, 30) == pytest.approx(41.0)
    assert microprice(40, 10_000, 44, 100) == pytest.approx(42.0)
