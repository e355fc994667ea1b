"""Claims about the reaper: when it acts and when not, latch before cancel, and what it watches."""

import asyncio
import json
import os
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from bot.core import messages as m
from bot.core.execution.cancel_all import Clean, SweepSettings
from bot.io.client.rest import Rest
from bot.io.client.sockets import client_beside
from bot.io.clock import Clock
from bot.io.run import reaper as reaper_module
from bot.io.run.reaper import (
    HeartbeatLook,
    Phase,
    Reaper,
    file_source,
    heart_in,
    key_trouble,
    page_source,
    sweep,
)
from bot.io.secret import Secret
from bot.io.state import heartbeat as heartbeat_module
from bot.io.state.heartbeat import REAPER, Heartbeat, read_pulse
from bot.io.state.kill_switch_file import KillSwitchFile, LatchFault, LatchRecord
from bot.io.status.serving import listen, serve
from bot.io.status.snapshot import Snapshot
from tests.builders.io.hostile import drip, hostile, says
from tests.builders.io.pages import app_of
from tests.builders.io.samples import ORDER_JSON, report
from tests.builders.until import until
from venue.wire.names import Ticker

pytestmark = pytest.mark.anyio

AFTER_NS = 150_000_000
OAK_ORDER = "77"
SWEEP = SweepSettings(read_lag_ns=1_000_000)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A reaper that looks a hundred times a second, and to which a stall is no long silence."""
    monkeypatch.setattr(reaper_module, "LOOK_S", 0.01)
    monkeypatch.setattr(heartbeat_module, "LOOK_GAP_NS_MAX", 20_000_000)


class Account:
    """Resting orders behind a server that lists and cancels them, or refuses everything."""

    def __init__(self, *resting: str) -> None:
        self.resting = list(resting)
        self.requests: list[str] = []
        self.refusal: tuple[int, str] | None = None
        self.at_cancel = lambda: None

    @asynccontextmanager
    async def served(self, **options: float) -> AsyncIterator[Rest]:
        async with hostile(self._talk) as site:
            self._site = site
            rest = Rest(site.base_url, Secret("lm_reaper"), 4, **options)
            yield rest
            await rest.drain()

    async def _talk(self, writer: asyncio.StreamWriter) -> None:
        method, target = self._site.requests[-1].split(b" ")[:2]
        await says(*self._answer(method.decode(), target.decode()))(writer)

    def _answer(self, method: str, target: str) -> tuple[int, bytes]:
        if self.refusal is not None:
            return self.refusal[0], json.dumps({"code": self.refusal[1], "error": ""}).encode()
        if method == "GET":
            self.requests.append("list")
            rows = [self._row(each) for each in self.resting]
            return 200, json.dumps({"orders": rows, "cursor": ""}).encode()
        order_id = target.rpartition("/")[2]
        if order_id not in self.resting:
            return 404, b'{"code": "order_not_found", "error": ""}'
        self.at_cancel()
        self.requests.append(f"cancel {order_id}")
        self.resting.remove(order_id)
        order = {**json.loads(ORDER_JSON), "order_id": order_id, "status": "canceled"}
        return 200, json.dumps({"order": order, "reduced_by": 10}).encode()

    def _row(self, order_id: str) -> dict[str, object]:
        """An order as it is listed: OAK_ORDER's in the series of that name."""
        series = "OAK" if order_id == OAK_ORDER else "X"
        return {**json.loads(ORDER_JSON), "order_id": order_id, "event_ticker": f"{series}-26Q4"}


class Dripping(Account):
    """One whose first answer never ends: its head drips in, line by line."""

    async def _talk(self, writer: asyncio.StreamWriter) -> None:
        if len(self._site.requests) > 1:
            await super()._talk(writer)
            return
        await drip(writer)


class Bot:
    """A heartbeat that beats while the block lasts, every 10 ms of its own time."""

    def __init__(self, folder) -> None:
        self.heart = Heartbeat(folder, "ab" * 10)
        self._now_ns = 0

    def beat(self) -> None:
        self._now_ns += 10**9
        self.heart.beat(self._now_ns)

    async def beats(self, seconds: float) -> None:
        for _ in range(int(seconds / 0.01)):
            self.beat()
            await asyncio.sleep(0.01)


@asynccontextmanager
async def watching(
    account: Account,
    folder,
    *,
    at_once: bool = False,
    latch: KillSwitchFile | None = None,
    series: Ticker | None = None,
) -> AsyncIterator[Reaper]:
    async with account.served() as rest:
        latch = latch or KillSwitchFile(folder)
        source, heart = file_source(folder), heart_in(folder)
        made = Reaper(source, rest, Clock(), latch, AFTER_NS, SWEEP, heart, series)
        task = asyncio.ensure_future(made.run(at_once=at_once))
        try:
            yield made
        finally:
            made.stop()
            await task


async def test_the_reaper_latches_a_silent_bot_and_then_cancels_everything(tmp_path):
    account, latch = Account("1", "2", "3"), KillSwitchFile(tmp_path)
    latched_at_cancel = []
    account.at_cancel = lambda: latched_at_cancel.append(latch.read_latch() is not None)
    async with watching(account, tmp_path) as reaper:
        await Bot(tmp_path).beats(0.2)
        assert account.resting == ["1", "2", "3"]
        await until(lambda: reaper.phase is Phase.REAPING and reaper.clean)
    assert account.resting == []
    assert latched_at_cancel == [True] * 3
    record = latch.read_latch()
    assert record is not None
    assert record.by == "reaper"
    assert "no heartbeat" in record.reason


async def test_a_bot_that_never_beat_is_not_taken_for_dead(tmp_path):
    Heartbeat(tmp_path, "cd").beat(0)
    account = Account("1")
    async with watching(account, tmp_path) as reaper:
        await asyncio.sleep(3 * AFTER_NS / 1e9)
        assert reaper.phase is Phase.WAITING
    assert account.resting == ["1"]
    assert KillSwitchFile(tmp_path).read_latch() is None


async def test_a_restarted_reaper_cancels_for_a_bot_that_died_meanwhile(tmp_path):
    account = Account("1")
    async with watching(account, tmp_path) as first:
        await Bot(tmp_path).beats(0.1)
        assert first.phase is Phase.WATCHING
    async with watching(account, tmp_path) as second:
        await until(lambda: second.phase is Phase.REAPING and second.clean)
    assert account.resting == []
    assert KillSwitchFile(tmp_path).read_latch() is not None


async def test_a_reaper_restarted_after_a_reset_waits_for_a_first_beat(tmp_path):
    account, latch = Account(), KillSwitchFile(tmp_path)
    async with watching(account, tmp_path) as first:
        await Bot(tmp_path).beats(0.1)
        await until(lambda: first.phase is Phase.REAPING and first.clean)
        latch.clear()
        await until(lambda: first.phase is Phase.WAITING)
    account.resting.append("1")
    async with watching(account, tmp_path) as second:
        await asyncio.sleep(3 * AFTER_NS / 1e9)
        assert second.phase is Phase.WAITING
    assert account.resting == ["1"]
    assert latch.read_latch() is None


async def test_a_reaper_started_with_now_cancels_without_waiting_for_a_beat(tmp_path):
    account = Account("1")
    async with watching(account, tmp_path, at_once=True) as reaper:
        await until(lambda: account.resting == [])
        assert reaper.phase is Phase.REAPING
    assert KillSwitchFile(tmp_path).read_latch() is not None


async def test_the_reaper_cancels_for_a_beating_bot_that_cannot_cancel(tmp_path):
    account, bot = Account("1"), Bot(tmp_path)
    async with watching(account, tmp_path):
        await bot.beats(0.1)
        bot.heart.plead("key_refused")
        await bot.beats(0.2)
        assert account.resting == []
    record = KillSwitchFile(tmp_path).read_latch()
    assert record is not None
    assert "key_refused" in record.reason


async def test_the_reaper_does_not_act_after_a_clean_end(tmp_path):
    account, bot = Account("1"), Bot(tmp_path)
    async with watching(account, tmp_path) as reaper:
        await bot.beats(0.1)
        bot.heart.write_end()
        await asyncio.sleep(3 * AFTER_NS / 1e9)
        assert reaper.phase is Phase.WAITING
        await Bot(tmp_path).beats(0.1)
        assert reaper.phase is Phase.WATCHING
    assert account.resting == ["1"]


async def test_the_reaper_lets_a_bot_that_latched_itself_cancel_first(tmp_path):
    account, bot = Account("1"), Bot(tmp_path)
    async with watching(account, tmp_path) as reaper:
        await bot.beats(0.1)
        KillSwitchFile(tmp_path).set("loss_cents 5 of 4", "breaker", 0)
        await bot.beats(0.05)
        assert reaper.phase is Phase.REAPING
        assert account.resting == ["1"], "the bot cancels by itself first"
        await bot.beats(0.3)
        assert account.resting == []


@pytest.mark.parametrize("is_silent", [False, True])
async def test_a_bot_that_latched_itself_loses_the_orders_of_its_series_and_all_once_silent(
    tmp_path, is_silent
):
    account, bot = Account(OAK_ORDER, "1"), Bot(tmp_path)
    async with watching(account, tmp_path, series=Ticker("OAK")) as reaper:
        await bot.beats(0.1)
        KillSwitchFile(tmp_path).set("loss_cents 5 of 4", "breaker", 0)
        async with asyncio.timeout(5):
            while OAK_ORDER in account.resting:
                await bot.beats(0.02)
        assert reaper.phase is Phase.REAPING
        assert account.resting == ["1"]
        await until(lambda: not is_silent or account.resting == [])


async def test_a_bot_that_the_reaper_latched_loses_every_order_although_it_beats_again(tmp_path):
    account, bot = Account(OAK_ORDER), Bot(tmp_path)
    async with watching(account, tmp_path, series=Ticker("OAK")) as reaper:
        await bot.beats(0.1)
        await until(lambda: reaper.phase is Phase.REAPING)
        account.resting.append("1")
        await bot.beats(0.5)
        assert account.resting == []


async def test_after_a_reset_the_reaper_waits_for_a_beat_and_watches_again(tmp_path):
    account, bot = Account("1"), Bot(tmp_path)
    async with watching(account, tmp_path) as reaper:
        await bot.beats(0.1)
        await until(lambda: reaper.phase is Phase.REAPING and reaper.clean)
        account.resting.append("2")
        KillSwitchFile(tmp_path).clear()
        await asyncio.sleep(0.05 + 2 * AFTER_NS / 1e9)
        assert reaper.phase is Phase.WAITING
        await bot.beats(0.1)
        assert reaper.phase is Phase.WATCHING
        assert account.resting == ["2"]
        await until(lambda: account.resting == [])
        assert reaper.phase is Phase.REAPING


async def test_an_answered_plea_latches_again_only_after_a_new_beat(tmp_path):
    bot = Bot(tmp_path)
    async with watching(Account("1"), tmp_path) as reaper:
        await bot.beats(0.1)
        bot.heart.plead("key_refused")
        await until(lambda: reaper.phase is Phase.REAPING and reaper.clean)
        KillSwitchFile(tmp_path).clear()
        await until(lambda: reaper.phase is Phase.WAITING)
        await asyncio.sleep(0.1)
        assert KillSwitchFile(tmp_path).read_latch() is None
        bot.beat()
        await until(lambda: reaper.phase is Phase.REAPING)


async def test_a_reset_ends_the_cancelling(tmp_path):
    account = Account("1")
    async with watching(account, tmp_path, at_once=True) as reaper:
        await until(lambda: account.resting == [])
        KillSwitchFile(tmp_path).clear()
        await until(lambda: reaper.phase is Phase.WAITING)
        account.resting.append("2")
        await asyncio.sleep(1.3)
    assert account.resting == ["2"]


async def test_the_reaper_goes_on_cancelling_when_the_latch_file_is_moved_away(tmp_path):
    account, folder = Account("1"), tmp_path / "state"
    folder.mkdir()
    account.refusal = (409, "venue_halted")
    async with watching(account, folder, at_once=True) as reaper:
        await until(lambda: KillSwitchFile(folder).read_latch() is not None)
        folder.rename(tmp_path / "moved")
        await asyncio.sleep(0.1)
        assert reaper.phase is Phase.REAPING
        account.refusal = None
        await until(lambda: account.resting == [])


async def test_an_unreadable_latch_does_not_end_the_watch_over_a_silent_bot(tmp_path, monkeypatch):
    def refused(*_arguments: object) -> None:
        raise OSError(5, "Input/output error")

    account, latch = Account("1"), KillSwitchFile(tmp_path)
    latch_read = asyncio.Event()

    def read() -> LatchRecord | None:
        latch_read.set()
        return KillSwitchFile.read_latch(latch)

    async with watching(account, tmp_path, latch=latch) as reaper:
        await Bot(tmp_path).beats(0.1)
        with monkeypatch.context() as broken:
            broken.setattr("bot.io.state.kill_switch_file.read_file", refused)
            broken.setattr(Path, "lstat", refused)
            broken.setattr(latch, "read_latch", read)
            await latch_read.wait()
        await until(lambda: account.resting == [])
        assert reaper.phase is Phase.REAPING
    assert latch.read_latch().by == "reaper"


async def test_the_reaper_cancels_although_the_latch_cannot_be_written(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise LatchFault("no space left on device")

    account, bot, latch = Account("1"), Bot(tmp_path), KillSwitchFile(tmp_path)
    monkeypatch.setattr(latch, "set", full)
    async with watching(account, tmp_path, latch=latch) as reaper:
        await bot.beats(0.1)
        await until(lambda: account.resting == [])
        assert reaper.phase is Phase.REAPING
        await bot.beats(0.05)
        assert reaper.phase is not Phase.REAPING, "a bot that beats again is watched again"


async def test_a_reaper_stopped_before_a_clean_list_does_not_claim_that_nothing_rests(tmp_path):
    account = Account("1")
    account.refusal = (401, "unauthenticated")
    async with watching(account, tmp_path, at_once=True) as reaper:
        await asyncio.sleep(0.1)
    assert not reaper.clean


async def test_an_order_found_later_withdraws_the_claim_that_nothing_rests(tmp_path, monkeypatch):
    monkeypatch.setattr(reaper_module, "SWEEP_AGAIN_NS", 0)
    account = Account()

    def fail() -> None:
        raise ConnectionResetError

    async with watching(account, tmp_path, at_once=True) as reaper:
        await until(lambda: reaper.phase is Phase.REAPING and reaper.clean)
        account.at_cancel = fail
        account.resting.append("1")
        requests = len(account.requests)
        await until(lambda: len(account.requests) > requests + 1)
        await asyncio.sleep(0.1)
    assert not reaper.clean


async def test_orders_are_cancelled_although_the_first_list_never_ends():
    account = Dripping("1", "2")
    async with asyncio.timeout(10), account.served(request_s=0.3) as rest:
        assert await sweep(rest, Clock(), SWEEP) == Clean(cancelled=2)
    assert account.resting == []


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (None, type(None)),
        ((401, "unauthenticated"), m.Rejected),
        ((403, "forbidden_scope"), m.Rejected),
        ((503, "engine_unavailable"), m.Unknown),
        ((429, "rate_limited"), m.Unknown),
        ((500, ""), m.Unknown),
        ((302, ""), m.Unknown),
    ],
    ids=str,
)
async def test_only_a_refusal_of_the_key_itself_is_trouble_with_the_key(refusal, kind):
    account = Account()
    account.refusal = refusal
    async with account.served() as rest:
        trouble = await key_trouble(rest)
    assert type(trouble) is kind
    if kind is m.Rejected:
        assert trouble.status == refusal[0]


async def test_no_connection_is_no_refusal_of_the_key():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    rest = Rest(f"http://127.0.0.1:{port}/v1", Secret("lm_reaper"), 2, sane_only=False)
    assert isinstance(await key_trouble(rest), m.Unknown)
    await rest.drain()


async def test_a_reaper_pleads_while_its_key_is_refused_and_says_when_it_ends(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(reaper_module, "TOLD_NS", 10_000_000)
    account = Account()
    account.refusal = (401, "unauthenticated")
    async with watching(account, tmp_path):
        await until(lambda: (beat := read_pulse(tmp_path, REAPER)) is not None and beat.plea)
        account.refusal = (503, "engine_unavailable")
        await asyncio.sleep(0.7)
        beat = read_pulse(tmp_path, REAPER)
        assert beat.plea, "an unavailable venue does not prove that the key works"
        assert not beat.ended
    assert read_pulse(tmp_path, REAPER).ended


async def test_the_beat_of_the_status_page_changes_with_every_decision():
    decided_ns = 1_000
    app = app_of(lambda: Snapshot(3_000, decided_ns, report()))
    page = listen("127.0.0.1", 0)
    serving = asyncio.ensure_future(serve(app, page))
    url = f"http://127.0.0.1:{page.getsockname()[1]}/"
    async with httpx.AsyncClient(trust_env=False) as client:
        look = page_source(client, url)
        marks = [await look()]
        decided_ns = 2_000
        marks += [await look(), await look()]
        serving.cancel()
        await asyncio.wait([serving])
        gone = await look()
    assert marks == [HeartbeatLook("1000"), HeartbeatLook("2000"), HeartbeatLook("2000")]
    assert gone == HeartbeatLook(None)


@pytest.mark.parametrize(
    "talk", [says(302, b"", "Location: http://127.0.0.1:1/"), drip], ids=["redirect", "endless"]
)
async def test_a_page_that_is_not_the_bots_shows_no_beat(talk):
    async with asyncio.timeout(10), hostile(talk) as site, client_beside() as client:
        assert await page_source(client, f"http://127.0.0.1:{site.port}/")() == HeartbeatLook(None)


async def test_a_stalled_disk_delays_no_cancel(tmp_path, monkeypatch):
    """Neither the latch nor the reaper's own heartbeat is waited for."""
    monkeypatch.setattr(reaper_module, "LATCH_S", 0.05)
    account, latch, recovers = Account("1", "2"), KillSwitchFile(tmp_path), threading.Event()
    real = os.open

    def stalled(path, flags, *more: int, **others: int) -> int:
        if flags & os.O_CREAT and threading.current_thread() is not threading.main_thread():
            assert recovers.wait(10)
        assert not flags & os.O_CREAT or recovers.is_set(), "the loop waits for the disk"
        return real(path, flags, *more, **others)

    async with watching(account, tmp_path) as reaper:
        await Bot(tmp_path).beats(0.2)
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", stalled)
            await until(lambda: reaper.phase is Phase.REAPING and reaper.clean)
            assert account.resting == []
            assert latch.read_latch() is None
            recovers.set()
            await until(lambda: latch.read_latch() is not None)


async def test_a_reset_counts_in_a_folder_that_replaced_the_first_one(tmp_path):
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


async def test_the_log_says_if_nothing_rests(tmp_path, monkeypatch):
    monkeypatch.setattr(reaper_module, "TOLD_NS", 1)
    with capture_logs() as lines:

        def values() -> list[object]:
            return [line["nothing_rests"] for line in lines if line["event"] == "reaper"]

        async with watching(Account("1"), tmp_path, at_once=True):
            await until(lambda: True in values())
    assert {type(each) for each in values()} <= {bool, type(None)}
