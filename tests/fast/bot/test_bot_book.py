"""Claims about the state of one market: its book, prints, freshness, our own size and takes."""

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
from venue.wire import codec, instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Outcome, Price, Qty, Side
from venue.wire.requests import TimeInForce

S = NS_PER_SECOND
BID, ASK = BookSide.BID, BookSide.ASK
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


def fresh() -> MarketState:
    return MarketState(VenueClock(), 1.0)


def known(ts_ns: int = 100 * S, now_ns: int = 0) -> MarketState:
    state = fresh()
    show(state, ts_ns, now_ns)
    return state


def why_not(of: MarketState, now_ns: int) -> str:
    return of.judge_freshness("", TRUST, now_ns)


# --- the book -------------------------------------------------------------------------------------


def test_a_market_without_a_book_is_unknown() -> None:
    state = fresh()
    assert not state.is_known
    assert why_not(state, 0) == "no book yet"
    assert (state.bids, state.asks) == ((), ())


def test_an_older_frame_changes_nothing() -> None:
    state = known()
    version = state.version
    show(state, 100 * S - 1, 5, (), ())
    assert (state.bids, state.asks, state.ts_ns) == (BIDS, ASKS, 100 * S)
    assert (state.confirmed_ns, state.version) == (0, version)


def test_a_frame_of_the_same_instant_replaces_the_one_before() -> None:
    state = known()
    show(state, 100 * S, 7, ())
    assert (state.bids, state.confirmed_ns) == ((), 7)


def test_a_lost_feed_leaves_no_book_and_then_any_frame_counts() -> None:
    state = known()
    state.forget_book()
    assert why_not(state, 0) == "no book yet"
    show(state, 1, 0)
    assert state.is_known


def test_a_view_of_the_market_holds_until_a_frame_changes_the_book() -> None:
    state = known()
    version = state.version
    show(state, 101 * S, 1)
    assert state.version == version
    show(state, 102 * S, 2, ())
    assert state.version != version


def test_a_book_goes_stale_after_ten_seconds_and_a_read_confirms_it() -> None:
    state = known(now_ns=5)
    assert why_not(state, 5 + 10 * S) == ""
    assert why_not(state, 6 + 10 * S) == "book stale"
    assert read(state, 101 * S, 9 * S)
    assert why_not(state, 15 * S) == ""
    assert not read(fresh(), 101 * S, 9 * S)


@pytest.mark.parametrize("ask", [39, 40])
def test_a_crossed_or_locked_book_is_not_believed(ask: int) -> None:
    state = fresh()
    show(state, 1, 0, asks=levels((ask, 1)))
    assert why_not(state, 0) == "book stale"


# --- prints ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lead_ns", "believed"), [(S, True), (S + 1, False)])
def test_a_print_more_than_a_second_newer_than_the_book_puts_it_in_doubt(
    lead_ns: int, believed: bool
) -> None:
    state = known()
    state.on_trade(trade("t", 100 * S + lead_ns), (), S)
    assert (state.suspect_since_ns is None) is believed
    assert (why_not(state, 2 * S + 1) == "") is believed


def test_a_print_on_a_quiet_market_leaves_its_frame_a_second_to_come() -> None:
    state = known()
    state.on_trade(trade("t", 103 * S), (), S)
    assert why_not(state, 2 * S) == ""
    assert why_not(state, 2 * S + 1) == "book stale"


def test_a_newer_frame_or_a_confirmation_explains_the_print() -> None:
    by_frame, by_read = known(), known()
    for state in (by_frame, by_read):
        state.on_trade(trade("t", 103 * S), (), S)
    show(by_frame, 102 * S, 2 * S)
    assert read(by_read, 102 * S, 2 * S)
    assert why_not(by_frame, 4 * S) == why_not(by_read, 4 * S) == ""


def test_a_frame_that_is_still_too_old_for_the_print_explains_nothing() -> None:
    state = known()
    state.on_trade(trade("t", 105 * S), (), S)
    show(state, 101 * S, 2 * S)
    assert why_not(state, 2 * S + 1) == "book stale"


def test_a_print_counts_once_however_often_it_is_shown() -> None:
    state = known()
    assert state.on_trade(trade("a", 10, 41), (), 0) == 0
    assert state.on_trade(trade("a", 10, 41), (), 0) is None
    assert state.on_trade(trade("b", 10, 42), (), 0) == 0


def test_the_last_price_follows_the_venues_time_not_the_order_of_arrival() -> None:
    state = known()
    state.on_trade(trade("new", 20, 43), (), 0)
    state.on_trade(trade("old", 10, 41), (), 1)
    assert state.last_price == 43


def test_remembered_prints_are_bounded_and_the_newest_are_kept() -> None:
    state = known()
    for number in range(2_000):
        state.on_trade(trade(str(number), number), (), 0)
    assert [state.has_printed(name) for name in ("1999", "1500", "0")] == [True, True, False]


# --- our own size ---------------------------------------------------------------------------------


def resting(*orders: tuple[BookSide, int, int]) -> list[OwnOrder]:
    """Open orders of ours: side, canonical price, shares."""
    return [
        made.own(
            State.OPEN, price=price, qty=qty, number=at, side=Side.BUY if side is BID else Side.SELL
        )
        for at, (side, price, qty) in enumerate(orders)
    ]


def test_our_own_size_is_taken_out_and_an_emptied_level_is_dropped() -> None:
    own = resting((BID, 40, 4), (BID, 39, 5), (ASK, 40, 9))
    assert known().without_own(own) == (levels((40, 6)), ASKS)


def test_own_size_that_the_book_does_not_show_yet_leaves_no_negative_level() -> None:
    own = resting((ASK, 44, 50), (ASK, 45, 1))
    assert known().without_own(own) == (BIDS, levels((50, 100)))


@settings(deadline=None)
@given(
    st.dictionaries(st.integers(1, 99), st.integers(1, 50), max_size=8),
    st.dictionaries(st.integers(1, 99), st.integers(1, 50), max_size=8),
)
def test_others_and_ours_add_up_to_what_is_shown_where_we_rest_within_it(
    all_sizes: dict[int, int], own: dict[int, int]
) -> None:
    state = fresh()
    show(state, 0, 0, levels(*sorted(all_sizes.items(), reverse=True)), ())
    left, _ = state.without_own(resting(*((BID, price, qty) for price, qty in own.items())))
    expected = {p: q - own.get(p, 0) for p, q in all_sizes.items() if q > own.get(p, 0)}
    assert dict(left) == expected
    assert [p for p, _ in left] == sorted(expected, reverse=True)


# --- prints of our own takes ----------------------------------------------------------------------


def take(outcome: Outcome = Outcome.YES) -> OwnOrder:
    """A purchase of 50 that has left, to trade at once or not at all, and has no answer."""
    order = made.intent(qty=50, outcome=outcome)
    order = msgspec.structs.replace(order, time_in_force=TimeInForce.IOC)
    return OwnOrder.first_sent(order, codec.encode_new_order(order), T0, "made")


def filled(of: OwnOrder, qty: int = 50) -> model.Order:
    """The answer to it."""
    return made.over(of, model.OrderStatus.FILLED, qty)


def parts(
    of: MarketState,
    *sizes: int,
    own: tuple[OwnOrder, ...] = (),
    buys: bool = True,
    at_ns: int = T0,
) -> list[int | None]:
    """How many shares of prints of these sizes are ours."""
    return [
        of.on_trade(trade(f"{buys}-{at}-{len(own)}", 1, size=size, buys=buys), own, at_ns)
        for at, size in enumerate(sizes)
    ]


@pytest.mark.parametrize("outcome", list(Outcome))
def test_the_prints_of_an_answered_take_are_ours_and_no_more(outcome: Outcome) -> None:
    state, buys = fresh(), outcome is Outcome.YES
    state.on_own_take(filled(take(outcome)), T0)
    assert parts(state, 50, buys=not buys) == [0]
    assert parts(state, 20, 20, 45, 5, buys=buys) == [20, 20, 10, 0]


def test_a_print_that_comes_before_the_answer_is_counted_once() -> None:
    state, own = fresh(), take()
    assert parts(state, 50, 50, own=(own,)) == [50, 0]
    state.on_own_take(filled(own), T0)
    assert parts(state, 50) == [0]


@pytest.mark.parametrize(("seconds", "part"), [(5, 50), (5.001, 0)])
def test_a_print_long_after_a_take_may_be_anybodys(seconds: float, part: int) -> None:
    at_ns, answered = T0 + int(seconds * S), fresh()
    answered.on_own_take(filled(take()), T0)
    assert parts(answered, 50, at_ns=at_ns) == [part]
    assert parts(fresh(), 50, own=(take(),), at_ns=at_ns) == [part]


def test_resting_orders_and_answers_without_a_side_take_nothing() -> None:
    state = fresh()
    state.on_own_take(msgspec.structs.replace(filled(take()), side=model.ShownSide.UNKNOWN), T0)
    assert parts(state, 50, own=(made.own(State.OPEN, qty=50),)) == [0]


# --- the microprice -------------------------------------------------------------------------------


def test_the_microprice_leans_to_the_thinner_side_and_counts_a_hundred_shares_at_most() -> None:
    assert microprice(40, 30, 44, 10) == pytest.approx(43.0)
    assert microprice(40, 10, 44, 30) == pytest.approx(41.0)
    assert microprice(40, 10_000, 44, 100) == pytest.approx(42.0)
