"""Variants: another strategy, or other parameters, for some rungs of a series.

A variant may be split: then it holds on a drawn half of what it covers, and the setting of the
series on the other half, so that the two can be compared. Time is cut into blocks, and blocks come
in pairs. In each pair both settings have each rung for one block; which of them comes first is
drawn for each event and pair. What differs between rungs, or changes slowly, falls out of the
difference of a pair: docs/strategies.md#variants.
"""

import enum
import hashlib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from bot.strategy.api import (
    EventView,
    Quote,
    Strategy,
    StrategyAnswer,
    Take,
    checked_output,
    mapped,
    name_of,
    quotes_of,
)
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import MarketId, Ticker

BLOCK_NS: Final = 600 * NS_PER_SECOND


class Split(enum.StrEnum):
    """Which half of what it covers a variant has at a time."""

    NONE = "none"  # all of it
    TIME = "time"  # all rungs of an event, in one block of each pair
    RUNGS = "rungs"  # every other rung of an event, in the next block the rungs between them


class Variant(msgspec.Struct, frozen=True):
    """Where a setting of this name holds.

    events, rungs: tickers of events; tickers of rungs, or their ends after the event's; with * for
    any letters and ? for one. Empty for all. seed: of the draws.
    """

    name: str
    events: tuple[str, ...] = ()
    rungs: tuple[str, ...] = ()
    split: Split = Split.NONE
    block_ns: int = BLOCK_NS
    seed: int = 0

    def covers(self, event: Ticker, rung: Ticker) -> bool:
        """True if a rung of an event is among those that it holds on, always or in half of the
        blocks."""
        label = rung.removeprefix(f"{event}-")
        return _fits([event], self.events) and _fits([rung, label], self.rungs)

    def pair_of(self, at_ns: int) -> int:
        """The number of the pair of blocks at an instant, from 1970 on."""
        return at_ns // (2 * self.block_ns)

    def turn_ns(self, at_ns: int) -> int | None:
        """When the block ends that an instant is in; None without a split."""
        if self.split is Split.NONE:
            return None
        return (at_ns // self.block_ns + 1) * self.block_ns

    def holds(self, event: Ticker, place: int, at_ns: int) -> bool:
        """True if it holds at an instant on a rung that it covers. place: of the rung among those
        of the event that it covers, by strike."""
        if self.split is Split.NONE:
            return True
        text = f"{self.seed} {event} {self.pair_of(at_ns)}"
        is_drawn = hashlib.blake2b(text.encode(), digest_size=1).digest()[0] & 1
        is_odd_block = at_ns // self.block_ns & 1
        is_odd_rung = place & 1 if self.split is Split.RUNGS else 0
        return bool(is_drawn ^ is_odd_block ^ is_odd_rung)


def _fits(texts: Iterable[str], patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(text, each) for text in texts for each in patterns)


class VariedStrategy(Strategy):
    """The setting of the series, and its variants, as one strategy of one event.

    The first variant that holds on a rung quotes it, and the setting of the series where none does.
    Every setting sees the whole event; what it wants elsewhere is dropped. A variant is asked while
    it covers a rung of the event, also in the blocks of the other half: it learns from each view.
    The fault of one is a fault of all of them. Names in the memory and the diagnostics of a variant
    begin with its own name and a colon; they count together against the limits of one answer. Each
    rung is `quoted_by` the name of its setting, whatever that itself says.
    """

    def __init__(self, base: Strategy, variants: Sequence[tuple[Variant, Strategy]]) -> None:
        super().__init__(base.params)
        self.name = name_of(base)  # type: ignore[misc]
        self._base = base
        self._variants = variants

    def quote(self, view: EventView) -> StrategyAnswer:
        at_ns = round(view.unix_s * NS_PER_SECOND)
        merged = _Merged(view, [variant.name for variant, _ in self._variants])
        left = {rung.market_id for rung in view.rungs}
        turns_ns = []
        for variant, strategy in self._variants:
            covered = [
                rung.market_id
                for rung in view.rungs
                if variant.covers(view.event_ticker, rung.ticker)
            ]
            if not covered:
                continue
            if (turn_ns := variant.turn_ns(at_ns)) is not None:
                turns_ns.append(turn_ns)
            mine = {
                market_id
                for place, market_id in enumerate(covered)
                if market_id in left and variant.holds(view.event_ticker, place, at_ns)
            }
            left -= mine
            merged.ask(strategy, mine, variant.name)
        merged.ask(self._base, left, "")
        if turns_ns:
            merged.ask_again((min(turns_ns) - at_ns) / NS_PER_SECOND)
        return merged.answer()


class _Merged:
    """One answer of several settings."""

    def __init__(self, view: EventView, names: Sequence[str]) -> None:
        self._view = view
        self._prefixes = tuple(f"{name}:" for name in names)
        self._quotes: dict[MarketId, tuple[Quote | Take, ...]] = {}
        self._quoted_by: dict[MarketId, str] = {}
        self._diagnostics: dict[str, float] = {}
        self._memory = dict(view.memory)
        self._has_memory = False
        self._again_s: float | None = None

    def ask(self, strategy: Strategy, markets: set[MarketId], name: str) -> None:
        """Take what a setting wants in these markets. name: empty for that of the series. Raises
        what the strategy raises, and NonsenseQuotes for what came with its quotes."""
        prefix = f"{name}:" if name else ""
        own = {
            key.removeprefix(prefix): value
            for key, value in self._view.memory.items()
            if self._is_of(key, prefix)
        }
        answer = strategy.quote(msgspec.structs.replace(self._view, memory=own))
        quotes = quotes_of(answer)
        if isinstance(answer, StrategyAnswer):
            output = checked_output(answer)
            self._diagnostics |= {
                f"{prefix}{key}": each for key, each in output.diagnostics.items()
            }
            if output.memory is not None:
                self._has_memory = True
                others = {k: v for k, v in self._memory.items() if not self._is_of(k, prefix)}
                self._memory = others | {f"{prefix}{k}": v for k, v in output.memory.items()}
            if output.again_s is not None:
                self.ask_again(output.again_s)
        for market_id, wanted in mapped(quotes).items():
            if market_id in markets:
                self._quotes[market_id] = wanted
        if name:
            self._quoted_by |= dict.fromkeys(markets, name)

    def _is_of(self, key: str, prefix: str) -> bool:
        return key.startswith(prefix) if prefix else not key.startswith(self._prefixes)

    def ask_again(self, in_s: float) -> None:
        """At the latest in so many seconds."""
        self._again_s = in_s if self._again_s is None else min(self._again_s, in_s)

    def answer(self) -> StrategyAnswer:
        memory = self._memory if self._has_memory else None
        return StrategyAnswer(
            self._quotes, self._diagnostics, memory, self._quoted_by, self._again_s
        )
