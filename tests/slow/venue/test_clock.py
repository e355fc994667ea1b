"""Claims about the venue's clock: only forward, whatever the machine's clocks do."""

from types import SimpleNamespace

import pytest

from venue.clock import Clock

_HOUR_NS = 3_600 * 10**9
_WALL_NS = 1_790_000_000 * 10**9


@pytest.fixture
def machine(monkeypatch):
    """The clocks of a machine, set by hand."""
    clocks = SimpleNamespace(
        wall=_WALL_NS,
        boot=500,
        time_ns=lambda: clocks.wall,
        clock_gettime_ns=lambda _: clocks.boot,
        monotonic_ns=lambda: 0,
    )
    monkeypatch.setattr("venue.clock.time", clocks)
    monkeypatch.setattr("venue.clock._BOOT", 7)
    return clocks


def test_it_starts_at_the_wall_and_moves_with_the_time_elapsed(machine):
    clock = Clock(after_ns=0)
    machine.boot += 250
    assert clock.now_ns() == _WALL_NS + 250


def test_a_wall_clock_that_is_set_does_not_move_it(machine):
    clock = Clock(after_ns=0)
    machine.wall -= _HOUR_NS
    assert clock.now_ns() == _WALL_NS


def test_time_in_which_the_host_slept_has_elapsed(machine):
    clock = Clock(after_ns=0)
    machine.boot += _HOUR_NS  # the monotonic clock stood still
    assert clock.now_ns() == _WALL_NS + _HOUR_NS


def test_it_starts_after_what_was_told_before_though_the_wall_was_set_back(machine):
    told_ns = _WALL_NS + _HOUR_NS
    assert Clock(after_ns=told_ns).now_ns() == told_ns + 1


def test_without_a_clock_of_the_boot_the_monotonic_one_is_read(machine, monkeypatch):
    monkeypatch.setattr("venue.clock._BOOT", None)
    clock = Clock(after_ns=0)
    machine.boot += _HOUR_NS
    assert clock.now_ns() == _WALL_NS
