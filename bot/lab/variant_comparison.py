"""A split variant against the setting of the series, from the records of their fills.

What a fill was worth after h seconds is  sign * (fair value then - price) * shares - fee, sign +1
for a fill that made us longer YES. Both settings have the same rungs of an event for one block of
each pair (`bot.strategy.variants`), so the difference of a pair has no part that is of the rungs;
the interval is of the mean of these differences. A fill counts for the setting that priced its
order, in the pair in which it could first be known. Inventory is common to both: what it gains
later than h seconds after a fill is attributed to neither.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from bot.core.account.markouts import HORIZONS_S, MILLI
from bot.core.report import Against
from bot.lab.evaluate.statistics import Floats, Interval, mean_difference, resamples
from bot.records.rows import FillRow, MarkedRow, ValuedRow
from bot.records.store import Store
from bot.strategy.variants import Split, Variant
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide
from venue.wire.names import Ticker

_SECONDS_PER_HOUR = 3_600


class ComparedFill(NamedTuple):
    """A fill. setting: whose order it was. at_ns: when it could first be known, on the bot's clock.
    worth_cents: by horizon in seconds; without those at which the fair value was not known."""

    event: Ticker
    rung: Ticker
    setting: str
    at_ns: int
    qty: int
    worth_cents: Mapping[int, float]


class Contrast(msgspec.Struct, frozen=True):
    """Means an hour over pairs of blocks: of the variant, of the setting of the series, and the
    first less the second. The interval has no ends below five pairs."""

    pairs: int
    variant: float
    base: float
    difference: Interval


class VariantComparison(msgspec.Struct, frozen=True):
    """A variant, and the setting of the series where it did not hold.

    fills: of the variant, and of the other. pairs: of blocks, over all events. worth: cents an hour
    that the fills were worth, by horizon in seconds, over the pairs in which that is known of every
    fill.
    """

    variant: str
    base: str
    split: Split
    block_s: float
    pairs: int
    fills: tuple[int, int]
    qty: Contrast
    worth: dict[int, Contrast]


def fills_of(store: Store, account: int, from_ns: int, until_ns: int) -> list[ComparedFill]:
    """The fills of an account in a span of the venue's time, that the bot has valued."""
    with store.reading():
        fills = store.fills(account, from_ns, until_ns)
        valued = store.valued(account, fills)
        marked: dict[str, list[MarkedRow]] = {}
        for row in store.marked(account, fills):
            if row.against == Against.FAIR:
                marked.setdefault(row.fill_id, []).append(row)
    return [
        _compared(fill, valued[fill.fill_id], marked.get(fill.fill_id, []))
        for fill in fills
        if fill.fill_id in valued
    ]


def _compared(fill: FillRow, valued: ValuedRow, marked: Sequence[MarkedRow]) -> ComparedFill:
    sign = 1 if fill.book_side is BookSide.BID else -1
    worth = {
        row.horizon_s: sign * fill.qty * (row.value / MILLI - fill.yes_price)
        - (fill.fee_cents or 0)
        for row in marked
    }
    event, rung = Ticker(fill.event_ticker), Ticker(fill.ticker)
    return ComparedFill(event, rung, valued.strategy, valued.heard_ns, fill.qty, worth)


def compare_variant(
    variant: Variant, base: str, fills: Sequence[ComparedFill]
) -> VariantComparison | None:
    """base: the name of the setting of the series. From the first pair of an event with fills of
    either to the last, pairs without any count, too. None without a split, or without a fill.
    """
    names = (variant.name, base)
    mine = [
        fill for fill in fills if fill.setting in names and variant.covers(fill.event, fill.rung)
    ]
    if variant.split is Split.NONE or not mine:
        return None
    places = _places(variant, mine)
    shape = len(names), len(places)
    qty, is_known = np.zeros(shape), np.ones((len(HORIZONS_S), len(places)), bool)
    worth = np.zeros((len(HORIZONS_S), *shape))
    for fill in mine:
        row, place = names.index(fill.setting), places[fill.event, variant.pair_of(fill.at_ns)]
        qty[row, place] += fill.qty
        for number, horizon_s in enumerate(HORIZONS_S):
            is_known[number, place] &= horizon_s in fill.worth_cents
            worth[number, row, place] += fill.worth_cents.get(horizon_s, 0.0)
    block_s = variant.block_ns / NS_PER_SECOND
    per_hour = _SECONDS_PER_HOUR / block_s
    contrasts = {
        horizon_s: _contrast(per_hour * worth[number][:, is_known[number]])
        for number, horizon_s in enumerate(HORIZONS_S)
        if is_known[number].any()
    }
    return VariantComparison(
        variant=variant.name,
        base=base,
        split=variant.split,
        block_s=block_s,
        pairs=len(places),
        fills=(_count(mine, variant.name), _count(mine, base)),
        qty=_contrast(per_hour * qty),
        worth=contrasts,
    )


def _count(fills: Sequence[ComparedFill], setting: str) -> int:
    return sum(fill.setting == setting for fill in fills)


def _contrast(rows: Floats) -> Contrast:
    """Of two rows, a column a pair."""
    first, second = rows
    gap = mean_difference(first, second, resamples(len(first)))
    return Contrast(len(first), float(first.mean()), float(second.mean()), gap)


def _places(variant: Variant, fills: Sequence[ComparedFill]) -> dict[tuple[Ticker, int], int]:
    """The place of each pair of each event, from its first with fills to its last."""
    pairs: dict[Ticker, list[int]] = {}
    for fill in fills:
        pairs.setdefault(fill.event, []).append(variant.pair_of(fill.at_ns))
    keys = [
        (event, pair)
        for event, found in sorted(pairs.items())
        for pair in range(min(found), max(found) + 1)
    ]
    return {key: place for place, key in enumerate(keys)}
