"""Claims about reads, long bodies and free answers in turn: many of one's hold up nobody else."""

import asyncio
from typing import Any

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
from venue.rest.app import ABORT_EXTENSION, LONG_ANSWERS_MAX, Application, make_app
from venue.rest.gate import METADATA_PATH
from venue.rest.turns import FairTurns, ResponseSlots
from venue.wire.limits import BODY_BYTES_MAX, RATE_BURST
from venue.wire.names import UserId

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def read_of(
    app: Application,
    key: str,
    answered: list[str],
    path: str = "/portfolio/balance",
    status: int = 200,
    query: bytes = b"",
) -> None:
    """Read something, a balance for one, and note whose answer came."""

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            assert message["status"] == status
            answered.append(key)

    async def receive() -> Any:
        raise AssertionError("a read has no body")

    scope = {
        "type": "http",
        "method": "GET",
        "raw_path": path.encode() if path.startswith("/.") else f"/v1{path}".encode(),
        "query_string": query,
        "headers": [(b"x-api-key", key.encode())],
    }
    await app(scope, receive, send)


async def test_another_user_s_read_is_answered_before_the_second_of_a_crowd_of_reads() -> None:
    desk = ScriptedDesk()
    app, answered = make_app(desk), list[str]()
    async with asyncio.TaskGroup() as tasks:
        for key in ("anna-key",) * 5 + ("bruno-key",):
            tasks.create_task(read_of(app, key, answered))
    assert answered == ["anna-key", "bruno-key"] + ["anna-key"] * 4


@pytest.mark.parametrize("path", ["/openapi.yaml", METADATA_PATH])
async def test_a_read_is_answered_before_the_second_of_a_crowd_without_a_credential(
    path: str,
) -> None:
    app, answered = make_app(ScriptedDesk()), list[str]()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(5):
            tasks.create_task(read_of(app, "nobody", answered, path))
        tasks.create_task(read_of(app, "bruno-key", answered))
    assert answered == ["nobody", "bruno-key"] + ["nobody"] * 4


async def test_a_read_is_answered_before_the_second_refusal_of_an_empty_bucket() -> None:
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


async def write_of(app: Application, key: str, answered: list[str], body: bytes) -> None:
    """Send a write that is refused for its body, and note whose answer came."""

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            assert message["status"] == 400
            answered.append(key)

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {
        "type": "http",
        "method": "POST",
        "raw_path": b"/v1/orders",
        "query_string": b"",
        "headers": [(b"x-api-key", key.encode())],
    }
    await app(scope, receive, send)


async def test_another_user_s_write_is_answered_before_the_second_of_a_crowd_of_long_ones() -> None:
    app, answered = make_app(ScriptedDesk()), list[str]()
    async with asyncio.TaskGroup() as tasks:
        for key in ("anna-key",) * 5 + ("bruno-key",):
            tasks.create_task(write_of(app, key, answered, b"[" * BODY_BYTES_MAX))
    assert answered == ["anna-key", "bruno-key"] + ["anna-key"] * 4


async def test_a_write_as_short_as_any_order_waits_for_no_turn() -> None:
    app, answered = make_app(ScriptedDesk()), list[str]()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read_of(app, "anna-key", answered))
        for key in ("anna-key", "anna-key", "bruno-key"):
            tasks.create_task(write_of(app, key, answered, b"[" * 300))
    assert answered == ["anna-key", "anna-key", "anna-key", "bruno-key"]


async def test_all_keys_of_a_user_share_their_turns() -> None:
    desk = ScriptedDesk()
    desk.add_key("anna-too", "anna", desk.access.keys()[0].scopes)
    app, answered = make_app(desk), list[str]()
    async with asyncio.TaskGroup() as tasks:
        for key in ("anna-key", "anna-too", "bruno-key"):
            tasks.create_task(read_of(app, key, answered))
    assert answered == ["anna-key", "bruno-key", "anna-too"]


async def test_a_snapshot_of_thousands_of_orders_is_made_while_others_are_answered() -> None:
    desk = ScriptedDesk()
    desk.show([OrderChanged(T0, order(number)) for number in range(2_000)])
    app, answered = make_app(desk), list[str]()
    async with asyncio.TaskGroup() as tasks:
        snapshot = read_of(app, "anna-key", answered, f"/markets/{TICKERS[LOW]}/snapshot")
        tasks.create_task(snapshot)
        for _ in range(3):
            await asyncio.sleep(0)
            await read_of(app, "bruno-key", answered)
    assert answered == ["bruno-key"] * 3 + ["anna-key"]


def with_markets(desk: ScriptedDesk, count: int) -> None:
    """List so many more markets of one series."""
    desk.show([EventListed(T0, ladder("MANY-26Q4", "MANY", ACME, "Many"))])
    desk.show(
        [
            MarketListed(T0, rung(uid(1_000 + n), f"MANY-26Q4-{n}B", "MANY-26Q4", f"{n}"))
            for n in range(1, count + 1)
        ]
    )


async def test_thousands_of_markets_that_match_are_shown_while_others_are_answered() -> None:
    desk = ScriptedDesk()
    with_markets(desk, 2_000)
    app, answered = make_app(desk), list[str]()
    async with asyncio.TaskGroup() as tasks:
        search = read_of(app, "anna-key", answered, "/markets", query=b"q=many")
        tasks.create_task(search)
        for _ in range(3):
            await asyncio.sleep(0)
            await read_of(app, "bruno-key", answered)
    assert answered == ["bruno-key"] * 3 + ["anna-key"]


@pytest.mark.parametrize("count", [199, 200, 201, 400, 1_001])
async def test_a_long_match_is_one_whole_page_however_many_pieces_it_came_in(count: int) -> None:
    desk = ScriptedDesk()
    with_markets(desk, count)
    page = await Client(desk).get("/markets", series_ticker="many")
    assert [row["strike_value"] for row in page["markets"]] == [f"{n + 1}" for n in range(count)]
    assert page["cursor"] == ""
    assert list(page) == ["markets", "cursor"]


def with_events(desk: ScriptedDesk, count: int) -> None:
    """List so many more events of one series, a dozen markets each."""
    for n in range(count):
        ticker, series = f"ROLL-{26 + n // 4}Q{n % 4 + 1}", "ROLL"
        desk.show([EventListed(T0, ladder(ticker, series, ACME, f"Roll {n}"))])
        rungs = [
            rung(uid(10_000 + 12 * n + k), f"{ticker}-{k}B", ticker, f"{k}") for k in range(1, 13)
        ]
        desk.show([MarketListed(T0, listed) for listed in rungs])


@pytest.mark.parametrize("path", ["/events", "/events/roll"])
async def test_thousands_of_rungs_of_a_page_of_events_are_shown_while_others_are_answered(
    path: str,
) -> None:
    desk = ScriptedDesk()
    with_events(desk, 100)
    app, answered = make_app(desk), list[str]()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read_of(app, "anna-key", answered, path))
        for _ in range(3):
            await asyncio.sleep(0)
            await read_of(app, "bruno-key", answered)
    assert answered == ["bruno-key"] * 3 + ["anna-key"]


@pytest.mark.parametrize("limit", [1, 15, 16, 17, 32, 33, 99, 100, 101])
async def test_a_page_of_events_is_whole_however_many_pieces_it_came_in(limit: int) -> None:
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

    def __init__(self, app: Application, key: str, path: str) -> None:
        self.comes = asyncio.Event()
        self.reads = asyncio.Event()
        self.cut = asyncio.Event()
        self.body = b""
        self.asking = asyncio.create_task(self._ask(app, key, path))

    async def _ask(self, app: Application, key: str, path: str) -> None:
        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                assert message["status"] == 200
                self.comes.set()
                await self.reads.wait()
            else:
                self.body = message["body"]

        async def receive() -> Any:
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
async def test_of_one_user_so_many_long_answers_at_most_wait_to_be_taken(path: str) -> None:
    desk = ScriptedDesk()
    desk.show([OrderChanged(T0, order(number)) for number in range(500)])
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


async def test_who_waits_too_long_behind_long_answers_of_their_own_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_app, "LONG_ANSWER_WAIT_S", 0.05)
    desk = ScriptedDesk()
    desk.show([OrderChanged(T0, order(number)) for number in range(500)])
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


async def test_a_long_answer_that_is_never_sent_gives_its_place_back() -> None:
    desk = ScriptedDesk()
    desk.show([OrderChanged(T0, order(number)) for number in range(500)])
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


async def test_places_go_to_whoever_waits_longest_and_none_is_lost() -> None:
    places, anna, got = ResponseSlots(2), UserId("anna"), list[int]()

    async def take(number: int) -> None:
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


async def read(turns: FairTurns, name: str, made: list[str]) -> None:
    await turns.wait_turn(UserId("anna"))
    made.append(name)


async def turns_of_the_loop(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_one_read_is_made_in_each_turn_of_the_loop_in_the_order_of_asking() -> None:
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


async def test_a_read_of_several_turns_has_them_before_whoever_of_its_user_waits() -> None:
    turns, made = FairTurns(), list[str]()

    async def long() -> None:
        await turns.wait_turn(UserId("anna"))
        for number in range(3):
            made.append(f"piece {number}")
            await turns.wait_turn(UserId("anna"), again=True)

    asking = [asyncio.create_task(long()), asyncio.create_task(read(turns, "short", made))]
    await asyncio.wait(asking, timeout=5)
    assert made == ["piece 0", "piece 1", "piece 2", "short"]


async def test_a_read_that_finds_nobody_before_it_is_made_at_once() -> None:
    turns, made = FairTurns(), list[str]()
    first = read(turns, "a", made)
    with pytest.raises(StopIteration):
        first.send(None)
    assert made == ["a"]
    await turns_of_the_loop(2)
    await read(turns, "b", made)
    assert made == ["a", "b"]


@pytest.mark.parametrize("turns_before", range(5))
async def test_a_read_given_up_while_it_waits_holds_up_none_behind_it(turns_before: int) -> None:
    turns, made = FairTurns(), list[str]()
    asking = [asyncio.create_task(read(turns, name, made)) for name in "abcd"]
    await turns_of_the_loop(turns_before)
    asking[1].cancel()
    await asyncio.wait(asking, timeout=5)
    assert made in (["a", "c", "d"], ["a", "b", "c", "d"])


async def test_nothing_is_kept_of_users_who_do_not_read() -> None:
    turns, made = FairTurns(), list[str]()
    asking = [asyncio.create_task(read(turns, name, made)) for name in "abc"]
    await turns_of_the_loop(1)
    assert len(turns._waiting) == 1
    await asyncio.gather(*asking)
    await turns_of_the_loop(2)
    assert len(turns._waiting) == 0
