"""The sequencer: one line, batches, overload, and when things become visible."""

import asyncio
import threading
import time
from contextlib import asynccontextmanager

import msgspec
import pytest

from tests.builders.venue.small_venue import ANNA, MARKET, OPENING, small_buy
from venue.engine.messages import (
    AddUser,
    Amended,
    Cancelled,
    CancelOrder,
    Deposit,
    Event,
    OrderChanged,
    Placed,
    UserAdded,
)
from venue.engine.snapshot import digest
from venue.rest.venue_port import EngineOverloaded, EngineUnavailable, ReplyLost
from venue.server import CANCEL_RESERVE, QUEUE_MAX, OpeningRefused, VenueServer
from venue.storage.log import LogBroken, LogFull
from venue.storage.recovery import OpenedState, fresh
from venue.wire.money import Cents
from venue.wire.names import OrderId, Ticker, UserId

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def at_work(venue):
    task = asyncio.create_task(venue.run())
    await asyncio.sleep(0)
    try:
        yield venue
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def running(lag_ms=0):
    venue = VenueServer(lag_ms, 5)
    venue.open_with(OPENING)
    return at_work(venue)


async def test_the_opening_is_visible_at_once_at_any_lag():
    async with running(lag_ms=60_000) as venue:
        assert venue.views.catalog.find_market("LINDEN-26Q4-1B") == MARKET
        assert (
            venue.views.catalog.directory.resolve_ticker("LINDEN-26Q4-1B", venue.now_ns()) == MARKET
        )


async def test_a_rejected_opening_stops_the_start_and_leaves_the_log_empty():
    log = SlowLog()
    venue = VenueServer(0, 5, OpenedState(fresh(b"key"), b"cursor key", log))
    log.fails_with = AssertionError("nothing may be written")
    with pytest.raises(OpeningRefused, match="Deposit nobody was refused"):
        venue.open_with([*OPENING, Deposit(UserId("nobody"), Cents(1))])
    assert venue.sequence == 0


async def test_commands_of_one_caller_are_executed_in_order():
    async with running() as venue:
        answers = await asyncio.gather(*(venue.submit(small_buy(n)) for n in range(90)))
        instants = [answer.order.created_ns for answer in answers if isinstance(answer, Placed)]
        assert len(instants) == 90
        assert instants == sorted(instants)


async def test_reads_show_a_command_after_the_lag():
    async with running(lag_ms=30) as venue:
        seen: list[Event] = []
        visible = asyncio.Event()
        venue.observe(seen.extend)
        venue.observe(lambda events: visible.set())
        begun_ns = venue.now_ns()
        await venue.submit(AddUser(UserId("bruno")))
        assert seen == []
        await visible.wait()
        assert venue.now_ns() - begun_ns >= 30_000_000
        assert [type(event) for event in seen] == [UserAdded]


async def test_lowering_the_lag_shows_waiting_events_at_once():
    async with running(lag_ms=60_000) as venue:
        seen: list[Event] = []
        two = asyncio.Event()
        venue.observe(seen.extend)
        venue.observe(lambda events: two.set() if len(seen) == 2 else None)
        await venue.submit(AddUser(UserId("bruno")))
        await asyncio.sleep(0.01)
        assert seen == []
        venue.set_projection_lag_ms(0)
        await venue.submit(AddUser(UserId("carla")))
        async with asyncio.timeout(5):
            await two.wait()
        assert [event.user_id for event in seen if isinstance(event, UserAdded)] == [
            "bruno",
            "carla",
        ]


async def test_the_lag_metric_survives_a_change_of_the_lag():
    async with running(lag_ms=60_000) as venue:
        await venue.submit(AddUser(UserId("bruno")))
        await asyncio.sleep(0.02)
        venue.set_projection_lag_ms(30_000)
        await asyncio.sleep(0)
        sample = next(
            line
            for line in venue.exposition().decode().splitlines()
            if line.startswith("venue_projection_lag_seconds ")
        )
        assert 0.02 <= float(sample.split()[1]) < 30


async def test_a_full_queue_rejects_creates_before_cancels():
    venue = VenueServer(0, 5)  # nothing carries commands out, so the line only grows
    waiting = [
        asyncio.ensure_future(venue.submit(small_buy(n))) for n in range(QUEUE_MAX - CANCEL_RESERVE)
    ]
    await asyncio.sleep(0)
    with pytest.raises(EngineOverloaded):
        await venue.submit(small_buy(-1))
    cancel = CancelOrder(ANNA, OrderId("1"))
    waiting += [asyncio.ensure_future(venue.submit(cancel)) for _ in range(CANCEL_RESERVE)]
    await asyncio.sleep(0)
    with pytest.raises(EngineOverloaded):
        await venue.submit(cancel)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_cancels_go_first_in_a_long_queue():
    async with running() as venue:
        placed = await venue.submit(small_buy(0))
        assert isinstance(placed, Placed)
        order: list[str] = []

        async def ask(command, name):
            answer = await venue.submit(command)
            assert isinstance(answer, Placed | Cancelled | Amended)
            order.append(name)

        creates = [ask(small_buy(n), "create") for n in range(1, 300)]
        cancel = ask(CancelOrder(ANNA, placed.order.order_id), "cancel")
        await asyncio.gather(*creates, cancel)
        assert order.index("cancel") < 64


class SlowLog:
    """A log on a disk that takes its time, or that has no room."""

    def __init__(self, append_s=0.0):
        self.append_s = append_s
        self.fails_with: Exception | None = None

    def append(self, now_ns, commands):
        time.sleep(self.append_s)
        if self.fails_with is not None:
            raise self.fails_with
        return len(commands)

    def try_room(self):
        if self.fails_with is not None:
            raise self.fails_with

    def close(self):
        pass


def logged(log):
    """A venue behind this log."""
    venue = VenueServer(0, 5, OpenedState(fresh(b"key"), b"cursor key", log))
    venue.open_with(OPENING)
    return venue


async def test_a_command_without_an_answer_in_time_is_lost_not_rejected(monkeypatch):
    monkeypatch.setattr("venue.server.REPLY_DEADLINE_NS", 10_000_000)

    log = SlowLog()
    venue = logged(log)
    log.append_s = 0.3
    placed = asyncio.Event()

    def watch(events):
        if any(isinstance(event, OrderChanged) for event in events):
            placed.set()

    venue.observe(watch)
    async with at_work(venue):
        with pytest.raises(ReplyLost):
            await venue.submit(small_buy(1))
        # The disk takes it in the end, and it is carried out.
        assert not placed.is_set()
        await placed.wait()


async def test_a_full_log_rejects_commands_until_there_is_room():
    log = SlowLog()
    venue = logged(log)
    before = await venue.state_hash()
    async with at_work(venue):
        log.fails_with = LogFull("no room")
        with pytest.raises(EngineUnavailable):
            await venue.submit(small_buy(1))
        assert await venue.state_hash() == before
        assert not venue.writable
        assert venue.readiness() is not None
        log.fails_with = None
        assert isinstance(await venue.submit(small_buy(1)), Placed)
        assert venue.writable
        assert venue.readiness() is None


@pytest.mark.parametrize("fault", [LogFull("no room"), LogBroken("the disk")])
async def test_a_full_log_with_room_again_is_ready_without_a_command(monkeypatch, fault):
    monkeypatch.setattr("venue.server.TRY_S", 0.01)

    log = SlowLog()
    venue = logged(log)
    async with at_work(venue):
        log.fails_with = LogFull("no room")
        with pytest.raises(EngineUnavailable):
            await venue.submit(small_buy(1))
        log.fails_with = fault
        await asyncio.sleep(0.1)
        assert venue.readiness() is not None
        log.fails_with = None
        await asyncio.sleep(0.1)
        assert (venue.readiness() is None) is isinstance(fault, LogFull)


async def test_a_venue_is_not_ready_while_its_disk_does_not_answer(monkeypatch):
    monkeypatch.setattr("venue.server.REPLY_DEADLINE_NS", 50_000_000)

    log = SlowLog()
    venue = logged(log)
    log.append_s = 0.4
    async with at_work(venue):
        with pytest.raises(ReplyLost):
            await venue.submit(small_buy(1))
        assert (venue.readiness() or "").startswith("the command log has not answered for")
        assert not venue.writable
        log.append_s = 0
        await asyncio.sleep(0.6)
        assert venue.readiness() is None
        assert venue.writable


async def until(holds):
    """Wait until something holds; at most ten seconds."""
    for _ in range(1_000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it does not come to hold")


async def test_a_log_that_is_full_at_the_start_makes_the_venue_unready():
    log = SlowLog()
    venue = logged(log)
    log.fails_with = LogFull("no room")
    async with at_work(venue):
        await until(lambda: not venue.writable)
        assert venue.readiness() == "the command log takes nothing: no room"
        log.fails_with = None
        await until(lambda: venue.writable)
        assert isinstance(await venue.submit(small_buy(1)), Placed)


async def test_after_a_failed_sync_the_answer_is_lost_and_commands_are_rejected():
    log = SlowLog()
    venue = logged(log)
    before = await venue.state_hash()
    async with at_work(venue):
        log.fails_with = LogBroken("the disk")
        with pytest.raises(ReplyLost):
            await venue.submit(small_buy(1))
        log.fails_with = None
        with pytest.raises(EngineUnavailable):
            await venue.submit(small_buy(2))
        assert await venue.state_hash() == before
        assert not venue.writable


async def test_a_slow_state_hash_does_not_delay_commands(monkeypatch):
    venue = logged(SlowLog())
    before = await venue.state_hash()
    may_end = threading.Event()

    def slow(snapshot):
        assert may_end.wait(30)
        return digest(snapshot)

    monkeypatch.setattr("venue.server.digest", slow)
    async with at_work(venue):
        hashing = asyncio.ensure_future(venue.state_hash())
        await asyncio.sleep(0)
        assert isinstance(await venue.submit(small_buy(1)), Placed)
        may_end.set()
        assert await hashing == before
        assert await venue.state_hash() != before


async def test_a_rejected_addition_to_an_old_venue_changes_nothing():
    log = SlowLog()
    venue = logged(log)
    before = await venue.state_hash()
    log.fails_with = AssertionError("nothing may be written")
    with pytest.raises(OpeningRefused, match="Deposit nobody was refused"):
        venue.open_with([AddUser(UserId("new")), Deposit(UserId("nobody"), Cents(1))])
    assert await venue.state_hash() == before


async def test_a_rejected_addition_names_its_market():
    venue = logged(SlowLog())
    other = msgspec.structs.replace(OPENING[2], ticker=Ticker("LINDEN-26Q4-2B"))
    why = "ListMarket LINDEN-26Q4-2B was refused: invalid_request: the market_id is taken"
    with pytest.raises(OpeningRefused, match=why):
        venue.open_with([other])


async def test_a_stopped_venue_is_unavailable():
    async with running() as venue:
        pass
    with pytest.raises(EngineUnavailable):
        await venue.submit(small_buy(1))


async def test_the_clock_of_the_venue_never_goes_back():
    venue = VenueServer(0, 5)
    instants = [venue.now_ns() for _ in range(10_000)]
    assert instants == sorted(instants)
