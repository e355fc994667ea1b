"""Claims about what fills us in a recorded market: every figure here is reckoned by hand."""

import pytest

from bot.core import messages as m
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from tests.builders.backtest.made import PROMPT, Counter, book, ns, top, trade, written
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND
from venue.wire.limits import RATE_BURST
from venue.wire.model import OrderStatus
from venue.wire.money import Outcome
from venue.wire.requests import TimeInForce

ASKS = [[60, 50]]

# Thirty before us, thirty more come behind, then thirty cancel, and forty trade.
CANCELS = [
    book(0, [[40, 30]], ASKS),
    book(2, [[40, 60]], ASKS),
    book(3, [[40, 30]], ASKS),
    trade(4, 40, 20, "no"),
    trade(5, 40, 20, "no"),
]


@pytest.mark.parametrize(
    ("bound", "after_one", "after_both"),
    [
        # All thirty cancelled behind us: 20 of 30 trade, then 10 before us and 10 of ours.
        (QueueModel.PESSIMISTIC, 0, 10),
        # Half of them before us: 15 trade and 5 of ours, then the 7 that are left.
        (QueueModel.EXPECTED, 5, 12),
        # All of them before us: nobody is left there, and the first print fills all of ours.
        (QueueModel.OPTIMISTIC, 12, 12),
    ],
)
def test_prints_fill_us_after_the_queue_ahead_under_each_queue_model(
    tmp_path, bound, after_one, after_both
):
    counter = Counter(written(tmp_path / "t", CANCELS), bound)
    counter.play(0)
    counter.buys(40, 12, at=1)
    counter.play(4)
    assert sum(qty for _, qty, _ in counter.fills) == after_one
    counter.play(5)
    assert sum(qty for _, qty, _ in counter.fills) == after_both


@pytest.mark.parametrize(
    ("bound", "filled"), [(QueueModel.PESSIMISTIC, 0), (QueueModel.OPTIMISTIC, 4)]
)
def test_a_print_after_a_book_of_its_time_fills_us_only_optimistically(tmp_path, bound, filled):
    # The four before us have gone: they are those who traded, or they cancelled and we did.
    records = [book(0, [[40, 4]], ASKS), book(2, [], ASKS), trade(2, 40, 4, "no")]
    counter = Counter(written(tmp_path / "t", records), bound)
    counter.play(0)
    counter.buys(40, 9, at=1)
    counter.play(2)
    assert sum(qty for _, qty, _ in counter.fills) == filled


def test_a_higher_exponent_assigns_more_cancels_to_the_longer_part_of_the_queue(tmp_path):
    # 10 before us and 20 behind when 15 cancel: n = 1 takes 15 * 10 / 30 = 5 of those before us,
    # and 5 stay; n = 3 takes 15 / 9, and 8.33 stay. Of 9 that trade then 4 or none are ours.
    records = [
        book(0, [[40, 10]], ASKS),
        book(2, [[40, 30]], ASKS),
        book(3, [[40, 15]], ASKS),
        trade(4, 40, 9, "no"),
    ]
    filled = []
    for power in (1.0, 3.0):
        terms = Terms(power=power)
        counter = Counter(written(tmp_path / "t", records), QueueModel.EXPECTED, terms)
        counter.play(0)
        counter.buys(40, 10, at=1)
        counter.play(4)
        filled.append(sum(qty for _, qty, _ in counter.fills))
    assert filled == [4, 0]


THROUGH = [
    book(0, [[40, 30]], ASKS),
    book(2, [[30, 1]], [[39, 4]]),
    book(3, [[30, 2]], [[39, 4]]),
    book(4, [[30, 2]], [[39, 5]]),
]
PRINTS = [trade(second / 100, 50, 1, "yes") for second in range(150)]
FILLED = {
    "traded shares are not cancels": (
        [
            book(0, [[40, 30]], ASKS),
            trade(2, 40, 10, "no"),
            book(2, [[40, 20]], ASKS),
            trade(3, 40, 21, "no"),
        ],
        (40, 10, Outcome.YES),
        QueueModel.EXPECTED,
        [(40, 1, 0)],
    ),
    "a print through our price": (
        [book(0, [[40, 30]], ASKS), trade(2, 39, 7, "no")],
        (40, 10, Outcome.YES),
        QueueModel.PESSIMISTIC,
        [(40, 7, 0)],
    ),
    "a taker of YES fills a bid for NO": (
        [book(0, [[40, 5]], [[60, 5]]), trade(2, 60, 8, "yes")],
        (40, 6, Outcome.NO),
        QueueModel.PESSIMISTIC,
        [(40, 3, 0)],
    ),
    "an unchanged book through our price": (
        THROUGH[:3],
        (40, 20, Outcome.YES),
        QueueModel.PESSIMISTIC,
        [(40, 4, 0)],
    ),
    "a changed book through our price": (
        THROUGH,
        (40, 20, Outcome.YES),
        QueueModel.PESSIMISTIC,
        [(40, 4, 0), (40, 5, 0)],
    ),
    "books after many prints": (
        [*PRINTS, book(2, [[40, 30]], [[60, 50]]), book(4, [[40, 30]], [[45, 8]])],
        (50, 12, Outcome.YES),
        QueueModel.PESSIMISTIC,
        [(50, 8, 0)],
    ),
}


@pytest.mark.parametrize(("records", "order", "bound", "fills"), FILLED.values(), ids=FILLED)
def test_a_resting_order_is_filled_after_its_queue_or_when_the_market_trades_through_it(
    tmp_path, records, order, bound, fills
):
    counter = Counter(written(tmp_path / "t", records), bound)
    sent = 3 if records[0] is PRINTS[0] else 1
    counter.play(sent - 1)
    counter.buys(*order[:2], at=sent, outcome=order[2])
    counter.play(4)
    assert counter.fills == fills


@pytest.mark.parametrize("price", [51, 50])
@pytest.mark.parametrize("bound", QueueModel)
def test_on_a_tape_of_prints_the_queue_ahead_depends_on_the_queue_model(tmp_path, bound, price):
    # Sold at 50, so the middle is 51; 300 are made up at 50, none at 51.
    filled = {51: [0, 5, 5], 50: [0, 0, 5]}[price][[*QueueModel].index(bound)]
    records = [trade(0, 50, 1, "no"), trade(2, price, 5, "no"), trade(3, price - 1, 3, "no")]
    counter = Counter(written(tmp_path / "t", records), bound)
    counter.play(0)
    counter.buys(price, 8, at=1)
    counter.play(2)
    assert sum(qty for _, qty, _ in counter.fills) == filled
    counter.play(3)
    assert sum(qty for _, qty, _ in counter.fills) == filled + 3


def test_one_print_fills_our_orders_from_the_touch_outward(tmp_path):
    records = [book(0, [[30, 1]], ASKS), trade(2, 38, 9, "no")]
    counter = Counter(written(tmp_path / "t", records))
    counter.play(0)
    counter.buys(39, 5, at=1)
    counter.buys(41, 3, at=1)
    counter.buys(37, 5, at=1)
    counter.play(2)
    assert counter.fills == [(41, 3, 0), (39, 5, 0)]


def test_shares_we_took_are_gone_until_the_book_changes_and_cost_the_taker_fee(tmp_path):
    records = [
        book(0, [[40, 30]], [[45, 5], [46, 10]]),
        book(3, [[40, 31]], [[45, 5], [46, 10]]),
        book(4, [[40, 31]], [[45, 6], [46, 10]]),
    ]
    counter = Counter(written(tmp_path / "t", records))
    counter.play(0)
    counter.buys(46, 8, at=1, tif=TimeInForce.IOC)
    # 0.07 * 5 * 0.45 * 0.55 = 8.66 cents, so 9; with 0.07 * 3 * 0.46 * 0.54 it is 13.88, so 14.
    assert counter.fills == [(45, 5, 9), (46, 3, 5)]
    assert counter.shown == [[(40, 30)], [(46, 7)]]
    counter.play(3)
    assert counter.shown[1] == [(46, 7)]
    counter.play(4)
    assert counter.shown[1] == [(45, 6), (46, 7)]


@pytest.mark.parametrize("bound", QueueModel)
def test_shares_we_took_do_not_queue_ahead_of_our_later_order(tmp_path, bound):
    records = [
        book(0, [[40, 30]], [[60, 50]]),
        trade(3, 60, 5, "yes"),
        book(3, [[40, 30]], [[60, 45]]),
    ]
    counter = Counter(written(tmp_path / "t", records), bound)
    counter.play(0)
    counter.buys(60, 50, at=1, tif=TimeInForce.IOC)
    counter.buys(40, 5, at=2, outcome=Outcome.NO)
    assert counter.shown[1] == [(60, 5)]
    counter.play(3)
    assert counter.fills[1:] == [(40, 5, 0)]


def test_a_fill_or_kill_that_depth_cannot_fill_takes_nothing(tmp_path):
    counter = Counter(written(tmp_path / "t", [book(0, [[40, 30]], [[45, 5]])]))
    counter.play(0)
    killed = counter.buys(45, 6, at=1, tif=TimeInForce.FOK)
    assert killed.status is OrderStatus.CANCELED
    assert counter.fills == []
    assert counter.shown[1] == [(45, 5)]


def test_the_remainder_of_a_taking_order_rests(tmp_path):
    counter = Counter(written(tmp_path / "t", [book(0, [[40, 30]], [[45, 5], [47, 9]])]))
    counter.play(0)
    counter.buys(46, 8, at=1)
    assert [qty for _, qty, _ in counter.fills] == [5]
    assert counter.shown == [[(46, 3), (40, 30)], [(47, 9)]]


@pytest.mark.parametrize(("qty", "filled"), [(5, 5), (11, 0)])
def test_an_amend_keeps_its_queue_position_unless_it_grows(tmp_path, qty, filled):
    # Ten before us at first; thirty by the time of the amend. Fifteen trade.
    records = [
        book(0, [[40, 10]], ASKS),
        book(2, [[40, 30]], ASKS),
        trade(4, 40, 15, "no"),
    ]
    counter = Counter(written(tmp_path / "t", records))
    counter.play(0)
    order = counter.buys(40, 10, at=1)
    counter.play(2)
    counter.amends(order, at=3, qty=qty)
    counter.play(4)
    assert sum(qty for _, qty, _ in counter.fills) == filled


def test_an_amend_to_a_crossing_price_takes(tmp_path):
    counter = Counter(written(tmp_path / "t", [book(0, [[40, 30]], [[45, 5]])]))
    counter.play(0)
    order = counter.buys(41, 5, at=1)
    counter.amends(order, at=2, price=45)
    assert counter.fills == [(45, 5, 9)]


def test_rungs_derived_from_brackets_are_shown_once_every_bracket_has_prices(tmp_path):
    ends = {"10": "no", "20": "no", "30": "yes", "40": "no"}
    records = [top(second, strike, 20, 30) for second, strike in enumerate(ends)]
    counter = Counter(written(tmp_path / "t", records, rungs=ends))
    counter.play(2)
    assert counter.venue.frames(ns(2)) == []
    counter.play(3)
    # The three brackets above the lowest boundary are worth 75 of a dollar.
    assert counter.shown == [[(72, 300), (70, 600)], [(78, 300), (80, 600)]]


def test_synthetic_depth_never_fills_us(tmp_path):
    # Bought at 40, so the middle is 39 and asks are made up at 40: below our bid.
    records = [trade(0, 50, 1, "no"), trade(2, 40, 1, "yes")]
    counter = Counter(written(tmp_path / "t", records))
    counter.play(0)
    counter.buys(45, 10, at=1)
    counter.play(2)
    assert counter.fills == []
    assert all(price > 45 for price, _ in counter.shown[1])


def test_the_channel_shows_our_orders_in_the_recorded_book(tmp_path):
    counter = Counter(written(tmp_path / "t", [book(0, [[40, 30]], ASKS)]))
    counter.play(0)
    counter.venue.frames(ns(0))
    counter.buys(40, 10, at=1)
    (frame,) = counter.venue.frames(ns(1))
    assert frame == m.BookUpdate(counter.market, ns(1), ((40, 40),), ((60, 50),))


def test_a_print_that_fills_us_is_shown_once(tmp_path):
    records = [book(0, [[40, 1]], ASKS), trade(2, 40, 4, "no")]
    counter = Counter(written(tmp_path / "t", records))
    counter.play(0)
    counter.buys(40, 10, at=1)
    counter.venue.frames(ns(1))
    counter.play(2)
    told = [each for each in counter.venue.frames(ns(2)) if isinstance(each, m.Trade)]
    assert [(each.price, each.size) for each in told] == [(40, 4)]
    assert counter.fills == [(40, 3, 0)]


def test_reads_show_a_fill_only_after_the_read_lag(tmp_path):
    records = [book(0, [[40, 1]], ASKS), trade(2, 39, 4, "no")]
    terms = Terms(read_lag_ns=NS_PER_SECOND)
    counter = Counter(written(tmp_path / "t", records), terms=terms)
    counter.play(0)
    counter.buys(40, 10, at=1)
    counter.play(2)
    early, *_ = counter.ask(m.ReadFills(""), 2.9)
    late, *_ = counter.ask(m.ReadFills(""), 3.1)
    assert (len(early.body.fills), len(late.body.fills)) == (0, 1)


def test_each_api_key_has_its_own_rate_limit_bucket(tmp_path):
    counter = Counter(written(tmp_path / "t", [book(0, [[40, 30]], ASKS)]))
    for _ in range(RATE_BURST):
        assert isinstance(counter.ask(m.ReadBalance(), 1)[0], m.Ok)
    refused, tokens, away_ns, _ = counter.ask(m.ReadBalance(), 1)
    assert (refused.code, tokens, away_ns) == (Code.RATE_LIMITED, 0, NS_PER_SECOND)
    assert isinstance(counter.ask(m.ReadBalance(), 1, m.Key.READ)[0], m.Ok)


def test_fills_and_payouts_reconcile_with_the_venue_ledger(tmp_path):
    records = [book(0, [[40, 30]], [[45, 5]]), trade(3, 39, 7, "no")]
    counter = Counter(written(tmp_path / "t", records), terms=PROMPT)
    counter.play(0)
    counter.buys(45, 5, at=1, tif=TimeInForce.IOC)
    counter.buys(40, 10, at=1)
    counter.play(3)
    venue = counter.venue
    # 5 at 45 with a fee of 9, 7 at 40; the resting 3 keep 120 cents, which are ours all the same.
    assert venue.account.cash_cents == venue.gain_cents == -(5 * 45 + 9 + 7 * 40)
    venue.resolve(counter.market, Outcome.YES, ns(4))
    assert venue.account.cash_cents == venue.gain_cents == 12 * 100 - 514
