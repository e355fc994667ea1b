"""Claims about what a person at the terminal sees of a run."""

import asyncio
import sys
from types import SimpleNamespace

import pytest

from bot.io.adapter import VenueAddress
from bot.io.logs import LogForm
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


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("series", "live_table", "term", "is_drawn"),
    [
        (1, True, "xterm-256color", True),
        (2, True, "xterm-256color", False),
        (1, False, "xterm-256color", False),
        (1, True, "dumb", False),
        (1, True, "unknown", False),
    ],
    ids=["one series", "two series", "no terminal", "dumb", "unknown"],
)
def test_the_table_is_drawn_for_a_single_series_on_a_terminal_with_a_cursor(
    monkeypatch, series, live_table, term, is_drawn
):
    monkeypatch.setenv("TERM", term)
    plans = [SimpleNamespace(live_table=live_table)] * series
    assert (drawn_on(plans) is not None) is is_drawn


@pytest.mark.usefixtures("terminal")
def test_a_log_that_cannot_be_written_stops_the_start_and_is_named(tmp_path):
    (tmp_path / "bot.log").mkdir()
    site = SimpleNamespace(address=VenueAddress("", "", Secret("k" * 20)))
    form = LogForm.AUTO
    begun = SimpleNamespace(
        live_table=True, companions=(), site=site, state=tmp_path, log_form=form
    )
    with pytest.raises(StateFault, match=r"bot\.log: cannot be written: Is a directory"):
        asyncio.run(run_plans([begun], None))
