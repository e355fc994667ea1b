"""Claims about orders on the clock in the last day of an event, where their sizes are halved."""

from collections.abc import Callable

import pytest

from bot.strategy.api import Strategy
from strategies.avellaneda_stoikov import AvellanedaStoikov
from strategies.pure_mm import PureMM
from tests.builders.strategies.scenes import fill
from tests.builders.strategies.through_time import ASK, BID, Scene

Params = dict[str, float | str]


def pure_mm(qty: int) -> Strategy:
    told: Params = {"bid_spread_pct": 4, "ask_spread_pct": 4, "order_refresh_time_s": 1_000}
    return PureMM(PureMM.Params.model_validate(told | {"order_amount_qty": qty}))


def hummingbot(qty: int) -> Strategy:
    told: Params = {"mode": "hummingbot", "order_refresh_time_s": 1_000, "min_spread_pct": 8}
    return AvellanedaStoikov(
        AvellanedaStoikov.Params.model_validate(told | {"order_amount_qty": qty})
    )


@pytest.mark.parametrize("make", [pure_mm, hummingbot])
@pytest.mark.parametrize("qty", [10, 11])
def test_fills_of_a_halved_order_are_counted_twice_against_the_quoted_size(
    make: Callable[[int], Strategy], qty: int
) -> None:
    one = Scene(make(qty), 50.0)
    at = [price for _, price, _ in one.at(0, volatility=0.01, size_part=2)]
    assert at[0] < 50 < at[1]
    assert one.at(1, fill(BID, at[0], 2), size_part=2) == [
        (BID, at[0], qty - 4),
        (ASK, at[1], qty),
    ]
    assert one.at(2, fill(BID, at[0], 3), size_part=2) == [(ASK, at[1], qty)]
