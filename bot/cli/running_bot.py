"""How a command reaches a running bot: by its status page, with the token that opens its
controls."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import httpx
import msgspec

from bot.cli.common import EXIT_CONFIGURATION, EXIT_LEFT_OVER, EXIT_VENUE, fail
from bot.config.bot_config import Draft, ExternalSettings
from bot.core.report import Phase, Report
from bot.io.client.sockets import trusted
from bot.io.secret import Secret, from_file
from bot.io.state.small_files import HERE, page_kept
from bot.io.status.control import TOKEN_NAME
from venue.wire.names import Ticker, fold_ticker

ANSWER_S: Final = 5.0
NO_ANSWER: Final = "the bot may have received it all the same; see bot status"
_OK: Final = 200
_ACCEPTED: Final = 202
_REASON_MAX: Final = 200
_MAYBE_RECEIVED: Final = (
    httpx.ReadError,
    httpx.WriteError,
    httpx.RemoteProtocolError,
    httpx.ReadTimeout,
)
"""Errors after which the bot may have received the request."""


class StatusBody(msgspec.Struct):
    """What `/status.json` holds. report: None while the bot starts. unhealthy, notice: why, or
    empty. state: for a person."""

    report: Report | None
    age_ms: int | None
    unhealthy: str
    notice: str = ""
    state: str = ""


class StatusPage(NamedTuple):
    """A running bot. base: the address of its page, without a slash at the end. series: the one of
    the configuration, or the only one the bot trades; "" means all of them."""

    base: str
    series: str

    def fetch_path(self, path: str) -> bytes:
        """The body of a path of the page; ends with 3 if it has no answer or no such path."""
        answer = _request(f"{self.base}{path}", self.series)
        if answer.status_code != _OK:
            fail(EXIT_VENUE, f"{self.base}{path}: {answer.status_code} {answer.text.strip()}")
        return answer.content

    def fetch_status(self) -> tuple[StatusBody, bytes]:
        """The status, and the same as JSON; ends with 3 without an answer of this version."""
        body = self.fetch_path("/status.json")
        try:
            return msgspec.json.decode(body, type=StatusBody), body
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            fail(EXIT_VENUE, f"{self.base}: not the status of a bot of this version: {fault}")

    def request_action(self, action: str, body: Mapping[str, object], token: Secret) -> str:
        """Ask for an action: "" if the bot accepts, else why it refuses. Ends with 3 unanswered.

        body: reason, and what else the action takes (docs/operations.md#the-status-page).
        """
        headers = {"Authorization": f"Bearer {token.reveal()}"}
        answer = _request(f"{self.base}/control/{action}", self.series, headers, body)
        if answer.status_code == _ACCEPTED:
            return ""
        return answer.text.strip() or f"it answers {answer.status_code}"

    def is_paused(self) -> bool:
        """True if the bot says that it is paused. Ends with 3 without an answer."""
        shown, _ = self.fetch_status()
        return shown.report is not None and shown.report.phase is Phase.PAUSED


class Unanswered(Exception):
    """No bot answers; the text says what was tried and how it failed, `remedy` what to do."""

    def __init__(self, tried: str, remedy: str) -> None:
        super().__init__(tried)
        self.remedy = remedy


# --- finding it -----------------------------------------------------------------------------------


def base_of(draft: Draft, status: str, state: Path | None = None) -> str:
    """The address of the bot's page: the one named, else the one in its state directory, else that
    of the configuration. Ends with 2 where the configured port is 0."""
    if status:
        address = status if "://" in status else f"http://{status}"
        return address.rstrip("/").removesuffix("/status.json")
    if address := page_kept(state or draft.state.directory):
        return address
    settings = draft.file.status
    if settings.port == 0:
        fail(
            EXIT_CONFIGURATION,
            f"{draft.source.path}: status.port is 0, so each run has another port; name it with "
            "--status, as the bot prints it at its start",
        )
    host = HERE.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def require_bot(draft: Draft, status: str = "", state: Path | None = None) -> StatusPage:
    """The running bot of a configuration; ends with 3 if none answers, or a stranger's."""
    base = base_of(draft, status, state)
    page = _bot_at(draft, base)
    if page is None:
        fail(EXIT_VENUE, f"{base}: no bot answers there; start one, or name its page with --status")
    return page


def find_bot(draft: Draft, status: str = "", state: Path | None = None) -> StatusPage | None:
    """The running bot of a configuration; None if none answers. Ends with 3 for a stranger's."""
    configured = status or draft.file.status.port or page_kept(state or draft.state.directory)
    return _bot_at(draft, base_of(draft, status, state)) if configured else None


def _bot_at(draft: Draft, base: str) -> StatusPage | None:
    try:
        answer = _answer(f"{base}/status.json", "")
    except Unanswered:
        return None
    if answer.status_code != _OK:
        return None
    try:
        body = msgspec.json.decode(answer.content, type=dict[str, msgspec.Raw])
        series = msgspec.json.decode(body["series"], type=tuple[Ticker, ...])
        names = msgspec.json.decode(body["names"], type=tuple[str, ...])
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
        fail(EXIT_VENUE, f"{base}: what answers there is no bot of this version")
    wanted = fold_ticker(draft.file.series)
    bots = dict(zip(series, names, strict=False))
    # A tape on the embedded venue has a series of its own, whatever the configuration says.
    if len(series) == 1 and not isinstance(draft.venue, ExternalSettings):
        wanted = series[0]
    if bots.get(wanted) == draft.name:
        return StatusPage(base, wanted)
    there = ", ".join(f"{name} on {ticker}" for ticker, name in bots.items())
    mine = f"{draft.name} on {fold_ticker(draft.file.series)}"
    fail(EXIT_VENUE, f"{base}: the bot there is {there}, and {draft.source.path} describes {mine}")


# --- asking it ------------------------------------------------------------------------------------


def require_action(
    action: str,
    draft: Draft,
    reason: str,
    status: str,
    state: Path | None,
    more: Mapping[str, object] = {},
) -> StatusPage:
    """Ask the running bot for an action; returns once it accepted. more: what else it takes.

    Ends with 2 for an empty or long reason, with 3 if no bot answers or there is no token, and with
    4 if the bot refuses.
    """
    if not 1 <= len(reason.strip()) <= _REASON_MAX:
        fail(EXIT_CONFIGURATION, f"--reason: 1 to {_REASON_MAX} characters")
    page = require_bot(draft, status, state)
    token = token_of(draft, state)
    if token is None:
        fail(
            EXIT_VENUE,
            f"{state or draft.state.directory}: no control token there; set status.control: true "
            "and restart the bot, or name its state directory with --state-dir. SIGUSR1 pauses and "
            "SIGUSR2 resumes without one",
        )
    if refusal := page.request_action(action, {"reason": reason, **more}, token):
        fail(EXIT_LEFT_OVER, f"{page.base}: {refusal}")
    return page


def token_of(draft: Draft, state: Path | None) -> Secret | None:
    """The token in the bot's state directory; None if there is none. Raises SecretFault if it
    cannot be read."""
    path = (state or draft.state.directory) / TOKEN_NAME
    with suppress(OSError):  # in the folder of another user; reading it says so
        if not path.exists():
            return None
    return from_file(path, what="control token")


def _request(
    url: str,
    series: str,
    headers: dict[str, str] | None = None,
    body: Mapping[str, object] | None = None,
) -> httpx.Response:
    try:
        return _answer(url, series, headers, body)
    except Unanswered as fault:
        fail(EXIT_VENUE, f"{fault}; {fault.remedy}")


def _answer(
    url: str,
    series: str,
    headers: dict[str, str] | None = None,
    body: Mapping[str, object] | None = None,
) -> httpx.Response:
    """The answer to a GET, or to a POST of `body`. Raises Unanswered."""
    try:
        # A proxy of the environment would see the token.
        with httpx.Client(
            verify=trusted(), timeout=ANSWER_S, trust_env=False, follow_redirects=False
        ) as client:
            return client.request(
                "GET" if body is None else "POST",
                url,
                params={"series": series} if series else None,
                headers=headers,
                json=body,
            )
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as fault:  # UnicodeError: a host name
        remedy = "start a bot, or name its page with --status"
        if body is not None and isinstance(fault, _MAYBE_RECEIVED):
            remedy = NO_ANSWER
        raise Unanswered(f"{url}: no bot answers there ({fault})", remedy) from None
