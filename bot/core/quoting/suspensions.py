"""Rungs, and sides of rungs, on which the venue takes no order of ours for a while."""

from collections.abc import Mapping
from typing import Final

from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import Outbox
from bot.core.quoting.event_quoter import MarketQuoter
from bot.core.risk.limits import lowered
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Qty
from venue.wire.names import MarketId

_FUNDS_PARK_NS: Final = 10 * NS_PER_SECOND
_FUNDS_OFTEN_PARK_NS: Final = 60 * NS_PER_SECOND
"""For want of funds: by then balance and positions have been read again, and most that is under way
has come to its end."""


class Suspensions:
    """What is parked; of a rung that is not known nothing is."""

    def __init__(self, rungs: Mapping[MarketId, MarketQuoter], out: Outbox) -> None:
        self._rungs = rungs
        self._out = out

    def market(self, market_id: MarketId, code: str, now_ns: int) -> None:
        """The venue takes no order on this rung until a later read of the series says so."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            rung.parked_at_ns = now_ns
            rung.parked_code = code
            rung.doubt()
            rung.ladder.dirty = True

    def side(
        self, market_id: MarketId, side: BookSide, code: str, for_ns: int, now_ns: int
    ) -> None:
        """A request of ours was refused: no new order on this side of the rung for a while."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            # What parks it for longer already stands.
            parked_ns = rung.side_parked_until_ns[side]
            rung.side_parked_until_ns[side] = max(parked_ns, now_ns + for_ns)
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
        """Cash or shares did not suffice. often: not the first time of late. Of a create sent again
        a refusal speaks of that sending alone: once it is known what became of it, funds may
        suffice."""
        if own.state is not State.NEW_UNKNOWN:
            for_ns = _FUNDS_OFTEN_PARK_NS if often else _FUNDS_PARK_NS
            self.side(own.market_id, own.book_side, code, for_ns, now_ns)
