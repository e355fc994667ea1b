"""Rungs, and sides of rungs, on which the venue takes no order of ours for a while."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from bot.core.desk.outbox import Outbox
from bot.core.event.room import Rung
from bot.core.limits.bounds import lowered
from bot.core.orders.order import OwnOrder, State
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Qty
from venue.wire.names import MarketId

_FUNDS_PARK_NS = 60 * NS_PER_SECOND  # at most, for want of funds: money may come from outside


class _Short(NamedTuple):
    """A side that is parked for want of funds, until when, and until when it was before."""

    rung: Rung
    side: BookSide
    until_ns: int
    before_ns: int
    often: bool


class Parking:
    """What is parked; of a rung that is not known nothing is."""

    def __init__(self, rungs: Mapping[MarketId, Rung], out: Outbox) -> None:
        self._rungs = rungs
        self._out = out
        self._short_of_funds: list[_Short] = []

    def forget(self, rungs: Collection[Rung]) -> None:
        """Rungs of an event of which nothing is left."""
        self._short_of_funds = [row for row in self._short_of_funds if row.rung not in rungs]

    def market(self, market_id: MarketId, code: str, now_ns: int) -> None:
        """The venue takes no order on this rung until a later read of the series says so."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            rung.parked_at_ns = now_ns
            rung.parked_code = code
            rung.doubt()
            rung.ladder.dirty = True

    def side(self, own: OwnOrder, code: str, for_ns: int, now_ns: int) -> None:
        """A request of ours was refused: no new order on this side of the rung for a while."""
        rung = self._rungs.get(own.market_id)
        if rung is not None:
            # What parks it for longer already stands.
            parked_ns = rung.side_parked_until_ns[own.side]
            rung.side_parked_until_ns[own.side] = max(parked_ns, now_ns + for_ns)
            rung.touch()
            self._out.note("warning", "side_parked", ticker=rung.market.ticker, code=code)

    def too_large(self, market_id: MarketId, qty: Qty) -> None:
        """The venue takes no order of so many shares here: smaller ones from now on (S25)."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            ceilings = rung.ladder.ceilings
            ceilings[market_id] = lowered(ceilings.get(market_id), qty)
            rung.ladder.dirty = True
            self._out.note(
                "warning", "ceiling_learned", ticker=rung.market.ticker, qty=ceilings[market_id]
            )

    def for_funds(self, own: OwnOrder, code: str, now_ns: int, *, often: bool = False) -> None:
        """Cash or shares did not suffice: the same again is asked for only once they changed.
        often: of late they changed each time, and did not suffice: no change is waited for now.
        Of a create sent again a refusal speaks of that sending alone: once it is known
        what became of it, funds may suffice."""
        rung = self._rungs.get(own.market_id)
        if rung is None or own.state is State.LOST:
            return
        side, before_ns = own.side, rung.side_parked_until_ns[own.side]
        self.side(own, code, _FUNDS_PARK_NS, now_ns)
        until_ns = rung.side_parked_until_ns[side]
        kept = [row for row in self._short_of_funds if row.until_ns > now_ns]  # the others are over
        if often:
            ours = [row for row in kept if row.rung is rung and row.side is side]
            kept = [row for row in kept if row not in ours]
            before_ns = ours[0].before_ns if ours else before_ns
        self._short_of_funds = [*kept, _Short(rung, side, until_ns, before_ns, often)]

    def funds_changed(self, *, unseen: bool = False) -> None:
        """Fills were booked, or an order of ours let its reserve go: what was refused for want of
        funds may be asked for again. What parks a side for another reason stands. unseen: what held
        them was not known of, so that no change before it could suffice."""
        for row in reversed(self._short_of_funds):
            if row.often and not unseen:
                continue
            if row.rung.side_parked_until_ns[row.side] == row.until_ns:
                row.rung.side_parked_until_ns[row.side] = row.before_ns
            row.rung.touch()
        self._short_of_funds = [row for row in self._short_of_funds if row.often and not unseen]
