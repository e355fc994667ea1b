"""What may stand beside a run: it watches what the trader does, and can neither stop nor slow
it.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import structlog

from bot.core import messages as m
from bot.core.report import Report
from bot.io.metrics.table import Family
from bot.io.secret import Secret


async def finish_all(companions: Iterable["Sidecar"]) -> None:
    """Let all of them have their last word, together."""
    await asyncio.gather(*(_finish(each) for each in companions))


async def _finish(companion: "Sidecar") -> None:
    try:
        await companion.finish()
    except Exception:  # noqa: BLE001 - the run is over, and how it ended stands
        structlog.stdlib.get_logger("bot").exception("companion_failed", companion=companion.name)


class Sidecar(Protocol):
    """One of them. Each has a task of its own for as long as the run goes on."""

    name: str

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """What no log may show."""
        ...

    @property
    def families(self) -> tuple[tuple[Family[Any], Any], ...]:
        """Its metrics, each with what it is read off."""
        ...

    def begin(self, look: Callable[[], Report | None], now_ns: Callable[[], int]) -> None:
        """The run begins. look: the newest picture of the trader; now_ns: the bot's clock."""
        ...

    def did(self, effect: m.Effect, at_ns: int) -> None:
        """The trader did something; must return at once, whatever it is."""
        ...

    async def run(self) -> None:
        """Go on until cancelled. Raises nothing else, and never ends."""
        ...

    async def finish(self) -> None:
        """The run is over: a last word, in a few seconds at most. Raises nothing."""
        ...
