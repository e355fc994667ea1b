"""Polls the files and addresses that state values from outside, and gives the trader each change.

A source is read whole or not at all: of a half-written file, or one with a fault, nothing counts,
and the values of the last whole one age. Nothing that a source does ends the run.

Format: docs/operations.md#outside-values.
"""

import asyncio
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import anyio
import httpx
import msgspec
import structlog

from bot.core import messages as m
from bot.io.client.answers import plain
from bot.io.client.sockets import client_beside, whole_within
from bot.io.state.atomic_file import FILE_BYTES_MAX
from venue.wire import instant
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import Ticker, fold_ticker, is_path_segment

VALUES_MAX: Final = 256
"""Values of one source."""

TTL_S_MAX: Final = 366 * 86_400
ANSWER_S: Final = 10.0
_OK: Final = 200


class PolledSource(msgspec.Struct, frozen=True):
    """Where a source is; exactly one of file and url is set."""

    name: str
    file: Path | None
    url: str | None
    poll_ns: int


class SourceFault(Exception):
    """A source could not be read; the text says why."""


class _StatedRow(msgspec.Struct, forbid_unknown_fields=True):
    about: str
    sd: float
    at: str
    dollars: float | None = None
    chance: float | None = None
    ttl_s: int | None = None


class _StatedFile(msgspec.Struct, forbid_unknown_fields=True):
    values: list[_StatedRow]


def values_of(raw: bytes, source: str) -> dict[Ticker, m.OutsideValue]:
    """The values that a file or an answer states, by subject. Raises SourceFault for a content that
    is not whole and valid."""
    try:
        rows = msgspec.json.decode(raw, type=_StatedFile).values
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise SourceFault(f"not as docs/operations.md has it: {fault}") from None
    if len(rows) > VALUES_MAX:
        raise SourceFault(f"{len(rows)} values; accepted: at most {VALUES_MAX}")
    found: dict[Ticker, m.OutsideValue] = {}
    for number, row in enumerate(rows):
        try:
            value = _value_of(row, source)
        except ValueError as fault:
            raise SourceFault(f"values.{number}.{fault}") from None
        if value.about in found:
            raise SourceFault(f"values.{number}.about: {value.about} twice")
        found[value.about] = value
    return found


def _value_of(row: _StatedRow, source: str) -> m.OutsideValue:
    """Raises ValueError with the key and what is accepted."""
    if not is_path_segment(row.about):
        accepted = "the ticker of a series, event or market"
        raise ValueError(f"about: {row.about[:60]!r}; accepted: {accepted}")
    if (row.dollars is None) == (row.chance is None):
        raise ValueError("dollars: exactly one of dollars and chance is wanted")
    if row.ttl_s is not None and not 1 <= row.ttl_s <= TTL_S_MAX:
        raise ValueError(f"ttl_s: {row.ttl_s}; accepted: 1 to {TTL_S_MAX}")
    try:
        observed_ns = instant.to_ns(row.at)
    except (ValueError, OverflowError):
        raise ValueError(f"at: {row.at[:60]!r}; accepted: an instant of RFC 3339") from None
    is_chance = row.chance is not None
    return m.OutsideValue(
        source=source,
        about=fold_ticker(row.about),
        unit=m.ValueUnit.CHANCE if is_chance else m.ValueUnit.DOLLARS,
        value=row.chance if row.chance is not None else row.dollars or 0.0,
        sd=row.sd,
        observed_ns=observed_ns,
        until_ns=observed_ns + (row.ttl_s or TTL_S_MAX) * NS_PER_SECOND,
    )


class OutsidePoller:
    """Reads every source at its own pace until cancelled."""

    def __init__(self, sources: Iterable[PolledSource], give: Callable[[m.Event], None]) -> None:
        """give: takes each event for the trader."""
        self._sources = [_Polled(each, give) for each in sources]

    async def run(self) -> None:
        async with client_beside() as client, anyio.create_task_group() as tasks:
            for each in self._sources:
                tasks.start_soon(each.run, client)


class _Polled:
    def __init__(self, source: PolledSource, give: Callable[[m.Event], None]) -> None:
        self._source = source
        self._give = give
        self._given: Mapping[Ticker, m.OutsideValue] = {}
        self._fault = ""

    async def run(self, client: httpx.AsyncClient) -> None:
        while True:
            try:
                await self._poll(client)
            except Exception:  # noqa: BLE001 - the task's boundary: the other sources go on
                structlog.stdlib.get_logger("bot").exception(
                    "outside_source_failed", source=self._source.name
                )
                self._tell_fault("it could not be read: see the log")
            await asyncio.sleep(self._source.poll_ns / NS_PER_SECOND)

    async def _poll(self, client: httpx.AsyncClient) -> None:
        """Read it once, and give what changed."""
        source = self._source
        try:
            if source.file is not None:
                raw = await anyio.to_thread.run_sync(read_whole, source.file)
            else:
                raw = await fetched(client, source.url or "")
            values = values_of(raw, source.name)
        except SourceFault as fault:
            self._tell_fault(f"{source.file or source.url}: {plain(str(fault), None)}")
            return
        self._tell_fault("")
        for about in self._given:
            if about not in values:
                self._give(m.OutsideValueCleared(source.name, about))
        for about, value in values.items():
            if self._given.get(about) != value:
                self._give(value)
        self._given = values

    def _tell_fault(self, fault: str) -> None:
        """Give a fault that is another than before; an empty one ends it."""
        if fault != self._fault:
            self._fault = fault
            self._give(m.OutsideSourceRead(self._source.name, fault))


def read_whole(path: Path) -> bytes:
    """The content of a regular file of at most `FILE_BYTES_MAX` bytes. Raises SourceFault."""
    raw = bytearray()
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise SourceFault("not a file")
            while len(raw) <= FILE_BYTES_MAX and (
                more := os.read(handle, FILE_BYTES_MAX + 1 - len(raw))
            ):
                raw += more
        finally:
            os.close(handle)
    except OSError as fault:
        raise SourceFault(f"cannot be read: {fault.strerror}") from None
    if len(raw) > FILE_BYTES_MAX:
        raise SourceFault(f"longer than {FILE_BYTES_MAX} bytes")
    return bytes(raw)


async def fetched(client: httpx.AsyncClient, url: str) -> bytes:
    """The body of a 200, of at most `FILE_BYTES_MAX` bytes. Raises SourceFault for anything else,
    a redirect too."""
    headers = {"Accept": "application/json", "User-Agent": "laddermaker"}
    body = bytearray()
    try:
        with whole_within(ANSWER_S):
            async with client.stream("GET", url, headers=headers) as answer:
                if answer.status_code != _OK:
                    raise SourceFault(f"status {answer.status_code}")
                async for part in answer.aiter_bytes():
                    body += part
                    if len(body) > FILE_BYTES_MAX:
                        raise SourceFault(f"longer than {FILE_BYTES_MAX} bytes")
    except httpx.TimeoutException:
        raise SourceFault(f"no whole answer within {ANSWER_S:.0f} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as fault:
        raise SourceFault(type(fault).__name__) from None
    return bytes(body)
