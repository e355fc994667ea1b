"""Checks of the books that the channel pushes: whole ladders, and every change of one."""

from venue.conformance.api import buy
from venue.conformance.bench import Bench
from venue.conformance.judge import same
from venue.conformance.registry import check


@check(readings="S8 S10")
def check_ladders_are_whole_and_best_first(bench: Bench) -> None:
    """Target types | A book frame has both ladders complete, best first."""
    market, listener = bench.followed_market()
    for price in (20, 35, 28):
        bench.anna.placed(**buy(market, "yes", price, price))
    book = listener.next_book(lambda book: len(book["yes"]) == 3)
    same([level["price"] for level in book["yes"]], [35, 28, 20])
    same(book["no"], [])


@check(readings="S8 S10")
def check_a_level_that_grows_or_shrinks_is_told_anew(bench: Bench) -> None:
    """Target types | A book is pushed at every change, of size alone too."""
    market, listener = bench.followed_market()

    def expect_size(size: int) -> None:
        listener.next_book(lambda book: [level["size"] for level in book["yes"]] == [size])

    first = bench.anna.placed(**buy(market, "yes", 35, 10))
    expect_size(10)
    bench.clara.placed(**buy(market, "yes", 35, 4))
    expect_size(14)
    bench.anna.amended(first["order_id"], qty=7)
    expect_size(11)
    bench.bruno.placed(**buy(market, "no", 65, 2))
    expect_size(9)
    bench.anna.cancelled(first["order_id"])
    expect_size(4)
