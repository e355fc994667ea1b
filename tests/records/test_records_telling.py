"""Claims about the day that a child process sums up: what it says, and that it leaves nothing."""

import asyncio
import datetime
import os

import pytest

from bot.io.secret import Secret
from bot.records import telling
from bot.records.database import Address, Sqlite, StoreFault
from bot.records.store import Store
from bot.records.telling import Place, Teller
from tests.records.receiver import until
from tests.records.servers import PASSWORD
from tests.records.test_records_recorder import BOOK, Site

pytestmark = pytest.mark.anyio
DAY = datetime.date(2026, 11, 20)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def recorded(tmp_path) -> tuple[Place, int]:
    """Records with a fill, and the number of their account."""
    site = Site(tmp_path)
    site.traded(1)
    await site.recorder._once()
    await site.recorder.on_run_end()
    store = Store(lambda: Sqlite(site.path), BOOK)
    (account,) = store.accounts()
    store.close()
    return Place(BOOK, site.path), account.account


def children() -> set[int]:
    """The processes that this one has begun and that are not over."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return {int(each) for each in file.read().split()}


async def test_a_child_says_the_same_line_as_the_records_read_here(tmp_path):
    place, account = await recorded(tmp_path)
    line = await Teller(place).line(account, DAY)
    assert line.startswith("2026-11-20: profit ")
    assert line == telling.told(telling.encoded(place, None, account, DAY))


async def test_what_the_child_cannot_state_is_a_fault_with_its_words(tmp_path):
    place, account = await recorded(tmp_path)
    with pytest.raises(StoreFault, match=f"was not stated: acme has no account {account + 1}"):
        await Teller(place).line(account + 1, DAY)


async def test_one_that_takes_too_long_is_ended(tmp_path):
    place, account = await recorded(tmp_path)
    before = children()
    with pytest.raises(StoreFault, match=r"was not stated in 0\.01 s"):
        await Teller(place, longest_s=0.01).line(account, DAY)
    assert children() == before


async def test_a_run_that_ends_meanwhile_leaves_no_child(tmp_path):
    place, account = await recorded(tmp_path)
    teller, before = Teller(place), children()
    task = asyncio.create_task(teller.line(account, DAY))
    await until(lambda: children() != before)
    task.cancel()
    await asyncio.wait([task])
    await teller.end()
    assert children() == before


async def test_the_password_goes_to_the_child_by_its_standard_input_alone(tmp_path, monkeypatch):
    begun: list[tuple] = []
    begin = asyncio.create_subprocess_exec

    async def seen(*arguments, **options):
        begun.append((arguments, options))
        return await begin(*arguments, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", seen)
    nowhere = Address(str(tmp_path), 1, "u", "d", tls=False)
    place = Place(BOOK, tmp_path / "none", nowhere)
    with pytest.raises(StoreFault) as fault:
        await Teller(place, Secret(PASSWORD)).line(1, DAY)
    assert len(begun) == 1
    assert PASSWORD not in repr(begun) + str(fault.value)
    assert PASSWORD not in repr(telling._SummaryTask(place, PASSWORD, 1, DAY))
