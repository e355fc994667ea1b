"""Claims about what would have filled orders that were never sent, and at what cost."""

from bot.core.messages import TradeSeen
from bot.core.settings import PaceSettings
from bot.core.strategy import Quote, Take
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.shadow.hypothetical import HypotheticalRung, Met
from venue.wire.money import (
    BookSide,
    FeeRate,
    FeeUnits,
    Outcome,
    Price,
    Qty,
    ceil_cents,
    fee_units,
)
from venue.wire.names import MarketId

BID, ASK = BookSide.BID, BookSide.ASK
MAKER, TAKER = FeeRate.parse("0.01"), FeeRate.parse("0.07")


class Bench:
    """One rung with others at 45 and 55, and what has filled there."""

    def __init__(self, bound: QueueModel = QueueModel.PESSIMISTIC) -> None:
        self.met: list[Met] = []
        self.rung = HypotheticalRung(bound, "mine", PaceSettings(), self.met.append)
        self.rung.rates = (MAKER, TAKER)
        self.ts_ns = 0
        self.book([(45, 20), (44, 50)], [(55, 20), (56, 50)])

    def book(self, bids: list[tuple[int, int]], asks: list[tuple[int, int]]) -> None:
        self.ts_ns += 1
        levels = [tuple((Price(p), Qty(size)) for p, size in side) for side in (bids, asks)]
        self.rung.shown(levels[0], levels[1], self.ts_ns)

    def want(self, *quotes: tuple[BookSide, int, int], takes: tuple[Take, ...] = ()) -> None:
        wanted = tuple(Quote(side, Price(price), Qty(qty)) for side, price, qty in quotes)
        self.rung.want(wanted, takes, self.ts_ns)

    def sold(self, price: int, size: int) -> None:
        """Somebody sold YES into the bids."""
        self.ts_ns += 1
        self.rung.printed(
            TradeSeen(MarketId("m"), self.ts_ns, str(self.ts_ns), Price(price), Qty(size), False)
        )

    @property
    def fills(self) -> list[tuple[int, int]]:
        return [(fill.price, fill.qty) for fill in self.met]

    @property
    def resting(self) -> list[tuple[int, int, float]]:
        return [(own.price, own.qty, own.ahead_qty) for own in self.rung.own(self.ts_ns)]


def test_a_print_at_our_price_reaches_us_after_the_shares_before_us():
    bench = Bench()
    bench.want((BID, 45, 10))
    bench.sold(45, 18)
    bench.sold(45, 5)
    assert bench.fills == [(45, 3)]
    assert bench.resting == [(45, 7, 0.0)]


def test_a_print_through_our_price_fills_us_up_to_its_size():
    bench = Bench()
    bench.want((BID, 45, 10))
    bench.sold(44, 4)
    assert bench.fills == [(45, 4)]


def test_one_print_is_shared_over_our_levels_from_the_touch_outward():
    bench = Bench()
    bench.want((BID, 47, 3), (BID, 46, 3), (BID, 45, 10))
    bench.sold(46, 5)
    assert bench.fills == [(47, 3), (46, 2)]
    bench.sold(44, 3)
    assert bench.fills == [(47, 3), (46, 2), (46, 1), (45, 2)]


def test_a_print_above_our_bid_does_not_reach_us():
    bench = Bench()
    bench.want((BID, 44, 10))
    bench.sold(45, 500)
    assert bench.fills == []


def test_a_print_on_the_other_side_does_not_reach_us():
    bench = Bench()
    bench.want((ASK, 54, 10))
    bench.sold(54, 10)
    assert bench.fills == []


def test_less_wanted_keeps_the_place_and_more_goes_to_the_back():
    bench = Bench()
    bench.want((BID, 45, 10))
    bench.book([(45, 60)], [(55, 20)])
    bench.want((BID, 45, 6))
    assert bench.resting == [(45, 6, 20.0)]
    bench.want((BID, 45, 16))
    bench.sold(45, 30)
    assert bench.fills == [(45, 6)]


def test_another_price_loses_the_place():
    bench = Bench()
    bench.want((BID, 45, 10))
    bench.sold(45, 15)
    bench.want((BID, 43, 10))
    bench.want((BID, 45, 10))
    assert bench.resting == [(45, 10, 20.0)]


def test_a_level_that_filled_comes_anew_and_the_one_behind_it_stays_where_it_is():
    bench = Bench()
    bench.book([], [(55, 20)])
    bench.want((BID, 45, 10), (BID, 44, 10))
    bench.sold(45, 10)
    for _ in range(2):
        bench.want((BID, 45, 10), (BID, 44, 10))
        assert bench.resting == [(45, 10, 0.0), (44, 10, 0.0)]


def test_levels_that_all_stand_a_tick_off_are_left_as_they_are():
    bench = Bench()
    bench.book([], [(55, 20)])
    bench.want((BID, 44, 10), (BID, 43, 10))
    bench.want((BID, 45, 10), (BID, 44, 10))
    assert bench.resting == [(44, 10, 0.0), (43, 10, 0.0)]


def test_an_order_between_the_wanted_price_and_its_limit_stays():
    bench = Bench()
    bench.want((BID, 45, 10))
    bench.sold(45, 15)
    bench.rung.want((Quote(BID, Price(43), Qty(10), Price(45)),), (), 0)
    assert bench.resting == [(45, 10, 5.0)]


def test_a_quote_that_meets_the_book_takes_at_the_prices_found_and_rests_with_what_is_left():
    bench = Bench()
    bench.want((BID, 55, 25))
    assert bench.fills == [(55, 20)]
    assert bench.resting == [(55, 5, 0.0)]
    assert bench.met[0].fee_cents == ceil_cents(fee_units(TAKER, Qty(20), Price(55)))


def test_what_was_met_once_is_gone_until_its_size_changes():
    bench = Bench()
    take = Take(BID, Price(55), Qty(15))
    bench.want(takes=(take,))
    bench.want(takes=(take,))
    assert bench.fills == [(55, 15), (55, 5)]
    bench.book([(45, 20)], [(55, 20)])
    bench.want(takes=(take,))
    assert len(bench.fills) == 2
    bench.book([(45, 20)], [(55, 21)])
    bench.want(takes=(take,))
    assert bench.fills[2:] == [(55, 15)]


def test_a_whole_take_trades_all_or_nothing():
    bench = Bench()
    bench.want(takes=(Take(BID, Price(55), Qty(21), True),))
    assert bench.fills == []
    bench.want(takes=(Take(BID, Price(56), Qty(30), True),))
    assert bench.fills == [(55, 20), (56, 10)]


def test_others_who_come_to_rest_through_our_price_have_met_us_first():
    bench = Bench()
    bench.want((BID, 50, 10))
    bench.book([(45, 20)], [(49, 4), (55, 20)])
    bench.book([(45, 20)], [(49, 4), (55, 20)])
    assert bench.fills == [(50, 4)]
    assert bench.met[0].fee_cents == ceil_cents(fee_units(MAKER, Qty(4), Price(50)))


def test_the_fee_is_rounded_up_once_an_order():
    bench = Bench()
    bench.want((BID, 47, 10))
    for _ in range(10):
        bench.sold(47, 1)
    whole = fee_units(MAKER, Qty(10), Price(47))
    assert sum(fill.fee_cents for fill in bench.met) == ceil_cents(FeeUnits(whole))


def test_what_is_held_is_sold_before_anything_is_bought():
    bench = Bench()
    bench.rung.rates = (FeeRate(0), FeeRate(0))
    bench.want((ASK, 54, 10))
    bench.rung.printed(TradeSeen(MarketId("m"), 9, "a", Price(54), Qty(10), True))
    assert (bench.rung.yes_qty, bench.rung.no_qty, bench.rung.cash_cents) == (0, 10, -460)
    bench.want((BID, 47, 4))
    bench.ts_ns = 9
    bench.sold(47, 4)
    assert (bench.rung.yes_qty, bench.rung.no_qty, bench.rung.cash_cents) == (0, 6, -248)


def test_a_rung_that_resolves_pays_and_leaves_nothing_resting():
    bench = Bench()
    bench.rung.rates = (FeeRate(0), FeeRate(0))
    bench.want((BID, 47, 4), (ASK, 53, 4))
    bench.sold(47, 4)
    bench.rung.settle(Outcome.YES)
    assert bench.rung.cash_cents == 400 - 188
    assert bench.rung.resting_qty == 0


def test_cash_is_locked_for_what_is_bought_and_not_for_what_is_sold():
    bench = Bench()
    bench.want((BID, 40, 10), (ASK, 60, 5))
    assert bench.rung.locked_cents() == 400 + 5 * 40
    bench.rung.yes_qty = 5
    assert bench.rung.locked_cents() == 400


def test_held_shares_are_taken_to_be_sold_by_the_boldest_orders_first():
    bench = Bench()
    bench.want((BID, 44, 1), (BID, 10, 10), (ASK, 60, 2), (ASK, 90, 10))
    bench.rung.no_qty, bench.rung.yes_qty = 5, 3
    assert bench.rung.locked_cents() == 6 * 10 + 9 * 10


def test_after_the_clock_of_the_venue_was_set_back_books_and_prints_count_as_before():
    bench = Bench()
    bench.ts_ns += 3_600 * 10**9
    bench.book([(45, 20)], [(55, 20)])
    bench.want((BID, 45, 10))
    bench.ts_ns = 100
    bench.book([(45, 4)], [(55, 20)])
    assert bench.resting == [(45, 10, 4.0)]
    bench.sold(45, 7)
    assert bench.fills == [(45, 3)]
