"""One life's profit, by the venue's account, against the breakers of loss and of drawdown.

What is held counts at the bot's own fair values, as the breakers say. What the bot may not know yet
counts as is better for it where it is to have tripped, and as is worse where it has: a fill that no
whole walk of the list has shown it, as booked or not; a share whose rung has resolved, as anything
from nothing to the dollar.
"""

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import TraderSettings
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.possible import DOLLAR
from bot.lab.sim.judge.truth import Truth
from bot.lab.sim.odds import MS, SECOND
from bot.lab.sim.seen import Seen
from venue.core import messages as v
from venue.wire.money import Outcome, Side
from venue.wire.names import MarketId

if TYPE_CHECKING:
    from bot.core.trader import Trader

_MARGIN_CENTS: Final = 5
"""So much beyond a limit at least has been lost where the breaker is to have tripped."""

_JUDGED_NS: Final = 300 * MS
"""A breaker looks ten times a second: for so long all looks of the judge have shown the loss."""

_LOOKS_MIN: Final = 3
_STANDS_NS: Final = SECOND
"""Within this of a loss that is to trip a breaker the latch stands, also where nothing is sent."""

_OPENING_NS: Final = 10 * SECOND
"""What has traded or resolved so long before a life is in its opening, with three lags of reads."""


class Bounds(NamedTuple):
    """The least and the most that an amount may be for the bot, cents."""

    low: float
    high: float

    def plus(self, cents: float) -> "Bounds":
        """Both more by as much."""
        return Bounds(self.low + cents, self.high + cents)

    def with_(self, other: "Bounds") -> "Bounds":
        """What either allows."""
        return Bounds(min(self.low, other.low), max(self.high, other.high))


class Losses:
    """Follows one life; all times are the bot's own but where they are said to be the world's.

    over: what has been lost so much and so long that a breaker is to have tripped; empty else.
    """

    def __init__(self, settings: TraderSettings, truth: Truth, seen: Seen) -> None:
        self.over = ""
        self._over_ns: int | None = None
        self._limits = self._before = _limits_of(settings)
        self._lag_ns = settings.trust.read_lag_ns
        self._truth = truth
        self._seen = seen
        self._walk: list[str] | None = None
        self._cursors: set[str] = set()
        self._is_whole = False
        self._shown: set[str] = set()
        # What the bot knows for certain: cents since the opening, shares, and what they are worth.
        self._cents = 0
        self._shares: dict[tuple[MarketId, Outcome], int] = {}
        self._marks: dict[MarketId, float] = {}
        self._unsure: dict[str, v.FillBooked] = {}
        self._read = 0
        self._is_blind = False
        self._opening: Bounds | None = None
        self._opened_ns = 0
        self._looks = 0
        self._peak = Bounds(0, 0)
        self._recent: deque[tuple[int, Bounds]] = deque()

    def follow(self, settings: TraderSettings) -> None:
        """Other limits are in force."""
        self._before, self._limits = self._limits, _limits_of(settings)
        self._over_ns, self.over = None, ""
        self._recent.clear()

    # --- what the bot is shown --------------------------------------------------------------------

    def cleared(self) -> None:
        """A person has looked: profit is reckoned anew."""
        self._opening = None
        self._is_blind = False
        self.over, self._over_ns = "", None

    def asked(self, request: m.Request) -> bool:
        """A request leaves: a page of fills from the beginning follows a walk that is over. Whether
        that has shown fills of somebody else on the account that no walk had shown."""
        if not isinstance(request, m.ReadFills) or request.cursor:
            return False
        self._walked()
        self._walk = []
        strange = [name for name in self._truth.strange if name in self._shown]
        for name in strange:
            del self._truth.strange[name]
        return bool(strange)

    def answered(self, request: m.Request, answer: m.Answer) -> None:
        """A page of the fills has reached the bot, or has not."""
        if not isinstance(request, m.ReadFills) or self._walk is None:
            return
        body = answer.body if isinstance(answer, m.Done) else None
        self._is_whole = isinstance(body, m.FillsShown)
        if isinstance(body, m.FillsShown):
            if body.cursor and body.cursor in self._cursors:
                self._walk = None
                return
            self._cursors.add(body.cursor)
            self._walk += [row.fill_id for row in body.fills]

    def _walked(self) -> None:
        if self._walk is not None and self._is_whole:
            self._shown.update(self._walk)
        self._walk, self._is_whole = None, False
        self._cursors.clear()

    # --- the account ------------------------------------------------------------------------------

    def look(
        self, trader: "Trader", resolved_ns: Mapping[MarketId, int], world_ns: int, now_ns: int
    ) -> None:
        """Before a beat: what the breakers see in it. resolved_ns, world_ns: the world's time."""
        if trader.phase is Phase.STARTING:
            self._begin(resolved_ns, world_ns)
        elif not self._looks:
            return
        self._take_in()
        self._mark(trader)
        worth = self._worth()
        if trader.phase is Phase.STARTING or self._opening is None:
            self._opening = self._peak = worth
            self._opened_ns, self._looks = now_ns, 1
            self._recent.clear()
            self.over, self._over_ns = "", None
        elif now_ns - self._opened_ns < _JUDGED_NS or self._looks < _LOOKS_MIN:
            self._opening = self._opening.with_(worth)
            self._peak = Bounds(self._opening.low, max(self._peak.high, worth.high))
            self._looks += 1
        self._recent.append((now_ns, worth))
        self._judge(now_ns)

    def _begin(self, resolved_ns: Mapping[MarketId, int], world_ns: int) -> None:
        """The books are not open yet: they will be with what there is by then, and with what is
        believed by then: a belief of before that is gone tells of no gain and no loss."""
        self._marks.clear()
        truth, since_ns = self._truth, world_ns - _OPENING_NS - 3 * self._lag_ns
        self._is_blind = any(at_ns > since_ns for at_ns in resolved_ns.values())
        self._cents, self._shares = 0, dict(truth.held)
        self._read, self._unsure = len(truth.fills), {}
        for at_ns, fill in reversed(truth.fills):
            if at_ns <= since_ns:
                break
            if fill.fill_id not in self._shown:
                self._unsure[fill.fill_id] = fill
                cents, shares = _moved(fill)
                self._cents -= cents
                self._hold(fill, -shares)

    def _hold(self, fill: v.FillBooked, shares: int) -> None:
        place = fill.market_id, fill.outcome
        self._shares[place] = self._shares.get(place, 0) + shares

    def _take_in(self) -> None:
        """What has traded, and what of it the bot knows by now."""
        fills = self._truth.fills
        for _, fill in fills[self._read :]:
            self._unsure[fill.fill_id] = fill
        self._read = len(fills)
        for name in [name for name in self._unsure if name in self._shown]:
            fill = self._unsure.pop(name)
            cents, shares = _moved(fill)
            self._cents += cents
            self._hold(fill, shares)

    def _mark(self, trader: "Trader") -> None:
        """What a share counts for: the newest fair value there was, else the last price. The first
        of a rung is no gain and no loss."""
        for ladder in trader.quoting.ladders:
            for rung in ladder.rungs:
                market = rung.market_id
                if rung.fair is not None:
                    mark = rung.fair.value_cents
                elif market not in self._marks and rung.book.last_price is not None:
                    mark = float(rung.book.last_price)
                else:
                    continue
                is_new = market not in self._marks
                before = self._held(market).low if is_new else 0.0
                self._marks[market] = mark
                if is_new and self._opening is not None:
                    more = self._held(market).low - before
                    self._opening, self._peak = self._opening.plus(more), self._peak.plus(more)
                    self._recent.clear()
                    # The breakers look a little later, when it may be another one, and of a fill
                    # that is not known yet it makes a gain, or none.
                    unsure = any(fill.market_id == market for fill in self._unsure.values())
                    self._is_blind = self._is_blind or unsure or more != 0

    def _held(self, market: MarketId) -> Bounds:
        """What the shares of a rung that the bot knows of are worth to it."""
        yes = self._shares.get((market, Outcome.YES), 0)
        no = self._shares.get((market, Outcome.NO), 0)
        if market in self._truth.resolved:
            return Bounds(DOLLAR * min(yes, no), DOLLAR * max(yes, no))
        mark = self._marks.get(market)
        cents = DOLLAR * min(yes, no) if mark is None else DOLLAR * no + round((yes - no) * mark)
        return Bounds(cents, cents)

    def _worth(self) -> Bounds:
        """Cents since the opening, and what is held."""
        low = high = float(self._cents)
        for market in dict.fromkeys(market for market, _ in self._shares):
            held = self._held(market)
            low, high = low + held.low, high + held.high
        for fill in self._unsure.values():
            cents, shares = _moved(fill)
            mark = self._marks.get(fill.market_id)
            marks = (mark, mark) if mark is not None else (0.0, float(DOLLAR))
            if fill.market_id in self._truth.resolved:
                marks = (0.0, float(DOLLAR))
            if fill.outcome is Outcome.NO:
                marks = (DOLLAR - marks[0], DOLLAR - marks[1])
            ends = [cents + shares * each for each in marks]
            low, high = low + min(0.0, *ends), high + max(0.0, *ends)
        return Bounds(low, high)

    # --- the breakers -----------------------------------------------------------------------------

    def _judge(self, now_ns: int) -> None:
        recent = self._recent
        while len(recent) > 1 and recent[1][0] <= now_ns - _JUDGED_NS:
            recent.popleft()
        self._peak = Bounds(self._peak.low, max(self._peak.high, recent[-1][1].high))
        self.over = ""
        if recent[0][0] <= now_ns - _JUDGED_NS and len(recent) > _LOOKS_MIN and not self._is_blind:
            assert self._opening is not None
            # The bot has seen it stand so high, and so low, in one of these looks at least.
            self._peak = Bounds(max(self._peak.low, min(w.low for _, w in recent)), self._peak.high)
            most = max(worth.high for _, worth in recent)
            for name, of in (("loss", self._opening.low), ("drawdown", self._peak.low)):
                self._seen.hit("loss_judged")
                if of - most > self._limits[name] + _MARGIN_CENTS:
                    self.over = f"a {name} of {of - most:.0f} cents, at most {self._limits[name]}"
        if not self.over:
            self._over_ns = None
        elif self._over_ns is None:
            self._over_ns = now_ns
            self._seen.hit("loss_beyond_limit")

    def stands(self, latched: str, now_ns: int) -> None:
        """B13: after a beat a loss beyond its limit has set the latch."""
        if self.over and self._over_ns is not None and now_ns - self._over_ns > _STANDS_NS:
            check(bool(latched), "B13", f"{self.over}, and no latch")

    def tripped(self, reason: str) -> None:
        """B13: a breaker has tripped by what has been lost."""
        name, _, numbers = reason.partition(": ")
        used, _, limit = numbers.partition(", at most ")
        kind = name.removesuffix("_cents")
        if kind not in self._limits or self._is_blind or not self._recent or self._opening is None:
            return
        self._seen.hit(f"{kind}_trip_judged")
        of = self._opening.high if kind == "loss" else self._peak.high
        there = of - min(worth.low for _, worth in self._recent)
        known = int(limit) in (self._limits[kind], self._before[kind])
        due = known and int(limit) < int(used) <= there + len(self._marks)
        check(due, "B13", f"tripped by {reason}: {there:.0f} by the judge, {self._limits}")


def _limits_of(settings: TraderSettings) -> dict[str, int]:
    """Cents, by what is lost of them; where none is given it follows from the series' limit."""
    breakers, series_cents = settings.breakers, settings.risk.series_loss_cents
    return {
        "loss": breakers.loss_cents or series_cents,
        "drawdown": breakers.drawdown_cents or 2 * series_cents,
    }


def _moved(fill: v.FillBooked) -> tuple[int, int]:
    """The cents and the shares that came by a fill; below zero where they went."""
    sign = 1 if fill.side is Side.BUY else -1
    return -sign * fill.qty * fill.outcome_price - fill.fee_cents, sign * fill.qty
