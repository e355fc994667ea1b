"""A client of the operator's interface: one request, one reply or one plain failure.

Nothing of the environment is heard: no proxy, no certificate store. The token goes to this machine
only, over a unix socket or a loopback address.
"""

import http.client
import json
import socket
from pathlib import Path
from typing import Any, Final

from venue.admin.listener import parsed_address, read_token

TIMEOUT_S: Final = 10.0
MAY_BE_DONE: Final = "what was asked may be carried out all the same; look before it is asked again"
"""Of a change that was asked for and not answered."""

_PREFIX: Final = "/control/v1/"
_REPLY_BYTES_MAX: Final = 64 * 1024 * 1024


class Unreachable(Exception):
    """The venue does not answer, does not know the token, or takes no commands now."""


class Rejected(Exception):
    """The venue does not accept a value; `str()` says which and what it accepts."""


class Refused(Exception):
    """The venue knows what was meant and will not do it, or nothing has the name given."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT_S)
        self.sock.connect(str(self._path))


class ControlClient:
    """Requests to one venue, each on a connection of its own."""

    def __init__(self, address: str, token_file: Path) -> None:
        """address: `unix:PATH` or loopback `HOST:PORT`. Raises ControlFault."""
        self._address = address
        self._where = parsed_address(address)
        self._token = read_token(token_file)

    def __repr__(self) -> str:
        return f"ControlClient({self._address})"

    def ask(self, method: str, path: str, body: dict[str, object] | None = None) -> dict[str, Any]:
        """The reply to one request; `path` is what follows /control/v1/, quoted already.

        Raises Unreachable, Rejected, Refused.
        """
        headers = {"Authorization": f"Bearer {self._token}"}
        content = None if body is None else json.dumps(body).encode()
        connection = self._connection()
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
        return self._read(status, raw)

    def _connection(self) -> http.client.HTTPConnection:
        if isinstance(self._where, Path):
            return _UnixConnection(self._where)
        host, port = self._where
        return http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)

    def _read(self, status: int, raw: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(raw)
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            raise Unreachable(f"{self._address} answers, but not as a venue's control interface")
        if status == 200:
            return reply
        told = str(reply.get("error", "no reason given"))
        details = reply.get("details")
        said = f"{told} ({details})" if details else told
        if status == 400:
            raise Rejected(said)
        if status in (404, 409):
            raise Refused(said)
        if status == 401:
            said = "the venue does not know the token; give the file it serves with: --token-file"
        raise Unreachable(f"{self._address}: {said}")
