"""Claims about the recorder: the run never waits for the store, and the records catch up."""

import asyncio
import datetime
import threading
import time

import msgspec
import pytest
from structlog.testing import capture_logs

from bot.io.run.result import Exit
from bot.io.secret import Secret
from bot.records import follow
from bot.records.database import Postgres, Sqlite, StoreFault
from bot.records.recorder import SAMPLES_MAX, DaemonThread, Recorder
from bot.records.store import Store
from tests.builders.io.fakes import FakeTrader, run, runner_of
from tests.builders.io.samples import RUNG
from tests.builders.records.lived import NIGHT_NS, NOON_NS, market
from tests.builders.records.receiver import running
from tests.builders.records.servers import PASSWORD
from tests.builders.records.site import BOOK, Site, snapshot
from tests.builders.until import until
from venue.wire.instant import NS_PER_SECOND

pytestmark = pytest.mark.anyio


async def test_fills_and_snapshots_are_recorded_during_a_run_and_at_its_end(tmp_path):
    site = Site(tmp_path)
    async with running(site.recorder):
        site.traded(1)
        await until(lambda: site.recorder.progress.fills == 1)
    site.traded(2)
    await site.recorder.on_run_end()
    assert site.fills() == ["f1", "f2"]
    store = site.store()
    (mark,) = store.marks(store.accounts()[0].account, NIGHT_NS, NIGHT_NS * 2)
    assert (mark.market_id, mark.value, mark.yes_qty) == (RUNG, 42_000, 3)
    (profit,) = store.profits(store.accounts()[0].account, NIGHT_NS, NIGHT_NS * 2)
    assert (profit.profit, profit.spread, profit.fees_cents) == (700, 1_000, 1)
    store.close()


async def test_a_failing_store_is_logged_once_and_catches_up(tmp_path):
    site = Site(tmp_path)
    site.broken = True
    with capture_logs() as logs:
        async with running(site.recorder):
            await until(lambda: site.recorder.progress.failures >= 3)
            site.traded(1)
            site.recorder._wait_s = 0.01
            site.broken = False
            await until(lambda: site.recorder.progress.fills == 1)
            await until(lambda: not site.recorder.progress.fault)
    events = [entry["event"] for entry in logs]
    assert events.count("records_failed") == 1
    assert events.count("records_kept_again") == 1
    assert logs[0]["text"] == "the disk is away"
    await site.recorder.on_run_end()
    assert site.fills() == ["f1"]


async def test_a_store_that_fails_during_a_run_is_reopened(tmp_path):
    site = Site(tmp_path)
    async with running(site.recorder):
        site.traded(1)
        await until(lambda: site.recorder.progress.fills == 1)
        blocker = Sqlite(site.path)
        blocker.run("DROP TABLE valued")
        site.journal.valued(NOON_NS, "f1", 1)
        site.traded(2)
        await until(lambda: site.recorder.progress.failures >= 1)
        blocker.run(
            "CREATE TABLE valued (account INTEGER, fill_id TEXT, heard_ns INTEGER, value INTEGER, "
            "level INTEGER, strategy TEXT, reason TEXT, PRIMARY KEY (account, fill_id))"
        )
        blocker.close()
        site.recorder._wait_s = 0.01
        await until(lambda: site.recorder.progress.fills == 2)
    await site.recorder.on_run_end()
    assert site.fills() == ["f1", "f2"]


@pytest.mark.parametrize("becomes", ["deleted", "replaced"])
async def test_a_deleted_or_replaced_file_is_rebuilt_from_the_journal(tmp_path, becomes):
    site = Site(tmp_path)
    with capture_logs() as log:
        async with running(site.recorder):
            site.traded(1)
            await until(lambda: site.recorder.progress.fills == 1)
            site.path.rename(tmp_path / "moved")
            if becomes == "replaced":
                Store(lambda: Sqlite(site.path), BOOK).close()
            site.traded(2)
            await until(lambda: site.recorder.progress.failures == 1)
            await until(lambda: not site.recorder.progress.fault)
    assert site.fills() == ["f1", "f2"]
    assert [line["event"] for line in log if line["log_level"] == "error"] == ["records_failed"]


async def test_a_hanging_store_blocks_neither_the_loop_nor_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("bot.records.recorder.FINISH_S", 0.2)
    stuck = threading.Event()

    def hangs() -> Store:
        stuck.wait(30)
        raise StoreFault("away")

    site = Site(tmp_path, hangs)
    site.recorder._hang_s = 0.05
    with capture_logs() as logs:
        async with running(site.recorder):
            begun = time.monotonic()
            for _ in range(20):
                await asyncio.sleep(0.001)
            assert time.monotonic() - begun < 5
            await until(lambda: site.recorder.progress.failures >= 3)
    notices = [entry["text"] for entry in logs if entry["event"] == "records_failed"]
    assert notices == ["the store does not answer"]
    begun = time.monotonic()
    await site.recorder.on_run_end()
    assert time.monotonic() - begun < 5
    stuck.set()


async def test_no_snapshot_is_recorded_while_the_fills_are_stale(tmp_path):
    site = Site(tmp_path)
    read_ns = NOON_NS
    site.recorder.on_run_start(
        lambda: msgspec.structs.replace(snapshot(site.now_ns), fills_from_ns=read_ns),
        lambda: site.now_ns,
    )
    site.traded(1)
    site.now_ns += 50 * NS_PER_SECOND  # the process stood still
    async with running(site.recorder):
        await until(lambda: site.recorder.progress.fills == 1)
    store = site.store()
    assert not store.marks(store.accounts()[0].account, NIGHT_NS, NIGHT_NS * 2)
    store.close()
    read_ns = site.now_ns
    await site.recorder.on_run_end()
    store = site.store()
    (mark,) = store.marks(store.accounts()[0].account, NIGHT_NS, NIGHT_NS * 2)
    assert mark.at_ns == site.now_ns
    store.close()


async def test_waiting_snapshots_are_bounded(tmp_path):
    site = Site(tmp_path)
    for _ in range(2 * SAMPLES_MAX):
        site.now_ns += 6 * NS_PER_SECOND
        site.recorder.sample()
    assert len(site.recorder._samples) == SAMPLES_MAX


async def test_a_bug_in_the_recorder_is_logged_and_ends_nothing(tmp_path, monkeypatch):
    site = Site(tmp_path)
    monkeypatch.setattr(site.recorder, "sample", lambda: 1 // 0)
    with capture_logs() as logs:
        async with running(site.recorder):
            await until(lambda: site.recorder.progress.failures >= 1)
    assert "records_broken" in [entry["event"] for entry in logs]


async def test_the_summary_of_a_day_is_sent_once(tmp_path):
    notices: list[str] = []
    site = Site(tmp_path, notices=lambda text, _: notices.append(text))
    site.traded(1)
    site.journal.balance(NOON_NS - NS_PER_SECOND, 10_000)
    site.journal.balance(NOON_NS + 20 * NS_PER_SECOND, 10_000 - 121)
    await site.recorder.poll_once()
    assert notices == []
    site.now_ns = NIGHT_NS + 86_400 * NS_PER_SECOND + 61 * NS_PER_SECOND
    await site.recorder.poll_once()
    await site.recorder.poll_once()
    await site.recorder.on_run_end()
    assert len(notices) == 1
    assert notices[0].startswith("2026-11-20: profit ")
    assert "1 fills" in notices[0]


async def test_a_run_begun_just_after_midnight_sends_the_summary_of_yesterday(tmp_path):
    notices: list[str] = []
    site = Site(tmp_path, notices=lambda text, _: notices.append(text))
    site.now_ns = NIGHT_NS + 86_400 * NS_PER_SECOND + 30 * NS_PER_SECOND
    site.recorder.on_run_start(lambda: snapshot(site.now_ns), lambda: site.now_ns)
    await site.recorder.poll_once()
    assert notices == []
    site.now_ns += 31 * NS_PER_SECOND
    await site.recorder.poll_once()
    await site.recorder.on_run_end()
    assert [text[:10] for text in notices] == ["2026-11-20"]


async def test_the_summary_of_a_day_waits_until_its_journal_was_read(tmp_path, monkeypatch):
    monkeypatch.setattr(follow, "BYTES_AT_ONCE", 4_096)
    notices: list[str] = []
    site = Site(tmp_path, notices=lambda text, _: notices.append(text))
    site.journal.noise(NOON_NS, 8_000)
    site.traded(1)
    site.now_ns = NIGHT_NS + 86_400 * NS_PER_SECOND + 61 * NS_PER_SECOND
    await site.recorder.poll_once()
    assert site.recorder.progress.behind_bytes > 256 * 1024
    assert notices == []
    monkeypatch.undo()
    await site.recorder.poll_once()
    await site.recorder.on_run_end()
    assert len(notices) == 1
    assert "1 fills" in notices[0]


async def test_snapshots_wait_until_the_journals_of_earlier_runs_were_read(tmp_path, monkeypatch):
    monkeypatch.setattr(follow, "BYTES_AT_ONCE", 4_096)
    site = Site(tmp_path)
    site.journal.segment()
    for number, nonce in enumerate(("aa" * 10, "bb" * 10), start=1):
        site.journal.started(NOON_NS + number, nonce, new_account=True)
        site.journal.noise(NOON_NS + number, 1_000)
    site.now_ns += 10
    begun = msgspec.structs.replace(snapshot(site.now_ns), started_ns=NOON_NS + 2)
    site.recorder.on_run_start(lambda: begun, lambda: site.now_ns)
    await site.recorder.poll_once()
    assert site.recorder.progress.behind_bytes > 0
    monkeypatch.undo()
    await site.recorder.poll_once()
    await site.recorder.on_run_end()
    store = site.store()
    seen = {a.label: len(store.marks(a.account, 0, site.now_ns + 1)) for a in store.accounts()}
    store.close()
    assert seen == {"here": 0, f"run {'aa' * 10}": 0, f"run {'bb' * 10}": 1}


@pytest.mark.parametrize("is_lasting", [True, False])
async def test_lost_records_restart_although_the_journal_lost_its_beginning(tmp_path, is_lasting):
    site = Site(tmp_path)
    site.recorder._is_lasting = is_lasting
    site.traded(1)
    await site.recorder.poll_once()
    oldest = site.journal.path
    site.journal.segment()
    site.journal.series(NOON_NS + 2, market(1))
    site.traded(3)
    await site.recorder.poll_once()
    assert site.fills() == ["f1", "f3"]
    oldest.unlink()
    site.path.unlink()
    site.now_ns += 6 * NS_PER_SECOND
    await site.recorder.poll_once()
    assert site.recorder.progress.fault
    for _ in range(2):
        await site.recorder.poll_once()
    # Nothing tells which run on an embedded venue it was.
    assert site.fills() == (["f3"] if is_lasting else [])
    site.traded(4)
    await site.recorder.poll_once()
    await site.recorder.on_run_end()
    assert site.fills() == (["f3", "f4"] if is_lasting else [])


class Stumbling:
    """Fails to state a day so many times."""

    def __init__(self, fails: int) -> None:
        self.fails = fails
        self.asked = 0

    async def summary_of(self, account: int, day: datetime.date) -> str:
        self.asked += 1
        if self.asked <= self.fails:
            raise StoreFault("no memory")
        return f"{day.isoformat()}: told"

    async def cancel(self) -> None:
        """Nothing is under way."""


@pytest.mark.parametrize(("fails", "asked"), [(0, 1), (1, 2), (2, 3), (3, 3), (9, 3)])
async def test_a_failed_summary_is_retried_and_given_up_after_three_attempts(
    tmp_path, fails, asked
):
    notices: list[str] = []
    site = Site(tmp_path, notices=lambda text, _: notices.append(text))
    site.recorder._summary = stumbling = Stumbling(fails)
    site.traded(1)
    await site.recorder.poll_once()
    site.now_ns = NIGHT_NS + 86_400 * NS_PER_SECOND + 61 * NS_PER_SECOND
    faults = 0
    for _ in range(6):
        await site.recorder.poll_once()
        faults += bool(site.recorder.progress.fault)
    assert stumbling.asked == asked
    assert notices == (["2026-11-20: told"] if fails < 3 else [])
    assert faults == min(fails, 3)


async def test_old_fills_are_deleted(tmp_path):
    site = Site(tmp_path)
    site.traded(1)
    await site.recorder.poll_once()
    site.now_ns += 40 * 86_400 * NS_PER_SECOND
    await site.recorder.poll_once()
    await site.recorder.on_run_end()
    assert site.fills() == []


async def test_a_run_ends_with_0_although_its_records_fail(tmp_path):
    def broken() -> Store:
        raise StoreFault("away")

    recorder = Recorder(broken, tmp_path, "here", keep_days=30, poll_s=0.01)
    trader = FakeTrader()
    runner = runner_of(trader, tmp_path, companions=(recorder,))
    ended = await run(runner)
    assert (ended.exit_code, ended.died) == (Exit.OK, ())
    assert recorder.progress.failures >= 1
    text = runner.metrics.text().decode()
    assert 'laddermaker_records_failing{series="X"} 1.0' in text


async def test_a_call_in_the_daemon_thread_returns_or_raises_its_outcome():
    hand = DaemonThread("test")
    assert await hand.run_call(lambda: 41 + 1) == 42
    with pytest.raises(ZeroDivisionError):
        await hand.run_call(lambda: 1 // 0)
    assert hand.daemon


async def test_a_hanging_server_is_a_fault_in_bounded_time_and_catches_up_later(
    tmp_path, postgres, monkeypatch
):
    monkeypatch.setattr("bot.records.database._BUSY_S", 2)
    address = postgres.new_database()

    def connect() -> Postgres:
        return Postgres(address, Secret(PASSWORD))

    site = Site(tmp_path, lambda: Store(connect, BOOK))
    async with running(site.recorder):
        site.traded(1)
        await until(lambda: site.recorder.progress.fills == 1)
        postgres.stop()
        site.traded(2)
        await until(lambda: site.recorder.progress.failures >= 1)
        postgres.start()
        site.recorder._wait_s = 0.01
        await until(lambda: site.recorder.progress.fills == 2)
    await site.recorder.on_run_end()
    postgres.pause()
    try:
        begun = time.monotonic()
        with pytest.raises(StoreFault):
            connect()
        assert time.monotonic() - begun < 10
    finally:
        postgres.resume()


def test_the_fault_of_a_wrong_password_does_not_show_it(postgres):
    with pytest.raises(StoreFault, match="authentication failed") as caught:
        Postgres(postgres.address("postgres"), Secret("not-the-password"))
    assert "not-the-password" not in str(caught.value)
    assert PASSWORD not in str(caught.value)
