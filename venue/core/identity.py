"""Ids: orders from (user, client_order_id), trades and fills from a count; all by keyed hash.

Nobody without the key can tell from an id whose it is, or which of two came first.

Source: interface, Resources, Order and MarketTrade; silences S15.
"""

from hashlib import blake2b
from typing import Final

from venue.wire.names import ClientOrderId, OrderId, UserId

KEY_BYTES_MAX: Final = 64
_ORDER_ID_BYTES: Final = 8
_TRADE_ID_BYTES: Final = 16


class Identity:
    """Everything that is named by hash. key: 1..64 secret bytes; ValueError when it is not."""

    __slots__ = ("_order", "_trade")

    def __init__(self, key: bytes) -> None:
        if not 1 <= len(key) <= KEY_BYTES_MAX:
            raise ValueError(f"an id key is 1 to {KEY_BYTES_MAX} bytes, not {len(key)}")
        # Copying a keyed state is cheaper than keying a new one each time.
        self._order = blake2b(key=key, digest_size=_ORDER_ID_BYTES, person=b"order")
        self._trade = blake2b(key=key, digest_size=_TRADE_ID_BYTES, person=b"trade")

    def order_id(self, user_id: UserId, client_order_id: ClientOrderId) -> OrderId:
        """The id of the order a user calls so: an unsigned 64-bit decimal, always the same (S15).

        Two names may meet in one id, if hardly ever; the engine refuses the later one.
        """
        state = self._order.copy()
        user = user_id.encode()
        # The length keeps ("ab", "c") and ("a", "bc") apart.
        state.update(b"%d:%b:%b" % (len(user), user, client_order_id.encode()))
        return OrderId(str(int.from_bytes(state.digest())))

    def trade_id(self, number: int) -> str:
        """The id of the match with this number: 32 hex digits without order."""
        return self._named(b"trade:%d" % number)

    def fill_id(self, number: int, role: str) -> str:
        """The id of the maker's or taker's side of the match with this number."""
        return self._named(b"%b:%d" % (role.encode(), number))

    def _named(self, name: bytes) -> str:
        state = self._trade.copy()
        state.update(name)
        return state.hexdigest()
