"""Claims about what a venue is to open with, by its configuration, its state and the time."""

import socket
import time
from pathlib import Path

import pytest

from venue.core.messages import AccessCommand, Command, ListEvent, ListMarket, ResolveMarket
from venue.journal.statedir import StateDir
from venue.opening import listing_commands
from venue.plan import Options, make_plan
from venue.seed import read_seed
from venue.wire.instant import to_ns
from venue.wire.money import Outcome

CONFIG = Path(__file__).parents[2] / "configs" / "venue.yaml"
OPENED_NS = to_ns("2026-05-20T12:00:00Z")


def opened(folder: Path, *more: Command) -> None:
    """A venue with its listings, and what was done on it then."""
    seed, _ = read_seed(CONFIG)
    commands: list[Command | AccessCommand] = [*listing_commands(seed, OPENED_NS), *more]
    with StateDir.open(folder) as state:
        log = state.log()
        log.append(OPENED_NS, commands)
        log.close()


def added(
    folder: Path, now_ns: int, monkeypatch: pytest.MonkeyPatch, config: Path = CONFIG
) -> list[Command | AccessCommand]:
    """What a start at an instant would carry out on it."""
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)
    options = Options(
        config=config,
        keys_file=folder / "keys.json",
        crowd_seed=None,
        tape=None,
        no_crowd=True,
        exit_with_stdin=False,
        state=folder,
        control=None,
    )
    with socket.socket() as listener:
        return make_plan(options, listener).opening


def test_a_start_in_a_later_quarter_adds_its_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(tmp_path / "state")
    opening = added(tmp_path / "state", to_ns("2026-08-20T12:00:00Z"), monkeypatch)
    events = [each.event_ticker for each in opening if isinstance(each, ListEvent)]
    assert events == ["AURELIA-VAL-26Q4", "QUILLON-IPO-26Q4", "QUILLON-VAL-26Q3"]


@pytest.mark.parametrize("now", ["1970-01-01T00:00:09Z", "2026-02-20T12:00:00Z"])
def test_a_start_with_a_clock_that_was_set_back_adds_no_quarter_of_the_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: str
) -> None:
    opened(tmp_path / "state")
    assert added(tmp_path / "state", to_ns(now), monkeypatch) == []


def test_a_new_rung_of_the_configuration_is_not_added_to_an_event_that_has_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, _ = read_seed(CONFIG)
    rungs = [each for each in listing_commands(seed, OPENED_NS) if isinstance(each, ListMarket)]
    over = [each.market_id for each in rungs if each.event_ticker == "AURELIA-VAL-26Q2"]
    opened(tmp_path / "state", *(ResolveMarket(market_id, Outcome.NO) for market_id in over))
    config = tmp_path / "venue.yaml"
    highest = "              - {label: 250B, strike_value: 250}\n"
    higher = highest + highest.replace("250", "260")
    config.write_text(CONFIG.read_text().replace(highest, higher))
    opening = added(tmp_path / "state", OPENED_NS + 1, monkeypatch, config)
    assert [each.ticker for each in opening if isinstance(each, ListMarket)] == [
        "AURELIA-VAL-26Q3-260B"
    ]
