"""Waits for a condition by looking again and again."""

import asyncio
from collections.abc import Callable


async def until(holds: Callable[[], object], longest_s: float = 60) -> None:
    """Return once something holds. Raises TimeoutError."""
    async with asyncio.timeout(longest_s):
        while not holds():  # noqa: ASYNC110 - looked at from outside
            await asyncio.sleep(0.01)
