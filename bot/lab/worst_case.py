"""The exposure of given inventory and orders by outcome, and the room left by the limits."""

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from bot.config.strict_yaml import YamlFault, read_yaml
from bot.config.validation import typed
from bot.core.build_report import limits_used
from bot.core.outcome_risk import OutcomeRisk, risk_of
from bot.core.report import BreakerReport, EventReport
from bot.core.risk.exposure import (
    Bounds,
    Exposure,
    RungTerms,
    bounds_of,
    event_limit_cents,
    live_of,
    series_loss_cents,
)
from bot.core.risk.limits import limits_in_force
from bot.core.settings import RiskSettings
from bot.strategy.api import Quote
from venue.wire.limits import NOTIONAL_CENTS_MAX, QTY_MAX
from venue.wire.money import (
    PAYOUT_CENTS,
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    Cents,
    FeeRate,
    Outcome,
    Price,
    Qty,
    Side,
    canonical,
    fee_cents,
    is_price,
    notional,
)
from venue.wire.names import MarketId

_CashCents = Annotated[int, Field(ge=-NOTIONAL_CENTS_MAX, le=NOTIONAL_CENTS_MAX)]
_Shares = Annotated[int, Field(ge=0, le=QTY_MAX)]
_PriceCents = Annotated[int, Field(ge=PRICE_MIN, le=PRICE_MAX)]
_CHANCE_SLACK: Final = 1e-6
_MIDDLE: Final = (PRICE_MIN + PRICE_MAX) // 2


class WhatIfFault(Exception):
    """An inventory, order or file that cannot be used; the text names the accepted form."""


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")


class GivenOrder(_Given):
    """An order that may fill completely, at a canonical YES price."""

    rung: str  # a label of `rungs`
    side: BookSide
    price: _PriceCents
    qty: Annotated[int, Field(ge=1, le=QTY_MAX)]


class GivenRung(_Given):
    label: str
    yes_qty: _Shares = 0
    no_qty: _Shares = 0
    price: _PriceCents = _MIDDLE  # the canonical price at which its room is asked
    bid: _PriceCents | None = None  # the best YES prices of others in its book
    ask: _PriceCents | None = None
    fee_rate: str = ""  # "" for the event's


class GivenEvent(_Given):
    event: str = "given"
    fee_rate: str = "0"  # the dearer of the two, such as 0.0175
    cash_cents: _CashCents = 0  # net of all its fills and payouts so far, fees included
    rungs: list[GivenRung]  # the lowest strike first
    orders: list[GivenOrder] = []
    chances: list[float] = []  # of the n + 1 outcomes, lowest first; none where they are unknown

    def rate_of(self, rung: GivenRung) -> FeeRate:
        """Raises WhatIfFault for a rate that is none."""
        try:
            return FeeRate.parse(rung.fee_rate or self.fee_rate)
        except ValueError as fault:
            raise WhatIfFault(f"fee rate of {rung.label}: {fault}") from None


# --- where to begin -------------------------------------------------------------------------------


class _Report(msgspec.Struct):
    events: tuple[EventReport, ...]


class _StatusPage(msgspec.Struct):
    report: _Report | None


def events_of_status(body: bytes, where: str) -> list[GivenEvent]:
    """The events of `/status.json`. Raises WhatIfFault for no event yet, or another page."""
    try:
        status = msgspec.json.decode(body, type=_StatusPage)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise WhatIfFault(f"{where}: not the status of a bot of this version: {fault}") from None
    if status.report is None or not status.report.events:
        raise WhatIfFault(f"{where}: the bot knows no event yet; try again in a moment")
    return [_event_of_report(event) for event in status.report.events]


def _event_of_report(event: EventReport) -> GivenEvent:
    # Inventory and live orders may exceed what a file or option accepts.
    rungs = [
        GivenRung.model_construct(
            label=rung.ticker,
            yes_qty=rung.yes_qty,
            no_qty=rung.no_qty,
            price=_MIDDLE
            if rung.fair_cents is None
            else max(PRICE_MIN, min(PRICE_MAX, round(rung.fair_cents))),
            bid=rung.bids[0][0] if rung.bids else None,
            ask=rung.asks[0][0] if rung.asks else None,
            fee_rate=rung.fee_rate,
        )
        for rung in event.rungs
    ]
    orders = [
        GivenOrder.model_construct(
            rung=rung.ticker,
            side=order.side,
            # The limits count an order at the worst price that an amend in flight allows.
            price=order.price
            if order.worst_price is None
            else canonical(order.outcome, order.worst_price),
            qty=order.may_fill_qty,
        )
        for rung in event.rungs
        for order in rung.orders
        if order.may_fill_qty > 0
    ]
    # Every NO share pays in the lowest outcome.
    cash_cents = event.outcome_cents[0] - PAYOUT_CENTS * sum(rung.no_qty for rung in event.rungs)
    return GivenEvent.model_construct(
        event=event.event_ticker,
        rungs=rungs,
        cash_cents=cash_cents,
        orders=orders,
        chances=list(event.chances or ()),
    )


def event_of_file(path: Path) -> GivenEvent:
    """Raises WhatIfFault with every fault and its line."""
    try:
        source = read_yaml(path)
    except YamlFault as fault:
        raise WhatIfFault("\n".join(fault.lines)) from None
    event, faults = typed(GivenEvent, source.content, (), source)
    if event is None:
        raise WhatIfFault("\n".join(f"{path}:{each.line}: {each.text}" for each in sorted(faults)))
    labels = [rung.label for rung in event.rungs]
    if not labels or len(set(labels)) < len(labels):
        line = source.line_of(("rungs",))
        raise WhatIfFault(f"{path}:{line}: rungs: at least one, each label once, lowest first")
    chances = event.chances
    if chances and (
        len(chances) != len(labels) + 1 or min(chances) < 0 or abs(sum(chances) - 1) > _CHANCE_SLACK
    ):
        line = source.line_of(("chances",))
        wanted = f"{len(labels) + 1} numbers, 0 or more, that add up to 1"
        raise WhatIfFault(f"{path}:{line}: chances: accepted: {wanted}, the lowest outcome first")
    for place, order in enumerate(event.orders):
        if order.rung not in labels:
            line = source.line_of(("orders", place, "rung"))
            known = ", ".join(labels)
            raise WhatIfFault(f"{path}:{line}: orders.{place}.rung: no {order.rung!r}; {known}")
    return event


# --- options --------------------------------------------------------------------------------------

_SHARES: Final = re.compile(r"(yes|no):([0-9]{1,7})(?:@([0-9]{1,2}))?", re.ASCII)
_HOLD: Final = "RUNG=yes:10@45 for shares bought at 45, or RUNG=yes:10,no:5 at the book's prices"
_ORDER: Final = re.compile(r"(.*):(bid|ask):([0-9]{1,18}):([0-9]{1,18})", re.ASCII)
_ORDER_WANTED: Final = "RUNG:bid:45:10 or RUNG:ask:55:10: side, price in cents of YES, shares"


class AssumedTrade(msgspec.Struct, frozen=True):
    """The trade by which an inventory became that of a `--hold`.

    price: cents of that outcome, fee not included. source: "option", or the side of the book.
    """

    event: str
    rung: str
    outcome: Outcome
    side: Side
    qty: Qty
    price: Price
    source: str

    def __str__(self) -> str:
        done = "bought" if self.side is Side.BUY else "sold"
        where = "as --hold says" if self.source == "option" else f"the {self.source} in the book"
        return f"{self.rung}: {self.qty} {self.outcome} {done} at {self.price}, {where}"


def add_holding(
    events: Sequence[GivenEvent], text: str, event_meant: str = ""
) -> list[AssumedTrade]:
    """Set a rung's inventory by a text such as `RUNG=yes:10@45,no:5`. The difference is bought or
    sold at that price, else at the best one in the rung's book, fee included. event_meant: decides
    between rungs of one label. Raises WhatIfFault, also without any price."""
    option = f"--hold {text}"
    label, _, shares = text.rpartition("=")
    parts = [_SHARES.fullmatch(part) for part in shares.split(",")]
    if not label or not all(parts):
        raise WhatIfFault(f"{option}: want {_HOLD}")
    event, rung = _find(events, label, option, event_meant)
    trades = []
    for name, digits, cents in (part.groups() for part in parts if part):
        outcome, more = Outcome(name), int(digits) - getattr(rung, f"{name}_qty")
        if cents is not None:
            price, source = _price(int(cents), option), "option"
        elif more:
            price, source = _book_price(rung, outcome, option, is_buy=more > 0)
        else:
            continue
        traded, side = Qty(abs(more)), Side.BUY if more > 0 else Side.SELL
        paid = notional(price, traded) if more > 0 else -notional(price, traded)
        event.cash_cents -= paid + fee_cents(event.rate_of(rung), traded, price)
        setattr(rung, f"{name}_qty", int(digits))
        if more:
            shown = rung.label.removeprefix(f"{event.event}-")
            trades.append(AssumedTrade(event.event, shown, outcome, side, traded, price, source))
    return trades


def _book_price(
    rung: GivenRung, outcome: Outcome, option: str, *, is_buy: bool
) -> tuple[Price, str]:
    """The best price of others for that trade, cents of its outcome, and the side of the book."""
    takes_ask = is_buy == (outcome is Outcome.YES)
    best, source = (rung.ask, "best ask") if takes_ask else (rung.bid, "best bid")
    if best is None:
        example = f"{rung.label}={outcome}:10@45"
        raise WhatIfFault(f"{option}: no {source} is known there; say the price: {example}")
    return canonical(outcome, Price(best)), source


def add_order(events: Sequence[GivenEvent], text: str, event_meant: str = "") -> None:
    """Add an order such as `RUNG:bid:45:10`. Raises as `add_holding` does."""
    option = f"--order {text}"
    parts = _ORDER.fullmatch(text)
    if parts is None:
        raise WhatIfFault(f"{option}: want {_ORDER_WANTED}")
    event, rung = _find(events, parts[1], option, event_meant)
    price, qty = _price(int(parts[3]), option), int(parts[4])
    if not 1 <= qty <= QTY_MAX:
        raise WhatIfFault(f"{option}: size {qty}; accepted: 1 to {QTY_MAX} shares")
    side = BookSide(parts[2])
    event.orders.append(GivenOrder(rung=rung.label, side=side, price=price, qty=qty))


def ask_at(events: Sequence[GivenEvent], price: int) -> None:
    """The canonical price at which room is asked. Raises WhatIfFault if it is none."""
    for rung in (rung for event in events for rung in event.rungs):
        rung.price = _price(price, f"--at {price}")


def _price(cents: int, option: str) -> Price:
    if not is_price(cents):
        raise WhatIfFault(f"{option}: price {cents}; accepted: {PRICE_MIN} to {PRICE_MAX} cents")
    return Price(cents)


def _find(
    events: Sequence[GivenEvent], label: str, option: str, event_meant: str
) -> tuple[GivenEvent, GivenRung]:
    """The one rung that a label names or ends, of the event that is meant."""
    rungs = [(event, rung) for event in events for rung in event.rungs]
    found = [row for row in rungs if row[1].label == label]
    found = found or [row for row in rungs if row[1].label.endswith(f"-{label}")]
    found = [row for row in found if row[0].event == event_meant] or found
    if len(found) == 1:
        return found[0]
    names = ", ".join(rung.label for _, rung in found or rungs)
    if found:
        text = f"{label} is a rung of several events; say --event, or which: {names}"
    else:
        text = f"no rung {label!r}; there are {names}"
    raise WhatIfFault(f"{option}: {text}")


# --- the answer -----------------------------------------------------------------------------------


class OutcomeAnswer(msgspec.Struct, frozen=True):
    """Profit in one outcome if nothing more fills, and if everything fills that hurts there."""

    name: str
    nothing_fills_cents: Cents
    worst_cents: Cents


class RungAnswer(msgspec.Struct, frozen=True):
    label: str
    yes_qty: int
    no_qty: int
    bid_qty: int  # bid_qty, ask_qty: shares live on each side
    ask_qty: int
    at: int  # the canonical price of the room
    bid_room_qty: Qty  # what every limit still admits, in orders of at most `risk.order_qty`
    ask_room_qty: Qty


class EventAnswer(msgspec.Struct, frozen=True):
    event: str
    outcomes: tuple[OutcomeAnswer, ...]
    worst_cents: Cents  # over all outcomes
    assumed: tuple[AssumedTrade, ...]  # by which inventories became those of `--hold`
    limits: tuple[BreakerReport, ...]  # used, and left by the other events
    within: bool  # True if none is exceeded
    rungs: tuple[RungAnswer, ...]
    risk: OutcomeRisk | None  # if nothing more fills; None without the chances of the outcomes


def answers(
    events: Sequence[GivenEvent], risk: RiskSettings, assumed: Sequence[AssumedTrade] = ()
) -> list[EventAnswer]:
    """Each event with what the others leave of the series' limits. assumed: as `add_holding`
    returned them. Raises WhatIfFault."""
    in_force = limits_in_force(risk)
    exposures = [_exposure(event) for event in events]
    out = []
    for event, exposure in zip(events, exposures, strict=True):
        others = [each for each in exposures if each is not exposure]
        lost = series_loss_cents([each.worst_cents for each in others])
        resting = Cents(sum(each.resting_cents for each in others))
        bounds = bounds_of(in_force, event_limit_cents(in_force, lost), resting)
        trades = tuple(each for each in assumed if each.event == event.event)
        out.append(_answer(event, exposure, bounds, trades))
    return out


def _exposure(event: GivenEvent) -> Exposure:
    rates = ((rung, event.rate_of(rung)) for rung in event.rungs)
    return Exposure(
        [RungTerms.at_rates(MarketId(rung.label), rate, rate) for rung, rate in rates],
        Cents(event.cash_cents),
        [(rung.yes_qty, rung.no_qty) for rung in event.rungs],
        [
            live_of(MarketId(each.rung), Quote(each.side, Price(each.price), Qty(each.qty)))
            for each in event.orders
        ],
    )


def _answer(
    event: GivenEvent, exposure: Exposure, bounds: Bounds, assumed: tuple[AssumedTrade, ...]
) -> EventAnswer:
    limits = limits_used(exposure, bounds)
    over = any(abs(rung.yes_qty - rung.no_qty) > bounds.position_qty for rung in event.rungs)
    labels = [rung.label.removeprefix(f"{event.event}-") for rung in event.rungs]
    names = _outcome_names(labels)
    worst_cents = map(Cents, exposure.worst_by_outcome())
    cents = zip(names, exposure.outcome_cents, worst_cents, strict=True)

    def live(rung: GivenRung, side: BookSide) -> int:
        return sum(
            each.qty for each in event.orders if (each.rung, each.side) == (rung.label, side)
        )

    def room(rung: GivenRung, side: BookSide) -> Qty:
        most = Quote(side, Price(rung.price), Qty(QTY_MAX))
        return exposure.largest(live_of(MarketId(rung.label), most), bounds)

    rungs = tuple(
        RungAnswer(
            label=label,
            yes_qty=rung.yes_qty,
            no_qty=rung.no_qty,
            bid_qty=live(rung, BookSide.BID),
            ask_qty=live(rung, BookSide.ASK),
            at=rung.price,
            bid_room_qty=room(rung, BookSide.BID),
            ask_room_qty=room(rung, BookSide.ASK),
        )
        for label, rung in zip(labels, event.rungs, strict=True)
    )
    return EventAnswer(
        event.event,
        tuple(itertools.starmap(OutcomeAnswer, cents)),
        exposure.worst_cents,
        assumed,
        limits,
        not over and all(each.used <= each.limit for each in limits),
        rungs,
        risk_of(exposure.outcome_cents, event.chances, bounds.loss_cents)
        if event.chances
        else None,
    )


def _outcome_names(labels: Sequence[str]) -> list[str]:
    if len(labels) == 1:
        return [f"{labels[0]}: no", f"{labels[0]}: yes"]
    between = [f"{low} to {high}" for low, high in itertools.pairwise(labels)]
    return [f"below {labels[0]}", *between, f"above {labels[-1]}"]
