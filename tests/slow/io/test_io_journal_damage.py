"""Claims about torn, damaged and older journals: never misread."""

import os
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.io.journal.archive import restored
from bot.io.journal.journal import Journal, cut_torn_tail, read_journal, remember, segments
from bot.io.journal.records import (
    MAGIC,
    OPENING,
    READABLE,
    Entry,
    Head,
    JournalFault,
    Segment,
    framed,
)
from bot.io.journal.recovery import RecoveredState, recall
from tests.builders.io.samples import create, intent, sent
from venue.wire.instant import Instant
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, OrderId

CORPUS = Path(__file__).parent / "corpus"
RUNG = create().order.market_id
KNOWN = m.JournaledOrder(
    ClientOrderId("k-1"), OrderId("11"), RUNG, Outcome.YES, Side.BUY, Price(40), Qty(7), Qty(3), 5
)


def head(*names: str, working: tuple[m.JournaledOrder, ...] = ()) -> bytes:
    return OPENING + framed(Head(1, tuple(intent(name) for name in names), working))


def entries(*messages: m.Event | m.Effect) -> bytes:
    return b"".join(framed(Entry(at_ns, each)) for at_ns, each in enumerate(messages))


def recovered(*newest_first: bytes) -> RecoveredState:
    return recall(Segment(data, f"s{number}") for number, data in enumerate(newest_first))


# --- torn -----------------------------------------------------------------------------------------


def records_of_64_kib() -> list[bytes]:
    records: list[bytes] = []
    while sum(map(len, records)) < 64 * 1024:
        number = len(records)
        records.append(framed(Entry(number, m.FeedClosed("x" * (37 * number % 900)))))
    return records


def walk(data: bytes) -> tuple[int, int, int | None]:
    """Whole entries, whole bytes, and where it is damaged."""
    segment = Segment(data, "s")
    return sum(1 for _ in segment.payloads()), segment.whole_bytes, segment.damaged_at


def test_a_journal_cut_at_any_byte_loses_at_most_its_last_record():
    records, opening = records_of_64_kib(), head()
    for number, record in enumerate(records):
        whole = opening + b"".join(records[:number])
        assert walk(whole) == (number, len(whole), None)
        # Within a record only the one before it is kept, for speed: a walk begins at the front.
        near = opening + b"".join(records[max(0, number - 1) : number])
        for cut in range(len(record)):
            assert walk(near + record[:cut]) == (min(number, 1), len(near), None)


def test_a_tail_of_zeros_counts_as_torn():
    segment = Segment(head() + entries(m.Tick()) + bytes(4096), "s")
    assert [entry.message for entry in segment.entries()] == [m.Tick()]
    assert segment.damaged_at is None


def test_a_torn_head_hides_no_entry_of_the_segment_before():
    before = head("a-1", working=(KNOWN,))
    for cut in range(len(before)):
        memory = recovered(head("b-1")[:cut], before)
        expected = intent("b-1") if cut == len(head("b-1")) else intent("a-1")
        assert memory == RecoveredState(m.JournalFate.FOUND, (expected,), (KNOWN,))
        if cut == len(head("b-1")) - 1:
            break


# --- damaged --------------------------------------------------------------------------------------

SENT = [sent(create(f"a-{number}"), number) for number in range(1, 6)]


@given(st.data())
def test_no_create_behind_a_damaged_byte_is_forgotten(data):
    records = [entries(each) for each in SENT]
    hit = data.draw(st.integers(0, len(records) - 2))
    at = data.draw(st.integers(0, len(records[hit]) - 1))
    broken = bytearray(records[hit])
    broken[at] ^= data.draw(st.integers(1, 255))
    whole = head(working=(KNOWN,))
    memory = recovered(whole + b"".join(records[:hit]) + broken + b"".join(records[hit + 1 :]))
    assert memory.fate is m.JournalFate.DAMAGED
    assert (
        memory.damage == f"s0: journal damaged at byte {len(whole) + sum(map(len, records[:hit]))}"
    )
    assert memory.working == ()
    names = [each.order.client_order_id for each in memory.open_intents]
    assert names == [f"a-{number}" for number in range(1, 6) if number != hit + 1]


def test_the_segment_before_a_damaged_head_still_counts():
    hurt = bytearray(head("b-1") + entries(SENT[0]))
    hurt[len(OPENING) + 9] ^= 1
    memory = recovered(bytes(hurt), head("a-9"))
    assert memory.fate is m.JournalFate.DAMAGED
    assert [each.order.client_order_id for each in memory.open_intents] == ["a-9", "a-1"]


def test_a_journal_without_a_segment_is_lost():
    assert recovered() == RecoveredState(m.JournalFate.LOST)
    assert recovered(OPENING) == RecoveredState(m.JournalFate.LOST)


def test_a_damaged_segment_is_kept_and_ends_a_reading_with_a_fault(tmp_path):
    path = tmp_path / "journal-00000001.log"
    record = bytearray(entries(m.Tick()))
    record[-1] ^= 1
    data = head("a-1") + entries(m.FeedAlive()) + record + entries(m.FeedOpened())
    path.write_bytes(data)
    assert cut_torn_tail(path) == 0
    reading = read_journal(path)
    assert next(reading).message == m.FeedAlive()
    with pytest.raises(JournalFault, match=r"damaged at byte \d+"):
        next(reading)
    journal = Journal(tmp_path, 1, print)
    journal.close()
    assert journal.memory.fate is m.JournalFate.DAMAGED
    assert path.read_bytes() == data
    assert remember(segments(tmp_path)) == RecoveredState(m.JournalFate.FOUND, (intent("a-1"),))


# --- versions -------------------------------------------------------------------------------------


def test_the_journal_of_every_release_can_be_recovered(tmp_path):
    kept = sorted(CORPUS.glob("v*/journal-*.log"))
    assert {path.read_bytes()[len(MAGIC)] for path in kept} == set(READABLE[:-1])
    for number, path in enumerate(kept):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / path.name).write_bytes(path.read_bytes())
        journal = Journal(folder, 1, print)
        journal.close()
        assert journal.memory.fate is m.JournalFate.FOUND
        assert [each.order.client_order_id for each in journal.memory.open_intents] == [
            f"{1:020d}-6", f"{1:020d}-7", f"{1:020d}-8"
        ]  # fmt: skip
        assert len(segments(folder)) == 2
        assert remember(segments(folder)) == journal.memory


def test_journals_of_earlier_versions_keep_winners_fills_cash_and_entries():
    paths = {each: next((CORPUS / each).glob("journal-*.log")) for each in ("v1", "v5", "v6")}
    assert sum(1 for _ in read_journal(paths["v1"])) == 399
    winners = [(side.value, market[-1]) for market, side in remember([paths["v5"]]).winners]
    assert winners == [("yes", "1"), ("no", "3")]
    left = remember([paths["v6"]])
    assert left.complete_fill == m.FillMark("f1", Instant("2026-11-05T14:00:01Z"))
    assert [mark.fill_id for mark in left.fills_since] == ["f2", "f3"]
    assert left.event_cash == (("ACME-VAL-27Q1", -405),)


def test_an_archive_of_version_6_restores_its_segment():
    (archive,) = (CORPUS / "v6-archive").glob("journal-*.arc")
    (segment,) = (CORPUS / "v6").glob("journal-*.log")
    given = restored(archive.read_bytes(), archive.name)
    assert given.whole
    assert given.data == segment.read_bytes()


@pytest.mark.parametrize("version", [0, 9, 77, 255])
def test_an_unknown_journal_version_is_refused_before_anything_is_written(tmp_path, version):
    path = tmp_path / "journal-00000001.log"
    path.write_bytes(MAGIC + bytes([version]) + head()[len(OPENING) :])
    with pytest.raises(JournalFault, match=f"version {version}, this program reads versions 1 to"):
        Journal(tmp_path, 1, print)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("kind", [b"Tack", b"T\xffck"])
def test_a_record_of_an_unknown_kind_is_refused(tmp_path, kind):
    path = tmp_path / "journal-00000001.log"
    payload = entries(m.Tick())[8:].replace(b"Tick", kind)
    path.write_bytes(head() + struct.pack("<II", len(payload), zlib.crc32(payload)) + payload)
    with pytest.raises(JournalFault, match="a whole record that cannot be read"):
        list(read_journal(path))


def test_files_that_are_no_segments_are_ignored(tmp_path):
    (tmp_path / "journal-old.log").write_bytes(b"mine")
    (tmp_path / "journal-1.log").write_bytes(b"mine too")
    journal = Journal(tmp_path, 1, print)
    journal.close()
    assert journal.memory.fate is m.JournalFate.LOST
    assert [path.name for path in segments(tmp_path)] == ["journal-00000001.log"]
