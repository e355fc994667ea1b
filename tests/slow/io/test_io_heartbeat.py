"""Claims about the heartbeat: whole lines for the owner only, and an age that no clock can fake."""

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
    HeartbeatWatcher,
    HeartbeatWriter,
    read_pulse,
)
from bot.io.state.persistent_guards import PersistentGuards

S = 1_000_000_000
T0 = 50 * S


def test_a_beat_can_be_read_back_and_is_for_the_owner_only(tmp_path):
    assert Heartbeat(tmp_path, "ab" * 10).beat(T0)
    pulse = read_pulse(tmp_path)
    assert pulse is not None
    assert (pulse.boot, pulse.beat, pulse.ended, pulse.plea) == ("ab" * 10, 1, False, "")
    assert stat.S_IMODE((tmp_path / "heartbeat").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["heartbeat"]


def test_a_busy_loop_writes_twice_a_second_and_no_more(tmp_path):
    heart = Heartbeat(tmp_path, "ab")
    for step in range(1_000):
        heart.beat(T0 + step * S // 100)
    pulse = read_pulse(tmp_path)
    assert pulse is not None
    assert pulse.beat == 10 * S // BEAT_NS


def test_a_reader_sees_a_whole_line_at_every_moment(tmp_path):
    """The file is replaced, never rewritten: an open handle keeps the old line."""
    heart = Heartbeat(tmp_path, "ab")
    heart.beat(T0)
    with (tmp_path / "heartbeat").open() as old:
        heart.beat(T0 + S)
        assert '"beat":1,' in old.read()
    pulse = read_pulse(tmp_path)
    assert pulse is not None
    assert pulse.beat == 2


def test_a_plea_and_an_end_are_told_at_once(tmp_path):
    heart = Heartbeat(tmp_path, "ab")
    heart.beat(T0)
    heart.plead("key_refused")
    heart.beat(T0 + 1)
    pulse = read_pulse(tmp_path)
    assert pulse is not None
    assert pulse.plea == "key_refused"
    heart.write_end()
    pulse = read_pulse(tmp_path)
    assert pulse is not None
    assert pulse.ended


def test_an_end_is_told_also_where_the_disk_has_room_for_no_second_file(tmp_path, monkeypatch):
    heart = Heartbeat(tmp_path, "ab")
    heart.beat(T0)

    def full(handle: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        assert not heart.beat(T0 + BEAT_NS)
        heart.write_end()
    pulse = read_pulse(tmp_path)
    assert pulse is not None
    assert pulse.ended


def test_a_heartbeat_that_cannot_be_written_is_told_and_breaks_nothing(tmp_path):
    heart = Heartbeat(tmp_path / "gone", "ab")
    assert not heart.beat(T0)
    heart.write_end()


def test_a_beat_that_cannot_be_written_is_logged_once_until_it_is_written_again(tmp_path):
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


class StandsStill:
    """A disk that makes no new file until it is let go."""

    def __init__(self, monkeypatch) -> None:
        self._open, self._goes = os.open, threading.Event()
        monkeypatch.setattr(os, "open", self._wait)

    def _wait(self, *arguments: object) -> int:
        assert self._goes.wait(10)
        return self._open(*arguments)

    def go(self) -> None:
        """From here on it works again."""
        self._goes.set()


def test_a_disk_that_stands_still_holds_up_no_loop_and_counts_as_failing(tmp_path, monkeypatch):
    beats = HeartbeatWriter(Heartbeat(tmp_path, "ab"))
    disk = StandsStill(monkeypatch)
    beats.beat(T0)
    beats.beat(T0 + HANGS_NS)
    assert not beats.is_failing
    beats.beat(T0 + HANGS_NS + 1)
    assert beats.is_failing
    disk.go()
    beats.write_end()
    assert not beats.is_failing
    pulse = read_pulse(tmp_path)
    assert pulse is not None
    assert (pulse.beat, pulse.ended) == (2, True)


def test_a_beat_that_is_being_written_keeps_no_run_from_deciding(tmp_path, monkeypatch):
    vigil = PersistentGuards(tmp_path, "ab" * 10)
    vigil.begin_run()
    disk = StandsStill(monkeypatch)
    vigil.beats.beat(T0)
    vigil.beats.beat(T0 + HANGS_NS + 1)
    assert vigil.beats.is_failing
    disk.go()
    vigil.end_run(clean=True, flat=True)


def test_a_disk_that_takes_half_a_beat_leaves_the_one_before(tmp_path, monkeypatch):
    heart = Heartbeat(tmp_path, "ab")
    heart.beat(T0)
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, content: write(handle, content[:9]))
        assert not heart.beat(T0 + BEAT_NS)
    pulse = read_pulse(tmp_path)
    assert pulse is not None
    assert pulse.beat == 1


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"boot": 1}', b'{"boot": "\xff"}', b"\xff" * 9_000]
)
def test_a_file_that_is_no_heartbeat_is_no_beat(tmp_path, content):
    (tmp_path / "heartbeat").write_bytes(content)
    assert read_pulse(tmp_path) is None


def test_a_link_in_its_place_is_not_followed(tmp_path):
    Heartbeat(tmp_path, "ab").beat(T0)
    (tmp_path / "heartbeat").rename(tmp_path / "other")
    (tmp_path / "heartbeat").symlink_to(tmp_path / "other")
    assert read_pulse(tmp_path) is None


def silences(*looks: tuple[str | None, float]) -> list[float]:
    """The silence in seconds after each (mark, seconds)."""
    silence = HeartbeatWatcher()
    return [silence.measure_silence(mark, T0 + int(at * S)) / S for mark, at in looks]


def test_silence_counts_from_the_last_new_beat():
    looks = [("1", 0), ("2", 0.5), ("2", 1), ("2", 1.5), ("3", 2), ("3", 2.25)]
    assert silences(*looks) == [0, 0, 0.5, 1, 0, 0.25]


def test_a_stale_file_and_no_file_at_all_are_never_silence():
    assert silences(*(("old", at) for at in range(100))) == [0] * 100
    assert silences(*((None, at) for at in range(100))) == [0] * 100


def test_the_first_beat_after_a_stale_file_or_none_counts():
    assert silences(("old", 0), ("1", 0.5), ("1", 1)) == [0, 0, 0.5]
    assert silences((None, 0), ("1", 0.5), (None, 1)) == [0, 0, 0.5]


def test_a_beat_that_disappears_is_silence():
    assert silences(("1", 0), ("2", 1), (None, 2), (None, 3)) == [0, 0, 1, 2]


def test_a_reader_that_slept_has_not_watched():
    """The host stood still: when both wake, the bot gets its time to beat."""
    assert silences(("1", 0), ("2", 1), ("2", 601), ("3", 602)) == [0, 0, 1, 0]


def test_after_forgetting_the_beat_seen_last_is_a_stale_one():
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
        pulse = read_pulse(tmp_path)
        assert pulse is not None
        return silence.measure_silence(f"{pulse.boot} {pulse.beat}", T0 + int(at_s * S))

    real = time.time_ns
    for number, step_s in enumerate((0, 3_600, -7_200, 0)):
        monkeypatch.setattr(time, "time_ns", lambda step_s=step_s: real() + step_s * S)
        os.utime(tmp_path, None)
        assert heart.beat(T0 + number * S)
        assert look(number) == 0
    assert look(3.5) == S // 2
