"""Claims about the loop and what outlives it: the latch, the crash record, the heartbeat."""

import asyncio
import contextlib
import json
import os
import time
from pathlib import Path

import msgspec
import pytest

from bot.core import messages as m
from bot.core.report import Report
from bot.io.journal.journal import read_journal, segments
from bot.io.run import runner
from bot.io.run.result import Exit
from bot.io.state import atomic_file as whole
from bot.io.state import kill_switch_file as crashes
from bot.io.state import persistent_guards as vigil
from bot.io.state.heartbeat import HeartbeatRecord, read_pulse
from bot.io.state.kill_switch_file import KillSwitchFile, LatchFault
from tests.builders.io.fakes import FakeTrader, run, runner_of
from tests.builders.io.samples import ORDER_ID

pytestmark = pytest.mark.anyio
MS = 1_000_000


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def quick(monkeypatch):
    """The latch is looked at every few milliseconds."""
    monkeypatch.setattr(vigil, "LOOK_NS", 5 * MS)


class Tripping(FakeTrader):
    """Trips a breaker at its first event and shows itself latched from then on."""

    def __init__(self) -> None:
        super().__init__(self._trip)
        self._told = False

    def _trip(self, _event: m.Event) -> list[m.Effect]:
        told, self._told = self._told, True
        return [] if told else [m.Latched("loss_cents: 501, at most 500")]

    def report(self, now_ns: int) -> Report:
        """As the real one reports a latch."""
        return msgspec.structs.replace(super().report(now_ns), latched="loss")


def record(folder: Path) -> dict:
    """The crash record."""
    return json.loads((folder / "crashes.json").read_bytes())


# --- the latch ------------------------------------------------------------------------------------


async def test_a_trip_is_on_disk_and_in_the_journal_before_the_run_is_over(tmp_path):
    ended = await run(runner_of(Tripping(), tmp_path, keeps=True))
    assert KillSwitchFile(tmp_path).read_latch().reason == "loss_cents: 501, at most 500"
    assert KillSwitchFile(tmp_path).read_latch().by == "breaker"
    written = [entry.message for entry in read_journal(segments(tmp_path)[0])]
    assert m.Latched("loss_cents: 501, at most 500") in written
    assert ended.exit_code is Exit.VENUE


async def test_a_trip_alone_ends_no_run_and_is_not_taken_back_while_it_is_written(tmp_path, quick):
    trader = Tripping()
    running = asyncio.ensure_future(run(runner_of(trader, tmp_path, keeps=True), 300 * MS))
    await asyncio.sleep(0.15)
    assert not running.done()
    await running
    assert trader.of(m.LatchCleared) == []
    assert trader.of(m.LatchSet) == []


async def test_a_latch_that_cannot_be_written_stops_the_bot_with_a_fault(tmp_path, monkeypatch):
    def full(path: Path, content: bytes) -> None:
        if path.name == "latch.json":
            raise OSError(28, "No space left on device")
        whole.replace_file(path, content)

    monkeypatch.setattr("bot.io.state.kill_switch_file.replace_file", full)
    trader = Tripping()
    ended = await run(runner_of(trader, tmp_path, keeps=True), None)
    assert trader.of(m.StopRequested) == [m.StopRequested("the latch cannot be kept")]
    assert ended.died == ("latch",)
    assert ended.exit_code is Exit.VENUE


async def test_a_run_begins_with_the_reason_of_the_latch(tmp_path):
    KillSwitchFile(tmp_path).set("no heartbeat", "reaper", 0)
    trader = FakeTrader()
    await run(runner_of(trader, tmp_path, keeps=True))
    [started] = trader.of(m.Started)
    assert started.latched == "reaper: no heartbeat"
    assert trader.of(m.LatchSet) == []


async def test_a_latch_that_is_set_and_cleared_from_outside_is_told_each_time(tmp_path, quick):
    trader = FakeTrader()
    running = asyncio.ensure_future(run(runner_of(trader, tmp_path, keeps=True), None))
    await trader.until(m.Tick)
    KillSwitchFile(tmp_path).set("no heartbeat", "reaper", 0)
    await trader.until(m.LatchSet)
    KillSwitchFile(tmp_path).clear()
    await trader.until(m.LatchCleared)
    os.kill(os.getpid(), 15)
    await running
    assert trader.of(m.LatchSet) == [m.LatchSet("reaper: no heartbeat")]
    assert trader.of(m.LatchCleared) == [m.LatchCleared()]


async def test_a_latch_that_went_with_its_folder_is_not_taken_for_cleared(tmp_path, quick):
    trader, folder = FakeTrader(), tmp_path / "state"
    folder.mkdir()
    running = asyncio.ensure_future(run(runner_of(trader, folder, keeps=True), None))
    await trader.until(m.Tick)
    KillSwitchFile(folder).set("no heartbeat", "reaper", 0)
    await trader.until(m.LatchSet)
    folder.rename(tmp_path / "moved")
    folder.mkdir()
    await running  # it ends, for its journal went as well
    assert trader.of(m.JournalFailed)
    assert trader.of(m.LatchCleared) == []


async def test_a_latch_that_was_only_feared_is_not_said_to_be_taken_away_by_a_person(
    tmp_path, quick, monkeypatch
):
    def refused(*_arguments: object) -> None:
        raise OSError(5, "Input/output error")

    trader = FakeTrader()
    running = asyncio.ensure_future(run(runner_of(trader, tmp_path, keeps=True), None))
    await trader.until(m.Tick)
    with monkeypatch.context() as broken:
        broken.setattr("bot.io.state.kill_switch_file.read_file", refused)
        broken.setattr(Path, "lstat", refused)
        await trader.until(m.LatchSet)
    await trader.until(m.LatchCleared)
    os.kill(os.getpid(), 15)
    await running
    assert trader.of(m.LatchCleared) == [m.LatchCleared(looked=False)]


async def test_after_a_gap_the_latch_is_looked_at_before_the_next_decision(tmp_path, monkeypatch):
    monkeypatch.setattr(vigil, "LOOK_NS", 3_600_000 * MS)
    monkeypatch.setattr(runner, "GAP_NS", 50 * MS)

    def behave(event: m.Event) -> list[m.Effect]:
        if isinstance(event, m.PauseRequested):
            KillSwitchFile(tmp_path).set("no heartbeat", "reaper", 0)
            time.sleep(0.1)
        return []

    trader = FakeTrader(behave)
    loop = runner_of(trader, tmp_path, keeps=True)
    running = asyncio.ensure_future(run(loop, None))
    await trader.until(m.Tick)
    loop.tell(m.PauseRequested("stand still"))
    await trader.until(m.LatchSet)
    at = trader.events.index(m.PauseRequested("stand still"))
    assert trader.events[at + 1] == m.LatchSet("reaper: no heartbeat")
    loop.tell(m.StopRequested("enough"))
    await running


async def test_a_run_without_a_state_directory_leaves_nothing_behind_but_its_journal(tmp_path):
    await run(runner_of(Tripping(), tmp_path))
    assert {path.suffix for path in tmp_path.iterdir()} == {".log"}


# --- the crash record -----------------------------------------------------------------------------


async def test_the_fourth_start_does_nothing_at_all(tmp_path):
    for _ in range(3):
        crashes.CrashLog(tmp_path).mark_begun()
    trader = FakeTrader()
    with pytest.raises(LatchFault, match="3 unclean ends"):
        await run(runner_of(trader, tmp_path, keeps=True))
    assert trader.events == []


async def test_starts_that_stay_down_add_nothing_to_the_journal_of_the_runs_that_crashed(tmp_path):
    """A supervisor may try for days, and their many small segments would push out the others."""
    await run(runner_of(FakeTrader(), tmp_path, keeps=True))
    journals = {path.name: path.read_bytes() for path in tmp_path.glob("journal-*")}
    for _ in range(4):
        with contextlib.suppress(LatchFault):
            crashes.CrashLog(tmp_path).mark_begun()
    for _ in range(3):
        with pytest.raises(LatchFault, match="3 unclean ends"):
            await run(runner_of(FakeTrader(), tmp_path, keeps=True))
    assert {path.name: path.read_bytes() for path in tmp_path.glob("journal-*")} == journals


@pytest.mark.parametrize("number", [2, 15])
async def test_an_end_by_a_signal_is_clean(tmp_path, number):
    trader = FakeTrader()
    running = asyncio.ensure_future(run(runner_of(trader, tmp_path, keeps=True), None))
    await trader.until(m.Tick)
    assert record(tmp_path)["running"] is not None
    os.kill(os.getpid(), number)
    await running
    assert record(tmp_path)["running"] is None


async def test_an_end_when_the_time_is_over_is_clean(tmp_path):
    await run(runner_of(FakeTrader(), tmp_path, keeps=True))
    assert record(tmp_path)["running"] is None


async def test_an_end_with_orders_left_is_clean_too(tmp_path):
    trader = FakeTrader()
    trader.left = m.DrainComplete((ORDER_ID,), ())
    ended = await run(runner_of(trader, tmp_path, keeps=True))
    assert ended.exit_code is Exit.LEFT_OVER
    assert record(tmp_path)["running"] is None


async def test_an_end_by_a_bug_is_a_crash(tmp_path):
    def behave(event: m.Event) -> list[m.Effect]:
        if isinstance(event, m.Started):
            raise ZeroDivisionError
        return []

    ended = await run(runner_of(FakeTrader(behave), tmp_path, keeps=True), None)
    assert ended.crashed
    assert record(tmp_path)["running"] is not None


# --- the heartbeat --------------------------------------------------------------------------------


async def pulse_with(folder: Path, plea: str) -> HeartbeatRecord:
    """The newest beat, once there is one that pleads so: a thread writes them."""
    for _ in range(500):
        pulse = read_pulse(folder)
        if pulse is not None and pulse.plea == plea:
            return pulse
        await asyncio.sleep(0.01)
    raise AssertionError("no such beat")


async def test_the_heart_beats_with_the_decisions_and_says_when_the_run_is_over(tmp_path):
    trader = FakeTrader()
    running = asyncio.ensure_future(run(runner_of(trader, tmp_path, keeps=True), 200 * MS))
    await trader.until(m.Tick)
    pulse = await pulse_with(tmp_path, "")
    assert (pulse.boot, pulse.ended) == ("ab" * 10, False)
    await running
    assert read_pulse(tmp_path).ended


async def test_a_run_that_leaves_orders_does_not_say_that_it_is_over(tmp_path):
    trader = FakeTrader()
    trader.left = m.DrainComplete((ORDER_ID,), ())
    await run(runner_of(trader, tmp_path, keeps=True))
    assert not read_pulse(tmp_path).ended


async def test_a_bot_whose_key_is_refused_asks_for_help_until_it_works_again(tmp_path):
    loop = runner_of(trader := FakeTrader(), tmp_path, keeps=True)
    notes = {m.PauseRequested: "key_refused", m.ResumeRequested: "key_refused_cleared"}

    def behave(event: m.Event) -> list[m.Effect]:
        name = notes.get(type(event))
        return [] if name is None else [m.Noted("error", name, {})]

    trader._behave = behave
    running = asyncio.ensure_future(run(loop, None))
    await trader.until(m.Tick)
    for event, plea in ((m.PauseRequested("x"), "key_refused"), (m.ResumeRequested(), "")):
        loop.tell(event)
        await trader.until(type(event))
        await pulse_with(tmp_path, plea)
    loop.tell(m.StopRequested("enough"))
    await running
