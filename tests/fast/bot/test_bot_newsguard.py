"""Claims about news: what pulls an event, for how long, and what does not."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.quoting.guards import JumpGuard
from bot.core.settings import NewsSettings
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin
from tests.builders.strategies.views import rung
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty

BID, ASK = BookSide.BID, BookSide.ASK
SECOND = NS_PER_SECOND
BOOK = (((Price(48), Qty(50)),), ((Price(52), Qty(50)),))


def guard(**changes: int) -> JumpGuard:
    return JumpGuard(NewsSettings(**changes))


def touch(bid: int | None, ask: int | None):
    return rung(0, 50.0, bid=bid, ask=ask)


def jumps(of: JumpGuard, *touches: tuple[int, int | None, int | None]) -> list[bool]:
    """Whether each (milliseconds, bid, ask) pulled the event."""
    return [of.on_decision((touch(bid, ask),), at * NS_PER_MS) for at, bid, ask in touches]


# --- jumps ----------------------------------------------------------------------------------------


def test_a_touch_that_moves_by_six_cents_within_a_second_is_news() -> None:
    assert jumps(guard(), (0, 48, 52), (900, 54, 58)) == [False, True]
    assert jumps(guard(), (0, 48, 52), (400, 45, 49), (900, 42, 46)) == [False, False, True]


def test_a_touch_that_drifts_as_far_in_more_than_a_second_is_none() -> None:
    slow = [(700 * step, 48 + 2 * step, 52 + 2 * step) for step in range(8)]
    assert not any(jumps(guard(), *slow))


def test_a_touch_that_stood_for_long_and_jumps_at_once_is_news() -> None:
    assert jumps(guard(), (0, 48, 52), (60_000, 54, 58)) == [False, True]


def test_five_cents_and_a_half_are_none() -> None:
    assert jumps(guard(), (0, 48, 52), (100, 53, 58)) == [False, False]


@pytest.mark.parametrize(("bid", "ask"), [(48, 90), (10, 52), (30, 70), (44, 60)])
def test_a_side_that_steps_back_alone_is_a_thin_book_and_no_news(bid: int, ask: int) -> None:
    assert jumps(guard(), (0, 48, 52), (100, bid, ask)) == [False, False]


def test_what_a_touch_did_while_jumps_were_switched_off_is_no_jump() -> None:
    of = guard()
    assert jumps(of, (0, 48, 52)) == [False]
    of.use_settings(NewsSettings(jump_cents=0))
    assert jumps(of, (1_000, 50, 54)) == [False]
    of.use_settings(NewsSettings())
    assert jumps(of, (3_600_000, 60, 64), (3_600_500, 66, 70)) == [False, True]


def test_a_book_that_was_empty_says_nothing_of_a_jump() -> None:
    assert jumps(guard(), (0, 48, 52), (100, None, 52), (200, 58, 62)) == [False, False, False]


def test_the_jump_of_any_rung_is_news_to_the_event() -> None:
    news = guard()
    still = rung(0, 80.0, bid=78, ask=82)
    assert not news.on_decision((still, rung(1, 50.0, bid=48, ask=52)), 0)
    assert news.on_decision((still, rung(1, 56.0, bid=54, ask=58)), SECOND)
    assert "E-1" in news.why


def test_a_jump_of_zero_cents_asked_for_is_never_seen() -> None:
    assert jumps(guard(jump_cents=0), (0, 10, 14), (1, 80, 84)) == [False, False]


# --- trades ---------------------------------------------------------------------------------------


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
def test_a_trade_of_four_lots_that_clears_the_touch_is_news(
    qty: int, price: int, taker: BookSide, news: bool
) -> None:
    assert guard().on_market_trade("E-0", Price(price), Qty(qty), taker, BOOK, SECOND) is news


def test_a_large_trade_that_leaves_most_of_the_touch_is_none() -> None:
    deep = (((Price(48), Qty(500)),), ((Price(52), Qty(500)),))
    assert not guard().on_market_trade("E-0", Price(52), Qty(399), BID, deep, SECOND)
    assert guard().on_market_trade("E-0", Price(52), Qty(400), BID, deep, SECOND)


def test_the_prints_of_one_taker_count_together() -> None:
    news = guard()
    assert not news.on_market_trade("E-0", Price(52), Qty(25), BID, BOOK, SECOND)
    assert news.on_market_trade("E-0", Price(52), Qty(25), BID, BOOK, SECOND + NS_PER_MS)


@pytest.mark.parametrize(
    ("name", "taker", "later_ms"), [("E-1", BID, 1), ("E-0", ASK, 1), ("E-0", BID, 51)]
)
def test_prints_of_other_rungs_sides_and_times_do_not(
    name: str, taker: BookSide, later_ms: int
) -> None:
    news = guard()
    news.on_market_trade("E-0", Price(52), Qty(25), BID, BOOK, SECOND)
    price = Price(52) if taker is BID else Price(48)
    at_ns = SECOND + later_ms * NS_PER_MS
    assert not news.on_market_trade(name, price, Qty(25), taker, BOOK, at_ns)


def test_a_size_of_zero_asked_for_is_never_seen() -> None:
    assert not guard(print_qty=0).on_market_trade("E-0", Price(52), Qty(10_000), BID, BOOK, 0)


# --- how long -------------------------------------------------------------------------------------


def test_an_event_is_pulled_for_thirty_seconds_after_its_last_news() -> None:
    news = guard()
    assert news.on_market_trade("E-0", Price(52), Qty(50), BID, BOOK, SECOND)
    assert not news.on_market_trade("E-0", Price(52), Qty(50), BID, BOOK, 11 * SECOND)
    assert news.on_decision((), 41 * SECOND - 1)
    assert not news.on_decision((), 41 * SECOND)


def traded(thin: Thin, index: int, qty: int) -> m.Trade:
    price = Price(thin.mids[index] + 2)
    return m.Trade(thin.markets[index].market_id, thin.now_ns, "t1", price, Qty(qty), True)


def test_news_on_one_rung_takes_every_order_of_its_event_away_at_once_and_for_thirty_seconds() -> (
    None
):
    thin = Thin([70, 40], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    assert len(thin.orders) == 4
    thin.give(traded(thin, 0, 200))
    thin.run(0.1)
    assert not thin.orders
    assert thin.trader.out.counters.news_pulls == 1
    assert thin.trader.report(thin.now_ns).counters.news_pulls == 1
    thin.run(29, lambda: [thin.show(index) for index in (0, 1)], SECOND)
    assert not thin.orders
    thin.run(3, lambda: [thin.show(index) for index in (0, 1)], SECOND)
    assert len(thin.orders) == 4


def test_a_jump_pulls_the_event_and_the_reason_is_told() -> None:
    thin = Thin([70, 40], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    thin.mids[1] = 50
    thin.show(1)
    told = [
        effect
        for effect in thin.give(m.Tick())
        if isinstance(effect, m.Noted) and effect.name == "news"
    ]
    assert [note.fields["event"] for note in told] == ["ACME-VAL-27Q1"]
    assert "38/42 became 48/52" in str(told[0].fields["why"])
    assert not thin.orders


def corrected(thin: Thin) -> None:
    """The venue says that the strikes of two rungs were the wrong way round."""
    low, high = thin.markets
    thin.markets = [
        msgspec.structs.replace(low, strike_value=high.strike_value),
        msgspec.structs.replace(high, strike_value=low.strike_value),
    ]


def test_rungs_that_change_places_by_a_corrected_strike_are_no_jump() -> None:
    thin = Thin([70, 30], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    corrected(thin)
    thin.run(12)
    assert [rung.strike for rung in thin.trader.quoting.ladders[0].rungs] == [100e9, 110e9]
    assert thin.rung(0).market_id == thin.markets[1].market_id
    assert thin.trader.out.counters.news_pulls == 0
    assert len(thin.orders) == 4
