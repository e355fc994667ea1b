"""The joint ladder: quotes on all rungs at once, skewed by the risk of the whole inventory.

The cost of a fill is subtracted from the reservation value; each quote is then the whole cent that
maximises edge times the chance of a fill. Only changes are computed: a rung whose view is the same
object as before is skipped, and one whose numbers are the same to an eighth of a cent is not priced
again.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, count
from typing import Any, Final

from pydantic import Field

from bot.strategy.api import EventView, Intensity, Quotes, Resting, RungView, Strategy
from bot.strategy.pricing import costs, fees, sizes, skew
from bot.strategy.pricing.cara import tilted
from bot.strategy.pricing.levels import (
    LadderSide,
    Levels,
    PricedMarket,
    Pricing,
    SideInputs,
    quoted_levels,
    side_at_touch,
)
from bot.strategy.pricing.price import STALE_BOOK_S, quotes_of
from venue.wire.money import (
    PAYOUT_CENTS,
    PRICE_MAX,
    PRICE_MIN,
    Price,
    complement,
)
from venue.wire.names import MarketId

_GRID: Final = 4
"""Steps a cent to which fair values, their standard deviations and skews are rounded: smaller
changes are not priced again, and prices do not flicker with them."""

_COST_GRID: Final = 8
"""The same for costs."""

_OWN_GRID: Final = 1000
"""The same for the change of the reservation value per share."""

_SLOPE_GRID: Final = 1
"""The same for slopes of the curve, cents per standard deviation: 0..40."""

_RATE_GRID: Final = 16
"""The same for cents per sqrt(second)."""

_TIME_STEPS: Final = 50
"""Steps of the time left per factor of e: its effects are updated every 2%."""

_SECONDS_A_DAY: Final = 86_400

_CHANCE_GRID: Final = PAYOUT_CENTS * _GRID

_UNKNOWN: Final = -1.0
"""In the place of a chance where no value is known."""

_PRICED_MAX: Final = 512
"""Rungs as they were priced before that are kept, of one event."""


class LadderJoint(Strategy):
    """Joint inventory skew over the curve, integer prices by expected gain, levels priced as if the
    ones before had filled."""

    name = "ladder_joint"

    class Params(Strategy.Params):
        """Sizes in shares unless named in lots; prices and costs in cents per share."""

        rule: skew.Rule = Field(
            skew.Rule.LOCAL,
            description="skew: local (by what values move), ergodic (root of the covariance of "
            "payoffs), quad (linear in it) or cara (exponential utility: where capital binds)",
        )
        q_half_lots: float = Field(
            2.5, gt=0, le=1_000, description="lots of a 50c rung that move its value by the next"
        )
        skew_half_spread_cents: float = Field(
            2.0, ge=0, le=20, description="how far q_half_lots of a 50c rung move its value"
        )
        risk_aversion_per_cent: float = Field(
            0.0,
            ge=0,
            le=1,
            description="gamma; above 0 it sets the skew instead of q_half_lots (local and "
            "ergodic: once the fill rate is learned) and shortens the best edge",
        )
        alpha: float = Field(
            1.0, ge=0, le=1, description="weight of the correlation between rungs; 0.5 where "
            "capital is tight, 0 is every rung alone"
        )  # fmt: skip
        full_skew_days: float = Field(
            0.0, ge=0, le=3_650, description="time left at which the skew is as set; less left, "
            "stronger, by the root, up to 4 times; 0: always as set"
        )  # fmt: skip
        lot_qty: int = Field(
            10, ge=1, le=100_000, description="shares of the first level if fair is well known; "
            "more, up to a hundred, if rounding a fee up to a cent would cost more than a tenth "
            "of it"
        )  # fmt: skip
        levels: int = Field(3, ge=1, le=5, description="quotes a side")
        level_growth: float = Field(
            1.5, ge=1, le=4, description="size of each level to the one before"
        )
        intensity_per_cent: float = Field(
            0.6, ge=0.1, le=3, description="k: how much the log of the fill rate falls per cent "
            "of distance from fair, while it is not learned"
        )  # fmt: skip
        learn_intensity: bool = Field(
            True, description="take k from the prints once there are some"
        )
        adverse_probit: float = Field(
            costs.ADVERSE_PROBIT, ge=0, le=1, description="how far a fill moves the value against "
            "us, in standard deviations of the curve, while that is not learned"
        )  # fmt: skip
        informed_max: float = Field(
            0.2, ge=0, le=1, description="highest share of takers that know the outcome: the "
            "learned adverse cost is capped by it"
        )  # fmt: skip
        kappa_cents_per_day: float = Field(
            0.002, ge=0, le=1, description="what a dollar tied up costs a day"
        )
        staleness_s: float = Field(
            1.0, ge=0, le=600, description="how old a quote may be when it is hit"
        )
        doubt_part: float = Field(
            0.0, ge=0, le=3, description="part of the fair value's standard deviation to earn"
        )
        hurdle_cents_per_dollar: float = Field(
            1.0, ge=0, le=50, description="what a share must earn for every dollar that it adds to "
            "the worst case, if the event's loss limit is tight"
        )  # fmt: skip
        fee_basis: fees.FeeBasis = Field(
            fees.FeeBasis.ORDER, description="what the venue rounds up: order, or the careful fill"
        )
        edge_cents: int = Field(
            0,
            ge=0,
            le=49,
            description="below it, and as near to 100, only quotes that reduce inventory",
        )
        far_qty: int = Field(
            1, ge=0, le=100_000, description="size of the far quote if no price has an edge, so "
            "that both sides are quoted on every rung; 0 leaves the side empty"
        )  # fmt: skip

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self._is_cara = params.rule is skew.Rule.CARA
        self._by_meaning = skew.c_by_meaning(
            params.rule, params.skew_half_spread_cents, params.lot_qty, params.q_half_lots
        )
        self._lots = sizes.LotSizer(
            params.lot_qty, params.levels, params.level_growth, params.fee_basis
        )
        self._clock: _Clock | None = None
        self._how = Pricing(params.intensity_per_cent, 0.0, None)
        self._epoch = 0
        # Prices swing, so most results have been computed before, in this market or another one. A
        # key holds all inputs; no key of a former epoch comes again.
        self._priced: dict[_Key, PricedMarket] = {}
        # The slow part of a key is replaced by a number that is unique to it.
        self._numbers: defaultdict[tuple[object, ...], int] = defaultdict(count(1).__next__)
        self._root_variance_s = 1.0
        self._tied = 0.0
        self._cash: int | None = None
        self._hurdle = 0.0
        self._c = self._per_shift = 0.0
        self._start_rungs(())

    def _start_rungs(self, rungs: Sequence[RungView]) -> None:
        """Reset all state for these rungs."""
        # Cara needs no matrix, but uses `Linear` to notice when the curve has moved.
        rule = skew.Rule.QUAD if self._is_cara else self.params.rule
        self._linear = skew.Linear(rule, self.params.alpha)
        self._seen: list[RungView | None] = [None] * len(rungs)
        self._held = [0] * len(rungs)
        self._known: list[int] = []
        self._fairs = [_UNKNOWN] * len(rungs)
        self._chances, self._are_bound = list[float](), False  # bound: capped by lower rungs
        self._inputs: object = None
        self._slopes: list[int] = []
        self._owns: list[int] = []
        self._shared: list[_Shared] = []
        self._rungs: list[_PricedRung] = []
        self._bids, self._asks = LadderSide(1, 0), LadderSide(-1, 0)
        self._answer: Resting = {}

    def quote(self, view: EventView) -> Quotes:
        """Both sides of every rung with a fair value and a legal price; bids and asks never rise
        with the strike, and never touch the book of others."""
        rungs = view.rungs
        if len(rungs) != len(self._seen):
            self._start_rungs(rungs)
        seen = self._seen
        fresh = [at for at in range(len(rungs)) if rungs[at] is not seen[at]]
        turned, most_qty = self._update_common(view), self._lots.most_qty
        if not fresh and not turned:
            return self._answer
        everything = self._update_rungs(rungs, fresh, turned)
        known = self._known
        if len(known) == len(rungs):
            for at in known if everything else fresh:
                self._update_rung(at, rungs[at])
        else:
            for place, at in enumerate(known):
                if everything or at in fresh:
                    self._update_rung(place, rungs[at])
        answer = self._ordered() if self._bids.changed or self._asks.changed else self._answer
        # Lots have just grown: the cash may not be ample for them any more.
        return answer if self._lots.most_qty == most_qty else self.quote(view)

    # --- common inputs ----------------------------------------------------------------------------

    def _update_common(self, view: EventView) -> bool:
        """Update the inputs that all rungs share. True if any has changed."""
        params = self.params
        step = time_step = _step(view.variance_s())
        if view.dates:
            time_step = _step(view.seconds_to_resolution)
        intensity, cash = view.intensity, view.cash_cents
        inputs = (step, time_step, intensity, cash, view.loss_limit_cents, self._lots.most_qty)
        if inputs == self._inputs:
            return False
        self._inputs = inputs
        if cash is not None and cash >= self._most_cents(len(view.rungs)):
            cash = None
        tight = costs.tightness(view.loss_limit_cents, len(view.rungs), self._lots.full_qty)
        clock = (step, time_step, intensity, cash, tight)
        if clock == self._clock:
            return False
        self._clock = clock
        self._epoch += 1
        variance_s = math.exp(step / _TIME_STEPS)
        decay = params.intensity_per_cent
        flow = None
        if intensity is not None and intensity.prints:
            if params.learn_intensity:
                decay = intensity.decay_per_cent
            rate = intensity.amplitude_per_s
            flow = skew.flow_of(params.lot_qty, rate, intensity.decay_per_cent)
        c: float | None = None
        if params.risk_aversion_per_cent > 0:
            c = skew.c_of_aversion(params.rule, params.risk_aversion_per_cent, flow, variance_s)
        c = self._by_meaning if c is None else c
        self._c = c * skew.time_factor(variance_s, params.full_skew_days * _SECONDS_A_DAY)
        self._root_variance_s = math.sqrt(variance_s)
        left_s = math.exp(time_step / _TIME_STEPS)
        self._tied = params.kappa_cents_per_day * left_s / _SECONDS_A_DAY
        self._cash = cash
        self._hurdle = tight * params.hurdle_cents_per_dollar
        cara = self._c if self._is_cara and self._c > 0 else None
        self._per_shift = _GRID if cara is not None else _GRID * self._c
        self._how = Pricing(decay, params.risk_aversion_per_cent, cara)
        return True

    def _most_cents(self, rungs: int) -> int:
        """Cash that is ample for twice all quotes of all rungs: a share on either side costs a
        dollar at most."""
        return 2 * rungs * PAYOUT_CENTS * max(2 * self._lots.full_qty, self._lots.most_qty)

    def _update_rungs(self, rungs: Sequence[RungView], fresh: Sequence[int], turned: bool) -> bool:
        """Update curve and inventory from changed views. True if every rung must be updated, as
        when common inputs have changed (`turned`)."""
        everything, seen, held = turned, self._seen, self._held
        has_moved = False
        for at in fresh:
            before, rung = seen[at], rungs[at]
            seen[at] = rung
            fair = rung.fair_cents
            if before is None or fair != before.fair_cents:
                self._fairs[at] = _UNKNOWN if fair is None else fair / PAYOUT_CENTS
                has_moved = True
            net = rung.yes_qty - rung.no_qty
            if net != held[at]:
                held[at] = net
                everything = True
            for fill in rung.fills:
                if self._lots.on_own_fill(fill.qty):
                    self._epoch += 1
                    everything = True
        if turned or has_moved:
            everything |= self._update_curve(turned)
        if everything:
            self._update_shared(rungs)
        return everything

    def _update_curve(self, turned: bool) -> bool:
        """Update the fair values. True if every rung must be updated for them."""
        chances, known = self._fairs, self._known
        everything = self._how.cara is not None
        if _UNKNOWN in chances:
            known = [at for at, chance in enumerate(chances) if chance >= 0]
            chances = [chances[at] for at in known]
        elif len(known) < len(chances):
            known = list(range(len(chances)))
        everything |= self._are_bound  # a move of one rung may release others
        if are_bound := sorted(chances, reverse=True) != chances:
            # Never rising with the strike, whatever the view has.
            chances, everything = list(accumulate(chances, min)), True
        self._are_bound = are_bound
        if known != self._known:
            self._known = known
            self._rungs = [_PricedRung() for _ in known]
            self._bids, self._asks = LadderSide(1, len(known)), LadderSide(-1, len(known))
            self._answer = {}
            everything = True
        if self._linear.update_curve(chances) or turned:
            own = 0.0 if self._how.cara is not None else self._c * _OWN_GRID
            self._owns = [round(own * each) for each in self._linear.diagonal]
            self._slopes = [
                round(costs.slope_of(PAYOUT_CENTS * chance) * _SLOPE_GRID) for chance in chances
            ]
            everything = True
        self._chances = chances
        return everything

    def _update_shared(self, rungs: Sequence[RungView]) -> None:
        """Compute skew, slope and charge of each rung from the curve and the inventory."""
        held, chances, cara = [self._held[at] for at in self._known], self._chances, self._how.cara
        if cara is not None:
            weighted = tilted(chances, held, cara)
            shifts = [
                PAYOUT_CENTS * (here - other) for here, other in zip(chances, weighted, strict=True)
            ]
        else:
            shifts = self._linear.shifts(held)
        charges = self._charged(rungs, self._known, chances)
        on_grid = [round(shift * self._per_shift) for shift in shifts]
        epochs = [self._epoch] * len(held)
        self._shared = list(zip(on_grid, self._owns, self._slopes, charges, epochs, strict=True))

    def _charged(
        self, rungs: Sequence[RungView], known: Sequence[int], chances: Sequence[float]
    ) -> list[tuple[int, int]]:
        """The hurdle of a bid and an ask of each known rung, in steps of `_COST_GRID`."""
        if not self._hurdle:
            return [(0, 0)] * len(known)
        held = [(int(rung.yes_qty), int(rung.no_qty)) for rung in rungs]
        fairs = [(at, PAYOUT_CENTS * each) for at, each in zip(known, chances, strict=True)]
        both = costs.charges(held, fairs, self.params.lot_qty, self._hurdle)
        return [(round(bid * _COST_GRID), round(ask * _COST_GRID)) for bid, ask in both]

    # --- one rung ---------------------------------------------------------------------------------

    def _update_rung(self, place: int, rung: RungView) -> None:
        """Price a rung again if any input has moved."""
        mine = self._rungs[place]
        slow = (
            self._shared[place],
            rung.yes_qty,
            rung.no_qty,
            rung.adverse_bid_cents,
            rung.adverse_ask_cents,
            rung.maker_fee_rate,
            None if self._cash is None else (rung.own, rung.taker_fee_rate),
        )
        if slow != mine.slow:
            mine.slow = slow
            if len(self._numbers) >= _PRICED_MAX:
                self._numbers.clear()
            mine.number = self._numbers[slow]
        key = (
            round(self._chances[place] * _CHANCE_GRID),
            round((rung.fair_sd_cents or 0.0) * _GRID),
            round(rung.volatility_cents * _RATE_GRID),
            mine.number,
        )
        priced = mine.priced
        if key != mine.key or priced is None:
            mine.key = key
            mine.market_id = rung.market_id
            priced = self._priced.get(key)
            if priced is None:
                if len(self._priced) >= _PRICED_MAX:
                    self._priced.clear()
                priced = self._priced[key] = self._price(rung, key, slow[0])
            mine.priced = priced
        gap = 1 if rung.book_age_s <= STALE_BOOK_S else 2
        bids: Levels | None = priced.bids
        asks: Levels | None = priced.asks
        touch = rung.asks[0][0] if rung.asks else PRICE_MAX  # as if others were at the last price
        if priced.bid_reach + gap > touch:
            bids = side_at_touch(priced.bid_terms, touch, gap - 1, self._how)
        touch = rung.bids[0][0] if rung.bids else PRICE_MIN
        if priced.ask_reach - gap < touch:
            asks = side_at_touch(priced.ask_terms, touch, gap - 1, self._how)
        for side, levels in ((self._bids, bids), (self._asks, asks)):
            before = side.levels[place]
            if levels is not before:
                side.levels[place] = levels
                if levels != before:
                    side.changed.append(place)

    def _price(self, rung: RungView, key: "_Key", shared: "_Shared") -> PricedMarket:
        """The levels of a rung by its rounded inputs; the others have the number in the key."""
        params, how, tied = self.params, self._how, self._tied
        (on_grid, unsure, rough, _), (shift, own_on_grid, steep, charges, _) = key, shared
        fair, sd, slope = on_grid / _GRID, unsure / _GRID, steep / _SLOPE_GRID
        rate = rung.maker_fee_rate
        lots, bid_fees, ask_fees, near_bid, near_ask = self._lots.lots_at(rate, fair, sd, how.decay)
        volatility = max(rough / _RATE_GRID, slope / self._root_variance_s)
        costs_of_both = costs.staleness(volatility, params.staleness_s, sd, params.doubt_part)
        prior = costs.adverse_prior(slope, params.adverse_probit)
        bid_room, ask_room = sizes.rooms(
            rung, fair, params.edge_cents, self._cash, near_bid, near_ask
        )
        value, own, all_lots = fair - shift / _GRID, own_on_grid / _OWN_GRID, sum(lots)
        near_no = complement(Price(near_ask))
        both: list[SideInputs] = []
        for sign, learned, held, bought, fees_of_side, room, charge in (
            (1, rung.adverse_bid_cents, rung.no_qty, near_bid, bid_fees, bid_room, charges[0]),
            (-1, rung.adverse_ask_cents, rung.yes_qty, near_no, ask_fees, ask_room, charges[1]),
        ):
            adverse = prior
            if learned is not None:
                most = costs.glosten_milgrom(fair / PAYOUT_CENTS, params.informed_max, sign)
                adverse = min(learned, most)
            cost = costs_of_both + adverse
            if tied:
                cost += costs.capital(bought, all_lots, held, tied)
            cost = (round(cost * _COST_GRID) + charge) / _COST_GRID
            low, high = (PRICE_MIN, PRICE_MAX - 1) if sign > 0 else (PRICE_MIN + 1, PRICE_MAX)
            inputs = sign, fair, value, own, cost, fees_of_side, low, high, lots, room
            both.append(SideInputs(*inputs))
        return PricedMarket(both[0], both[1], how)

    # --- all rungs --------------------------------------------------------------------------------

    def _ordered(self) -> Quotes:
        """The answer, with changed rungs in order among their neighbours."""
        bids, asks, rungs = self._bids, self._asks, self._rungs
        places: Iterable[int] = bids.changed
        if asks.changed != bids.changed:
            places = dict.fromkeys((*bids.changed, *asks.changed))
        was_stepped = bids.is_stepped or asks.is_stepped
        bid_levels, ask_levels = bids.ordered(), asks.ordered()
        if was_stepped or bids.is_stepped or asks.is_stepped:
            places = range(len(rungs))
        answer, far_qty = dict(self._answer), self.params.far_qty
        for place in places:
            mine = rungs[place]
            bid, ask, priced = bid_levels[place], ask_levels[place], mine.priced
            as_priced = priced is not None and bid is priced.bids and ask is priced.asks
            quotes = priced.quotes if as_priced and priced is not None else None
            if quotes is None:
                quotes = _quotes(
                    quoted_levels(bid, PRICE_MIN, far_qty), quoted_levels(ask, PRICE_MAX, far_qty)
                )
                if as_priced and priced is not None:
                    priced.quotes = quotes
            answer[mine.market_id] = quotes
        self._answer = answer
        return answer


def _step(seconds: float) -> int:
    """The logarithm of a time, in steps; a second at least."""
    return int(math.log(max(seconds, 1.0)) * _TIME_STEPS)


_Clock = tuple[int, int, Intensity | None, int | None, float]
"""The common inputs: variance and time left in steps, the learned flow, the free cash unless it is
ample, and how tight the loss limit is (`costs.tightness`)."""

_Shared = tuple[int, int, int, tuple[int, int], int]
"""Of a rung: skew by `_GRID`, its change per share by `_OWN_GRID`, slope by `_SLOPE_GRID`, charges
of a bid and an ask by `_COST_GRID`; and the epoch."""

_Key = tuple[int, int, int, int]
"""Of a rung: fair value and its sd by `_GRID`, volatility by `_RATE_GRID`, number of the rest."""


class _PricedRung:
    """A rung as it was priced last. slow: the inputs that seldom move. number: of those."""

    __slots__ = ("key", "market_id", "number", "priced", "slow")

    def __init__(self) -> None:
        self.market_id = MarketId("")
        self.slow: tuple[object, ...] = ()
        self.number = 0
        self.key: _Key | None = None
        self.priced: PricedMarket | None = None


_quotes = lru_cache(maxsize=1_024)(quotes_of)
"""Prices swing, so most quotes have been made before."""

STRATEGY = LadderJoint
