"""The journal's size: bytes a book frame of the recorded tapes, as it is written and as it is kept.

Every whole book of a tape with depth becomes the event of a frame that came some milliseconds after
the venue's own time of it, behind the one before it, and is written as the journal writes it. Then
the segment is archived and taken out again, which must give the same bytes. Aim: 20 bytes a frame.
Anchors: the same segment through LZMA and zlib unchanged. Processor time is that of packing, in
a separate process from the bot's, and of unpacking, wherever a journal is read; and that of
`Journal.append`, which is all that the trader's loop does for a frame.
"""

import lzma
import random
import tempfile
import time
import zlib
from pathlib import Path

from bot.core import messages as m
from bot.io.journal.archive import archived, restored
from bot.io.journal.journal import Journal
from bot.io.journal.records import OPENING, Entry, Head, framed
from venue.crowd.tape import BookRecord, read_tape
from venue.wire.instant import NS_PER_MS
from venue.wire.money import Outcome, canonical
from venue.wire.names import MarketId

TAPES = Path(__file__).resolve().parents[2] / "shared/data"
DEPTH = ("inxd-23apr10", "inxd-23apr13")
AIM_BYTES = 20
_MARKET = MarketId("0b9f3c1e-5a2d-4c7b-9e8f-000000000001")


def frames(folder: Path, most: int | None = None) -> list[Entry]:
    """The books of a tape as entries of the journal. Each takes a log-normal way of about 8 ms, and
    none overtakes another: a channel is one stream, read a frame at a time."""
    chance = random.Random(folder.name)
    out: list[Entry] = []
    at_ns = 0
    for record in read_tape(folder).records:
        if isinstance(record, BookRecord):
            way_ns = int(NS_PER_MS * chance.lognormvariate(2, 0.5))
            at_ns = max(at_ns + chance.randrange(20_000, 200_000), record.ts + way_ns)
            asks = tuple((canonical(Outcome.NO, price), qty) for price, qty in record.no)
            out.append(Entry(at_ns, m.BookUpdate(_MARKET, record.ts, record.yes, asks)))
        if most is not None and len(out) == most:
            break
    return out


def _append_us(entries: list[Entry]) -> float:
    with tempfile.TemporaryDirectory(prefix="bench-record-") as folder:
        journal = Journal(Path(folder), 0, lambda reason: None)
        begun_s = time.process_time()
        for entry in entries:
            journal.append(entry.at_ns, entry.message)
        took_s = time.process_time() - begun_s
        journal.close()
    return took_s / len(entries) * 1e6


def run(quick: bool) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name in DEPTH:
        if not (TAPES / name).is_dir():
            rows.append((name, f"not at {TAPES}"))
            continue
        entries = frames(TAPES / name, 5_000 if quick else None)
        count = len(entries)
        data = OPENING + framed(Head(0, ())) + b"".join(framed(entry) for entry in entries)
        begun_s = time.process_time()
        small = archived(data, name)
        packed_s = time.process_time()
        assert restored(small, name) == (data, True)
        done_s = time.process_time()
        per_frame = len(small) / count
        verdict = "held" if per_frame <= AIM_BYTES else f"missed by {per_frame - AIM_BYTES:.1f}"
        rows += [
            (
                f"{name}, archived",
                f"{per_frame:.2f} bytes a frame (aim {AIM_BYTES}: {verdict}), {count} frames",
            ),
            (f"{name}, as written", f"{len(data) / count:.1f} bytes a frame"),
            (
                f"{name}, anchors",
                f"LZMA {len(lzma.compress(data)) / count:.2f}, "
                f"zlib {len(zlib.compress(data, 9)) / count:.2f} bytes a frame",
            ),
            (
                f"{name}, processor time",
                f"packed in {(packed_s - begun_s) / count * 1e6:.0f} us a frame, "
                f"unpacked in {(done_s - packed_s) / count * 1e6:.0f} us, "
                f"appended in {_append_us(entries):.1f} us",
            ),
        ]
    return rows
