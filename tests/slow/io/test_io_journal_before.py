"""Claims about a journal of version 5, cut off by a kill: its unconfirmed create is known to the
next start, and a replay of it is refused in one sentence."""

import gzip
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.main import app
from bot.core import messages as m
from bot.io.journal.journal import Journal, read_journal, remember, segments
from bot.io.journal.records import MAGIC, Entry, Head, frame_of, framed

WRITTEN = Path(__file__).parent / "corpus" / "v5-one-create-open" / "journal-00000001.log.gz"
OPEN = "ffe44f23ed4b21e199ce-32"


@pytest.fixture
def state(tmp_path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / WRITTEN.stem).write_bytes(gzip.decompress(WRITTEN.read_bytes()))
    return folder


def test_a_start_on_an_earlier_journal_knows_its_unconfirmed_create_and_orders(state):
    journal = Journal(state, 1, print)
    journal.close()
    memory = journal.memory
    assert memory.fate is m.JournalFate.FOUND
    assert [each.order.client_order_id for each in memory.open_intents] == [OPEN]
    assert len(memory.working) == 30
    assert remember(segments(state)) == memory, "the segment that begins now carries it on"


def test_a_start_counts_the_bytes_of_a_torn_tail(state):
    Journal(state, 1, print).close()
    (_, newest) = segments(state)
    newest.write_bytes(newest.read_bytes() + b"\x07torn")
    journal = Journal(state, 1, print)
    journal.close()
    assert journal.cut_bytes == 5


@pytest.mark.parametrize("command", ["replay", "what-if", "report"])
def test_a_replay_of_an_earlier_journal_is_refused_in_one_sentence(state, command):
    done = CliRunner().invoke(app, [command, str(state)])
    assert done.exit_code == 3, done.output
    (said,) = done.stderr.strip().splitlines()
    assert said.startswith(f"{state}/journal-00000001.log: journal version 5: an earlier trader")
    assert "this program replays version 8" in said


def test_orders_of_an_earlier_journal_are_explained_by_its_entries(state):
    done = CliRunner().invoke(
        app, ["explain", "configs/demo.yaml", OPEN, "--state-dir", str(state)]
    )
    assert done.exit_code == 3, done.output
    assert OPEN in done.stdout
    assert "journal version 5: an earlier trader" in done.stdout + done.stderr


def test_an_entry_of_a_removed_kind_is_replaced_by_a_note(tmp_path):
    path = tmp_path / "journal-00000001.log"
    beat = framed(Entry(2, m.Tick()))
    gone = frame_of(beat[8:].replace(b"Tick", b"Gone"))
    path.write_bytes(MAGIC + b"\x05" + framed(Head(1, ())) + gone + beat)
    noted, then = read_journal(path)
    assert (noted.at_ns, noted.message.name) == (2, "entry_of_an_earlier_program")
    assert then == Entry(2, m.Tick())
