"""Claims about compaction while a venue runs: it follows a sealed segment and delays nobody."""

import asyncio
import contextlib
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


def log_of(state):
    log = state.log()
    if log.next_sequence == 1:
        log.append(1, OPENING)
    return log


def fill(log, count):
    for number in range(count):
        log.append(2 + number, [Deposit(ANNA, Cents(1))])


async def until_compacted(log, path, has_ended=None):
    """Run the compaction until it has ended; by default until a snapshot is there."""
    has_ended = has_ended or (lambda: list(path.glob("snapshot-*")))
    task = asyncio.create_task(compact_when_sealed(log, path))
    try:
        for _ in range(600):
            if has_ended():
                return
            await asyncio.sleep(0.05)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    raise AssertionError("no end within half a minute")


@pytest.fixture
def sealed(tmp_path):
    """A state directory whose log an earlier process left with sealed segments."""
    path = tmp_path / "state"
    with StateDir.open(path, segment_records=20) as state:
        log = log_of(state)
        fill(log, 45)
        log.close()
    return path


@contextlib.contextmanager
def opened_log(path):
    with StateDir.open(path, segment_records=20) as state:
        log = state.log()
        yield log
        log.close()


async def test_a_running_venue_compacts_a_segment_that_was_just_sealed(tmp_path):
    path = tmp_path / "state"
    with StateDir.open(path, segment_records=20) as state:
        log = log_of(state)
        before = recover(state).sequence
        task = asyncio.create_task(until_compacted(log, path))
        # It has to be at work before the first segment is sealed.
        await asyncio.sleep(0.05)
        fill(log, 45)
        await task
        log.close()
        assert recover(state).sequence == before + 45
        assert next(state.snapshots(), None) is not None


async def test_a_starting_venue_compacts_the_sealed_segments_of_an_earlier_process(sealed):
    with opened_log(sealed) as log:
        assert log.has_sealed
        await until_compacted(log, sealed)


async def test_a_compaction_imports_no_module_from_the_working_directory(
    sealed, tmp_path, monkeypatch
):
    (tmp_path / "secrets.py").write_text("raise SystemExit('not of the venue')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with opened_log(sealed) as log, structlog.testing.capture_logs() as lines:
        await until_compacted(log, sealed, lambda: lines)
    assert [line["event"] for line in lines] == ["compacted"], lines


@pytest.mark.parametrize(("program", "why"), [("gone", "No such file"), ("false", "with 1")])
async def test_a_failed_compaction_is_logged_and_the_venue_goes_on(
    sealed, tmp_path, monkeypatch, program, why
):
    monkeypatch.setattr(sys, "executable", shutil.which(program) or str(tmp_path / program))
    with opened_log(sealed) as log, structlog.testing.capture_logs() as lines:
        with anyio.move_on_after(0.5) as going_on:
            await compact_when_sealed(log, sealed)
        assert going_on.cancelled_caught
    assert [line["event"] for line in lines] == ["not_compacted"]
    assert why in lines[0]["why"]


async def test_a_compaction_runs_outside_the_venue_s_process_group(sealed, monkeypatch):
    groups = []
    real = asyncio.create_subprocess_exec

    async def watched(*arguments, **options):
        child = await real(*arguments, **options)
        groups.append(os.getpgid(child.pid))
        return child

    monkeypatch.setattr(asyncio, "create_subprocess_exec", watched)
    with opened_log(sealed) as log:
        await until_compacted(log, sealed)
    assert groups
    assert os.getpgrp() not in groups


async def test_a_venue_without_a_sealed_segment_compacts_nothing(tmp_path):
    path = tmp_path / "state"
    with StateDir.open(path) as state:
        log = log_of(state)
        with anyio.move_on_after(1.5):
            await compact_when_sealed(log, path)
        assert not (path / "compact.lock").exists()
        log.close()
