"""Claims about reads, long bodies and free answers in turn: many of one's hold up nobody else."""

import asyncio

import pytest

from tests.builders.venue.rest_bench import (
    ACME,
    LOW,
    T0,
    TICKERS,
    Client,
    ScriptedDesk,
    ladder,
    order,
    rung,
    uid,
)
from venue.engine.messages import EventListed, MarketListed, OrderChanged
from venue.rest import app as http_app
from venue.rest.app import ABORT_EXTENSION, LONG_ANSWERS_MAX, make_app
from venue.rest.gate import METADATA_PATH
from venue.rest.turns import FairTurns, ResponseSlots
from venue.wire.limits import BODY_BYTES_MAX, RATE_BURST
from venue.wire.names import UserId

pytestmark = pytest.mark.anyio


async def read_of(app, key, answered, path="/portfolio/balance", status=200, query=b""):
    """Read something, a balance for one, and note whose answer came."""

    async def send(message):
        if message["type"] == "http.response.start":
            assert message["status"] == status
            answered.append(key)

    async def receive():
        raise AssertionError("a read has no body")

    scope = {
        "type": "http",
        "method": "GET",
        "raw_path": path.encode() if path.startswith("/.") else f"/v1{path}".encode(),
        "query_string": query,
        "headers": [(b"x-api-key", key.encode())],
    }
    await app(scope, receive, send)


@pytest.mark.parametrize(
    ("asking", "answered_in_order"),
    [
        (["anna"] * 5 + ["bruno"], ["anna", "bruno"] + ["anna"] * 4),
        (["anna", "anna-too", "bruno"], ["anna", "bruno", "anna-too"]),
    ],
)
async def test_another_user_s_read_is_answered_before_a_user_s_second(asking, answered_in_order):
    desk = ScriptedDesk()
    desk.add_key("anna-too-key", "anna", desk.access.keys()[0].scopes)
    app, answered = make_app(desk), list[str]()
    async with asyncio.TaskGroup() as tasks:
        for name in asking:
            tasks.create_task(read_of(app, f"{name}-key", answered))
    assert answered == [f"{name}-key" for name in answered_in_order]


@pytest.mark.parametrize("path", ["/openapi.yaml", METADATA_PATH])
async def test_a_read_is_answered_before_a_second_request_without_a_credential(path):
    app, answered = make_app(ScriptedDesk()), list[str]()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(5):
            tasks.create_task(read_of(app, "nobody", answered, path))
        tasks.create_task(read_of(app, "bruno-key", answered))
    assert answered == ["nobody", "bruno-key"] + ["nobody"] * 4


async def test_a_read_is_answered_before_the_second_rejection_of_an_empty_bucket():
    desk = ScriptedDesk()
    desk.add_key("anna-too", "anna", desk.access.keys()[0].scopes)
    app, answered = make_app(desk), list[str]()
    for _ in range(RATE_BURST):
        await read_of(app, "anna-key", [])
    async with asyncio.TaskGroup() as tasks:
        for _ in range(5):
            tasks.create_task(read_of(app, "anna-key", answered, status=429))
        tasks.create_task(read_of(app, "anna-too", answered))
    assert answered == ["anna-key", "anna-too"] + ["anna-key"] * 4


async def write_of(app, key, answered, body):
    """Send a write that is refused for its body, and note whose answer came."""

    async def send(message):
        if message["type"] == "http.response.start":
            assert message["status"] == 400
            answered.append(key)

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {
        "type": "http",
        "method": "POST",
        "raw_path": b"/v1/orders",
        "query_string": b"",
        "headers": [(b"x-api-key", key.encode())],
    }
    await app(scope, receive, send)


async def test_another_user_s_write_is_answered_before_a_user_s_second_long_write():
    app, answered = make_app(ScriptedDesk()), list[str]()
    async with asyncio.TaskGroup() as tasks:
        for key in ("anna-key",) * 5 + ("bruno-key",):
            tasks.create_task(write_of(app, key, answered, b"[" * BODY_BYTES_MAX))
    assert answered == ["anna-key", "bruno-key"] + ["anna-key"] * 4


async def test_a_short_write_waits_for_no_turn():
    app, answered = make_app(ScriptedDesk()), list[str]()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read_of(app, "anna-key", answered))
        for key in ("anna-key", "anna-key", "bruno-key"):
            tasks.create_task(write_of(app, key, answered, b"[" * 300))
    assert answered == ["anna-key", "anna-key", "anna-key", "bruno-key"]


def with_orders(desk, count):
    desk.show([OrderChanged(T0, order(number)) for number in range(count)])


def with_markets(desk, count):
    desk.show([EventListed(T0, ladder("MANY-26Q4", "MANY", ACME, "Many"))])
    desk.show(
        [
            MarketListed(T0, rung(uid(1_000 + n), f"MANY-26Q4-{n}B", "MANY-26Q4", f"{n}"))
            for n in range(1, count + 1)
        ]
    )


@pytest.mark.parametrize("count", [199, 200, 201, 400, 1_001])
async def test_a_long_match_is_one_whole_page(count):
    desk = ScriptedDesk()
    with_markets(desk, count)
    page = await Client(desk).get("/markets", series_ticker="many")
    assert [row["strike_value"] for row in page["markets"]] == [f"{n + 1}" for n in range(count)]
    assert page["cursor"] == ""
    assert list(page) == ["markets", "cursor"]


def with_events(desk, count):
    """List so many more events of one series, a dozen markets each."""
    for n in range(count):
        ticker, series = f"ROLL-{26 + n // 4}Q{n % 4 + 1}", "ROLL"
        desk.show([EventListed(T0, ladder(ticker, series, ACME, f"Roll {n}"))])
        rungs = [
            rung(uid(10_000 + 12 * n + k), f"{ticker}-{k}B", ticker, f"{k}") for k in range(1, 13)
        ]
        desk.show([MarketListed(T0, listed) for listed in rungs])


async def answered_during(desk, path, query=b""):
    """Whose reads are answered while anna's long read is made, three of bruno's after it."""
    app, answered = make_app(desk), list[str]()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read_of(app, "anna-key", answered, path, query=query))
        for _ in range(3):
            await asyncio.sleep(0)
            await read_of(app, "bruno-key", answered)
    return answered


@pytest.mark.parametrize(
    ("fill_desk", "path", "query"),
    [
        (with_orders, f"/markets/{TICKERS[LOW]}/snapshot", b""),
        (with_markets, "/markets", b"q=many"),
        (with_events, "/events", b""),
        (with_events, "/events/roll", b""),
    ],
)
async def test_other_users_are_answered_while_a_long_read_is_made(fill_desk, path, query):
    desk = ScriptedDesk()
    fill_desk(desk, 100 if fill_desk is with_events else 2_000)
    assert await answered_during(desk, path, query) == ["bruno-key"] * 3 + ["anna-key"]


@pytest.mark.parametrize("limit", [1, 15, 16, 17, 32, 33, 99, 100, 101])
async def test_a_page_of_events_is_whole(limit):
    desk = ScriptedDesk()
    with_events(desk, 100)
    client, cursor, sizes, titles = Client(desk), "", list[int](), list[str]()
    while True:
        page = await client.get(
            "/events/roll", limit=limit, **({"cursor": cursor} if cursor else {})
        )
        assert list(page) == ["events", "cursor"]
        sizes.append(len(page["events"]))
        titles += [event["title"] for event in page["events"]]
        assert all(len(event["markets"]) == 12 for event in page["events"])
        cursor = page["cursor"]
        if not cursor:
            break
    assert titles == [f"Roll {n}" for n in range(100)]
    assert sizes == [min(limit, 100 - seen) for seen in range(0, 100, limit)]


class SlowPeer:
    """Reads its answer once it is let."""

    def __init__(self, app, key, path):
        self.comes = asyncio.Event()
        self.reads = asyncio.Event()
        self.cut = asyncio.Event()
        self.body = b""
        self.asking = asyncio.create_task(self._ask(app, key, path))

    async def _ask(self, app, key, path):
        async def send(message):
            if message["type"] == "http.response.start":
                assert message["status"] == 200
                self.comes.set()
                await self.reads.wait()
            else:
                self.body = message["body"]

        async def receive():
            assert self.cut.is_set(), "a read has no body"
            return {"type": "http.disconnect"}

        scope = {
            "type": "http",
            "method": "GET",
            "raw_path": f"/v1{path}".encode(),
            "query_string": b"limit=1000" if path == "/orders" else b"",
            "headers": [(b"x-api-key", key.encode())],
            "extensions": {ABORT_EXTENSION: {"abort": self.cut.set}},
        }
        await app(scope, receive, send)


@pytest.mark.parametrize("path", [f"/markets/{TICKERS[LOW]}/snapshot", "/orders"])
async def test_a_user_has_a_bounded_number_of_unread_long_answers(path):
    desk = ScriptedDesk()
    with_orders(desk, 500)
    app = make_app(desk)
    most = LONG_ANSWERS_MAX
    peers = [SlowPeer(app, "anna-key", path) for _ in range(most + 3)]
    await turns_of_the_loop(300)
    assert [peer.comes.is_set() for peer in peers] == [True] * most + [False] * 3
    answered = list[str]()
    await read_of(app, "anna-key", answered)
    await read_of(app, "bruno-key", answered, path)
    assert answered == ["anna-key", "bruno-key"]
    peers[most + 1].asking.cancel()
    desk.show([OrderChanged(T0, order(500))])
    for peer in peers[:most]:
        peer.reads.set()
    await asyncio.wait_for(peers[most].comes.wait(), 5)
    await asyncio.wait_for(peers[most + 2].comes.wait(), 5)
    for peer in peers:
        peer.reads.set()
    await asyncio.gather(*(peer.asking for peer in peers), return_exceptions=True)
    sizes = [peer.body.count(b'"order_id"') for peer in peers]
    assert sizes == [500] * most + [501, 0, 501]


async def test_a_request_that_waits_too_long_behind_long_answers_is_cut(monkeypatch):
    monkeypatch.setattr(http_app, "LONG_ANSWER_WAIT_S", 0.05)
    desk = ScriptedDesk()
    with_orders(desk, 500)
    app = make_app(desk)
    peers = [SlowPeer(app, "anna-key", "/orders") for _ in range(LONG_ANSWERS_MAX + 1)]
    await asyncio.wait_for(peers[-1].cut.wait(), 5)
    await asyncio.wait_for(peers[-1].asking, 5)
    for peer in peers[:-1]:
        assert peer.comes.is_set()
        assert not peer.cut.is_set()
        peer.reads.set()
        await asyncio.wait_for(peer.asking, 5)
    again = SlowPeer(app, "anna-key", "/orders")
    await asyncio.wait_for(again.comes.wait(), 5)
    again.reads.set()
    await again.asking


async def test_a_long_answer_that_is_never_sent_frees_its_slot():
    desk = ScriptedDesk()
    with_orders(desk, 500)
    app = make_app(desk)
    for _ in range(LONG_ANSWERS_MAX):
        peer = SlowPeer(app, "anna-key", f"/markets/{TICKERS[LOW]}/snapshot")
        await turns_of_the_loop(3)
        assert not peer.comes.is_set()
        peer.asking.cancel()
        await asyncio.gather(peer.asking, return_exceptions=True)
    peers = [SlowPeer(app, "anna-key", "/orders") for _ in range(LONG_ANSWERS_MAX)]
    await turns_of_the_loop(300)
    assert all(peer.comes.is_set() for peer in peers)
    for peer in peers:
        peer.reads.set()
        await peer.asking


async def test_response_slots_go_to_the_longest_waiting_request():
    places, anna, got = ResponseSlots(2), UserId("anna"), list[int]()

    async def take(number):
        await places.acquire_slot(anna)
        got.append(number)

    asking = [asyncio.create_task(take(number)) for number in range(6)]
    await turns_of_the_loop(2)
    assert got == [0, 1]
    asking[2].cancel()
    places.release_slot(anna)
    asking[3].cancel()
    await turns_of_the_loop(3)
    assert got == [0, 1, 4]
    places.release_slot(anna)
    await turns_of_the_loop(2)
    assert got == [0, 1, 4, 5]
    for _ in range(2):
        places.release_slot(anna)
    assert len(places._taken) == 0
    await places.acquire_slot(anna)
    assert not places.is_full(anna)
    await asyncio.gather(*asking, return_exceptions=True)


async def read(turns, name, made):
    await turns.wait_turn(UserId("anna"))
    made.append(name)


async def turns_of_the_loop(count):
    for _ in range(count):
        await asyncio.sleep(0)


async def test_one_read_is_made_per_turn_of_the_loop_in_order():
    turns, made = FairTurns(), list[str]()
    asking = [asyncio.create_task(read(turns, name, made)) for name in "abc"]
    made_by_turn = []
    for _ in range(8):
        before = len(made)
        await asyncio.sleep(0)
        made_by_turn.append(len(made) - before)
    assert max(made_by_turn) == 1
    assert made == ["a", "b", "c"]
    await asyncio.gather(*asking)


async def test_a_read_of_several_turns_finishes_before_the_user_s_next_read():
    turns, made = FairTurns(), list[str]()

    async def long():
        await turns.wait_turn(UserId("anna"))
        for number in range(3):
            made.append(f"piece {number}")
            await turns.wait_turn(UserId("anna"), again=True)

    asking = [asyncio.create_task(long()), asyncio.create_task(read(turns, "short", made))]
    await asyncio.wait(asking, timeout=5)
    assert made == ["piece 0", "piece 1", "piece 2", "short"]


async def test_a_read_without_competition_is_made_at_once():
    turns, made = FairTurns(), list[str]()
    first = read(turns, "a", made)
    with pytest.raises(StopIteration):
        first.send(None)
    assert made == ["a"]
    await turns_of_the_loop(2)
    await read(turns, "b", made)
    assert made == ["a", "b"]


@pytest.mark.parametrize("turns_before", range(5))
async def test_a_cancelled_read_does_not_delay_those_behind_it(turns_before):
    turns, made = FairTurns(), list[str]()
    asking = [asyncio.create_task(read(turns, name, made)) for name in "abcd"]
    await turns_of_the_loop(turns_before)
    asking[1].cancel()
    await asyncio.wait(asking, timeout=5)
    assert made in (["a", "c", "d"], ["a", "b", "c", "d"])


async def test_turns_forget_users_without_waiting_reads():
    turns, made = FairTurns(), list[str]()
    asking = [asyncio.create_task(read(turns, name, made)) for name in "abc"]
    await turns_of_the_loop(1)
    assert len(turns._waiting) == 1
    await asyncio.gather(*asking)
    await turns_of_the_loop(2)
    assert len(turns._waiting) == 0
