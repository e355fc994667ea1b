"""The request budget: one bucket below the venue's, lowered by its headers, closed when it says so.

Nothing is queued here: a request is either worth a token now or it is not made. The last tokens are
kept for cancels and recovery. Source: design, The bot, item 6; reliability, rows 12-18, B5.
"""

import enum

from bot.core.settings import BudgetSettings
from venue.wire.instant import NS_PER_SECOND
from venue.wire.limits import TokenBucket

_BACKOFF_FIRST_NS = NS_PER_SECOND // 4
_BACKOFF_MAX_NS = 30 * NS_PER_SECOND
_RAMP_NS = 10 * NS_PER_SECOND
_RAMP_START = 4  # a quarter of the burst


class Lane(enum.IntEnum):
    """What a request is for, most urgent first."""

    CANCEL = 0
    RECOVER = 1
    READ = 2
    AMEND = 3
    CREATE = 4


class Purse:
    """Tokens to spend. `now_ns` never steps back."""

    def __init__(self, settings: BudgetSettings, now_ns: int) -> None:
        self._reserve = settings.reserve
        self._bucket = TokenBucket.full(settings.rate_per_second, settings.burst, now_ns)
        self._closed_until_ns = now_ns
        self._backoff_ns = 0
        self._ramp_from_ns: int | None = None
        self.in_flight = 0

    def begin(self, now_ns: int) -> None:
        """The run begins: the bucket is full at this instant."""
        self._bucket.at_ns = now_ns

    def tokens(self, now_ns: int) -> int:
        """Whole tokens there now."""
        self._bucket.refill(now_ns)
        return self._bucket.whole_tokens

    def opens_ns(self) -> int:
        """When a request may leave again after the venue said to wait."""
        return self._closed_until_ns

    def spend(self, lane: Lane, now_ns: int) -> bool:
        """Take a token for a request of this lane. False, and nothing taken, if there is none."""
        if now_ns < self._closed_until_ns:
            return False
        spare = self.tokens(now_ns) - (
            0 if lane <= Lane.RECOVER else self._reserve_of(lane, now_ns)
        )
        if spare < 1:
            return False
        self._bucket.take(now_ns)
        self.in_flight += 1
        return True

    def _reserve_of(self, lane: Lane, now_ns: int) -> int:
        """Tokens that this lane must leave; after an outage creates come back over ten seconds."""
        if self._ramp_from_ns is None or lane is not Lane.CREATE:
            return self._reserve
        since_ns = now_ns - self._ramp_from_ns
        if since_ns >= _RAMP_NS:
            self._ramp_from_ns = None
            return self._reserve
        held_back = self._bucket.burst * (_RAMP_START - 1) // _RAMP_START
        return max(self._reserve, held_back * (_RAMP_NS - since_ns) // _RAMP_NS)

    def answered(self, tokens_left: int | None, now_ns: int) -> None:
        """A request came back. The venue's count lowers ours, never raises it."""
        self.in_flight = max(0, self.in_flight - 1)
        if tokens_left is not None:
            self._bucket.refill(now_ns)
            level = max(0, tokens_left) * NS_PER_SECOND
            self._bucket.level_e9 = min(self._bucket.level_e9, level)

    def eased(self) -> None:
        """The venue took a request in: the next refusal for pace begins a new backoff."""
        self._backoff_ns = 0

    def told_to_wait(self, retry_after_ns: int | None, now_ns: int) -> None:
        """The venue refused for pace: nothing leaves before Retry-After and our own backoff.

        Refusals of requests that were already on their way do not lengthen the backoff.
        """
        if now_ns >= self._closed_until_ns:
            self._backoff_ns = min(_BACKOFF_MAX_NS, max(_BACKOFF_FIRST_NS, 2 * self._backoff_ns))
        wait_ns = max(retry_after_ns or 0, self._backoff_ns)
        self._closed_until_ns = max(self._closed_until_ns, now_ns + wait_ns)

    def outage_over(self, now_ns: int) -> None:
        """The channel or the venue came back: ramp creates up instead of a herd (row 18)."""
        self._ramp_from_ns = now_ns

    def flat_ns(self, resting: int, now_ns: int) -> int:
        """How long it takes to cancel `resting` orders with the tokens there are."""
        opens_ns = max(0, self._closed_until_ns - now_ns)
        short = resting - self.tokens(now_ns)
        return opens_ns + max(0, short) * NS_PER_SECOND // self._bucket.rate_per_second
