"""What is measured of a life beside its profit: presence, risk used, swings, marks after fills.

Samples are taken once a step, after what happened in it. Floats live here: nothing measured comes
back into a world.

See docs/pricing.md#section-3-metrics.
"""

import bisect
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from bot.lab.evaluate.account import Account, Fill, exact_fee_mc
from bot.lab.evaluate.draws import Class
from bot.lab.evaluate.latent import MILLICENTS, Latent
from bot.lab.evaluate.market import TrueValueMarket
from bot.lab.evaluate.worlds import World
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide
from venue.wire.names import MarketId

HORIZONS_S: Final = (1, 10, 60)
ADVERSE_S: Final = 10
"""A fill's adverse part is what its rung moves within so long; the rest of inventory is drift."""

_NEAR_CENTS: Final = 2
_MINUTE_S: Final = 60


class Markout(msgspec.Struct, frozen=True, array_like=True):
    """Cents a share that fills gained by a horizon, and its standard error by clusters of it.

    group: all, or a side, a rung, a counterparty. against: fair (the true value) or mid (others').
    """

    group: str
    against: str
    horizon_s: int
    cents: float
    error: float
    qty: int


class Gauge:
    """The samples of one life."""

    def __init__(self, world: World, venue: TrueValueMarket, start_ns: int) -> None:
        self._world = world
        self._venue = venue
        self._start_ns = start_ns
        self._bid, self._ask = BookSide.BID, BookSide.ASK
        self._marks_mc: list[int] = []
        self._mid_times: list[list[int]] = [[] for _ in range(world.rungs)]
        self._mids: list[list[float | None]] = [[] for _ in range(world.rungs)]
        self._places = self._two_sided = self._at_touch = self._own_sides = 0
        self._spread_cents = self._spread_weight = 0.0
        self._locked_cents = 0
        self._worst_cents = 0
        self.worst_max_cents = 0

    def saw(self, market: MarketId, now_ns: int) -> None:
        """A rung's book has changed: others' mid may be another."""
        rung = self._venue.rung_of[market]
        bid, ask = self._venue.best_of_others(market)
        mid = None if bid is None or ask is None else (bid + ask) / 2
        mids = self._mids[rung]
        if not mids or mids[-1] != mid:
            mids.append(mid)
            self._mid_times[rung].append(now_ns - self._start_ns)

    def sample(self, account: Account) -> None:
        """Look at everything once."""
        venue = self._venue
        self._marks_mc.append(account.net_mc)
        self._locked_cents += venue.locked_cents
        worst = venue.worst_cents()
        self._worst_cents += worst
        self.worst_max_cents = max(self.worst_max_cents, worst)
        own = venue.own_best()
        for market in venue.markets:
            bid, ask = venue.best_of_others(market)
            mid = None if bid is None or ask is None else (bid + ask) / 2
            self._places += 1
            mine = own.get((market, self._bid)), own.get((market, self._ask))
            self._own_sides += sum(each is not None for each in mine)
            if mine[0] is not None and (bid is None or mine[0][0] >= bid):
                self._at_touch += 1
            if mine[1] is not None and (ask is None or mine[1][0] <= ask):
                self._at_touch += 1
            if mine[0] is not None and mine[1] is not None:
                size = min(mine[0][1], mine[1][1])
                self._spread_cents += size * (mine[1][0] - mine[0][0])
                self._spread_weight += size
                if mid is not None:
                    near = mid - mine[0][0] <= _NEAR_CENTS and mine[1][0] - mid <= _NEAR_CENTS
                    self._two_sided += near
        venue.forget_empty_levels()

    # --- shares -----------------------------------------------------------------------------------

    @property
    def uptime(self) -> float:
        """Share of samples and rungs with both sides within 2c of others' mid."""
        return self._two_sided / max(1, self._places)

    @property
    def touch_share(self) -> float:
        """Share of the sides quoted that are at the touch or better."""
        return self._at_touch / max(1, self._own_sides)

    @property
    def spread_cents(self) -> float:
        """Our own quoted spread, weighted by time and the smaller size."""
        return self._spread_cents / self._spread_weight if self._spread_weight else 0.0

    @property
    def locked_cents(self) -> float:
        """Cash that could not be used, on average."""
        return self._locked_cents / max(1, len(self._marks_mc))

    @property
    def worst_mean_cents(self) -> float:
        """What the trader might have lost at worst, on average."""
        return self._worst_cents / max(1, len(self._marks_mc))

    @property
    def drawdown_cents(self) -> float:
        """The deepest fall of the marked profit below its highest so far, outcome left out."""
        highest, deepest = 0, 0
        for mark in self._marks_mc:
            highest = max(highest, mark)
            deepest = max(deepest, highest - mark)
        return deepest / MILLICENTS

    @property
    def minute_ratio(self) -> float:
        """Mean of the one-minute changes of the marked profit by their sd; 0 with fewer than 3."""
        stride = max(1, _MINUTE_S * NS_PER_SECOND // self._world.step_ns)
        marks = self._marks_mc[::stride]
        moves = [after - before for before, after in itertools.pairwise(marks)]
        if len(moves) < 3:
            return 0.0
        mean = sum(moves) / len(moves)
        variance = sum((move - mean) ** 2 for move in moves) / (len(moves) - 1)
        return mean / math.sqrt(variance) if variance > 0 else 0.0

    # --- fills ------------------------------------------------------------------------------------

    def adverse_mc(self, fills: Iterable[Fill], latent: Latent) -> int:
        """What fills lost or gained by the true value's next moves, millicents."""
        later_ns = ADVERSE_S * NS_PER_SECOND - self._start_ns
        return sum(
            fill.sign * fill.qty * (latent.fairs(fill.at_ns + later_ns)[fill.rung] - fill.fair_mc)
            for fill in fills
        )

    def waste_cents(self, fills: Iterable[Fill]) -> float:
        """Fees paid beyond the exact ones."""
        rates = {True: self._world.maker_rate.e8, False: self._world.taker_rate.e8}
        exact = sum(exact_fee_mc(rates[f.maker], f.qty, f.price) for f in fills)
        return sum(fill.fee_cents for fill in fills) - exact / MILLICENTS

    def markouts(self, fills: Sequence[Fill], latent: Latent) -> list[Markout]:
        """After every horizon, against both values, of all fills and of each group."""
        groups: dict[str, list[Fill]] = defaultdict(list)
        for fill in fills:
            groups["all"].append(fill)
            groups["bid" if fill.sign > 0 else "ask"].append(fill)
            groups[f"rung {fill.rung}"].append(fill)
            groups[str(fill.by)].append(fill)
        order = ["all", "bid", "ask", *sorted(name for name in groups if name.startswith("rung"))]
        order += [name for name in Class if name in groups]
        return [
            self._markout(name, groups[name], against, horizon, latent)
            for name in order
            if name in groups
            for against in ("fair", "mid")
            for horizon in HORIZONS_S
        ]

    def _markout(
        self, name: str, fills: Sequence[Fill], against: str, horizon_s: int, latent: Latent
    ) -> Markout:
        horizon_ns = horizon_s * NS_PER_SECOND
        clusters: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for fill in fills:
            later_ns = fill.at_ns + horizon_ns - self._start_ns
            value: float | None
            if against == "fair":
                value = latent.fairs(later_ns)[fill.rung] / MILLICENTS
            else:
                value = self._mid(later_ns, fill.rung)
            if value is not None:
                cluster = clusters[fill.at_ns // horizon_ns]
                cluster[0] += fill.sign * (value - fill.price) * fill.qty
                cluster[1] += fill.qty
        qty = sum(each[1] for each in clusters.values())
        if not qty:
            return Markout(name, against, horizon_s, 0.0, 0.0, 0)
        mean = sum(each[0] for each in clusters.values()) / qty
        squares = sum((each[0] - mean * each[1]) ** 2 for each in clusters.values())
        return Markout(name, against, horizon_s, mean, math.sqrt(squares) / qty, int(qty))

    def _mid(self, since_ns: int, rung: int) -> float | None:
        """Others' mid at an instant; None when it had not both sides."""
        place = bisect.bisect_right(self._mid_times[rung], since_ns) - 1
        return self._mids[rung][place] if place >= 0 else None
