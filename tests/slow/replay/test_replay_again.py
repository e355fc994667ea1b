"""Claims about `bot replay`: no difference where none is, and the first one where there is."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import msgspec
import pytest
from click.testing import Result

from bench.simulated_journals import brutal
from bot.config.plugins import StrategyFault
from bot.config.strategies import Makers
from bot.core import messages as m
from bot.core.execution.executor import OrderExecutor
from bot.core.execution.pre_trade_checks import HeldBack, PreTradeChecks, Verdict
from bot.core.orders.outbox import Outbox
from bot.core.orders.request_budget import Priority
from bot.core.planning.actions import Action, CancelAction
from bot.core.quoting.event_quoter import MarketQuoter
from bot.io.journal.journal import read_journal
from bot.io.journal.records import OPENING, Entry, JournalFault
from bot.io.run.watchdog import Retold
from bot.lab.replay import Replayed, replay, replayer_of
from bot.lab.session import TO_THE_END, Place, Until, runs_meant
from bot.strategy.api import EventView, Quotes, Strategy
from tests.builders.io.commands import invoke, json_of
from tests.builders.record.made import damage, segment_file
from tests.builders.replay.recorded import recorded
from tests.builders.scale import cases
from tests.mutants.bug import Patch, handles, planted
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import Ticker

ROOT = Path(__file__).resolve().parents[3]
HASH_SEEDS = ("0", "1", "4242")


def again(path: Path, until: Until = TO_THE_END, *, notes: bool = True) -> list[Replayed]:
    return [
        replay(replayer_of(run, Makers(Path()), notes=notes), until)
        for run in runs_meant(path, every=True)
    ]


def assert_exits_with_3(done: Result, reason: str) -> None:
    assert done.exit_code == 3
    assert reason in done.stderr


@pytest.fixture(scope="module")
def state(tmp_path_factory) -> Path:
    """Several lives among faults; on request half an hour of them."""
    folder = tmp_path_factory.mktemp("replay") / "state"
    seed, crowd = cases(3, quick=16), cases(0, quick=80)
    recorded(brutal(seed, cases(1_800, quick=2) * NS_PER_SECOND, crowd), folder)
    return folder


@pytest.fixture(scope="module")
def entries(tmp_path_factory) -> list[Entry]:
    folder = tmp_path_factory.mktemp("entries") / "state"
    recorded(brutal(11, NS_PER_SECOND // 2), folder)
    return list(read_journal(runs_meant(folder, every=False)[0].paths[0]))


def lone(path: Path, entries: list[Entry]) -> Replayed:
    (run,) = runs_meant(segment_file(path, entries), every=False)
    return replay(replayer_of(run, Makers(Path()), notes=True))


# --- nothing differs ------------------------------------------------------------------------------


def test_a_run_with_faults_replays_identically_under_three_hash_seeds(state):
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.builders.replay.compared", str(state)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        for seed in HASH_SEEDS
    ]
    told = {process.communicate(timeout=900)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(told) == 1
    rows = [json.loads(line) for line in told.pop().splitlines()]
    assert len(rows) == len(list(state.glob("journal-*.log"))) > 1
    assert not any(differs for _, _, differs in rows)
    assert sum(events for events, _, _ in rows) > 300


def test_replay_all_replays_every_run(state):
    done = invoke("replay", state, "--all", "--quiet", "--until", "2s")
    assert done.exit_code == 0
    assert done.stdout.count("no difference") == len(list(state.glob("journal-*.log")))


def test_a_strategy_that_calls_exit_raises_in_a_replay():
    class Ends(Strategy):
        def quote(self, view: EventView) -> Quotes:
            raise SystemExit

    nothing = EventView(Ticker("E"), False, 60.0, None, (), now_s=0.0)
    with pytest.raises(RuntimeError, match="tried to end the program"):
        Retold(lambda: Ends(Ends.Params()), {}).quote(nothing)


def test_a_replay_reads_every_event_and_effect(entries, tmp_path):
    found = lone(tmp_path / "run.log", entries)
    events = [entry for entry in entries if isinstance(entry.message, m.Event)]
    wakes = [entry for entry in entries if isinstance(entry.message, m.WakeAt)]
    assert found.events == len(events)
    assert found.effects == len(entries) - len(events) - len(wakes)
    assert found.ended
    assert found.difference is None


def test_a_truncated_journal_tail_is_not_a_difference(entries, tmp_path):
    path = segment_file(tmp_path / "journal-00000001.log", entries)
    whole = path.read_bytes()
    for cut in (1, 200, 4_321):
        path.write_bytes(whole[:-cut])
        (found,) = again(tmp_path)
        assert found.difference is None
        assert found.damage == ""


def test_responses_after_the_end_of_a_run_are_ignored(entries, tmp_path):
    late = Entry(entries[-1].at_ns, m.Response(m.RequestId(999_999), m.Unknown("late")))
    found = lone(tmp_path / "run.log", [*entries, late])
    assert found.difference is None


def test_an_abandoned_drain_is_not_a_difference(entries, tmp_path):
    finished = next(
        at for at, entry in enumerate(entries) if isinstance(entry.message, m.StopRequested)
    )
    end = next(
        at
        for at, entry in enumerate(entries)
        if at > finished and isinstance(entry.message, m.Event)
    )
    before = entries[:end]
    (run,) = runs_meant(segment_file(tmp_path / "run.log", before), every=False)
    lived = replayer_of(run, Makers(Path()))
    list(lived.steps())
    left = lived.trader.left_over()
    found = lone(tmp_path / "given-up.log", [*before, Entry(before[-1].at_ns, left)])
    assert found.difference is None
    assert found.ended
    invented = msgspec.structs.replace(left, unknown=(*left.unknown, "x"))
    found = lone(tmp_path / "other.log", [*before, Entry(before[-1].at_ns, invented)])
    assert found.difference is not None


def test_notes_of_shadow_strategies_are_not_a_difference(entries, tmp_path):
    beats = [at for at, entry in enumerate(entries) if isinstance(entry.message, m.Tick)]
    note = Entry(entries[beats[3]].at_ns, m.Noted("debug", "shadow_quotes", {"shadow": "x"}))
    found = lone(tmp_path / "run.log", [*entries[: beats[3] + 1], note, *entries[beats[3] + 1 :]])
    assert found.difference is None


# --- something differs ----------------------------------------------------------------------------

_send = Outbox.send
_may_send = PreTradeChecks.may_send
_cancel = OrderExecutor.cancel


def by_the_clock(self: Outbox, request: m.Request, lane: Priority, why: str, *given, **named):
    return _send(self, request, lane, f"{why} {time.perf_counter_ns()}", *given, **named)


CLOCK = Patch(Outbox, "send", by_the_clock)


class Named(str):
    """A text that hashes as in a process of this hash seed, whatever seed its own has."""

    seed = 0

    def __hash__(self) -> int:
        return crc32(f"{self.seed} {self}".encode())


def in_no_order(
    self: OrderExecutor, wishes: Sequence[tuple[MarketQuoter, Action]], now_ns: int
) -> None:
    """The cancels, one after the other as a set of their orders' ids has them."""
    cancels = {
        each[1].order.client_order_id: each for each in wishes if type(each[1]) is CancelAction
    }
    _cancel(self, [cancels[str(name)] for name in set(map(Named, cancels))], now_ns)


ORDER = Patch(OrderExecutor, "cancel", in_no_order)
CHANCE = Patch(
    PreTradeChecks,
    "may_send",
    lambda self, *given: (
        Verdict(HeldBack.TOKENS) if random.random() < 0.5 else _may_send(self, *given)
    ),
)


@pytest.mark.parametrize(
    "plant", [CLOCK, ORDER, CHANCE], ids=["a clock read", "the order of a set", "a random draw"]
)
def test_replay_detects_nondeterminism(plant, tmp_path):
    """The program that replays has the very bug of the one that recorded."""
    Named.seed = 1
    recorded(brutal(28, NS_PER_SECOND // 2), tmp_path / "state", (plant,))
    Named.seed = 2
    with planted((plant,)):
        assert any(found.difference is not None for found in again(tmp_path / "state"))


def test_replay_shows_the_effects_of_a_bug_fixed_since(tmp_path):
    recorded(brutal(7, NS_PER_SECOND // 2), tmp_path / "state", (CLOCK,))
    found = again(tmp_path / "state")[0].difference
    assert found is not None
    assert isinstance(found.then, m.Send)
    assert isinstance(found.now, m.Send)
    assert found.fields == (f"why: {found.then.why!r} -> {found.now.why!r}",)


def sent(entries: list[Entry]) -> int:
    creates = [
        at
        for at, entry in enumerate(entries)
        if isinstance(entry.message, m.Send) and isinstance(entry.message.request, m.Create)
    ]
    return creates[len(creates) // 2]


def test_the_first_difference_shows_both_sides_and_the_previous_frame(entries, tmp_path):
    at = sent(entries)
    entry = entries[at]
    other = msgspec.structs.replace(entry.message, why="another reason")
    changed = [*entries[:at], Entry(entry.at_ns, other), *entries[at + 1 :]]
    found = lone(tmp_path / "run.log", changed).difference
    assert (found.then, found.now) == (other, entry.message)
    assert found.fields == (f"why: 'another reason' -> {entry.message.why!r}",)
    event = max(n for n, each in enumerate(entries[:at]) if isinstance(each.message, m.Event))
    assert found.before[-1].place.entry == event + 1
    assert found.before[-1].entry.message == entries[event].message
    market = entry.message.request.order.market_id
    frames = [
        each.message
        for each in entries[:at]
        if isinstance(each.message, m.BookUpdate) and each.message.market_id == market
    ]
    if frames:
        assert found.frame.entry.message == frames[-1]


def test_a_missing_or_additional_effect_is_a_difference(entries, tmp_path):
    at = sent(entries)
    gone = lone(tmp_path / "gone.log", [*entries[:at], *entries[at + 1 :]]).difference
    assert gone.now == entries[at].message
    last = next(n for n in range(at, len(entries)) if isinstance(entries[n].message, m.Event))
    more = [*entries[:last], Entry(entries[at].at_ns, m.Latched("planted")), *entries[last:]]
    added = lone(tmp_path / "added.log", more).difference
    assert (added.then, added.now) == (m.Latched("planted"), None)


def test_an_exception_during_a_replay_is_reported(entries, tmp_path):
    def raises(self, event):
        raise ZeroDivisionError("planted")

    with planted((handles(m.Tick, raises),)):
        found = lone(tmp_path / "run.log", entries).difference
    assert found.raised == "ZeroDivisionError: planted"


def test_a_replay_can_ignore_notes(entries, tmp_path):
    at = next(n for n, entry in enumerate(entries) if isinstance(entry.message, m.Noted))
    note = m.Noted("info", "worded_otherwise", {})
    changed = [*entries[:at], Entry(entries[at].at_ns, note), *entries[at + 1 :]]
    segment_file(tmp_path / "journal-00000001.log", changed)
    (with_notes,) = again(tmp_path)
    assert with_notes.difference.then == note
    (without,) = again(tmp_path, notes=False)
    assert without.difference is None


# --- where it stops, and what is refused ----------------------------------------------------------


def test_a_replay_stops_after_the_requested_event(entries, tmp_path):
    segment_file(tmp_path / "journal-00000001.log", entries)
    events = [n for n, each in enumerate(entries, 1) if isinstance(each.message, m.Event)]
    middle = events[len(events) // 2]
    at_ns = entries[middle - 1].at_ns
    upto = sum(entries[n - 1].at_ns <= at_ns for n in events)
    (by_number,) = again(tmp_path, Until(number=7))
    (by_place,) = again(tmp_path, Until(place=Place("journal-00000001.log", middle)))
    (by_time,) = again(tmp_path, Until(at_ns=at_ns))
    assert by_number.events == 7
    assert by_place.events == len(events) // 2 + 1
    assert (by_time.events, by_time.until_ns) == (upto, at_ns)
    assert not by_place.ended
    assert by_place.unwritten == 0


@pytest.mark.parametrize(
    ("until", "code"), [("7", 0), ("1s", 0), ("soon", 2), ("0s", 2), ("9" * 5_000, 2)]
)
def test_until_accepts_only_a_number_or_a_time(entries, tmp_path, until, code):
    path = segment_file(tmp_path / "journal-00000001.log", entries)
    assert invoke("replay", path, "--until", until).exit_code == code


@pytest.mark.parametrize(
    ("until", "code"),
    [("journal-00000001.log:3", 0), ("journal-00000001.arc:3", 0), ("journal-00000009.log:1", 2)],
)
def test_until_accepts_an_entry_of_an_existing_segment(entries, tmp_path, until, code):
    path = segment_file(tmp_path / "journal-00000001.log", entries)
    done = invoke("replay", path, "--until", until)
    assert done.exit_code == code
    assert (code == 0) is ("no such segment" not in done.stderr)


def test_replay_rejects_a_file_that_is_not_a_journal(tmp_path):
    path = tmp_path / "bot.yaml"
    path.write_text("series: AURELIA\n")
    assert_exits_with_3(
        invoke("replay", path),
        "not a journal; wanted is the state directory of a run, or a segment",
    )


def test_a_difference_exits_with_4_and_shows_both_sides(entries, tmp_path):
    at = sent(entries)
    path = segment_file(tmp_path / "journal-00000001.log", [*entries[:at], *entries[at + 1 :]])
    done = invoke("replay", path)
    assert done.exit_code == 4
    for word in ("a difference", "\n  then ", "\n  now ", "the last events:", "events a second"):
        assert word in done.stdout
    line = json_of("replay", tmp_path, code=4)
    assert line["difference"]["now"]["type"] == "Send"
    assert line["events_per_second"] > 0


def test_a_journal_of_a_later_version_is_rejected(entries, tmp_path):
    path = segment_file(tmp_path / "journal-00000001.log", entries, OPENING[:-1] + b"\x09")
    assert_exits_with_3(
        invoke("replay", path), "journal version 9, this program reads versions 1 to 8"
    )


def test_a_named_segment_is_replayed_although_a_later_one_is_unreadable(entries, tmp_path):
    path = segment_file(tmp_path / "journal-00000001.log", entries)
    segment_file(tmp_path / "journal-00000002.log", entries, OPENING[:-1] + b"\x09")
    assert invoke("replay", path).exit_code == 0
    done = invoke("replay", tmp_path)
    assert (done.exit_code, "journal version 9" in done.stderr) == (3, True)


def test_a_run_that_shared_its_rate_limit_with_another_series_is_rejected(entries, tmp_path):
    (first,) = [each for each in entries if isinstance(each.message, m.Started)]
    configured = first.message.configured
    settings = msgspec.structs.replace(configured.settings, other_series=("OTHER-VAL",))
    configured = msgspec.structs.replace(configured, settings=settings)
    started = msgspec.structs.replace(first.message, configured=configured)
    path = segment_file(
        tmp_path / "journal-00000001.log", [Entry(first.at_ns, started), *entries[1:]]
    )
    assert_exits_with_3(invoke("replay", path), "shared its request bucket with OTHER-VAL")


def test_a_damaged_journal_is_compared_up_to_the_damage_and_exits_with_3(entries, tmp_path):
    path = segment_file(tmp_path / "journal-00000001.log", entries)
    damage(path)
    line = json_of("replay", path, code=3)
    assert line["events"] > 10
    assert "journal damaged at byte" in line["damage"]
    assert line["difference"] is None


def test_a_missing_journal_exits_with_3(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("nothing")
    for name in ("empty", "none", "notes.txt", "journal-00000001.log"):
        assert invoke("replay", tmp_path / name).exit_code == 3


@pytest.mark.parametrize("options", [(), ("--all",)])
def test_a_journal_without_the_start_of_a_run_exits_with_3(entries, tmp_path, options):
    segment_file(tmp_path / "journal-00000007.log", entries[1:])
    assert_exits_with_3(invoke("replay", tmp_path, *options), "no longer kept")


@pytest.mark.parametrize(
    ("name", "is_told"), [("../mine.py:Mine", True), ("/srv/mine.py", False), ("mine", False)]
)
def test_a_missing_strategy_with_a_relative_path_names_its_base_folder(
    entries, tmp_path, name, is_told
):
    def remake(choice):
        raise StrategyFault(f"{choice.name}: no such Python file")

    (run,) = runs_meant(segment_file(tmp_path / "run.log", entries), every=False)
    choice = m.StrategyChoice(name, "")
    configured = msgspec.structs.replace(run.started.configured, strategy=choice)
    started = msgspec.structs.replace(run.started, configured=configured)
    with pytest.raises(JournalFault) as raised:
        replayer_of(msgspec.structs.replace(run, started=started), remake)
    assert ("its path starts from the configuration's folder" in str(raised.value)) is is_told
    assert ("(--config)" in str(raised.value)) is is_told
