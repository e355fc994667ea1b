"""Claims about what a venue is to open with, by its configuration, its state and the time."""

import socket
import time
from pathlib import Path

import pytest

from venue.core.messages import AccessCommand, Command, ListEvent
from venue.journal.statedir import StateDir
from venue.opening import listing_commands
from venue.plan import Options, make_plan
from venue.seed import read_seed
from venue.wire.instant import to_ns

CONFIG = Path(__file__).parents[2] / "configs" / "venue.yaml"
OPENED_NS = to_ns("2026-05-20T12:00:00Z")


def additions_at(folder: Path, now_ns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The events that a start at an instant would add to a venue that was opened before."""
    seed, _ = read_seed(CONFIG)
    commands: list[Command | AccessCommand] = [*listing_commands(seed, OPENED_NS)]
    with StateDir.open(folder) as state:
        log = state.log()
        log.append(OPENED_NS, commands)
        log.close()
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)
    options = Options(
        config=CONFIG,
        keys_file=folder / "keys.json",
        crowd_seed=None,
        tape=None,
        no_crowd=True,
        exit_with_stdin=False,
        state=folder,
        control=None,
    )
    with socket.socket() as listener:
        opening = make_plan(options, listener).opening
    return [each.event_ticker for each in opening if isinstance(each, ListEvent)]


def test_a_start_in_a_later_quarter_adds_its_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = additions_at(tmp_path / "state", to_ns("2026-08-20T12:00:00Z"), monkeypatch)
    assert added == ["AURELIA-VAL-26Q4", "QUILLON-IPO-26Q4", "QUILLON-VAL-26Q3"]


@pytest.mark.parametrize("now", ["1970-01-01T00:00:09Z", "2026-02-20T12:00:00Z"])
def test_a_start_with_a_clock_that_was_set_back_adds_no_quarter_of_the_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: str
) -> None:
    assert additions_at(tmp_path / "state", to_ns(now), monkeypatch) == []
