"""How often each address has failed to authenticate: beyond a limit its connections end. Nothing
else slows such a flood, for a failure costs no token (S42); a good credential is never refused."""

from collections import OrderedDict
from typing import Final

from venue.wire.limits import TokenBucket

FAILURES_PER_SECOND: Final = 50
FAILURES_BURST: Final = 200

ADDRESSES_MAX: Final = 4_096
"""Addresses remembered. We forget the one that failed longest ago first."""


class AuthThrottle:
    def __init__(self) -> None:
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def note(self, address: str, now_ns: int) -> bool:
        """Count one failure; True beyond the rate limit of 50 a second, 200 at once."""
        bucket = self._buckets.get(address)
        if bucket is None:
            if len(self._buckets) >= ADDRESSES_MAX:
                self._buckets.popitem(last=False)
            bucket = TokenBucket.full(FAILURES_PER_SECOND, FAILURES_BURST, now_ns)
            self._buckets[address] = bucket
        else:
            self._buckets.move_to_end(address)
        return not bucket.spend_token(now_ns)
