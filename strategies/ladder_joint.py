"""The joint ladder: quotes on all rungs at once, skewed by what all holdings together risk.

Holding one rung makes its neighbours dearer to add to as well, and a holding that offsets another
is welcome. The reservation value of a rung is its fair value less a skew for everything held, over
all rungs jointly (`bot.core.pricing.skew`); what a fill costs comes off; each quote is then the
whole number of cents with the best of edge times the chance of a fill. A level is priced as if
those before it had filled.

Only what changed is worked out again: a rung that comes as the very view it came as before is not
looked at, one whose numbers are the same to an eighth of a cent is not priced.

Source: strategy, 1(b) to 1(d), section 2.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final

from pydantic import Field

from bot.core.pricing import costs, fees, hurdle, sizes, skew
from bot.core.pricing.levels import (
    Levels,
    Pricing,
    Terms,
    in_order,
    side_levels,
    standing,
    stepped_back,
)
from bot.core.pricing.lots import LotsOf
from bot.core.pricing.price import STALE_BOOK_S, gap_of, legal, quotes_of
from bot.core.strategy import EventView, Intensity, Quote, Quotes, Resting, RungView, Strategy
from venue.wire.money import (
    PAYOUT_CENTS,
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    Price,
    complement,
)

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

_PRICED_MAX: Final = 512
"""Rungs as they were priced before that are kept, of one event."""

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK


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
        self._lots = LotsOf(params.lot_qty, params.levels, params.level_growth, params.fee_basis)
        self._clock: _Clock | None = None
        self._how = Pricing(params.intensity_per_cent, 0.0, None)
        self._epoch = 0
        # Prices swing: what a rung comes to has mostly been reckoned before, there or on another.
        # A key holds all that the sides hang on; of an epoch that is over none comes again.
        self._priced: dict[tuple[object, ...], _Sides] = {}
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
        self._chances: list[float] = []
        self._shifts: list[float] = []
        self._charges: list[tuple[int, int]] = []
        self._slopes: list[int] = []
        self._owns: list[int] = []
        self._rungs: list[_Rung] = []
        self._steps_bids: set[int] = set()
        self._steps_asks: set[int] = set()
        self._answer: Resting = {}

    def quote(self, view: EventView) -> Quotes:
        """Both sides of every rung with a fair value, wherever a legal price is left; bids and
        asks never rise with the strike, and never touch the book of others."""
        rungs = view.rungs
        if len(rungs) != len(self._seen):
            self._begin(rungs)
        seen = self._seen
        fresh = [at for at, rung in enumerate(rungs) if rung is not seen[at]]
        turned, most_qty = self._wind(view), self._lots.most_qty
        if not fresh and not turned:
            return self._answer
        if self._take_in(rungs, fresh, turned):
            look: Iterable[int] = range(len(self._known))
        elif len(self._known) == len(rungs):
            look = fresh
        else:
            look = [place for place, at in enumerate(self._known) if at in fresh]
        priced = [place for place in look if self._look(place, rungs[self._known[place]])]
        answer = self._told(priced) if priced else self._answer
        # The cash may not suffice for lots that have grown just now.
        return answer if self._lots.most_qty == most_qty else self.quote(view)

    # --- what everything hangs on -----------------------------------------------------------------

    def _wind(self, view: EventView) -> bool:
        """Take in what all rungs have in common. Whether any of it has changed."""
        params = self.params
        step = int(math.log(max(view.seconds_to_resolution, 1.0)) * _TIME_STEPS)
        intensity, cash = view.intensity, view.cash_cents
        if cash is not None and cash >= self._most_cents(len(view.rungs)):
            cash = None
        tight = hurdle.tightness(view.loss_limit_cents, len(view.rungs), self._lots.full_qty)
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
        everything = moved = turned
        for at in fresh:
            before, rung = self._seen[at], rungs[at]
            self._seen[at] = rung
            moved = moved or before is None or rung.fair_cents != before.fair_cents
            net = rung.yes_qty - rung.no_qty
            if net != self._held[at]:
                self._held[at] = net
                everything = True
            for fill in rung.fills:
                if self._lots.filled(fill.qty):
                    self._epoch += 1
                    everything = True
        if moved:
            everything |= self._draw(rungs, turned)
        if everything:
            held, chances = [self._held[at] for at in self._known], self._chances
            if self._how.cara is not None:
                tilted = skew.tilted(chances, held, self._how.cara)
                self._shifts = [
                    PAYOUT_CENTS * (chance - other)
                    for chance, other in zip(chances, tilted, strict=True)
                ]
            else:
                self._shifts = self._linear.shifts(held)
            self._charges = self._charged(rungs, self._known, chances)
        return everything

    def _draw(self, rungs: Sequence[RungView], turned: bool) -> bool:
        """Take in the fair values. Whether every rung is to be looked at for them."""
        known, everything = self._known, False
        chances = [r.fair_cents / PAYOUT_CENTS for r in rungs if r.fair_cents is not None]
        if sorted(chances, reverse=True) != chances:
            # Never rising with the strike, whatever the view says.
            chances, everything = list(accumulate(chances, min)), True
        if len(chances) < len(rungs) or len(known) < len(rungs):
            known = [at for at, rung in enumerate(rungs) if rung.fair_cents is not None]
        if known != self._known:
            self._known = known
            self._rungs = [_Rung() for _ in known]
            self._steps_bids.clear()
            self._steps_asks.clear()
            self._answer = {}
            everything = True
        if self._linear.draw(chances) or turned:
            own = 0.0 if self._how.cara is not None else self._c * _OWN_GRID
            self._owns = [round(own * each) for each in self._linear.diagonal]
            self._slopes = [
                round(costs.slope_of(PAYOUT_CENTS * chance) * _SLOPE_GRID) for chance in chances
            ]
            everything = True
        if self._how.cara is not None:
            everything |= chances != self._chances
        self._chances = chances
        return everything

    def _charged(
        self, rungs: Sequence[RungView], known: Sequence[int], chances: Sequence[float]
    ) -> list[tuple[int, int]]:
        """What a bid and an ask of each known rung must earn for the room they take, by
        `_COST_GRID`."""
        if not self._hurdle:
            return [(0, 0)] * len(known)
        held = [(int(rung.yes_qty), int(rung.no_qty)) for rung in rungs]
        fairs = [(at, PAYOUT_CENTS * each) for at, each in zip(known, chances, strict=True)]
        both = hurdle.charges(held, fairs, self.params.lot_qty, self._hurdle)
        return [(round(bid * _COST_GRID), round(ask * _COST_GRID)) for bid, ask in both]

    # --- one rung ---------------------------------------------------------------------------------

    def _look(self, place: int, rung: RungView) -> bool:
        """Price a rung anew if anything it hangs on has moved. Whether its quotes are others."""
        mine = self._rungs[place]
        bids, asks = rung.bids, rung.asks
        key = (
            round(self._chances[place] * _CHANCE_GRID),
            round(self._shifts[place] * self._per_shift),
            self._owns[place],
            self._slopes[place],
            round((rung.fair_sd_cents or 0.0) * _GRID),
            round(rung.volatility_cents * _RATE_GRID),
            self._charges[place],
            bids[0][0] if bids else None,
            asks[0][0] if asks else None,
            rung.book_age_s > STALE_BOOK_S,
            rung.yes_qty,
            rung.no_qty,
            rung.adverse_bid_cents,
            rung.adverse_ask_cents,
            rung.maker_fee_rate,
            None if self._cash is None else (rung.own, rung.taker_fee_rate),
            self._epoch,
        )
        if key == mine.key:
            return False
        mine.key = key
        mine.view = rung
        sides = self._priced.get(key)
        if sides is None:
            if len(self._priced) >= _PRICED_MAX:
                self._priced.clear()
            sides = self._priced[key] = self._price(rung, key[:7])
        if sides == (mine.bids, mine.asks) and mine.quotes is not None:
            return False
        mine.bids, mine.asks = sides
        return True

    def _price(self, rung: RungView, numbers: "_Numbers") -> "_Sides":
        """Bids and asks of a rung from its numbers on their grid: all else that they hang on is in
        the key of `_look`, too."""
        params, how = self.params, self._how
        on_grid, shift, own_on_grid, steep, unsure, rough, charges = numbers
        fair, sd, slope = on_grid / _GRID, unsure / _GRID, steep / _SLOPE_GRID
        rate = rung.maker_fee_rate
        lots, bid_fees, ask_fees, near_bid, near_ask = self._lots.of(rate, fair, sd, how.decay)
        volatility = max(rough / _RATE_GRID, slope / self._root_left_s)
        costs_of_both = costs.staleness(volatility, params.staleness_s, sd, params.doubt_part)
        prior = costs.adverse_prior(slope, params.adverse_probit)
        tied = self._tied
        bid_room, ask_room = sizes.rooms(
            rung, fair, params.edge_cents, self._cash, near_bid, near_ask
        )
        gap = gap_of(rung.book_age_s) - 1
        value = fair - shift / _GRID
        own = own_on_grid / _OWN_GRID
        best_bid, best_ask, all_lots = rung.best_bid, rung.best_ask, sum(lots)
        both: list[Levels | None] = []
        of_bid = (rung.adverse_bid_cents, rung.no_qty, near_bid, bid_fees, bid_room, charges[0])
        of_ask = (rung.adverse_ask_cents, rung.yes_qty, near_ask, ask_fees, ask_room, charges[1])
        for side, sign, (learned, held, near, fees_of_side, room, charge) in (
            (_BID, 1, of_bid),
            (_ASK, -1, of_ask),
        ):
            span = legal(side, best_bid, best_ask)
            if span is None:
                both.append(None)
                continue
            adverse = prior
            if learned is not None:
                most = costs.glosten_milgrom(fair / PAYOUT_CENTS, params.informed_max, sign)
                adverse = min(learned, most)
            cost = costs_of_both + adverse
            if tied:
                bought = near if sign > 0 else complement(Price(near))
                cost += costs.capital(bought, all_lots, held, tied)
            cost = (round(cost * _COST_GRID) + charge) / _COST_GRID
            terms = Terms(sign, fair, value, own, cost, fees_of_side, span[0], span[1], lots, room)
            both.append(side_levels(terms, gap, how))
        bids, asks = both
        return bids, asks

    # --- all rungs --------------------------------------------------------------------------------

    def _told(self, priced: Sequence[int]) -> Quotes:
        """The answer, with what was priced anew brought into order among its neighbours."""
        rungs, last = self._rungs, len(self._rungs) - 1
        stepped = bool(self._steps_bids or self._steps_asks)
        pairs = [low for place in priced for low in (place - 1, place) if 0 <= low < last]
        for low in dict.fromkeys(pairs):
            below, above = rungs[low], rungs[low + 1]
            _mark(self._steps_bids, low, in_order(above.bids, below.bids, 1))
            _mark(self._steps_asks, low, in_order(below.asks, above.asks, -1))
        bids = asks = None
        if self._steps_bids:
            bids = stepped_back([rung.bids for rung in rungs], 1)
        if self._steps_asks:
            asks = stepped_back([rung.asks for rung in reversed(rungs)], -1)
            asks.reverse()
        answer = dict(self._answer)
        far_qty = self.params.far_qty
        everything = stepped or bids is not None or asks is not None
        for place in range(len(rungs)) if everything else priced:
            rung = rungs[place]
            told = (
                standing(rung.bids if bids is None else bids[place], PRICE_MIN, far_qty),
                standing(rung.asks if asks is None else asks[place], PRICE_MAX, far_qty),
            )
            if rung.quotes is None or told != rung.told:
                rung.told = told
                rung.quotes = _quotes(*told)
            if rung.view is not None:
                answer[rung.view.market_id] = rung.quotes
        self._answer = answer
        return answer


_Clock = tuple[int, Intensity | None, int | None, float]
"""What all rungs hang on: the time left in steps, the learned flow, the cash free where it may not
suffice, and how tight the limit of loss is (`hurdle.tightness`)."""


_Numbers = tuple[int, int, int, int, int, int, tuple[int, int]]
"""The numbers of a rung on their grids: fair and shift by `_GRID`, what one share more moves by
`_OWN_GRID`, slope by `_SLOPE_GRID`, sd by `_GRID`, volatility by `_RATE_GRID`; charges of a bid and
an ask by `_COST_GRID`."""


_Sides = tuple[Levels | None, Levels | None]
"""Bids and asks of a rung; None where no price is legal."""


class _Rung:
    """A rung as it was priced last, and its quotes as they were told last."""

    __slots__ = ("asks", "bids", "key", "quotes", "told", "view")

    def __init__(self) -> None:
        self.view: RungView | None = None
        self.key: tuple[object, ...] = ()
        self.bids: Levels | None = ()
        self.asks: Levels | None = ()
        self.told: tuple[Levels, Levels] = ((), ())
        self.quotes: tuple[Quote, ...] | None = None


_quotes = lru_cache(maxsize=1_024)(quotes_of)
"""Prices swing: what is told of a rung has mostly been told before."""


def _mark(marks: set[int], place: int, is_fine: bool) -> None:
    if is_fine:
        marks.discard(place)
    else:
        marks.add(place)


STRATEGY = LadderJoint
