"""Strikes, instants and time stamps of the venue that cannot be right."""

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

ABSURD = ["1e999999", "sNaN", "Infinity", "1e400"]


class Silent(Strategy):
    """Quotes nothing."""

    def quote(self, view):
        return {}


def quoting_one_rung() -> Thin:
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


def test_a_read_of_the_same_book_confirms_it():
    world = quoting_one_rung()
    shown = read_as_of(world, instant.from_ns(world.now_ns))
    assert world.rung(0).state.on_read(shown, world.now_ns + 1, is_blocked=False)
    assert world.rung(0).state.confirmed_ns == world.now_ns + 1


@pytest.mark.parametrize("as_of", ["", "garbage", "2026-02-30T00:00:00Z"])
def test_a_read_without_a_readable_time_confirms_nothing(as_of):
    world = quoting_one_rung()
    before_ns = world.rung(0).state.confirmed_ns
    shown = read_as_of(world, as_of)
    assert not world.rung(0).state.on_read(shown, world.now_ns + 1, is_blocked=False)
    assert world.rung(0).state.confirmed_ns == before_ns


@pytest.mark.parametrize(
    ("text", "unit", "dollars"),
    [
        ("212.5", "USD billions", 212.5e9),
        ("3", None, 3.0),
        (None, "USD billions", None),
        *((text, "USD billions", None) for text in ABSURD),
        *((text, "USD billions", None) for text in ("-1e999999", "NaN", "1e-400", "-5", "0", "x")),
    ],
)
def test_a_strike_is_scaled_by_its_unit_and_an_impossible_one_is_none(text, unit, dollars):
    assert strike_dollars(text, unit) == dollars


@pytest.mark.parametrize("text", ABSURD)
def test_a_new_rung_with_an_impossible_strike_stops_its_event(text):
    world = quoting_one_rung()
    absurd = msgspec.structs.replace(market(5), strike_value=text)
    world.markets.append(absurd)
    world.mids.append(40)
    world.run(30)
    [ladder] = world.trader.quoting.ladders
    assert len(ladder.rungs) == 2
    assert not ladder.is_understood


HOUR_NS = 3_600 * NS_PER_SECOND
FAR_NS = instant.to_ns("9999-12-31T00:00:00Z")


def after_stamp(world: Thin, stamp_ns: int) -> int:
    """The instant at which a write with this stamp in its response is taken to be."""
    order = made.own()
    order.market_id = world.markets[0].market_id
    shown = msgspec.structs.replace(made.shown(order), updated_at=instant.from_ns(stamp_ns))
    world.trader.quoting.on_own_write(shown, world.now_ns)
    return world.rung(0).state.owed_ts_ns


def trade(world: Thin, stamp_ns: int, name: str, index: int = 0) -> m.Trade:
    """A print of one share at 50 cents."""
    return m.Trade(world.markets[index].market_id, stamp_ns, name, Price(50), Qty(1), True)


def move_book(
    world: Thin, index: int, ahead_ns: int, times: int = 1, apart_ns: int = NS_PER_SECOND // 10
) -> None:
    """The book of a rung changes, so far apart, stamped so far ahead of our clock."""
    for _ in range(times):
        world.now_ns += apart_ns
        world.mids[index] = 50 if world.mids[index] == 60 else 60
        world.show(index, world.now_ns + ahead_ns)


def with_clock(ahead_ns: int = 0) -> Thin:
    """A trader that has learned how far the venue's clock is ahead of its own."""
    world = quoting_one_rung()
    move_book(world, 0, ahead_ns, times=5)
    return world


def has_latest_book(world: Thin, index: int = 0) -> bool:
    """True if the trader has the book that was shown last."""
    return world.rung(index).state.bids[0][0] == world.mids[index] - 2


def test_a_write_stamped_about_now_is_taken_at_its_stamp():
    world = quoting_one_rung()
    stamp_ns = world.now_ns + NS_PER_SECOND // 2
    assert after_stamp(world, stamp_ns) == stamp_ns


def test_a_write_stamped_far_in_the_future_is_taken_as_of_now():
    world = with_clock()
    assert after_stamp(world, FAR_NS) == world.now_ns


@pytest.mark.parametrize("venue_ahead_ns", [-HOUR_NS, 0, HOUR_NS])
def test_books_stamped_far_ahead_are_dropped_and_bar_no_later_book(venue_ahead_ns):
    world = with_clock(venue_ahead_ns)
    held = world.rung(0).state.bids
    for number in range(10):
        move_book(world, 0, venue_ahead_ns + (number + 1) * HOUR_NS)
        assert world.rung(0).state.bids == held
        assert world.rung(0).state.suspect_since_ns is not None
    move_book(world, 0, venue_ahead_ns - NS_PER_SECOND // 4)
    assert has_latest_book(world)
    assert world.rung(0).state.suspect_since_ns is None
    assert world.trader.quoting.clock.ahead_ns == venue_ahead_ns


def test_a_venue_clock_set_ahead_is_followed_once_three_stamps_agree():
    world = with_clock()
    move_book(world, 0, HOUR_NS, times=3)
    assert has_latest_book(world)
    assert world.trader.quoting.clock.ahead_ns == HOUR_NS


def test_a_book_with_less_latency_than_usual_is_accepted():
    world = with_clock()
    move_book(world, 0, 9 * NS_PER_SECOND // 10)
    move_book(world, 0, 12 * NS_PER_SECOND // 10)
    assert has_latest_book(world)


def test_a_repeated_wrong_stamp_does_not_move_the_clock():
    world = with_clock()
    wrong_ns = world.now_ns + HOUR_NS
    for _ in range(20):
        world.now_ns += NS_PER_SECOND
        world.show(0, wrong_ns)
        world.give(trade(world, wrong_ns, "again"))
    assert world.trader.quoting.clock.ahead_ns < NS_PER_SECOND
    move_book(world, 0, 0)
    assert has_latest_book(world)


def test_books_are_accepted_again_four_minutes_after_the_venue_clock_was_wrong():
    world = with_clock()
    move_book(world, 0, HOUR_NS, times=50)
    assert world.trader.quoting.clock.ahead_ns == HOUR_NS
    move_book(world, 0, 0, times=124, apart_ns=2 * NS_PER_SECOND)
    assert has_latest_book(world)
    move_book(world, 0, 0)
    assert has_latest_book(world)


def test_minutes_of_latency_do_not_move_the_clock():
    world = with_clock()
    world.now_ns += 20 * NS_PER_SECOND  # what was sent by now is still on its way
    move_book(world, 0, -20 * NS_PER_SECOND, times=70, apart_ns=2 * NS_PER_SECOND)
    assert world.trader.quoting.clock.ahead_ns == 0
    move_book(world, 0, 0)
    assert has_latest_book(world)
    assert world.rung(0).state.ts_ns == world.now_ns


def test_a_trade_stamped_far_ahead_does_not_block_its_rung():
    world = with_clock()
    world.give(trade(world, world.now_ns + HOUR_NS, "wrong"))
    for number in range(10):
        move_book(world, 0, 0)
        world.give(trade(world, world.now_ns, f"right {number}"))
        world.run(0.5)
    assert world.rung(0).blocked == ""
    assert world.rung(0).state.suspect_since_ns is None


def test_a_write_stamped_wrong_before_the_clock_was_known_holds_no_view_back():
    world = quoting_one_rung()
    world.show(0, world.now_ns + 2 * HOUR_NS)
    after_stamp(world, world.now_ns + 2 * HOUR_NS)
    move_book(world, 0, 0, times=5)
    world.mids[0] = 44
    world.now_ns += NS_PER_SECOND // 10
    world.show(0)
    bids, _ = world.rung(0).state.settle_external((), world.now_ns)
    assert bids[0][0] == 42


def test_events_stamped_wrong_before_the_clock_was_known_bar_no_later_event():
    world = quoting_one_rung()
    world.give(trade(world, world.now_ns + HOUR_NS, "wrong"))
    world.give(m.ImpliedValueSeen(PROJECT, world.now_ns + HOUR_NS, 1e11, 0.9))
    world.show(0, world.now_ns + HOUR_NS)
    move_book(world, 0, 0, times=5)
    world.give(msgspec.structs.replace(trade(world, world.now_ns, "right"), price=Price(44)))
    world.give(m.ImpliedValueSeen(PROJECT, world.now_ns, 2e11, 0.9))
    move_book(world, 0, 0)
    view = world.trader.quoting.implied_view(PROJECT, world.now_ns)
    assert view is not None
    assert view.value_dollars == 2e11
    assert world.rung(0).state.last_price == 44
    assert has_latest_book(world)
    assert world.rung(0).state.suspect_since_ns is None


def test_an_implied_value_stamped_far_ahead_bars_no_later_value():
    world = with_clock()
    quoting = world.trader.quoting
    for value, stamp_ns in ((1e11, world.now_ns + HOUR_NS), (2e11, world.now_ns)):
        world.give(m.ImpliedValueSeen(PROJECT, stamp_ns, value, 0.9))
        world.now_ns += NS_PER_SECOND
    world.give(m.ImpliedValueSeen(PROJECT, world.now_ns, 3e11, 0.9))
    view = quoting.implied_view(PROJECT, world.now_ns)
    assert view is not None
    assert view.value_dollars == 3e11
