"""One life's profit, by the venue's account, against the breaker of loss.

What is held counts at the bot's own fair values, as the breaker says. What the bot may not know yet
is left time: a loss counts once it has lasted longer than it takes to learn of a fill.
"""

from collections import deque
from typing import TYPE_CHECKING, Final

from bot.core.settings import TraderSettings
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.truth import Truth
from bot.lab.sim.odds import SECOND
from bot.lab.sim.seen import Seen
from venue.wire.money import PAYOUT_CENTS, Outcome
from venue.wire.names import MarketId

if TYPE_CHECKING:
    from bot.core.trader import Trader

_MARGIN_CENTS: Final = 5
_LEARNS_NS: Final = 3 * SECOND
"""With three lags of reads: longer than it takes to learn of a fill and to look."""


class Losses:
    """Follows one life; all times are the bot's own.

    over: what has been lost for so long that the breaker is to have tripped; empty else.
    """

    def __init__(self, settings: TraderSettings, truth: Truth, seen: Seen) -> None:
        self.over = ""
        self._limit_cents = _limit_of(settings)
        self._lasts_ns = _LEARNS_NS + 3 * settings.trust.read_lag_ns
        self._truth = truth
        self._seen = seen
        self._marks: dict[MarketId, float] = {}
        self._opened_ns: int | None = None
        self._opening: float | None = None
        self._resolved = 0
        self._recent: deque[tuple[int, float]] = deque()

    def follow(self, settings: TraderSettings) -> None:
        self._limit_cents, self.over = _limit_of(settings), ""
        self._recent.clear()

    def cleared(self) -> None:
        self._opened_ns, self.over = None, ""

    def look(self, trader: "Trader", now_ns: int) -> bool:
        learned = self._learned(trader)
        self._mark(trader)
        worth = self._worth() if trader.ledgers.is_open else None
        resolved = len(self._truth.resolved)
        if worth is None or resolved != self._resolved:
            # When the bot learns what a rung has paid is not known: it is reckoned from there.
            self._opened_ns, self.over, self._resolved = None, "", resolved
            return learned
        if self._opened_ns is None:
            self._opened_ns, self._opening = now_ns, worth
            self._recent.clear()
        assert self._opening is not None
        if now_ns < self._opened_ns + self._lasts_ns:
            self._opening = min(self._opening, worth)
        self._judge(worth, now_ns)
        return learned

    def stands(self, latched: str) -> None:
        """B13: after a beat a loss beyond its limit has set the latch."""
        check(bool(latched or not self.over), "B13", f"{self.over}, and no latch")

    def _learned(self, trader: "Trader") -> bool:
        book, filled = trader.ledgers.book, self._truth.filled
        known = [
            name
            for name, order_id in self._truth.strange.items()
            if book.filled_qty(order_id) >= filled.get(order_id, 0)
        ]
        for name in known:
            del self._truth.strange[name]
        return bool(known)

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

    def _judge(self, worth: float, now_ns: int) -> None:
        recent = self._recent
        recent.append((now_ns, worth))
        while len(recent) > 1 and recent[1][0] <= now_ns - self._lasts_ns:
            recent.popleft()
        self.over = ""
        if recent[0][0] > now_ns - self._lasts_ns or self._opening is None:
            return
        self._seen.hit("loss_judged")
        lost = self._opening - max(worth for _, worth in recent)
        if lost > self._limit_cents + _MARGIN_CENTS + len(self._marks):
            self.over = f"a loss of {lost:.0f} cents for long, at most {self._limit_cents}"
            self._seen.hit("loss_beyond_limit")


def _limit_of(settings: TraderSettings) -> int:
    return settings.breakers.loss_cents or settings.risk.series_loss_cents
