"""A client of the operator's interface, and its replies as lines for people. The token goes to this
machine only."""

import http.client
import json
import socket
from pathlib import Path
from typing import Any, Final

from venue.admin.listener import parsed_address, read_token

TIMEOUT_S: Final = 10.0
BULK_TIMEOUT_S: Final = 120.0
"""Of the largest list; each entry waits for the disk."""

MAY_BE_DONE: Final = "what was asked may be carried out all the same; look before it is asked again"

_PREFIX: Final = "/control/v1/"
_REPLY_BYTES_MAX: Final = 64 * 1024 * 1024
_GAP: Final = "  "


class Unreachable(Exception):
    """The venue does not answer, does not know the token, or takes no commands now."""


class Rejected(Exception):
    """The venue does not accept a value; `str()` says which and what it accepts."""


class Refused(Exception):
    """The venue knows what was meant and will not do it, or nothing has the name given."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class ControlClient:
    def __init__(self, address: str, token_file: Path) -> None:
        """address: `unix:PATH` or loopback `HOST:PORT`. Raises ControlFault."""
        self._address = address
        self._where = parsed_address(address)
        self._token = read_token(token_file)

    def __repr__(self) -> str:
        return f"ControlClient({self._address})"

    def request(
        self,
        method: str,
        path: str,
        body: dict[str, object] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> dict[str, Any]:
        """The reply to one request; `path` follows /control/v1/, quoted already. Raises
        Unreachable, Rejected, Refused."""
        headers = {"Authorization": f"Bearer {self._token}"}
        content = None if body is None else json.dumps(body).encode()
        connection = self._connection(timeout_s)
        remedy = "is the venue serving with --control?"
        try:
            connection.connect()
            if method != "GET":
                remedy = MAY_BE_DONE
            connection.request(method, _PREFIX + path, content, headers)
            response = connection.getresponse()
            status, raw = response.status, response.read(_REPLY_BYTES_MAX)
        except (OSError, http.client.HTTPException) as fault:
            why = getattr(fault, "strerror", None) or str(fault) or type(fault).__name__
            raise Unreachable(f"no answer at {self._address}: {why}; {remedy}") from None
        finally:
            connection.close()
        return self._checked_reply(status, raw)

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        if isinstance(self._where, Path):
            return _UnixConnection(self._where, timeout_s)
        host, port = self._where
        return http.client.HTTPConnection(host, port, timeout=timeout_s)

    def _checked_reply(self, status: int, raw: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(raw)
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            raise Unreachable(f"{self._address} answers, but not as a venue's control interface")
        if status == 200:
            return reply
        error, details = str(reply.get("error", "no reason given")), reply.get("details")
        said = f"{error} ({details})" if details else error
        if status == 400:
            raise Rejected(said)
        if status in (404, 409):
            raise Refused(said)
        if status == 401:
            said = "the venue does not know the token; give the file it serves with: --token-file"
        raise Unreachable(f"{self._address}: {said}")


def reply_lines(reply: dict[str, Any]) -> list[str]:
    """One line per field, or a table of a reply that is one list. No value can move the cursor."""
    if len(reply) == 1:
        (rows,) = reply.values()
        if isinstance(rows, list):
            return _table(rows)
    width = max(map(len, reply), default=0)
    return [f"{name:<{width}}{_GAP}{_text(value)}" for name, value in reply.items()]


def _table(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["none"]
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names, *([_text(row.get(name)) for name in names] for row in rows)]
    numeric = [all(_is_number(row.get(name)) for row in rows) for name in names]
    widths = [max(len(row[at]) for row in cells) for at in range(len(names))]
    return [
        _GAP.join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _text(value: object) -> str:
    if value is None or value in ([], ""):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        if isinstance(value[0], dict):
            return str(len(value))  # one of several lists: `--json` shows them
        return ",".join(_text(part) for part in value)
    text = str(value)
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
