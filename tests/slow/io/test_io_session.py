"""Claims about what a person at the terminal sees of a run."""

import asyncio
import sys
from types import SimpleNamespace

import pytest

from bot.io.run.session import drawn_on, run_plans
from bot.io.secret import Secret
from bot.io.state.locks import StateFault


@pytest.fixture
def terminal(monkeypatch):
    """Standard output is a terminal that can move its cursor."""
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("TTY_COMPATIBLE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)


def plan(*, live_table=True):
    """As much of a plan as it is decided by."""
    return SimpleNamespace(live_table=live_table)


@pytest.mark.usefixtures("terminal")
def test_the_table_of_the_only_series_is_drawn_on_the_terminal():
    assert drawn_on([plan()]) is not None


@pytest.mark.usefixtures("terminal")
def test_several_series_on_a_terminal_show_the_log_there_and_no_table():
    assert drawn_on([plan(), plan()]) is None


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_that_cannot_move_its_cursor_shows_the_log_and_no_table(term, monkeypatch):
    monkeypatch.setenv("TERM", term)
    assert drawn_on([plan()]) is None


def test_without_a_terminal_no_table_is_drawn():
    assert drawn_on([plan(live_table=False)]) is None


@pytest.mark.usefixtures("terminal")
def test_a_log_that_cannot_be_written_is_told_with_its_file(tmp_path):
    (tmp_path / "bot.log").mkdir()
    site = SimpleNamespace(key=Secret("k" * 20), others={})
    begun = SimpleNamespace(live_table=True, companions=(), site=site, state=tmp_path)
    with pytest.raises(StateFault, match=r"bot\.log: cannot be written: Is a directory"):
        asyncio.run(run_plans([begun], None))
