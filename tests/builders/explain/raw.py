"""A second way of reading a journal: frames and MessagePack by hand, no type of the project."""

import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

OPENING_BYTES = 5


class Row(NamedTuple):
    """An entry: its segment, its number there from 1, its time, and what it says."""

    segment: str
    number: int
    at_ns: int
    said: dict[str, Any]

    @property
    def kind(self) -> str:
        return self.said["type"]


def rows(folder: Path) -> list[Row]:
    found = []
    for path in sorted(folder.glob("journal-*.log")):
        data, at, number = path.read_bytes(), OPENING_BYTES, -1
        while at + 8 <= len(data):
            length, crc = struct.unpack_from("<II", data, at)
            payload = data[at + 8 : at + 8 + length]
            if len(payload) < length:
                break
            assert zlib.crc32(payload) == crc
            at += 8 + length
            number += 1
            if number:  # the first frame is the segment's head
                at_ns, said = msgspec.msgpack.decode(payload)
                found.append(Row(path.name, number, at_ns, said))
    return found


def sends(found: list[Row]) -> list[Row]:
    return [row for row in found if row.kind == "Send"]


def about(found: list[Row], order_id: str) -> list[Row]:
    kinds = ("AmendResting", "CancelResting")
    return [
        row
        for row in sends(found)
        if row.said["request"]["type"] in kinds and row.said["request"]["order_id"] == order_id
    ]


def create_of(found: list[Row], client_order_id: str) -> Row:
    return next(
        row
        for row in sends(found)
        if row.said["request"]["type"] == "Create"
        and row.said["request"]["order"]["client_order_id"] == client_order_id
    )


def answer_to(found: list[Row], send: Row) -> Row | None:
    asked = send.said["request_id"]
    later = found[found.index(send) :]
    return next(
        (row for row in later if row.kind == "Response" and row.said["request_id"] == asked), None
    )


def canonical(outcome: str, price: int) -> int:
    return price if outcome == "yes" else 100 - price


def side(outcome: str, own_side: str) -> str:
    """Whether an order makes us longer YES (bid) or shorter."""
    return "bid" if (outcome == "yes") == (own_side == "buy") else "ask"


def bucket_before(found: list[Row], send: Row, rate: int, burst: int, began_ns: int) -> int:
    """Whole tokens in our bucket when a request left, by counting: a token a request, `rate` a
    second, never more than `burst`, nor than the venue said it had less what was under way."""
    level, filled_ns, under_way = burst * 10**9, began_ns, 0
    for row in found:
        if row.kind == "Started":
            level, filled_ns, under_way = burst * 10**9, row.at_ns, 0
        elif row.kind == "Send":
            level = min(burst * 10**9, level + rate * (row.at_ns - filled_ns))
            filled_ns = row.at_ns
            if row is send:
                return level // 10**9
            level -= 10**9
            under_way += 1
        elif row.kind == "Response":
            under_way -= 1
            if row.said["tokens_left"] is not None:
                level = min(burst * 10**9, level + rate * (row.at_ns - filled_ns))
                filled_ns = row.at_ns
                level = min(level, max(0, row.said["tokens_left"] - under_way) * 10**9)
    raise AssertionError("it never left")
