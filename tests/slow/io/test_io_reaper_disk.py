"""Claims about a reaper whose disk stands still: what rests is cancelled all the same."""

import os
import threading

import pytest

from bot.io.run import reaper as reaper_module
from bot.io.run.reaper import Phase
from bot.io.state.kill_switch_file import KillSwitchFile
from tests.slow.io.test_io_reaper import Account, Bot, until, watching

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Looks come oftener, and the latch is waited for less, than in earnest."""
    monkeypatch.setattr(reaper_module, "LOOK_S", 0.01)
    monkeypatch.setattr(reaper_module, "LATCH_S", 0.05)


async def test_a_disk_that_stands_still_keeps_nothing_from_being_cancelled(tmp_path, monkeypatch):
    """Neither the latch nor the reaper's own beats are waited for as long as that."""
    account, latch, goes = Account("1", "2"), KillSwitchFile(tmp_path), threading.Event()
    real = os.open

    def still(path, flags, *more: int, **others: int) -> int:
        if flags & os.O_CREAT and threading.current_thread() is not threading.main_thread():
            assert goes.wait(10)
        assert not flags & os.O_CREAT or goes.is_set(), "the loop waits for the disk"
        return real(path, flags, *more, **others)

    async with watching(account, tmp_path) as reaper:
        await Bot(tmp_path).beats(0.2)
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", still)
            await until(lambda: reaper.phase is Phase.REAPING and reaper.clean)
            assert account.resting == []
            assert latch.read_latch() is None
            goes.set()
            await until(lambda: latch.read_latch() is not None)


async def test_a_reset_is_heeded_in_a_folder_that_took_the_place_of_the_first_one(tmp_path):
    account, folder = Account("1"), tmp_path / "state"
    folder.mkdir()
    async with watching(account, folder) as reaper:
        folder.rename(tmp_path / "aside")
        folder.mkdir()
        await Bot(folder).beats(0.1)
        await until(lambda: reaper.phase is Phase.REAPING and reaper.clean)
        KillSwitchFile(folder).clear()
        await until(lambda: reaper.phase is Phase.WAITING)
        account.resting.append("2")
        await Bot(folder).beats(0.1)
        assert reaper.phase is Phase.WATCHING
    assert account.resting == ["2"]
