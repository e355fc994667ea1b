"""Holdings and orders of one event in a YAML file, for `bot worst-case --file`."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from bot.io.settings.typed import typed
from bot.io.settings.yamltext import YamlFault, read_yaml
from bot.lab.worst_case.worst_case import GivenEvent, GivenOrder, GivenRung, WhatIfFault
from venue.wire.limits import NOTIONAL_CENTS_MAX, QTY_MAX
from venue.wire.money import PRICE_MAX, PRICE_MIN, BookSide, Price, Qty

Cents_ = Annotated[int, Field(ge=-NOTIONAL_CENTS_MAX, le=NOTIONAL_CENTS_MAX)]
Shares = Annotated[int, Field(ge=0, le=QTY_MAX)]
PriceCents = Annotated[int, Field(ge=PRICE_MIN, le=PRICE_MAX)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Rung(_Part):
    label: str = Field(description="the rung's name")
    yes_qty: Shares = 0
    no_qty: Shares = 0
    price: PriceCents = 50


class _Order(_Part):
    rung: str = Field(description="a label of `rungs`")
    side: BookSide
    price: PriceCents
    qty: Annotated[int, Field(ge=1, le=QTY_MAX)]


class _File(_Part):
    """The whole file."""

    event: str = "given"
    fee_rate: str = Field("0", description="the dearer of the two fee rates, such as 0.0175")
    cash_cents: Cents_ = 0
    rungs: tuple[_Rung, ...]
    orders: tuple[_Order, ...] = ()


def event_of_file(path: Path) -> GivenEvent:
    """The event that a file describes. Raises WhatIfFault with every fault and its line."""
    try:
        source = read_yaml(path)
    except YamlFault as fault:
        raise WhatIfFault("\n".join(fault.told)) from None
    file, faults = typed(_File, source.content, (), source)
    if file is None:
        raise WhatIfFault("\n".join(f"{path}:{each.line}: {each.text}" for each in sorted(faults)))
    labels = [rung.label for rung in file.rungs]
    if not labels or len(dict.fromkeys(labels)) < len(labels):
        line = source.line_of(("rungs",))
        raise WhatIfFault(f"{path}:{line}: rungs: at least one, each label once, lowest first")
    for place, order in enumerate(file.orders):
        if order.rung not in labels:
            line = source.line_of(("orders", place, "rung"))
            known = ", ".join(labels)
            raise WhatIfFault(f"{path}:{line}: orders.{place}.rung: no {order.rung!r}; {known}")
    return GivenEvent(
        file.event,
        [
            GivenRung(rung.label, file.fee_rate, rung.yes_qty, rung.no_qty, Price(rung.price))
            for rung in file.rungs
        ],
        [
            GivenOrder(order.rung, order.side, Price(order.price), Qty(order.qty))
            for order in file.orders
        ],
        file.cash_cents,
    )
