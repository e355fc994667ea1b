"""What a strategy returns with its quotes: diagnostics for people, and a memory that outlives it.

The journal has both as notes, and only when they change: nobody but the strategy depends on them.
See strategies/README.md#what-it-remembers-and-says.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from bot.strategy.api import OutputCheck

_ENCODER = msgspec.json.Encoder(order="sorted")


class StrategyOutput:
    """The newest of one event. diagnostics: by name, of the newest valid answer."""

    def __init__(self) -> None:
        self.diagnostics: dict[str, float] = {}
        self._memory_of = ""  # the strategy whose memory it is
        self._memory_json = "{}"
        self._memory: dict[str, Any] = {}
        self._unsaid: dict[str, str] = {}

    def restore(self, strategy: str, memory_json: str) -> None:
        """Begin with the memory that an earlier run had."""
        self._memory_of, self._memory_json = strategy, memory_json
        self._memory = msgspec.json.decode(memory_json)

    def memory(self, strategy: str) -> dict[str, Any]:
        """The memory that a strategy of this name has of the event; a copy, which it may change."""
        return dict(self._memory) if self._memory_of == strategy else {}

    def take(self, output: OutputCheck | None, strategy: str) -> None:
        """Take in what came with a valid answer; None: quotes alone, which leave the memory."""
        diagnostics = {} if output is None else output.diagnostics
        if diagnostics != self.diagnostics:
            self.diagnostics = diagnostics
            self._unsaid["strategy_diagnostics"] = _ENCODER.encode(diagnostics).decode()
        if output is None or output.memory is None:
            return
        text = _ENCODER.encode(output.memory).decode()
        if text != self._memory_json or strategy != self._memory_of:
            self.restore(strategy, text)
            self._unsaid["strategy_memory"] = text

    def changes(self) -> Iterator[tuple[str, str]]:
        """What the journal lacks: names of notes, and the values as JSON."""
        while self._unsaid:
            yield self._unsaid.popitem()
