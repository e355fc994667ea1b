"""Every published number of the interface, and the token bucket. See docs/venue.md#limits.
Readings: docs/assumptions.md#S25, #S26, #S48."""

from typing import Final

import msgspec

from venue.wire.instant import NS_PER_SECOND

RATE_PER_SECOND: Final = 250
RATE_BURST: Final = 500

PAGE_LIMIT_MIN: Final = 1
PAGE_LIMIT_MAX: Final = 1000
PAGE_LIMIT_DEFAULT: Final = 100

CLIENT_ORDER_ID_LENGTH_MAX: Final = 64
SEARCH_LENGTH_MIN: Final = 2
ACTIVE_KEYS_PER_USER_MAX: Final = 10
REVOCATION_DELAY_NS_MAX: Final = 60 * NS_PER_SECOND

SUBSCRIPTION_TARGETS_MAX: Final = 200
MESSAGE_BYTES_MAX: Final = 256 * 1024
"""Of one message of a client on the channel: ten times the largest legal set, so that larger ones
get too_many_targets (S48)."""
DIRECTORY_REFRESH_NS: Final = 60 * NS_PER_SECOND
UNPARSED_FRAMES_MAX: Final = 3
"""Unparseable subscribe frames in a row that close the connection (S48)."""

QTY_MAX: Final = 1_000_000
NOTIONAL_CENTS_MAX: Final = 100_000_000
"""Per-order ceilings (S25). So many shares are within that of notional at any price."""

BODY_BYTES_MAX: Final = 16 * 1024
BODY_DEPTH_MAX: Final = 8
"""Request body caps (S26)."""

CANDLE_WINDOW_DEFAULT_NS: Final = 24 * 3600 * NS_PER_SECOND
REPLY_DEADLINE_NS: Final = 2 * NS_PER_SECOND
"""Timeout of the engine's reply; then the gateway answers result_unknown."""


class TokenBucket(msgspec.Struct):
    """A token bucket in exact integers. rate_per_second, burst: whole tokens. level_e9: tokens x
    10**9 at `at_ns`."""

    rate_per_second: int
    burst: int
    level_e9: int
    at_ns: int

    @classmethod
    def full(cls, rate_per_second: int, burst: int, now_ns: int) -> "TokenBucket":
        return cls(rate_per_second, burst, burst * NS_PER_SECOND, now_ns)

    def refill(self, now_ns: int) -> None:
        """Add what has flowed in since the last call; a clock that stepped back adds nothing."""
        elapsed_ns = now_ns - self.at_ns
        if elapsed_ns > 0:
            level = self.level_e9 + elapsed_ns * self.rate_per_second
            self.level_e9 = min(self.burst * NS_PER_SECOND, level)
            self.at_ns = now_ns

    def spend_token(self, now_ns: int) -> bool:
        """Take one token. False, and nothing taken, when less than a whole one is there."""
        self.refill(now_ns)
        if self.level_e9 < NS_PER_SECOND:
            return False
        self.level_e9 -= NS_PER_SECOND
        return True

    @property
    def whole_tokens(self) -> int:
        """Whole tokens there as of the last call."""
        return self.level_e9 // NS_PER_SECOND

    def wait_ns(self, tokens: int = 1) -> int:
        """Nanoseconds after the last call until `tokens` whole tokens are there; 0 if they are."""
        missing = tokens * NS_PER_SECOND - self.level_e9
        return max(0, -(-missing // self.rate_per_second))
