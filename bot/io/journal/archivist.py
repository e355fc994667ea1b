"""Has closed segments of the journal archived while the bot runs, one at a time, beside it.

Packing a segment takes a core for some seconds, so a child process of the lowest priority does it
(`bot.io.journal.archive`), and the trader's loop only waits for it. The newest segment is being
written and is left alone. One that cannot be archived stays as it is and is told once.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import anyio
import structlog

from bot.core import messages as m
from bot.core.report import Report
from bot.io.journal.archive import SUFFIX
from bot.io.journal.journal import segments
from bot.io.metrics.table import Family
from bot.io.secret import Secret

LOOK_S: Final = 5.0
"""The state directory is looked at this often."""

_PART: Final = f"journal-*{SUFFIX}.*.part"


def closed(folder: Path) -> list[Path]:
    """The segments that nobody writes any more and that are no archives yet, oldest first."""
    return [path for path in segments(folder)[:-1] if path.suffix != SUFFIX]


class Archivist:
    """Stands beside a run (`bot.io.run.sidecar.Sidecar`) on the journal of a state directory."""

    name = "archivist"
    secrets: tuple[Secret, ...] = ()
    families: tuple[tuple[Family[Any], Any], ...] = ()

    def __init__(self, folder: Path, look_s: float = LOOK_S) -> None:
        self._folder = folder
        self._look_s = look_s
        self._failed: set[Path] = set()
        self._child: asyncio.subprocess.Process | None = None
        self._log = structlog.stdlib.get_logger("bot")

    def begin(self, look: Callable[[], Report | None], now_ns: Callable[[], int]) -> None:
        """The run begins: what one that was killed left half written goes."""
        self._tidy()

    def _tidy(self) -> None:
        for part in self._folder.glob(_PART):
            with contextlib.suppress(OSError):
                part.unlink()

    def did(self, effect: m.Effect, at_ns: int) -> None:
        """Nothing hangs on what the trader does."""

    async def run(self) -> None:
        """Archive what is closed, until cancelled."""
        while True:
            try:
                for segment in closed(self._folder):
                    if segment not in self._failed:
                        await self._archive(segment)
            except OSError as fault:
                self._log.warning("archivist_stumbled", text=str(fault))
            await asyncio.sleep(self._look_s)

    async def _archive(self, segment: Path) -> None:
        # An end in the middle of this would leave a child of which nobody knows.
        with anyio.CancelScope(shield=True):
            child = self._child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "bot.io.journal.archive", str(segment)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        _, said = await child.communicate()
        code, self._child = child.returncode, None
        if not code:
            self._log.debug("segment_archived", segment=segment.name)
        else:
            self._tell(segment, said.decode("utf-8", "replace").strip()[-500:])

    def _tell(self, segment: Path, text: str) -> None:
        """One that is too old to be kept may have gone meanwhile."""
        if segment.exists():
            self._failed.add(segment)
            self._log.warning("segment_not_archived", segment=segment.name, text=text)

    async def finish(self) -> None:
        """The run is over: what is half done is left to the next one."""
        child = self._child
        if child is not None and child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
            self._tidy()
