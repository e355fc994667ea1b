"""A snapshot as bytes: what it includes, a checksum, the payload. Touches no file.

Header: magic, version byte, state id, the last sequence it includes (u64), CRC-32 (u32) of all the
rest; then the payload, whose meaning is no business of this file.
"""

import struct
import zlib
from typing import Final

from venue.storage.record import STATE_ID_BYTES, StateFault

SNAPSHOT_VERSION: Final = 1

_MAGIC: Final = b"VENUESNP"
_HEADER: Final = struct.Struct(f"<8sB{STATE_ID_BYTES}sQ")
_CRC: Final = struct.Struct("<I")
_LEAD_BYTES: Final = _HEADER.size + _CRC.size
_PREFIX: Final = "snapshot-"
_SUFFIX: Final = ".snap"


def snapshot_name(sequence: int) -> str:
    """The file name of the snapshot that includes the commands up to this one."""
    return f"{_PREFIX}{sequence:020d}{_SUFFIX}"


SNAPSHOT_NAMES: Final = (_PREFIX, _SUFFIX)
"""Beginning and end of such a name; names sort by sequence."""


def seal(state_id: bytes, sequence: int, payload: bytes) -> bytes:
    """The file of a snapshot."""
    plain = _HEADER.pack(_MAGIC, SNAPSHOT_VERSION, state_id, sequence)
    return plain + _CRC.pack(zlib.crc32(payload, zlib.crc32(plain))) + payload


def unseal(data: bytes, where: str, state_id: bytes) -> tuple[int, bytes]:
    """The sequence that a snapshot's file includes, and its payload.

    Raises StateFault when it is damaged, of another version or of another directory.
    """
    if len(data) < _LEAD_BYTES or not data.startswith(_MAGIC):
        raise StateFault(f"{where}: is no snapshot")
    plain, crc = data[: _HEADER.size], data[_HEADER.size : _LEAD_BYTES]
    _, version, written_under, sequence = _HEADER.unpack(plain)
    if version != SNAPSHOT_VERSION:
        raise StateFault(
            f"{where}: is of format version {version}, and this program reads version "
            f"{SNAPSHOT_VERSION} only"
        )
    payload = data[_LEAD_BYTES:]
    if _CRC.pack(zlib.crc32(payload, zlib.crc32(plain))) != crc:
        raise StateFault(f"{where}: is damaged")
    if written_under != state_id:
        raise StateFault(f"{where}: belongs to another state directory")
    return int(sequence), payload
