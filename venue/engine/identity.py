"""Ids by keyed hash: orders from (user, client_order_id), trades and fills from a count. They
reveal neither owner nor order in time (docs/assumptions.md#S15)."""

from hashlib import blake2b
from typing import Final

from venue.wire.names import ClientOrderId, OrderId, UserId

KEY_BYTES_MAX: Final = 64
_ORDER_ID_BYTES: Final = 8
_TRADE_ID_BYTES: Final = 16


class Identity:
    """Everything that is named by hash. key: 1..64 secret bytes; ValueError when it is not."""

    __slots__ = ("_maker", "_order", "_order_by_user", "_taker", "_trade")

    def __init__(self, key: bytes) -> None:
        if not 1 <= len(key) <= KEY_BYTES_MAX:
            raise ValueError(f"an id key is 1 to {KEY_BYTES_MAX} bytes, not {len(key)}")
        # Copying a state that has taken in the key and all that is always the same is far cheaper
        # than starting over each time.
        self._order = blake2b(key=key, digest_size=_ORDER_ID_BYTES, person=b"order")
        trade = blake2b(key=key, digest_size=_TRADE_ID_BYTES, person=b"trade")
        self._trade = _continued(trade, b"trade:")
        self._maker = _continued(trade, b"maker:")
        self._taker = _continued(trade, b"taker:")
        self._order_by_user: dict[UserId, blake2b] = {}

    def order_id(self, user_id: UserId, client_order_id: ClientOrderId) -> OrderId:
        return OrderId(str(self.order_number(user_id, client_order_id)))

    def order_number(self, user_id: UserId, client_order_id: ClientOrderId) -> int:
        """The id of the order a user calls so: unsigned, 64 bits, always the same (S15). Two names
        may meet in one id; the engine refuses the later one."""
        begun = self._order_by_user.get(user_id)
        if begun is None:
            user = user_id.encode()
            # The length keeps ("ab", "c") and ("a", "bc") apart.
            begun = _continued(self._order, b"%d:%b:" % (len(user), user))
            self._order_by_user[user_id] = begun
        state = begun.copy()
        state.update(client_order_id.encode())
        return int.from_bytes(state.digest())

    def match_ids(self, number: int) -> tuple[str, str, str]:
        """The ids of the trade, the maker's fill and the taker's fill of a match: 32 hex digits
        each."""
        digits = b"%d" % number
        trade, maker, taker = self._trade.copy(), self._maker.copy(), self._taker.copy()
        trade.update(digits)
        maker.update(digits)
        taker.update(digits)
        return trade.hexdigest(), maker.hexdigest(), taker.hexdigest()


def _continued(state: blake2b, name: bytes) -> blake2b:
    longer = state.copy()
    longer.update(name)
    return longer
