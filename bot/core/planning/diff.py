"""Wanted quotes and working orders of one rung -> the changes that keep the most queue place.

Pure and without memory: nothing here sends, counts requests or knows limits of loss. The table:

    same price, same size        keep
    same price, less             amend the remaining size down: the place is kept
    same price, more             keep, and add a second order for the difference
    near, not worth the place    keep: a tick on the safe side, or bolder but still with an edge
    other price, worth it        amend the price: one request, no moment without a quote
    other route, or no partner   cancel, and create once that is over
    a pair locked for too little cancel the purchase: what is held is sold instead
    many at one price and route  cancel the newest, if its place is worth little; create it larger
    would cross our own order    wait: that one is moved or cancelled by its own side's plan first

A bid is `sell no` while free NO shares are held, else `buy yes`; an ask `sell yes` before `buy no`.
Orders at one price are one stand. Which stand serves which wanted price is the assignment of least
cost: requests, places lost, edge given up. What a place is worth: `queue_economics`.

See docs/design.md#bot-5.
"""

from collections.abc import Container, Sequence
from typing import Final

from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import (
    MERGED,
    Action,
    AmendAction,
    CancelAction,
    CreateAction,
    FreeShares,
    Plan,
    cancels_first,
    crosses,
)
from bot.core.planning.levels import (
    RestingLevel,
    TargetLevel,
    WorkingOrders,
    age,
    are_left,
    count_beside,
    destination,
    level_of,
    promise_lacking,
    serve_near,
    size_then_age,
    stand_of,
)
from bot.core.planning.queue_economics import REQUEST_MIN, RISK_CENTS, QuoteEconomics
from bot.core.settings import PaceSettings
from bot.strategy.api import Quote
from venue.wire.money import BookSide, Price, Qty, Side, canonical
from venue.wire.requests import Amend


def assign(
    costs: Sequence[Sequence[float]], row_alone: Sequence[float], column_alone: Sequence[float]
) -> list[int | None]:
    """For each row the column that it is given, or None: the total cost is the least there is.

    costs[r][c] >= 0: of giving row r the column c. row_alone[r], column_alone[c]: of leaving it
    without a partner. Of several assignments that cost the same, which one is returned depends on
    nothing but the arguments. Exact, in the cube of the size: shortest augmenting paths with
    potentials (Jonker and Volgenant, 1987).
    """
    rows, columns = len(row_alone), len(column_alone)
    # What a choice costs beyond leaving its column alone. The last columns leave a row alone.
    table = [
        [*(cost - column_alone[c] for c, cost in enumerate(costs[r])), *[row_alone[r]] * rows]
        for r in range(rows)
    ]
    row_of: list[int | None] = [None] * (columns + rows)
    row_potential = [0.0] * rows
    column_potential = [0.0] * (columns + rows)
    for new_row in range(rows):
        left = list(range(columns + rows))
        reached: list[tuple[int, int]] = []  # columns, each with its row
        nearest = [float("inf")] * (columns + rows)
        before: list[int | None] = [None] * (columns + rows)  # on the cheapest way to a column
        row: int | None = new_row
        column: int | None = None
        while row is not None:
            for other in left:
                cost = table[row][other] - row_potential[row] - column_potential[other]
                if cost < nearest[other]:
                    nearest[other], before[other] = cost, column
            column = min(left, key=nearest.__getitem__)
            step = nearest[column]
            row_potential[new_row] += step
            for other, its_row in reached:
                row_potential[its_row] += step
                column_potential[other] -= step
            for other in left:
                nearest[other] -= step
            left.remove(column)
            row = row_of[column]
            if row is not None:
                reached.append((column, row))
        while column is not None:
            previous = before[column]
            row_of[column] = new_row if previous is None else row_of[previous]
            column = previous
    column_of = {row: column for column, row in enumerate(row_of[:columns])}
    return [column_of.get(row) for row in range(rows)]


_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_OPEN: Final = State.OPEN
_BUY: Final = Side.BUY


def plan_sides(
    wanted_bids: Sequence[Quote],
    wanted_asks: Sequence[Quote],
    ours: WorkingOrders,
    pace: PaceSettings,
    now_ns: int,
    worth: QuoteEconomics,
    short: Container[BookSide] = (),
) -> Plan:
    """The changes that turn our orders into what is wanted on each side, the best first.

    An order whose last write is undecided is left alone, counted at its price, and keeps new
    orders of its side from being made (one live-or-possible order per slot); one whose write is
    on its way, or whose end is still to come, keeps as many shares from it. So does a take without
    an answer, which serves no wanted price: it never rests. short: sides on which a limit has cut
    new orders: no order there is cancelled to be replaced.
    """
    wishes: list[Action] = []
    again: list[int] = []
    for own in ours.going:
        if own.due_ns <= now_ns:
            wishes.append(CancelAction(own, own.why, RISK_CENTS * own.remaining))
        else:
            again.append(own.due_ns)
    free = ours.free()
    for side, mine, stands, quotes, facing in (
        (_BID, ours.bids, ours.bid_stands, wanted_bids, wanted_asks),
        (_ASK, ours.asks, ours.ask_stands, wanted_asks, wanted_bids),
    ):
        levels = {quote.price: level_of(side, quote, facing, worth) for quote in quotes}
        # A plan only takes from what is free.
        held = free if free.has_some and side not in short else None
        if not are_left(stands, levels.values(), held, pace):
            plan = _Side(
                side, levels, mine, ours.everyone, free, pace, now_ns, worth, side in short
            )
            plan.make()
            wishes.extend(plan.wishes)
            again.extend(plan.again)
    return Plan(cancels_first(wishes), min(again, default=None))


class _Side:
    """The plan of one side of a rung, as it is made."""

    def __init__(
        self,
        side: BookSide,
        levels: dict[Price, TargetLevel],
        mine: list[OwnOrder],
        everyone: Sequence[OwnOrder],
        free: FreeShares,
        pace: PaceSettings,
        now_ns: int,
        worth: QuoteEconomics,
        is_short: bool,
    ) -> None:
        self._side = side
        self._mine = mine
        self._everyone = everyone
        self._free = free
        self._pace = pace
        self._now_ns = now_ns
        self._worth = worth
        self._merges = not is_short
        self._may_lock = not is_short and free.has_some  # a plan only takes from what is free
        self._levels = levels
        self._spares: list[OwnOrder] = []
        self._coming: list[Price] = []  # where orders are moved
        self._beside: list[OwnOrder] = []  # they may rest, serve no level and cannot be changed
        self.wishes: list[Action] = []
        self.again: list[int] = []

    def make(self) -> None:
        """Plan a side that does not stand as wanted: `wishes` and `again` hold what comes of it."""
        stands = self._stands()
        levels = [level for level in self._levels.values() if not level.served]
        pairs = self._assigned(stands, levels)
        if self._free.has_some:
            promise_lacking(self._levels.values(), pairs, self._free, self._pace)
        for stand, level in pairs:
            if level is None:
                self._spares.extend(stand.orders)
            elif stand.price == level.price:
                self._stay(stand, level)
            elif level.stays_near(stand, self._pace):
                level.serve(max(stand.qty, level.wanted))
            else:
                self._move(stand, level)
        self._place_spares()
        if not any(own.is_unknown and own.book_side is self._side for own in self._everyone):
            count_beside(self._beside, self._levels.values())
            for level in self._levels.values():
                self._fill_up(level)

    # --- who serves what --------------------------------------------------------------------------

    def _stands(self) -> list[RestingLevel]:
        """Our orders that can be changed, by price; those that cannot serve their price, or one
        near it, whatever is wanted."""
        at: dict[Price, list[OwnOrder]] = {}
        fixed: list[OwnOrder] = []
        for own in self._mine:
            if own.cancel_requested:
                self._beside.append(own)
            elif own.state is _OPEN:
                at.setdefault(own.yes_price, []).append(own)
            else:
                fixed.append(own)
        stands = {price: stand_of(orders) for price, orders in at.items()}
        for own in fixed:
            price = destination(own)
            level = self._levels.get(price)
            if level is not None:
                level.serve(own.max_fillable)
                if price in stands:
                    self._stay(stands.pop(price), level)
                continue
            if not serve_near(self._levels.values(), price, own.remaining, self._pace):
                self._beside.append(own)
        for price in [price for price in stands if price in self._levels]:
            if self._levels[price].served:
                self._stay(stands.pop(price), self._levels[price])
        return list(stands.values())

    def _assigned(
        self, stands: list[RestingLevel], levels: list[TargetLevel]
    ) -> list[tuple[RestingLevel, TargetLevel | None]]:
        """Each stand with the level that it shall serve, at the least cost of all.

        A stand serves the level of its own price before anything new comes there: beside what stays
        there for another level it would be taken for too much, and be cancelled again.
        """
        at = {level.price: level for level in levels}
        pairs = self._cheapest(stands, levels, at)
        pace = self._pace
        stays = {level.price for stand, level in pairs if level and level.stays_near(stand, pace)}
        for stand, level in pairs:
            own = at.get(stand.price)
            if level is None or own is None or level is own or own.price in stays:
                continue
            if level.stays_near(stand, pace):
                others = [each for each in stands if each is not stand]
                left = [each for each in levels if each is not own]
                return [(stand, own), *self._assigned(others, left)]
        return pairs

    def _cheapest(
        self, stands: list[RestingLevel], levels: list[TargetLevel], at: dict[Price, TargetLevel]
    ) -> list[tuple[RestingLevel, TargetLevel | None]]:
        """The assignment of least cost. at: the levels by price."""
        if not stands or not levels:
            return [(stand, None) for stand in stands]
        if len(stands) == len(levels) and all(stand.price in at for stand in stands):
            return [(stand, at[stand.price]) for stand in stands]
        if len(stands) == len(levels) == 1:
            return [(stands[0], levels[0])]
        lost = [self._lost(stand) for stand in stands]
        chosen = assign(
            [
                [self._cost(stand, level, place) for level in levels]
                for stand, place in zip(stands, lost, strict=True)
            ],
            [
                self._worth.request_cents(stand.qty) * len(stand.orders) + place
                for stand, place in zip(stands, lost, strict=True)
            ],
            [self._worth.request_cents(level.wanted) for level in levels],
        )
        return [
            (stand, None if place is None else levels[place])
            for stand, place in zip(stands, chosen, strict=True)
        ]

    def _cost(self, stand: RestingLevel, level: TargetLevel, lost: float) -> float:
        """Cents that it costs to have a stand serve a level: nothing where it stands already, the
        edge given up by staying near, else the requests and the place, worth `lost`."""
        if stand.price == level.price:
            return 0.0
        ticks = abs(stand.price - level.price)
        largest = max(own.remaining for own in stand.orders)
        request = self._worth.request_cents
        moved = request(max(largest, level.wanted))
        if level.is_off(abs(largest - level.wanted), self._pace):
            moved += request(abs(largest - level.wanted))
        # Never more than to cancel the one and create the other, and of equal ones the shorter way.
        apart = request(stand.qty) * len(stand.orders) + request(level.wanted)
        moved = min(moved, apart - REQUEST_MIN / 2) + lost + _TICK_COST * ticks
        if level.keeps(stand.price, stand.qty, self._pace):
            return min(moved, max(0.0, level.gain(stand.orders)) + _TICK_COST * ticks / 2)
        return moved

    def _lost(self, stand: RestingLevel) -> float:
        """What the places of a stand are worth, cents."""
        edge = self._worth.edge(self._side, stand.price)
        return sum(self._worth.place_cents(own, edge) for own in stand.orders)

    # --- carrying it out --------------------------------------------------------------------------

    def _cancel(self, own: OwnOrder, why: str, value: float, instead: bool = False) -> None:
        self.wishes.append(CancelAction(own, why, value, instead=instead))

    def _stay(self, stand: RestingLevel, level: TargetLevel) -> None:
        """A stand at its level's price: oldest first; too much there is shrunk from the newest."""
        lacks = level.missing - stand.qty
        for own in sorted(stand.orders, key=age):
            room = level.missing
            if room <= 0:
                self._spares.append(own)
                continue
            level.serve(own.max_fillable)
            if level.is_off(own.remaining - room, self._pace):
                why, value = "less wanted at this price", RISK_CENTS * (own.remaining - room)
                self.wishes.append(AmendAction(own, Amend(qty=Qty(room)), True, why, value))
            elif self._may_lock and level.locks_too_much(own, lacks, self._free, self._pace):
                self._free.take(own.outcome.other, own.remaining)
                why, value = "shares held now: sold instead", self._worth.capital_cents
                self._cancel(own, why, value * own.remaining, instead=True)

    def _move(self, stand: RestingLevel, level: TargetLevel) -> None:
        """Bring a stand to a price that has none: its largest order by one amend, or by a change of
        route; the others are to spare."""
        own = max(stand.orders, key=size_then_age)
        price, is_bolder = level.price, level.is_safer(own.yes_price, level.price)
        if is_bolder:
            # Moving toward the touch can wait; stepping back from it cannot.
            ripe_ns = max(own.placed_ns, own.last_write_ns) + self._pace.dwell_ns
            if self._now_ns < ripe_ns or crosses(self._side, price, self._everyone):
                level.serve(stand.qty)
                if self._now_ns < ripe_ns:
                    self.again.append(ripe_ns)
                return
        self._spares.extend(other for other in stand.orders if other is not own)
        gain = level.gain((own,))
        if self._may_lock and level.sells_instead(own, self._free, self._pace):
            # Its place is lost anyway, and selling what is held needs no cash and locks no pair.
            self._cancel(own, "shares held now: sold instead", gain, instead=is_bolder)
            return
        too_large = level.is_off(own.remaining - level.wanted, self._pace)
        qty = Qty(level.wanted) if too_large else None
        amend = Amend(price=canonical(own.outcome, price), qty=qty)
        level.take_in(own.remaining, self._free, self._pace)
        self._coming.append(price)
        self.wishes.append(
            AmendAction(own, amend, False, f"moved from {own.yes_price} to {price}", gain)
        )

    def _place_spares(self) -> None:
        """Orders to spare go to the prices that have none, both from the touch outward; the rest
        is cancelled: moved to a price that is served, it would only split that level's size."""
        toward_touch = -1 if self._side is _BID else 1
        spares: list[OwnOrder] = []
        for own in sorted(self._spares, key=lambda own: toward_touch * own.yes_price):
            here = self._levels.get(own.yes_price)
            if here is None or here.served:
                spares.append(own)
            else:  # the others of its stand went elsewhere
                self._stay(stand_of([own]), here)
        empty = [level for level in self._levels.values() if not level.served]
        for own, level in zip(spares, empty, strict=False):
            self._move(stand_of([own]), level)
        for own in spares[len(empty) :]:
            self._cancel(own, "no longer wanted", RISK_CENTS * own.remaining)

    def _fill_up(self, level: TargetLevel) -> None:
        """One or two new orders for what is missing at a price: held shares first, then cash."""
        price, qty = level.price, level.missing
        if not level.is_off(qty, self._pace):
            return
        held, offered = level.held, level.offered(self._free, self._pace)
        here = self._by_route(Side.SELL if offered else _BUY, price)
        merges, coming = self._merge(here, level, Qty(offered or qty)), self._coming.count(price)
        if merges or self._is_full(here, coming) or crosses(self._side, price, self._everyone):
            return
        from_held = level.sell(offered, self._free)
        why = f"quote {self._side} {price}"
        value = self._worth.joining(self._side, price, qty, level.edge) / qty
        if from_held:
            text = f"{why} from shares held"
            self.wishes.append(
                CreateAction(self._side, price, held, Side.SELL, from_held, text, value * from_held)
            )
            if self._is_full(self._by_route(_BUY, price), coming):
                return
        rest = Qty(qty - from_held)
        if any(own.state is State.PENDING_CANCEL and own.side is Side.SELL for own in self._mine):
            return  # what its cancel sets free is sold again: bought now, it would go the next time
        if rest and (not from_held or level.is_off(rest, self._pace)):
            self.wishes.append(
                CreateAction(self._side, price, held.other, _BUY, rest, why, value * rest)
            )

    def _by_route(self, route: Side, price: Price) -> list[OwnOrder]:
        """Our orders at a price that sell shares held, or that buy."""
        return [own for own in self._mine if own.side is route and price in own.yes_prices]

    def _is_full(self, here: list[OwnOrder], coming: int = 0) -> bool:
        """Whether no further order may stand at a price by a route, beside these and so many that
        are moved there: made first, it would be in their way, and they would go elsewhere."""
        return len(here) + coming >= self._pace.orders_per_level_max

    def _merge(self, here: list[OwnOrder], level: TargetLevel, qty: Qty) -> bool:
        """Whether the newest of several orders at a price by one route gives way, to come back
        larger by `qty`: where its place is worth no more than a request, or no further order may
        stand there. By the other route more may come beside it, by this one once it is over."""
        if any(own.state is State.PENDING_CANCEL and own.why == MERGED for own in here):
            return True
        staying = [own for own in here if not own.cancel_requested]
        if not self._merges or not staying or (len(staying) == 1 and not self._is_full(here)):
            return False
        newest, worth = max(staying, key=age), self._worth
        is_dear = worth.place_cents(newest, level.edge) > worth.request_cents(newest.remaining)
        if newest.state is not _OPEN or (is_dear and not self._is_full(staying)):
            return False
        value = worth.joining(self._side, level.price, level.missing, level.edge)
        more = CreateAction(self._side, level.price, newest.outcome, newest.side, qty, MERGED)
        self.wishes.append(CancelAction(newest, MERGED, value, more))
        return True


_TICK_COST = REQUEST_MIN / 1_000
"""Cents a tick: decides between ways that cost the same, and nothing else."""
