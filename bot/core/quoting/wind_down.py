"""Near its end an event is quoted in smaller size, then to reduce what is held, then not at all.

What is known about the outcome then is known to some and not to others, and what is bought can
hardly be sold again. It holds for every strategy alike, and so does what an operator asks for who
wants everything flat: what reduces a position, in the sizes that are wanted so near to the end.

See docs/pricing.md#section-1c-time.
"""

import enum
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from bot.core.orders.outbox import NEVER_NS
from bot.core.settings import CurfewSettings
from bot.strategy.api import Quote, Take
from venue.wire.money import BookSide, Qty
from venue.wire.names import MarketId

_Wish = TypeVar("_Wish", Quote, Take)


class WindDownStage(enum.StrEnum):
    """How much may be quoted."""

    OPEN = "open"  # everything
    HALVED = "halved"  # half of each size, at least a share
    REDUCING = "reducing"  # what brings YES and NO shares held together
    ENDED = "ended"  # nothing


def stage_of(settings: CurfewSettings, left_ns: int) -> WindDownStage:
    """The stage of an event that resolves in `left_ns`."""
    if left_ns <= settings.stop_ns and settings.stop_ns:
        return WindDownStage.ENDED
    if left_ns <= settings.reduce_ns:
        return WindDownStage.REDUCING
    return WindDownStage.HALVED if left_ns <= settings.halve_ns else WindDownStage.OPEN


def part_of(settings: CurfewSettings, left_ns: int) -> int:
    """What sizes are divided by in an event that resolves in `left_ns`."""
    return 2 if left_ns <= settings.halve_ns and settings.halve_ns else 1


def turns_in_ns(settings: CurfewSettings, left_ns: int) -> int:
    """How long until the next stage of an event that resolves in `left_ns`; NEVER_NS after all."""
    # The very end is one, too: from there on only what reduces is quoted, whatever the settings.
    turns_in_ns = NEVER_NS
    for each_ns in (0, settings.halve_ns, settings.reduce_ns, settings.stop_ns):
        if each_ns < left_ns and left_ns - each_ns < turns_in_ns:
            turns_in_ns = left_ns - each_ns
    return turns_in_ns


def kept(
    wanted: Mapping[MarketId, tuple[_Wish, ...]],
    net_qty: Mapping[MarketId, int],
    stage: WindDownStage,
    *,
    part: int,
    flattening: bool = False,
) -> Mapping[MarketId, tuple[_Wish, ...]]:
    """What of the wanted quotes or takes stands in a stage; the very mapping where that is all.

    net_qty: YES less NO shares held of each rung that anything is wanted on. part: what sizes are
    divided by, see `part_of`. flattening: only what reduces them stands, in any stage.
    """
    if stage is WindDownStage.ENDED:
        return {}
    if stage is WindDownStage.OPEN and not flattening:
        return wanted
    reduces = flattening or stage is WindDownStage.REDUCING
    return {
        market_id: _within(wishes, part, net_qty[market_id] if reduces else None)
        for market_id, wishes in wanted.items()
    }


def left_by(
    net_qty: Mapping[MarketId, int], takes: Mapping[MarketId, tuple[Take, ...]]
) -> dict[MarketId, int]:
    """YES less NO shares of each rung once these takes have traded: what quotes beside them may
    still reduce."""
    left = dict(net_qty)
    for market_id, wished in takes.items():
        for take in wished:
            left[market_id] += take.qty if take.side is BookSide.BID else -take.qty
    return left


def _within(wishes: tuple[_Wish, ...], part: int, net: int | None) -> tuple[_Wish, ...]:
    """One part of each size, at least a share; with `net` given, no more of all than reduces it,
    the boldest first."""
    out: list[_Wish] = []
    room = {BookSide.BID: max(0, -net), BookSide.ASK: max(0, net)} if net is not None else {}
    for wish in sorted(wishes, key=_boldness):
        qty = max(1, wish.qty // part)
        if net is not None:
            qty = min(qty, room[wish.side])
            room[wish.side] -= qty
        if qty > 0:
            out.append(msgspec.structs.replace(wish, qty=Qty(qty)))
    return tuple(out)


def _boldness(wish: Quote | Take) -> tuple[bool, int]:
    is_bid = wish.side is BookSide.BID
    return not is_bid, -wish.price if is_bid else wish.price
