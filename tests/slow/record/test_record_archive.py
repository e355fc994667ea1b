"""Claims about archived segments: the same bytes come out, whatever was cut or interrupted."""

from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.record import AIM_BYTES, DEPTH, TAPES, frames
from bot.core import messages as m
from bot.io.journal import archive as module
from bot.io.journal.archive import archive, archived, restored
from bot.io.journal.journal import (
    cut_torn_tail,
    first_entries,
    read_journal,
    read_segment,
    remember,
    segments,
    size_of,
    version_in,
)
from bot.io.journal.records import MAGIC, OPENING, Entry, Head, JournalFault, framed
from tests.builders.io.samples import create, sent
from tests.builders.record.made import ENTRIES, book, journal, segment, steady
from tests.builders.scale import cases


@given(ENTRIES)
@settings(max_examples=cases(2_000, quick=60), deadline=None)
def test_an_archived_segment_is_restored_byte_for_byte(entries):
    data = segment(entries)
    assert restored(archived(data, "s"), "s") == (data, True)


@given(ENTRIES, st.integers(1, 400))
@settings(max_examples=cases(1_000, quick=30), deadline=None)
def test_an_archive_of_any_block_size_is_restored_byte_for_byte(entries, block):
    data = segment(entries)
    with mock.patch.multiple(module, FIRST_BLOCK_BYTES=block, BLOCK_BYTES=block):
        assert restored(archived(data, "s"), "s") == (data, True)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_journal_version_can_be_archived(version, tmp_path):
    opening = MAGIC + bytes([version])
    path = tmp_path / "journal-00000001.log"
    path.write_bytes(segment(steady(4), opening))
    plain = list(read_journal(path))
    archive(path)
    (kept,) = segments(tmp_path)
    assert version_in(kept) == version
    assert list(read_journal(kept)) == plain


@pytest.mark.parametrize("tape", DEPTH)
def test_an_archived_frame_stays_within_its_size_target(tape):
    if not (TAPES / tape).is_dir():
        pytest.skip(f"no recorded tapes at {TAPES}")
    entries = frames(TAPES / tape, cases(10**9, quick=2_000))
    small = archived(segment(entries), tape)
    assert len(small) <= AIM_BYTES * len(entries)


# --- what is not whole ----------------------------------------------------------------------------


def small_blocks(data: bytes) -> bytes:
    """An archive of several blocks."""
    with mock.patch.multiple(module, FIRST_BLOCK_BYTES=600, BLOCK_BYTES=600):
        return archived(data, "s")


def test_a_damaged_segment_is_not_archived(tmp_path):
    data = segment(steady(3))
    for wrong in (data[:-1], data[:-20] + b"x" + data[-19:], OPENING, b"", b"other" * 9):
        path = tmp_path / "journal-00000001.log"
        path.write_bytes(wrong)
        with pytest.raises(JournalFault):
            archive(path)
        assert path.read_bytes() == wrong
        assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_damaged_archive_block_is_reported_and_the_others_are_read(tmp_path):
    entries = steady(40)
    small = bytearray(small_blocks(segment(entries)))
    small[len(small) // 2] ^= 0xFF
    path = tmp_path / "journal-00000001.arc"
    path.write_bytes(small)
    found = read_segment(path)
    before = list(found.entries())
    after = list(found.salvaged())
    assert found.damaged_at is not None
    assert before == entries[: len(before)]
    assert after == entries[len(entries) - len(after) :]
    assert 0 < len(before) + len(after) < len(entries)
    with pytest.raises(JournalFault, match="journal damaged at byte"):
        list(read_journal(path))


def test_a_truncated_archive_gives_its_first_entries_and_reports_the_damage(tmp_path):
    entries = steady(4)
    small = small_blocks(segment(entries))
    path = tmp_path / "journal-00000001.arc"
    for cut in range(len(small)):
        path.write_bytes(small[:cut])
        read = []
        with pytest.raises(JournalFault):
            read.extend(read_journal(path))
        if cut >= module.HEAD_BYTES:
            read = list(read_segment(path).entries())
        assert read == entries[: len(read)]
        assert len(read) < len(entries)


@given(st.data())
@settings(max_examples=cases(3_000, quick=60), deadline=None)
def test_a_damaged_archive_never_returns_invented_entries(data):
    entries = steady(6)
    small = bytearray(small_blocks(segment(entries)))
    at = data.draw(st.integers(0, len(small) - 1))
    small[at] ^= data.draw(st.integers(1, 255))
    try:
        found = restored(bytes(small), "s")
    except JournalFault:
        return
    plain = segment(entries)
    assert len(found.data) == len(plain)
    assert not found.whole
    assert all(mine in (theirs, 0) for mine, theirs in zip(found.data, plain, strict=True))


def test_an_archive_of_another_version_is_rejected(tmp_path):
    small = bytearray(archived(segment(steady(2)), "s"))
    small[4] = 9
    path = tmp_path / "journal-00000001.arc"
    path.write_bytes(small)
    with pytest.raises(JournalFault, match="archive version 9, this program reads 1"):
        list(read_journal(path))


# --- a crash --------------------------------------------------------------------------------------


class Crash(BaseException):
    """The process ends here."""


def stands_as_before(folder: Path, entries: list[Entry]) -> None:
    (path,) = segments(folder)
    assert list(read_journal(path)) == entries
    assert remember([path]).open_intents[0].order == create().order


def test_a_crash_at_any_byte_of_archiving_leaves_one_complete_form(tmp_path):
    entries = [Entry(5, sent(create())), *steady(1)]
    (path,) = journal(tmp_path / "s", entries)
    data = path.read_bytes()
    small = archived(data, "s")
    part = path.with_name("journal-00000001.arc.7-0.new")
    for written in range(len(small) + 1):
        part.write_bytes(small[:written])
        stands_as_before(path.parent, entries)
    part.replace(path.with_suffix(".arc"))
    stands_as_before(path.parent, entries)
    assert segments(path.parent) == [path]
    path.unlink()
    stands_as_before(path.parent, entries)


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace", "pathlib.Path.unlink"])
def test_a_crash_in_any_archiving_call_is_completed_by_the_next_run(step, tmp_path):
    entries = [Entry(5, sent(create())), *steady(3)]
    (path,) = journal(tmp_path / "s", entries)
    with mock.patch(step, side_effect=Crash), pytest.raises(Crash):
        archive(path)
    stands_as_before(path.parent, entries)
    for part in path.parent.glob("*.new"):
        part.unlink()
    archive(path)
    stands_as_before(path.parent, entries)
    assert [each.name for each in path.parent.iterdir()] == ["journal-00000001.arc"]


def test_a_full_disk_leaves_the_plain_segment_and_no_partial_archive(tmp_path):
    (path,) = journal(tmp_path / "s", steady(3))
    with mock.patch("os.fsync", side_effect=OSError(28, "full")), pytest.raises(OSError):
        archive(path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


# --- reading either form --------------------------------------------------------------------------


def test_a_segment_archived_between_listing_and_reading_is_found(tmp_path):
    entries = steady(5)
    (path,) = journal(tmp_path / "s", entries)
    size = path.stat().st_size
    archive(path)
    assert list(read_journal(path)) == entries
    assert size_of(path) == size == size_of(path.with_suffix(".arc"))
    assert cut_torn_tail(path) == 0


def test_finding_the_start_of_runs_unpacks_only_the_first_block(tmp_path):
    path = tmp_path / "journal-00000001.arc"
    small = small_blocks(segment(steady(40)))
    path.write_bytes(small[:-1] + b"x")
    assert list(first_entries(path, 3)) == steady(1)


def test_malformed_books_are_archived_unchanged():
    odd = [
        book(1, 2, [(50, 1), (50, 2)], [(52, 0)]),
        book(2**40, 3, [(1, 1), (99, 1)], [(200, 5)]),
        Entry(7, m.StopRequested("BookUpdate")),
    ]
    data = segment(odd)
    assert restored(archived(data, "s"), "s") == (data, True)


def test_a_segment_head_with_leftovers_of_an_earlier_run_is_archived():
    known = Head(9, (m.UnconfirmedCreate(create().order),), (), (sent(create()),))
    data = OPENING + framed(known)
    assert restored(archived(data, "s"), "s") == (data, True)
