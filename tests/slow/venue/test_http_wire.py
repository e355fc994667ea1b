"""Claims about the REST shell over a bare socket: what odd but legal HTTP comes to."""

import json
import socket

import pytest

from tests.builders.venue.control_bench import KEY, TICKER, plain_client
from venue.wire.routes import TokenScope

Answer = tuple[int, dict[str, str], bytes]


class Bare:
    """A connection that sends exact bytes."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def send(self, head, content=b"", key=KEY):
        """One request: the lines of its head, without Host and credential."""
        credential = f"X-API-KEY: {key}\r\n" if key else ""
        first, *more = head.split("\n")
        lines = "".join(f"{line}\r\n" for line in more)
        request = f"{first} HTTP/1.1\r\nHost: venue\r\n{credential}{lines}\r\n".encode() + content
        self._socket.sendall(request)

    def send_raw(self, data):
        self._socket.sendall(data)

    def answer(self, has_body=True):
        """The next answer, a provisional one too."""
        status = int(self._file.readline().split()[1])
        headers = {}
        while (line := self._file.readline().strip()) != b"":
            name, _, value = line.decode().partition(": ")
            assert name not in headers, f"{name} twice"
            headers[name] = value
        length = int(headers.get("content-length", "0")) if has_body else 0
        return status, headers, self._file.read(length)

    def close(self):
        self._file.close()
        self._socket.close()


@pytest.fixture
def bare(house):
    made = Bare(house.rest_port)
    yield made
    made.close()


def code(answer):
    """Status and code of a failure whose body is a whole Error."""
    status, headers, content = answer
    said = json.loads(content)
    assert headers["content-type"] == "application/json"
    assert set(said) == {"code", "error"}
    return status, said["code"]


def order(number):
    body = {"ticker": TICKER, "outcome": "yes", "side": "buy", "price": 5, "qty": 1}
    return json.dumps({**body, "client_order_id": f"wire {number}"}).encode()


def test_a_get_or_delete_with_a_body_leaves_the_connection_usable(bare):
    for _ in range(2):
        bare.send("GET /v1/portfolio/balance\nContent-Length: 5", b"hello")
        assert bare.answer()[0] == 200
        bare.send("DELETE /v1/orders/1\nContent-Length: 2", b"{]")
        assert code(bare.answer()) == (404, "order_not_found")


@pytest.mark.parametrize(
    "content_type", ["", "Content-Type: text/html", "Content-Type: ;;", "Content-Type: a/b\x01"]
)
def test_the_content_type_of_a_body_is_ignored(bare, content_type):
    body = order(1)
    head = f"POST /v1/orders\nContent-Length: {len(body)}"
    bare.send(f"{head}\n{content_type}" if content_type else head, body)
    status, headers, _ = bare.answer()
    if "\x01" in content_type:
        assert status == 400  # the HTTP parser itself refuses the byte
    else:
        assert status in (200, 201)
        assert headers["content-type"] == "application/json"


def test_a_chunked_body_is_read(bare):
    body = order(2)
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    bare.send("POST /v1/orders\nTransfer-Encoding: chunked", chunks)
    assert bare.answer()[0] == 201


def test_expect_continue_is_answered_before_the_body_arrives(bare):
    body = order(3)
    bare.send(f"POST /v1/orders\nContent-Length: {len(body)}\nExpect: 100-continue")
    assert bare.answer()[0] == 100
    bare.send_raw(body)
    assert bare.answer()[0] == 201


@pytest.mark.parametrize(
    ("head", "key", "expected"),
    [
        ("POST /v1/orders\nContent-Length: 9", "wrong", (401, "unauthenticated")),
        ("POST /v1/orders\nContent-Length: 99999", KEY, (400, "invalid_request_body")),
        ("PUT /v1/orders/x\nContent-Length: 9", KEY, (400, "invalid_order_id")),
    ],
)
def test_a_request_rejected_by_its_head_is_answered_without_its_body(bare, head, key, expected):
    bare.send(f"{head}\nExpect: 100-continue", key=key)
    assert code(bare.answer()) == expected


@pytest.mark.parametrize("path", ["/v1/markets", "/v1/openapi.yaml", "/v1/orders/1"])
def test_head_is_an_unknown_method_without_a_body(bare, path):
    for _ in range(2):
        bare.send(f"HEAD {path}")
        assert bare.answer(has_body=False)[0] == 404


@pytest.mark.parametrize("method", ["OPTIONS", "PATCH", "TRACE", "PROPFIND"])
def test_an_unknown_method_needs_a_credential_too(bare, method):
    bare.send(f"{method} /v1/markets")
    _, headers, _ = answer = bare.answer()
    assert code(answer) == (404, "market_not_found")
    assert "x-ratelimit-remaining" in headers
    bare.send(f"{method} /v1/markets", key="")
    _, headers, _ = answer = bare.answer()
    assert code(answer) == (401, "unauthenticated")
    assert not [name for name in headers if name.startswith(("x-ratelimit", "www-", "retry"))]


def test_an_invalid_method_is_malformed(bare):
    bare.send("FOO /v1/orders")
    assert code(bare.answer()) == (400, "invalid_request_body")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v1/markets/", (404, "market_not_found")),
        ("/v1//markets", (404, "market_not_found")),
        ("/v1/orders/", (400, "invalid_order_id")),
        ("/v1/orders/1/", (404, "market_not_found")),
        ("/v1/events/", (400, "invalid_market_identifier")),
        ("/v1/markets//orderbook", (400, "invalid_market_identifier")),
        ("/v1/portfolio/balance/", (404, "market_not_found")),
        ("/v1/markets/%2e%2e/snapshot", (404, "market_not_found")),
        ("/v1/markets/..%2Fx/snapshot", (400, "invalid_market_identifier")),
        ("/v1/orders/1?", (404, "order_not_found")),
        ("/v1/orders/1%00", (400, "invalid_order_id")),
        ("/v1/orders?limit=%zz", (400, "invalid_parameter")),
        ("/v1/orders?limit=%ff", (400, "invalid_parameter")),
    ],
)  # fmt: skip
def test_odd_paths_are_rejected_as_written(bare, path, expected):
    bare.send(f"GET {path}")
    assert code(bare.answer()) == expected


def test_an_absolute_request_target_is_read_as_its_path(bare):
    bare.send("GET http://elsewhere.example/v1/portfolio/balance")
    assert bare.answer()[0] == 200


def test_pipelined_requests_are_answered_in_order(bare):
    for number in range(3):
        bare.send(f"GET /v1/orders/{number}x")
        bare.send("GET /v1/portfolio/balance")
    assert [bare.answer()[0] for _ in range(6)] == [400, 200] * 3


# --- the metadata of RFC 9728 --------------------------------------------------------------------


def test_the_oauth_metadata_is_served_without_a_credential_where_a_challenge_points(house):
    origin = f"http://127.0.0.1:{house.rest_port}"
    with plain_client(origin, {"Authorization": "Bearer nobody"}) as client:
        challenge = client.get("/v1/markets").headers["www-authenticate"]
        location = challenge.partition('resource_metadata="')[2].rstrip('"')
        assert location == f"{origin}/.well-known/oauth-protected-resource"
    with plain_client(origin, {}) as client:
        reply = client.get(location)
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json"
    assert reply.json() == {
        "resource": origin,
        "scopes_supported": [scope.value for scope in TokenScope],
        "bearer_methods_supported": ["header"],
    }
    assert not [name for name in reply.headers if name.startswith("x-ratelimit")]


def test_the_oauth_metadata_does_not_echo_the_host_header(bare, house):
    bare.send_raw(
        b"GET /.well-known/oauth-protected-resource HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    )
    status, _, content = bare.answer()
    assert (status, b"evil" in content) == (200, False)


@pytest.mark.parametrize("head", ["POST /.well-known/oauth-protected-resource",
                                  "GET /.well-known/oauth-protected-resource/",
                                  "GET /.well-known/openid-configuration"])  # fmt: skip
def test_no_other_well_known_path_is_served(bare, head):
    bare.send(head)
    assert code(bare.answer()) == (404, "market_not_found")
