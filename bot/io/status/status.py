"""The status page: HTML, JSON, a stream, metrics, health, and controls with a token.

The Host of a request must be one of ours, so that no other page can point its name here.
"""

import asyncio
from collections.abc import Mapping
from importlib import resources
from typing import Annotated, Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from bot.core.settings import BudgetPeriod
from bot.io.client.answers import plain
from bot.io.logs import LogTail
from bot.io.metrics.metrics import CONTENT_TYPE, pieces_of
from bot.io.status.control import (
    DIVISOR_MAX,
    REASON_MAX,
    Action,
    BudgetMore,
    Control,
    ExitTerms,
    ReduceTerms,
    Terms,
    ValueCommand,
)
from bot.io.status.serving import (
    JSON,
    HttpResponse,
    Message,
    Receive,
    Send,
    Streams,
    body_of,
    header,
    reply,
    said,
)
from bot.io.status.snapshot import Overview, StatusSource
from bot.page.skeleton import base_style
from venue.wire.limits import NOTIONAL_CENTS_MAX
from venue.wire.money import Cents
from venue.wire.names import Ticker, fold_ticker

BEAT_HEADER: Final = "x-laddermaker-beat"
"""When the trader last decided, on its own clock; the oldest of them where no series is named."""

REAPER_HEADER: Final = "x-laddermaker-reaper"
"""A reaper that watches this page sends it with each look."""

_LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
_BODY_MAX: Final = 4_096
_KEEP_S: Final = 1.0
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "trusted-types 'none'; require-trusted-types-for 'script'"
)
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", _POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
_KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_STREAM: Final = "text/event-stream"
_FIRST: Final = b'<script type="application/json" id="first">'
_CONTROL: Final = "/control/"
_ACTIONS: Final = {f"{_CONTROL}{action.value}": action for action in Action}


class _ControlBody(msgspec.Struct):
    reason: str
    event: str = ""
    account: bool = False
    size_divisor: Annotated[int, msgspec.Meta(ge=2, le=DIVISOR_MAX)] | None = None
    period: BudgetPeriod | None = None
    cents: Annotated[int, msgspec.Meta(gt=0, le=NOTIONAL_CENTS_MAX)] | None = None
    value: ValueCommand | None = None
    within_ms: int | None = None
    max_cost_cents: int | None = None

    @property
    def terms(self) -> Terms | None:
        """Of an exit, a reduction, a raise or a value; None for any other command. Raises
        ValueError for what no exit may have."""
        if self.value is not None:
            return self.value
        if self.size_divisor is not None:
            return ReduceTerms(self.size_divisor)
        if self.period is not None and self.cents is not None:
            return BudgetMore(self.period, Cents(self.cents))
        if self.within_ms is None or self.max_cost_cents is None:
            return None
        return ExitTerms.checked(self.within_ms, self.max_cost_cents)


def _page_files() -> dict[str, HttpResponse]:
    """The files of the page, by path; `/` is index.html."""
    files = {}
    for file in (resources.files("bot.io.status") / "page").iterdir():
        kind = _KINDS.get(file.name[file.name.rfind(".") :])
        if kind is not None:
            path = "/" if file.name == "index.html" else f"/{file.name}"
            base = base_style().encode() if file.name == "page.css" else b""
            files[path] = HttpResponse(200, kind, base + file.read_bytes())
    return files


class StatusApp:
    """The series of this process, of which the first is the default. control: None while the
    controls are off."""

    def __init__(
        self,
        shown: Mapping[Ticker, StatusSource],
        allowed_hosts: tuple[str, ...],
        *,
        control: Control | None = None,
        tail: LogTail | None = None,
        streams: Streams | None = None,
    ) -> None:
        self._shown = dict(shown)
        self._hosts = frozenset(host.lower() for host in (*_LOOPBACK_HOSTS, *allowed_hosts))
        self._control = control
        self._streams = streams or Streams()
        self._files = _page_files()
        names = {ticker: each.name for ticker, each in self._shown.items()}
        self._overviews = {
            ticker: Overview(each, tail, names, control=control is not None)
            for ticker, each in self._shown.items()
        }

    async def keep(self) -> None:
        """Record the history, whether anybody looks or not."""
        while True:
            for overview in self._overviews.values():
                overview.sample_history()
            await asyncio.sleep(_KEEP_S)

    def close(self) -> None:
        self._streams.close()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path, method = scope["path"], scope["method"]
        asked = _series_asked(scope)
        headers = (*self._beat(asked), *_HEADERS)
        if _host(scope) not in self._hosts:
            await reply(send, said(421, "not a name of this host"), headers)
            return
        if header(scope, REAPER_HEADER.encode()):
            for each in self._shown.values():
                each.metrics.on_reaper_visit()
        if asked is not None and asked not in self._shown:
            answer = said(404, "no such series")
        elif path in _ACTIONS:
            answer = await self._controlled(scope, receive, _ACTIONS[path], asked)
        elif method not in ("GET", "HEAD"):
            answer = said(405, "GET only", (b"allow", b"GET, HEAD"))
        elif path == "/events" and not self._streams.is_full:
            if method == "GET":
                await self._stream(asked, headers, receive, send)
                return
            answer = HttpResponse(200, _STREAM, b"")
        else:
            answer = await self._answer(path, asked)
        await reply(send, answer, headers)

    # --- reading ----------------------------------------------------------------------------------

    def _asked(self, series: Ticker | None) -> list[tuple[Ticker, StatusSource]]:
        return [each for each in self._shown.items() if series in (None, each[0])]

    async def _answer(self, path: str, asked: Ticker | None) -> HttpResponse:
        if path == "/":
            return self._page(asked)
        if path in self._files:
            return self._files[path]
        if path == "/healthz":
            why = self._unhealthy(asked)
            return said(503 if why else 200, why or "ok")
        ticker = next(iter(self._shown)) if asked is None else asked
        if path == "/metrics":
            return HttpResponse(200, CONTENT_TYPE, await self._metrics(asked))
        if path == "/status.json":
            return HttpResponse(200, JSON, msgspec.json.encode(self._overviews[ticker].status()))
        plan = self._shown[ticker].plan
        if path == "/plan.json" and plan is not None:
            return HttpResponse(200, JSON, msgspec.json.encode(plan()))
        if path == "/events":
            return said(503, "too many readers: close another page", (b"retry-after", b"5"))
        return said(404, "no such page")

    async def _metrics(self, asked: Ticker | None) -> bytes:
        """The metrics of a series, or of all; the traders run between its pieces."""
        parts = [each.metrics for _, each in self._asked(asked)]
        pieces = []
        for piece in pieces_of(parts):
            pieces.append(piece)
            await asyncio.sleep(0)
        return b"".join(pieces)

    def _page(self, asked: Ticker | None) -> HttpResponse:
        """The page with a first snapshot in it, which saves a round trip."""
        page = self._files["/"]
        ticker = next(iter(self._shown)) if asked is None else asked
        told = msgspec.json.encode(self._overviews[ticker].status())
        # No character in it can end the element around it.
        body = page.body.replace(_FIRST, _FIRST + told.replace(b"<", b"\\u003c"), 1)
        return HttpResponse(page.status, page.kind, body)

    def _unhealthy(self, asked: Ticker | None) -> str:
        """Why a series, or any of them, is unhealthy; "" when all is well."""
        reasons = []
        for ticker, shown in self._asked(asked):
            snapshot = shown.look()
            why = "starting" if snapshot is None else snapshot.unhealthy()
            if why:
                reasons.append(f"{ticker}: {why}" if len(self._shown) > 1 else why)
        return "; ".join(reasons)

    def _beat(self, asked: Ticker | None) -> tuple[tuple[bytes, bytes], ...]:
        """The header with the last decision of a series, or of the one furthest behind."""
        snapshots = [shown.look() for _, shown in self._asked(asked)]
        decided = [each.decided_ns for each in snapshots if each is not None]
        if not decided or len(decided) < len(snapshots):
            return ()
        return ((BEAT_HEADER.encode(), b"%d" % min(decided)),)

    async def _stream(
        self,
        asked: Ticker | None,
        headers: tuple[tuple[bytes, bytes], ...],
        receive: Receive,
        send: Send,
    ) -> None:
        ticker = next(iter(self._shown)) if asked is None else asked
        kind = (b"content-type", _STREAM.encode())
        await send({"type": "http.response.start", "status": 200, "headers": [kind, *headers]})
        await self._streams.feed(receive, send, self._overviews[ticker].reader().news)

    # --- control ----------------------------------------------------------------------------------

    async def _controlled(
        self, scope: Message, receive: Receive, action: Action, asked: Ticker | None
    ) -> HttpResponse:
        if scope["method"] != "POST":
            return said(405, "POST only", (b"allow", b"POST"))
        if self._control is None:
            return said(403, "the controls are off: see status.control in the configuration")
        if not _same_origin(scope):
            return said(403, "not from a page of another origin")
        if not self._control.admits(header(scope, b"authorization")):
            return said(401, "the token is missing or wrong", (b"www-authenticate", b"Bearer"))
        body = _control_body(await body_of(receive, _BODY_MAX))
        if body is None:
            return said(400, f'send {{"reason": "..."}} of 1 to {REASON_MAX} characters')
        event = fold_ticker(body.event) if body.event else None
        try:
            terms = body.terms
        except ValueError as fault:
            return said(400, str(fault))
        if action is Action.RAISE_BUDGET and not isinstance(terms, BudgetMore):
            return said(400, f"send period and cents, 1 to {NOTIONAL_CENTS_MAX}, too")
        refusal = await self._control.send_command(
            action, body.reason, asked, event, terms, account=body.account
        )
        if refusal is not None:
            return said(409, refusal)
        return HttpResponse(202, JSON, msgspec.json.encode({"done": action.value}))


def _control_body(body: bytes | None) -> _ControlBody | None:
    """A body, printable and trimmed; None without a reason."""
    try:
        asked = msgspec.json.decode(body or b"", type=_ControlBody)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    reason = asked.reason.strip()
    if not 1 <= len(reason) <= REASON_MAX:
        return None
    value = asked.value
    if value is not None and value.about is not None:
        about = fold_ticker(plain(value.about[:REASON_MAX].strip(), None))
        value = msgspec.structs.replace(value, about=about)
    event = plain(asked.event[:REASON_MAX].strip(), None)
    return msgspec.structs.replace(asked, reason=plain(reason, None), event=event, value=value)


def _same_origin(scope: Message) -> bool:
    """True unless a browser says that a page of another origin sent this."""
    origin = header(scope, b"origin")
    try:
        place = None if origin is None else urlsplit(origin).netloc.lower()
    except ValueError:  # no address at all, such as http://[
        return False
    if place is not None and place != (header(scope, b"host") or "").lower():
        return False
    return header(scope, b"sec-fetch-site") in (None, "same-origin", "none")


def _series_asked(scope: Message) -> Ticker | None:
    """The series that the query names; None when it names none."""
    named = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("series")
    return Ticker(named[-1]) if named else None


def _host(scope: Message) -> str:
    """The Host header without its port, lower case; "" when absent or repeated."""
    text = (header(scope, b"host") or "").lower()
    return text if text.endswith("]") else text.rpartition(":")[0] or text
