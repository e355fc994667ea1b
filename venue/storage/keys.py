"""The secrets that ids and cursors of a state directory hang on: made once, whole or not at all."""

import secrets
import struct
import zlib
from typing import Final

import msgspec

from venue.storage.folder import Folder
from venue.storage.record import STATE_ID_BYTES, StateFault

KEYS_FILE: Final = "keys"
KEY_BYTES: Final = 32

_MAGIC: Final = b"VENUEKEY"
_VERSION: Final = 1
_PLAIN: Final = struct.Struct(f"<8sB{STATE_ID_BYTES}s{KEY_BYTES}s{KEY_BYTES}s")
_CRC: Final = struct.Struct("<I")


class Keys(msgspec.Struct, frozen=True):
    """order_id_key and cursor_key: 32 secret bytes each. state_id: 8 bytes, not secret.

    The state id stands in every file of the directory, so that files of two directories cannot
    be mixed: a log replayed under other keys would give other ids.
    """

    state_id: bytes
    order_id_key: bytes
    cursor_key: bytes

    def __repr__(self) -> str:
        return f"Keys(state_id={self.state_id.hex()}, order_id_key=***, cursor_key=***)"

    __str__ = __repr__


def read_keys(folder: Folder) -> Keys:
    """The keys of a directory.

    Raises StateFault when there are none, they are damaged, or others may read them.
    """
    where = folder.path / KEYS_FILE
    data = folder.read(KEYS_FILE, secret=True)
    plain, crc = data[: _PLAIN.size], data[_PLAIN.size :]
    if len(plain) < _PLAIN.size or _CRC.pack(zlib.crc32(plain)) != crc:
        raise StateFault(f"{where}: is damaged; restore it from a copy, it cannot be made again")
    magic, version, state_id, order_id_key, cursor_key = _PLAIN.unpack(plain)
    if magic != _MAGIC or version != _VERSION:
        raise StateFault(
            f"{where}: is of format version {version}, and this program reads version "
            f"{_VERSION} only"
        )
    return Keys(state_id, order_id_key, cursor_key)


def make_keys(folder: Folder) -> Keys:
    """New keys, on disk on return. Raises StateFault when they cannot be written."""
    keys = Keys(
        secrets.token_bytes(STATE_ID_BYTES),
        secrets.token_bytes(KEY_BYTES),
        secrets.token_bytes(KEY_BYTES),
    )
    plain = _PLAIN.pack(_MAGIC, _VERSION, keys.state_id, keys.order_id_key, keys.cursor_key)
    folder.write_whole(KEYS_FILE, plain + _CRC.pack(zlib.crc32(plain)))
    return keys
