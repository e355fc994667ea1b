"""Checks at a venue before trading: reach it, read, trade scope, the series, the channel.

Nothing is changed at the venue: cancelling an order that cannot exist proves the trade scope.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeGuard, get_args

import msgspec

from bot.core import messages as m
from bot.core.orders.outbox import TOO_MANY, WAIT_DEFAULT_NS
from bot.core.settings import CalendarEntry
from bot.io.adapter import (
    Connection,
    Emit,
    MarketChannel,
    OrderClient,
    VenueAdapter,
    VenueAddress,
    ask,
    connect,
    read_key,
    what_is_missing,
)
from bot.strategy.variants import Variant
from venue.wire import model
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND, second_of
from venue.wire.names import MarketId, OrderId, Ticker, fold_ticker

NO_SUCH_ORDER: Final = OrderId("9" * 20)
"""A well-formed id above 2**64, which no venue of this interface gives out."""

CHANNEL_S: Final = 8.0
REACH_TRIES: Final = 10
REACH_PAUSE_S: Final = 0.5
"""Between tries: a venue that is being started gets five seconds."""


_PASSING: Final = frozenset(
    {
        Code.RATE_LIMITED,
        Code.ENGINE_OVERLOADED,
        Code.ENGINE_UNAVAILABLE,
        Code.RESULT_UNKNOWN,
        Code.INTERNAL_ERROR,
        Code.VENUE_HALTED,
        Code.VENUE_CANCEL_ONLY,
    }
)
_OTHERWISE: Final = "the venue answers otherwise than its interface says"
_PASSES: Final = "the venue is there and cannot answer this now: check again in a moment"


class Finding(msgspec.Struct, frozen=True):
    """Result of one check. advice: empty when it is well. is_warning: it is well, and yet a person
    should look at it."""

    name: str
    well: bool
    found: str
    advice: str = ""
    is_warning: bool = False


async def probe(
    connection: Connection,
    address: VenueAddress,
    series_ticker: Ticker,
    calendar: Sequence[CalendarEntry] = (),
    variants: Sequence[Variant] = (),
    now_ns: int = 0,
) -> list[Finding]:
    """All checks in order; a venue that cannot be reached ends them early. calendar: its dates are
    compared with the events that the venue lists and with now_ns. variants: likewise with the rungs
    that it lists."""
    client, reads = connection.requests, read_key(address)
    findings = _lacking(connection)
    findings.append(_read_scope(await _answered(client, m.ReadBalance(), reads), reads))
    if not findings[-1].well:
        return findings
    cancel = m.CancelResting(NO_SUCH_ORDER)
    findings.append(_trade_scope(await _answered(client, cancel)))
    if m.Key.STANDBY in address.others:
        answer = await _answered(client, cancel, m.Key.STANDBY)
        findings.append(msgspec.structs.replace(_trade_scope(answer), name="standby key"))
    answer = await _answered(client, m.ReadSeries(series_ticker, ""), reads)
    series, rungs = _series(answer, series_ticker)
    findings.append(series)
    if (
        (calendar or variants)
        and isinstance(answer, m.Ok)
        and isinstance(answer.body, m.SeriesBody)
    ):
        events = await _all_events(client, series_ticker, answer.body, reads)
        findings += calendar_findings(calendar, events, now_ns) if calendar else []
        findings += variant_findings(variants, events)
    findings += await _account(client, reads)
    if rungs:
        findings.append(await _book(client, rungs[0], reads))
        findings.append(await _channel(connection, address.stream_url, rungs[0]))
    return findings


async def obstacles(
    connection: Connection, address: VenueAddress, series_ticker: Ticker
) -> list[Finding]:
    """The first thing that makes it pointless to begin, or nothing: a venue that lacks what trading
    needs, no answer for five seconds, key or scope rejected, no such series."""
    client, reads = connection.requests, read_key(address)
    if lacking := _lacking(connection):
        return lacking
    balance = await _until_reached(lambda: _answered(client, m.ReadBalance(), reads))
    if _is_refused(balance, 0, 401, 403):
        return [_read_scope(balance, reads)]
    cancel = await _answered(client, m.CancelResting(NO_SUCH_ORDER))
    if _is_refused(cancel, 401, 403):
        return [_trade_scope(cancel)]
    series = await _answered(client, m.ReadSeries(series_ticker, ""), reads)
    if _is_refused(series, 400, 404):
        return [_series(series, series_ticker)[0]]
    return []


def _lacking(connection: Connection) -> list[Finding]:
    lacks = what_is_missing(connection.capabilities)
    return [Finding("capabilities", False, "the venue cannot be traded", lacks)] if lacks else []


async def series_obstacle(
    read: Callable[[m.ReadSeries], Awaitable[m.Response]], series_ticker: Ticker
) -> str:
    """Why a series cannot be followed by reads alone, and what to do; empty where it can be.
    Retries a silent venue for five seconds."""

    async def ask() -> m.Answer:
        return (await read(m.ReadSeries(series_ticker, ""))).answer

    answer = await _until_reached(ask)
    if not _is_refused(answer, 0, 400, 401, 403, 404):
        return ""
    said = answer.code or answer.message
    return f"{series_ticker}: {said}; check venue, key and series with `bot check`"


async def _answered(client: OrderClient, request: m.Request, key: m.Key = m.Key.TRADE) -> m.Answer:
    """The answer to a request; obeys Retry-After of a rate limit."""
    reply = await ask(client, request, key)
    if _is_refused(reply.answer, TOO_MANY):
        waits_ns = reply.retry_after_ns
        await asyncio.sleep((WAIT_DEFAULT_NS if waits_ns is None else waits_ns) / NS_PER_SECOND)
    return reply.answer


async def _until_reached(ask: Callable[[], Awaitable[m.Answer]]) -> m.Answer:
    """The answer to a read, with retries while there is none."""
    answer = await ask()
    for _ in range(REACH_TRIES - 1):
        if not _is_refused(answer, 0):
            break
        await asyncio.sleep(REACH_PAUSE_S)
        answer = await ask()
    return answer


def _is_refused(answer: m.Answer, *statuses: int) -> TypeGuard[m.Rejected]:
    return isinstance(answer, m.Rejected) and answer.status in statuses


def _said(answer: m.Answer) -> str:
    match answer:
        case m.Rejected(status=0):
            return f"not reached: {answer.message}"
        case m.Rejected():
            return f"{answer.status} {answer.code}".rstrip()
        case m.Unknown():
            return answer.reason
        case m.Ok():
            return "read"


def _advice(answer: m.Answer, otherwise: str) -> str:
    """The advice about an answer; `otherwise` where a retry will not help."""
    return _PASSES if _said(answer).rpartition(" ")[2] in _PASSING else otherwise


def _read_scope(answer: m.Answer, reads: m.Key) -> Finding:
    key = "the read key" if reads is m.Key.READ else "the key"
    if isinstance(answer, m.Ok):
        return Finding("read scope", True, "the balance can be read")
    advice = "see whether the venue runs and venue.base_url is its address"
    if _is_refused(answer, 401):
        advice = f"the venue does not know {key}: make a new one for this environment"
    elif _is_refused(answer, 403):
        advice = f"give {key} the scope read; trade does not include it"
    return Finding("read scope", False, _said(answer), advice)


def _trade_scope(answer: m.Answer) -> Finding:
    """The cancel of an order that cannot exist: let through and not found."""
    if isinstance(answer, m.Rejected) and answer.code == Code.ORDER_NOT_FOUND:
        return Finding("trade scope", True, "a cancel is let through to the orders")
    advice = "not the answer of the interface; see whether venue.base_url is the right address"
    advice = _advice(answer, advice)
    if _is_refused(answer, 403):
        advice = "give the key the scope trade"
    elif _is_refused(answer, 401):
        advice = "the venue does not know this key: make a new one for this environment"
    return Finding("trade scope", False, _said(answer), advice)


def _series(answer: m.Answer, ticker: Ticker) -> tuple[Finding, list[MarketId]]:
    if isinstance(answer, m.Ok) and isinstance(answer.body, m.SeriesBody):
        rungs = [market.market_id for event in answer.body.events for market in event.markets]
        if rungs:
            events = len(answer.body.events)
            return Finding("series", True, f"{events} events, {len(rungs)} rungs"), rungs
    advice = _OTHERWISE
    if isinstance(answer, m.Ok) or _is_refused(answer, 404):
        advice = f"look up the series ticker of the venue; {ticker} has no rungs there"
    return Finding("series", False, _said(answer), _advice(answer, advice)), []


async def _all_events(
    client: OrderClient, ticker: Ticker, body: m.SeriesBody, reads: m.Key
) -> list[model.Event]:
    """The events of a first page and of those after it, as far as they can be read."""
    events = list(body.events)
    while body.cursor:
        answer = await _answered(client, m.ReadSeries(ticker, body.cursor), reads)
        if not (isinstance(answer, m.Ok) and isinstance(answer.body, m.SeriesBody)):
            break
        body = answer.body
        events += body.events
    return events


def calendar_findings(
    calendar: Sequence[CalendarEntry], events: Iterable[model.Event], now_ns: int
) -> list[Finding]:
    """The next date of each event that has not settled; and warnings: dates of events that are not
    listed, and a calendar that is over."""
    listed = {event.event_ticker: event for event in events}
    ahead = sorted(
        (each for each in calendar if max(each.at_ns, each.until_ns) > now_ns),
        key=lambda each: each.at_ns,
    )
    findings = []
    for ticker, event in listed.items():
        mine = [each for each in ahead if each.event_ticker in (None, ticker)]
        if mine and event.status is not model.EventStatus.SETTLED:
            findings.append(Finding("calendar", True, f"{ticker}: {mine[0].text()}"))
    if not ahead:
        last = max(calendar, key=lambda each: each.at_ns)
        text = f"every date is over; the last was {last.name} at {second_of(last.at_ns)}"
        findings.append(Finding("calendar", True, text, "add the dates to come", is_warning=True))
    unlisted = {each.event_ticker: each for each in reversed(ahead) if each.event_ticker}
    for named, each in unlisted.items():
        if named not in listed:
            text = f"the venue lists no event {named}, which has {each.text()}"
            advice = "correct calendar.event; a date holds once its event is listed"
            findings.append(Finding("calendar", True, text, advice, is_warning=True))
    return findings


def variant_findings(variants: Sequence[Variant], events: Iterable[model.Event]) -> list[Finding]:
    """How many listed rungs each variant covers; a warning of one that covers none."""
    rungs = [
        (fold_ticker(e.event_ticker), fold_ticker(r.ticker)) for e in events for r in e.markets
    ]
    findings = []
    for each in variants:
        covered = sum(each.covers(*rung) for rung in rungs)
        text = f"{each.name} covers {covered} of {len(rungs)} rungs"
        advice = "" if covered else "correct its events and rungs, or wait until they are listed"
        findings.append(Finding("variants", True, text, advice, is_warning=not covered))
    return findings


async def _account(client: OrderClient, reads: m.Key) -> list[Finding]:
    out = []
    lists: tuple[tuple[str, m.Read], ...] = (
        ("orders", m.ReadResting("")),
        ("fills", m.ReadFills("")),
        ("positions", m.ReadPositions("")),
    )
    for name, request in lists:
        answer = await _answered(client, request, reads)
        well = isinstance(answer, m.Ok)
        advice = "" if well else _advice(answer, _OTHERWISE)
        out.append(Finding(name, well, _said(answer), advice))
    return out


async def _book(client: OrderClient, rung: MarketId, reads: m.Key) -> Finding:
    answer = await _answered(client, m.ReadBook(rung), reads)
    well = isinstance(answer, m.Ok)
    advice = "" if well else "without it a quiet book cannot be confirmed"
    return Finding("order book", well, _said(answer), advice)


async def _channel(connection: Connection, stream_url: str, rung: MarketId) -> Finding:
    heard: asyncio.Queue[m.Event] = asyncio.Queue()
    feed = connection.channel_of(heard.put_nowait)
    feed.subscribe(m.SubscribeTo((rung,), ()))
    running = asyncio.ensure_future(feed.run())
    opened, pongs = False, 0
    try:
        async with asyncio.timeout(CHANNEL_S):
            while True:
                event = await heard.get()
                opened = opened or isinstance(event, m.FeedOpened)
                # The first pong may overtake the answer to the subscription.
                pongs += isinstance(event, m.FeedAlive)
                if pongs > 1 or isinstance(event, m.SubscriptionAccepted | m.BookUpdate):
                    found = "opens and answers" if pongs > 1 else "opens and takes a subscription"
                    return Finding("channel", True, found)
                if isinstance(event, m.SubscriptionRefused):
                    return Finding("channel", False, event.code, "a rung's UUID was refused")
    except TimeoutError:
        found = "opens but says nothing" if opened else "does not open"
        return Finding("channel", False, found, f"see venue.stream_url ({stream_url})")
    finally:
        running.cancel()
        await asyncio.wait([running])


PublicRead = m.ReadSeries | m.ReadBook
"""The reads that show no account."""

PUBLIC_READS: Final[tuple[type[PublicRead], ...]] = get_args(PublicRead)


class PublicVenue:
    """The series, the books and the channel of a venue, for a program that must never write there.

    The key needs the scope read alone. Needs a running loop; end it with `drain`.
    """

    def __init__(self, adapter: VenueAdapter, address: VenueAddress) -> None:
        self._connection = connect(adapter, address, 1)

    async def read_public(self, request: PublicRead) -> m.Response:
        """Raises nothing: a fault is an answer."""
        assert isinstance(request, PUBLIC_READS), "a paper run asks for nothing else"
        return await ask(self._connection.requests, request)

    def channel(self, emit: Emit) -> MarketChannel:
        return self._connection.channel_of(emit)

    async def close(self) -> None:
        await self._connection.requests.drain()
