"""V19: the token bucket, the limiter request by request, and the engine's queue."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.abuse.door import Peer, served
from tests.builders.abuse.good import read
from tests.builders.venue.rest_bench import ScriptedDesk
from tests.builders.venue.small_venue import ANNA, MARKET, OPENING
from venue.engine.messages import Answer, CancelOrder, Command, PlaceOrder
from venue.rest.app import make_app
from venue.rest.venue_port import EngineOverloaded
from venue.server import QUEUE_MAX, VenueServer
from venue.wire.instant import NS_PER_SECOND
from venue.wire.limits import RATE_BURST, TokenBucket
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, OrderId
from venue.wire.requests import QtyOrder, TimeInForce
from venue.wire.routes import KeyScope

LIMITER = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after")
BALANCE, ORDER, UNKNOWN = "/v1/portfolio/balance", "/v1/orders/77", "/v1/nothing"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


# --- the bucket ----------------------------------------------------------------------------------

rates = st.integers(1, 1_000)
gaps_ns = st.lists(st.integers(0, 3 * NS_PER_SECOND), min_size=1, max_size=60)


@given(rate=rates, burst=st.integers(1, 20), gaps=gaps_ns)
def test_no_window_accepts_more_than_the_burst_and_the_rate_allow(
    rate: int, burst: int, gaps: list[int]
) -> None:
    bucket, now_ns = TokenBucket.full(rate, burst, 0), 0
    accepted: list[int] = []
    for gap in gaps:
        now_ns += gap
        accepted += [now_ns for _ in range(burst + 2) if bucket.spend_token(now_ns)]
    for first, from_ns in enumerate(accepted):
        for last in range(first, len(accepted)):
            window_ns = accepted[last] - from_ns
            assert (last - first + 1 - burst) * NS_PER_SECOND <= rate * window_ns


@given(rate=rates, burst=st.integers(1, 20), gaps=gaps_ns)
def test_a_token_is_there_exactly_when_the_bucket_said(
    rate: int, burst: int, gaps: list[int]
) -> None:
    bucket, now_ns = TokenBucket.full(rate, burst, 0), 0
    for gap in gaps:
        now_ns += gap
        while bucket.spend_token(now_ns):
            pass
        wait_ns = bucket.wait_ns()
        assert wait_ns > 0
        assert not bucket.spend_token(now_ns + wait_ns - 1)
        now_ns += wait_ns
        assert bucket.spend_token(now_ns)


@given(rate=rates, burst=st.integers(1, 20), gaps=gaps_ns)
def test_nothing_is_withheld_from_who_keeps_to_the_rate(
    rate: int, burst: int, gaps: list[int]
) -> None:
    bucket, now_ns = TokenBucket.full(rate, burst, 0), 0
    for gap in gaps:
        now_ns += gap + -(-NS_PER_SECOND // rate)
        assert bucket.spend_token(now_ns)


@given(gaps=st.lists(st.integers(-NS_PER_SECOND, NS_PER_SECOND), max_size=60))
def test_a_clock_that_steps_back_gives_nothing(gaps: list[int]) -> None:
    bucket, now_ns, newest_ns, taken = TokenBucket.full(250, 5, 0), 0, 0, 0
    for gap in gaps:
        now_ns += gap
        newest_ns = max(newest_ns, now_ns)
        taken += sum(bucket.spend_token(now_ns) for _ in range(7))
    assert (taken - 5) * NS_PER_SECOND <= 250 * newest_ns


# --- the limiter, request by request, with a clock that stands still -----------------------------


def limited_desk() -> ScriptedDesk:
    desk = ScriptedDesk()
    desk.add_key("reads", "anna", (KeyScope.READ,))
    desk.add_key("trades", "anna", (KeyScope.TRADE,))
    return desk


@pytest.mark.anyio
async def test_remaining_falls_by_one_with_every_request_until_none_is_left() -> None:
    async with served(make_app(limited_desk())) as (_, port):
        peer = await Peer.of(port)
        left = []
        for _ in range(RATE_BURST):
            peer.send(read("reads"))
            status, headers, _ = await peer.answer()
            assert (status, headers["x-ratelimit-limit"]) == (200, str(RATE_BURST))
            assert "retry-after" not in headers
            left.append(int(headers["x-ratelimit-remaining"]))
        assert left == list(range(RATE_BURST - 1, -1, -1))
        for _ in range(3):
            peer.send(read("reads"))
            status, headers, _ = await peer.answer()
            assert (status, headers["x-ratelimit-remaining"]) == (429, "0")
            assert int(headers["retry-after"]) >= 1
            assert "x-ratelimit-reset" in headers
        await peer.leave()


@pytest.mark.anyio
async def test_a_refused_scope_and_an_unknown_path_or_order_cost_one_and_a_bad_key_nothing() -> (
    None
):
    async with served(make_app(limited_desk())) as (_, port):
        peer = await Peer.of(port)
        asked = [("trades", BALANCE, 403), ("reads", ORDER, 404), ("reads", UNKNOWN, 404)]
        left = {"trades": RATE_BURST, "reads": RATE_BURST}
        for key, path, wanted in asked * 3:
            peer.send(read(key, path))
            status, headers, _ = await peer.answer()
            left[key] -= 1
            assert (status, headers["x-ratelimit-remaining"]) == (wanted, str(left[key]))
            peer.send(read("wrong", path))
            status, headers, _ = await peer.answer()
            assert status == 401
            assert not set(LIMITER) & set(headers)
        await peer.leave()


# --- the engine's line ---------------------------------------------------------------------------


def _order(number: int) -> PlaceOrder:
    key, gtc = ClientOrderId(f"order {number}"), TimeInForce.GTC
    return PlaceOrder(ANNA, QtyOrder(MARKET, Outcome.YES, Side.BUY, Price(5), Qty(1), gtc, key))


def _cancel(number: int) -> CancelOrder:
    return CancelOrder(ANNA, OrderId(str(number)))


def _asks(venue: VenueServer, commands: list[Command]) -> list[asyncio.Task[Answer]]:
    return [asyncio.create_task(venue.submit(command)) for command in commands]


def _overloaded(tasks: list[asyncio.Task[Answer]]) -> int:
    done = [task for task in tasks if task.done()]
    assert all(isinstance(task.exception(), EngineOverloaded) for task in done)
    return len(done)


@pytest.mark.anyio
async def test_at_ten_times_the_line_it_stays_within_its_cap_and_cancels_have_the_last_places() -> (
    None
):
    venue = VenueServer(0, 5)
    venue.open_with(OPENING)
    orders = _asks(venue, [_order(number) for number in range(10 * QUEUE_MAX)])
    await asyncio.sleep(0)
    kept = len(orders) - _overloaded(orders)
    assert 0 < kept < QUEUE_MAX
    cancels = _asks(venue, [_cancel(number) for number in range(QUEUE_MAX)])
    await asyncio.sleep(0)
    assert len(cancels) - _overloaded(cancels) == QUEUE_MAX - kept > 0
    ended: list[str] = []
    for task in (*orders, *cancels):
        if not task.done():
            kind = "order" if task in orders else "cancel"
            task.add_done_callback(lambda _, kind=kind: ended.append(kind))
    running = asyncio.create_task(venue.run())
    await asyncio.gather(*orders, *cancels, return_exceptions=True)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert len(ended) == QUEUE_MAX
    assert ended.index("order") == QUEUE_MAX - kept
