"""The jump guard: what pulls an event, for how long, and what does not."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.quoting.guards import JumpGuard
from bot.core.settings import NewsSettings
from tests.builders.bot.planned import ASK, BID
from tests.builders.bot.thin import Thin
from tests.builders.strategies.views import rung
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Price, Qty

SECOND = NS_PER_SECOND
BOOK = (((Price(48), Qty(50)),), ((Price(52), Qty(50)),))


def guard(**changes: int) -> JumpGuard:
    return JumpGuard(NewsSettings(**changes))


def jumps(of: JumpGuard, *touches: tuple[int, int | None, int | None]) -> list[bool]:
    """True for each (milliseconds, bid, ask) that pulled the event."""
    return [
        of.on_decision((rung(0, 50.0, bid=bid, ask=ask),), at * NS_PER_MS)
        for at, bid, ask in touches
    ]


# Touches as (milliseconds, bid, ask); the last one is a jump, or none is.
@pytest.mark.parametrize(
    ("touches", "is_jump"),
    [
        ([(0, 48, 52), (900, 54, 58)], True),
        ([(0, 48, 52), (400, 45, 49), (900, 42, 46)], True),
        ([(0, 48, 52), (60_000, 54, 58)], True),
        ([(700 * step, 48 + 2 * step, 52 + 2 * step) for step in range(8)], False),
        ([(0, 48, 52), (100, 53, 58)], False),
        ([(0, 48, 52), (100, 48, 90)], False),
        ([(0, 48, 52), (100, 10, 52)], False),
        ([(0, 48, 52), (100, 30, 70)], False),
        ([(0, 48, 52), (100, 44, 60)], False),
        ([(0, 48, 52), (100, None, 52), (200, 58, 62)], False),
    ],
    ids=[
        "six cents",
        "in two steps",
        "after a long stand",
        "slower than a second",
        "five and a half cents",
        "the ask steps back",
        "the bid steps back",
        "both step back",
        "both step back a little",
        "after an empty side",
    ],
)
def test_both_sides_of_a_touch_moving_six_cents_within_a_second_are_a_jump(touches, is_jump):
    assert jumps(guard(), *touches) == [False] * (len(touches) - 1) + [is_jump]


def test_moves_while_the_jump_guard_is_off_are_no_jumps():
    assert not guard(print_qty=0).on_market_trade("E-0", Price(52), Qty(10_000), BID, BOOK, 0)
    assert jumps(guard(jump_cents=0), (0, 10, 14), (1, 80, 84)) == [False, False]
    of = guard()
    assert jumps(of, (0, 48, 52)) == [False]
    of.use_settings(NewsSettings(jump_cents=0))
    assert jumps(of, (1_000, 50, 54)) == [False]
    of.use_settings(NewsSettings())
    assert jumps(of, (3_600_000, 60, 64), (3_600_500, 66, 70)) == [False, True]


def test_a_jump_of_any_rung_pulls_its_event() -> None:
    news = guard()
    still = rung(0, 80.0, bid=78, ask=82)
    assert not news.on_decision((still, rung(1, 50.0, bid=48, ask=52)), 0)
    assert news.on_decision((still, rung(1, 56.0, bid=54, ask=58)), SECOND)
    assert "E-1" in news.why


@pytest.mark.parametrize(
    ("qty", "price", "taker", "news"),
    [
        (40, 52, BID, True),  # 80% of the 50 at the ask
        (39, 52, BID, False),
        (40, 48, ASK, True),
        (40, 51, BID, True),  # the book shows already that 51 is gone
        (40, 49, ASK, True),
        (39, 51, BID, False),
    ],
)
def test_a_trade_of_forty_shares_that_clears_the_touch_pulls_the_event(
    qty, price, taker, news
) -> None:
    assert guard().on_market_trade("E-0", Price(price), Qty(qty), taker, BOOK, SECOND) is news


def test_a_trade_that_leaves_most_of_the_touch_pulls_nothing() -> None:
    deep = (((Price(48), Qty(500)),), ((Price(52), Qty(500)),))
    assert not guard().on_market_trade("E-0", Price(52), Qty(399), BID, deep, SECOND)
    assert guard().on_market_trade("E-0", Price(52), Qty(400), BID, deep, SECOND)


def test_the_trades_of_one_taker_count_together() -> None:
    news = guard()
    assert not news.on_market_trade("E-0", Price(52), Qty(25), BID, BOOK, SECOND)
    assert news.on_market_trade("E-0", Price(52), Qty(25), BID, BOOK, SECOND + NS_PER_MS)


@pytest.mark.parametrize(
    ("name", "taker", "later_ms"), [("E-1", BID, 1), ("E-0", ASK, 1), ("E-0", BID, 51)]
)
def test_trades_of_other_rungs_sides_and_times_do_not_add_up(name, taker, later_ms) -> None:
    news = guard()
    news.on_market_trade("E-0", Price(52), Qty(25), BID, BOOK, SECOND)
    price = Price(52) if taker is BID else Price(48)
    at_ns = SECOND + later_ms * NS_PER_MS
    assert not news.on_market_trade(name, price, Qty(25), taker, BOOK, at_ns)


def test_an_event_is_pulled_for_thirty_seconds_after_the_last_large_trade() -> None:
    news = guard()
    assert news.on_market_trade("E-0", Price(52), Qty(50), BID, BOOK, SECOND)
    assert not news.on_market_trade("E-0", Price(52), Qty(50), BID, BOOK, 11 * SECOND)
    assert news.on_decision((), 41 * SECOND - 1)
    assert not news.on_decision((), 41 * SECOND)


def test_a_large_trade_pulls_every_order_of_its_event_for_thirty_seconds():
    thin = Thin([70, 40])
    thin.start()
    assert len(thin.orders) == 4
    price = Price(thin.mids[0] + 2)
    thin.give(m.Trade(thin.markets[0].market_id, thin.now_ns, "t1", price, Qty(200), True))
    thin.run(0.1)
    assert not thin.orders
    assert thin.trader.report(thin.now_ns).counters.news_pulls == 1
    thin.run(29, thin.show_all, SECOND)
    assert not thin.orders
    thin.run(3, thin.show_all, SECOND)
    assert len(thin.orders) == 4


def test_a_jump_pulls_the_event_with_a_note():
    thin = Thin([70, 40])
    thin.start()
    thin.mids[1] = 50
    thin.show(1)
    effects = thin.give(m.Tick())
    [note] = [each for each in effects if isinstance(each, m.Noted) and each.name == "news"]
    assert note.fields["event"] == "ACME-VAL-27Q1"
    assert "38/42 became 48/52" in str(note.fields["why"])
    assert not thin.orders


def swap_strikes(thin: Thin) -> None:
    """The venue corrects two strikes that were the wrong way round."""
    low, high = thin.markets
    thin.markets = [
        msgspec.structs.replace(low, strike_value=high.strike_value),
        msgspec.structs.replace(high, strike_value=low.strike_value),
    ]


def test_rungs_that_swap_places_by_a_corrected_strike_are_no_jump() -> None:
    thin = Thin([70, 30])
    thin.start()
    swap_strikes(thin)
    thin.run(12)
    assert [rung.strike for rung in thin.trader.quoting.ladders[0].rungs] == [100e9, 110e9]
    assert thin.rung(0).market_id == thin.markets[1].market_id
    assert thin.trader.out.counters.news_pulls == 0
    assert len(thin.orders) == 4
