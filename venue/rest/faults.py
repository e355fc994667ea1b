"""Faults that an operator injects, for developing clients: every unhappy answer on demand. The same
rules and requests give the same failures. Nothing here outlives the process."""

import enum
import random
from typing import Final

import msgspec

from venue.wire.limits import RATE_BURST

SHARE_SCALE: Final = 10**6
"""A share is a whole number of millionths."""


class Verb(enum.StrEnum):
    CREATE = "create"
    AMEND = "amend"
    CANCEL = "cancel"


class CommandFault(enum.StrEnum):
    """How a write fails. Before: it never reaches the engine. After: it was carried out first. A
    drop is a connection that is cut without an answer."""

    ENGINE_UNAVAILABLE = "engine_unavailable"
    ENGINE_OVERLOADED = "engine_overloaded"
    RESULT_UNKNOWN_BEFORE = "result_unknown_before"
    INTERNAL_ERROR_BEFORE = "internal_error_before"
    DROP_BEFORE = "drop_before"
    RESULT_UNKNOWN_AFTER = "result_unknown_after"
    INTERNAL_ERROR_AFTER = "internal_error_after"
    DROP_AFTER = "drop_after"

    @property
    def is_after(self) -> bool:
        """True if the command is carried out all the same."""
        return self in _AFTER


_AFTER: Final = frozenset(
    {
        CommandFault.RESULT_UNKNOWN_AFTER,
        CommandFault.INTERNAL_ERROR_AFTER,
        CommandFault.DROP_AFTER,
    }
)


class Outage(enum.StrEnum):
    """A store that cannot be read until the rule is cleared."""

    MARKET_DATA_DOWN = "market_data_down"
    ACCOUNTS_DOWN = "accounts_down"


class DelayFault(enum.StrEnum):
    REPLY_DELAY = "reply_delay"


class Replies(enum.StrEnum):
    WRITES = "writes"
    READS = "reads"
    ALL = "all"


class PaceFault(enum.StrEnum):
    """Faults of the rate limit while the bucket is not empty. They hit any request, reads too."""

    RATE_LIMITED = "rate_limited"
    RATE_LIMIT_LOWERED = "rate_limit_lowered"


FaultKind = CommandFault | DelayFault | Outage | PaceFault
KINDS: Final[dict[str, FaultKind]] = {
    kind.value: kind for kinds in (CommandFault, DelayFault, Outage, PaceFault) for kind in kinds
}


class Times(msgspec.Struct, frozen=True):
    """The next `count` >= 1 requests; then the rule is gone."""

    count: int


class Share(msgspec.Struct, frozen=True):
    """A share of the requests, in millionths 0..1,000,000, drawn from `seed`."""

    millionths: int
    seed: int


class CommandRule(msgspec.Struct, frozen=True):
    kind: CommandFault
    when: Times | Share
    verbs: tuple[Verb, ...] = tuple(Verb)


class DelayRule(msgspec.Struct, frozen=True):
    """Reply latency of `delay_ms`; `when` None is every reply."""

    delay_ms: int
    on: Replies
    when: Times | Share | None = None
    kind: DelayFault = DelayFault.REPLY_DELAY


class OutageRule(msgspec.Struct, frozen=True):
    kind: Outage


class ThrottleRule(msgspec.Struct, frozen=True):
    """Requests are refused with 429 rate_limited and this Retry-After; no token is taken."""

    retry_after_s: int
    when: Times | Share
    kind: PaceFault = PaceFault.RATE_LIMITED


class LimitRule(msgspec.Struct, frozen=True):
    """Every bucket holds `limit` tokens, and half as many flow in each second, until cleared."""

    limit: int
    kind: PaceFault = PaceFault.RATE_LIMIT_LOWERED


Rule = CommandRule | DelayRule | OutageRule | ThrottleRule | LimitRule


class FaultInForce(msgspec.Struct, frozen=True):
    """A rule in force: `left` requests to come (None: no end), `struck` so far."""

    rule: Rule
    left: int | None
    struck: int


class _Active:
    def __init__(self, rule: Rule, when: Times | Share | None) -> None:
        self.rule = rule
        self.left = when.count if isinstance(when, Times) else None
        self.struck = 0
        self._share = when if isinstance(when, Share) else None
        self._random = random.Random(0 if self._share is None else self._share.seed)

    def strikes(self) -> bool:
        """True if the next request is struck; counts it if so."""
        share = self._share
        if share is not None and self._random.randrange(SHARE_SCALE) >= share.millionths:
            return False
        if self.left is not None:
            self.left -= 1
        self.struck += 1
        return True


class Faults:
    """The rules in force, at most one of each kind."""

    def __init__(self) -> None:
        self._active: dict[FaultKind, _Active] = {}
        # By kind in the order of the enum, so that of two rules the same one always comes first.
        self._commands: list[tuple[CommandFault, CommandRule, _Active]] = []
        self._delay: tuple[DelayRule, _Active] | None = None
        self._throttle: tuple[ThrottleRule, _Active] | None = None
        self.bucket_limit = RATE_BURST
        self.delays_cleared = 0
        """How often latency faults were cleared: a reply held back since before goes out."""

    def set(self, rule: Rule) -> None:
        """Put a rule in force, instead of the one of its kind if there is one."""
        when = None if isinstance(rule, OutageRule | LimitRule) else rule.when
        self._active[rule.kind] = _Active(rule, when)
        self._index()

    def clear(self, kind: FaultKind | None = None) -> None:
        """Take the rule of a kind out of force, or (None) every rule."""
        if kind is None:
            self._active.clear()
        else:
            self._active.pop(kind, None)
        if kind in (None, DelayFault.REPLY_DELAY):
            self.delays_cleared += 1
        self._index()

    def in_force(self) -> tuple[FaultInForce, ...]:
        found = (self._active.get(kind) for kind in KINDS.values())
        return tuple([FaultInForce(a.rule, a.left, a.struck) for a in found if a is not None])

    def strike(self, verb: Verb) -> CommandFault | None:
        """How the write that is about to be submitted fails; None when it does not. Asked once per
        write, after the caller's own faults were refused."""
        for kind, rule, active in self._commands:
            if verb in rule.verbs and active.strikes():
                self._end_if_used_up(kind, active)
                return kind
        return None

    def reply_delay_ms(self, is_write: bool) -> int:
        """The latency to add to the reply that is ready now, in milliseconds."""
        if self._delay is None:
            return 0
        rule, active = self._delay
        concerned = rule.on is Replies.ALL or (rule.on is Replies.WRITES) == is_write
        if not concerned or not active.strikes():
            return 0
        self._end_if_used_up(rule.kind, active)
        return rule.delay_ms

    def throttled_s(self) -> int | None:
        """The Retry-After with which the request that has come is refused; None when it is not."""
        if self._throttle is None:
            return None
        rule, active = self._throttle
        if not active.strikes():
            return None
        self._end_if_used_up(rule.kind, active)
        return rule.retry_after_s

    def is_down(self, outage: Outage) -> bool:
        return outage in self._active

    def _end_if_used_up(self, kind: FaultKind, active: _Active) -> None:
        if active.left == 0:
            del self._active[kind]
            self._index()

    def _index(self) -> None:
        self._commands = []
        for kind in CommandFault:
            active = self._active.get(kind)
            if active is not None and isinstance(active.rule, CommandRule):
                self._commands.append((kind, active.rule, active))
        delay = self._active.get(DelayFault.REPLY_DELAY)
        self._delay = None
        if delay is not None and isinstance(delay.rule, DelayRule):
            self._delay = delay.rule, delay
        throttle = self._active.get(PaceFault.RATE_LIMITED)
        self._throttle = None
        if throttle is not None and isinstance(throttle.rule, ThrottleRule):
            self._throttle = throttle.rule, throttle
        lowered = self._active.get(PaceFault.RATE_LIMIT_LOWERED)
        rule = None if lowered is None else lowered.rule
        self.bucket_limit = rule.limit if isinstance(rule, LimitRule) else RATE_BURST
