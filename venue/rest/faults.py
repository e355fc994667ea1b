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


class FaultKind(enum.StrEnum):
    """A write fails before it reaches the engine, or after it was carried out. A drop is a
    connection that is cut without an answer. A store that is down cannot be read. The faults of the
    rate limit hit any request, reads too, while the bucket is not empty."""

    ENGINE_UNAVAILABLE = "engine_unavailable"
    ENGINE_OVERLOADED = "engine_overloaded"
    RESULT_UNKNOWN_BEFORE = "result_unknown_before"
    INTERNAL_ERROR_BEFORE = "internal_error_before"
    DROP_BEFORE = "drop_before"
    RESULT_UNKNOWN_AFTER = "result_unknown_after"
    INTERNAL_ERROR_AFTER = "internal_error_after"
    DROP_AFTER = "drop_after"
    REPLY_DELAY = "reply_delay"
    MARKET_DATA_DOWN = "market_data_down"
    ACCOUNTS_DOWN = "accounts_down"
    RATE_LIMITED = "rate_limited"
    RATE_LIMIT_LOWERED = "rate_limit_lowered"

    @property
    def is_after(self) -> bool:
        """True if the command is carried out all the same."""
        return self in COMMAND_FAULTS[5:]


KINDS: Final = {kind.value: kind for kind in FaultKind}
COMMAND_FAULTS: Final = tuple(FaultKind)[:8]
"""How a write fails; of two in force the first counts."""


class Replies(enum.StrEnum):
    WRITES = "writes"
    READS = "reads"
    ALL = "all"


class Times(msgspec.Struct, frozen=True):
    """The next `count` >= 1 requests; then the rule is gone."""

    count: int


class Share(msgspec.Struct, frozen=True):
    """A share of the requests, in millionths 0..1,000,000, drawn from `seed`."""

    millionths: int
    seed: int


class FaultRule(msgspec.Struct, frozen=True):
    """A fault, and the settings of its kind. when: None is every request, until cleared."""

    kind: FaultKind
    when: Times | Share | None = None
    verbs: tuple[Verb, ...] = tuple(Verb)
    """Of a write's fault."""
    delay_ms: int | None = None
    """Latency added to a reply."""
    on: Replies | None = None
    """Which replies are late."""
    retry_after_s: int | None = None
    """Of a request refused with 429 rate_limited; no token is taken."""
    limit: int | None = None
    """Tokens that every bucket holds; half as many flow in each second."""


class FaultInForce:
    """A rule in force: `left` requests to come (None: no end), `struck` so far."""

    def __init__(self, rule: FaultRule) -> None:
        self.rule = rule
        self.left = rule.when.count if isinstance(rule.when, Times) else None
        self.struck = 0
        self._share = rule.when if isinstance(rule.when, Share) else None
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
    def __init__(self) -> None:
        self._active: dict[FaultKind, FaultInForce] = {}
        self.delays_cleared = 0
        """How often latency faults were cleared: a reply held back since before goes out."""

    def set(self, rule: FaultRule) -> None:
        self._active[rule.kind] = FaultInForce(rule)

    def clear(self, kind: FaultKind | None = None) -> None:
        """Take the rule of a kind out of force, or (None) every rule."""
        if kind is None:
            self._active.clear()
        else:
            self._active.pop(kind, None)
        if kind in (None, FaultKind.REPLY_DELAY):
            self.delays_cleared += 1

    def in_force(self) -> tuple[FaultInForce, ...]:
        return tuple([self._active[kind] for kind in FaultKind if kind in self._active])

    def strike(self, verb: Verb) -> FaultKind | None:
        """How the write that is about to be submitted fails; None when it does not. Asked once per
        write, after the caller's own faults were refused."""
        if not self._active:
            return None
        for kind in COMMAND_FAULTS:
            active = self._active.get(kind)
            if active is not None and verb in active.rule.verbs and self._strikes(active):
                return kind
        return None

    def reply_delay_ms(self, is_write: bool) -> int:
        """The latency to add to the reply that is ready now, in milliseconds."""
        active = self._active.get(FaultKind.REPLY_DELAY) if self._active else None
        if active is None:
            return 0
        concerned = (Replies.ALL, Replies.WRITES if is_write else Replies.READS)
        struck = active.rule.on in concerned and self._strikes(active)
        return active.rule.delay_ms or 0 if struck else 0

    def throttled_s(self) -> int | None:
        """The Retry-After with which the request that has come is refused; None when it is not."""
        active = self._active.get(FaultKind.RATE_LIMITED) if self._active else None
        return None if active is None or not self._strikes(active) else active.rule.retry_after_s

    @property
    def bucket_limit(self) -> int:
        active = self._active.get(FaultKind.RATE_LIMIT_LOWERED) if self._active else None
        return RATE_BURST if active is None else active.rule.limit or RATE_BURST

    def is_down(self, store: FaultKind) -> bool:
        return store in self._active

    def _strikes(self, active: FaultInForce) -> bool:
        """Ask a rule, which ends with the last of its requests."""
        struck = active.strikes()
        if active.left == 0:
            del self._active[active.rule.kind]
        return struck
