"""Claims about keeping the records beside a run: it never waits for them, and they catch up."""

import asyncio
import contextlib
import datetime
import threading
import time

import msgspec
import pytest
from structlog.testing import capture_logs

from bot.core.report import Phase, ProfitReport, ProfitRow, Report
from bot.io.run.result import Exit
from bot.io.secret import Secret
from bot.records import follow
from bot.records.daily_summary import DailySummary, StorePlace
from bot.records.database import Postgres, Sqlite, StoreFault
from bot.records.recorder import SAMPLES_MAX, DaemonThread, Recorder
from bot.records.store import Store
from tests.builders.io.fakes import FakeTrader, run, runner_of
from tests.builders.io.samples import RUNG, report
from tests.builders.records.lived import NIGHT_NS, NOON_NS, Journalled, fill, market
from tests.builders.records.receiver import until
from tests.builders.records.servers import PASSWORD
from tests.live.records.test_records_follow import kept
from venue.wire.instant import NS_PER_SECOND

pytestmark = pytest.mark.anyio
BOOK = "acme"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def shown(at_ns: int = NOON_NS) -> Report:
    """A picture with open books."""
    total = ProfitRow("total", 1, 1, 700, 1_000, -300, 1_000, 1, ())
    profit = ProfitReport(total, 0, 0, 0, 0, 0, {"rung": (), "side": ()})
    return msgspec.structs.replace(
        report(Phase.QUOTING, at_ns), profit=profit, fills_from_ns=at_ns - NS_PER_SECOND
    )


class Site:
    """A state directory with a run's journal, and the recorder beside it."""

    def __init__(self, tmp_path, open_store=None, told=None) -> None:
        """told: is told of days that are over; None: nobody wants to know."""
        self.journal = Journalled(tmp_path / "state")
        self.journal.started(NOON_NS)
        self.journal.series(NOON_NS, market(1))
        self.path = tmp_path / "records.sqlite3"
        self.now_ns = NOON_NS
        self.broken = False
        self.recorder = Recorder(
            open_store or self.store, self.journal.folder, "here", keep_days=30, poll_s=0.01,
            notify=told or (lambda _text, _at_ns: None),
            summary=None if told is None else DailySummary(StorePlace(BOOK, self.path)),
        )  # fmt: skip
        self.recorder.on_run_start(lambda: shown(self.now_ns), lambda: self.now_ns)

    def store(self) -> Store:
        """The records, or a fault."""
        if self.broken:
            raise StoreFault("the disk is away")
        return Store(lambda: Sqlite(self.path), BOOK)

    def traded(self, number: int) -> None:
        """A fill comes in."""
        self.journal.fills(NOON_NS + number, fill(number, NOON_NS + number))

    def kept(self) -> list[str]:
        """The fills in the records."""
        store = Store(lambda: Sqlite(self.path), BOOK)
        try:
            return kept(store)
        finally:
            store.close()


@contextlib.asynccontextmanager
async def going(recorder: Recorder):
    """Its task runs meanwhile."""
    task = asyncio.create_task(recorder.run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_what_happens_in_a_run_is_kept_while_it_goes_on_and_at_its_end(tmp_path):
    site = Site(tmp_path)
    async with going(site.recorder):
        site.traded(1)
        await until(lambda: site.recorder.progress.fills == 1)
    site.traded(2)
    await site.recorder.on_run_end()
    assert site.kept() == ["f1", "f2"]
    store = site.store()
    (mark,) = store.marks(store.accounts()[0].account, NIGHT_NS, NIGHT_NS * 2)
    assert (mark.market_id, mark.value, mark.yes_qty) == (RUNG, 42_000, 3)
    (profit,) = store.profits(store.accounts()[0].account, NIGHT_NS, NIGHT_NS * 2)
    assert (profit.profit, profit.spread, profit.fees_cents) == (700, 1_000, 1)
    store.close()


async def test_a_store_that_fails_is_told_once_counted_and_catches_up(tmp_path):
    site = Site(tmp_path)
    site.broken = True
    with capture_logs() as logs:
        async with going(site.recorder):
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
    assert site.kept() == ["f1"]


async def test_a_store_that_fails_in_the_middle_is_opened_anew(tmp_path):
    site = Site(tmp_path)
    async with going(site.recorder):
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
    assert site.kept() == ["f1", "f2"]


@pytest.mark.parametrize("becomes", ["deleted", "replaced"])
async def test_a_file_that_is_taken_away_is_told_and_made_anew_from_the_journal(tmp_path, becomes):
    site = Site(tmp_path)
    with capture_logs() as log:
        async with going(site.recorder):
            site.traded(1)
            await until(lambda: site.recorder.progress.fills == 1)
            site.path.rename(tmp_path / "moved")
            if becomes == "replaced":
                Store(lambda: Sqlite(site.path), BOOK).close()
            site.traded(2)
            await until(lambda: site.recorder.progress.failures == 1)
            await until(lambda: not site.recorder.progress.fault)
    assert site.kept() == ["f1", "f2"]
    assert [line["event"] for line in log if line["log_level"] == "error"] == ["records_failed"]


async def test_the_loop_goes_on_while_a_store_hangs_and_its_end_is_not_waited_for(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("bot.records.recorder.FINISH_S", 0.2)
    stuck = threading.Event()

    def hangs() -> Store:
        stuck.wait(30)
        raise StoreFault("away")

    site = Site(tmp_path, hangs)
    site.recorder._hang_s = 0.05
    with capture_logs() as logs:
        async with going(site.recorder):
            begun = time.monotonic()
            for _ in range(20):
                await asyncio.sleep(0.001)
            assert time.monotonic() - begun < 5
            await until(lambda: site.recorder.progress.failures >= 3)
    told = [entry["text"] for entry in logs if entry["event"] == "records_failed"]
    assert told == ["the store does not answer"]
    begun = time.monotonic()
    await site.recorder.on_run_end()
    assert time.monotonic() - begun < 5
    stuck.set()


async def test_no_picture_is_taken_of_shares_whose_fills_were_not_read_for_ten_seconds(tmp_path):
    site = Site(tmp_path)
    read_ns = NOON_NS
    site.recorder.on_run_start(
        lambda: msgspec.structs.replace(shown(site.now_ns), fills_from_ns=read_ns),
        lambda: site.now_ns,
    )
    site.traded(1)
    site.now_ns += 50 * NS_PER_SECOND  # the process stood still
    async with going(site.recorder):
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


async def test_pictures_wait_in_bounded_memory(tmp_path):
    site = Site(tmp_path)
    for _ in range(2 * SAMPLES_MAX):
        site.now_ns += 6 * NS_PER_SECOND
        site.recorder.sample()
    assert len(site.recorder._samples) == SAMPLES_MAX


async def test_a_bug_in_keeping_records_is_told_and_ends_nothing(tmp_path, monkeypatch):
    site = Site(tmp_path)
    monkeypatch.setattr(site.recorder, "sample", lambda: 1 // 0)
    with capture_logs() as logs:
        async with going(site.recorder):
            await until(lambda: site.recorder.progress.failures >= 1)
    assert "records_broken" in [entry["event"] for entry in logs]


async def test_the_day_that_is_over_is_told_once(tmp_path):
    told: list[str] = []
    site = Site(tmp_path, told=lambda text, _: told.append(text))
    site.traded(1)
    site.journal.balance(NOON_NS - NS_PER_SECOND, 10_000)
    site.journal.balance(NOON_NS + 20 * NS_PER_SECOND, 10_000 - 121)
    await site.recorder.poll_once()
    assert told == []
    site.now_ns = NIGHT_NS + 86_400 * NS_PER_SECOND + 61 * NS_PER_SECOND
    await site.recorder.poll_once()
    await site.recorder.poll_once()
    await site.recorder.on_run_end()
    assert len(told) == 1
    assert told[0].startswith("2026-11-20: profit ")
    assert "1 fills" in told[0]


async def test_a_run_that_begins_in_the_first_minute_of_a_day_tells_of_yesterday_alone(tmp_path):
    told: list[str] = []
    site = Site(tmp_path, told=lambda text, _: told.append(text))
    site.now_ns = NIGHT_NS + 86_400 * NS_PER_SECOND + 30 * NS_PER_SECOND
    site.recorder.on_run_start(lambda: shown(site.now_ns), lambda: site.now_ns)
    await site.recorder.poll_once()
    assert told == []
    site.now_ns += 31 * NS_PER_SECOND
    await site.recorder.poll_once()
    await site.recorder.on_run_end()
    assert [text[:10] for text in told] == ["2026-11-20"]


async def test_a_day_is_told_once_the_journal_of_it_was_read(tmp_path, monkeypatch):
    monkeypatch.setattr(follow, "BYTES_AT_ONCE", 4_096)
    told: list[str] = []
    site = Site(tmp_path, told=lambda text, _: told.append(text))
    site.journal.noise(NOON_NS, 8_000)
    site.traded(1)
    site.now_ns = NIGHT_NS + 86_400 * NS_PER_SECOND + 61 * NS_PER_SECOND
    await site.recorder.poll_once()
    assert site.recorder.progress.behind_bytes > 256 * 1024
    assert told == []
    monkeypatch.undo()
    await site.recorder.poll_once()
    await site.recorder.on_run_end()
    assert len(told) == 1
    assert "1 fills" in told[0]


async def test_what_a_run_shows_waits_until_the_journal_of_the_runs_before_it_was_read(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(follow, "BYTES_AT_ONCE", 4_096)
    site = Site(tmp_path)
    site.journal.segment()
    for number, nonce in enumerate(("aa" * 10, "bb" * 10), start=1):
        site.journal.started(NOON_NS + number, nonce, new_account=True)
        site.journal.noise(NOON_NS + number, 1_000)
    site.now_ns += 10
    begun = msgspec.structs.replace(shown(site.now_ns), started_ns=NOON_NS + 2)
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
async def test_records_that_are_lost_once_the_journal_no_longer_keeps_the_start_are_kept_anew(
    tmp_path, is_lasting
):
    site = Site(tmp_path)
    site.recorder._is_lasting = is_lasting
    site.traded(1)
    await site.recorder.poll_once()
    oldest = site.journal.path
    site.journal.segment()
    site.journal.series(NOON_NS + 2, market(1))
    site.traded(3)
    await site.recorder.poll_once()
    assert site.kept() == ["f1", "f3"]
    oldest.unlink()
    site.path.unlink()
    site.now_ns += 6 * NS_PER_SECOND
    await site.recorder.poll_once()
    assert site.recorder.progress.fault
    for _ in range(2):
        await site.recorder.poll_once()
    # Nothing tells which run on an embedded venue it was.
    assert site.kept() == (["f3"] if is_lasting else [])
    site.traded(4)
    await site.recorder.poll_once()
    await site.recorder.on_run_end()
    assert site.kept() == (["f3", "f4"] if is_lasting else [])


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
async def test_a_day_that_cannot_be_stated_is_tried_again_and_given_up_after_three(
    tmp_path, fails, asked
):
    told: list[str] = []
    site = Site(tmp_path, told=lambda text, _: told.append(text))
    site.recorder._summary = stumbling = Stumbling(fails)
    site.traded(1)
    await site.recorder.poll_once()
    site.now_ns = NIGHT_NS + 86_400 * NS_PER_SECOND + 61 * NS_PER_SECOND
    faults = 0
    for _ in range(6):
        await site.recorder.poll_once()
        faults += bool(site.recorder.progress.fault)
    assert stumbling.asked == asked
    assert told == (["2026-11-20: told"] if fails < 3 else [])
    assert faults == min(fails, 3)


async def test_what_is_too_old_is_forgotten_as_days_go_by(tmp_path):
    site = Site(tmp_path)
    site.traded(1)
    await site.recorder.poll_once()
    site.now_ns += 40 * 86_400 * NS_PER_SECOND
    await site.recorder.poll_once()
    await site.recorder.on_run_end()
    assert site.kept() == []


async def test_a_run_trades_and_ends_well_whatever_becomes_of_its_records(tmp_path):
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


async def test_a_hand_carries_over_what_is_raised_there():
    hand = DaemonThread("test")
    assert await hand.run_call(lambda: 41 + 1) == 42
    with pytest.raises(ZeroDivisionError):
        await hand.run_call(lambda: 1 // 0)
    assert hand.daemon


async def test_a_server_that_hangs_is_a_fault_in_bounded_time_and_what_it_missed_comes_later(
    tmp_path, postgres, monkeypatch
):
    monkeypatch.setattr("bot.records.database._BUSY_S", 2)
    address = postgres.new_database()

    def connect() -> Postgres:
        return Postgres(address, Secret(PASSWORD))

    site = Site(tmp_path, lambda: Store(connect, BOOK))
    async with going(site.recorder):
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


def test_a_wrong_password_is_told_without_it(postgres):
    with pytest.raises(StoreFault, match="authentication failed") as caught:
        Postgres(postgres.address("postgres"), Secret("not-the-password"))
    assert "not-the-password" not in str(caught.value)
    assert PASSWORD not in str(caught.value)
