"""Claims about the live table: it stands on a terminal, and does not fall with it."""

import asyncio
import io
import threading
import time

import pytest
from rich.console import Console

from bot.io.run.terminal import show_table

pytestmark = pytest.mark.anyio


class Terminal(io.StringIO):
    """A terminal that refuses writes once it has gone."""

    is_gone = False

    def write(self, text: str) -> int:
        if self.is_gone:
            raise OSError(5, "Input/output error")
        return super().write(text)


@pytest.mark.parametrize("from_the_start", [True, False])
async def test_the_table_goes_on_when_its_terminal_has_gone(from_the_start):
    terminal = Terminal()
    terminal.is_gone = from_the_start
    console = Console(file=terminal, force_terminal=True, width=80)
    drawn_once = asyncio.Event()

    def look() -> None:
        drawn_once.set()

    showing = asyncio.ensure_future(show_table(look, list, "http://localhost:1/", console))
    async with asyncio.timeout(5):
        await asyncio.wait(
            [showing, asyncio.ensure_future(drawn_once.wait())], return_when=asyncio.FIRST_COMPLETED
        )
    terminal.is_gone = True
    assert not showing.done()
    showing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await showing


async def test_a_blocked_terminal_does_not_delay_the_end_of_a_run():
    goes_on, is_full = threading.Event(), threading.Event()

    class Stopped(Terminal):
        def write(self, text: str) -> int:
            if is_full.is_set():
                goes_on.wait(20)
            return super().write(text)

    console = Console(file=Stopped(), force_terminal=True, width=80)
    showing = asyncio.ensure_future(show_table(lambda: None, list, "http://localhost:1/", console))
    await asyncio.sleep(0.3)
    is_full.set()
    await asyncio.sleep(0.7)  # one picture later
    begun_s = time.monotonic()
    showing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await showing
    took_s = time.monotonic() - begun_s
    goes_on.set()
    assert took_s < 5
