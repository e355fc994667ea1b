"""How a command reaches the bot that runs: its status listener, and the token that opens controls.

Everything goes over the address that the bot keeps in its state directory while it runs, else that
of the configuration, or another one that is named. What is asked of the bot carries a reason, which
the bot writes into its journal.
"""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from bot.cli.common import EXIT_CONFIGURATION, EXIT_LEFT_OVER, EXIT_VENUE, fail, state_dir_option

if TYPE_CHECKING:
    import httpx

    from bot.config.bot_config import Draft
    from bot.io.secret import Secret

ANSWER_S: Final = 5.0
MAY_BE_TOLD: Final = "the bot may have been told all the same; bot status shows what it does"
"""Of what was asked of a bot and not answered."""

StatusUrl = Annotated[
    str,
    typer.Option("--status", metavar="URL", help="The bot's page, if not the configured one."),
]
StateDir = Annotated[
    Path | None,
    state_dir_option("The bot's state directory, instead of ./state/<name>.", "--state-dir"),
]
Reason = Annotated[
    str, typer.Option(help="Why, 1 to 200 characters: it is written into the journal.")
]


class Page(NamedTuple):
    """A running bot. base: the address of its page, no slash at the end. series: the one of the
    configuration, or the only one it trades; "" is every one of them."""

    base: str
    series: str

    def get(self, path: str) -> bytes:
        """What a path of the page holds; ends with 3 without an answer or such a path."""
        answer = _asked(f"{self.base}{path}", self.series)
        if answer.status_code != _OK:
            fail(EXIT_VENUE, f"{self.base}{path}: {answer.status_code} {answer.text.strip()}")
        return answer.content


def base_of(draft: "Draft", status: str, state: Path | None = None) -> str:
    """The address of the page of the bot that runs on a configuration's state directory, or of one
    that is named; of the configuration where none runs there."""
    if status:
        address = status if "://" in status else f"http://{status}"
        return address.rstrip("/").removesuffix("/status.json")
    if kept := _kept(draft, state):
        return kept
    from bot.io.state.small_files import HERE

    settings = draft.file.status
    if settings.port == 0:
        fail(
            EXIT_CONFIGURATION,
            f"{draft.source.path}: status.port is 0, so the page is at another port each time; "
            "name it with --status, as the bot does when it starts",
        )
    host = HERE.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def _kept(draft: "Draft", state: Path | None) -> str:
    from bot.io.state.small_files import page_kept

    return page_kept(state or draft.state.directory)


def page_of(draft: "Draft", status: str = "", state: Path | None = None) -> Page:
    """The running bot of a configuration; ends with 3 when none answers, or when the one that does
    trades other series."""
    base = base_of(draft, status, state)
    page = found(draft, base)
    if page is None:
        fail(
            EXIT_VENUE,
            f"{base}: no bot answers there; start one, or name its page with --status",
        )
    return page


def running(draft: "Draft", status: str = "", state: Path | None = None) -> Page | None:
    """The running bot of a configuration, None when none answers where it is known to. Ends with 3
    as `found` does."""
    if not status and not draft.file.status.port and not _kept(draft, state):
        return None
    return found(draft, base_of(draft, status, state))


def found(draft: "Draft", base: str) -> Page | None:
    """The running bot at an address; None when nobody answers there. Ends with 3 when it is no bot,
    or one of other series."""
    import msgspec

    from venue.wire.names import fold_ticker

    try:
        answer = _answered(f"{base}/status.json", "")
    except Unanswered:
        return None
    if answer.status_code != _OK:
        return None
    try:
        traded = msgspec.json.decode(answer.content, type=dict[str, msgspec.Raw])["series"]
        series = msgspec.json.decode(traded, type=tuple[str, ...])
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
        fail(EXIT_VENUE, f"{base}: something answers there, and it is no bot of this version")
    wanted = fold_ticker(draft.file.series)
    if wanted in series:
        return Page(base, wanted)
    # A tape brings a series of its own, whatever the configuration says.
    if len(series) == 1 and not _is_external(draft):
        return Page(base, series[0])
    fail(EXIT_VENUE, f"{base}: the bot there trades {', '.join(series)}, not {wanted}")


def ask_for(action: str, draft: "Draft", reason: str, status: str, state: Path | None) -> Page:
    """Ask a running bot to do something; returns once it was told.

    Ends with 2 for a reason that is none, with 3 when no bot answers or there is no token, and
    with 4 when the bot refuses.
    """
    if not 1 <= len(reason.strip()) <= _REASON_MAX:
        fail(EXIT_CONFIGURATION, f"--reason: 1 to {_REASON_MAX} characters")
    page = page_of(draft, status, state)
    token = token_of(draft, state)
    if token is None:
        fail(EXIT_VENUE, _no_token(draft, state))
    refusal = told(page, action, reason, token)
    if refusal:
        fail(EXIT_LEFT_OVER, f"{page.base}: {refusal}")
    return page


def told(page: Page, action: str, reason: str, token: "Secret") -> str:
    """Tell a bot to do something; why it refuses, else "". Ends with 3 without an answer."""
    headers = {"Authorization": f"Bearer {token.reveal()}"}
    answer = _asked(f"{page.base}/control/{action}", page.series, headers, {"reason": reason})
    if answer.status_code == _ACCEPTED:
        return ""
    return answer.text.strip() or f"it answers {answer.status_code}"


def stands_still(page: Page) -> bool:
    """Whether a bot says that it is paused. Ends with 3 without an answer."""
    import msgspec

    try:
        told = msgspec.json.decode(page.get("/status.json"), type=dict[str, msgspec.Raw])
        return msgspec.json.decode(told["paused"], type=str) != ""
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
        return False


def token_of(draft: "Draft", state: Path | None) -> "Secret | None":
    """The token in the bot's state directory; None when there is none. Raises SecretFault when it
    cannot be read."""
    from bot.io.secret import from_file
    from bot.io.status.control import TOKEN_NAME

    place = (state or draft.state.directory) / TOKEN_NAME
    with suppress(OSError):  # a place that cannot be looked at, as another user's: told by reading
        if not place.exists():
            return None
    return from_file(place, what="control token")


def _no_token(draft: "Draft", state: Path | None) -> str:
    folder = state or draft.state.directory
    return (
        f"{folder}: no control token there; set status.control: true and start the bot again, or "
        "name its state directory with --state-dir. SIGUSR1 pauses and SIGUSR2 resumes without one"
    )


# --- one question ---------------------------------------------------------------------------------


class Unanswered(Exception):
    """Nobody answers; the text says what was tried and how it failed, and `remedy` what to do."""

    def __init__(self, tried: str, remedy: str) -> None:
        super().__init__(tried)
        self.remedy = remedy


def _asked(
    url: str,
    series: str,
    headers: dict[str, str] | None = None,
    body: dict[str, str] | None = None,
) -> "httpx.Response":
    try:
        return _answered(url, series, headers, body)
    except Unanswered as fault:
        fail(EXIT_VENUE, f"{fault}; {fault.remedy}")


def _answered(
    url: str,
    series: str,
    headers: dict[str, str] | None = None,
    body: dict[str, str] | None = None,
) -> "httpx.Response":
    """The answer to a GET, or to a POST of `body`. Raises Unanswered."""
    import httpx

    from bot.io.client.sockets import trusted

    try:
        # No proxy out of the environment: it would be shown the token.
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
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as fault:  # the last of a host's name
        remedy = "start a bot, or name its page with --status"
        if body is not None and isinstance(fault, _once_connected()):
            remedy = MAY_BE_TOLD
        raise Unanswered(f"{url}: no bot answers there ({fault})", remedy) from None


def _once_connected() -> "tuple[type[httpx.HTTPError], ...]":
    """What goes wrong with a request that may have been heard."""
    import httpx

    return httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError, httpx.ReadTimeout


def _is_external(draft: "Draft") -> bool:
    from bot.config.bot_config import ExternalSettings

    return isinstance(draft.venue, ExternalSettings)


_OK: Final = 200
_ACCEPTED: Final = 202
_REASON_MAX: Final = 200
