"""Claims about the checks before a start: a throttling venue is waited for, and a pong
is no answer to a subscription."""

import asyncio

import pytest

from bot.core import messages as m
from bot.io.client import preflight
from bot.io.client.rest import Reply
from tests.builders.records import lived as records
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import Balance
from venue.wire.money import Cents
from venue.wire.names import Ticker

pytestmark = pytest.mark.anyio


class Venue:
    """A venue that gives every request one reply unless its kind has another; logs what is done."""

    has_standby = True

    def __init__(self, reply: Reply, replies: dict[type, m.Answer] | None = None) -> None:
        self.done: list[object] = []
        self._reply = reply
        self._replies = replies or {}

    def key_for(self, request: m.Request) -> m.Key:
        return m.Key.TRADE

    async def ask(self, request: m.Request, key: m.Key | None = None) -> Reply:
        self.done.append(type(request))
        own = self._replies.get(type(request))
        return self._reply if own is None else Reply(own)

    async def sleep(self, seconds: float) -> None:
        self.done.append(seconds)


BALANCE = m.Ok(m.BalanceBody(Balance(Cents(1), Cents(0), Cents(1))))


def throttled(wait_ns: int | None) -> Reply:
    return Reply(m.Rejected(429, "rate_limited", ""), retry_after_ns=wait_ns)


@pytest.mark.parametrize(
    ("waits_ns", "waits_s"), [(2 * NS_PER_SECOND, 2), (0, 0), (None, 1)], ids=["two", "none", "-"]
)
async def test_a_start_waits_as_long_as_a_throttling_venue_asks(monkeypatch, waits_ns, waits_s):
    venue = Venue(throttled(waits_ns))
    monkeypatch.setattr(preflight.asyncio, "sleep", venue.sleep)
    assert await preflight.obstacles(venue, Ticker("ACME-VAL")) == []
    asked = [m.ReadBalance, m.CancelResting, m.ReadSeries]
    assert venue.done == [step for request in asked for step in (request, waits_s)]


async def test_a_check_waits_as_long_as_a_throttling_venue_asks(
    monkeypatch,
):
    venue = Venue(throttled(2 * NS_PER_SECOND), {m.ReadBalance: BALANCE})
    monkeypatch.setattr(preflight.asyncio, "sleep", venue.sleep)
    found = await preflight.probe(venue, "ws://127.0.0.1:1/v1/stream", Ticker("ACME-VAL"))
    assert [each.well for each in found] == [True] + 6 * [False]
    refused = [
        *(m.CancelResting, m.CancelResting, m.ReadSeries),
        *(m.ReadResting, m.ReadFills, m.ReadPositions),
    ]
    assert venue.done == [m.ReadBalance, *(step for request in refused for step in (request, 2))]


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        (m.Rejected(404, "market_not_found", ""), "look up the series ticker"),
        (m.Ok(m.SeriesBody((), "")), "look up the series ticker"),
        (m.Rejected(400, "invalid_cursor", ""), "the venue answers otherwise"),
        (m.Unknown("cut off"), "the venue answers otherwise"),
        (m.Rejected(503, "engine_unavailable", ""), "check again in a moment"),
    ],
    ids=["not found", "no events", "a cursor that was not sent", "cut off", "not now"],
)
async def test_a_check_blames_the_ticker_only_where_the_venue_has_no_such_series(answer, advice):
    unknown = Reply(m.Rejected(404, "order_not_found", ""))
    venue = Venue(unknown, {m.ReadBalance: BALANCE, m.ReadSeries: answer})
    found = await preflight.probe(venue, "ws://127.0.0.1:1/v1/stream", Ticker("ACME-VAL"))
    (series,) = [each for each in found if each.name == "series"]
    assert advice in series.advice


@pytest.mark.parametrize(
    ("told", "well", "found"),
    [
        ([m.SubscriptionRefused("unknown_target", "")], False, "unknown_target"),
        ([m.SubscriptionAccepted()], True, "opens and takes a subscription"),
        ([m.FeedAlive()], True, "opens and answers"),
        ([], False, "opens but says nothing"),
    ],
    ids=["refused", "accepted", "a later pong alone", "nothing more"],
)
async def test_a_pong_is_not_taken_for_the_answer_to_the_subscription(
    monkeypatch, told, well, found
):
    class Channel:
        """One that opens, answers a ping, and then says this."""

        def __init__(self, url, emit) -> None:
            self._emit = emit

        def subscribe(self, wish: m.SubscribeTo) -> None:
            pass

        async def run(self) -> None:
            for event in (m.FeedOpened(), m.FeedAlive(), *told):
                self._emit(event)
                await asyncio.sleep(0)
            await asyncio.Event().wait()

    monkeypatch.setattr(preflight, "Feed", Channel)
    monkeypatch.setattr(preflight, "CHANNEL_S", 0.1 if not told else 30)
    market = records.market(1)
    series = m.Ok(m.SeriesBody((records.event(market),), ""))
    empty = {
        m.ReadSeries: series,
        m.ReadResting: m.Ok(m.OrdersBody((), "")),
        m.ReadBook: m.Ok(m.BookBody(model.Orderbook(market.ticker, market.market_id, "", (), ()))),
    }
    venue = Venue(Reply(m.Rejected(404, "order_not_found", "")), {m.ReadBalance: BALANCE} | empty)
    shown = await preflight.probe(venue, "ws://127.0.0.1:1/v1/stream", records.SERIES)
    (channel,) = [each for each in shown if each.name == "channel"]
    assert (channel.well, channel.found) == (well, found)
