"""Claims about uvicorn: what the front door leans on beyond its documentation is still there."""

import asyncio
import inspect

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from tests.builders.abuse.door import Peer, served, until
from venue.listen import HttpProtocol, Server, StreamProtocol

HTTP_CALLS = {"on_headers_complete", "send_400_response"}
STREAM_CALLS = {"data_received", "handle_connect", "run_asgi", "send"}
HTTP_ATTRIBUTES = {"cycle", "flow", "transport", "scope", "server_state"}
STREAM_ATTRIBUTES = {
    *("scope", "writable", "close_sent", "default_headers", "handshake_initiated", "conn"),
    *("transport", "close_timeout"),
}
CYCLE_ATTRIBUTES = {
    *("scope", "transport", "flow", "default_headers", "message_event", "on_response"),
    *("disconnected", "keep_alive", "waiting_for_100_continue", "body", "more_body"),
    *("response_started", "response_complete"),
}


def config():
    made = uvicorn.Config(_nothing, lifespan="off", log_config=None)
    made.load()
    return made


async def _nothing(scope, receive, send):
    return None


def own(kind):
    """Methods that a class defines itself."""
    return {name for name, value in vars(kind).items() if inspect.isfunction(value)}


@pytest.mark.parametrize(
    ("ours", "theirs", "calls"),
    [
        (HttpProtocol, HttpToolsProtocol, HTTP_CALLS),
        (StreamProtocol, WebSocketsSansIOProtocol, STREAM_CALLS),
        (Server, uvicorn.Server, {"capture_signals", "startup"}),
    ],
)
def test_overridden_methods_of_uvicorn_have_the_same_parameters(ours, theirs, calls):
    shared = {name for name in own(ours) if hasattr(theirs, name) and name != "__init__"}
    assert shared == calls
    for name in calls:
        mine, original = (inspect.signature(getattr(kind, name)) for kind in (ours, theirs))
        assert list(mine.parameters) == list(original.parameters), name


def test_no_method_of_ours_shadows_one_of_uvicorn():
    for ours, theirs in (
        (HttpProtocol, HttpToolsProtocol),
        (StreamProtocol, WebSocketsSansIOProtocol),
    ):
        private = {name for name in own(ours) if name.startswith("_") and name != "__init__"}
        assert not private & set(dir(theirs))


async def _made(kind):
    made = kind(config(), ServerState(), {})
    if hasattr(made, "parser"):
        HttpToolsProtocol.on_message_begin(made)
    return made


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (HttpToolsProtocol, HTTP_ATTRIBUTES),
        (WebSocketsSansIOProtocol, STREAM_ATTRIBUTES - {"scope"}),
    ],
)
def test_the_uvicorn_attributes_that_we_use_exist(kind, names):
    made = asyncio.run(_made(kind))
    assert not {name for name in names if not hasattr(made, name)}


@pytest.mark.parametrize(
    ("kind", "names"),
    [(HttpToolsProtocol, HTTP_ATTRIBUTES), (WebSocketsSansIOProtocol, STREAM_ATTRIBUTES)],
)
def test_no_attribute_of_ours_shadows_one_of_uvicorn(kind, names):
    ours = HttpProtocol if kind is HttpToolsProtocol else StreamProtocol
    theirs = asyncio.run(_made(kind))
    mine = asyncio.run(_made(ours))
    added = {name for name in vars(mine) if name not in vars(theirs)}
    assert all(name.startswith("_") for name in added)


def test_a_request_cycle_has_the_attributes_that_we_use():
    source = inspect.getsource(RequestResponseCycle.__init__)
    assert all(f"self.{name} = " in source for name in CYCLE_ATTRIBUTES)


def test_a_status_line_of_uvicorn_is_the_first_line_of_an_answer():
    assert STATUS_LINE[201] == b"HTTP/1.1 201 Created\r\n"


@pytest.mark.anyio
async def test_the_server_state_lists_connections_and_replies_are_dated():
    async with served(_nothing) as (server, port):
        peer = await Peer.of(port)
        await until(lambda: bool(server.server_state.connections))
        (connection,) = server.server_state.connections
        assert isinstance(connection, HttpProtocol)
        peer.send(b"\x00")
        _, headers, _ = await peer.answer()
        assert "date" in headers
        await peer.leave()
