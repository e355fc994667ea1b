"""What is certain of a rung by the winners that the bot was told: nothing is sent there, all goes.

A ladder pays as a ladder can: with a rung that YES has won every lower one will pay, and with one
that NO has won no higher one will. What the bot says it was told must be what has won.
"""

from collections.abc import Iterable

from bot.core import messages as m
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.exposure import Exposure
from bot.lab.sim.judge.truth import Truth
from bot.lab.sim.seen import Seen
from venue.wire.money import Outcome
from venue.wire.names import MarketId


class Decided:
    """Follows one life."""

    def __init__(self, truth: Truth, exposure: Exposure, seen: Seen) -> None:
        self._truth = truth
        self._exposure = exposure
        self._seen = seen
        self._told: dict[MarketId, Outcome] = {}

    def begins(self, winners: Iterable[tuple[MarketId, Outcome]]) -> None:
        for market, winner in winners:
            self._seen.hit("winner_remembered")
            self._take(market, winner)

    def noted(self, note: m.Noted) -> None:
        if note.name == "winner_told":
            self._take(MarketId(str(note.fields["market_id"])), Outcome(str(note.fields["winner"])))

    def _take(self, market: MarketId, winner: Outcome) -> None:
        won = self._truth.resolved.get(market)
        check(winner is won, "B9", f"{market}: {winner} told, {won} won")
        self._told[market] = winner

    def why(self, market: MarketId) -> str:
        if not self._told or market in self._truth.resolved:
            return ""
        rungs = self._exposure.beside(market)
        at = rungs.index(market)
        for where, winner in self._told.items():
            if where in rungs and (at < rungs.index(where)) is (winner is Outcome.YES):
                self._seen.hit("decided_judged")
                return f"{where} has paid {winner}"
        return ""

    def may_send(self, market: MarketId) -> None:
        """B4: a create or an amend leaves for a rung."""
        why = self.why(market)
        check(not why, "B4", f"new exposure on {market}, which is decided: {why}")
