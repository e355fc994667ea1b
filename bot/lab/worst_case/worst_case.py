"""What if: the worst case of given holdings and orders, outcome by outcome, and the room left.

The sums are those of the trader (`bot.core.limits.risk`); here a picture of a running bot, a file
or options become what they are asked about. Nothing here sends, reads a clock or waits.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from bot.core.limits.inforce import bounds_of, event_limit_cents, limits_in_force, series_loss_cents
from bot.core.limits.risk import Bounds, Exposure, Live, RungTerms
from bot.core.picture import limits_used
from bot.core.report import BreakerReport
from bot.core.settings import RiskSettings
from bot.lab.digits import is_whole
from venue.wire.limits import QTY_MAX
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

_MIDDLE: Final = Price((PRICE_MIN + PRICE_MAX) // 2)


class WhatIfFault(Exception):
    """A holding, an order or a file that cannot be used; the text names the place and what is
    accepted there."""


class GivenOrder(msgspec.Struct, frozen=True):
    """An order that is live, or would be: a canonical YES price, and all that may fill."""

    label: str
    side: BookSide
    price: Price
    qty: Qty


class GivenRung(msgspec.Struct):
    """A rung. at: the canonical price for which its room is asked."""

    label: str
    fee_rate: str = "0"
    yes_qty: int = 0
    no_qty: int = 0
    at: Price = _MIDDLE


class GivenEvent(msgspec.Struct):
    """An event as it is, or would be. rungs: the lowest strike first. cash_cents: net of all its
    fills and payouts so far, fees included."""

    ticker: str
    rungs: list[GivenRung]
    orders: list[GivenOrder]
    cash_cents: int = 0

    def rung(self, label: str) -> GivenRung | None:
        """The rung of this label, or of a ticker that ends in it."""
        for rung in self.rungs:
            if rung.label == label:
                return rung
        ending = [rung for rung in self.rungs if rung.label.endswith(f"-{label}")]
        return ending[0] if len(ending) == 1 else None


# --- from a picture of a running bot --------------------------------------------------------------


class _Order(msgspec.Struct):
    side: BookSide
    outcome: Outcome
    own_side: Side
    price: Price
    may_fill_qty: Qty
    worst_price: Price | None


class _Rung(msgspec.Struct):
    ticker: str
    yes_qty: int
    no_qty: int
    fee_rate: str
    fair_cents: float | None
    orders: tuple[_Order, ...]


class _Event(msgspec.Struct):
    event_ticker: str
    outcome_cents: tuple[int, ...]
    rungs: tuple[_Rung, ...]


class _Report(msgspec.Struct):
    events: tuple[_Event, ...]


class _Status(msgspec.Struct):
    report: _Report | None


def events_of_status(body: bytes, where: str) -> list[GivenEvent]:
    """The events on a status page's `/status.json`. Raises WhatIfFault when there are none yet, or
    when it is the page of something else."""
    try:
        status = msgspec.json.decode(body, type=_Status)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise WhatIfFault(f"{where}: not the status of a bot of this version: {fault}") from None
    if status.report is None or not status.report.events:
        raise WhatIfFault(f"{where}: the bot knows no event yet; try again in a moment")
    return [_of_report(event) for event in status.report.events]


def _of_report(event: _Event) -> GivenEvent:
    rungs = [
        GivenRung(
            rung.ticker,
            rung.fee_rate,
            rung.yes_qty,
            rung.no_qty,
            _MIDDLE if rung.fair_cents is None else _near(rung.fair_cents),
        )
        for rung in event.rungs
    ]
    orders = [
        GivenOrder(rung.ticker, order.side, _canonical(order), order.may_fill_qty)
        for rung in event.rungs
        for order in rung.orders
        if order.may_fill_qty > 0
    ]
    # In the lowest outcome every NO share pays.
    pays_cents = PAYOUT_CENTS * sum(rung.no_qty for rung in rungs)
    return GivenEvent(event.event_ticker, rungs, orders, event.outcome_cents[0] - pays_cents)


def _canonical(order: _Order) -> Price:
    """The price at which the limits count an order: the worst that an amend on its way allows."""
    if order.worst_price is None:
        return order.price
    return canonical(order.outcome, order.worst_price)


def _near(cents: float) -> Price:
    """The whole price next to a fair value."""
    return Price(max(PRICE_MIN, min(PRICE_MAX, round(cents))))


# --- from options ---------------------------------------------------------------------------------

_SHARES: Final = re.compile(r"(yes|no):([0-9]{1,7})(?:@([0-9]{1,2}))?", re.ASCII)
_HOLD: Final = "RUNG=yes:10, RUNG=yes:10,no:5 or RUNG=yes:10@45 for shares bought at 45"
_ORDER: Final = "RUNG:bid:45:10 or RUNG:ask:55:10: side, price in cents of YES, shares"


def hold(events: Sequence[GivenEvent], text: str, told: str = "") -> None:
    """Take in holdings told as `RUNG=yes:10,no:5`: they stand instead of those of the rung. With
    `@45` what they are more was bought at that price, and what they are less was sold at it, fee
    included; without it they cost nothing. told: the event that a label of several events is of, ""
    where none was named.

    Raises WhatIfFault for another form, a price or size out of range, or a rung there is not.
    """
    label, equals, shares = text.rpartition("=")
    parts = [_SHARES.fullmatch(part) for part in shares.split(",")]
    if not equals or not all(parts):
        raise WhatIfFault(f"--hold {text}: want {_HOLD}")
    event, rung = _found(events, label, f"--hold {text}", told)
    for part in parts:
        assert part is not None
        qty, outcome = int(part[2]), part[1]
        if part[3] is not None:
            price = _priced(int(part[3]), f"--hold {text}")
            rate = FeeRate.parse(rung.fee_rate)
            more = qty - (rung.yes_qty if outcome == Outcome.YES else rung.no_qty)
            traded = Qty(abs(more))
            paid = notional(price, traded) if more > 0 else -notional(price, traded)
            event.cash_cents -= paid + fee_cents(rate, traded, price)
        if outcome == Outcome.YES:
            rung.yes_qty = qty
        else:
            rung.no_qty = qty


def order(events: Sequence[GivenEvent], text: str, told: str = "") -> None:
    """Take in one more live order told as `RUNG:bid:45:10`. As `hold`, and raises as it
    does."""
    parts = text.rsplit(":", 3)
    sides = {side.value: side for side in BookSide}
    digits = all(map(is_whole, parts[2:]))
    if len(parts) != 4 or parts[1] not in sides or not digits:
        raise WhatIfFault(f"--order {text}: want {_ORDER}")
    event, rung = _found(events, parts[0], f"--order {text}", told)
    price = _priced(int(parts[2]), f"--order {text}")
    qty = int(parts[3])
    if not 1 <= qty <= QTY_MAX:
        raise WhatIfFault(f"--order {text}: size {qty}; accepted: 1 to {QTY_MAX} shares")
    event.orders.append(GivenOrder(rung.label, sides[parts[1]], price, Qty(qty)))


def ask_at(events: Sequence[GivenEvent], price: int) -> None:
    """Have the room of every rung asked for at this canonical price. Raises WhatIfFault if it is
    none."""
    for event in events:
        for rung in event.rungs:
            rung.at = _priced(price, f"--at {price}")


def _priced(cents: int, where: str) -> Price:
    if not is_price(cents):
        raise WhatIfFault(f"{where}: price {cents}; accepted: {PRICE_MIN} to {PRICE_MAX} cents")
    return Price(cents)


def _found(
    events: Sequence[GivenEvent], label: str, where: str, told: str = ""
) -> tuple[GivenEvent, GivenRung]:
    """The one rung that a label names; of several that of the event that was told."""
    found = [(event, rung) for event in events if (rung := event.rung(label)) is not None]
    if len(found) > 1 and told:
        found = [(event, rung) for event, rung in found if event.ticker == told] or found
    if len(found) == 1:
        return found[0]
    known = ", ".join(rung.label for event in events for rung in event.rungs)
    if found:
        names = ", ".join(rung.label for _, rung in found)
        raise WhatIfFault(
            f"{where}: {label} is a rung of several events; say --event, or which: {names}"
        )
    raise WhatIfFault(f"{where}: no rung {label!r}; there are {known}")


# --- the answer -----------------------------------------------------------------------------------


class OutcomeAnswer(msgspec.Struct, frozen=True):
    """One outcome. nothing_fills_cents: profit if nothing more fills. worst_cents: the same if
    everything live fills that hurts there."""

    name: str
    nothing_fills_cents: Cents
    worst_cents: Cents


class RungAnswer(msgspec.Struct, frozen=True):
    """One rung. bid_qty, ask_qty: shares live on each side. bid_room_qty, ask_room_qty: what
    every limit of loss, position and money still admits at the canonical price `at`, in orders of
    at most `risk.order_qty` each."""

    label: str
    yes_qty: int
    no_qty: int
    bid_qty: int
    ask_qty: int
    at: Price
    bid_room_qty: Qty
    ask_room_qty: Qty


class EventAnswer(msgspec.Struct, frozen=True):
    """One event. worst_cents: over all outcomes. limits: what is used up, and what the other
    events leave of it. within: whether none is exceeded."""

    event: str
    outcomes: tuple[OutcomeAnswer, ...]
    worst_cents: Cents
    limits: tuple[BreakerReport, ...]
    within: bool
    rungs: tuple[RungAnswer, ...]


def answers(events: Sequence[GivenEvent], risk: RiskSettings) -> list[EventAnswer]:
    """The answer for each event, beside the others. Raises WhatIfFault for a fee rate that is none,
    or an order on a rung that its event does not have."""
    in_force = limits_in_force(risk)
    exposures = [_exposure(event) for event in events]
    out = []
    for place, (event, exposure) in enumerate(zip(events, exposures, strict=True)):
        others = exposures[:place] + exposures[place + 1 :]
        lost = series_loss_cents([each.worst_cents for each in others])
        resting = Cents(sum(each.resting_cents for each in others))
        bounds = bounds_of(in_force, event_limit_cents(in_force, lost), resting)
        out.append(_answer(event, exposure, bounds))
    return out


def _exposure(event: GivenEvent) -> Exposure:
    terms = []
    for rung in event.rungs:
        try:
            rate = FeeRate.parse(rung.fee_rate)
        except ValueError as fault:
            raise WhatIfFault(f"fee rate of {rung.label}: {fault}") from None
        terms.append(RungTerms.of(MarketId(rung.label), rate, rate))
    holdings = [(rung.yes_qty, rung.no_qty) for rung in event.rungs]
    exposure = Exposure(terms, Cents(event.cash_cents), holdings)
    for each in event.orders:
        _, rung = _found([event], each.label, f"order {each.label} {each.side} {each.price}")
        exposure.add(_live(rung.label, each.side, each.price, each.qty))
    return exposure


def _live(label: str, side: BookSide, price: Price, qty: Qty) -> Live:
    own_side = Side.BUY if side is BookSide.BID else Side.SELL
    return Live(MarketId(label), Outcome.YES, own_side, price, qty)


def _answer(event: GivenEvent, exposure: Exposure, bounds: Bounds) -> EventAnswer:
    labels = [rung.label.removeprefix(f"{event.ticker}-") for rung in event.rungs]
    limits = limits_used(exposure, bounds)
    over = any(abs(rung.yes_qty - rung.no_qty) > bounds.position_qty for rung in event.rungs)
    return EventAnswer(
        event.ticker,
        tuple(
            OutcomeAnswer(name, nothing, worst)
            for name, nothing, worst in zip(
                _names(labels), exposure.outcome_cents, exposure.worst_outcome_cents, strict=True
            )
        ),
        exposure.worst_cents,
        limits,
        not over and all(each.used <= each.limit for each in limits),
        tuple(
            _room(rung, label, event, exposure, bounds)
            for rung, label in zip(event.rungs, labels, strict=True)
        ),
    )


def _room(
    rung: GivenRung, label: str, event: GivenEvent, exposure: Exposure, bounds: Bounds
) -> RungAnswer:
    mine = [each for each in event.orders if event.rung(each.label) is rung]
    bid, ask = (
        exposure.largest(_live(rung.label, side, rung.at, Qty(QTY_MAX)), bounds)
        for side in (BookSide.BID, BookSide.ASK)
    )
    return RungAnswer(
        label,
        rung.yes_qty,
        rung.no_qty,
        sum(each.qty for each in mine if each.side is BookSide.BID),
        sum(each.qty for each in mine if each.side is BookSide.ASK),
        rung.at,
        bid,
        ask,
    )


def _names(labels: Sequence[str]) -> list[str]:
    """What a person calls the n + 1 outcomes, the lowest first."""
    if len(labels) == 1:
        return [f"{labels[0]}: no", f"{labels[0]}: yes"]
    between = [f"{low} to {high}" for low, high in itertools.pairwise(labels)]
    return [f"below {labels[0]}", *between, f"above {labels[-1]}"]
