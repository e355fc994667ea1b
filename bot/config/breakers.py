"""The `breakers` part of the configuration file: bounds, and what the compiled caps refuse.

Nothing here can be switched off. A number beyond a compiled cap of `bot.core.risk.breakers` is
refused: to pass it, that file has to be changed too, and so by two people.
"""

from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from bot.config.base import LivePart
from bot.core.risk.breakers import ORDER_NOTIONAL_CENTS_CAP, ORDER_QTY_CAP, TICKS_THROUGH_CAP
from bot.core.settings import BreakerSettings
from venue.wire.instant import NS_PER_MS
from venue.wire.limits import NOTIONAL_CENTS_MAX, QTY_MAX

_DEFAULT: Final = BreakerSettings()
_RATE_MAX: Final = 100_000
_DAY_MS: Final = 86_400_000

Rate = Annotated[int, Field(ge=0, le=_RATE_MAX)]
Money = Annotated[int, Field(ge=0, le=NOTIONAL_CENTS_MAX)]


class Breakers(LivePart):
    """What trips, and what one order may be at most; 0 is what follows from the other limits."""

    writes_per_second: Rate = Field(
        _DEFAULT.writes_per_second,
        description="creates, amends and cancels in any second, but for cancels of what earlier "
        "runs or others left; 0: three times risk.resting_orders, at least 60",
    )
    creates_per_minute: Rate = Field(
        _DEFAULT.creates_per_minute,
        description="first creates in any minute; 0: three times risk.resting_orders, at least 60",
    )
    notional_cents_per_minute: Money = Field(
        _DEFAULT.notional_cents_per_minute,
        description="price times size of the same; 0: what risk.resting_orders, at least 20, of "
        "risk.order_qty pay out",
    )
    fills_per_minute: Rate = Field(
        _DEFAULT.fills_per_minute,
        description="fills booked in any minute; 0: three times risk.resting_orders, at least 60",
    )
    filled_qty_per_minute: int = Field(
        _DEFAULT.filled_qty_per_minute,
        ge=0,
        le=QTY_MAX,
        description="shares of the same; 0: risk.resting_orders, at least 20, times risk.order_qty",
    )
    loss_cents: Money = Field(
        _DEFAULT.loss_cents,
        description="profit below that at the opening of the books; 0: risk.series_loss_cents",
    )
    drawdown_cents: Money = Field(
        _DEFAULT.drawdown_cents,
        description="profit below its highest since; 0: twice risk.series_loss_cents",
    )
    rejects_per_minute: int = Field(
        _DEFAULT.rejects_per_minute,
        ge=1,
        le=_RATE_MAX,
        description="writes that the venue found wrong in any minute; want of funds, states and "
        "pace do not count",
    )
    unknown_age_ms: int = Field(
        _DEFAULT.unknown_age_ns // NS_PER_MS,
        ge=1_000,
        le=_DAY_MS,
        description="age of the oldest write without a definite answer; a finding says so from "
        "30 s on",
    )
    order_notional_cents: Money = Field(
        _DEFAULT.order_notional_cents,
        description="price times size of one create; 0: what risk.order_qty shares pay out; "
        f"compiled cap {ORDER_NOTIONAL_CENTS_CAP:,}",
    )
    ticks_through: int = Field(
        _DEFAULT.ticks_through,
        ge=0,
        le=98,
        description="how far through the others' best price on the far side a create or a new "
        f"price may reach; compiled cap {TICKS_THROUGH_CAP}",
    )

    def settings(self) -> BreakerSettings:
        """The trader's numbers, milliseconds turned into nanoseconds."""
        numbers = self.model_dump()
        return BreakerSettings(unknown_age_ns=numbers.pop("unknown_age_ms") * NS_PER_MS, **numbers)


def beyond_caps(breakers: Breakers, order_qty: int) -> Iterator[tuple[tuple[str, str], str]]:
    """(place, text) of every number that a compiled cap refuses."""
    for place, value, cap in (
        (("risk", "order_qty"), order_qty, ORDER_QTY_CAP),
        (
            ("breakers", "order_notional_cents"),
            breakers.order_notional_cents,
            ORDER_NOTIONAL_CENTS_CAP,
        ),
        (("breakers", "ticks_through"), breakers.ticks_through, TICKS_THROUGH_CAP),
    ):
        if value > cap:
            yield place, f"{value} is beyond the compiled cap of {cap} (bot/core/risk/breakers.py)"
