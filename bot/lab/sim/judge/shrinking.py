"""One life's orders where only what shrinks a position may leave: a flatten, and an event's end.

While the operator wants everything flat, all that may fill on a side of a rung takes no more than
is held away, at its worst. Near the end of its event a rung gets orders on the side alone that
shrinks what is held, then none, and what rests goes.
"""

from typing import Final

from bot.core import messages as m
from bot.core.settings import CurfewSettings, TraderSettings
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.flight import Flight
from bot.lab.sim.judge.truth import Truth
from bot.lab.sim.odds import SECOND
from bot.lab.sim.seen import Seen
from venue.wire.names import MarketId

_TURNS_NS: Final = SECOND // 2
"""A stage is in force with the next decision, and what that one decided has left by then."""

_LEARNS_NS: Final = 4 * SECOND
"""Longer than it takes, with two lags of reads, until a bot has learned what has filled."""


class Shrinking:
    """Follows one life; all times are the bot's own. flattening: whether the operator's newest word
    is that everything is to be flat."""

    def __init__(
        self, settings: TraderSettings, truth: Truth, flight: Flight, resolves_ns: int, seen: Seen
    ) -> None:
        self.flattening = False
        self._curfew: CurfewSettings = settings.curfew
        self._learns_ns = _LEARNS_NS + 2 * settings.trust.read_lag_ns
        self._truth = truth
        self._flight = flight
        self._resolves_ns = resolves_ns
        self._seen = seen
        # Since when a side has had no room, and by what was held.
        self._no_room: dict[tuple[MarketId, bool], tuple[int, int]] = {}

    def saw(self, event: m.Event) -> None:
        if isinstance(event, m.FlattenRequested):
            self.flattening = True
        elif isinstance(event, m.ResumeRequested | m.PauseRequested):
            self.flattening = False
            self._no_room.clear()

    def _room(self, market: MarketId, is_bid: bool) -> int:
        net = self._truth.net(market)
        return max(0, -net if is_bid else net)

    def sent(self, market: MarketId, is_bid: bool, now_ns: int, *, first: bool) -> None:
        """A create, the first of its order, or an amend left for a side of a rung, and may be live
        by now. Raises `Broken` when it should not have."""
        if market in self._truth.resolved:
            return  # what is on its way there is refused
        # What somebody else has bought on the account may be more to shrink, as far as it knows.
        room = self._room(market, is_bid) + len(self._truth.strange)
        if self.flattening:
            here = self._flight.possible(market)
            live = sum(each.qty for each in here if each.is_bid is is_bid)
            self._seen.hit("shrunk_while_flattening")
            text = f"{live} shares may fill on {market}, where {room} are to be shrunk"
            check(live <= room, "B4", f"while everything is to be flat {text}")
        left_ns = self._resolves_ns - now_ns
        stops = self._curfew.stop_ns - _TURNS_NS > 0 and left_ns <= self._curfew.stop_ns - _TURNS_NS
        check(not stops, "B4", f"a new order on {market} {left_ns} ns before its event ends")
        if first and left_ns <= self._curfew.reduce_ns - _TURNS_NS:
            self._seen.hit("shrunk_near_the_end")
            check(room > 0, "B4", f"new exposure on {market} {left_ns} ns before its event ends")

    def must_go(self, market: MarketId, is_bid: bool, now_ns: int) -> str:
        left_ns = self._resolves_ns - now_ns
        if self._curfew.stop_ns and left_ns <= self._curfew.stop_ns - _TURNS_NS:
            return "its event is about to end"
        if not self.flattening or self._room(market, is_bid) or market in self._truth.resolved:
            return ""
        if self._truth.strange:
            self._no_room.clear()
            return ""
        place, net = (market, is_bid), self._truth.net(market)
        since_ns, before = self._no_room.get(place, (now_ns, net))
        if net != before:
            since_ns = now_ns
        self._no_room[place] = since_ns, net
        return "it cannot shrink anything" if now_ns - since_ns > self._learns_ns else ""
