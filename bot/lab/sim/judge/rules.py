"""What one life may do with what a start finds, with rungs that a winner decides, where positions
may only shrink, and after a loss.

Each follows one life; all times are the bot's own.
"""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from bot.core import messages as m
from bot.core.settings import StartSettings, Strangers, TraderSettings
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.limits import Exposure
from bot.lab.sim.judge.truth import BookPlace, Truth
from bot.lab.sim.odds import SECOND
from venue.wire.money import PAYOUT_CENTS, Outcome
from venue.wire.names import MarketId

if TYPE_CHECKING:
    from bot.core.trader import Trader

_TURNS_NS: Final = SECOND // 2
"""A stage is in force with the next decision, and what that one decided has left by then."""

_MARGIN_CENTS: Final = 5
_LEARNS_NS: Final = 3 * SECOND
"""With three lags of reads: longer than it takes to learn of a fill and to look."""


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


class Shrinking:
    """Where only what shrinks a position may leave: under a flatten, and near an event's end.

    While the operator wants everything flat, all that may fill on a side of a rung takes no more
    than is held away. Near the end of its event a rung gets orders on the side alone that shrinks
    what is held, then none, and what rests goes.
    """

    def __init__(self, settings: TraderSettings, exposure: Exposure, resolves_ns: int) -> None:
        self._flattening = False
        self._curfew = settings.curfew
        self._exposure = exposure
        self._resolves_ns = resolves_ns

    def saw(self, event: m.Event) -> None:
        if isinstance(event, m.FlattenRequested | m.ResumeRequested | m.PauseRequested):
            self._flattening = isinstance(event, m.FlattenRequested)

    def sent(self, side: BookPlace, now_ns: int, *, first: bool) -> None:
        """B4: a create, the first of its order, or an amend left for a side of a rung, and may be
        live by now."""
        (market, is_bid), truth = side, self._exposure.truth
        if market in truth.resolved:
            return  # what is on its way there is refused
        net = truth.net(market)
        # What somebody else has bought on the account may be more to shrink, as far as it knows.
        room = max(0, -net if is_bid else net) + len(truth.strange)
        if self._flattening:
            here = self._exposure.flight.possible(market)
            live = sum(each.qty for each in here if each.is_bid is is_bid)
            text = f"{live} shares may fill on {market}, where {room} are to be shrunk"
            check(live <= room, "B4", f"while everything is to be flat {text}")
        left_ns = self._resolves_ns - now_ns
        text = f"on {market} {left_ns} ns before its event ends"
        check(not self.must_go(now_ns), "B4", f"a new order {text}")
        if first and left_ns <= self._curfew.reduce_ns - _TURNS_NS:
            check(room > 0, "B4", f"new exposure {text}")

    def must_go(self, now_ns: int) -> str:
        """Why nothing may rest any more; empty while it may."""
        stop_ns = self._curfew.stop_ns - _TURNS_NS
        ends = stop_ns > 0 and self._resolves_ns - now_ns <= stop_ns
        return "its event is about to end" if ends else ""


class Losses:
    """The profit by the venue's account against the breaker of loss.

    What is held counts at the bot's own fair values, as the breaker says. What the bot may not know
    yet is left time: a loss counts once it has lasted longer than it takes to learn of a fill.
    over: what has been lost for so long that the breaker is to have tripped; empty else.
    """

    def __init__(self, settings: TraderSettings, truth: Truth) -> None:
        self.over = ""
        self._truth = truth
        self._lasts_ns = _LEARNS_NS + 3 * settings.trust.read_lag_ns
        self._marks: dict[MarketId, float] = {}
        self._resolved = 0
        self._opening = 0.0
        self._opened_ns = 0
        self._recent: deque[tuple[int, float]] = deque()
        self.follow(settings)

    def follow(self, settings: TraderSettings) -> None:
        self._limit_cents = settings.breakers.loss_cents or settings.risk.series_loss_cents
        self.begin()

    def begin(self) -> None:
        """Reckon from the next look on."""
        self.over = ""
        self._recent.clear()

    def look(self, trader: "Trader", now_ns: int) -> None:
        self._mark(trader)
        worth = self._worth() if trader.ledgers.is_open else None
        resolved = len(self._truth.resolved)
        if worth is None or resolved != self._resolved:
            # When the bot learns what a rung has paid is not known.
            self._resolved = resolved
            self.begin()
            return
        recent = self._recent
        if not recent:
            self._opened_ns, self._opening = now_ns, worth
        recent.append((now_ns, worth))
        if now_ns < self._opened_ns + self._lasts_ns:
            self._opening = min(self._opening, worth)
            return
        while len(recent) > 1 and recent[1][0] <= now_ns - self._lasts_ns:
            recent.popleft()
        lost = self._opening - max(worth for _, worth in recent)
        is_over = lost > self._limit_cents + _MARGIN_CENTS + len(self._marks)
        text = f"a loss of {lost:.0f} cents for long, at most {self._limit_cents}"
        self.over = text if is_over else ""

    def _mark(self, trader: "Trader") -> None:
        for ladder in trader.quoting.ladders:
            for rung in ladder.rungs:
                if rung.fair is not None:
                    self._marks[rung.market_id] = rung.fair.value_cents
                elif rung.market_id not in self._marks and rung.book.last_price is not None:
                    self._marks[rung.market_id] = float(rung.book.last_price)

    def _worth(self) -> float | None:
        worth = float(sum(self._truth.cash.values()))
        for (market, outcome), qty in self._truth.held.items():
            mark = self._marks.get(market)
            if qty and mark is None:
                return None
            value = mark or 0.0
            worth += qty * (value if outcome is Outcome.YES else PAYOUT_CENTS - value)
        return worth
