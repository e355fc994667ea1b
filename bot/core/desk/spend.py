"""The request budget of one credential: a bucket below the venue's, shared by all that it serves.

Nothing is queued here: a request is either worth a token now or it is not made. The last tokens are
kept for cancels and recovery. Several traders may spend from one purse; each joins it, and to one
that was denied the others leave what it is behind them. The venue's headers lower the bucket and
never raise it; when it says to wait, everything waits.

Source: design, The bot, item 6; reliability, rows 12-18, 38, B5.
"""

import enum
from collections import OrderedDict
from typing import Final

from bot.core.desk.sharing import Sharing
from bot.core.report import BudgetReport
from bot.core.settings import BudgetSettings, PaceSettings
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.limits import TokenBucket
from venue.wire.names import MarketId

BACKOFF_FIRST_NS: Final = NS_PER_SECOND // 4
BACKOFF_NS_MAX: Final = 30 * NS_PER_SECOND
UNSERVED_NS_MAX: Final = 4 * NS_PER_SECOND
"""Longest backoff from a venue that is away: it may be back, and asking costs it nothing."""

RETRY_AFTER_NS_MAX: Final = 60 * NS_PER_SECOND
OUTAGE_NS: Final = 2 * NS_PER_SECOND
"""A backoff that had grown to this was an outage: creates come back slowly after it."""

RAMP_NS: Final = 10 * NS_PER_SECOND
_RAMP_PARTS: Final = 4
"""After an outage creates begin with one part in four of rate and burst."""

_HUNGRY_NS: Final = 250 * NS_PER_MS
"""For so long tokens are left to a denied user; it asks again at each Beat if it still wants."""

CLAIM_MAX: Final = 4
"""Tokens that a user which has just come to want some may have before it is even with others."""


class Lane(enum.IntEnum):
    """What a request is for, most urgent first."""

    CANCEL = 0
    RECOVER = 1
    READ = 2
    AMEND = 3
    CREATE = 4

    @property
    def is_urgent(self) -> bool:
        """Whether it may spend the reserve: it takes risk off, or tells how much there is."""
        return self <= Lane.RECOVER


_URGENT: Final = frozenset(lane for lane in Lane if lane.is_urgent)
_CREATE: Final = Lane.CREATE


class _Turns:
    """What one user has had of one kind of lane, and when it was last denied a token."""

    __slots__ = ("denied_ns", "taken")

    def __init__(self, taken: int) -> None:
        self.taken = taken
        self.denied_ns: int | None = None

    def is_hungry(self, now_ns: int) -> bool:
        return self.denied_ns is not None and now_ns - self.denied_ns <= _HUNGRY_NS


class _User:
    """One who spends from the purse. resting: its orders that would have to be cancelled."""

    __slots__ = ("ramp_creates", "resting", "turns")

    def __init__(self) -> None:
        self.turns = {True: _Turns(0), False: _Turns(0)}  # by whether the lane is urgent
        self.ramp_creates = 0
        self.resting = 0


class Purse:
    """Tokens to spend. `now_ns` never steps back. user: the number that `join` gave, 0 the first.

    in_flight: requests without an answer, of all users. spent: requests so far; right after
    `spend` it is that request's number.
    """

    def __init__(self, settings: BudgetSettings, now_ns: int) -> None:
        self._reserve = settings.reserve
        self._bucket = TokenBucket.full(settings.rate_per_second, settings.burst, now_ns)
        self._closed_until_ns = now_ns
        self._backoff_ns = 0
        self._ramp_from_ns: int | None = None
        self._users: list[_User] = []
        self._newest_heard = 0
        self.sharing = Sharing()
        self.in_flight = 0
        self.spent = 0
        self.join()

    def join(self) -> int:
        """Let one more user spend. Its number; the first user is 0 and need not join."""
        self._users.append(_User())
        return len(self._users) - 1

    def begin(self, now_ns: int) -> None:
        """A run begins at this instant."""
        self._bucket.refill(now_ns)

    def tokens(self, now_ns: int) -> int:
        """Whole tokens there now."""
        self._bucket.refill(now_ns)
        return self._bucket.whole_tokens

    def opens_ns(self) -> int:
        """When a request may leave again after the venue said to wait."""
        return self._closed_until_ns

    def shown(self, now_ns: int) -> BudgetReport:
        """What there is to spend now, for a person to see."""
        return BudgetReport(
            tokens=self.tokens(now_ns),
            burst=self._bucket.burst,
            reserve=self._reserve,
            rate_per_second=self._bucket.rate_per_second,
            waits_ns=max(0, self._closed_until_ns - now_ns),
        )

    # --- spending ---------------------------------------------------------------------------------

    def spend(self, lane: Lane, now_ns: int, user: int = 0) -> bool:
        """Take a token for a request of this lane. False, and nothing taken, if there is none for
        this user now."""
        if now_ns < self._closed_until_ns:
            return False
        mine = self._users[user]
        if lane is _CREATE and mine.ramp_creates >= self._ramp_allows(now_ns):
            return False
        is_urgent = lane in _URGENT
        turns, bucket = mine.turns[is_urgent], self._bucket
        bucket.refill(now_ns)
        spare = bucket.level_e9 // NS_PER_SECOND
        if not is_urgent:
            spare -= self._reserve
        if len(self._users) > 1:
            spare -= self._owed(turns, is_urgent, now_ns)
        if spare < 1:
            if not turns.is_hungry(now_ns):
                # What it left to others while it wanted nothing gives it no claim now.
                most = max(each.turns[is_urgent].taken for each in self._users)
                turns.taken = max(turns.taken, most - CLAIM_MAX)
            turns.denied_ns = now_ns
            return False
        bucket.level_e9 -= NS_PER_SECOND
        turns.taken += 1
        turns.denied_ns = None
        if self._ramp_from_ns is not None and lane is _CREATE:
            mine.ramp_creates += 1
        self.spent += 1
        self.in_flight += 1
        self.sharing.sent(self.spent, self.in_flight, now_ns)
        return True

    def _owed(self, mine: _Turns, is_urgent: bool, now_ns: int) -> int:
        """Tokens to be left to users that were denied, until they have had as many as this one."""
        return sum(
            max(0, mine.taken - turns.taken)
            for turns in (each.turns[is_urgent] for each in self._users)
            if turns.is_hungry(now_ns)
        )

    def _ramp_allows(self, now_ns: int) -> int:
        """Creates that one user may have sent since the outage; far more than any without one.

        A quarter of the burst at once, then a quarter of the rate growing to the whole of it; the
        users share it evenly.
        """
        if self._ramp_from_ns is None:
            return _NO_RAMP
        since_ns = now_ns - self._ramp_from_ns
        if since_ns >= RAMP_NS:
            self._ramp_from_ns = None
            return _NO_RAMP
        # The rate at s is r x (1 + 3 s / T) / 4; this is its sum from 0 to `since_ns`.
        flowed = (
            self._bucket.rate_per_second
            * since_ns
            * (2 * RAMP_NS + (_RAMP_PARTS - 1) * since_ns)
            // (2 * RAMP_NS * _RAMP_PARTS * NS_PER_SECOND)
        )
        return (self._bucket.burst // _RAMP_PARTS + flowed) // len(self._users)

    # --- what the venue says ----------------------------------------------------------------------

    def answered(
        self,
        tokens_left: int | None,
        now_ns: int,
        number: int | None = None,
        *,
        definite: bool = True,
    ) -> None:
        """A request came back. The venue's count lowers ours, never raises it.

        number: the request's, if known. definite: the answer came from the venue itself, so the
        request takes no token later. Of the venue's count is taken off what other requests on
        their way may take yet. An answer that was overtaken by a younger request's says nothing.
        """
        self.in_flight = max(0, self.in_flight - 1)
        if number is not None:
            self.sharing.answered(
                number, tokens_left, self.in_flight, self.spent, now_ns, definite=definite
            )
        if tokens_left is None or (number is not None and number < self._newest_heard):
            return
        if number is not None:
            self._newest_heard = number
        self._bucket.refill(now_ns)
        level = max(0, tokens_left - self.in_flight) * NS_PER_SECOND
        self._bucket.level_e9 = min(self._bucket.level_e9, level)

    def eased(self, now_ns: int) -> None:
        """The venue took a request in: the next refusal begins a new backoff. After a long one
        the outage is over."""
        if self._backoff_ns >= OUTAGE_NS:
            self.outage_over(now_ns)
        self._backoff_ns = 0

    def told_to_wait(self, retry_after_ns: int | None, now_ns: int) -> None:
        """The venue refused for pace: nothing leaves before Retry-After and our own backoff."""
        self._wait(retry_after_ns, BACKOFF_NS_MAX, now_ns)

    def unserved(self, retry_after_ns: int | None, now_ns: int) -> None:
        """Nobody is there, or it cannot take requests in: back off, but look again soon."""
        self._wait(retry_after_ns, UNSERVED_NS_MAX, now_ns)

    def _wait(self, retry_after_ns: int | None, backoff_ns_max: int, now_ns: int) -> None:
        """Refusals of requests that were already on their way do not lengthen the backoff."""
        if now_ns >= self._closed_until_ns:
            longer_ns = max(BACKOFF_FIRST_NS, 2 * self._backoff_ns)
            self._backoff_ns = min(backoff_ns_max, longer_ns)
        asked_ns = min(RETRY_AFTER_NS_MAX, max(0, retry_after_ns or 0))
        wait_ns = max(asked_ns, self._backoff_ns)
        self._closed_until_ns = max(self._closed_until_ns, now_ns + wait_ns)

    def outage_over(self, now_ns: int) -> None:
        """The channel or the venue came back: ramp creates up instead of a herd (row 18)."""
        self._ramp_from_ns = now_ns
        for each in self._users:
            each.ramp_creates = 0

    # --- time to flat -----------------------------------------------------------------------------

    def rests(self, resting: int, user: int = 0) -> None:
        """So many orders of this user would have to be cancelled to be flat."""
        self._users[user].resting = resting

    def flat_ns(self, resting: int, now_ns: int, user: int = 0) -> int:
        """How long until the last cancel has left, if this user cancelled `resting` orders and the
        others all of theirs, with the tokens there are."""
        others = sum(each.resting for each in self._users) - self._users[user].resting
        opens_ns = max(0, self._closed_until_ns - now_ns)
        missing_e9 = (resting + others) * NS_PER_SECOND - self._level_e9(now_ns)
        return opens_ns + max(0, -(-missing_e9 // self._bucket.rate_per_second))

    def _level_e9(self, now_ns: int) -> int:
        self._bucket.refill(now_ns)
        return self._bucket.level_e9


_NO_RAMP: Final = 2**62


class Pace:
    """How many writes a market and the account bear: a flickering book must not become a storm.

    Cancels always pass; they count, as far as there is something to count them against. A market
    that has been quiet for long is not kept.
    """

    def __init__(self, settings: PaceSettings) -> None:
        self._settings = settings
        self._all: TokenBucket | None = None
        self._markets: OrderedDict[MarketId, TokenBucket] = OrderedDict()

    def admits(self, market_id: MarketId, now_ns: int, writes: int = 1) -> bool:
        """Whether so many more writes of this market are within the pace; of a burst that is
        smaller, whether it is whole."""
        for bucket in (self._account(now_ns), self._market(market_id, now_ns)):
            least = writes if writes < bucket.burst else bucket.burst
            if bucket.level_e9 < least * NS_PER_SECOND:
                return False
        return True

    def wrote(self, market_id: MarketId, now_ns: int) -> None:
        """A write of this market has left, whatever it was."""
        self._account(now_ns).take(now_ns)
        self._market(market_id, now_ns).take(now_ns)

    def opens_ns(self, market_id: MarketId, now_ns: int) -> int:
        """When one more create or amend of this market is within the pace."""
        account, market = self._account(now_ns), self._market(market_id, now_ns)
        return now_ns + max(account.wait_ns(), market.wait_ns())

    def reconfigure(self, settings: PaceSettings, now_ns: int) -> None:
        """Hold to another pace: each bucket stays as far below full as it is."""
        self._settings = settings
        if self._all is not None:
            self._all = _resized(
                self._all, settings.writes_per_second, settings.writes_burst, now_ns
            )
        for market_id, bucket in self._markets.items():
            self._markets[market_id] = _resized(
                bucket, settings.market_writes_per_second, settings.market_writes_burst, now_ns
            )

    def _account(self, now_ns: int) -> TokenBucket:
        if self._all is None:
            pace = self._settings
            self._all = TokenBucket.full(pace.writes_per_second, pace.writes_burst, now_ns)
        self._all.refill(now_ns)
        return self._all

    def _market(self, market_id: MarketId, now_ns: int) -> TokenBucket:
        pace = self._settings
        bucket = self._markets.get(market_id)
        if bucket is None:
            bucket = TokenBucket.full(
                pace.market_writes_per_second, pace.market_writes_burst, now_ns
            )
            self._markets[market_id] = bucket
            while len(self._markets) > MARKETS_MAX:
                self._markets.popitem(last=False)
        bucket.refill(now_ns)
        return bucket


def _resized(bucket: TokenBucket, rate_per_second: int, burst: int, now_ns: int) -> TokenBucket:
    """A bucket of another rate and size from which as much is missing; empty at the least."""
    bucket.refill(now_ns)
    missing_e9 = bucket.burst * NS_PER_SECOND - bucket.level_e9
    level_e9 = max(0, burst * NS_PER_SECOND - missing_e9)
    return TokenBucket(rate_per_second, burst, level_e9, now_ns)


MARKETS_MAX: Final = 4_000
"""Markets whose pace is kept: more than any series has rungs, so that only a bug reaches it."""
