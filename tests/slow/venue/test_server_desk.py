"""The sequencer: one line, batches, overload, and when things become visible."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import cast

import anyio
import msgspec
import pytest

from tests.builders.venue.small_venue import ANNA, MARKET, OPENING
from venue.engine.messages import (
    Accepted,
    AccessCommand,
    AddKey,
    AddUser,
    Amended,
    Cancelled,
    CancelOrder,
    Command,
    Deposit,
    Event,
    OrderChanged,
    Placed,
    PlaceOrder,
    Refused,
    UserAdded,
)
from venue.engine.snapshot import EngineSnapshot, digest
from venue.rest.venue_port import EngineOverloaded, EngineUnavailable, ReplyLost
from venue.server import CANCEL_RESERVE, QUEUE_MAX, OpeningRefused, VenueServer
from venue.storage.log import CommandLog, LogBroken, LogFull
from venue.storage.recovery import OpenedState, fresh
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, OrderId, Ticker, UserId
from venue.wire.requests import QtyOrder, TimeInForce


def place(number: int) -> PlaceOrder:
    key = ClientOrderId(f"order {number}")
    order = QtyOrder(MARKET, Outcome.YES, Side.BUY, Price(5), Qty(1), TimeInForce.GTC, key)
    return PlaceOrder(ANNA, order)


@asynccontextmanager
async def running(lag_ms: int = 0) -> AsyncIterator[VenueServer]:
    venue = VenueServer(lag_ms, 5)
    venue.open_with(OPENING)
    task = asyncio.create_task(venue.run())
    await asyncio.sleep(0)
    try:
        yield venue
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def in_loop(claim: Callable[[], Awaitable[None]]) -> None:
    anyio.run(claim)


def test_an_opening_is_visible_at_once_whatever_the_lag() -> None:
    async def claim() -> None:
        async with running(lag_ms=60_000) as venue:
            assert venue.views.catalog.find_market("LINDEN-26Q4-1B") == MARKET
            assert (
                venue.views.catalog.directory.resolve_ticker("LINDEN-26Q4-1B", venue.now_ns())
                == MARKET
            )

    in_loop(claim)


def test_a_refused_opening_command_stops_the_start() -> None:
    async def claim() -> None:
        venue = VenueServer(0, 5)
        with pytest.raises(OpeningRefused, match="Deposit nobody was refused"):
            venue.open_with([Deposit(UserId("nobody"), Cents(1))])

    in_loop(claim)


def test_answers_come_from_the_engine_and_from_access() -> None:
    async def claim() -> None:
        async with running() as venue:
            assert isinstance(await venue.submit(place(1)), Placed)
            assert isinstance(await venue.submit(AddKey("0" * 64, "k", ANNA, ())), Accepted)
            assert venue.access.key("0" * 64) is not None
            assert isinstance(await venue.submit(AddKey("0" * 64, "k", ANNA, ())), Refused)

    in_loop(claim)


def test_commands_of_one_caller_are_carried_out_in_their_order() -> None:
    async def claim() -> None:
        async with running() as venue:
            answers = await asyncio.gather(*(venue.submit(place(n)) for n in range(90)))
            instants = [answer.order.created_ns for answer in answers if isinstance(answer, Placed)]
            assert len(instants) == 90
            assert instants == sorted(instants)

    in_loop(claim)


def test_reads_lag_behind_an_answer_and_then_follow() -> None:
    async def claim() -> None:
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

    in_loop(claim)


def test_a_lag_that_is_lowered_holds_nothing_back_any_longer() -> None:
    async def claim() -> None:
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

    in_loop(claim)


def test_a_lag_set_anew_hides_from_no_metric_how_old_the_reads_are() -> None:
    async def claim() -> None:
        async with running(lag_ms=60_000) as venue:
            await venue.submit(AddUser(UserId("bruno")))
            await asyncio.sleep(0.02)
            venue.set_projection_lag_ms(30_000)
            await asyncio.sleep(0)
            told = next(
                line
                for line in venue.exposition().decode().splitlines()
                if line.startswith("venue_projection_lag_seconds ")
            )
            assert 0.02 <= float(told.split()[1]) < 30

    in_loop(claim)


def test_a_full_line_refuses_creates_before_cancels_and_both_in_the_end() -> None:
    async def claim() -> None:
        venue = VenueServer(0, 5)  # nothing carries commands out, so the line only grows
        waiting = [
            asyncio.ensure_future(venue.submit(place(n))) for n in range(QUEUE_MAX - CANCEL_RESERVE)
        ]
        await asyncio.sleep(0)
        with pytest.raises(EngineOverloaded):
            await venue.submit(place(-1))
        cancel = CancelOrder(ANNA, OrderId("1"))
        waiting += [asyncio.ensure_future(venue.submit(cancel)) for _ in range(CANCEL_RESERVE)]
        await asyncio.sleep(0)
        with pytest.raises(EngineOverloaded):
            await venue.submit(cancel)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    in_loop(claim)


def test_in_a_long_line_cancels_go_first() -> None:
    async def claim() -> None:
        async with running() as venue:
            placed = await venue.submit(place(0))
            assert isinstance(placed, Placed)
            order: list[str] = []

            async def ask(command: Command, name: str) -> None:
                answer = await venue.submit(command)
                assert isinstance(answer, Placed | Cancelled | Amended)
                order.append(name)

            creates = [ask(place(n), "create") for n in range(1, 300)]
            cancel = ask(CancelOrder(ANNA, placed.order.order_id), "cancel")
            await asyncio.gather(*creates, cancel)
            assert order.index("cancel") < 64

    in_loop(claim)


class SlowLog:
    """A log on a disk that takes its time, or that has no room."""

    def __init__(self, append_s: float = 0.0) -> None:
        self.append_s = append_s
        self.fails_with: Exception | None = None

    def append(self, now_ns: int, commands: Sequence[Command | AccessCommand]) -> int:
        time.sleep(self.append_s)
        if self.fails_with is not None:
            raise self.fails_with
        return len(commands)

    def try_room(self) -> None:
        if self.fails_with is not None:
            raise self.fails_with

    def close(self) -> None:
        pass


def logged(log: SlowLog) -> VenueServer:
    """A venue behind this log."""
    venue = VenueServer(0, 5, OpenedState(fresh(b"key"), b"cursor key", cast(CommandLog, log)))
    venue.open_with(OPENING)
    return venue


@asynccontextmanager
async def at_work(venue: VenueServer) -> AsyncIterator[None]:
    task = asyncio.create_task(venue.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_an_answer_that_does_not_come_in_time_is_lost_not_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("venue.server.REPLY_DEADLINE_NS", 10_000_000)

    async def claim() -> None:
        log = SlowLog()
        venue = logged(log)
        log.append_s = 0.3
        placed = asyncio.Event()

        def watch(events: list[Event]) -> None:
            if any(isinstance(event, OrderChanged) for event in events):
                placed.set()

        venue.observe(watch)
        async with at_work(venue):
            with pytest.raises(ReplyLost):
                await venue.submit(place(1))
            # The disk takes it in the end, and it is carried out.
            assert not placed.is_set()
            await placed.wait()

    in_loop(claim)


def test_a_full_log_refuses_with_nothing_carried_out_until_there_is_room() -> None:
    async def claim() -> None:
        log = SlowLog()
        venue = logged(log)
        before = await venue.state_hash()
        async with at_work(venue):
            log.fails_with = LogFull("no room")
            with pytest.raises(EngineUnavailable):
                await venue.submit(place(1))
            assert await venue.state_hash() == before
            assert not venue.writable
            assert venue.readiness() is not None
            log.fails_with = None
            assert isinstance(await venue.submit(place(1)), Placed)
            assert venue.writable
            assert venue.readiness() is None

    in_loop(claim)


@pytest.mark.parametrize("fault", [LogFull("no room"), LogBroken("the disk")])
def test_a_full_log_that_has_room_again_is_ready_again_though_nobody_writes(
    monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    monkeypatch.setattr("venue.server.TRY_S", 0.01)

    async def claim() -> None:
        log = SlowLog()
        venue = logged(log)
        async with at_work(venue):
            log.fails_with = LogFull("no room")
            with pytest.raises(EngineUnavailable):
                await venue.submit(place(1))
            log.fails_with = fault
            await asyncio.sleep(0.1)
            assert venue.readiness() is not None
            log.fails_with = None
            await asyncio.sleep(0.1)
            assert (venue.readiness() is None) is isinstance(fault, LogFull)

    in_loop(claim)


def test_a_venue_whose_disk_does_not_answer_is_not_ready_for_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("venue.server.REPLY_DEADLINE_NS", 50_000_000)

    async def claim() -> None:
        log = SlowLog()
        venue = logged(log)
        log.append_s = 0.4
        async with at_work(venue):
            with pytest.raises(ReplyLost):
                await venue.submit(place(1))
            assert (venue.readiness() or "").startswith("the command log has not answered for")
            assert not venue.writable
            log.append_s = 0
            await asyncio.sleep(0.6)
            assert venue.readiness() is None
            assert venue.writable

    in_loop(claim)


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; at most ten seconds."""
    for _ in range(1_000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it does not come to hold")


def test_a_log_that_is_full_at_the_start_is_told_before_any_command_comes() -> None:
    async def claim() -> None:
        log = SlowLog()
        venue = logged(log)
        log.fails_with = LogFull("no room")
        async with at_work(venue):
            await until(lambda: not venue.writable)
            assert venue.readiness() == "the command log takes nothing: no room"
            log.fails_with = None
            await until(lambda: venue.writable)
            assert isinstance(await venue.submit(place(1)), Placed)

    in_loop(claim)


def test_after_a_failed_sync_the_answer_is_lost_and_nothing_more_is_taken() -> None:
    async def claim() -> None:
        log = SlowLog()
        venue = logged(log)
        before = await venue.state_hash()
        async with at_work(venue):
            log.fails_with = LogBroken("the disk")
            with pytest.raises(ReplyLost):
                await venue.submit(place(1))
            log.fails_with = None
            with pytest.raises(EngineUnavailable):
                await venue.submit(place(2))
            assert await venue.state_hash() == before
            assert not venue.writable

    in_loop(claim)


def test_a_hash_that_takes_long_holds_up_nobody_and_is_of_the_state_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def claim() -> None:
        venue = logged(SlowLog())
        before = await venue.state_hash()
        may_end = threading.Event()

        def slow(snapshot: EngineSnapshot) -> str:
            assert may_end.wait(30)
            return digest(snapshot)

        monkeypatch.setattr("venue.server.digest", slow)
        async with at_work(venue):
            hashing = asyncio.ensure_future(venue.state_hash())
            await asyncio.sleep(0)
            assert isinstance(await venue.submit(place(1)), Placed)
            may_end.set()
            assert await hashing == before
            assert await venue.state_hash() != before

    in_loop(claim)


def test_a_refused_opening_leaves_the_log_empty() -> None:
    async def claim() -> None:
        log = SlowLog()
        venue = VenueServer(0, 5, OpenedState(fresh(b"key"), b"cursor key", cast(CommandLog, log)))
        log.fails_with = AssertionError("nothing may be written")
        with pytest.raises(OpeningRefused, match="Deposit nobody was refused"):
            venue.open_with([*OPENING, Deposit(UserId("nobody"), Cents(1))])
        assert venue.sequence == 0

    in_loop(claim)


def test_a_refused_addition_to_an_old_venue_leaves_its_log_and_its_state_as_they_were() -> None:
    async def claim() -> None:
        log = SlowLog()
        venue = logged(log)
        before = await venue.state_hash()
        log.fails_with = AssertionError("nothing may be written")
        with pytest.raises(OpeningRefused, match="Deposit nobody was refused"):
            venue.open_with([AddUser(UserId("new")), Deposit(UserId("nobody"), Cents(1))])
        assert await venue.state_hash() == before

    in_loop(claim)


def test_a_refused_addition_names_the_market_that_it_would_have_listed() -> None:
    async def claim() -> None:
        venue = logged(SlowLog())
        other = msgspec.structs.replace(OPENING[2], ticker=Ticker("LINDEN-26Q4-2B"))
        why = "ListMarket LINDEN-26Q4-2B was refused: invalid_request: the market_id is taken"
        with pytest.raises(OpeningRefused, match=why):
            venue.open_with([other])

    in_loop(claim)


def test_after_its_end_the_venue_is_unavailable() -> None:
    async def claim() -> None:
        async with running() as venue:
            pass
        with pytest.raises(EngineUnavailable):
            await venue.submit(place(1))

    in_loop(claim)


def test_the_clock_never_goes_back() -> None:
    async def claim() -> None:
        venue = VenueServer(0, 5)
        instants = [venue.now_ns() for _ in range(10_000)]
        assert instants == sorted(instants)

    in_loop(claim)
