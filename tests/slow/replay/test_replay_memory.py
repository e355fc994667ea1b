"""Claims about a strategy with a memory: it survives crashes, and its runs replay to the byte."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.simulated_journals import brutal
from bot.config.strategies import Makers
from bot.core import messages as m
from bot.lab import frames
from bot.lab.api import plot
from bot.lab.replay import replay, replayer_of
from bot.lab.session import placed_entries, runs_meant
from tests.builders.replay.recorded import recorded
from tests.builders.replay.remembering import Remembering
from venue.wire.instant import NS_PER_SECOND

pytestmark = pytest.mark.xdist_group("replay-memory")


@pytest.fixture(scope="module")
def state(tmp_path_factory) -> Path:
    """The journals of a bot with that strategy that crashed and came back."""
    odds = replace(brutal(5, 6 * NS_PER_SECOND), strategy=f"{Remembering.__module__}:Remembering")
    folder = tmp_path_factory.mktemp("memory") / "state"
    world = recorded(odds, folder)
    assert len([life for life in world.processes if life.log]) > 1
    return folder


def messages(state: Path) -> list[list[m.Event | m.Effect]]:
    """What the journal of each life holds, the oldest first."""
    return [
        [placed.entry.message for placed in placed_entries(run.paths)]
        for run in runs_meant(state, every=True)
    ]


def test_a_strategy_has_its_memory_again_after_a_crash(state):
    calls: dict[str, int] = {}
    handed_back = 0
    for life in messages(state):
        for message in life:
            if isinstance(message, m.Started):
                handed = {each.event_ticker: calls_in(each.values) for each in message.memories}
                # What a crash kept from the disk was in no request yet.
                assert message.journal is m.JournalFate.LOST or handed.keys() == calls.keys()
                assert all(
                    calls[event] - 1 <= count <= calls[event] for event, count in handed.items()
                )
                calls = handed
                handed_back += bool(handed)
            elif isinstance(message, m.Noted) and message.name == "strategy_memory":
                event = str(message.fields["event"])
                said = calls_in(str(message.fields["values"]))
                assert said == calls.get(event, 0) + 1
                calls[event] = said
    assert handed_back > 0
    assert max(calls.values()) > 50


def calls_in(values: str) -> int:
    return int(json.loads(values)["calls"])


def test_a_run_with_a_memory_replays_to_the_byte(state):
    for run in runs_meant(state, every=True):
        found = replay(replayer_of(run, Makers(Path()), notes=True))
        assert found.difference is None
        assert found.notes


def test_the_diagnostics_of_a_run_are_a_frame_and_a_figure(state):
    pandas = pytest.importorskip("pandas")
    frame = frames.diagnostics(state, every_s=0.1, time_index=True)
    assert isinstance(frame.index, pandas.DatetimeIndex)
    assert set(frame["name"]) == {"calls", "rungs:fair"}
    calls = frame[frame["name"] == "calls"].groupby("event_ticker")["value"]
    assert all(each.is_monotonic_increasing for _, each in calls)
    page = str(plot(state, "diagnostics"))
    assert page.count("<svg") == len({*zip(frame["event_ticker"], frame["name"], strict=True)})
