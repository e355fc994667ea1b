"""Claims about the venue's clock: only forward, whatever the machine's clocks do."""

import time
from types import SimpleNamespace

import pytest

from venue.clock import Clock

HOUR_NS = 3_600 * 10**9
WALL_NS = 1_790_000_000 * 10**9


@pytest.fixture
def machine(monkeypatch):
    """The clocks of a machine, set by hand."""
    clocks = SimpleNamespace(
        wall=WALL_NS,
        boot=500,
        time_ns=lambda: clocks.wall,
        clock_gettime_ns=lambda clock: 0 if clock == time.CLOCK_MONOTONIC else clocks.boot,
    )
    monkeypatch.setattr("venue.clock.time", clocks)
    return clocks


def test_the_clock_starts_at_wall_time_and_advances_with_elapsed_time(machine):
    clock = Clock(after_ns=0)
    machine.boot += 250
    assert clock.now_ns() == WALL_NS + 250


def test_a_wall_clock_step_does_not_move_the_clock(machine):
    clock = Clock(after_ns=0)
    machine.wall -= HOUR_NS
    assert clock.now_ns() == WALL_NS


def test_the_clock_counts_time_in_which_the_host_slept(machine):
    clock = Clock(after_ns=0)
    machine.boot += HOUR_NS  # the monotonic clock stood still
    assert clock.now_ns() == WALL_NS + HOUR_NS


def test_the_clock_starts_after_the_last_instant_despite_a_wall_clock_step_back(machine):
    told_ns = WALL_NS + HOUR_NS
    assert Clock(after_ns=told_ns).now_ns() == told_ns + 1


def test_without_a_boot_clock_the_monotonic_one_is_read(machine, monkeypatch):
    monkeypatch.setattr("venue.clock._ELAPSED", time.CLOCK_MONOTONIC)
    clock = Clock(after_ns=0)
    machine.boot += HOUR_NS
    assert clock.now_ns() == WALL_NS
