"""The operator's side of a venue as raw HTTP. The control API is ours, not the interface's: a venue
without it is judged with keys alone."""

import ipaddress
from typing import Any, Final

import httpx

from venue.conformance.judge import Broken, Json

DONE: Final = 200


class Unreachable(Exception):
    """The venue or its control API does not answer, or does not take the token."""


class InTheClear(Exception):
    """A token or key would go to another machine for everybody on the way to read."""


class Operator:
    """The control API at one address: `127.0.0.1:8091`, a URL, or `unix:PATH`. Raises Unreachable
    for a bad address, InTheClear for one neither on this machine nor https."""

    def __init__(self, address: str, token: str) -> None:
        self.address = address
        transport = None
        root = address if "://" in address else f"http://{address}"
        base_url = f"{root.rstrip('/')}/control/v1"
        if address.startswith("unix:"):
            transport = httpx.HTTPTransport(uds=address.removeprefix("unix:"))
            base_url = "http://localhost/control/v1"
        try:
            self._http = httpx.Client(
                base_url=base_url,
                headers={"Authorization": f"Bearer {token}"},
                trust_env=False,
                timeout=10,
                transport=transport,
            )
        except (httpx.InvalidURL, UnicodeError):
            raise Unreachable(f"control {address!r}: no address that can be asked") from None
        url = self._http.base_url
        if url.scheme != "https" and not is_this_machine(url.host):
            self.close()
            raise InTheClear(
                f"control {address}: accepted is unix:PATH, a loopback address like "
                "127.0.0.1:8091, or https://; the token goes to no other machine in the clear"
            )

    def close(self) -> None:
        self._http.close()

    def status(self) -> Json:
        """What the venue says of itself. Raises Unreachable."""
        try:
            reply = self._http.get("/status")
        except httpx.HTTPError as fault:
            kind = type(fault).__name__
            raise Unreachable(f"control at {self.address}: {kind}; is it on?") from None
        if reply.status_code != DONE:
            raise Unreachable(f"control at {self.address} answered {reply.status_code}")
        body: Json = reply.json()
        return body

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return self._http.request(method, path, json=body)

    def done(self, method: str, path: str, body: Any = None) -> Json:
        """The reply to a request that must be carried out. Raises Broken."""
        reply = self.ask(method, path, body)
        if reply.status_code != DONE:
            shown = reply.text[:300]
            raise Broken(
                f"the world cannot be made: {method} {path} -> {reply.status_code} {shown}"
            )
        done: Json = reply.json()
        return done


def is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
