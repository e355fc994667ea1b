"""The request budget of one credential: a bucket below the venue's, shared by all that it serves.

Nothing is queued here: a request is either worth a token now or it is not made. The last tokens are
kept for cancels and recovery. Several traders may spend from one purse; each joins it. Of all but
cancels and recovery the others leave to one that was denied what it is behind them.

The venue's headers lower the bucket and never raise it above its settings. X-RateLimit-Remaining
caps the tokens. X-RateLimit-Limit scales burst, rate and reserve. Retry-After closes the bucket.
While somebody else spends on the key, the rate falls to the part that Remaining leaves of Limit.
"""

import enum
from collections import OrderedDict
from typing import Final

from bot.core.report import BudgetReport
from bot.core.settings import BudgetSettings, PaceSettings
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.limits import RATE_BURST, RATE_PER_SECOND, TokenBucket
from venue.wire.names import MarketId

BACKOFF_FIRST_NS: Final = NS_PER_SECOND // 4
BACKOFF_NS_MAX: Final = 30 * NS_PER_SECOND
UNSERVED_NS_MAX: Final = 4 * NS_PER_SECOND
"""Longest backoff from a venue that is away: it may be back, and asking costs it nothing."""

RETRY_AFTER_NS_MAX: Final = 60 * NS_PER_SECOND
OUTAGE_NS: Final = 2 * NS_PER_SECOND
"""A backoff that had grown to this was an outage: creates come back slowly after it."""

RAMP_NS: Final = 10 * NS_PER_SECOND
"""So long after an outage creates have one part in four of rate and burst."""

_RAMP_PARTS: Final = 4

_HUNGRY_NS: Final = 250 * NS_PER_MS
"""So long tokens are kept for a denied user; it retries at each tick while it wants one."""

CLAIM_MAX: Final = 4
"""Tokens that a user which has just come to want some may have before it is even with others."""


class Priority(enum.IntEnum):
    """What a request is for, most urgent first. Cancels and recovery may spend the reserve."""

    CANCEL = 0
    RECOVER = 1
    READ = 2
    AMEND = 3
    CREATE = 4


class _User:
    """One who spends from the purse.

    resting: its orders that would have to be cancelled. taken: tokens that it has had, but for
    urgent ones. denied_ns: when it was last denied one, None once it got one. returning: what its
    creates may take after an outage.
    """

    def __init__(self) -> None:
        self.resting = 0
        self.taken = 0
        self.denied_ns: int | None = None
        self.returning = TokenBucket(0, 0, 0, 0)

    def is_hungry(self, now_ns: int) -> bool:
        """True while it may still want the token that it was denied."""
        return self.denied_ns is not None and now_ns - self.denied_ns <= _HUNGRY_NS


class ForeignUsageDetector:
    """Detects that somebody else spends tokens of our key, by X-RateLimit-Remaining alone.

    `_alone` is the venue's bucket if only we used it, each request counted when its response
    comes. A response must show at least what that held when the request was sent, less what was in
    flight then and what was sent since. Somebody else took the tokens missing below that.

    missing: tokens, by the newest response that counts. is_found: it stayed above `MISSING_PART`
    of the limit for `PERSISTS_NS`. One burst of somebody else has flowed in again by then.
    """

    def __init__(self) -> None:
        self.missing = 0
        self.is_found = False
        self._alone = TokenBucket.full(RATE_PER_SECOND, RATE_BURST, 0)
        self._bounds: dict[int, int] = {}
        self._short_from_ns = 0
        self._shorts = 0

    def on_limit(self, limit: int, now_ns: int) -> None:
        _resize(self._alone, RATE_PER_SECOND * limit // RATE_BURST, limit, now_ns)

    def on_sent(self, number: int, in_flight: int, now_ns: int) -> None:
        """A request has left. in_flight: it included."""
        self._alone.refill(now_ns)
        self._bounds[number] = self._alone.whole_tokens - in_flight

    def on_response(self, number: int, remaining: int | None, sent_since: int, now_ns: int) -> None:
        """A response. remaining: None where it says nothing of the bucket."""
        self._alone.refill(now_ns)
        self._alone.level_e9 -= NS_PER_SECOND
        bound = self._bounds.pop(number, None)
        if bound is None or remaining is None:
            return
        self.missing = max(0, bound - sent_since - remaining)
        if self.missing * MISSING_PART <= self._alone.burst:
            self._shorts = 0
            self.is_found &= 2 * self.missing * MISSING_PART > self._alone.burst
            return
        if not self._shorts:
            self._short_from_ns = now_ns
        self._shorts += 1
        is_long = now_ns >= self._short_from_ns + PERSISTS_NS
        self.is_found |= is_long and self._shorts >= SHORTS_MIN


MISSING_PART: Final = 5
"""A finding needs more than one token in so many of the limit missing."""

PERSISTS_NS: Final = RATE_BURST * NS_PER_SECOND // RATE_PER_SECOND
"""The time in which an empty bucket fills: tokens missing for longer are still being taken."""

SHORTS_MIN: Final = 3
"""So many responses in a row must show it: one may come from a gateway with a count of its own."""


class RequestBudget:
    """Tokens to spend. `now_ns` never steps back. user: the number that `join` gave, 0 the first.

    in_flight: requests without an answer, of all users. spent: requests so far; right after
    `spend` it is that request's number. reserve: tokens that only cancels and recovery may use.
    """

    def __init__(self, settings: BudgetSettings, now_ns: int) -> None:
        self._settings = settings
        self._limit = RATE_BURST
        self._remaining = RATE_BURST
        self.reserve = settings.reserve
        self._bucket = TokenBucket.full(settings.rate_per_second, settings.burst, now_ns)
        self._closed_until_ns = now_ns
        self._backoff_ns = 0
        self._ramp_until_ns = now_ns
        self._users: list[_User] = []
        self._newest_heard = 0
        self.foreign = ForeignUsageDetector()
        self.in_flight = 0
        self.spent = 0
        self.join()

    def join(self) -> int:
        """Let one more user spend. Its number; the first user is 0 and need not join."""
        self._users.append(_User())
        return len(self._users) - 1

    def tokens(self, now_ns: int) -> int:
        self._bucket.refill(now_ns)
        return self._bucket.whole_tokens

    def can_replace(self, now_ns: int) -> bool:
        """True if there is a token for a cancel, and one outside the reserve for the create that
        takes its place."""
        return self.tokens(now_ns) >= min(self.reserve + 2, self._bucket.burst)

    def opens_ns(self) -> int:
        """When to retry after the venue throttled us."""
        return self._closed_until_ns

    def report(self, now_ns: int) -> BudgetReport:
        return BudgetReport(
            tokens=self.tokens(now_ns),
            burst=self._bucket.burst,
            reserve=self.reserve,
            rate_per_second=self._bucket.rate_per_second,
            waits_ns=max(0, self._closed_until_ns - now_ns),
        )

    # --- spending ---------------------------------------------------------------------------------

    def spend(self, lane: Priority, now_ns: int, user: int = 0) -> bool:
        """Take a token for a request of this lane. False, and nothing taken, if there is none for
        this user now."""
        if now_ns < self._closed_until_ns:
            return False
        mine, bucket = self._users[user], self._bucket
        bucket.refill(now_ns)
        spare = bucket.whole_tokens
        is_urgent = lane <= Priority.RECOVER
        if not is_urgent:
            spare -= self.reserve
            if len(self._users) > 1:
                spare -= self._owed(mine, now_ns)
            if spare < 1:
                if not mine.is_hungry(now_ns):
                    # What it left to others while it wanted nothing gives it no claim now.
                    most = max(each.taken for each in self._users)
                    mine.taken = max(mine.taken, most - CLAIM_MAX)
                mine.denied_ns = now_ns
        is_returning = lane is Priority.CREATE and now_ns < self._ramp_until_ns
        if spare < 1 or (is_returning and not mine.returning.spend_token(now_ns)):
            return False
        bucket.level_e9 -= NS_PER_SECOND
        if not is_urgent:
            mine.taken += 1
            mine.denied_ns = None
        self.spent += 1
        self.in_flight += 1
        self.foreign.on_sent(self.spent, self.in_flight, now_ns)
        return True

    def _owed(self, mine: _User, now_ns: int) -> int:
        """Tokens to be left to users that were denied, until they have had as many as this one."""
        return sum(
            max(0, mine.taken - each.taken) for each in self._users if each.is_hungry(now_ns)
        )

    # --- what the venue says ----------------------------------------------------------------------

    def answered(
        self,
        tokens_left: int | None,
        now_ns: int,
        number: int | None = None,
        limit: int | None = None,
        *,
        is_throttled: bool = False,
    ) -> None:
        """A request came back. The venue's count lowers ours, never raises it.

        number: the request's, if known. limit: X-RateLimit-Limit. is_throttled: the response was a
        429, whose count is no evidence of somebody else. Requests in flight lower the count. The
        response to an older request than one that was heard before says nothing.
        """
        self.in_flight = max(0, self.in_flight - 1)
        is_newest = number is None or number >= self._newest_heard
        if number is not None:
            heard = tokens_left if is_newest and not is_throttled else None
            self.foreign.on_response(number, heard, self.spent - number, now_ns)
        if not is_newest or (tokens_left is None and limit is None):
            return
        self._newest_heard = number or self._newest_heard
        if limit is not None and limit != self._limit:
            self._limit = limit
            self.foreign.on_limit(limit, now_ns)
        if tokens_left is not None:
            self._remaining = tokens_left
        self._fit(now_ns)
        if tokens_left is not None:
            level = max(0, tokens_left - self.in_flight) * NS_PER_SECOND
            self._bucket.level_e9 = min(self._bucket.level_e9, level)

    def _fit(self, now_ns: int) -> None:
        """Scale burst, rate and reserve to the venue's limit where that is lower than published,
        and the rate to what others leave of it; a tenth of the rate is kept for cancels."""
        limit, most = min(self._limit, RATE_BURST), self._settings
        rate = max(1, most.rate_per_second * limit // RATE_BURST)
        if self.foreign.is_found:
            rate = max(1, rate // 10, rate * min(self._remaining, limit) // max(1, limit))
        burst = max(1, most.burst * limit // RATE_BURST)
        _resize(self._bucket, rate, burst, now_ns)
        self.reserve = min(most.reserve * limit // RATE_BURST, burst - 1)

    def eased(self, now_ns: int) -> None:
        """The venue took a request in: the next refusal begins a new backoff. After a long one
        the outage is over."""
        if self._backoff_ns >= OUTAGE_NS:
            self.outage_over(now_ns)
        self._backoff_ns = 0

    def told_to_wait(self, retry_after_ns: int | None, now_ns: int) -> None:
        """The venue throttles us (429): nothing leaves before Retry-After and our own backoff."""
        self._wait(retry_after_ns, BACKOFF_NS_MAX, now_ns)

    def unserved(self, retry_after_ns: int | None, now_ns: int) -> None:
        """Nobody is there, or it cannot take requests in: back off, but look again soon."""
        self._wait(retry_after_ns, UNSERVED_NS_MAX, now_ns)

    def _wait(self, retry_after_ns: int | None, backoff_ns_max: int, now_ns: int) -> None:
        """Refusals of requests already in flight do not lengthen the backoff."""
        if now_ns >= self._closed_until_ns:
            longer_ns = max(BACKOFF_FIRST_NS, 2 * self._backoff_ns)
            self._backoff_ns = min(backoff_ns_max, longer_ns)
        asked_ns = min(RETRY_AFTER_NS_MAX, max(0, retry_after_ns or 0))
        wait_ns = max(asked_ns, self._backoff_ns)
        self._closed_until_ns = max(self._closed_until_ns, now_ns + wait_ns)

    def outage_over(self, now_ns: int) -> None:
        """The channel or the venue came back: creates come back slowly instead of in a herd. The
        users share evenly what creates may take meanwhile."""
        self._ramp_until_ns = now_ns + RAMP_NS
        parts = _RAMP_PARTS * len(self._users)
        rate, burst = self._bucket.rate_per_second // parts, self._bucket.burst // parts
        for each in self._users:
            each.returning = TokenBucket.full(max(1, rate), max(1, burst), now_ns)

    # --- time to flat -----------------------------------------------------------------------------

    def rests(self, resting: int, user: int = 0) -> None:
        """So many orders of this user would have to be cancelled to be flat."""
        self._users[user].resting = resting

    def flat_ns(self, resting: int, now_ns: int, user: int = 0) -> int:
        """How long until the last cancel has left, if this user cancelled `resting` orders and the
        others all of theirs, with the tokens there are."""
        others = sum(each.resting for each in self._users) - self._users[user].resting
        opens_ns = max(0, self._closed_until_ns - now_ns)
        self._bucket.refill(now_ns)
        missing_e9 = (resting + others) * NS_PER_SECOND - self._bucket.level_e9
        return opens_ns + max(0, -(-missing_e9 // self._bucket.rate_per_second))


def _resize(bucket: TokenBucket, rate_per_second: int, burst: int, now_ns: int) -> None:
    """Give a bucket another rate and size: as much is missing from a smaller one, and a larger one
    gains no token by it."""
    bucket.refill(now_ns)
    left_e9 = bucket.level_e9 + (burst - bucket.burst) * NS_PER_SECOND
    bucket.rate_per_second, bucket.burst = rate_per_second, burst
    bucket.level_e9 = min(bucket.level_e9, max(0, left_e9))


class WriteThrottle:
    """How many writes a market and the account bear: a flickering book must not become a storm.

    Cancels always pass; they count, as far as there is something to count them against. A market
    that has been quiet for long is not kept.
    """

    def __init__(self, settings: PaceSettings) -> None:
        self._settings = settings
        self._all = TokenBucket.full(settings.writes_per_second, settings.writes_burst, 0)
        self._markets: OrderedDict[MarketId, TokenBucket] = OrderedDict()

    def admits(self, market_id: MarketId, now_ns: int, writes: int = 1) -> bool:
        """True if so many more writes of this market are within the throttle, or a smaller burst is
        full."""
        account, market = self._buckets(market_id, now_ns)
        return (
            account.level_e9 >= min(writes, account.burst) * NS_PER_SECOND
            and market.level_e9 >= min(writes, market.burst) * NS_PER_SECOND
        )

    def on_write(self, market_id: MarketId, now_ns: int) -> None:
        for bucket in self._buckets(market_id, now_ns):
            if bucket.level_e9 >= NS_PER_SECOND:
                bucket.level_e9 -= NS_PER_SECOND

    def opens_ns(self, market_id: MarketId, now_ns: int) -> int:
        """When the throttle admits one more create or amend of this market."""
        return now_ns + max(bucket.wait_ns() for bucket in self._buckets(market_id, now_ns))

    def set_pace(self, settings: PaceSettings, now_ns: int) -> None:
        self._settings = settings
        _resize(self._all, settings.writes_per_second, settings.writes_burst, now_ns)
        rate, burst = settings.market_writes_per_second, settings.market_writes_burst
        for bucket in self._markets.values():
            _resize(bucket, rate, burst, now_ns)

    def _buckets(self, market_id: MarketId, now_ns: int) -> tuple[TokenBucket, TokenBucket]:
        """That of the account and that of a market, as they are now."""
        market = self._markets.get(market_id)
        if market is None:
            rate = self._settings.market_writes_per_second
            market = TokenBucket.full(rate, self._settings.market_writes_burst, now_ns)
            self._markets[market_id] = market
            if len(self._markets) > MARKETS_MAX:
                self._markets.popitem(last=False)
        self._all.refill(now_ns)
        market.refill(now_ns)
        return self._all, market


MARKETS_MAX: Final = 4_000
"""Markets with a throttle of their own: more than any series has rungs."""
