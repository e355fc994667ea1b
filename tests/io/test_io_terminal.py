"""Claims about the live table: it stands on a terminal, and does not fall with it."""

import asyncio
import io

import pytest
from rich.console import Console

from bot.io.run.terminal import show_table

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Terminal(io.StringIO):
    """One that may go: from then on it takes nothing."""

    is_gone = False

    def write(self, text: str) -> int:
        """Take a text. Raises what a terminal does whose other end was closed."""
        if self.is_gone:
            raise OSError(5, "Input/output error")
        return super().write(text)


@pytest.mark.parametrize("from_the_start", [True, False])
async def test_a_terminal_that_has_gone_ends_nothing(from_the_start):
    terminal = Terminal()
    terminal.is_gone = from_the_start
    console = Console(file=terminal, force_terminal=True, width=80)
    looked = asyncio.Event()

    def look() -> None:
        looked.set()

    showing = asyncio.ensure_future(show_table(look, list, "http://localhost:1/", console))
    async with asyncio.timeout(5):
        await asyncio.wait(
            [showing, asyncio.ensure_future(looked.wait())], return_when=asyncio.FIRST_COMPLETED
        )
    terminal.is_gone = True
    assert not showing.done()
    showing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await showing
