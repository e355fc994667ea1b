"""Claims about a state directory with archives: runs, recovery, retention and followers go on."""

import json
import sys
from unittest import mock

import anyio
import pytest
import structlog.testing
from typer.testing import CliRunner

from bench.simulated_journals import brutal
from bot.cli.main import app
from bot.core import messages as m
from bot.io.journal.archive import archive, archive_of
from bot.io.journal.journal import Archivist, Journal, closed, left_in, read_journal, segments
from bot.io.journal.records import Entry
from bot.lab.session import runs, runs_meant
from bot.records.follow import Follower
from tests.builders.io.samples import create, sent
from tests.builders.record.made import journal, steady
from tests.builders.replay.recorded import recorded
from tests.builders.until import until
from venue.wire.instant import NS_PER_SECOND

pytestmark = pytest.mark.xdist_group("record")


@pytest.fixture
def anyio_backend():
    return "asyncio"


def replayed(state):
    done = CliRunner().invoke(app, ["replay", str(state), "--all", "--quiet", "--json"])
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return done.exit_code, [(row["events"], row["effects"], row["difference"]) for row in rows]


def test_archived_segments_replay_like_plain_ones(tmp_path):
    state = tmp_path / "state"
    recorded(brutal(16, NS_PER_SECOND), state)
    plain = replayed(state)
    followed = Follower(state, "b", "v").poll()
    for path in segments(state):
        archive(path)
    assert all(path.suffix == ".arc" for path in segments(state))
    assert replayed(state) == plain
    assert plain[0] == 0
    again = Follower(state, "b", "v").poll()
    assert (again.cursor, again.gap, again.behind) == (followed.cursor, followed.gap, 0)
    assert again.batches == followed.batches


def test_a_run_is_found_by_its_plain_or_archived_segment_name(tmp_path):
    state = tmp_path / "state"
    recorded(brutal(16, NS_PER_SECOND // 10), state)
    first = segments(state)[0]
    begun = [run.begun_ns for run in runs(state)]
    archive(first)
    for name in (first, archive_of(first)):
        assert runs_meant(name, every=False)[0].begun_ns == begun[-1]
    assert [run.begun_ns for run in runs(state)] == begun


def test_a_new_run_recovers_open_orders_from_archives(tmp_path):
    paths = journal(tmp_path / "s", [Entry(5, sent(create()))])
    archive(paths[0])
    assert left_in(tmp_path / "s").open_intents[0].order == create().order
    next_run = Journal(tmp_path / "s", 9, lambda reason: None)
    next_run.close()
    assert next_run.memory.open_intents[0].order == create().order
    assert [path.name for path in segments(tmp_path / "s")] == [
        "journal-00000001.arc",
        "journal-00000002.log",
    ]


@pytest.mark.anyio
async def test_expired_segments_are_deleted_in_both_forms(tmp_path):
    paths = journal(tmp_path / "s", *[steady(1)] * 4)
    archive(paths[0])
    both = paths[1].read_bytes()
    archive(paths[1])
    paths[1].write_bytes(both)
    Journal(tmp_path / "s", 9, lambda reason: None, segment_bytes=1, segments_kept=2).close()
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == [
        "journal-00000004.log",
        "journal-00000005.log",
    ]


@pytest.mark.anyio
async def test_retention_counts_the_bytes_of_the_segments_to_keep(tmp_path):
    paths = journal(tmp_path / "s", *[steady(200)] * 6)
    full = paths[0].stat().st_size
    small = sum(archive(path)[1] for path in paths[:5])
    assert small < full
    Journal(tmp_path / "s", 9, lambda reason: None, segment_bytes=full, segments_kept=3).close()
    assert len(segments(tmp_path / "s")) == 7
    Journal(tmp_path / "s", 9, lambda reason: None, segment_bytes=full, segments_kept=2).close()
    # The small one of the start before, and not the full one before that.
    assert [path.name for path in segments(tmp_path / "s")] == [
        "journal-00000007.log",
        "journal-00000008.log",
    ]


def test_the_segment_being_written_is_not_closed(tmp_path):
    paths = journal(tmp_path / "s", steady(1), steady(1), steady(1))
    assert closed(tmp_path / "s") == paths[:2]
    archive(paths[0])
    assert closed(tmp_path / "s") == paths[1:2]


async def stood_by(archivist: Archivist, true) -> None:
    """Run the archivist until something is so, then end it as a run does."""
    archivist.on_run_start(lambda: None, lambda: 0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(archivist.run)
        await until(true)
        tasks.cancel_scope.cancel()
    await archivist.on_run_end()


@pytest.mark.anyio
async def test_the_archivist_archives_closed_segments_and_removes_partial_files(tmp_path):
    state = tmp_path / "s"
    paths = journal(state, steady(3), steady(4), steady(5))
    (state / "journal-00000001.arc.4711-0.new").write_bytes(b"half")
    before = [list(read_journal(path)) for path in paths]
    await stood_by(Archivist(state, 0.02), lambda: not closed(state))
    assert sorted(path.name for path in state.iterdir()) == [
        "journal-00000001.arc",
        "journal-00000002.arc",
        "journal-00000003.log",
    ]
    assert [list(read_journal(path)) for path in segments(state)] == before


@pytest.mark.anyio
async def test_a_segment_that_cannot_be_archived_stays_and_is_logged_once(tmp_path):
    state = tmp_path / "s"
    paths = journal(state, steady(3), steady(1))
    damaged = bytearray(paths[0].read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    paths[0].write_bytes(damaged)
    archivist = Archivist(state, 0.0)
    with structlog.testing.capture_logs() as said, mock.patch.object(sys, "executable", "false"):
        await stood_by(archivist, lambda: said)
        await anyio.sleep(0.1)
    assert [line["event"] for line in said] == ["segment_not_archived"]
    assert paths[0].read_bytes() == damaged


@pytest.mark.anyio
async def test_an_interrupted_archivist_leaves_the_segment_unchanged(tmp_path):
    state = tmp_path / "s"
    paths = journal(state, steady(3), steady(1))
    data = paths[0].read_bytes()
    archivist = Archivist(state, 0.02)
    with mock.patch.object(sys, "executable", "/bin/cat"):
        await stood_by(archivist, lambda: True)
    assert paths[0].read_bytes() == data
    assert [path.name for path in segments(state)] == [path.name for path in paths]


def test_a_segment_truncated_by_a_crash_is_archived_by_the_next_run(tmp_path):
    state = tmp_path / "s"
    (path,) = journal(state, steady(3))
    path.write_bytes(path.read_bytes()[:-3])
    Journal(state, 9, lambda reason: None).close()
    assert closed(state) == [path]
    archive(path)
    assert list(read_journal(segments(state)[0])) == steady(3)[:-1]
    assert m.Tick() in [entry.message for entry in read_journal(segments(state)[0])]
