"""Where every trial is lived: the same seeds of a world, or the same recorded events, in order."""

import gzip
import hashlib
import itertools
from pathlib import Path

import msgspec

from bot.lab.backtest.tapes import FILES, Tape, read_tapes, tape_folders
from bot.lab.evaluate.worlds import SeedFault, World, is_held_out
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.terms import Terms
from venue.crowd.tape import BookRecord, TopRecord, TradeRecord, decode_record


class WorldCase(msgspec.Struct, frozen=True):
    """A seed of a world. name: for people; key: in a file of results."""

    world: World
    seed: int
    name: str
    key: str


class TapeCase(msgspec.Struct, frozen=True):
    """A recorded event, or one of the equal pieces in which its time is cut.

    name, key: as of `WorldCase`. folders: of the tape, then of what it may have been made from;
    nobody but the harness may open them while a strategy is loaded or runs. piece: from 0.
    records: the first so many of the piece, None for all. data: names the recorded bytes.
    """

    name: str
    key: str
    folders: tuple[str, ...]
    event: str
    piece: int
    pieces: int
    records: int | None
    reading: QueueModel
    terms: Terms
    data: str


Case = WorldCase | TapeCase


def seeded(world: World, seeds: range) -> tuple[Case, ...]:
    """The seeds of a world, in order. Raises SeedFault for those of the holdout."""
    if is_held_out(seeds):
        raise SeedFault(
            f"seeds {seeds.start}-{seeds.stop - 1}: 9001-9999 are the holdout of `bot evaluate`; "
            "nothing is ever tuned on them"
        )
    return tuple(WorldCase(world, seed, str(seed), f"{world.key}/{seed}") for seed in seeds)


def recorded(
    data: Path,
    reading: QueueModel,
    terms: Terms,
    *,
    events: int,
    pieces: int = 1,
    records: int | None = None,
) -> tuple[Case, ...]:
    """The first `events` events of each tape in a folder, in the order of their time, each in so
    many pieces of equal time; a piece in which nothing was recorded is left out. Raises
    TapeFault."""
    under = hashlib.blake2b(msgspec.json.encode((reading, records, terms)), digest_size=6)
    found: list[tuple[int, str, TapeCase]] = []
    for folder in tape_folders(data):
        # Read first: of a damaged file that says where it is.
        tapes = [*itertools.islice(read_tapes(folder), events)]
        digest = data_digest(folder)
        folders = tuple(dict.fromkeys(str(each.absolute()) for each in (folder, data)))
        for tape, piece in itertools.product(tapes, range(pieces)):
            part = cut(tape, piece, pieces, records)
            if part is None:
                continue
            name = tape.event if pieces == 1 else f"{tape.event} {piece + 1}/{pieces}"
            key = f"{digest}/{tape.event}/{piece}of{pieces}/{under.hexdigest()}"
            row = (folders, tape.event, piece, pieces, records, reading, terms, digest)
            at_ns = decode_record(part.lines[0]).ts
            found.append((at_ns, key, TapeCase(name, key, *row)))
    return tuple(case for _, _, case in sorted(found, key=lambda row: row[:2]))


def cut(tape: Tape, piece: int, pieces: int, records: int | None = None) -> Tape | None:
    """A piece of a tape's time, of it the first `records`; None where there is nothing in it. The
    books and best prices of before the piece are its first records."""
    if pieces == 1 and records is None:
        return tape
    first_ns = decode_record(tape.lines[0]).ts
    span_ns = tape.end_ts - first_ns + 1
    low_ns = first_ns + span_ns * piece // pieces
    high_ns = first_ns + span_ns * (piece + 1) // pieces
    before: dict[str, BookRecord | TopRecord] = {}
    inside: list[bytes] = []
    for line in tape.lines:
        record = decode_record(line)
        if low_ns <= record.ts < high_ns:
            inside.append(line)
        elif record.ts < low_ns and not isinstance(record, TradeRecord):
            before[record.ticker] = record
    if not inside:
        return None
    opening = (msgspec.structs.replace(each, ts=low_ns) for each in before.values())
    lines = (*map(msgspec.json.encode, opening), *inside[:records])
    return msgspec.structs.replace(
        tape,
        lines=lines,
        start=0,
        start_ts=decode_record(lines[0]).ts,
        end_ts=decode_record(lines[-1]).ts,
    )


def data_digest(folder: Path) -> str:
    """Twelve hex digits that name the bytes of a folder that are played, unpacked: the same bytes
    packed again differ. Raises OSError, and what gzip raises for a damaged file."""
    digest = hashlib.blake2b(digest_size=6)
    for path in [each for name in FILES if (each := folder / name).exists()]:
        digest.update(path.name.encode())
        packed = path.read_bytes()
        digest.update(gzip.decompress(packed) if path.suffix == ".gz" else packed)
    return digest.hexdigest()
