"""Claims about the crash loop: three unclean ends in ten minutes stay down, whatever the clock."""

import errno
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.io.state import kill_switch_file as crashes
from bot.io.state.kill_switch_file import CrashLog, KillSwitchFile, LatchFault, TwoClocks
from venue.wire.instant import NS_PER_SECOND

MINUTE = 60 * NS_PER_SECOND
HOUR = 60 * MINUTE


STEPS_NS = (HOUR, -HOUR, 365 * 24 * HOUR, -365 * 24 * HOUR)


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Machine:
    """Two clocks and a boot id, all in our hand."""

    def __init__(self) -> None:
        self.boot, self.monotonic_ns, self.wall_ns = "a", 10 * MINUTE, 1_800_000_000 * NS_PER_SECOND

    def now(self) -> TwoClocks:
        return TwoClocks(self.boot, self.monotonic_ns, self.wall_ns)

    def wait(self, ns: int) -> None:
        self.monotonic_ns += ns
        self.wall_ns += ns

    def step(self, ns: int) -> None:
        self.wall_ns += ns

    def reboot(self) -> None:
        self.boot, self.monotonic_ns = self.boot + "b", NS_PER_SECOND


@pytest.fixture
def machine() -> Machine:
    return Machine()


def crash(folder, machine: Machine, times: int, every_ns: int = MINUTE) -> None:
    for _ in range(times):
        CrashLog(folder, machine.now).mark_begun()
        machine.wait(every_ns)


def assert_down(folder, machine: Machine) -> None:
    """The next start is refused, and says what to do."""
    with pytest.raises(LatchFault, match=r"stays down since|.*bot reset CONFIG"):
        CrashLog(folder, machine.now).mark_begun()


def test_starts_after_three_unclean_ends_stay_down_until_a_reset(tmp_path, machine):
    crash(tmp_path, machine, 3)
    with pytest.raises(LatchFault, match=r"3 unclean ends within 10 minutes; .*bot reset CONFIG"):
        CrashLog(tmp_path, machine.now).mark_begun()
    assert KillSwitchFile(tmp_path).read_latch().by == "crash-loop"
    for _ in range(3):
        assert_down(tmp_path, machine)
        machine.wait(HOUR)
    KillSwitchFile(tmp_path).clear()
    CrashLog(tmp_path, machine.now).forget_crashes()
    crash(tmp_path, machine, 3)
    assert_down(tmp_path, machine)


@pytest.mark.parametrize(
    ("every_ns", "between", "is_loop"),
    [
        (5 * MINUTE, lambda machine: None, True),
        (5 * MINUTE + 1, lambda machine: None, False),
        *((MINUTE, lambda machine, step=step: machine.step(step), True) for step in STEPS_NS),
        *((6 * MINUTE, lambda machine, step=step: machine.step(step), False) for step in STEPS_NS),
        (MINUTE, lambda machine: machine.reboot(), True),
    ],
)
def test_three_crashes_within_ten_minutes_are_a_loop_whatever_the_wall_clock_says(
    tmp_path, machine, every_ns, between, is_loop
):
    for _ in range(3):
        crash(tmp_path, machine, 1, every_ns)
        between(machine)
    if is_loop:
        assert_down(tmp_path, machine)
    else:
        crash(tmp_path, machine, 3, every_ns)
        assert KillSwitchFile(tmp_path).read_latch() is None


def test_a_latch_of_another_origin_is_returned_and_does_not_refuse_the_start(tmp_path, machine):
    KillSwitchFile(tmp_path).set("no heartbeat", "reaper", machine.wall_ns)
    assert CrashLog(tmp_path, machine.now).mark_begun().by == "reaper"


@pytest.mark.parametrize("content", [b"", b"{", b'{"running":7}', b'{"running":{"boot":"\xff"}}'])
def test_an_unreadable_crash_record_counts_as_one_crash(tmp_path, machine, content):
    (tmp_path / "crashes.json").write_bytes(content)
    assert CrashLog(tmp_path, machine.now).mark_begun() is None
    crash(tmp_path, machine, 1)
    with pytest.raises(LatchFault):
        CrashLog(tmp_path, machine.now).mark_begun()


def test_a_start_is_refused_when_the_crash_record_cannot_be_written(tmp_path, machine):
    with pytest.raises(LatchFault, match=r"crashes\.json cannot be written"):
        CrashLog(tmp_path / "not there", machine.now).mark_begun()


def test_clean_ends_on_a_disk_without_room_for_a_second_file_are_no_crashes(
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


def test_an_end_that_cannot_be_recorded_counts_as_a_crash(tmp_path, machine, monkeypatch):
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
def test_the_crash_loop_agrees_with_a_plain_count_of_crashes(tmp_path_factory, runs):
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
