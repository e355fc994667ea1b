"""Claims about the checks before a start: a throttling venue is waited for, and a pong
is no answer to a subscription."""

import asyncio

import msgspec
import pytest

from bot.core import messages as m
from bot.core.settings import CalendarEntry
from bot.core.trading_state import TradingState
from bot.io.adapter import Connection, VenueAddress
from bot.io.client import preflight
from bot.io.secret import Secret
from tests.builders.records import lived as records
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import Balance
from venue.wire.money import Cents
from venue.wire.names import Ticker

pytestmark = pytest.mark.anyio


ADDRESS = VenueAddress(
    "http://127.0.0.1:1/v1",
    "ws://127.0.0.1:1/v1/stream",
    Secret("k" * 20),
    {m.Key.STANDBY: Secret("s" * 20)},
)


class Venue:
    """A venue that gives every request one reply unless its kind has another; logs what is done.

    channel_of: makes its channel.
    """

    def __init__(self, reply, replies: dict[type, m.Answer] | None = None, channel_of=None) -> None:
        self.done: list[object] = []
        self._reply = reply
        self._replies = replies or {}
        self.connection = Connection(self, channel_of)

    def start(self, send: m.Send, answered) -> None:
        self.done.append(type(send.request))
        own = self._replies.get(type(send.request))
        answered(self._reply if own is None else m.Response(send.request_id, own))

    async def sleep(self, seconds: float) -> None:
        self.done.append(seconds)


EVENT = records.event(records.market(1))
BALANCE = m.Ok(m.BalanceBody(Balance(Cents(1), Cents(0), Cents(1))))


def reply(answer: m.Answer, wait_ns: int | None = None) -> m.Response:
    return m.Response(m.RequestId(0), answer, retry_after_ns=wait_ns)


def throttled(wait_ns: int | None) -> m.Response:
    return reply(m.Rejected(429, "rate_limited", ""), wait_ns)


@pytest.mark.parametrize(
    ("waits_ns", "waits_s"), [(2 * NS_PER_SECOND, 2), (0, 0), (None, 1)], ids=["two", "none", "-"]
)
async def test_a_start_waits_as_long_as_a_throttling_venue_asks(monkeypatch, waits_ns, waits_s):
    venue = Venue(throttled(waits_ns))
    monkeypatch.setattr(preflight.asyncio, "sleep", venue.sleep)
    assert await preflight.obstacles(venue.connection, ADDRESS, Ticker("ACME-VAL")) == []
    asked = [m.ReadBalance, m.CancelResting, m.ReadSeries]
    assert venue.done == [step for request in asked for step in (request, waits_s)]


async def test_a_check_waits_as_long_as_a_throttling_venue_asks(
    monkeypatch,
):
    venue = Venue(throttled(2 * NS_PER_SECOND), {m.ReadBalance: BALANCE})
    monkeypatch.setattr(preflight.asyncio, "sleep", venue.sleep)
    found = await preflight.probe(venue.connection, ADDRESS, Ticker("ACME-VAL"))
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
    unknown = reply(m.Rejected(404, "order_not_found", ""))
    venue = Venue(unknown, {m.ReadBalance: BALANCE, m.ReadSeries: answer})
    found = await preflight.probe(venue.connection, ADDRESS, Ticker("ACME-VAL"))
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

        def __init__(self, emit) -> None:
            self._emit = emit

        def subscribe(self, wish: m.SubscribeTo) -> None:
            pass

        async def run(self) -> None:
            for event in (m.FeedOpened(), m.FeedAlive(), *told):
                self._emit(event)
                await asyncio.sleep(0)
            await asyncio.Event().wait()

    monkeypatch.setattr(preflight, "CHANNEL_S", 0.1 if not told else 30)
    market = records.market(1)
    series = m.Ok(m.SeriesBody((records.event(market),), ""))
    empty = {
        m.ReadSeries: series,
        m.ReadResting: m.Ok(m.OrdersBody((), "")),
        m.ReadBook: m.Ok(m.BookBody(model.Orderbook(market.ticker, market.market_id, "", (), ()))),
    }
    unknown = reply(m.Rejected(404, "order_not_found", ""))
    venue = Venue(unknown, {m.ReadBalance: BALANCE} | empty, Channel)
    shown = await preflight.probe(venue.connection, ADDRESS, records.SERIES)
    (channel,) = [each for each in shown if each.name == "channel"]
    assert (channel.well, channel.found) == (well, found)


def date(name: str, at_s: int, event: str | None = None, **fields: object) -> CalendarEntry:
    return CalendarEntry(
        at_ns=at_s * NS_PER_SECOND,
        name=name,
        event_ticker=event,
        before_ns=100 * NS_PER_SECOND,
        after_ns=50 * NS_PER_SECOND,
        state=TradingState.HALTED,
        **fields,
    )


class SilentChannel:
    def __init__(self, emit) -> None:
        pass

    def subscribe(self, wish: m.SubscribeTo) -> None:
        pass

    async def run(self) -> None:
        await asyncio.Event().wait()


async def test_a_check_shows_the_next_date_of_each_event_on_every_page_of_the_series(
    monkeypatch,
):
    first, second = EVENT, msgspec.structs.replace(EVENT, event_ticker=Ticker("ACME-VAL-2"))

    class Paged(Venue):
        def start(self, send: m.Send, answered) -> None:
            if isinstance(send.request, m.ReadSeries):
                page = ((second,), "") if send.request.cursor else ((first,), "more")
                answered(m.Response(send.request_id, m.Ok(m.SeriesBody(*page))))
            else:
                super().start(send, answered)

    venue = Paged(reply(m.Rejected(404, "order_not_found", "")), {m.ReadBalance: BALANCE})
    monkeypatch.setattr(preflight, "CHANNEL_S", 0.0)
    venue.connection = Connection(venue, SilentChannel)
    calendar = (
        date("call", 900),
        date("results", 500, "ACME-VAL-2", width_pct=150, variance_ns=5 * 3_600 * NS_PER_SECOND),
    )
    found = await preflight.probe(venue.connection, ADDRESS, Ticker("ACME-VAL"), calendar)
    assert [each.found for each in found if each.name == "calendar"] == [
        f"{first.event_ticker}: call at 1970-01-01T00:15:00Z: halted from 1970-01-01T00:13:20Z "
        "until 1970-01-01T00:15:50Z",
        "ACME-VAL-2: results at 1970-01-01T00:08:20Z: halted, width 150 % from "
        "1970-01-01T00:06:40Z until 1970-01-01T00:09:10Z, worth 5 hours of variance",
    ]


@pytest.mark.parametrize(
    ("calendar", "said"),
    [
        ((date("call", 900, "ACME-VAL-9"),), "the venue lists no event ACME-VAL-9, which has call"),
        ((date("call", 100), date("tea", 90)), "every date is over; the last was call at 1970-01"),
    ],
    ids=["not listed", "over"],
)
def test_a_check_warns_of_dates_that_can_hold_for_no_event(calendar, said):
    (found,) = preflight.calendar_findings(calendar, [EVENT], 150 * NS_PER_SECOND)
    assert found.found.startswith(said)
    assert (found.well, found.is_warning) == (True, True)
