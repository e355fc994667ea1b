"""Claims about public market state: depth, prints, figures, candles."""

from collections import defaultdict
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.venue.rest_bench import LOW, T0, level, printed
from venue.views import candles as candles_module
from venue.views.candles import LENGTH_NS, Candles
from venue.wire.instant import NS_PER_SECOND, ZERO, from_ns
from venue.wire.model import CandleInterval
from venue.wire.money import BookSide

HOUR_NS = 3600 * NS_PER_SECOND


def rested(views):
    for side, price, size in [
        (BookSide.BID, 40, 5),
        (BookSide.BID, 38, 7),
        (BookSide.ASK, 45, 3),
        (BookSide.ASK, 99, 1),
    ]:
        views.apply(level(side, price, size))


def pairs(levels):
    return [(each.price, each.size) for each in levels]


# --- depth ---------------------------------------------------------------------------------------


def test_the_book_of_a_market_that_never_traded_is_empty_at_the_zero_instant(views):
    rested(views)
    book = views.market.orderbook(LOW)
    assert (book.as_of, book.bids, book.asks) == (ZERO, (), ())


def test_the_channel_shows_resting_orders_of_a_market_that_never_traded(views):
    rested(views)
    ladders = views.market.ladders(LOW)
    assert pairs(ladders.yes) == [(40, 5), (38, 7)]
    assert pairs(ladders.no) == [(55, 3), (1, 1)]
    assert ladders.ts == T0 + 1


def test_a_level_of_size_0_is_removed(views):
    rested(views)
    views.apply(level(BookSide.BID, 40, 0))
    assert pairs(views.market.ladders(LOW).yes) == [(38, 7)]


# --- prints and figures --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prints", "volume_usd"),
    [([(1, 1)], "0.01"), ([(99, 1), (1, 1)], "1.00"), ([(7, 1_000_000), (5, 1)], "70000.05")],
)
def test_volume_is_the_exact_sum_of_qty_times_yes_price(views, prints, volume_usd):
    for number, (price, qty) in enumerate(prints):
        views.apply(printed(T0 + number, price, qty))
    assert views.market.stats(LOW).volume_usd == volume_usd


def test_the_last_trade_is_the_newest_print(views):
    views.apply(printed(T0 + 1, 40))
    views.apply(printed(T0 + 2, 41, 6))
    last = views.market.last_trade(LOW)
    assert (last.price, last.qty, last.created_at) == (41, 6, from_ns(T0 + 2))
    assert views.market.stats(LOW).last_price == 41


def walked(views, limit, span=(None, None), between=lambda: None):
    ids, before = [], None
    while True:
        rows, before = views.market.trades(LOW, span, before, limit)
        assert len(rows) <= limit
        ids += [row.trade_id for row in rows]
        if before is None:
            return ids
        between()


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 100])
def test_a_walk_lists_every_print_once_while_more_come(views, limit):
    for number in range(5):
        views.apply(printed(T0 + number, 40))
    later = iter(range(T0 + 5, T0 + 50))
    ids = walked(views, limit, between=lambda: views.apply(printed(next(later), 41)))
    assert ids == [f"t{T0 + number}" for number in (4, 3, 2, 1, 0)]


def test_prints_are_listed_between_two_instants_inclusive(views):
    for number in range(6):
        views.apply(printed(T0 + number, 40))
    assert walked(views, 2, (T0 + 1, T0 + 4)) == [f"t{T0 + n}" for n in (4, 3, 2, 1)]
    assert walked(views, 9, (T0 + 6, None)) == []
    assert walked(views, 9, (None, T0 - 1)) == []


def test_every_print_is_kept(views):
    total = 12_000
    for number in range(total):
        views.apply(printed(T0 + number, 10))
    assert walked(views, 1000) == [f"t{T0 + number}" for number in range(total - 1, -1, -1)]
    assert Fraction(views.market.stats(LOW).volume_usd) == Fraction(total, 10)


# --- candles -------------------------------------------------------------------------------------


prints_strategy = st.lists(
    st.tuples(st.integers(0, 40 * HOUR_NS), st.integers(1, 99), st.integers(1, 9)), max_size=40
)


@given(prints_strategy, st.sampled_from(CandleInterval), st.integers(0, 40 * HOUR_NS))
@settings(max_examples=150, deadline=None)
def test_candles_of_every_length_equal_those_computed_from_the_prints(prints, interval, first_ns):
    prints.sort(key=lambda each: each[0])
    candles = Candles()
    buckets = defaultdict(list)
    for at_ns, price, qty in prints:
        candles.add_print(T0 + at_ns, price, qty)
        buckets[(T0 + at_ns) // LENGTH_NS[interval] * LENGTH_NS[interval]].append((price, qty))
    from_, to = T0 + first_ns, T0 + first_ns + 20 * HOUR_NS
    expected = []
    for start_ns in sorted(buckets):
        if from_ < start_ns + LENGTH_NS[interval] and start_ns <= to:
            prices = [price for price, _ in buckets[start_ns]]
            volume = sum(qty for _, qty in buckets[start_ns])
            shape = prices[0], max(prices), min(prices), prices[-1], volume, len(prices)
            expected.append((from_ns(start_ns), *shape))
    shown = candles.window(interval, from_, to)
    assert [
        (c.timestamp, c.open, c.high, c.low, c.close, c.volume, c.trade_count) for c in shown
    ] == expected


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("interval", CandleInterval)
def test_a_window_has_every_candle_that_overlaps_it(interval, later):
    length_ns = LENGTH_NS[interval]
    start_ns = T0 - T0 % length_ns
    end_ns = start_ns + length_ns
    candles = Candles()
    for at_ns in (start_ns, end_ns - 1, *([end_ns + length_ns] if later else [])):
        candles.add_print(at_ns, 50, 1)
    for from_, to, count in (
        (0, start_ns - 1, 0),
        (0, start_ns, 1),
        (end_ns - 1, end_ns - 1, 1),
        (end_ns, end_ns + length_ns - 1, 0),
    ):
        assert len(candles.window(interval, from_, to)) == count


def traded_every(length_ns, count):
    candles = Candles()
    for number in range(count):
        candles.add_print(T0 + number * length_ns, 50, 1)
    return candles


def test_an_old_window_has_all_its_candles():
    length_ns = LENGTH_NS[CandleInterval.S30]
    candles = traded_every(length_ns, 12_000)
    window = candles.window(CandleInterval.S30, T0, T0 + 9 * length_ns)
    assert [candle.timestamp for candle in window] == [
        from_ns(T0 - T0 % length_ns + number * length_ns) for number in range(10)
    ]
    days = candles.window(CandleInterval.D1, 0, T0 + 12_000 * length_ns)
    assert sum(candle.volume for candle in days) == 12_000


@pytest.mark.parametrize("interval", [CandleInterval.H1, CandleInterval.H4, CandleInterval.H12])
def test_a_window_that_is_too_long_has_its_newest_candles(monkeypatch, interval):
    candles = traded_every(HOUR_NS, 100)
    end_ns = T0 + 100 * HOUR_NS
    whole = candles.window(interval, 0, end_ns)
    monkeypatch.setattr(candles_module, "CANDLES_MAX", 31)
    cut = candles.window(interval, 0, end_ns)
    assert cut == whole[-len(cut) :]
    assert len(cut) in (
        31 * HOUR_NS // LENGTH_NS[interval],
        31 * HOUR_NS // LENGTH_NS[interval] + 1,
    )
