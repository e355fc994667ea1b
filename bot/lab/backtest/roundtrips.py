"""Round trips that were measured: of the requests in a journal, or from a text of milliseconds."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bot.core import messages as m
from bot.io.journal.journal import read_segment
from bot.io.journal.records import JournalFault
from bot.lab.exchange.terms import Latency
from bot.lab.session import segments_meant
from venue.wire.instant import NS_PER_MS

KEPT_MAX: Final = 1_000
"""Of more round trips so many quantiles are kept: the same distribution."""

MEASURED: Final = "empirical:"
_MILLISECONDS: Final = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,6})?", re.ASCII)
_MS_MAX: Final = 60_000


def latency(text: str) -> Latency:
    """The latency that `30ms`, `lognormal:30ms:0.5` or `empirical:FILE` names.

    FILE: a state directory or a segment of a journal, whose answered requests are taken; else a
    text with a number of milliseconds on each line. Raises ValueError, with file and line where
    there are any, for others.
    """
    if not text.startswith(MEASURED):
        return Latency.parse(text)
    path = Path(text.removeprefix(MEASURED))
    try:
        if path.is_dir() or path.suffix in (".log", ".arc"):
            found = sorted(_of_journal(path))
        else:
            found = sorted(_of_text(path))
    except (OSError, UnicodeDecodeError, JournalFault) as fault:
        raise ValueError(f"{path}: cannot be read: {fault}") from None
    if not found:
        raise ValueError(f"{path}: no round trip in it: want answered requests, or milliseconds")
    kept = min(len(found), KEPT_MAX)
    quantiles = tuple(found[(2 * place + 1) * len(found) // (2 * kept)] for place in range(kept))
    return Latency(quantiles[kept // 2], measured_ns=quantiles)


def _of_journal(path: Path) -> Iterator[int]:
    """Of every request that the venue answered. Ids begin anew with each run."""
    sent: dict[int, int] = {}
    for segment in segments_meant(path):
        for entry in read_segment(segment).entries():
            message = entry.message
            if isinstance(message, m.Started):
                sent.clear()
            elif isinstance(message, m.Send):
                sent[message.request_id] = entry.at_ns
            elif isinstance(message, m.Replied):
                sent_ns = sent.pop(message.request_id, None)
                # Of what was not answered only the patience of the client is known.
                if sent_ns is not None and not isinstance(message.answer, m.Unknown):
                    yield max(0, entry.at_ns - sent_ns)


def _of_text(path: Path) -> Iterator[int]:
    """Of each line that is not empty and does not begin with #."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        told = line.strip()
        if not told or told.startswith("#"):
            continue
        if _MILLISECONDS.fullmatch(told) is None or float(told) > _MS_MAX:
            raise ValueError(f"{path}:{number}: {told}: want milliseconds, 0 to {_MS_MAX}")
        yield round(float(told) * NS_PER_MS)
