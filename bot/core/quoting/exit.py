"""Exit of one event: its inventory to zero, within a time and at a bounded cost.

The cost is the implementation shortfall (Perold 1988) against the arrival value, the fair value of
a rung at the first decision of the exit that has one. A fill of z shares at a canonical price p
costs

    z (arrival - p) + fee   of a sale of YES,        z (p - arrival) + fee   of a purchase

to a thousandth of a cent. Fills booked from then on count: of an order that the exit placed all,
of an older one those that cost something. What may yet fill counts at the worst price of its order
until its fills are booked, gains as nothing. Nothing is wanted that could bring both together above
the cap, so only orders that were live when the exit began can.

A quarter of the time each:

    passive    rests a tick before the touch, or at the fair value where the touch is beyond it
    midway     rests midway between the fair value and the price that it would cross, or at the
               fair value where there is none
    crossing   crosses where a share is worth less held to resolution than its price, by exponential
               utility with the event's loss limit as risk tolerance; rests midway where it is not
    last       crosses whatever the cap pays for

In every stage what others bid at the fair value or above, fee included, is crossed. The cheapest
share of all rungs is crossed first. A jump halts an exit only while it rests. Pure: `EventExit` is
the state of one exit, `preview` what one can expect.

See docs/operations.md#exit.
"""

import enum
import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from bot.core.market_data.queue_position import size_at
from bot.core.orders.order import OwnOrder
from bot.core.orders.outbox import NEVER_NS
from bot.core.planning.queue_value import INTENSITY_DECAY, fills
from bot.core.report import EventReport, ExitPreview, ExitReport, ExitRungPreview
from bot.core.trading_state import Restriction, Source, TradingState
from bot.strategy.api import Levels, Quote, Take
from bot.strategy.pricing.cara import cara_worth, tilted
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import MarketState
from venue.wire.money import (
    FEE_UNITS_PER_CENT,
    PAYOUT_CENTS,
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    Cents,
    FeeRate,
    Price,
    Qty,
    canonical,
    fee_units,
)
from venue.wire.names import MarketId

_ASK: Final = BookSide.ASK
_BID: Final = BookSide.BID
_MILLI: Final = 1_000

EXIT_NAME: Final = "exit"
"""The name of the strategy in the attribution of its fills."""

FLAT: Final = "flat"
CAP_REACHED: Final = "its cost cap is reached"
"""What it may still cost pays for none of the shares that could be crossed."""

NOTHING_TO_CROSS: Final = "nothing to cross"
"""Nobody else quotes where shares are left and orders may leave."""

TIME_OVER: Final = "its time is over"
"""Shares are left for another reason: no order may leave for their rungs, or a take is out."""

REPLACED: Final = "another command"


class Stage(enum.StrEnum):
    """The stages, in their order."""

    PASSIVE = "passive"
    MIDWAY = "midway"
    CROSSING = "crossing"
    LAST = "last"


_STAGES: Final = tuple(Stage)


class LiveShares(NamedTuple):
    """Shares of one order of ours that may yet fill, or whose fills are not booked."""

    side: BookSide
    price: Price  # the worst that they may have, canonical
    qty: int

    @classmethod
    def of(cls, own: OwnOrder, booked: int) -> "LiveShares":
        """booked: its shares whose fills are booked."""
        first, first_price = own.worst_fills
        prices = [canonical(own.outcome, own.worst_price)]
        if first > booked:
            prices.append(canonical(own.outcome, first_price))
        worst = max(prices) if own.book_side is _BID else min(prices)
        return cls(own.book_side, worst, own.traded_max - booked)


class ExitRung(msgspec.Struct, frozen=True, kw_only=True):
    """One rung whose payout is not certain."""

    market_id: MarketId
    ticker: str
    net_qty: int
    """YES less NO shares, unbooked fills included."""
    fair_cents: float | None
    arrival_millicents: int | None
    bids: Levels
    """Of others, as `asks`."""
    asks: Levels
    rate: FeeRate
    """The dearer of maker's and taker's."""
    sold_per_s: float = 0.0
    """Shares that takers sell a second, and buy."""
    bought_per_s: float = 0.0
    orders: tuple[LiveShares, ...] = ()
    """Of ours."""
    may_quote: bool = True
    """Orders may leave for it."""
    may_take: bool = True
    """No take of ours, and no order on the side that reduces, is undecided."""

    @property
    def side(self) -> BookSide:
        """The side that reduces its inventory."""
        return _ASK if self.net_qty > 0 else _BID

    @property
    def crossed(self) -> Levels:
        """The levels that crossing would meet, the best first."""
        return self.bids if self.net_qty > 0 else self.asks

    @property
    def is_open(self) -> bool:
        """True if it has inventory that can be exited now."""
        is_known = self.fair_cents is not None and self.arrival_millicents is not None
        return self.may_quote and self.net_qty != 0 and is_known

    def fee_millicents(self, price: Price) -> int:
        """The exact fee of a share, rounded up."""
        return -(-fee_units(self.rate, Qty(1), price) * _MILLI // FEE_UNITS_PER_CENT)

    def share_millicents(self, side: BookSide, price: Price) -> int:
        """The cost of a share with its exact fee; below zero for a gain."""
        assert self.arrival_millicents is not None
        away = self.arrival_millicents - _MILLI * price
        return (away if side is _ASK else -away) + self.fee_millicents(price)

    def order_millicents(self, side: BookSide, price: Price, qty: int) -> int:
        """What so many shares of one order may cost at most, 0 for a gain. Its fees together are
        rounded up once (S16)."""
        if qty <= 0 or self.arrival_millicents is None:
            return 0
        rounding = _MILLI if self.rate.e8 else 0
        return max(0, qty * self.share_millicents(side, price) + rounding)

    def qty_within(self, price: Price, most_qty: int, millicents: int) -> int:
        """Of an order that reduces, the most shares, `most_qty` at most, that cost no more."""
        if self.order_millicents(self.side, price, most_qty) <= millicents:
            return most_qty
        share = self.share_millicents(self.side, price)
        if share <= 0:
            return 0
        return max(0, (millicents - (_MILLI if self.rate.e8 else 0)) // share)

    @property
    def live_millicents(self) -> int:
        """What its live orders may cost at most."""
        return sum([self.order_millicents(*each) for each in self.orders])

    # --- prices -----------------------------------------------------------------------------------

    def passive_price(self) -> Price | None:
        """A tick before the touch, no worse than the fair value; None if there is no such price."""
        assert self.fair_cents is not None
        if self.side is _ASK:
            price = max(math.ceil(self.fair_cents), self.bids[0][0] + 1 if self.bids else PRICE_MIN)
            price = max(price, self.asks[0][0] - 1) if self.asks else price
        else:
            price = min(
                math.floor(self.fair_cents), self.asks[0][0] - 1 if self.asks else PRICE_MAX
            )
            price = min(price, self.bids[0][0] + 1) if self.bids else price
        return Price(price) if PRICE_MIN <= price <= PRICE_MAX else None

    def midway_price(self) -> Price | None:
        """Midway between the fair value and the price that it would cross, or the passive price
        where that is bolder; at the fair value where nothing can be crossed."""
        assert self.fair_cents is not None
        passive, touch = self.passive_price(), self.crossed[0][0] if self.crossed else None
        middle = self.fair_cents if touch is None else (self.fair_cents + touch) / 2
        if self.side is _ASK:
            price = max(math.ceil(middle), PRICE_MIN if touch is None else touch + 1)
            price = price if passive is None else min(price, passive)
        else:
            price = min(math.floor(middle), PRICE_MAX if touch is None else touch - 1)
            price = price if passive is None else max(price, passive)
        return Price(price) if PRICE_MIN <= price <= PRICE_MAX else None


Admits = Callable[[int, Price, int, Sequence[int]], int]
"""Of so many shares of a rung (by its place) at a price, how many to cross; with the inventory of
every rung once what was chosen before has traded."""


def cheapest_crossings(
    rungs: Sequence[ExitRung], millicents: int, ticks_through: int, admits: Admits
) -> dict[int, tuple[Price, int]]:
    """The limit price and the shares to cross on each rung, by its place: the cheapest share first,
    at no more than this cost together, each order counted whole at its limit.

    ticks_through: how far a price may reach through the best one.
    """
    levels = [
        (rung.share_millicents(rung.side, price), place, price, qty)
        for place, rung in enumerate(rungs)
        if rung.is_open
        for price, qty in rung.crossed
        if abs(price - rung.crossed[0][0]) <= ticks_through
    ]
    levels.sort(key=lambda level: level[:2])
    chosen: dict[int, tuple[Price, int]] = {}
    closed: set[int] = set()
    left = [rung.net_qty for rung in rungs]
    for _, place, price, shown in levels:
        rung, (before_price, before) = rungs[place], chosen.get(place, (price, 0))
        wanted = min(shown, abs(left[place]))
        if place in closed or not wanted:
            continue
        more = min(wanted, admits(place, price, wanted, left))
        counted = rung.order_millicents(rung.side, before_price, before)
        total = min(before + more, rung.qty_within(price, before + more, millicents + counted))
        if total > before:
            chosen[place] = price, total
            millicents -= rung.order_millicents(rung.side, price, total) - counted
            left[place] -= (total - before) * (1 if rung.net_qty > 0 else -1)
        if total - before < wanted:
            closed.add(place)  # what is behind this level is dearer still
    return chosen


class EventExit:
    """One exit, from its beginning until the event is resumed."""

    def __init__(
        self, source: Source, reason: str, within_ns: int, max_cost_cents: Cents, began_ns: int
    ) -> None:
        """source: the operator or the wind-down. within_ns: above 0. max_cost_cents: 0 or more."""
        self.source = source
        self.began_ns = began_ns
        self.ends_ns = began_ns + within_ns
        self.over = ""
        """Why it has ended; empty while it runs."""
        self.is_noted = False  # its end was logged
        self.preview: ExitPreview | None = None
        self.max_cost_cents = max_cost_cents
        self.arrivals: dict[MarketId, int] = {}
        """The arrival value of each rung that has one, in thousandths of a cent."""
        self._reason = reason
        self._cost_millicents = 0  # of booked fills
        self._live_millicents = 0
        self._start_qty = self._left_qty = 0
        self._why_left = TIME_OVER

    # --- what happens -----------------------------------------------------------------------------

    def arrival_millicents(self, market_id: MarketId, fair_cents: float | None) -> int | None:
        """The arrival value of a rung, which is its fair value when first asked with one."""
        found = self.arrivals.get(market_id)
        if found is None and fair_cents is not None:
            found = self.arrivals[market_id] = round(_MILLI * fair_cents)
        return found

    def on_fill(
        self, market_id: MarketId, side: BookSide, price: Price, qty: int, fee_cents: int, *,
        is_own: bool,
    ) -> None:  # fmt: skip
        """A fill of the event was booked, at a canonical price. is_own: of an order that was placed
        since the exit began."""
        arrival = self.arrivals.get(market_id)
        if arrival is None:
            return
        away = arrival - _MILLI * price
        cost = qty * (away if side is _ASK else -away) + _MILLI * fee_cents
        self._cost_millicents += cost if is_own else max(0, cost)

    def see(self, rungs: Sequence[ExitRung], ticks_through: int) -> None:
        """Take in the inventory and the live orders of all rungs; with the first, preview it."""
        self._left_qty = sum([abs(rung.net_qty) for rung in rungs])
        self._live_millicents = sum([rung.live_millicents for rung in rungs])
        if self.preview is None:
            self._start_qty = self._left_qty
            within_ns = self.ends_ns - self.began_ns
            self.preview = preview(rungs, self.max_cost_cents, within_ns, ticks_through)
        self._why_left = self._outcome(rungs)
        if not self.over and not self._left_qty and not any(rung.orders for rung in rungs):
            self.over = FLAT

    def _outcome(self, rungs: Sequence[ExitRung]) -> str:
        """How it ends if nothing of this changes before its time is over."""
        if not self._left_qty:
            return FLAT
        still_open = [rung for rung in rungs if rung.is_open]
        costs = [
            rung.order_millicents(rung.side, rung.crossed[0][0], 1)
            for rung in still_open
            if rung.crossed
        ]
        if costs and self._room_millicents(rungs) < min(costs):
            return CAP_REACHED
        return NOTHING_TO_CROSS if still_open and not costs else TIME_OVER

    def _room_millicents(self, rungs: Sequence[ExitRung]) -> int:
        """What the cap leaves to pay. What rests on the side that reduces can be cancelled first,
        so it takes no room."""
        stays = [
            rung.order_millicents(*each)
            for rung in rungs
            for each in rung.orders
            if not rung.is_open or each.side is not rung.side
        ]
        return _MILLI * self.max_cost_cents - self._cost_millicents - sum(stays)

    def on_time(self, now_ns: int) -> None:
        if not self.over and now_ns >= self.ends_ns:
            self.over = self._why_left

    def replace(self) -> None:
        """Another command of the operator ends it."""
        self.over = self.over or REPLACED

    def mark_noted(self) -> None:
        self.is_noted = True

    # --- questions --------------------------------------------------------------------------------

    def stage(self, now_ns: int) -> Stage:
        part = len(_STAGES) * (now_ns - self.began_ns) // (self.ends_ns - self.began_ns)
        return _STAGES[min(max(0, part), len(_STAGES) - 1)]

    def is_crossing(self, now_ns: int) -> bool:
        """True in its last two stages, while it runs."""
        return not self.over and self.stage(now_ns) in (Stage.CROSSING, Stage.LAST)

    def turn_ns(self, now_ns: int) -> int:
        """When its stage turns, or it ends; NEVER_NS once it has ended."""
        if self.over:
            return NEVER_NS
        span_ns, parts = self.ends_ns - self.began_ns, len(_STAGES)
        part = parts * (now_ns - self.began_ns) // span_ns + 1
        return min(self.began_ns + -(-span_ns * part // parts), self.ends_ns)

    @property
    def cost_cents(self) -> int:
        """Of the booked fills, rounded up; below zero for a gain."""
        return -(-self._cost_millicents // _MILLI)

    def restriction(self) -> Restriction:
        if self.over:
            return Restriction(
                source=self.source,
                state=TradingState.HALTED,
                why=f"exit is over ({self.over}): {self._left_qty} left, cost {self.cost_cents} "
                "cents",
                ends="`bot resume --event`"
                if self.source is Source.OPERATOR
                else "when it has resolved",
                since_ns=self.began_ns,
            )
        return Restriction(
            source=self.source,
            state=TradingState.REDUCE_ONLY,
            why=f"exit at a cost of {self.max_cost_cents} cents at most: {self._reason}",
            ends="flat, or its time is over: then halted",
            until_ns=self.ends_ns,
            since_ns=self.began_ns,
        )

    def report(self, now_ns: int) -> ExitReport:
        return ExitReport(
            began_ns=self.began_ns,
            ends_ns=self.ends_ns,
            max_cost_cents=self.max_cost_cents,
            reason=self._reason,
            stage=self.stage(now_ns),
            over=self.over,
            start_qty=self._start_qty,
            left_qty=self._left_qty,
            cost_cents=self.cost_cents,
            may_cost_cents=-(-self._live_millicents // _MILLI),
            preview=self.preview,
        )

    # --- what it wants ----------------------------------------------------------------------------

    def wishes(
        self, rungs: Sequence[ExitRung], loss_limit_cents: Cents, ticks_through: int, now_ns: int
    ) -> dict[MarketId, tuple[Quote | Take, ...]]:
        """The quotes and takes of this instant. rungs: all of `see`, in strike order.

        loss_limit_cents: of the event, above 0. ticks_through: as `cheapest_crossings`.
        """
        stage = self.stage(now_ns)
        room = self._room_millicents(rungs)
        live = sum([rung.live_millicents for rung in rungs])
        admits = _admitted(rungs, stage, loss_limit_cents)
        crossings = cheapest_crossings(rungs, room, ticks_through, admits)
        wanted = {
            place: rungs[place].order_millicents(rungs[place].side, price, qty)
            for place, (price, qty) in crossings.items()
        }
        room_now = _MILLI * self.max_cost_cents - self._cost_millicents - live
        budget = room - sum(wanted.values())
        out: dict[MarketId, tuple[Quote | Take, ...]] = {}
        for place, (price, qty) in crossings.items():
            rung = rungs[place]
            resting = sum([each.qty for each in rung.orders if each.side is rung.side])
            if resting + qty > abs(rung.net_qty):
                out[rung.market_id] = ()  # what rests is cancelled first
            elif rung.may_take and wanted[place] <= room_now:
                room_now -= wanted[place]
                out[rung.market_id] = (Take(rung.side, price, Qty(qty)),)
        for place, price in _resting_prices(rungs, stage):
            rung = rungs[place]
            if out.get(rung.market_id) == ():
                continue
            qty = abs(rung.net_qty) - crossings.get(place, (price, 0))[1]
            qty, more = _resting(rung, price, rung.qty_within(price, qty, budget), room_now)
            if qty > 0:
                budget -= rung.order_millicents(rung.side, price, qty)
                room_now -= more
                quote = Quote(rung.side, price, Qty(qty))
                out[rung.market_id] = (*out.get(rung.market_id, ()), quote)
        return out


def _admitted(rungs: Sequence[ExitRung], stage: Stage, loss_limit_cents: Cents) -> Admits:
    """The shares to cross in a stage: all in the last one; before it those of a gain by the present
    fair value; in the crossing stage those, too, that are worth less held to resolution."""
    valued = [place for place, rung in enumerate(rungs) if rung.fair_cents is not None]
    chances = [(rungs[place].fair_cents or 0.0) / PAYOUT_CENTS for place in valued]
    c = PAYOUT_CENTS**2 / loss_limit_cents

    def admits(place: int, price: Price, qty: int, left: Sequence[int]) -> int:
        rung = rungs[place]
        assert rung.fair_cents is not None
        if stage is Stage.LAST:
            return qty
        sign = -1 if rung.side is _ASK else 1
        # What a share of it brings, or costs, at last.
        net_cents = price + sign * rung.fee_millicents(price) / _MILLI
        if sign * (rung.fair_cents - net_cents) >= 0:
            return qty
        if stage is not Stage.CROSSING:
            return 0
        chance = tilted(chances, [left[each] for each in valued], c)[valued.index(place)]
        most, least = qty, 0
        while least < most:  # the more are sold, the more each of the others is worth
            middle = (least + most + 1) // 2
            worth = cara_worth(PAYOUT_CENTS * chance, sign, c, middle - 1, 1)
            if sign * (worth - net_cents) > 0:
                least = middle
            else:
                most = middle - 1
        return least

    return admits


def _resting_prices(rungs: Sequence[ExitRung], stage: Stage) -> list[tuple[int, Price]]:
    """The place and the resting price of each open rung that has one, the cheapest share first."""
    found = []
    for place, rung in enumerate(rungs):
        if rung.is_open:
            price = rung.passive_price() if stage is Stage.PASSIVE else rung.midway_price()
            if price is not None:
                found.append((place, price))
    return sorted(
        found, key=lambda each: rungs[each[0]].share_millicents(rungs[each[0]].side, each[1])
    )


def _resting(rung: ExitRung, price: Price, qty: int, room: int) -> tuple[int, int]:
    """The shares of a quote, `qty` at most, and what it may cost beyond the live orders, within
    `room` millicents. Orders that rest elsewhere may fill there or at its price while they move."""
    live = [each for each in rung.orders if each.side is rung.side]
    moving = sum(
        max(0, rung.order_millicents(rung.side, price, each.qty) - rung.order_millicents(*each))
        for each in live
    )
    if moving > max(0, room):
        return 0, 0
    resting = sum([each.qty for each in live])
    if qty <= resting:
        return qty, moving
    more = rung.qty_within(price, qty - resting, room - moving)
    return resting + more, moving + rung.order_millicents(rung.side, price, more)


# --- the preview ----------------------------------------------------------------------------------


def preview(
    rungs: Sequence[ExitRung], max_cost_cents: Cents, within_ns: int, ticks_through: int
) -> ExitPreview:
    """What an exit that begins now can expect: fills of resting shares by the rates at which takers
    trade, then crossing what is left on the books as they are, as far as the cap pays."""
    seconds = within_ns / len(_STAGES) / NS_PER_SECOND
    room = _MILLI * max_cost_cents
    resting: dict[int, tuple[int, int]] = {}
    for stage in (Stage.PASSIVE, Stage.MIDWAY):
        for place, price in _resting_prices(rungs, stage):
            rung, (before, cost) = rungs[place], resting.get(place, (0, 0))
            qty = round(_expected_fills(rung, price, abs(rung.net_qty) - before, seconds))
            qty = rung.qty_within(price, qty, room)
            more = qty * rung.share_millicents(rung.side, price)
            resting[place], room = (before + qty, cost + more), room - more
    after = [
        msgspec.structs.replace(
            rung, net_qty=_toward_zero(rung.net_qty, resting.get(place, (0,))[0])
        )
        for place, rung in enumerate(rungs)
    ]
    crossings = {
        place: (qty, _walked(after[place], qty))
        for place, (_, qty) in cheapest_crossings(after, room, ticks_through, _all).items()
    }
    at_once = [
        (qty, _walked(rungs[place], qty))
        for place, (_, qty) in cheapest_crossings(rungs, _UNBOUNDED, ticks_through, _all).items()
    ]
    parts = [
        ExitRungPreview(
            ticker=rung.ticker,
            net_qty=rung.net_qty,
            fair_cents=rung.fair_cents,
            touch=rung.crossed[0][0] if rung.crossed else None,
            depth_qty=sum(
                qty
                for price, qty in rung.crossed
                if abs(price - rung.crossed[0][0]) <= ticks_through
            ),
            resting_qty=resting.get(place, (0, 0))[0],
            resting_cost_cents=resting.get(place, (0, 0))[1] / _MILLI,
            crossing_qty=crossings.get(place, (0, 0))[0],
            crossing_cost_cents=crossings.get(place, (0, 0))[1] / _MILLI,
            left_qty=abs(after[place].net_qty) - crossings.get(place, (0, 0))[0],
        )
        for place, rung in enumerate(rungs)
        if rung.net_qty
    ]
    return ExitPreview(
        rungs=tuple(parts),
        cost_cents=sum(each.resting_cost_cents + each.crossing_cost_cents for each in parts),
        left_qty=sum(each.left_qty for each in parts),
        now_qty=sum(qty for qty, _ in at_once),
        now_cost_cents=sum(cost for _, cost in at_once) / _MILLI,
    )


def rungs_of(event: EventReport) -> list[ExitRung]:
    """The rungs of a report whose payout is not certain, for `preview`. Raises ValueError for fee
    rates that cannot be read."""
    return [
        ExitRung(
            market_id=rung.market_id,
            ticker=rung.ticker,
            net_qty=rung.yes_qty - rung.no_qty,
            fair_cents=rung.fair_cents,
            arrival_millicents=None if rung.fair_cents is None else round(_MILLI * rung.fair_cents),
            bids=rung.bids,
            asks=rung.asks,
            rate=FeeRate.parse(rung.fee_rate),
            sold_per_s=rung.sold_per_s,
            bought_per_s=rung.bought_per_s,
            may_quote=not rung.blocked,
        )
        for rung in event.rungs
        if rung.state != MarketState.RESOLVED and not rung.blocked.startswith("decided")
    ]


_UNBOUNDED: Final = 2**62


def _all(_place: int, _price: Price, qty: int, _left: Sequence[int]) -> int:
    return qty


def _toward_zero(net_qty: int, qty: int) -> int:
    return net_qty - qty if net_qty > 0 else net_qty + qty


def _expected_fills(rung: ExitRung, price: Price, qty: int, seconds: float) -> float:
    """Shares of a new order at a price that fill on average within a time."""
    is_ask = rung.side is _ASK
    own_side, rate = (rung.asks, rung.bought_per_s) if is_ask else (rung.bids, rung.sold_per_s)
    behind = 0
    if own_side:
        behind = max(0, price - own_side[0][0] if is_ask else own_side[0][0] - price)
    volume = rate * seconds * math.exp(-INTENSITY_DECAY * behind)
    return fills(volume, size_at(own_side, price), qty) if qty > 0 else 0.0


def _walked(rung: ExitRung, qty: int) -> int:
    """What it costs to cross so many shares level by level, in millicents."""
    cost = 0
    for price, shown in rung.crossed:
        part = min(qty, shown)
        cost, qty = cost + part * rung.share_millicents(rung.side, price), qty - part
    return cost
