"""`bot-health`: asks a status page whether all is well, for the supervisor of a container.

It is started every few seconds for months, so it uses the standard library alone. Exit codes: 0
well, 1 not well or no answer, 2 a wrong option.
"""

import argparse
import http.client
import sys
import time
import urllib.parse
from typing import Final, NamedTuple, NoReturn

DEFAULT_URL: Final = "http://127.0.0.1:8090/healthz"
ANSWER_S: Final = 2.0
"""Timeout of one answer."""

LIVE_S: Final = 3.0
"""Timeout for the next decision; there are two a second at least."""

_BEAT_HEADER: Final = "x-laddermaker-beat"
"""As in bot.io.status.status, which takes too long to import."""

_LOOK_AGAIN_S: Final = 0.2
_BODY_BYTES_MAX: Final = 500


class HealthReply(NamedTuple):
    """beat: changes with every decision of the bot, None when there is none."""

    status: int
    text: str
    beat: str | None


def ask(url: str, timeout_s: float = ANSWER_S) -> HealthReply:
    """One GET over plain http. Raises OSError or HTTPException when nothing answers."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    wanted = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
    try:
        connection.request("GET", wanted)
        response = connection.getresponse()
        text = response.read(_BODY_BYTES_MAX).decode("utf-8", errors="replace").strip()
        return HealthReply(response.status, text, response.getheader(_BEAT_HEADER))
    finally:
        connection.close()


def well(url: str) -> tuple[bool, str]:
    answer = ask(url)
    return answer.status == http.client.OK, answer.text


def alive(url: str) -> tuple[bool, str]:
    """True if the bot still decides: its beat changes between two looks.

    A latched or paused bot lives, and one whose venue is away: a restart would help none of these.
    """
    until_s = time.monotonic() + LIVE_S
    first = ask(url)
    if first.beat is None:
        return False, first.text
    while time.monotonic() < until_s:
        time.sleep(_LOOK_AGAIN_S)
        if ask(url).beat != first.beat:
            return True, "decides"
    return False, f"no decision in {LIVE_S:.0f} s"


def main(arguments: list[str] | None = None) -> NoReturn:
    parser = argparse.ArgumentParser(
        prog="bot-health",
        description="Ask a bot's status page whether all is well; 0 well, 1 not.",
        epilog="Example: bot-health --url http://127.0.0.1:8090/healthz --live",
    )
    parser.add_argument("--url", default=DEFAULT_URL, help=f"the page, {DEFAULT_URL} if not given")
    parser.add_argument(
        "--live", action="store_true", help="only whether it still decides, well or not"
    )
    asked = parser.parse_args(arguments)
    if not asked.url.startswith("http://"):
        parser.error("--url: begins with http://, for this is asked on the spot")
    try:
        good, text = alive(asked.url) if asked.live else well(asked.url)
    except (OSError, ValueError, http.client.HTTPException) as fault:
        good, text = False, f"no answer: {fault}"
    if sys.stdout is not None:  # it may be closed by a caller that wants the code alone
        # A page repeats foreign text, which must not control a terminal.
        line = "".join(sign if sign.isprintable() else "?" for sign in text)
        sys.stdout.write(f"{line}\n")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
