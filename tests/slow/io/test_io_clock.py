"""Claims about the bot's clock: only forward, whatever the machine's clocks do."""

from types import SimpleNamespace

import pytest

from bot.io.clock import Clock

_HOUR_NS = 3_600 * 10**9
_WALL_NS = 1_790_000_000 * 10**9


@pytest.fixture
def machine(monkeypatch):
    clocks = SimpleNamespace(
        wall=_WALL_NS,
        boot=500,
        time_ns=lambda: clocks.wall,
        clock_gettime_ns=lambda _: clocks.boot,
        monotonic_ns=lambda: 0,
    )
    monkeypatch.setattr("bot.io.clock.time", clocks)
    monkeypatch.setattr("bot.io.clock._BOOT", 7)
    return clocks


def test_the_clock_starts_at_wall_time_and_moves_with_elapsed_time(machine):
    clock = Clock()
    machine.boot += 250
    assert clock.now_ns() == _WALL_NS + 250


def test_setting_the_wall_clock_does_not_move_the_clock(machine):
    clock = Clock()
    machine.wall += _HOUR_NS
    assert clock.now_ns() == _WALL_NS


def test_the_clock_counts_time_in_which_the_host_slept(machine):
    clock = Clock()
    machine.boot += _HOUR_NS  # the monotonic clock stood still
    assert clock.now_ns() == _WALL_NS + _HOUR_NS


def test_the_monotonic_clock_is_used_where_there_is_no_boot_clock(machine, monkeypatch):
    monkeypatch.setattr("bot.io.clock._BOOT", None)
    clock = Clock()
    machine.boot += _HOUR_NS
    assert clock.now_ns() == _WALL_NS
