"""Claims about the heartbeat: a private file with whole lines, and an age no clock can fake."""

import errno
import os
import stat
import threading
import time

import pytest
from structlog.testing import capture_logs

from bot.io.state.heartbeat import (
    BEAT_NS,
    HANGS_NS,
    Heartbeat,
    HeartbeatRecord,
    HeartbeatWatcher,
    HeartbeatWriter,
    read_pulse,
)

S = 1_000_000_000
T0 = 50 * S


def beat_in(folder) -> HeartbeatRecord:
    """The heartbeat that can be read there."""
    found = read_pulse(folder)
    assert found is not None
    return found


def test_a_beat_can_be_read_back_and_its_file_is_private(tmp_path):
    assert Heartbeat(tmp_path, "ab" * 10).beat(T0)
    beat = beat_in(tmp_path)
    assert (beat.boot, beat.beat, beat.ended, beat.plea) == ("ab" * 10, 1, False, "")
    assert stat.S_IMODE((tmp_path / "heartbeat").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["heartbeat"]


def test_a_busy_loop_writes_two_heartbeats_a_second(tmp_path):
    heart = Heartbeat(tmp_path, "ab")
    for step in range(1_000):
        heart.beat(T0 + step * S // 100)
    assert beat_in(tmp_path).beat == 10 * S // BEAT_NS


def test_a_reader_always_sees_a_whole_heartbeat(tmp_path):
    """The file is replaced, never rewritten: an open handle keeps the old line."""
    heart = Heartbeat(tmp_path, "ab")
    heart.beat(T0)
    with (tmp_path / "heartbeat").open() as old:
        heart.beat(T0 + S)
        assert '"beat":1,' in old.read()
    assert beat_in(tmp_path).beat == 2


def test_a_plea_and_an_end_are_written_at_once(tmp_path):
    heart = Heartbeat(tmp_path, "ab")
    heart.beat(T0)
    heart.plead("key_refused")
    heart.beat(T0 + 1)
    assert beat_in(tmp_path).plea == "key_refused"
    heart.write_end()
    assert beat_in(tmp_path).ended


def test_an_end_is_written_on_a_disk_without_room_for_a_second_file(tmp_path, monkeypatch):
    heart = Heartbeat(tmp_path, "ab")
    heart.beat(T0)

    def full(handle: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        assert not heart.beat(T0 + BEAT_NS)
        heart.write_end()
    assert beat_in(tmp_path).ended


def test_a_failed_beat_is_logged_once_until_one_is_written_again(tmp_path):
    heart = Heartbeat(tmp_path, "ab")
    (tmp_path / "heartbeat.new").mkdir()
    with capture_logs() as log:
        for beat in range(3):
            heart.beat(T0 + beat * BEAT_NS)
        assert heart.is_failing
        (tmp_path / "heartbeat.new").rmdir()
        heart.beat(T0 + 3 * BEAT_NS)
    assert [(line["log_level"], line["event"]) for line in log] == [
        ("error", "heartbeat_not_written"),
        ("info", "heartbeat_written_again"),
    ]
    assert log[0]["text"] == "Is a directory"
    assert not heart.is_failing


class StalledDisk:
    """A disk that makes no new file until it is let go."""

    def __init__(self, monkeypatch) -> None:
        self._open, self._goes = os.open, threading.Event()
        monkeypatch.setattr(os, "open", self._wait)

    def _wait(self, *arguments: object) -> int:
        assert self._goes.wait(10)
        return self._open(*arguments)

    def go(self) -> None:
        self._goes.set()


def test_a_stalled_disk_delays_no_loop_and_counts_as_failing(tmp_path, monkeypatch):
    beats = HeartbeatWriter(Heartbeat(tmp_path, "ab"))
    disk = StalledDisk(monkeypatch)
    beats.beat(T0)
    beats.beat(T0 + HANGS_NS)
    assert not beats.is_failing
    beats.beat(T0 + HANGS_NS + 1)
    assert beats.is_failing
    disk.go()
    beats.write_end()
    assert not beats.is_failing
    assert (beat_in(tmp_path).beat, beat_in(tmp_path).ended) == (2, True)


def test_a_half_written_beat_leaves_the_one_before(tmp_path, monkeypatch):
    heart = Heartbeat(tmp_path, "ab")
    heart.beat(T0)
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, content: write(handle, content[:9]))
        assert not heart.beat(T0 + BEAT_NS)
    assert beat_in(tmp_path).beat == 1


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"boot": 1}', b'{"boot": "\xff"}', b"\xff" * 9_000]
)
def test_a_file_that_is_no_heartbeat_is_ignored(tmp_path, content):
    (tmp_path / "heartbeat").write_bytes(content)
    assert read_pulse(tmp_path) is None


def test_a_link_in_place_of_the_heartbeat_is_not_followed(tmp_path):
    Heartbeat(tmp_path, "ab").beat(T0)
    (tmp_path / "heartbeat").rename(tmp_path / "other")
    (tmp_path / "heartbeat").symlink_to(tmp_path / "other")
    assert read_pulse(tmp_path) is None


def silences(*looks: tuple[str | None, float]) -> list[float]:
    silence = HeartbeatWatcher()
    return [silence.measure_silence(mark, T0 + int(at * S)) / S for mark, at in looks]


@pytest.mark.parametrize(
    ("looks", "silence_s"),
    [
        (
            [("1", 0), ("2", 0.5), ("2", 1), ("2", 1.5), ("3", 2), ("3", 2.25)],
            [0, 0, 0.5, 1, 0, 0.25],
        ),
        ([("stale", at) for at in range(100)], [0] * 100),
        ([(None, at) for at in range(100)], [0] * 100),
        ([("stale", 0), ("1", 0.5), ("1", 1)], [0, 0, 0.5]),
        ([(None, 0), ("1", 0.5), (None, 1)], [0, 0, 0.5]),
        ([("1", 0), ("2", 1), (None, 2), (None, 3)], [0, 0, 1, 2]),
        ([("1", 0), ("2", 1), ("2", 601), ("3", 602)], [0, 0, 1, 0]),
    ],
    ids=[
        *("a new beat", "a stale file", "no file", "a beat after a stale file"),
        *("a beat after no file", "a beat that disappears", "a reader that slept"),
    ],
)
def test_silence_counts_from_the_last_new_beat_while_the_reader_was_awake(looks, silence_s):
    assert silences(*looks) == silence_s


def test_after_a_reset_of_the_watcher_the_last_beat_is_stale():
    silence = HeartbeatWatcher()
    for number in range(3):
        silence.measure_silence(str(number), T0 + number * S)
    silence.await_first_beat()
    assert [silence.measure_silence("2", T0 + at * S) for at in range(3, 20)] == [0] * 17
    silence.measure_silence("3", T0 + 20 * S)
    assert silence.measure_silence("3", T0 + 21 * S) == S


def test_a_stepped_wall_clock_changes_neither_the_beat_nor_its_age(tmp_path, monkeypatch):
    heart, silence = Heartbeat(tmp_path, "ab"), HeartbeatWatcher()

    def look(at_s: float) -> int:
        pulse = beat_in(tmp_path)
        return silence.measure_silence(f"{pulse.boot} {pulse.beat}", T0 + int(at_s * S))

    real = time.time_ns
    for number, step_s in enumerate((0, 3_600, -7_200, 0)):
        monkeypatch.setattr(time, "time_ns", lambda step_s=step_s: real() + step_s * S)
        os.utime(tmp_path, None)
        assert heart.beat(T0 + number * S)
        assert look(number) == 0
    assert look(3.5) == S // 2
