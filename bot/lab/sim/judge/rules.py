"""What one life may do with what a start finds, and with rungs that a winner decides."""

from collections.abc import Iterable

from bot.core import messages as m
from bot.core.settings import StartSettings, Strangers
from bot.lab.sim.judge.limits import Exposure
from bot.lab.sim.judge.truth import Truth, check
from venue.wire.money import Outcome
from venue.wire.names import MarketId


class Inheritance:
    """What rested when a life began, against what it was configured to do with that.

    It may take over what its journal knows, and nothing else. Where it is to leave alone what it
    does not know, it cancels none of that and makes no order while it rests.
    """

    def __init__(self, started: m.Started, truth: Truth, start: StartSettings) -> None:
        self._truth = truth
        self._keeps = start.strangers is Strangers.ADOPT
        self._known = {order.order_id for order in started.working}
        named = {intent.order.client_order_id for intent in started.open_intents}
        leaves_alone = start.strangers is Strangers.REFUSE and not started.latched
        self._alone = {
            order_id
            for order_id in truth.working
            if leaves_alone
            and order_id not in self._known
            and truth.names.get(order_id) not in named
        }

    def taken_over(self, effect: m.OrdersAdopted) -> None:
        """B6: the life says which orders are its own from here on."""
        strange = [each for each in effect.order_ids if each not in self._known]
        check(not strange, "B6", f"taken over, and in no journal: {strange}")
        kept = not effect.order_ids or self._keeps
        check(kept, "B6", f"taken over, and to be cancelled: {effect.order_ids}")

    def sent(self, request: m.Request) -> None:
        if isinstance(request, m.CancelResting):
            left = request.order_id in self._alone
            check(not left, "B6", f"{request.order_id} is not known, and was to be left alone")
        elif isinstance(request, m.Create) and not request.again:
            there = self._alone & self._truth.working.keys()
            check(not there, "B4", f"new exposure while {there} rest, which no journal knows")


class Decided:
    """What is certain of a rung by the winners that the bot has noted: all of it goes.

    With a rung that YES has won every lower one will pay, with one that NO has won no higher one
    will.
    """

    def __init__(self, truth: Truth, exposure: Exposure) -> None:
        self._truth = truth
        self._exposure = exposure
        self._winners: dict[MarketId, Outcome] = {}

    def begins(self, winners: Iterable[tuple[MarketId, Outcome]]) -> None:
        for market, winner in winners:
            self._take(market, winner)

    def noted(self, note: m.Noted) -> None:
        if note.name == "winner_told":
            self._take(MarketId(str(note.fields["market_id"])), Outcome(str(note.fields["winner"])))

    def _take(self, market: MarketId, winner: Outcome) -> None:
        won = self._truth.resolved.get(market)
        check(winner is won, "B9", f"{market}: {winner} told, {won} won")
        self._winners[market] = winner

    def why(self, market: MarketId) -> str:
        """What decides a rung that still trades; empty where nothing does."""
        if not self._winners or market in self._truth.resolved:
            return ""
        rungs = self._exposure.ladder_of(market)
        at = rungs.index(market)
        for where, winner in self._winners.items():
            if where in rungs and (at < rungs.index(where)) is (winner is Outcome.YES):
                return f"{where} has paid {winner}"
        return ""
