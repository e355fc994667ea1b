"""Claims about one rung: strikes, instants and stamps of the venue's that cannot be meant."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.strike import strike_dollars
from bot.strategy.api import Strategy
from tests.builders.bot import made
from tests.builders.bot.thin import PROJECT, Thin, market
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty


class Silent(Strategy):
    """Quotes nothing."""

    def quote(self, view):
        return {}


def thin() -> Thin:
    """A trader with one rung, quoting."""
    world = Thin([50], lambda: Silent(None))
    world.start()
    return world


def read_as_of(world: Thin, as_of: str) -> model.Orderbook:
    """The very book that the trader holds, read by REST."""
    book = world.rung(0).state
    return model.Orderbook(
        ticker=world.markets[0].ticker,
        market_id=world.markets[0].market_id,
        as_of=as_of,
        bids=tuple(model.Level(price, size) for price, size in book.bids),
        asks=tuple(model.Level(price, size) for price, size in book.asks),
    )


def test_the_book_held_is_confirmed_by_a_read_of_it():
    world = thin()
    shown = read_as_of(world, instant.from_ns(world.now_ns))
    assert world.rung(0).state.on_read(shown, world.now_ns + 1, is_blocked=False)
    assert world.rung(0).state.confirmed_ns == world.now_ns + 1


@pytest.mark.parametrize("as_of", ["", "garbage", "2026-02-30T00:00:00Z"])
def test_a_read_that_does_not_tell_its_time_confirms_nothing_and_raises_nothing(as_of):
    world = thin()
    before_ns = world.rung(0).state.confirmed_ns
    shown = read_as_of(world, as_of)
    assert not world.rung(0).state.on_read(shown, world.now_ns + 1, is_blocked=False)
    assert world.rung(0).state.confirmed_ns == before_ns


@pytest.mark.parametrize(
    "text", ["1e999999", "-1e999999", "sNaN", "NaN", "Infinity", "1e400", "1e-400", "-5", "0", "x"]
)
def test_a_strike_that_no_value_can_be_is_none(text):
    assert strike_dollars(text, "USD billions") is None


@pytest.mark.parametrize(
    ("text", "unit", "dollars"),
    [("212.5", "USD billions", 212.5e9), ("3", None, 3.0), (None, "USD billions", None)],
)
def test_a_strike_is_scaled_by_its_unit(text, unit, dollars):
    assert strike_dollars(text, unit) == dollars


@pytest.mark.parametrize("text", ["1e999999", "sNaN", "Infinity", "1e400"])
def test_a_new_rung_with_an_absurd_strike_stops_its_event_and_raises_nothing(text):
    world = thin()
    absurd = msgspec.structs.replace(market(5), strike_value=text)
    world.markets.append(absurd)
    world.mids.append(40)
    world.run(30)
    [ladder] = world.trader.quoting.ladders
    assert len(ladder.rungs) == 2
    assert not ladder.is_understood


# --- stamps that cannot be meant ------------------------------------------------------------------

HOUR_NS = 3_600 * NS_PER_SECOND
FAR_NS = instant.to_ns("9999-12-31T00:00:00Z")


def after_stamp(world: Thin, stamp_ns: int) -> int:
    """The instant that a write of ours is taken to be of, when its answer bears this stamp."""
    order = made.own()
    order.market_id = world.markets[0].market_id
    shown = msgspec.structs.replace(made.shown(order), updated_at=instant.from_ns(stamp_ns))
    world.trader.quoting.on_own_write(shown, world.now_ns)
    return world.rung(0).state.owed_ts_ns


def prints(world: Thin, stamp_ns: int, name: str, index: int = 0) -> m.Trade:
    """A print of one share at 50 cents."""
    return m.Trade(world.markets[index].market_id, stamp_ns, name, Price(50), Qty(1), True)


def moves(
    world: Thin, index: int, ahead_ns: int, times: int = 1, apart_ns: int = NS_PER_SECOND // 10
) -> None:
    """The book of a rung changes, so far apart, stamped so far ahead of our clock."""
    for _ in range(times):
        world.now_ns += apart_ns
        world.mids[index] = 50 if world.mids[index] == 60 else 60
        world.show(index, world.now_ns + ahead_ns)


def timed(ahead_ns: int = 0) -> Thin:
    """A trader that has learned how far the venue's clock is ahead of its own."""
    world = thin()
    moves(world, 0, ahead_ns, times=5)
    return world


def shows_what_it_was_shown(world: Thin, index: int = 0) -> bool:
    """Whether the book that is held is the one that was shown last."""
    return world.rung(index).state.bids[0][0] == world.mids[index] - 2


def test_a_stamp_of_about_now_is_believed():
    world = thin()
    stamp_ns = world.now_ns + NS_PER_SECOND // 2
    assert after_stamp(world, stamp_ns) == stamp_ns


def test_a_write_stamped_far_in_the_future_is_taken_to_be_of_now():
    world = timed()
    assert after_stamp(world, FAR_NS) == world.now_ns


@pytest.mark.parametrize("venue_ahead_ns", [-HOUR_NS, 0, HOUR_NS])
def test_books_stamped_far_ahead_are_dropped_and_bar_no_later_one(venue_ahead_ns):
    world = timed(venue_ahead_ns)
    held = world.rung(0).state.bids
    for number in range(10):
        moves(world, 0, venue_ahead_ns + (number + 1) * HOUR_NS)
        assert world.rung(0).state.bids == held
        assert world.rung(0).state.suspect_since_ns is not None
    moves(world, 0, venue_ahead_ns - NS_PER_SECOND // 4)
    assert shows_what_it_was_shown(world)
    assert world.rung(0).state.suspect_since_ns is None
    assert world.trader.quoting.clock.ahead_ns == venue_ahead_ns


def test_a_venue_clock_that_was_set_ahead_is_followed_once_three_stamps_agree():
    world = timed()
    moves(world, 0, HOUR_NS, times=3)
    assert shows_what_it_was_shown(world)
    assert world.trader.quoting.clock.ahead_ns == HOUR_NS


def test_a_book_that_comes_sooner_than_most_is_no_older_than_the_one_before():
    world = timed()
    moves(world, 0, 9 * NS_PER_SECOND // 10)
    moves(world, 0, 12 * NS_PER_SECOND // 10)
    assert shows_what_it_was_shown(world)


def test_a_wrong_stamp_that_is_shown_again_and_again_is_no_clock():
    world = timed()
    wrong_ns = world.now_ns + HOUR_NS
    for _ in range(20):
        world.now_ns += NS_PER_SECOND
        world.show(0, wrong_ns)
        world.give(prints(world, wrong_ns, "again"))
    assert world.trader.quoting.clock.ahead_ns < NS_PER_SECOND
    moves(world, 0, 0)
    assert shows_what_it_was_shown(world)


def test_four_minutes_after_a_venue_clock_that_stood_wrong_the_books_go_on():
    world = timed()
    moves(world, 0, HOUR_NS, times=50)
    assert world.trader.quoting.clock.ahead_ns == HOUR_NS
    moves(world, 0, 0, times=124, apart_ns=2 * NS_PER_SECOND)
    assert shows_what_it_was_shown(world)
    moves(world, 0, 0)
    assert shows_what_it_was_shown(world)


def test_a_line_that_is_slow_for_minutes_does_not_make_what_is_right_look_wrong():
    world = timed()
    world.now_ns += 20 * NS_PER_SECOND  # what was sent by now is still on its way
    moves(world, 0, -20 * NS_PER_SECOND, times=70, apart_ns=2 * NS_PER_SECOND)
    assert world.trader.quoting.clock.ahead_ns == 0
    moves(world, 0, 0)
    assert shows_what_it_was_shown(world)
    assert world.rung(0).state.ts_ns == world.now_ns


def test_nothing_is_sent_on_a_book_of_which_nobody_knows_when_it_was():
    world = timed()
    moves(world, 0, HOUR_NS)
    assert world.rung(0).state.suspect_since_ns is not None
    moves(world, 0, 0)
    assert world.rung(0).state.suspect_since_ns is None


def test_a_print_stamped_far_ahead_leaves_the_rung_quoted_and_the_channel_in_time():
    world = timed()
    world.give(prints(world, world.now_ns + HOUR_NS, "wrong"))
    for number in range(10):
        moves(world, 0, 0)
        world.give(prints(world, world.now_ns, f"right {number}"))
        world.run(0.5)
    assert world.rung(0).blocked == ""
    assert world.rung(0).state.suspect_since_ns is None


def test_a_write_stamped_wrong_before_the_time_was_known_holds_no_view_back_once_it_is():
    world = thin()
    world.show(0, world.now_ns + 2 * HOUR_NS)
    after_stamp(world, world.now_ns + 2 * HOUR_NS)
    moves(world, 0, 0, times=5)
    world.mids[0] = 44
    world.now_ns += NS_PER_SECOND // 10
    world.show(0)
    bids, _ = world.rung(0).state.settle_external((), world.now_ns)
    assert bids[0][0] == 42


def test_what_came_with_a_wrong_stamp_before_the_time_was_known_bars_nothing_once_it_is():
    world = thin()
    world.give(prints(world, world.now_ns + HOUR_NS, "wrong"))
    world.give(m.ImpliedValueSeen(PROJECT, world.now_ns + HOUR_NS, 1e11, 0.9))
    world.show(0, world.now_ns + HOUR_NS)
    moves(world, 0, 0, times=5)
    world.give(msgspec.structs.replace(prints(world, world.now_ns, "right"), price=Price(44)))
    world.give(m.ImpliedValueSeen(PROJECT, world.now_ns, 2e11, 0.9))
    moves(world, 0, 0)
    view = world.trader.quoting.implied_view(PROJECT, world.now_ns)
    assert view is not None
    assert view.value_dollars == 2e11
    assert world.rung(0).state.last_price == 44
    assert shows_what_it_was_shown(world)
    assert world.rung(0).state.suspect_since_ns is None


def test_an_implied_value_stamped_far_ahead_bars_no_later_one():
    world = timed()
    quoting = world.trader.quoting
    for value, stamp_ns in ((1e11, world.now_ns + HOUR_NS), (2e11, world.now_ns)):
        world.give(m.ImpliedValueSeen(PROJECT, stamp_ns, value, 0.9))
        world.now_ns += NS_PER_SECOND
    world.give(m.ImpliedValueSeen(PROJECT, world.now_ns, 3e11, 0.9))
    view = quoting.implied_view(PROJECT, world.now_ns)
    assert view is not None
    assert view.value_dollars == 3e11


def test_an_older_implied_value_changes_nothing():
    world = thin()
    for value, stamp_ns in ((1e11, world.now_ns), (2e11, world.now_ns - 1)):
        world.give(m.ImpliedValueSeen(PROJECT, stamp_ns, value, 0.9))
    view = world.trader.quoting.implied_view(PROJECT, world.now_ns + 7 * NS_PER_SECOND)
    assert view is not None
    assert (view.value_dollars, view.age_s) == (1e11, 7.0)
