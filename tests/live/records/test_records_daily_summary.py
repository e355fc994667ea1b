"""Claims about the daily summary of a child process: its text, its faults, and its end."""

import asyncio
import datetime
import os
import time

import pytest

from bot.io.secret import Secret
from bot.records.daily_summary import DailySummary, StorePlace, SummaryRequest, store_at
from bot.records.database import Address, Sqlite, StoreFault
from bot.records.day import gather
from bot.records.output import summary_line
from bot.records.statement import state
from bot.records.store import Store
from tests.builders.records.servers import PASSWORD
from tests.builders.records.site import BOOK, Site
from tests.builders.until import until

pytestmark = pytest.mark.anyio
DAY = datetime.date(2026, 11, 20)


async def recorded(tmp_path) -> tuple[StorePlace, int]:
    """Records with a fill, and the number of their account."""
    site = Site(tmp_path)
    site.traded(1)
    await site.recorder.poll_once()
    await site.recorder.on_run_end()
    store = Store(lambda: Sqlite(site.path), BOOK)
    (account,) = store.accounts()
    store.close()
    return StorePlace(BOOK, site.path), account.account


def children() -> set[int]:
    """The processes that this one has begun and that are not over."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return {int(each) for each in file.read().split()}


async def test_the_child_process_computes_the_summary_of_the_records(tmp_path):
    place, account = await recorded(tmp_path)
    store = store_at(place, None)
    (row,) = store.accounts()
    here = summary_line(state(gather(store, row, DAY, time.time_ns())))
    store.close()
    line = await DailySummary(place).summary_of(account, DAY)
    assert line.startswith("2026-11-20: profit ")
    assert line == here


async def test_a_summary_that_the_child_cannot_make_is_a_fault_with_its_words(tmp_path):
    place, account = await recorded(tmp_path)
    with pytest.raises(StoreFault, match=f"was not stated: acme has no account {account + 1}"):
        await DailySummary(place).summary_of(account + 1, DAY)


async def test_a_summary_that_takes_too_long_is_ended(tmp_path):
    place, account = await recorded(tmp_path)
    before = children()
    with pytest.raises(StoreFault, match=r"was not stated in 0\.01 s"):
        await DailySummary(place, timeout_s=0.01).summary_of(account, DAY)
    assert children() == before


async def test_a_cancelled_summary_leaves_no_child_process(tmp_path):
    place, account = await recorded(tmp_path)
    summary, before = DailySummary(place), children()
    task = asyncio.create_task(summary.summary_of(account, DAY))
    await until(lambda: children() != before)
    task.cancel()
    await asyncio.wait([task])
    await summary.cancel()
    assert children() == before


async def test_the_password_reaches_the_child_by_standard_input_alone(tmp_path, monkeypatch):
    begun: list[tuple] = []
    begin = asyncio.create_subprocess_exec

    async def seen(*arguments, **options):
        begun.append((arguments, options))
        return await begin(*arguments, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", seen)
    nowhere = Address(str(tmp_path), 1, "u", "d", tls=False)
    place = StorePlace(BOOK, tmp_path / "none", nowhere)
    with pytest.raises(StoreFault) as fault:
        await DailySummary(place, Secret(PASSWORD)).summary_of(1, DAY)
    assert len(begun) == 1
    assert PASSWORD not in repr(begun) + str(fault.value)
    assert PASSWORD not in repr(SummaryRequest(place, PASSWORD, 1, DAY))
