"""The candidates of a live run, in a process that follows its journal and cannot slow or stop it.

Candidates that do not keep up drop out. The process ends with the bot, whose pipe it reads.
"""

import asyncio
import contextlib
import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
import structlog

from bot.core import messages as m
from bot.core.report import Report, ShadowReport
from bot.io.journal.journal import number_of, opened, segments
from bot.io.journal.records import Entry, JournalFault, Stream, entry_of
from bot.io.metrics.table import Family
from bot.io.secret import Secret

BEHIND_S: Final = 30.0  # candidates that are behind the end of the journal for so long drop out
_REPORT_S: Final = 1.0
_LOOK_S: Final = 0.2
_SILENT_S: Final = 2 * BEHIND_S
_SAID_BYTES: Final = 1_000
_LINE_BYTES_MAX: Final = 16 * 1024 * 1024

_Reports = tuple[ShadowReport, ...]
_REPORTS: Final = msgspec.json.Decoder(_Reports)


class ShadowSidecar:
    """The candidates of a run (`bot.io.run.runner.Sidecar`)."""

    name = "shadow"
    secrets: tuple[Secret, ...] = ()
    families: tuple[tuple[Family[Any], Any], ...] = ()

    def __init__(self, config: Path, state: Path, sets: Sequence[str] = ()) -> None:
        """Make it before the journal of the run is opened. config: the file of the bot. sets: keys
        set over it."""
        self._after = 0
        with contextlib.suppress(OSError):
            self._after = max(map(number_of, segments(state)), default=0)
        self._command = (config, state)
        self._sets = sets
        self._child: asyncio.subprocess.Process | None = None
        self._log = structlog.stdlib.get_logger("bot")
        self.reports: _Reports = ()  # the newest score of each candidate

    def on_run_start(self, look: Callable[[], Report | None], now_ns: Callable[[], int]) -> None:
        pass

    def did(self, effect: m.Effect, at_ns: int) -> None:
        pass

    async def run(self) -> None:
        """Take in the scores, until cancelled."""
        try:
            why = await self._follow()
        except OSError as fault:
            why = f"cannot be started: {fault}"
        self._kill()
        ended = (msgspec.structs.replace(e, stopped=e.stopped or why) for e in self.reports)
        self._on_reports(tuple(ended))
        self._log.warning("shadow_ended", why=why, advice="the run goes on without candidates")
        await asyncio.Event().wait()

    async def _follow(self) -> str:
        # An end in the middle of this would leave a child of which nobody knows.
        with anyio.CancelScope(shield=True):
            child = self._child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "bot.lab.shadow_sidecar"),
                *map(str, (*self._command, self._after, *self._sets)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_LINE_BYTES_MAX,
                start_new_session=True,
            )
        assert child.stdout is not None
        assert child.stderr is not None
        said = asyncio.create_task(_last_line(child.stderr))
        try:
            while line := await asyncio.wait_for(child.stdout.readline(), _SILENT_S):
                self._on_reports(_REPORTS.decode(line))
            return await said or "its process ended"
        except TimeoutError:
            return f"no score for {_SILENT_S:g} s"
        finally:
            said.cancel()

    def _on_reports(self, reports: _Reports) -> None:
        logged = {(each.name, each.bound) for each in self.reports if each.stopped}
        self.reports = reports
        for each in reports:
            if each.stopped and (each.name, each.bound) not in logged:
                self._log.warning(
                    "shadow_stopped", shadow=each.name, bound=each.bound, fault=each.stopped
                )

    def _kill(self) -> None:
        if self._child is not None and self._child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._child.kill()

    async def on_run_end(self) -> None:
        self._kill()
        if self._child is not None:
            await self._child.wait()


async def _last_line(stream: asyncio.StreamReader) -> str:
    """The last line of a process. A pipe that nobody reads would block it."""
    said = b""
    while piece := await stream.read(_SAID_BYTES):
        said = (said + piece)[-_SAID_BYTES:]
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


class JournalTail:
    """Reads the segments of a journal with numbers above `after` as they grow."""

    def __init__(self, state: Path, after: int) -> None:
        self._state = state
        self._number = after
        self._at = 0

    def entries(self) -> Iterator[Entry]:
        """What was written since. Raises JournalFault when some of it is gone or cannot be read."""
        while True:
            paths = {number_of(path): path for path in segments(self._state)}
            if self._at:
                # Read after it is known whether there is a newer segment: it is whole then.
                if self._number not in paths:
                    raise JournalFault("a segment of the journal was removed before it was read")
                with opened(paths[self._number]) as file:
                    stream = Stream(file, paths[self._number].name)
                    for payload, after in stream.payloads(self._at):
                        self._at = after
                        yield entry_of(payload, paths[self._number].name)
            newer = min((number for number in paths if number > self._number), default=None)
            if newer is None:
                return
            with opened(paths[newer]) as file:
                first = Stream(file, paths[newer].name).first
            if not first:
                return
            self._number, self._at = newer, first


def follow(config: Path, state: Path, after: int, sets: Sequence[str]) -> None:
    """Follow a journal and print the candidates' scores each second until stdin ends."""
    from bot.config.bot_config import finish, read_draft
    from bot.lab.shadow import Shadow

    whole = finish(read_draft(config, sets=sets))
    shadow, tail = Shadow(whole.shadows, whole.trader), JournalTail(state, after)
    reported_s = caught_up_s = time.monotonic()
    out = sys.stdout.buffer
    sys.stdout = sys.stderr  # a strategy's prints are no score

    def look_up() -> float:
        nonlocal reported_s
        now_s = time.monotonic()
        if now_s > reported_s + _REPORT_S:
            reported_s = now_s
            out.write(msgspec.json.encode(shadow.reports()) + b"\n")
            out.flush()
        return now_s

    while not select.select([sys.stdin], [], [], _LOOK_S)[0]:
        for entry in tail.entries():
            shadow.on_entry(entry.at_ns, entry.message)
            if look_up() > caught_up_s + BEHIND_S:
                raise JournalFault(f"not at the end of the journal for {BEHIND_S:g} s: too slow")
        caught_up_s = look_up()


if __name__ == "__main__":
    os.nice(19)
    try:
        follow(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    except (JournalFault, OSError) as fault:
        sys.exit(str(fault))
