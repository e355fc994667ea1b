"""Claims about what counts as on target: all that is wanted rests, near enough and large enough."""

from collections.abc import Sequence

import pytest

from bot.core.orders.order import State
from bot.core.planning.diff import sides_on_target
from bot.core.settings import PaceSettings
from bot.strategy.api import Quote
from tests.builders.bot.planned import ASK, BID
from venue.wire.money import BookSide, Price, Qty

PACE = PaceSettings(tolerance_ticks=1, resize_pct=50)


class Resting:
    """What is asked of an own order."""

    def __init__(self, side: BookSide, level: int, remaining: int, state: State = State.OPEN):
        self.book_side, self.yes_price, self.remaining, self.state = side, level, remaining, state


def on_target(
    wanted: Sequence[tuple[BookSide, int, int]], *orders: Resting, pace: PaceSettings = PACE
) -> tuple[BookSide, ...]:
    quotes = [Quote(side, Price(price), Qty(qty)) for side, price, qty in wanted]
    return sides_on_target(quotes, orders, pace)


def test_a_side_without_quotes_is_not_on_target():
    assert on_target([(BID, 40, 10)], Resting(BID, 40, 10), Resting(ASK, 45, 10)) == (BID,)


@pytest.mark.parametrize(("qty", "is_enough"), [(10, True), (5, True), (4, False), (0, False)])
def test_a_side_is_on_target_if_no_resize_would_be_sent(qty, is_enough):
    assert on_target([(ASK, 45, 10)], Resting(ASK, 45, qty)) == ((ASK,) if is_enough else ())


def test_a_side_without_any_order_is_never_on_target():
    late = PaceSettings(resize_pct=100)
    assert on_target([(BID, 40, 10)], pace=late) == ()
    assert on_target([(BID, 40, 10)], Resting(BID, 40, 1), pace=late) == (BID,)


@pytest.mark.parametrize(
    ("side", "level", "counts"),
    [
        *((BID, 40, 1), (BID, 39, 1), (BID, 38, 0), (BID, 41, 0)),
        *((ASK, 45, 1), (ASK, 46, 1), (ASK, 47, 0), (ASK, 44, 0)),
    ],
)
def test_an_order_counts_up_to_the_tolerance_behind_its_price(side, level, counts):
    price = 40 if side is BID else 45
    assert bool(on_target([(side, price, 10)], Resting(side, level, 10))) == bool(counts)


def test_every_level_needs_shares_of_its_own():
    wanted = [(BID, 40, 10), (BID, 39, 10)]
    assert on_target(wanted, Resting(BID, 39, 5)) == ()
    assert on_target(wanted, Resting(BID, 39, 10)) == (BID,)  # five of them stand for each level
    assert on_target(wanted, Resting(BID, 40, 5), Resting(BID, 39, 5)) == (BID,)


@pytest.mark.parametrize(
    "state", [State.PENDING_NEW, State.NEW_UNKNOWN, State.PENDING_CANCEL, State.REPLACE_UNKNOWN]
)
def test_an_order_that_may_not_rest_does_not_count(state):
    assert on_target([(BID, 40, 10)], Resting(BID, 40, 10, state)) == ()


def test_an_order_with_an_amend_in_flight_counts_at_its_old_price():
    assert on_target([(BID, 40, 10)], Resting(BID, 40, 10, State.PENDING_REPLACE)) == (BID,)
