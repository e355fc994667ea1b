"""How far long work is said to be where no terminal shows a bar."""

import sys

import pytest

from bot.cli import progress as said
from bot.cli.progress import progress


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    out, err = capsys.readouterr()
    assert not out
    return err.splitlines()


def test_a_log_gets_a_line_every_half_minute_and_none_before(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("records", 4_000, quiet=False, clock_s=clock) as show:
        for done in range(0, 4_001, 100):
            show(done, "ev pessimistic")
            clock.now_s += 2.0
    assert lines(capsys) == [
        "ev pessimistic: 1,500 of 4,000 records, about 50 s left",
        "ev pessimistic: 3,000 of 4,000 records, about 20 s left",
    ]


def test_work_that_is_over_in_less_says_nothing(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("simulations", 3, quiet=False, clock_s=clock) as show:
        for done in (1, 2, 3):
            clock.now_s += 9.0
            show(done)
    assert lines(capsys) == []


def test_without_a_known_end_only_what_is_done_is_told(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("entries", quiet=False, clock_s=clock) as show:
        clock.now_s += 31.0
        show(123_456)
    assert lines(capsys) == ["123,456 entries"]


def test_what_is_left_of_another_piece_of_work_counts_from_its_own_beginning(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("events", quiet=False, clock_s=clock) as show:
        show(0, "as it was", 50)
        clock.now_s += 7_000.0
        show(0, "otherwise", 400)
        clock.now_s += 6_000.0
        show(200)
    assert lines(capsys) == [
        "otherwise: 0 of 400 events",
        "otherwise: 200 of 400 events, about 1.7 h left",
    ]


def test_quiet_work_says_nothing_however_long_it_takes(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("simulations", 3, quiet=True, clock_s=clock) as show:
        clock.now_s += 3_600.0
        show(2)
    assert lines(capsys) == []


def test_a_terminal_gets_a_bar_that_is_gone_at_the_end(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(said, "is_watched", lambda: True)
    with progress("simulations", 3, quiet=False, clock_s=clock) as show:
        show(2, "theme-base seed 7")
    err = capsys.readouterr().err
    assert "theme-base seed 7" in err
    assert "2/3" in err
    assert "\x1b[2K" in err.rsplit("2/3", 1)[1]


def test_a_pipe_is_not_watched() -> None:
    assert not sys.stderr.isatty()
    assert not said.is_watched()
