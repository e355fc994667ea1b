"""The last answer on a connection whose request is none: an Error body, and the end."""

from collections.abc import Iterable
from typing import Final

from venue.wire import codec
from venue.wire.errors import CODES, Code
from venue.wire.model import ErrorBody

CLOSE: Final = (b"connection", b"close")


def malformed_answer(text: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """400 invalid_request_body, whole: head and body.

    text: the `error` of the body, for humans. headers: what the server puts on every answer.
    """
    code = Code.INVALID_REQUEST_BODY
    body = codec.encode(ErrorBody(code.value, text))
    head = [
        *headers,
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        CLOSE,
    ]
    lines = [
        b"HTTP/1.1 %d Bad Request" % CODES[code].status,
        *(b"%b: %b" % field for field in head),
    ]
    return b"\r\n".join([*lines, b"", body])
