"""How much may be traded, from everything to nothing.

Several sources restrict trading, each for its own reason: the operator, the calendar, the wind-down
of an event, its jump guard, its strategy, loss budgets, alerts, the kill switch. Each states its
own restriction of an event or of the series, and ends it by itself. The strictest state is in
force.

See docs/operations.md#trading-states.
"""

import enum
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from venue.wire.instant import second_of


class TradingState(enum.StrEnum):
    """The states, from the mildest to the strictest."""

    ACTIVE = "active"  # everything
    REDUCED = "reduced"  # sizes are divided
    REDUCE_ONLY = "reduce_only"  # only reductions of inventory
    HALTED = "halted"  # nothing, and every order is cancelled
    KILLED = "killed"  # likewise, until a person has looked: `bot reset`

    @property
    def level(self) -> int:
        """0 for the mildest, 4 for the strictest."""
        return _LEVEL[self]

    @property
    def is_halted(self) -> bool:
        """True if nothing may be quoted."""
        return self is TradingState.HALTED or self is TradingState.KILLED


NORMAL_WIDTH_PCT: Final = 100
"""Of its distance from the fair value a quote rests where the strategy wants it."""

_LEVEL: Final = {state: level for level, state in enumerate(TradingState)}


class Source(enum.StrEnum):
    """Who restricts trading."""

    RUN = "run"  # it starts, or ends
    OPERATOR = "operator"
    KILL_SWITCH = "kill_switch"  # a breaker, a contradiction, or a latch that was set from outside
    ALERT = "alert"
    VENUE = "venue"
    WIND_DOWN = "wind_down"
    CALENDAR = "calendar"
    STRATEGY = "strategy"
    JUMP_GUARD = "jump_guard"
    LOSS_BUDGET = "loss_budget"


class Restriction(msgspec.Struct, frozen=True, kw_only=True):
    """One source's restriction of an event or of the series."""

    source: Source
    state: TradingState
    why: str
    ends: str
    """What ends it, in a few words."""
    until_ns: int | None = None
    """When it ends by itself, or a stricter one follows; None where time does not end it."""
    since_ns: int | None = None
    """When it began; None where that is not kept."""
    divisor: int = 1
    """Of each size, >= 1."""
    width_pct: int = NORMAL_WIDTH_PCT
    """Percent of its distance from the fair value at which a quote rests, >= 100."""
    of_account: bool = False
    """True if it restricts every series of the account, not this series or event alone."""

    def text(self) -> str:
        """For a person: what, by whom, why, since when, and what ends it."""
        width = f", width {self.width_pct} %" if self.width_pct > NORMAL_WIDTH_PCT else ""
        scope = ", the whole account" if self.of_account else ""
        what = f"{self.state} ({self.source}{scope}{width})".replace("_", " ") + f": {self.why}"
        since = "" if self.since_ns is None else f", since {second_of(self.since_ns)}"
        until = "" if self.until_ns is None else f", at {second_of(self.until_ns)}"
        return f"{what}{since}; ends: {self.ends}{until}"


class InForce(NamedTuple):
    """What all restrictions together leave."""

    state: TradingState
    divisor: int  # of each size
    width_pct: int = NORMAL_WIDTH_PCT  # of each quote's distance from the fair value


EVERYTHING: Final = InForce(TradingState.ACTIVE, 1)


def stricter(one: InForce, other: InForce) -> InForce:
    """The stricter state of the two, the larger divisor and the larger width."""
    state = one.state if one.state.level >= other.state.level else other.state
    width_pct = max(one.width_pct, other.width_pct)
    return InForce(state, max(one.divisor, other.divisor), width_pct)


def in_force(restrictions: Iterable[Restriction]) -> InForce:
    """What all these leave."""
    left = EVERYTHING
    for each in restrictions:
        left = stricter(left, InForce(each.state, each.divisor, each.width_pct))
    return left


def strictest_first(restrictions: Iterable[Restriction]) -> list[Restriction]:
    """In the order in which a person needs them."""
    return sorted(restrictions, key=lambda each: -each.state.level)
