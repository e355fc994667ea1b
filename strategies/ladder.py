"""The ladder strategy: quotes on all rungs at once, skewed by what all holdings together risk.

The payoffs of an event's rungs are tied: where a rung pays, every lower one pays. Two rungs of
values S_i >= S_j covary at the end by S_j (1 - S_i). The reservation value of a rung is its fair
value less c times the root of that matrix times the holdings: holding one rung makes its
neighbours dearer to add to as well, and a holding that offsets another is welcome. Each quote is
then the whole number of cents with the best of edge times the chance of a fill.

Source: strategy, 1(b) rule R2, 1(c), 1(d).
"""

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from bot.core.strategy import EventView, Quote, Quotes, RungView, Strategy
from venue.wire.money import (
    PAYOUT_CENTS,
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    FeeRate,
    Price,
    Qty,
    fee_cents,
)

_ROOT_OF_ONE_RUNG = 0.41
"""The root's diagonal at a 50c rung of a ladder of about seven: what `q_half_lots` is meant for."""

_ROOT_TOLERANCE = 0.005
"""The root is worked out anew when a value has moved by half a cent: it hardly moves before."""

_MEDIUM_SD_CENTS = 1.5
"""A fair value no surer than this is worth half the size."""

_STANDARD = NormalDist()

_Matrix = npt.NDArray[np.float64]


class Ladder(Strategy):
    """Joint skew over the curve, integer prices by expected gain, levels priced as if the ones
    before had filled."""

    name = "ladder"

    class Params(Strategy.Params):
        """Sizes in shares unless named in lots; prices and costs in cents per share.

        lot_qty: size of the first level where fair is well known. levels: quotes a side.
        level_growth: size of each level to the one before. q_half_lots: lots held of a 50c rung
        that move its reservation value by `skew_half_spread_cents`. intensity_per_cent: by how
        much the log of fill intensity falls per cent of distance. adverse_probit: how far a fill
        moves the value against us, in standard deviations of the curve. staleness_s: how old a
        quote may be when it is hit. far_qty: size of the far quote that stands where no price
        has an edge; 0 leaves the side empty.
        """

        lot_qty: int = Field(10, ge=1, le=100_000)
        levels: int = Field(2, ge=1, le=5)
        level_growth: float = Field(1.5, ge=1, le=4)
        q_half_lots: float = Field(7.0, gt=0, le=1_000)
        skew_half_spread_cents: float = Field(2.0, ge=0, le=20)
        intensity_per_cent: float = Field(0.6, ge=0.1, le=3)
        adverse_probit: float = Field(0.02, ge=0, le=1)
        staleness_s: float = Field(1.0, ge=0, le=600)
        far_qty: int = Field(1, ge=0, le=100_000)

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self._chances: list[float] = []  # those that the three below were worked out for
        self._root: _Matrix = np.zeros((0, 0))
        self._diagonal: list[float] = []
        self._slopes: list[float] = []
        self._priced: dict[str, _Priced] = {}
        sizes = (params.lot_qty * params.level_growth**level for level in range(params.levels))
        self._sizes = [float(size) for size in sizes]
        moves = _ROOT_OF_ONE_RUNG * params.lot_qty * params.q_half_lots
        self._skew_cents = params.skew_half_spread_cents / moves

    def quote(self, view: EventView) -> Quotes:
        """Both sides of every rung with a fair value, wherever a legal price is left; bids and
        asks never rise with the strike, and never touch the book of others."""
        rungs = [rung for rung in view.rungs if rung.fair_cents is not None]
        if not rungs:
            return {}
        chances = _chances(rungs)
        self._refresh(chances)
        held = np.array([rung.yes_qty - rung.no_qty for rung in rungs], dtype=float)
        skews: list[float] = (self._skew_cents * (self._root @ held)).tolist()
        # Per unit of slope: a fill by someone who knows more, and a quote that has aged.
        left_s = max(view.seconds_to_resolution, 1.0)
        pressure = 0.5 * self.params.adverse_probit + math.sqrt(self.params.staleness_s / left_s)
        priced = [
            self._price(rung, index, PAYOUT_CENTS * chances[index], skews[index], pressure)
            for index, rung in enumerate(rungs)
        ]
        bids = _monotone([each.bids for each in priced], 1)
        asks = _monotone([each.asks for each in reversed(priced)], -1)
        asks.reverse()
        return {
            rung.market_id: each.quotes
            if low is each.bids and high is each.asks
            else _quotes(low, high)
            for rung, each, low, high in zip(rungs, priced, bids, asks, strict=True)
        }

    def _refresh(self, chances: list[float]) -> None:
        """Work out the root of the payoff covariance, and the slopes, if the curve has moved."""
        before = self._chances
        if len(chances) == len(before):
            for new, old in zip(chances, before, strict=True):
                if not -_ROOT_TOLERANCE < new - old < _ROOT_TOLERANCE:
                    break
            else:
                return
        self._chances = chances
        self._root = root_of_covariance(chances)
        self._diagonal = np.diagonal(self._root).tolist()
        deviations = [_STANDARD.inv_cdf(chance) for chance in chances]
        self._slopes = [PAYOUT_CENTS * _STANDARD.pdf(each) for each in deviations]

    def _price(
        self, rung: RungView, index: int, fair: float, skew: float, pressure: float
    ) -> "_Priced":
        """Both sides of one rung, before its neighbours are looked at.

        Inputs are rounded to an eighth of a cent, so that a rung that has not moved to speak of
        is not priced again, and its quotes do not flicker.
        """
        doubt = rung.fair_sd_cents or 0.0
        terms = _Terms(
            round(fair * _GRID),
            round(skew * _GRID),
            round((pressure * self._slopes[index] + 0.5 * doubt) * _GRID),
            round(doubt * _GRID),
            round(self._skew_cents * self._diagonal[index] * _SKEW_GRID),
            rung.bids[0][0] if rung.bids else None,
            rung.asks[0][0] if rung.asks else None,
            rung.maker_fee_rate,
        )
        before = self._priced.get(rung.market_id)
        if before is not None and before.terms == terms:
            return before
        doubt = terms.doubt / _GRID / _MEDIUM_SD_CENTS
        scale = 1 / (1 + doubt * doubt)
        sizes = [max(1, math.floor(size * scale)) for size in self._sizes]
        own_skew = terms.own_skew / _SKEW_GRID
        bids = self._side(1, terms, own_skew, sizes)
        asks = self._side(-1, terms, own_skew, sizes)
        priced = self._priced[rung.market_id] = _Priced(terms, bids, asks, _quotes(bids, asks))
        return priced

    def _side(self, sign: int, terms: "_Terms", own_skew: float, sizes: list[int]) -> "_Levels":
        """(price, size, limit) of one side of a rung, best first. sign: +1 bids, -1 asks.

        The reservation value falls with everything held, so the skew comes off on both sides; half
        of the order's own skew makes the first and the last share of it pay on average.
        """
        legal = _legal(sign, terms)
        if legal is None:
            return ()
        low, high = legal
        decay = self.params.intensity_per_cent
        fair = terms.fair / _GRID
        reserve = fair - terms.skew / _GRID
        near = _inside(round(fair - sign / decay), PRICE_MIN, PRICE_MAX)
        out: list[tuple[int, int, int]] = []
        for size in sizes:
            fee = _fee_per_share(terms.maker_fee_rate, size, near)
            worth = reserve - sign * (0.5 * own_skew * size + terms.cost / _GRID + fee)
            price = _inside(best_price(sign, worth, fair, decay), low, high)
            if sign * (worth - price) <= 0:
                break
            # An order that stands bolder is left there while a third of the usual edge remains.
            boldest = _inside(_boldest(sign, worth, _LEAST_EDGE / decay), low, high)
            limit = max(price, boldest) if sign > 0 else min(price, boldest)
            out.append((price, size, limit))
            # The next level as if this one had filled, and at least a tick behind it.
            reserve -= sign * own_skew * size
            low, high = (low, price - 1) if sign > 0 else (price + 1, high)
            if low > high:
                break
        if not out and self.params.far_qty:
            far = legal[0] if sign > 0 else legal[1]
            out.append((far, self.params.far_qty, far))
        return tuple(out)


_GRID = 8
"""Steps to a cent in which fair values, skews and costs are taken."""

_SKEW_GRID = 1000
"""The same for what one share moves the reservation value by."""

_LEAST_EDGE = 1 / 3
"""The part of the best edge, 1/decay, that an order must keep to be left where it is."""

_Levels = tuple[tuple[int, int, int], ...]
"""(price, size, limit) of one side, best first; see `Quote`."""


class _Terms(NamedTuple):
    """All that the prices of one rung depend on. fair, skew, cost, doubt: eighths of a cent;
    own_skew: cents by which one share moves the rung's own reservation value, thousandths."""

    fair: int
    skew: int
    cost: int
    doubt: int
    own_skew: int
    best_bid: int | None
    best_ask: int | None
    maker_fee_rate: FeeRate


class _Priced(NamedTuple):
    """A rung as it was priced last."""

    terms: _Terms
    bids: _Levels
    asks: _Levels
    quotes: tuple[Quote, ...]


def _chances(rungs: list[RungView]) -> list[float]:
    """The curve as chances; never rising with the strike, whatever the view says."""
    out: list[float] = []
    for rung in rungs:
        chance = (rung.fair_cents or 0.0) / PAYOUT_CENTS
        out.append(min(chance, out[-1]) if out else chance)
    return out


def root_of_covariance(chances: list[float]) -> _Matrix:
    """The symmetric root of the payoff covariance S_j (1 - S_i), S in 0..1 and non-increasing:
    an n x n array, dimensionless; the covariance is that of one share in dollars."""
    low = np.array(chances)
    covariance = np.minimum.outer(low, low) * (1 - np.maximum.outer(low, low))
    values, vectors = np.linalg.eigh(covariance)
    root: _Matrix = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    return root


def _legal(sign: int, terms: _Terms) -> tuple[int, int] | None:
    """The prices that a side may stand at: a tick off the touch of others; None if there are none.

    A bid leaves the highest price, and an ask the lowest, to the other side.
    """
    if sign > 0:
        top = PRICE_MAX - 1 if terms.best_ask is None else terms.best_ask - 1
        return (PRICE_MIN, top) if top >= PRICE_MIN else None
    bottom = PRICE_MIN + 1 if terms.best_bid is None else terms.best_bid + 1
    return (bottom, PRICE_MAX) if bottom <= PRICE_MAX else None


def _inside(price: int, low: int, high: int) -> int:
    return max(low, min(high, price))


@lru_cache(maxsize=65_536)
def _fee_per_share(rate: FeeRate, size: int, price: int) -> float:
    """The fee in cents per share of an order of `size` filled whole, its ceiling included."""
    return fee_cents(rate, Qty(size), Price(price)) / size


def best_price(sign: int, worth: float, fair: float, decay: float) -> int:
    """The whole cent with the most of exp(-decay |fair - p|) times edge, sign * (worth - p).

    sign: +1 a bid, -1 an ask. worth: the value of a share after all costs, cents. decay: per cent
    of distance, above 0. The best real number is 1/decay behind `worth`, but no further toward the
    other side than fair: past it there is no more flow to gain. So only its two neighbours can be
    the best whole one. Ties go to the safer side.
    """
    if sign > 0:
        safe = math.floor(min(worth - 1 / decay, fair))
    else:
        safe = math.ceil(max(worth + 1 / decay, fair))
    bold = safe + sign
    edge_bold = sign * (worth - bold)
    if edge_bold <= 0:
        return safe
    nearer = abs(fair - safe) - abs(fair - bold)
    return bold if math.exp(decay * nearer) * edge_bold > sign * (worth - safe) else safe


def _boldest(sign: int, worth: float, edge: float) -> int:
    """The whole cent nearest to the other side that leaves at least `edge` to `worth`."""
    return math.floor(worth - edge) if sign > 0 else math.ceil(worth + edge)


def _monotone(sides: list[_Levels], sign: int) -> list[_Levels]:
    """The sides with quotes stepped back until no level rises with the strike.

    Bids come by rising strikes and step down; asks by falling strikes and step up (sign -1).
    Levels keep a tick between them, and one that has no price left is dropped. A side that stays
    as it is comes back as the same object.
    """
    out: list[_Levels] = []
    edges: list[int] = []
    for side in sides:
        kept: list[tuple[int, int, int]] = []
        behind = PAYOUT_CENTS
        same = True
        for level, (price, size, limit) in enumerate(side):
            signed = sign * price
            bound = behind
            if level == len(edges):
                edges.append(bound)
            elif edges[level] < bound:
                bound = edges[level]
            if signed > bound:
                signed, same = bound, False
                if not PRICE_MIN <= sign * signed <= PRICE_MAX:
                    break
            edges[level] = signed
            behind = signed - 1
            stepped = sign * signed
            kept.append((stepped, size, limit if stepped == price else stepped))
        out.append(side if same else tuple(kept))
    return out


def _quotes(bids: _Levels, asks: _Levels) -> tuple[Quote, ...]:
    return (
        *(Quote(BookSide.BID, Price(p), Qty(size), Price(limit)) for p, size, limit in bids),
        *(Quote(BookSide.ASK, Price(p), Qty(size), Price(limit)) for p, size, limit in asks),
    )


STRATEGY = Ladder
