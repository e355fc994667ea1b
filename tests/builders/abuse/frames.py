"""Raw frames of the websocket protocol, by hand: a library would refuse to send most of them."""

import base64
import os
import struct

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA


def handshake(path: str = "/v1/stream", *more: str) -> bytes:
    """A client's opening request."""
    key = base64.b64encode(os.urandom(16)).decode()
    lines = (
        *(f"GET {path} HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade"),
        *(f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", *more, "", ""),
    )
    return "\r\n".join(lines).encode()


def frame(opcode: int, payload: bytes = b"", *, fin: bool = True, reserved: int = 0) -> bytes:
    """One masked frame; the mask is zero, so the payload is as it was given."""
    first = (0x80 if fin else 0) | reserved << 4 | opcode
    return bytes([first]) + _length(len(payload)) + bytes(4) + payload


def _length(size: int) -> bytes:
    if size < 126:
        return bytes([0x80 | size])
    if size < 1 << 16:
        return bytes([0x80 | 126]) + struct.pack("!H", size)
    return bytes([0x80 | 127]) + struct.pack("!Q", size)


def parsed(said: bytes) -> list[tuple[int, bytes]]:
    """Opcode and payload of every whole frame of a server, which masks nothing."""
    found, at = [], 0
    while len(said) - at >= 2:
        size, start = said[at + 1], at + 2
        if size == 126:
            size, start = int.from_bytes(said[start : start + 2], "big"), start + 2
        elif size == 127:
            size, start = int.from_bytes(said[start : start + 8], "big"), start + 8
        if len(said) < start + size:
            break
        found.append((said[at] & 0x0F, said[start : start + size]))
        at = start + size
    return found


def close_code(said: bytes) -> int | None:
    """The code of the close frame, or None if none was said."""
    codes = [int.from_bytes(payload[:2], "big") for op, payload in parsed(said) if op == CLOSE]
    return codes[0] if codes else None
