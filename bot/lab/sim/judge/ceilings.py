"""The limits that hold by the judge's account, and what stands above one that was lowered.

A limit that is lowered under what is held or live already is not broken by that: what stands above
it may only shrink from then on, as the bot learns of it, until it is below. Which limits hold is
read off the effects: that a configuration was applied, has proven itself, or was rolled back.
"""

from typing import Final, TypeVar

import msgspec

from bot.core import messages as m
from bot.core.settings import BreakerSettings, RiskSettings
from bot.lab.sim.odds import SECOND
from venue.wire.names import ClientOrderId

LIMITS: Final = {
    "loss": "event_loss_cents",
    "series": "series_loss_cents",
    "position": "rung_position_qty",
    "order": "order_qty",
    "net": "event_net_qty",
    "gross": "event_gross_qty",
    "gross cents": "event_gross_cents",
    "resting": "resting_cents",
}
"""What the judge calls a limit, and the setting that it is."""

CHANGES: Final = ("config_applied", "config_proven", "config_rolled_back")
"""Notes after which another configuration holds, or would be brought back."""

LEARNS_NS: Final = 5 * SECOND
"""What is in use falls where the venue ends an order, and for the bot only with an answer."""

_Part = TypeVar("_Part", RiskSettings, BreakerSettings)
CENTS: Final = ("loss", "series", "gross cents", "resting")


class InForce:
    """The configuration of one life, by what it notes. now: what holds. proven: what comes
    back when that is rolled back."""

    def __init__(self, configured: m.Configuration) -> None:
        self.now = self.proven = configured

    def noted(self, note: m.Noted, event: m.Event) -> None:
        if note.name == "config_rolled_back":
            risk = _tighter(self.proven.settings.risk, self.now.settings.risk)
            breakers = _tighter(self.proven.settings.breakers, self.now.settings.breakers)
            settings = msgspec.structs.replace(self.proven.settings, risk=risk, breakers=breakers)
            self.now = msgspec.structs.replace(self.proven, settings=settings)
        elif note.name == "config_applied":
            assert isinstance(event, m.Reconfigured)
            self.now = event.configured
            if note.fields["on_trial"]:
                return
        self.proven = self.now


def _tighter(one: _Part, other: _Part) -> _Part:
    least = {}
    for name in one.__struct_fields__:
        both = (getattr(one, name), getattr(other, name))
        least[name] = min((each for each in both if each), default=0)
    return msgspec.structs.replace(one, **least)


class _Above:
    """What was in use of a limit when it was lowered under that. most: so much may be in use still;
    rounded: and so many cents more, by which fees of fills were rounded up; recent: what has been
    in use since `until_ns` less the time that a bot may take to learn."""

    __slots__ = ("most", "recent", "rounded", "until_ns")

    def __init__(self, used: int, now_ns: int) -> None:
        self.most, self.rounded, self.recent, self.until_ns = used, 0, 0, now_ns + LEARNS_NS


class Ceilings:
    """The limits in force, and what stood above them when they came. Keys: a limit and a place."""

    def __init__(self, risk: RiskSettings) -> None:
        self._risk = risk
        self._above: dict[tuple[str, str], _Above] = {}
        self._lowered: dict[str, int] = {}  # the change by which a limit was lowered last
        self._changes = 0  # how often others came into force
        self._made: dict[ClientOrderId, int] = {}  # how often by when a create was sent first

    def limit(self, name: str) -> int:
        value: int = getattr(self._risk, LIMITS[name])
        return value

    def change(self, risk: RiskSettings, used: dict[tuple[str, str], int], now_ns: int) -> bool:
        self._changes += 1
        before = {name: self.limit(name) for name in LIMITS}
        self._risk = risk
        for name, old in before.items():
            if self.limit(name) > 0 and (not old or self.limit(name) < old):
                self._lowered[name] = self._changes
        self._above = {
            key: _Above(amount, now_ns)
            for key, amount in used.items()
            if 0 < self.limit(key[0]) < amount
        }
        return bool(self._above)

    def made(self, name: ClientOrderId) -> None:
        self._made[name] = self._changes

    def lift(self, name: ClientOrderId, used: dict[tuple[str, str], int], now_ns: int) -> None:
        for key, amount in used.items():
            above = self._above.get(key)
            if self._lowered.get(key[0], 0) <= self._made.get(name, 0):
                continue
            if above is not None:
                above.most = max(above.most, amount)
            elif 0 < self.limit(key[0]) < amount:
                self._above[key] = _Above(amount, now_ns)

    def admits(
        self, name: str, place: str, used: int, now_ns: int, *, sent: bool, slack: int = 0
    ) -> bool:
        """Whether so much may be in use, now that something was sent, or filled.

        slack: cents by which fees of fills in parts, each rounded up, may come to more.
        """
        limit = self.limit(name)
        above = self._above.get((name, place))
        if not limit or above is None:
            return not limit or used <= limit
        over = used - max(limit, above.most)
        if not sent and name in CENTS and 0 < over <= slack:
            above.rounded = max(above.rounded, over)
        holds = over <= above.rounded
        above.recent = max(above.recent, used)
        if now_ns >= above.until_ns:
            # What went at the venue is gone for the bot once it has been told.
            above.most, above.recent = above.recent, used
            above.until_ns = now_ns + LEARNS_NS
            if above.most <= limit:
                del self._above[name, place]
        return holds
