"""Claims about looking ahead: a strategy that does is caught, and one that does not is let be."""

import gzip
import json
import os
import signal
import sys
import time

import pytest

from bot.config.bot_config import ConfigFault, finish, read_draft
from bot.lab.backtest import lookahead as guard
from bot.lab.backtest.lookahead import (
    AnswerRecorder,
    CutRun,
    LookaheadSign,
    cuts,
    known_at,
    lookahead_signs,
    record_answers,
    watched,
)
from bot.strategy.api import Strategy
from tests.builders.backtest.made import PROMPT, book, configured, ns, trade, written
from tests.builders.ctrl_c import started
from tests.builders.house.tree import ROOT
from tests.builders.scale import cases
from tests.builders.strategies.strategy_file import strategy_file
from venue.crowd.tape import closes_ns, read_tape
from venue.wire.instant import NS_PER_SECOND

RECORDS = [book(second / 2, [[40 + second % 3, 30]], [[60, 50 + second]]) for second in range(60)]

HONEST = "fixed_spread"

# It bids what will be bid in the end, as the tape in this process' memory has it.
IN_MEMORY = """
import gc

from bot.strategy.api import Quote, Strategy
from venue.crowd.tape import Tape
from venue.wire.money import BookSide, Price, Qty


class Peeker(Strategy):
    name = "peeker"

    def quote(self, view):
        (tape,) = [each for each in gc.get_objects() if isinstance(each, Tape)]
        size = tape.records[-1].no[0][1]
        return {rung.market_id: (Quote(BookSide.BID, Price(20), Qty(size)),) for rung in view.rungs}


STRATEGY = Peeker
"""

# The same, by the way that its caller came.
UP_THE_STACK = IN_MEMORY.replace("import gc\n", "import sys\n").replace(
    "        (tape,) = [each for each in gc.get_objects() if isinstance(each, Tape)]\n",
    """        frame = sys._getframe()
        while not isinstance(tape := frame.f_locals.get("tape"), Tape):
            frame = frame.f_back
""",
)

# It bids what the very next record will show, and what it sees where there is none.
ONE_RECORD_AHEAD = UP_THE_STACK.replace(
    "size = tape.records[-1].no[0][1]",
    """seen = view.rungs[0].asks[0][1] if view.rungs[0].asks else 50
        sizes = [record.no[0][1] for record in tape.records]
        size = min((each for each in sizes if each > seen), default=seen)""",
)

# It reads the whole tape as it is imported, and never opens anything again.
FROM_FILE = """
import gzip
import json

from bot.strategy.api import Quote, Strategy
from venue.wire.money import BookSide, Price, Qty

with gzip.open({path!r}) as file:
    FUTURE = [json.loads(line) for line in file]


class Peeker(Strategy):
    name = "peeker"

    def quote(self, view):
        size = FUTURE[-1]["no"][0][1]
        return {{
            rung.market_id: (Quote(BookSide.BID, Price(20), Qty(size)),) for rung in view.rungs
        }}


STRATEGY = Peeker
"""


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "tape", RECORDS)


def planted(tmp_path, text):
    (tmp_path / "planted.py").write_text(text)
    return configured(tmp_path, "./planted.py")


def test_the_guard_passes_a_strategy_without_lookahead(tmp_path, folder, monkeypatch):
    if not cases(1, quick=0):
        # A fresh interpreter for each run costs seconds; the one below has them every time.
        monkeypatch.setattr(guard, "_alone", record_answers)
    config = configured(tmp_path, HONEST)
    same = [*lookahead_signs(read_tape(folder), folder, config, PROMPT)]
    assert len(same) == guard.CUTS
    assert same == sorted(same)
    assert same[0] > 10


def test_the_guard_passes_a_tape_that_begins_with_prints_only(tmp_path, monkeypatch):
    # Of executions alone books would be made up, and the strategy would answer them.
    prints = [trade(second / 4, 50, 5, "yes") for second in range(2, 80)]
    folder = written(tmp_path / "tape", [*prints, *(book(20, [[40, 30]], [[60, 50]]),) * 9])
    monkeypatch.setattr(guard, "_alone", record_answers)
    found = [*lookahead_signs(read_tape(folder), folder, configured(tmp_path, HONEST), PROMPT)]
    assert all(isinstance(each, int) for each in found)


def test_the_guard_of_some_records_runs_like_a_tape_that_ends_there(folder, monkeypatch):
    tape = read_tape(folder)
    played: list[int] = []
    plays: list[int] = []

    def alone(asked: CutRun) -> guard.GuardedAnswers:
        played.append(asked.until_ns)
        return guard.GuardedAnswers((), ())

    monkeypatch.setattr(guard, "_alone", alone)
    assert [*lookahead_signs(tape, folder, folder, PROMPT, 40, plays.append)] == [0] * guard.CUTS
    instants = [tape.records[at - 1].ts for at in (10, 20, 30)]
    assert played == [instants[-1], *instants]
    assert plays == [1, 2, 3, guard.PLAYS]


@pytest.mark.parametrize("way", [UP_THE_STACK, *[IN_MEMORY] * cases(1, quick=0)])
def test_the_guard_catches_a_strategy_that_reads_the_tape_in_memory(
    tmp_path, folder, monkeypatch, way
):
    if way is UP_THE_STACK:
        monkeypatch.setattr(guard, "_alone", record_answers)
    (found,) = lookahead_signs(read_tape(folder), folder, planted(tmp_path, way), PROMPT)
    assert isinstance(found, LookaheadSign)
    assert found.found == "answer 1 wants something else without the future"


def test_the_guard_catches_a_strategy_that_reads_one_record_ahead(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(guard, "_alone", record_answers)
    tape = read_tape(folder)
    (found,) = lookahead_signs(tape, folder, planted(tmp_path, ONE_RECORD_AHEAD), PROMPT)
    cut = cuts(tape)[0]
    assert isinstance(found, LookaheadSign)
    assert cut < found.at_ns <= guard.quiet_through(tape, cut) == cut + NS_PER_SECOND // 2 - 1


def test_a_cut_is_placed_before_the_longest_nearby_pause(tmp_path):
    seconds = [each + (0.9 if each == 22 else 0) for each in range(80)]
    tape = read_tape(written(tmp_path / "t", [book(at, [[40, 30]], [[60, 50]]) for at in seconds]))
    assert cuts(tape) == [ns(21), ns(39), ns(59)]


def test_the_guard_catches_a_strategy_that_reads_the_tape_file(tmp_path, folder):
    tape = read_tape(folder)
    config = planted(tmp_path, FROM_FILE.format(path=str(folder / "tape.jsonl.gz")))
    asked = CutRun(tape, folder, config, PROMPT, closes_ns(tape), tape.end_ts)
    heard = record_answers(asked)
    assert heard.opened == (str(folder / "tape.jsonl.gz"),)
    assert heard.answers  # it is the file that gives it away: it answered all along


def test_the_guard_names_the_file_that_a_strategy_opened(tmp_path, folder, monkeypatch):
    opened = guard.GuardedAnswers((), ("a/tape.jsonl.gz",))
    monkeypatch.setattr(guard, "_alone", lambda *_: opened)
    (found,) = lookahead_signs(read_tape(folder), folder, configured(tmp_path, HONEST), PROMPT)
    assert found == LookaheadSign("KX-1", 0, "opened a/tape.jsonl.gz")


def test_the_guard_catches_a_strategy_with_fewer_answers_without_the_future(
    tmp_path, folder, monkeypatch
):
    cut = cuts(read_tape(folder))[0]
    after = guard.quiet_through(read_tape(folder), cut) + 1
    heard = iter([guard.GuardedAnswers(((1, b"a"), (cut, b"b"), (after, b"c")), ()),
                  guard.GuardedAnswers(((1, b"a"),), ())])  # fmt: skip
    monkeypatch.setattr(guard, "_alone", lambda *_: next(heard))
    (found,) = lookahead_signs(read_tape(folder), folder, configured(tmp_path, HONEST), PROMPT)
    assert found == LookaheadSign("KX-1", cut, "2 answers with the future, 1 without")


def test_a_tape_cut_at_a_time_has_no_newer_records(folder):
    rows = [{"ts": ns(second), "symbol": "NEAR", "price": "49"} for second in (5, 10, 15)]
    with gzip.open(folder / "underlying.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    tape = read_tape(folder)
    known = known_at(tape, ns(10))
    assert known.records == tape.records[:21]
    assert known.end_ts == known.records[-1].ts == ns(10)
    assert known.values == tape.values[:2]


def test_the_file_watch_reports_only_files_opened_in_its_folder(tmp_path, folder):
    path = folder / "catalog.json"
    (tmp_path / "link").symlink_to(path)
    path.read_text()
    with watched([folder]) as opened:
        (tmp_path / "tape.txt").write_text("beside it")
        (tmp_path / "link").read_text()
    path.read_text()
    assert opened == [str(path)]


def by_its_folder(folder, _elsewhere):
    opened = os.open(folder, os.O_RDONLY)
    os.close(os.open("catalog.json", os.O_RDONLY, dir_fd=opened))
    os.close(opened)


def by_a_second_name(folder, elsewhere):
    os.link(folder / "catalog.json", elsewhere / "second")
    (elsewhere / "second").read_text()


def by_its_place(folder, elsewhere):
    (folder / "catalog.json").rename(elsewhere / "moved")
    (elsewhere / "moved").read_text()


@pytest.mark.parametrize("way", [by_its_folder, by_a_second_name, by_its_place])
def test_the_file_watch_reports_a_file_opened_by_another_path(tmp_path, folder, way):
    with watched([folder]) as opened:
        way(folder, tmp_path)
    assert opened == [str(folder if way is by_its_folder else folder / "catalog.json")]


def test_an_exception_of_a_recorded_strategy_is_recorded_and_raised():
    class Fails(Strategy):
        def quote(self, view):
            raise ValueError("no idea")

    heard = []
    with pytest.raises(ValueError, match="no idea"):
        AnswerRecorder(Fails(Fails.Params()), heard.append).quote(None)
    assert heard == [guard.RAISED]


def test_the_guard_reports_configuration_faults_unchanged(tmp_path, folder):
    config = configured(tmp_path, HONEST)
    config.write_text(config.read_text() + "colour: red\nrisky: 1\n")
    with pytest.raises(ConfigFault) as alone:
        finish(read_draft(config))
    with pytest.raises(ConfigFault) as guarded:
        list(lookahead_signs(read_tape(folder), folder, config, PROMPT))
    assert len(alone.value.faults) == 2
    assert (guarded.value.faults, str(guarded.value)) == (alone.value.faults, str(alone.value))


def test_ctrl_c_ends_the_guard_at_once(tmp_path, folder):
    asked = tmp_path / "asked"
    strategy_file(tmp_path / "planted.py", f"os.mkdir({str(asked)!r}); time.sleep(9); return {{}}")
    config = configured(tmp_path, "./planted.py")
    guarded = ("backtest", "--data", str(folder), "--config", str(config), "--guard")
    process = started([sys.executable, "-m", "bot", *guarded], ROOT)
    deadline_s = time.monotonic() + 60
    while not asked.exists() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=5)
    assert (process.returncode, said) == (130, "")
