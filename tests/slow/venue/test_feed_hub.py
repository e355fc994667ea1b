"""From visible events to frames: who gets what, how often, and in which order."""

import json

import msgspec
import pytest

from tests.builders.venue.small_venue import ANNA, MARKET, OPENING, PROJECT
from venue.engine.engine import Engine
from venue.engine.messages import (
    Accepted,
    AddUser,
    Deposit,
    Placed,
    PlaceOrder,
    PublishImpliedValue,
)
from venue.stream.channel import STUCK_NS
from venue.stream.hub import Hub
from venue.views.projector import Views
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, UserId
from venue.wire.requests import QtyOrder, TimeInForce

BRUNO = UserId("bruno")


class Room:
    """An engine, its views and a hub without a clock: each step gets its instant."""

    def __init__(self):
        self.views = Views()
        self.hub = Hub(self.views, 10)
        self.engine = Engine(b"k" * 32)
        self.placed = 0
        for command in [*OPENING, AddUser(BRUNO), Deposit(BRUNO, Cents(1_000_000))]:
            self.do(command, 1)
        self.hub.flush(1)

    def do(self, command, now_ns):
        answer, events = self.engine.apply(command, now_ns)
        assert isinstance(answer, Placed | Accepted), answer
        for event in events:
            self.views.apply(event)
        self.hub.publish(events, now_ns)

    def buy(self, user, outcome, price, qty, now_ns):
        self.placed += 1
        key = ClientOrderId(f"order {self.placed}")
        gtc = TimeInForce.GTC
        order = QtyOrder(MARKET, outcome, Side.BUY, Price(price), Qty(qty), gtc, key)
        self.do(PlaceOrder(user, order), now_ns)

    def connect(self, *targets, aborted=None):
        cut: list[str] = [] if aborted is None else aborted
        connection = self.hub.connect(lambda: cut.append("cut"), 1)
        self.subscribe(connection, *targets)
        return connection

    def subscribe(self, connection, *targets):
        rows = [{"target": kind, "data": {key: value}} for kind, key, value in targets]
        text = json.dumps({"type": "subscribe", "data": {"targets": rows}})
        self.hub.receive(connection, text.encode(), 1)


def taken(connection, now_ns=1):
    frames = []
    while (frame := connection.channel.next_frame(now_ns)) is not None:
        frames.append(json.loads(frame))
    return [frame["data"] if frame["type"] == "market-update" else frame for frame in frames]


def kinds(rows):
    return [row["type"] for row in rows]


RUNG = ("event-market", "eventMarketId", str(MARKET))
COMPANY = ("market", "marketId", str(PROJECT))
BOOK, TRADE, TICKER = "prediction-orderbook", "prediction-trade", "prediction-ticker"


@pytest.fixture
def room():
    return Room()


def test_many_changes_between_two_flushes_are_one_book_frame(room):
    listener = room.connect(RUNG)
    taken(listener)
    for price in range(10, 40):
        room.buy(ANNA, Outcome.YES, price, 1, 5)
    assert taken(listener) == []
    room.hub.flush(6)
    (book,) = taken(listener)
    assert [level["price"] for level in book["yes"]] == list(range(39, 9, -1))
    room.hub.flush(7)
    assert taken(listener) == []


def test_a_book_read_late_is_not_sent_twice(room):
    listener = room.connect(RUNG)
    taken(listener)
    room.buy(ANNA, Outcome.YES, 10, 1, 5)
    room.hub.flush(6)
    room.buy(ANNA, Outcome.YES, 11, 1, 7)
    (first,) = taken(listener)
    room.hub.flush(8)
    (second,) = taken(listener)
    assert [level["price"] for level in first["yes"]] == [10]
    assert [level["price"] for level in second["yes"]] == [11, 10]


def test_a_change_before_a_subscription_is_only_in_its_first_book(room):
    gone = room.connect(RUNG)
    taken(gone)
    room.buy(ANNA, Outcome.YES, 40, 1, 2)
    room.hub.disconnect(gone)
    room.buy(ANNA, Outcome.YES, 39, 1, 2)
    late = room.connect(RUNG)
    _, book = taken(late)
    assert [level["price"] for level in book["yes"]] == [40, 39]
    room.hub.flush(3)
    assert taken(late) == []


def test_a_book_carries_the_instant_of_its_last_change(room):
    listener = room.connect(RUNG)
    assert taken(listener)[1]["ts"] == 1
    room.buy(ANNA, Outcome.YES, 10, 1, 5)
    room.hub.flush(60)
    assert taken(listener)[0]["ts"] == 5


def test_prints_are_sent_one_by_one_before_the_book(room):
    listener = room.connect(RUNG)
    taken(listener)
    room.buy(ANNA, Outcome.YES, 40, 3, 5)
    room.buy(ANNA, Outcome.YES, 39, 3, 5)
    room.buy(BRUNO, Outcome.NO, 61, 5, 6)
    room.hub.flush(7)
    rows = taken(listener)
    assert kinds(rows) == [TRADE, TICKER, TRADE, TICKER, BOOK]
    assert [(row["price"], row["size"], row["ts"]) for row in rows[:4:2]] == [
        (40, 3, 6),
        (39, 2, 6),
    ]


def test_implied_values_go_to_subscribers_of_the_company(room):
    follower, other = room.connect(COMPANY), room.connect(RUNG)
    taken(follower), taken(other)
    room.do(PublishImpliedValue(PROJECT, "212500000000", "0.75"), 9)
    assert taken(other) == []
    assert taken(follower) == [
        {
            "type": "prediction-implied-value",
            "symbol": "LINDEN",
            "marketId": PROJECT,
            "ts": 9,
            "impliedValue": "212500000000",
            "confidence": "0.75",
        }
    ]


def test_a_frame_is_encoded_once_for_everybody(room):
    first, second = room.connect(RUNG), room.connect(RUNG)
    taken(first), taken(second)
    room.buy(ANNA, Outcome.YES, 10, 1, 5)
    room.hub.flush(6)
    assert first.channel.next_frame(6) is second.channel.next_frame(6)


def test_an_emptied_subscription_receives_nothing(room):
    listener = room.connect(RUNG, COMPANY)
    room.subscribe(listener)
    taken(listener)
    room.buy(ANNA, Outcome.YES, 40, 3, 5)
    room.buy(BRUNO, Outcome.NO, 60, 3, 5)
    room.do(PublishImpliedValue(PROJECT, "1", "1"), 9)
    room.hub.flush(9)
    assert taken(listener) == []


def test_a_market_listed_after_its_uuid_was_subscribed_to_is_delivered(room):
    later = "00000000-0000-4000-8000-00000000000f"
    listener = room.connect(("event-market", "eventMarketId", later))
    assert kinds(taken(listener)) == ["subscribed"]
    changes = {"market_id": later, "ticker": "LINDEN-26Q4-2B", "strike_value": "2"}
    room.do(msgspec.structs.replace(OPENING[2], **changes), 5)
    room.hub.flush(6)
    assert [row["ticker"] for row in taken(listener)] == ["LINDEN-26Q4-2B"]


def test_the_hub_cuts_an_overdue_reader_only(room):
    cut: list[str] = []
    slow, fast = room.connect(RUNG, aborted=cut), room.connect(RUNG)
    taken(fast, STUCK_NS)
    assert room.hub.cut_overdue(STUCK_NS) == 0
    assert room.hub.cut_overdue(STUCK_NS + 1) == 1
    assert cut == ["cut"]
    room.buy(ANNA, Outcome.YES, 10, 1, STUCK_NS)
    room.hub.flush(STUCK_NS)
    assert kinds(taken(fast, STUCK_NS)) == [BOOK]
    room.hub.disconnect(slow)
    room.hub.disconnect(slow)
    assert room.hub.cut_overdue(STUCK_NS) == 0


def test_a_sleeping_reader_has_one_queued_frame_after_thousands_of_changes(room):
    listener = room.connect(RUNG)
    taken(listener)
    for step in range(3_000):
        room.buy(ANNA, Outcome.YES, 1 + step % 40, 1, step)
        room.hub.flush(step)
    assert listener.channel.backlog == 1


def test_an_order_that_fills_thousands_cuts_no_active_reader(room):
    cut: list[str] = []
    listener = room.connect(RUNG, aborted=cut)
    taken(listener)
    for _ in range(2_500):
        room.buy(ANNA, Outcome.NO, 1, 1, 1)
    room.buy(BRUNO, Outcome.YES, 99, 2_500, 1)
    assert kinds(taken(listener)).count(TRADE) == 2_500
    assert room.hub.cut_overdue(1) == 0
    assert cut == []
