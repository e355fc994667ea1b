"""Claims about finding out whether a log that took nothing takes appends again."""

import errno
import os

import pytest

from tests.builders.venue.journal_files import (
    amounts,
    deposits,
    file_size_limit,
    refuse_call,
    segment_files,
    written,
)
from venue.storage.log import LogBroken, LogFull
from venue.storage.statedir import StateDir


def test_a_try_tells_whether_there_is_room_and_leaves_nothing_behind(tmp_path):
    path = written(tmp_path / "state", 3)
    (segment,) = segment_files(path)
    with StateDir.open(path) as state:
        log = state.log()
        before = segment.read_bytes()
        with file_size_limit(len(before) + 100), pytest.raises(LogFull):
            log.try_room()
        assert segment.read_bytes() == before
        log.try_room()
        assert segment.read_bytes() == before
        log.append(5, deposits(1, 4))
        log.close()
        assert amounts(state) == [1, 2, 3, 4]


def test_what_a_crash_leaves_of_a_try_is_cut_off(tmp_path, monkeypatch):
    path = written(tmp_path / "state", 3)
    with StateDir.open(path) as state:
        log = state.log()
        refuse_call(monkeypatch, "ftruncate", errno.EIO)
        with pytest.raises(LogBroken):
            log.try_room()
        with pytest.raises(LogBroken):
            log.try_room()
        log.close()
    with StateDir.open(path) as state:
        log = state.log()
        log.append(5, deposits(1, 4))
        log.close()
        assert amounts(state) == [1, 2, 3, 4]


def test_a_try_begins_the_segment_that_could_not_be_begun(tmp_path, monkeypatch):
    path = written(tmp_path / "state", 3, segment_records=3)
    with StateDir.open(path, segment_records=3) as state:
        log = state.log()
        refuse_call(monkeypatch, "open", errno.EMFILE)
        with pytest.raises(LogFull, match=os.strerror(errno.EMFILE)):
            log.append(5, deposits(1, 4))
        log.try_room()
        log.try_room()
        assert log.segments_begun == 1
        log.append(5, deposits(1, 4))
        log.close()
        assert amounts(state) == [1, 2, 3, 4]
