"""Claims about the progress of long work, in a log and on a terminal."""

import sys

import pytest

from bot.cli import progress as said
from bot.cli.progress import announce, progress
from bot.lab.progress import replay_s


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    out, err = capsys.readouterr()
    assert not out
    return err.splitlines()


def test_long_work_logs_its_progress_every_half_minute(clock, capsys):
    with progress("records", 4_000, quiet=False, clock_s=clock) as show:
        for done in range(0, 4_001, 100):
            show(done, "ev pessimistic")
            clock.now_s += 2.0
    assert lines(capsys) == [
        "ev pessimistic: 1,500 of 4,000 records, about 50 s left",
        "ev pessimistic: 3,000 of 4,000 records, about 20 s left",
    ]


def test_short_work_logs_nothing(clock, capsys):
    with progress("simulations", 3, quiet=False, clock_s=clock) as show:
        for done in (1, 2, 3):
            clock.now_s += 9.0
            show(done)
    assert lines(capsys) == []


def test_work_without_a_known_end_logs_what_is_done(clock, capsys):
    with progress("entries", quiet=False, clock_s=clock) as show:
        clock.now_s += 31.0
        show(123_456)
    assert lines(capsys) == ["123,456 entries"]


def test_each_piece_of_work_estimates_its_own_remaining_time(clock, capsys):
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


def test_quiet_work_logs_nothing(clock, capsys):
    with progress("simulations", 3, quiet=True, clock_s=clock) as show:
        clock.now_s += 3_600.0
        show(2)
    assert lines(capsys) == []


def test_a_terminal_gets_a_progress_bar_that_is_cleared_at_the_end(clock, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(said, "is_watched", lambda: True)
    with progress("simulations", 3, quiet=False, clock_s=clock) as show:
        show(2, "theme-base seed 7")
    err = capsys.readouterr().err
    assert "theme-base seed 7" in err
    assert "2/3" in err
    assert "\x1b[2K" in err.rsplit("2/3", 1)[1]


def test_a_pipe_is_not_watched():
    assert not sys.stderr.isatty()
    assert not said.is_watched()


def test_only_work_of_over_two_minutes_is_announced_with_a_way_to_shorten_it(capsys):
    announce(120, "fewer --seeds")
    announce(7_000, "fewer --seeds")
    assert lines(capsys) == ["about 1.9 h; shorter: fewer --seeds"]


def test_an_archived_segment_takes_longer_to_replay_than_a_plain_one_of_its_size(tmp_path):
    plain, archived = tmp_path / "journal-00000001.log", tmp_path / "journal-00000002.arc"
    for path in (plain, archived):
        path.write_bytes(bytes(1_000))
    assert 0 < replay_s([plain]) < replay_s([archived])
