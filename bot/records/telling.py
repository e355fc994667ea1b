"""The day that is over in one line, reckoned by a child process.

To state a day of many fills takes memory and a core. In the bot's own process the one goes back but
slowly, and the other would hold up its decisions: so a child of the lowest priority does it. It is
told on its standard input where the records are, and their password.
"""

import asyncio
import contextlib
import datetime
import os
import sys
import time
from pathlib import Path
from typing import Final

import anyio
import msgspec

from bot.io.secret import Secret
from bot.records.database import Address, Postgres, Sqlite, StoreFault
from bot.records.day import gather
from bot.records.shown import summary_line
from bot.records.statement import state
from bot.records.store import Store

LONGEST_S: Final = 600.0
"""No day takes so long."""


class Place(msgspec.Struct, frozen=True):
    """Where the records of a bot are: in a PostgreSQL at `address`, else in `file`."""

    book: str
    file: Path
    address: Address | None = None


class _SummaryTask(msgspec.Struct, frozen=True):
    """What the child reads: the place, the number of the account, and the day of UTC."""

    place: Place
    password: str | None
    account: int
    day: datetime.date

    def __repr__(self) -> str:
        return f"_Asked({self.place!r}, account={self.account}, day={self.day.isoformat()})"


def store_at(place: Place, password: Secret | None) -> Store:
    """The records of a bot. Raises StoreFault."""
    address, file = place.address, place.file
    if address is not None:
        return Store(lambda: Postgres(address, password), place.book)
    return Store(lambda: Sqlite(file), place.book)


def encoded(place: Place, password: str | None, account: int, day: datetime.date) -> bytes:
    """What the child is to read."""
    return msgspec.json.encode(_SummaryTask(place, password, account, day), enc_hook=str)


class Teller:
    """Tells of days, one after another."""

    def __init__(
        self, place: Place, password: Secret | None = None, longest_s: float = LONGEST_S
    ) -> None:
        self._place = place
        self._password = password
        self._longest_s = longest_s
        self._child: asyncio.subprocess.Process | None = None

    async def line(self, account: int, day: datetime.date) -> str:
        """The day of an account in one line. Raises StoreFault when it cannot be stated."""
        password = None if self._password is None else self._password.reveal()
        asked = encoded(self._place, password, account, day)
        # An end in the middle of this would leave a child of which nobody knows.
        with anyio.CancelScope(shield=True):
            child = self._child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "bot.records.telling"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(self._longest_s):
                said, wrong = await child.communicate(asked)
        except TimeoutError:
            await self.end()
            raise StoreFault(f"{day.isoformat()} was not stated in {self._longest_s:g} s") from None
        self._child = None
        if child.returncode:
            text = wrong.decode("utf-8", "replace").strip()[-500:]
            raise StoreFault(f"{day.isoformat()} was not stated: {text}")
        return said.decode().strip()

    async def end(self) -> None:
        """What is under way is given up."""
        child, self._child = self._child, None
        if child is not None and child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()


def told(asked: bytes) -> str:
    """The line that is asked for. Raises StoreFault."""
    wanted = msgspec.json.decode(asked, type=_SummaryTask, dec_hook=lambda _path, text: Path(text))
    password = None if wanted.password is None else Secret(wanted.password)
    store = store_at(wanted.place, password)
    try:
        row = next((each for each in store.accounts() if each.account == wanted.account), None)
        if row is None:
            raise StoreFault(f"{wanted.place.book} has no account {wanted.account}")
        return summary_line(state(gather(store, row, wanted.day, time.time_ns())))
    finally:
        store.close()


def main() -> int:
    """Answer what standard input asks. 0, or 1 with a text on stderr."""
    os.nice(19)
    try:
        sys.stdout.write(told(sys.stdin.buffer.read()) + "\n")
    except StoreFault as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
