"""Compaction beside the running venue: a child of low priority each time a log segment is sealed.

The child replays the sealed segments onto the newest snapshot and writes the next one, so no trader
waits for a snapshot, and every snapshot proves that the log replays.
"""

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Final

import structlog

from venue.storage.log import CommandLog

LOOK_S: Final = 1.0
"""How often it is asked whether the log has gone on in a new segment."""


async def compact_when_sealed(log: CommandLog, path: Path) -> None:
    """Compact until cancelled; a child that is at work then is ended.

    Also at the start, where segments are sealed: an earlier process may have ended too soon.
    """
    compacted = -1 if log.has_sealed else log.segments_begun
    while True:
        if log.segments_begun != compacted:
            compacted = log.segments_begun
            await _compact(path)
        await asyncio.sleep(LOOK_S)


async def _compact(path: Path) -> None:
    log = structlog.get_logger()
    try:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "venue", "compact", "--state", str(path)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            # A Ctrl-C goes to the whole group. What ends the venue ends its child below, and a
            # child that was ended by the same key would be told as one that failed.
            start_new_session=True,
        )
    except OSError as fault:
        # No process, descriptor or memory left for it, or its program has been replaced: nothing
        # that traders should notice.
        log.error("not_compacted", state=str(path), why=str(fault))
        return
    try:
        _, told = await child.communicate()
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    if child.returncode == 0:
        log.info("compacted", state=str(path))
    else:
        # The log alone is enough to go on with; only the next start takes longer.
        said = told.decode(errors="replace")[-2000:]
        why = said or f"ended without a word, with {child.returncode}"
        log.error("not_compacted", state=str(path), why=why)
