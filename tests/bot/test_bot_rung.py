"""Claims about one rung: strikes, instants and stamps of the venue's that cannot be meant."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.strategy import Strategy
from bot.core.strike import strike_dollars
from tests.bot import made
from tests.bot.thin import Thin, market
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
    book = world.rung(0).book
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
    assert world.rung(0).confirms(shown, world.now_ns + 1)
    assert world.rung(0).confirmed_ns == world.now_ns + 1


@pytest.mark.parametrize("as_of", ["", "garbage", "2026-02-30T00:00:00Z"])
def test_a_read_that_does_not_tell_its_time_confirms_nothing_and_raises_nothing(as_of):
    world = thin()
    before_ns = world.rung(0).confirmed_ns
    assert not world.rung(0).confirms(read_as_of(world, as_of), world.now_ns + 1)
    assert world.rung(0).confirmed_ns == before_ns


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


def after_stamp(world: Thin, stamp_ns: int) -> int:
    """The instant that a write of ours is taken to be of, when its answer bears this stamp."""
    rung = world.rung(0)
    rung.shown_own(made.shown(made.own()), stamp_ns, (), world.now_ns)
    return rung._own_change_ns


def test_a_stamp_of_about_now_is_believed():
    world = thin()
    stamp_ns = world.now_ns + NS_PER_SECOND // 2
    assert after_stamp(world, stamp_ns) == stamp_ns


def test_a_stamp_far_in_the_future_is_of_now():
    world = thin()
    assert after_stamp(world, instant.to_ns("9999-12-31T00:00:00Z")) == world.now_ns


def test_after_a_stamp_far_in_the_future_the_next_book_is_seen_at_once():
    world = thin()
    after_stamp(world, instant.to_ns("9999-12-31T00:00:00Z"))
    world.mids[0] = 60
    world.now_ns += NS_PER_SECOND // 10
    world.show(0)
    bids, _ = world.rung(0).settled_others((), world.now_ns)
    assert bids[0][0] == 58


@pytest.mark.parametrize("seen", ["book", "print"])
def test_a_venue_whose_clock_is_ahead_is_believed_by_its_own_clock(seen):
    world = thin()
    ahead_ns = 3_600 * NS_PER_SECOND
    if seen == "book":
        world.show(0, world.now_ns + ahead_ns)
    else:
        market_id = world.markets[0].market_id
        price = Price(50)
        world.give(m.TradeSeen(market_id, world.now_ns + ahead_ns, "t", price, Qty(1), True))
    stamp_ns = world.now_ns + ahead_ns + NS_PER_SECOND // 2
    assert after_stamp(world, stamp_ns) == stamp_ns
    assert after_stamp(world, 2 * stamp_ns) == stamp_ns
