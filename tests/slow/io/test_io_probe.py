"""Claims about what is tried at a venue before a start: who asks to wait is left alone, and a pong
is no answer to a subscription."""

import asyncio

import pytest

from bot.core import messages as m
from bot.io.client import preflight as probe
from bot.io.client.rest import Reply
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import Balance
from venue.wire.money import Cents
from venue.wire.names import MarketId, Ticker

pytestmark = pytest.mark.anyio


class Throttled:
    """A venue that is too busy for whatever is asked, and keeps in order what was done there."""

    has_standby = True

    def __init__(self, waits_ns: int | None, *, shows_balance: bool = False) -> None:
        self.done: list[object] = []
        self._reply = Reply(m.Rejected(429, "rate_limited", ""), retry_after_ns=waits_ns)
        self._shows_balance = shows_balance

    def key_for(self, request: m.Request) -> m.Key:
        return m.Key.TRADE

    async def ask(self, request: m.Request, key: m.Key | None = None) -> Reply:
        """Refuse it, but for the balance where that is shown."""
        self.done.append(type(request))
        if self._shows_balance and isinstance(request, m.ReadBalance):
            return Reply(m.Ok(m.BalanceBody(Balance(Cents(1), Cents(0), Cents(1)))))
        return self._reply

    async def sleep(self, seconds: float) -> None:
        self.done.append(seconds)


@pytest.mark.parametrize(
    ("waits_ns", "waits_s"), [(2 * NS_PER_SECOND, 2), (0, 0), (None, 1)], ids=["two", "none", "-"]
)
async def test_a_start_asks_nothing_more_before_the_wait_that_a_throttled_venue_asks_for_is_over(
    monkeypatch, waits_ns, waits_s
):
    venue = Throttled(waits_ns)
    monkeypatch.setattr(probe.asyncio, "sleep", venue.sleep)
    assert await probe.obstacles(venue, Ticker("ACME-VAL")) == []
    asked = [m.ReadBalance, m.CancelResting, m.ReadSeries]
    assert venue.done == [step for request in asked for step in (request, waits_s)]


async def test_a_check_asks_nothing_more_before_the_wait_that_a_throttled_venue_asks_for_is_over(
    monkeypatch,
):
    venue = Throttled(2 * NS_PER_SECOND, shows_balance=True)
    monkeypatch.setattr(probe.asyncio, "sleep", venue.sleep)
    found = await probe.probe(venue, "ws://127.0.0.1:1/v1/stream", Ticker("ACME-VAL"))
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
async def test_the_ticker_is_blamed_only_where_the_venue_has_no_such_series(answer, advice):
    class Answers:
        """A venue that says this of its series."""

        has_standby = False

        def key_for(self, request: m.Request) -> m.Key:
            return m.Key.TRADE

        async def ask(self, request: m.Request, key: m.Key | None = None) -> Reply:
            if isinstance(request, m.ReadBalance):
                return Reply(m.Ok(m.BalanceBody(Balance(Cents(1), Cents(0), Cents(1)))))
            if isinstance(request, m.ReadSeries):
                return Reply(answer)
            return Reply(m.Rejected(404, "order_not_found", ""))

    found = await probe.probe(Answers(), "ws://127.0.0.1:1/v1/stream", Ticker("ACME-VAL"))
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
async def test_a_pong_that_comes_first_is_no_answer_to_the_subscription(
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

    monkeypatch.setattr(probe, "Feed", Channel)
    monkeypatch.setattr(probe, "CHANNEL_S", 0.1 if not told else 30)
    shown = await probe._channel("ws://127.0.0.1:1/v1/stream", MarketId("m"))
    assert (shown.well, shown.found) == (well, found)
