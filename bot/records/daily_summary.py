"""The finished day in one line, computed by a child process of the lowest priority: a day of many
fills takes memory that a process gives back slowly, and would delay the bot's decisions."""

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
from bot.records.output import summary_line
from bot.records.statement import state
from bot.records.store import Store

TIMEOUT_S: Final = 600.0


class StorePlace(msgspec.Struct, frozen=True):
    """Where the records of a bot are: in a PostgreSQL at `address`, else in `file`."""

    book: str
    file: Path
    address: Address | None = None


class SummaryRequest(msgspec.Struct, frozen=True):
    """What the child reads: the place, the number of the account, and the day of UTC."""

    place: StorePlace
    password: str | None
    account: int
    day: datetime.date

    def __repr__(self) -> str:
        return f"SummaryRequest({self.place!r}, account={self.account}, day={self.day.isoformat()})"


def store_at(place: StorePlace, password: Secret | None) -> Store:
    """The records of a bot. Raises StoreFault."""
    address, file = place.address, place.file
    if address is not None:
        return Store(lambda: Postgres(address, password), place.book)
    return Store(lambda: Sqlite(file), place.book)


class DailySummary:
    def __init__(
        self, place: StorePlace, password: Secret | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._place = place
        self._password = password
        self._timeout_s = timeout_s
        self._child: asyncio.subprocess.Process | None = None

    async def summary_of(self, account: int, day: datetime.date) -> str:
        """The day of an account in one line. Raises StoreFault if it cannot be computed."""
        password = None if self._password is None else self._password.reveal()
        request = SummaryRequest(self._place, password, account, day)
        # A cancellation in the middle of this would leave a child that nobody ends.
        with anyio.CancelScope(shield=True):
            child = self._child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "bot.records.daily_summary"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(self._timeout_s):
                line, fault = await child.communicate(msgspec.json.encode(request, enc_hook=str))
        except TimeoutError:
            await self.cancel()
            raise StoreFault(f"{day.isoformat()} was not stated in {self._timeout_s:g} s") from None
        self._child = None
        if child.returncode:
            text = fault.decode("utf-8", "replace").strip()[-500:]
            raise StoreFault(f"{day.isoformat()} was not stated: {text}")
        return line.decode().strip()

    async def cancel(self) -> None:
        child, self._child = self._child, None
        if child is not None and child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()


def main() -> int:
    """Answer the request on standard input. Returns 0, or 1 with a text on stderr."""
    os.nice(19)
    request = msgspec.json.decode(
        sys.stdin.buffer.read(), type=SummaryRequest, dec_hook=lambda _path, text: Path(text)
    )
    place, account = request.place, request.account
    password = None if request.password is None else Secret(request.password)
    try:
        with contextlib.closing(store_at(place, password)) as store:
            row = next((each for each in store.accounts() if each.account == account), None)
            if row is None:
                raise StoreFault(f"{place.book} has no account {account}")
            stated = state(gather(store, row, request.day, time.time_ns()))
    except StoreFault as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    sys.stdout.write(summary_line(stated) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
