"""The joint ladder: quotes on all rungs at once, skewed by what all holdings together risk.

Holding one rung makes its neighbours dearer to add to as well, and a holding that offsets another
is welcome. The reservation value of a rung is its fair value less a skew for everything held, over
all rungs jointly (`bot.strategy.pricing.skew`); what a fill costs comes off; each quote is then the
whole number of cents with the best of edge times the chance of a fill. A level is priced as if
those before it had filled.

Only what changed is worked out again: a rung that comes as the very view it came as before is not
looked at, one whose numbers are the same to an eighth of a cent is not priced.
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
from bot.strategy.pricing.levels import LadderSide, Levels, Priced, Pricing, Terms, beside, standing
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
"""Steps to a cent in which fair values, their doubt and skews are taken: a price is not looked for
again, and does not flicker, for less."""

_COST_GRID: Final = 8
"""The same for costs."""

_OWN_GRID: Final = 1000
"""The same for what one share moves the reservation value by."""

_SLOPE_GRID: Final = 1
"""The same for slopes of the curve, cents per standard deviation: 0..40."""

_RATE_GRID: Final = 16
"""The same for cents per sqrt(second)."""

_TIME_STEPS: Final = 50
"""Steps of the time left, to a factor of e: what hangs on it is worked out anew every 2%."""

_SECONDS_A_DAY: Final = 86_400

_CHANCE_GRID: Final = PAYOUT_CENTS * _GRID

_UNKNOWN: Final = -1.0
"""In the place of a chance where no value is known."""

_PRICED_MAX: Final = 512
"""Rungs as they were priced before that are kept, of one event."""


class LadderJoint(Strategy):
    """Joint skew over the curve, integer prices by expected gain, levels priced as if the ones
    before had filled."""

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
            description="gamma; above 0 it sets the skew in the place of q_half_lots (local and "
            "ergodic: once fills tell how often they come) and shortens the best edge",
        )
        alpha: float = Field(
            1.0, ge=0, le=1, description="part of what ties the rungs that counts; 0.5 where "
            "capital is tight, 0 is every rung by itself"
        )  # fmt: skip
        full_skew_days: float = Field(
            0.0, ge=0, le=3_650, description="time left at which the skew is as set; less left, "
            "stronger, by the root, up to 4 times; 0: always as set"
        )  # fmt: skip
        lot_qty: int = Field(
            10, ge=1, le=100_000, description="shares of the first level where fair is well known; "
            "more, up to a hundred, where rounding a fee up to a cent would cost more than a tenth "
            "of it"
        )  # fmt: skip
        levels: int = Field(3, ge=1, le=5, description="quotes a side")
        level_growth: float = Field(
            1.5, ge=1, le=4, description="size of each level to the one before"
        )
        intensity_per_cent: float = Field(
            0.6, ge=0.1, le=3, description="k: by how much the log of the fill rate falls per cent "
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
            0.2, ge=0, le=1, description="part of the takers that know the outcome, at most: what "
            "is learned of them never costs more"
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
            1.0, ge=0, le=50, description="what a share must earn by every dollar that it adds to "
            "the worst case, where the event's limit of loss is tight"
        )  # fmt: skip
        fee_basis: fees.FeeBasis = Field(
            fees.FeeBasis.ORDER, description="what the venue rounds up: order, or the careful fill"
        )
        edge_cents: int = Field(
            0, ge=0, le=49, description="below it, and as near to 100, only what reduces a position"
        )
        far_qty: int = Field(
            1, ge=0, le=100_000, description="size of the far quote where no price has an edge, so "
            "that both sides stand on every rung; 0 leaves the side empty"
        )  # fmt: skip

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self._is_cara = params.rule is skew.Rule.CARA
        self._by_meaning = skew.c_by_meaning(
            params.rule, params.skew_half_spread_cents, params.lot_qty, params.q_half_lots
        )
        self._lots = sizes.LotsOf(
            params.lot_qty, params.levels, params.level_growth, params.fee_basis
        )
        self._clock: _Clock | None = None
        self._how = Pricing(params.intensity_per_cent, 0.0, None)
        self._epoch = 0
        # Prices swing: what a rung comes to has mostly been reckoned before, there or on another.
        # A key holds all that this hangs on; of an epoch that is over none comes again.
        self._priced: dict[_Key, Priced] = {}
        # What seldom moves of a key has a number in its place, which no two that differ ever have.
        self._numbers: defaultdict[tuple[object, ...], int] = defaultdict(count(1).__next__)
        self._root_left_s = 1.0
        self._tied = 0.0
        self._cash: int | None = None
        self._hurdle = 0.0
        self._c = self._per_shift = 0.0
        self._begin(())

    def _begin(self, rungs: Sequence[RungView]) -> None:
        """Nothing is known of these rungs yet."""
        # Cara needs no matrix, only to hear when the curve has moved.
        rule = skew.Rule.QUAD if self._is_cara else self.params.rule
        self._linear = skew.Linear(rule, self.params.alpha)
        self._seen: list[RungView | None] = [None] * len(rungs)
        self._held = [0] * len(rungs)
        self._known: list[int] = []
        self._fairs = [_UNKNOWN] * len(rungs)
        self._chances, self._are_bound = list[float](), False  # bound: some by those before
        self._heard: object = None
        self._slopes: list[int] = []
        self._owns: list[int] = []
        self._shared: list[_Shared] = []
        self._rungs: list[_PricedRung] = []
        self._bids, self._asks = LadderSide(1, 0), LadderSide(-1, 0)
        self._answer: Resting = {}

    def quote(self, view: EventView) -> Quotes:
        """Both sides of every rung with a fair value, wherever a legal price is left; bids and
        asks never rise with the strike, and never touch the book of others."""
        rungs = view.rungs
        if len(rungs) != len(self._seen):
            self._begin(rungs)
        seen = self._seen
        fresh = [at for at in range(len(rungs)) if rungs[at] is not seen[at]]
        turned, most_qty = self._wind(view), self._lots.most_qty
        if not fresh and not turned:
            return self._answer
        everything = self._take_in(rungs, fresh, turned)
        known = self._known
        if len(known) == len(rungs):
            for at in known if everything else fresh:
                self._look(at, rungs[at])
        else:
            for place, at in enumerate(known):
                if everything or at in fresh:
                    self._look(place, rungs[at])
        answer = self._told() if self._bids.anew or self._asks.anew else self._answer
        # The cash may not suffice for lots that have grown just now.
        return answer if self._lots.most_qty == most_qty else self.quote(view)

    # --- what everything hangs on -----------------------------------------------------------------

    def _wind(self, view: EventView) -> bool:
        """Take in what all rungs have in common. Whether any of it has changed."""
        params = self.params
        step = int(math.log(max(view.seconds_to_resolution, 1.0)) * _TIME_STEPS)
        intensity, cash = view.intensity, view.cash_cents
        heard = (step, intensity, cash, view.loss_limit_cents, self._lots.most_qty)
        if heard == self._heard:
            return False
        self._heard = heard
        if cash is not None and cash >= self._most_cents(len(view.rungs)):
            cash = None
        tight = costs.tightness(view.loss_limit_cents, len(view.rungs), self._lots.full_qty)
        clock = (step, intensity, cash, tight)
        if clock == self._clock:
            return False
        self._clock = clock
        self._epoch += 1
        left_s = math.exp(step / _TIME_STEPS)
        decay = params.intensity_per_cent
        flow = None
        if intensity is not None and intensity.prints:
            if params.learn_intensity:
                decay = intensity.decay_per_cent
            rate = intensity.amplitude_per_s
            flow = skew.flow_of(params.lot_qty, rate, intensity.decay_per_cent)
        c: float | None = None
        if params.risk_aversion_per_cent > 0:
            c = skew.c_of_aversion(params.rule, params.risk_aversion_per_cent, flow, left_s)
        c = self._by_meaning if c is None else c
        self._c = c * skew.time_factor(left_s, params.full_skew_days * _SECONDS_A_DAY)
        self._root_left_s = math.sqrt(left_s)
        self._tied = params.kappa_cents_per_day * left_s / _SECONDS_A_DAY
        self._cash = cash
        self._hurdle = tight * params.hurdle_cents_per_dollar
        cara = self._c if self._is_cara and self._c > 0 else None
        self._per_shift = _GRID if cara is not None else _GRID * self._c
        self._how = Pricing(decay, params.risk_aversion_per_cent, cara)
        return True

    def _most_cents(self, rungs: int) -> int:
        """Cash that suffices for every quote of every rung, twice over: of a share that is bid for
        and one that is offered, both cost a dollar at most."""
        return 2 * rungs * PAYOUT_CENTS * max(2 * self._lots.full_qty, self._lots.most_qty)

    def _take_in(self, rungs: Sequence[RungView], fresh: Sequence[int], turned: bool) -> bool:
        """Take in the curve and what is held. Whether every rung is to be looked at, as it is when
        what all have in common has `turned`."""
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
                if self._lots.filled(fill.qty):
                    self._epoch += 1
                    everything = True
        if turned or has_moved:
            everything |= self._draw(turned)
        if everything:
            self._share(rungs)
        return everything

    def _draw(self, turned: bool) -> bool:
        """Take in the fair values. Whether every rung is to be looked at for them."""
        chances, known = self._fairs, self._known
        everything = self._how.cara is not None
        if _UNKNOWN in chances:
            known = [at for at, chance in enumerate(chances) if chance >= 0]
            chances = [chances[at] for at in known]
        elif len(known) < len(chances):
            known = list(range(len(chances)))
        everything |= self._are_bound  # what moves one rung may set others free
        if are_bound := sorted(chances, reverse=True) != chances:
            # Never rising with the strike, whatever the view says.
            chances, everything = list(accumulate(chances, min)), True
        self._are_bound = are_bound
        if known != self._known:
            self._known = known
            self._rungs = [_PricedRung() for _ in known]
            self._bids, self._asks = LadderSide(1, len(known)), LadderSide(-1, len(known))
            self._answer = {}
            everything = True
        if self._linear.draw(chances) or turned:
            own = 0.0 if self._how.cara is not None else self._c * _OWN_GRID
            self._owns = [round(own * each) for each in self._linear.diagonal]
            self._slopes = [
                round(costs.slope_of(PAYOUT_CENTS * chance) * _SLOPE_GRID) for chance in chances
            ]
            everything = True
        self._chances = chances
        return everything

    def _share(self, rungs: Sequence[RungView]) -> None:
        """Work out what the curve, the epoch and all that is held make of each rung."""
        held, chances, cara = [self._held[at] for at in self._known], self._chances, self._how.cara
        if cara is not None:
            tilted = skew.tilted(chances, held, cara)
            shifts = [
                PAYOUT_CENTS * (here - other) for here, other in zip(chances, tilted, strict=True)
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
        """What a bid and an ask of each known rung must earn for the room they take, by
        `_COST_GRID`."""
        if not self._hurdle:
            return [(0, 0)] * len(known)
        held = [(int(rung.yes_qty), int(rung.no_qty)) for rung in rungs]
        fairs = [(at, PAYOUT_CENTS * each) for at, each in zip(known, chances, strict=True)]
        both = costs.charges(held, fairs, self.params.lot_qty, self._hurdle)
        return [(round(bid * _COST_GRID), round(ask * _COST_GRID)) for bid, ask in both]

    # --- one rung ---------------------------------------------------------------------------------

    def _look(self, place: int, rung: RungView) -> None:
        """Price a rung anew if anything it hangs on has moved."""
        mine = self._rungs[place]
        stands = (
            self._shared[place],
            rung.yes_qty,
            rung.no_qty,
            rung.adverse_bid_cents,
            rung.adverse_ask_cents,
            rung.maker_fee_rate,
            None if self._cash is None else (rung.own, rung.taker_fee_rate),
        )
        if stands != mine.stands:
            mine.stands = stands
            if len(self._numbers) >= _PRICED_MAX:
                self._numbers.clear()
            mine.number = self._numbers[stands]
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
                priced = self._priced[key] = self._price(rung, key, stands[0])
            mine.priced = priced
        gap = 1 if rung.book_age_s <= STALE_BOOK_S else 2
        bids: Levels | None = priced.bids
        asks: Levels | None = priced.asks
        touch = rung.asks[0][0] if rung.asks else PRICE_MAX  # as if the last price were theirs
        if priced.bid_reach + gap > touch:
            bids = beside(priced.bid_terms, touch, gap - 1, self._how)
        touch = rung.bids[0][0] if rung.bids else PRICE_MIN
        if priced.ask_reach - gap < touch:
            asks = beside(priced.ask_terms, touch, gap - 1, self._how)
        for side, levels in ((self._bids, bids), (self._asks, asks)):
            before = side.levels[place]
            if levels is not before:
                side.levels[place] = levels
                if levels != before:
                    side.anew.append(place)

    def _price(self, rung: RungView, key: "_Key", shared: "_Shared") -> Priced:
        """What a rung comes to by its numbers on their grid: all else that it hangs on has the
        number in the key."""
        params, how, tied = self.params, self._how, self._tied
        (on_grid, unsure, rough, _), (shift, own_on_grid, steep, charges, _) = key, shared
        fair, sd, slope = on_grid / _GRID, unsure / _GRID, steep / _SLOPE_GRID
        rate = rung.maker_fee_rate
        lots, bid_fees, ask_fees, near_bid, near_ask = self._lots.of(rate, fair, sd, how.decay)
        volatility = max(rough / _RATE_GRID, slope / self._root_left_s)
        costs_of_both = costs.staleness(volatility, params.staleness_s, sd, params.doubt_part)
        prior = costs.adverse_prior(slope, params.adverse_probit)
        bid_room, ask_room = sizes.rooms(
            rung, fair, params.edge_cents, self._cash, near_bid, near_ask
        )
        value, own, all_lots = fair - shift / _GRID, own_on_grid / _OWN_GRID, sum(lots)
        near_no = complement(Price(near_ask))
        both: list[Terms] = []
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
            both.append(Terms(sign, fair, value, own, cost, fees_of_side, low, high, lots, room))
        return Priced(both[0], both[1], how)

    # --- all rungs --------------------------------------------------------------------------------

    def _told(self) -> Quotes:
        """The answer, with what was priced anew brought into order among its neighbours."""
        bids, asks, rungs = self._bids, self._asks, self._rungs
        places: Iterable[int] = bids.anew
        if asks.anew != bids.anew:
            places = dict.fromkeys((*bids.anew, *asks.anew))
        was_stepped = bids.is_stepped or asks.is_stepped
        bid_levels, ask_levels = bids.ordered(), asks.ordered()
        if was_stepped or bids.is_stepped or asks.is_stepped:
            places = range(len(rungs))
        answer, far_qty = dict(self._answer), self.params.far_qty
        for place in places:
            mine = rungs[place]
            bid, ask, priced = bid_levels[place], ask_levels[place], mine.priced
            if priced is None or bid is not priced.bids or ask is not priced.asks:
                told = standing(bid, PRICE_MIN, far_qty), standing(ask, PRICE_MAX, far_qty)
                answer[mine.market_id] = _quotes(*told)
                continue
            if priced.quotes is None:
                told = standing(bid, PRICE_MIN, far_qty), standing(ask, PRICE_MAX, far_qty)
                priced.quotes = _quotes(*told)
            answer[mine.market_id] = priced.quotes
        self._answer = answer
        return answer


_Clock = tuple[int, Intensity | None, int | None, float]
"""What all rungs hang on: the time left in steps, the learned flow, the cash free where it may not
suffice, and how tight the limit of loss is (`costs.tightness`)."""


_Shared = tuple[int, int, int, tuple[int, int], int]
"""What the curve and all that is held make of a rung: its shift by `_GRID`, what one share more
moves it by `_OWN_GRID`, its slope by `_SLOPE_GRID`, charges of a bid and an ask by `_COST_GRID`;
and the epoch."""


_Key = tuple[int, int, int, int]
"""Of a rung its fair value and the sd of that by `_GRID`, volatility by `_RATE_GRID`, and the
number of the rest."""


class _PricedRung:
    """A rung as it was priced last. stands: what of its `key` seldom moves; number: of that."""

    __slots__ = ("key", "market_id", "number", "priced", "stands")

    def __init__(self) -> None:
        self.market_id = MarketId("")
        self.stands: tuple[object, ...] = ()
        self.number = 0
        self.key: _Key | None = None
        self.priced: Priced | None = None


_quotes = lru_cache(maxsize=1_024)(quotes_of)
"""Prices swing: what is told of a rung has mostly been told before."""


STRATEGY = LadderJoint
