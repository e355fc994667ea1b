"""The value a rung is quoted around, outward rounding, and wealth in the terms of a spot market."""

import msgspec
import pytest

from bot.strategy.api import EventView, OwnQuote
from bot.strategy.pricing.price import middle, outward, placed, value_of
from bot.strategy.pricing.sizes import base_and_cash, cash_in_all
from tests.builders.strategies.views import rung, view
from venue.wire.money import BookSide, Price, Qty, complement

BID, ASK = BookSide.BID, BookSide.ASK


def test_each_source_is_the_price_it_names() -> None:
    full = msgspec.structs.replace(rung(0, 70.0, bid=40, ask=60, micro=44.0), last_price=Price(55))
    assert value_of(full, "fair") == 70.0
    assert value_of(full, "mid") == 50.0
    assert value_of(full, "micro") == 44.0
    assert value_of(full, "last") == 55


@pytest.mark.parametrize("source", ["mid", "micro", "last"])
def test_a_source_that_is_missing_gives_way_to_the_curve(source: str) -> None:
    assert value_of(rung(0, 70.0, bid=40), source) == 70.0  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["fair", "micro", "last"])
def test_without_a_curve_the_middle_of_the_touch_serves(source: str) -> None:
    assert value_of(rung(0, None, bid=40, ask=60), source) == 50.0  # type: ignore[arg-type]


def test_a_one_sided_book_without_a_curve_has_no_value() -> None:
    assert value_of(rung(0, None, ask=60), "fair") is None
    assert middle(rung(0, None, ask=60)) is None


def test_a_real_price_is_rounded_away_from_the_other_side() -> None:
    assert (outward(BID, 47.3), outward(ASK, 47.3)) == (47, 48)
    assert (outward(BID, 48.0), outward(ASK, 48.0)) == (48, 48)


def test_what_arithmetic_leaves_over_does_not_cost_a_cent() -> None:
    below, above = 100 * 0.29, 100 * 1.1 - 62
    assert below < 29
    assert above > 48
    assert (outward(BID, below), outward(ASK, above)) == (29, 48)


def test_a_quote_stands_off_the_touch_and_within_the_range() -> None:
    seen = rung(0, 50.0, bid=40, ask=60)
    assert (placed(BID, 70.0, seen), placed(ASK, 30.0, seen)) == (59, 41)
    assert (placed(BID, 70.0, seen, gap=2), placed(ASK, 30.0, seen, gap=2)) == (58, 42)
    assert (placed(BID, 0.9, seen), placed(ASK, 99.1, seen)) == (None, None)
    assert (placed(BID, 1.0, seen), placed(ASK, 99.0, seen)) == (1, 99)


def test_where_no_legal_cent_is_left_nothing_is_placed() -> None:
    assert placed(BID, 50.0, rung(0, 50.0, ask=1)) is None
    assert placed(ASK, 50.0, rung(0, 50.0, bid=99)) is None


def holding(
    *orders: tuple[BookSide, int, int], net: int = 0, cash: int | None = 1_000
) -> EventView:
    mine = tuple(OwnQuote(s, Price(p), Qty(q), 0.0, 0.0) for s, p, q in orders)
    seen = msgspec.structs.replace(rung(0, 50.0, net=net), own=mine)
    return msgspec.structs.replace(view(seen), cash_cents=cash)


@pytest.mark.parametrize(
    ("net", "orders", "held_back"),
    [
        (0, [(BID, 48, 10)], 480),
        (0, [(ASK, 60, 10)], 400),
        (0, [(BID, 48, 10), (BID, 40, 5), (ASK, 60, 10)], 480 + 200 + 400),
        (10, [(ASK, 60, 10)], 0),
        (-10, [(BID, 48, 10)], 0),
        (4, [(ASK, 60, 10)], 6 * 40),
        (12, [(ASK, 60, 10), (ASK, 70, 10)], 8 * 30),
        (10, [(BID, 48, 10)], 480),
    ],
    ids=str,
)
def test_only_orders_that_buy_hold_cash_back(
    net: int, orders: list[tuple[BookSide, int, int]], held_back: int
) -> None:
    assert cash_in_all(holding(*orders, net=net)) == 1_000 + held_back


def test_unknown_cash_stays_unknown() -> None:
    assert cash_in_all(holding((BID, 48, 10), cash=None)) is None


@pytest.mark.parametrize("net", [-30, 0, 30])
@pytest.mark.parametrize("price", [1, 37, 99])
def test_base_and_cash_are_worth_what_is_held_at_every_price(net: int, price: int) -> None:
    held = rung(0, 50.0, net=net)
    worth = price * held.yes_qty + complement(Price(price)) * held.no_qty
    base, cash = base_and_cash(held, 500)
    assert base * price + cash == 500 + worth
