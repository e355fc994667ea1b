"""Claims about compaction beside a venue: it comes after a segment is sealed, and nobody waits."""

import asyncio
import os
import shutil
import sys

import anyio
import pytest
import structlog

from tests.builders.venue.small_venue import ANNA, OPENING
from venue.engine.messages import Deposit
from venue.process import compact_when_sealed
from venue.storage.recovery import recover
from venue.storage.statedir import StateDir
from venue.wire.money import Cents

pytestmark = pytest.mark.anyio

SNAPSHOTS = "snapshot-*"


def log_of(state):
    log = state.log()
    if log.next_sequence == 1:
        log.append(1, OPENING)
    return log


def fill(log, count):
    for number in range(count):
        log.append(2 + number, [Deposit(ANNA, Cents(1))])


def has_snapshot(path):
    return bool(list(path.glob(SNAPSHOTS)))


async def until_compacted(log, path):
    """Run the compaction until a snapshot is there."""
    task = asyncio.create_task(compact_when_sealed(log, path))
    try:
        for _ in range(600):
            if has_snapshot(path):
                return
            await asyncio.sleep(0.05)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    raise AssertionError("no snapshot within half a minute")


async def until_told(told, log, path):
    """Run the compaction until it has said how it went."""
    task = asyncio.create_task(compact_when_sealed(log, path))
    for _ in range(600):
        if told:
            break
        await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_sealed_segment_becomes_a_snapshot_that_replays_to_the_same_state(tmp_path):
    path = tmp_path / "state"
    with StateDir.open(path, segment_records=20) as state:
        log = log_of(state)
        whole = recover(state)
        before = whole.sequence

        task = asyncio.create_task(until_compacted(log, path))
        # It has to be at work before the first segment is sealed.
        await asyncio.sleep(0.05)
        fill(log, 45)
        await task
        log.close()
        again = recover(state)
        assert again.sequence == before + 45
        assert next(state.snapshots(), None) is not None


def test_what_an_earlier_process_left_sealed_is_compacted_at_the_start(tmp_path):
    path = tmp_path / "state"
    with StateDir.open(path, segment_records=20) as state:
        log = log_of(state)
        fill(log, 45)
        log.close()
    with StateDir.open(path, segment_records=20) as state:
        log = state.log()
        assert log.has_sealed
        anyio.run(until_compacted, log, path)
        log.close()


def test_a_file_named_like_a_module_where_the_venue_was_started_is_no_part_of_the_compaction(
    tmp_path, monkeypatch
):
    path = tmp_path / "state"
    (tmp_path / "secrets.py").write_text("raise SystemExit('not of the venue')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with StateDir.open(path, segment_records=20) as state:
        log = log_of(state)
        fill(log, 45)
        log.close()
    with StateDir.open(path, segment_records=20) as state, structlog.testing.capture_logs() as told:
        log = state.log()
        anyio.run(until_told, told, log, path)
        log.close()
    assert [line["event"] for line in told] == ["compacted"], told


@pytest.mark.parametrize(("program", "why"), [("gone", "No such file"), ("false", "with 1")])
async def test_a_compaction_that_cannot_be_started_or_ends_silently_ends_nothing_and_is_told(
    tmp_path, monkeypatch, program, why
):
    path = tmp_path / "state"
    with StateDir.open(path, segment_records=20) as state:
        log = log_of(state)
        fill(log, 45)
        log.close()
    monkeypatch.setattr(sys, "executable", shutil.which(program) or str(tmp_path / program))
    with StateDir.open(path, segment_records=20) as state, structlog.testing.capture_logs() as told:
        log = state.log()

        with anyio.move_on_after(0.5) as going_on:
            await compact_when_sealed(log, path)
        assert going_on.cancelled_caught
        log.close()
    assert [line["event"] for line in told] == ["not_compacted"]
    assert why in told[0]["why"]


def test_a_signal_to_the_venue_s_process_group_does_not_reach_the_compaction(tmp_path, monkeypatch):
    path = tmp_path / "state"
    with StateDir.open(path, segment_records=20) as state:
        log = log_of(state)
        fill(log, 45)
        log.close()
    with StateDir.open(path, segment_records=20) as state:
        log = state.log()
        started = []
        real = asyncio.create_subprocess_exec

        async def watched(*arguments, **options):
            child = await real(*arguments, **options)
            started.append(os.getpgid(child.pid))
            return child

        monkeypatch.setattr(asyncio, "create_subprocess_exec", watched)
        anyio.run(until_compacted, log, path)
        log.close()
    assert started
    assert os.getpgrp() not in started


async def test_without_a_sealed_segment_there_is_nothing_to_compact(tmp_path):
    path = tmp_path / "state"
    with StateDir.open(path) as state:
        log = log_of(state)

        with anyio.move_on_after(1.5):
            await compact_when_sealed(log, path)
        assert not (path / "compact.lock").exists()
        log.close()
