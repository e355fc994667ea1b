"""Claims about the crash loop: three unclean ends in ten minutes stay down, whatever the clock."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.io.state import kill_switch_file as crashes
from bot.io.state.kill_switch_file import CrashLog, KillSwitchFile, LatchFault, TwoClocks, now
from venue.wire.instant import NS_PER_SECOND

MINUTE = 60 * NS_PER_SECOND
HOUR = 60 * MINUTE


class Machine:
    """Two clocks and a boot id, all in our hand."""

    def __init__(self) -> None:
        self.boot, self.monotonic_ns, self.wall_ns = "a", 10 * MINUTE, 1_800_000_000 * NS_PER_SECOND

    def now(self) -> TwoClocks:
        return TwoClocks(self.boot, self.monotonic_ns, self.wall_ns)

    def wait(self, ns: int) -> None:
        self.monotonic_ns += ns
        self.wall_ns += ns

    def reboot(self) -> None:
        self.boot, self.monotonic_ns = self.boot + "b", NS_PER_SECOND


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def machine() -> Machine:
    return Machine()


def crash(folder, machine: Machine, times: int, every_ns: int = MINUTE) -> None:
    for _ in range(times):
        CrashLog(folder, machine.now).mark_begun()
        machine.wait(every_ns)


def test_the_fourth_start_after_three_unclean_ends_stays_down_with_a_clear_text(tmp_path, machine):
    crash(tmp_path, machine, 3)
    with pytest.raises(LatchFault, match=r"3 unclean ends within 10 minutes; .*bot reset CONFIG"):
        CrashLog(tmp_path, machine.now).mark_begun()
    assert KillSwitchFile(tmp_path).read_latch().by == "crash-loop"


def test_every_start_after_it_stays_down_however_long_it_waits(tmp_path, machine):
    crash(tmp_path, machine, 3)
    for _ in range(3):
        with pytest.raises(LatchFault, match="stays down"):
            CrashLog(tmp_path, machine.now).mark_begun()
        machine.wait(HOUR)


def test_after_a_reset_the_bot_starts_and_counts_anew(tmp_path, machine):
    crash(tmp_path, machine, 3)
    with pytest.raises(LatchFault):
        CrashLog(tmp_path, machine.now).mark_begun()
    KillSwitchFile(tmp_path).clear()
    CrashLog(tmp_path, machine.now).forget_crashes()
    crash(tmp_path, machine, 3)
    with pytest.raises(LatchFault):
        CrashLog(tmp_path, machine.now).mark_begun()


def test_clean_ends_are_no_crashes(tmp_path, machine):
    for _ in range(10):
        log = CrashLog(tmp_path, machine.now)
        assert log.mark_begun() is None
        log.mark_ended()


def test_crashes_longer_ago_than_ten_minutes_do_not_count(tmp_path, machine):
    crash(tmp_path, machine, 12, every_ns=5 * MINUTE + 1)
    assert KillSwitchFile(tmp_path).read_latch() is None


def test_crashes_just_within_ten_minutes_count(tmp_path, machine):
    crash(tmp_path, machine, 3, every_ns=5 * MINUTE)
    with pytest.raises(LatchFault):
        CrashLog(tmp_path, machine.now).mark_begun()


@pytest.mark.parametrize("step_ns", [HOUR, -HOUR, 365 * 24 * HOUR, -365 * 24 * HOUR])
def test_a_stepped_wall_clock_hides_no_crash_loop(tmp_path, machine, step_ns):
    for _ in range(3):
        crash(tmp_path, machine, 1)
        machine.wall_ns += step_ns
    with pytest.raises(LatchFault):
        CrashLog(tmp_path, machine.now).mark_begun()


@pytest.mark.parametrize("step_ns", [HOUR, -HOUR])
def test_a_stepped_wall_clock_makes_no_crash_loop(tmp_path, machine, step_ns):
    for _ in range(6):
        crash(tmp_path, machine, 1, every_ns=6 * MINUTE)
        machine.wall_ns += step_ns
    assert KillSwitchFile(tmp_path).read_latch() is None


def test_a_machine_that_reboots_each_time_is_a_crash_loop_too(tmp_path, machine):
    for _ in range(3):
        crash(tmp_path, machine, 1)
        machine.reboot()
    with pytest.raises(LatchFault):
        CrashLog(tmp_path, machine.now).mark_begun()


def test_a_latch_of_somebody_else_does_not_keep_the_bot_down_but_is_returned(tmp_path, machine):
    KillSwitchFile(tmp_path).set("no heartbeat", "reaper", machine.wall_ns)
    assert CrashLog(tmp_path, machine.now).mark_begun().by == "reaper"


@pytest.mark.parametrize("content", [b"", b"{", b'{"running":7}', b'{"running":{"boot":"\xff"}}'])
def test_a_record_that_cannot_be_read_counts_as_one_unclean_end(tmp_path, machine, content):
    (tmp_path / "crashes.json").write_bytes(content)
    assert CrashLog(tmp_path, machine.now).mark_begun() is None
    crash(tmp_path, machine, 1)
    with pytest.raises(LatchFault):
        CrashLog(tmp_path, machine.now).mark_begun()


def test_a_disk_that_does_not_take_the_mark_keeps_the_bot_from_starting(tmp_path, machine):
    with pytest.raises(LatchFault, match=r"crashes\.json cannot be written"):
        CrashLog(tmp_path / "not there", machine.now).mark_begun()


def test_ends_on_a_disk_without_room_for_a_second_file_are_no_crashes(
    tmp_path, machine, monkeypatch
):
    crash(tmp_path, machine, 1)
    for _ in range(3):
        log = CrashLog(tmp_path, machine.now)
        log.mark_begun()
        with monkeypatch.context() as patch:
            patch.setattr(crashes, "replace_file", full)
            log.mark_ended()
        machine.wait(MINUTE)
    assert CrashLog(tmp_path, machine.now).mark_begun() is None


def test_an_end_that_no_disk_takes_counts_as_a_crash_and_is_told(tmp_path, machine, monkeypatch):
    log = CrashLog(tmp_path, machine.now)
    log.mark_begun()
    with monkeypatch.context() as patch:
        patch.setattr(crashes, "replace_file", full)
        patch.setattr(crashes, "overwrite_file", full)
        with pytest.raises(LatchFault, match="No space left"):
            log.mark_ended()
    crash(tmp_path, machine, 2)
    with pytest.raises(LatchFault, match="3 unclean ends"):
        CrashLog(tmp_path, machine.now).mark_begun()


def test_the_record_stays_small(tmp_path, machine):
    crash(tmp_path, machine, 60, every_ns=HOUR)
    assert (tmp_path / "crashes.json").stat().st_size < 4_096


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 8 * MINUTE), st.booleans()), max_size=25))
def test_it_agrees_with_a_plain_count_of_the_unclean_ends(tmp_path_factory, runs):
    folder, machine = tmp_path_factory.mktemp("state"), Machine()
    found: list[int] = []
    running = False
    for wait_ns, ends in runs:
        machine.wait(wait_ns)
        if running:
            found.append(machine.monotonic_ns)
        down = running and sum(machine.monotonic_ns - at <= 10 * MINUTE for at in found) >= 3
        log = CrashLog(folder, machine.now)
        if down:
            with pytest.raises(LatchFault):
                log.mark_begun()
            return
        assert log.mark_begun() is None
        running = not ends
        if ends:
            log.mark_ended()


def test_the_machine_says_what_time_it_is():
    first, second = now(), now()
    assert first.boot == second.boot != ""
    assert 0 <= second.since_ns(first) < MINUTE


def test_a_real_bot_stays_down_at_its_fourth_start_and_ends_with_3(tmp_path):
    for _ in range(3):
        CrashLog(tmp_path).mark_begun()
    command = [sys.executable, "-m", "bot", "run", "configs/demo.yaml", "--for", "1s"]
    command += ["--status-port", "0", "--state-dir", str(tmp_path)]
    ended = subprocess.run(
        command, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 3
    assert "stays down since" in ended.stderr
    assert "bot reset CONFIG" in ended.stderr
    assert "Traceback" not in ended.stderr
