"""The compact file beside a tape: it gives the same tape, and a damaged one is not used."""

import gzip
import json

import pytest

from bot.lab.backtest.compact_tape import NAME
from bot.lab.backtest.tapes import read_tapes
from tests.builders.backtest.made import book, top, trade, written
from venue.crowd.tape import TapeFault
from venue.crowd.tape import read_tapes as recorded_tapes

BOOKS = [
    book(1, [[40, 50], [39, 10]], [[60, 50]]),
    trade(2, 60, 3, "yes"),
    trade(2, 40, 7, "no"),
    book(3, [[40, 50], [39, 10]], [[61, 20]]),
    book(3, [], []),
]
BRACKETS = {"40": None, "45": None, "50": None, "55": None}
TOPS = [top(1, "40", 10, None), top(2, "45", None, 30), top(3, "50", 20, 25), top(4, "55", 1, 9)]


def content(folder):
    return [
        (tape.event, tape.records, tape.values, tape.rungs, tape.start, tape.end_ts)
        for tape in read_tapes(folder)
    ]


@pytest.mark.parametrize(
    ("records", "rungs"), [(BOOKS, None), (TOPS, BRACKETS)], ids=["books", "tops"]
)
def test_a_compact_tape_is_the_recorded_one(tmp_path, records, rungs):
    folder = written(tmp_path / "tape", records, rungs=rungs)
    with gzip.open(folder / "underlying.jsonl.gz", "wt") as file:
        file.write(json.dumps({"ts": records[0]["ts"], "symbol": "X", "price": "49.5"}) + "\n")
    (recorded,) = recorded_tapes(folder)
    first = content(folder)
    assert (folder / NAME).exists()
    assert content(folder) == first
    assert first[0][1] == recorded.records
    assert first[0][2] == recorded.values != ()


def test_a_compact_tape_is_replaced_when_the_recording_changes(tmp_path):
    folder = written(tmp_path / "tape", BOOKS)
    before, kept = content(folder), (folder / NAME).read_bytes()
    written(folder, BOOKS[:3])
    assert len(content(folder)[0][1]) == 3 < len(before[0][1])
    assert (folder / NAME).read_bytes() != kept


@pytest.mark.parametrize("cut", [0, 10, 40, 70, -1], ids=lambda at: f"byte {at}")
@pytest.mark.parametrize("is_cut", [True, False], ids=["cut", "flipped"])
def test_a_damaged_compact_tape_is_replaced(tmp_path, cut, is_cut):
    folder = written(tmp_path / "tape", BOOKS)
    first, whole = content(folder), (folder / NAME).read_bytes()
    flipped = bytearray(whole)
    flipped[cut] ^= 1
    (folder / NAME).write_bytes(whole[:cut] if is_cut else bytes(flipped))
    assert content(folder) == first
    assert (folder / NAME).read_bytes() == whole


def test_a_read_only_folder_gets_no_compact_tape(tmp_path):
    folder = written(tmp_path / "tape", BOOKS)
    folder.chmod(0o555)
    try:
        assert len(content(folder)[0][1]) == len(BOOKS)
        assert not (folder / NAME).exists()
    finally:
        folder.chmod(0o755)


def test_a_tape_that_cannot_be_played_leaves_no_compact_tape(tmp_path):
    folder = written(tmp_path / "tape", BOOKS[::-1])
    with pytest.raises(TapeFault, match="ts goes back"):
        content(folder)
    assert not (folder / NAME).exists()
