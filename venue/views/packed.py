"""Rows in few bytes: an append-only list, and walks over its places. A place is a row's number and
never changes, so a page can go on from it for ever."""

import heapq
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, Generic, TypeVar

import msgspec

R = TypeVar("R")

_ENCODER: Final = msgspec.msgpack.Encoder()
_END_CODE: Final = "Q"
PLACE_CODE: Final = "I"


class PackedSnapshot(msgspec.Struct, frozen=True):
    """All rows of a list, and where each of them ends, in bytes from the start."""

    ends: tuple[int, ...]
    rows: bytes


class PackedRows(Generic[R]):
    """A list that grows only at its end; eight bytes a row beside its msgpack. Each read decodes
    the row."""

    __slots__ = ("_decoder", "_ends", "_rows")

    def __init__(self, decoder: "msgspec.msgpack.Decoder[R]") -> None:
        self._decoder = decoder
        self._ends = array(_END_CODE)
        self._rows = bytearray()

    @classmethod
    def from_rows(
        cls, decoder: "msgspec.msgpack.Decoder[R]", snapshot: PackedSnapshot
    ) -> "PackedRows[R]":
        rows = cls(decoder)
        rows._ends = array(_END_CODE, snapshot.ends)
        rows._rows = bytearray(snapshot.rows)
        return rows

    def to_rows(self) -> PackedSnapshot:
        return PackedSnapshot(tuple(self._ends), bytes(self._rows))

    def append(self, row: R) -> None:
        self._rows += _ENCODER.encode(row)
        self._ends.append(len(self._rows))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: int) -> R:
        """The row at a place of 0 or more. Raises IndexError behind the last one."""
        end = self._ends[place]
        return self._decoder.decode(self._rows[self._ends[place - 1] if place else 0 : end])

    def newest(self) -> R | None:
        return self[len(self) - 1] if self._ends else None


def newest_first(lists: Iterable["array[int]"], before: int | None) -> Iterator[int]:
    """The places of several ascending lists as one descending walk, from below `before`, if any."""
    walks = [_listed_downwards(places, before) for places in lists]
    return walks[0] if len(walks) == 1 else heapq.merge(*walks, reverse=True)


def downwards(low: int, high: int, before: int | None) -> Iterator[int]:
    """The places from `low` to below `high`, and below `before`, if any, newest first."""
    return iter(range((high if before is None else min(before, high)) - 1, low - 1, -1))


def page(places: Iterator[int], limit: int) -> tuple[list[int], int | None]:
    """At most `limit` >= 1 places of a walk, and the last of them when more would follow."""
    taken = list(islice(places, limit + 1))
    return taken[:limit], taken[limit - 1] if len(taken) > limit else None


def _listed_downwards(places: "array[int]", before: int | None) -> Iterator[int]:
    end = len(places) if before is None else bisect_left(places, before)
    return (places[index] for index in range(end - 1, -1, -1))
