"""Claims about the process in which candidates follow the journal of a run."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.io.journal.records import OPENING, Entry, Head, JournalFault, framed
from bot.lab.shadow_sidecar import JournalTail, ShadowSidecar
from tests.builders.explain.lived import CONFIG, Lived, config

SHADOW = """\
shadow:
  - name: near
    strategy: fixed_spread
"""
HEAD = OPENING + framed(Head(0, ()))


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> list[Entry]:
    lived = Lived(config(tmp_path_factory.mktemp("run")))
    lived.begin()
    return lived.entries


def segment(state: Path, number: int) -> Path:
    return state / f"journal-{number:08d}.log"


def bytes_of(entries: list[Entry]) -> bytes:
    return b"".join(framed(entry) for entry in entries)


def test_a_journal_tail_follows_the_segments_as_they_are_written(run, tmp_path):
    segment(tmp_path, 1).write_bytes(HEAD + bytes_of(run[:5]))
    tail = JournalTail(tmp_path, after=1)
    assert list(tail.entries()) == []
    segment(tmp_path, 2).write_bytes(HEAD[:-1])
    assert list(tail.entries()) == []
    segment(tmp_path, 2).write_bytes(HEAD + bytes_of(run[:3]) + bytes_of(run[3:4])[:-1])
    assert list(tail.entries()) == run[:3]
    with segment(tmp_path, 2).open("ab") as file:
        file.write(bytes_of(run[3:4])[-1:])
    segment(tmp_path, 3).write_bytes(HEAD + bytes_of(run[4:6]))
    assert list(tail.entries()) == run[3:6]
    segment(tmp_path, 3).unlink()
    with pytest.raises(JournalFault, match="removed before it was read"):
        list(tail.entries())


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(50):
        while not holds():  # noqa: ASYNC110 - a process of its own brings it about
            await asyncio.sleep(0.05)


@pytest.mark.anyio
async def test_the_sidecar_reports_during_the_run_and_stops_shadows_at_a_missing_segment(
    run, tmp_path
):
    sidecar = ShadowSidecar(config(tmp_path, CONFIG + SHADOW), tmp_path)
    task = asyncio.create_task(sidecar.run())
    segment(tmp_path, 1).write_bytes(HEAD + bytes_of(run))
    await until(lambda: bool(sidecar.reports))
    assert [(each.name, each.bound) for each in sidecar.reports] == [
        ("near", "pessimistic"),
        ("near", "expected"),
    ]
    await until(lambda: all(each.decisions > 3 and each.resting for each in sidecar.reports))
    segment(tmp_path, 1).unlink()
    await until(lambda: all("removed before" in each.stopped for each in sidecar.reports))
    assert not task.done()
    task.cancel()
    await sidecar.on_run_end()
