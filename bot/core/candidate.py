"""A strategy that runs beside the live one, as it is configured."""

from collections.abc import Callable
from typing import Final

import msgspec

from bot.core.strategy import Strategy
from venue.wire.instant import NS_PER_MS

LATENCY_NS: Final = 50 * NS_PER_MS
"""From a decision to the first print, as we hear of it, that its orders can meet."""


class Candidate(msgspec.Struct, frozen=True):
    """One candidate. make_strategy: makes a fresh strategy for each event."""

    name: str
    strategy: str
    make_strategy: Callable[[], Strategy]
    latency_ns: int = LATENCY_NS
