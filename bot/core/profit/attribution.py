"""Where the profit comes from: every fill with what was believed of it, closing to the cent.

With F the value of a YES share, in whole thousandths of a cent, and q the YES shares less the NO
shares of a rung, what we own is  cash + 100 * NO shares + q * F.  A fill of `n` shares at price p
(canonical; sign +1 when it makes us longer YES) changes that by  sign * (F - p) * n - fee,  by
either route; a move of F changes it by  q * dF;  a payout is the last move, to 100 or to 0. So

    profit = spread + inventory - fees
    spread = sum of sign * (F at the fill - p) * n        inventory = sum of q * dF

holds in integers, whatever values are taken for F. Inventory is split by fill: its move within ten
seconds of the fill is adverse, the rest is drift. A fill whose time cannot be placed counts as of
when it was booked. Only the ledger moves money: this account is compared with it at every fill.
"""

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from bot.core.orders.order import UNTAGGED, Tag
from bot.core.orders.outbox import NEVER_NS
from bot.core.profit.markouts import ADVERSE, HORIZONS_S, LATE_MAX_NS, MILLI, Markouts
from bot.core.profit.marks import Marks
from bot.core.report import Against, FillReport, ProfitReport, ProfitRow
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, BookSide, Outcome, Price, Qty
from venue.wire.names import MarketId

DIMENSIONS: Final = ("rung", "side", "level", "strategy", "reason")
_VALUES_MAX: Final = 64
_RUNGS_MAX: Final = 1_000
"""Values of one dimension told apart; what comes later is `other`."""

KEPT_MAX: Final = 40
"""The newest fills that are kept to be shown."""

_WAITING_MAX: Final = 20_000
"""Horizons waited for at once; a fill beyond that is left out of the markouts, and counted."""

_LOOK_AGAIN_NS: Final = NS_PER_SECOND
"""A value that is not known at its horizon is looked for so often, for LATE_MAX_NS."""

_OPENING: Final = "opening"
_OTHER: Final = "other"
_RESOLVED: Final = "resolved"
"""Rungs of events that have left, together."""


class AttributedFill(msgspec.Struct, frozen=True):
    """A booked fill: canonical side and price, and the fee that was charged. fill_id: the venue's
    name of it; empty for one that is only imagined."""

    market_id: MarketId
    rung: str
    side: BookSide
    price: Price
    qty: Qty
    fee_cents: int
    tag: Tag = UNTAGGED
    fill_id: str = ""

    @property
    def signed_qty(self) -> int:
        """Shares by which it made us longer YES."""
        return self.qty if self.side is BookSide.BID else -self.qty


class _Group:
    """The sums of the fills with one value of one dimension. Amounts in thousandths of a cent."""

    __slots__ = ("adverse", "fees_cents", "fills", "held", "markouts", "paid_out", "qty", "spread")

    def __init__(self) -> None:
        self.fills = self.qty = self.spread = self.fees_cents = self.adverse = 0
        self.paid_out = 0  # inventory of rungs that have settled
        # Shares net of each rung, and what they counted for when they came.
        self.held: dict[MarketId, tuple[int, int]] = {}
        self.markouts = Markouts()

    def hold(self, market_id: MarketId, signed_qty: int, value: int) -> None:
        """Shares that counted for `value` each when they came."""
        net, entered = self.held.get(market_id, (0, 0))
        self.held[market_id] = (net + signed_qty, entered + signed_qty * value)

    def pay_out(self, market_id: MarketId, value: int) -> None:
        """A rung has come to its last value."""
        net, entered = self.held.pop(market_id, (0, 0))
        self.paid_out += net * value - entered

    def absorb(self, other: "_Group") -> None:
        """Count the sums of a group in that holds nothing any more."""
        self.fills += other.fills
        self.qty += other.qty
        self.spread += other.spread
        self.fees_cents += other.fees_cents
        self.adverse += other.adverse
        self.paid_out += other.paid_out
        self.markouts.absorb(other.markouts)

    def row(self, name: str, values: Mapping[MarketId, int], adverse: int) -> ProfitRow:
        """The sums as shown. adverse: of fills whose ten seconds are not over."""
        inventory = self.paid_out
        for market_id, (net, entered) in self.held.items():
            inventory += net * values[market_id] - entered
        adverse += self.adverse
        return ProfitRow(
            name=name,
            fills=self.fills,
            qty=self.qty,
            profit_millicents=self.spread + inventory - MILLI * self.fees_cents,
            spread_millicents=self.spread,
            adverse_millicents=adverse,
            drift_millicents=inventory - adverse,
            fees_cents=self.fees_cents,
            markouts=self.markouts.report(),
        )


class _Filled(msgspec.Struct, frozen=True):
    """A booked fill. value: of a share when it came, thousandths of a cent. markouts: against fair,
    thousandths of a cent a share, one place for each of HORIZONS_S; None until it is known."""

    entry: AttributedFill
    filled_ns: int
    value: int
    groups: tuple[_Group, ...]
    markouts: list[int | None]

    def report(self) -> FillReport:
        """The fill as shown."""
        entry = self.entry
        return FillReport(
            at_ns=self.filled_ns,
            ticker=entry.rung,
            side=entry.side,
            price=entry.price,
            qty=entry.qty,
            fee_cents=entry.fee_cents,
            fair_cents=self.value / MILLI,
            reason=entry.tag.reason,
            markouts_cents=tuple(None if each is None else each / MILLI for each in self.markouts),
        )


class _Position:
    """The shares of one rung at average cost, in thousandths of a cent."""

    __slots__ = ("cost", "net", "realised", "settled")

    def __init__(self) -> None:
        self.net = self.cost = self.realised = self.settled = 0

    def trade(self, signed_qty: int, price: int) -> None:
        """Shares came at a price: first they close what is held the other way round."""
        closing = 0
        if self.net and (self.net > 0) != (signed_qty > 0):
            closing = min(abs(signed_qty), abs(self.net))
            released = self.cost * closing // abs(self.net)
            direction = 1 if self.net > 0 else -1
            self.realised += direction * closing * price - released
            self.cost -= released
            self.net -= direction * closing
            signed_qty += direction * closing
        self.net += signed_qty
        self.cost += signed_qty * price

    def settle(self, value: int) -> None:
        """What is held is paid out."""
        self.settled += self.net * value - self.cost
        self.net = self.cost = 0


class Attribution:
    """The account of fills of one series: ours, or a candidate's."""

    def __init__(
        self, marks: Marks, marked: Callable[[str, Against, int, int], None] | None = None
    ) -> None:
        """marked: told of each value at a horizon: of which fill, against what, seconds after it,
        thousandths of a cent."""
        self._marks = marks
        self._marked = marked
        self._total = _Group()
        self._groups: dict[str, dict[str, _Group]] = {name: {} for name in DIMENSIONS}
        self._positions: dict[MarketId, _Position] = {}
        self._unpriced: dict[MarketId, tuple[str, int]] = {}
        self._opened: dict[MarketId, int] = {}
        self._paid: dict[MarketId, int] = {}
        self._gone = _Position()  # of rungs forgotten; its cost is what was held at the opening
        # Horizons that are not over, the next one first: when to look, a number to sort by, the
        # horizon's instant and its place in HORIZONS_S, the fill, and against what.
        self._waiting: list[tuple[int, int, int, int, _Filled, Against]] = []
        self._count = 0
        self._missed = 0
        self._newest: deque[_Filled] = deque(maxlen=KEPT_MAX)

    # --- booking ----------------------------------------------------------------------------------

    def opens(self, market_id: MarketId, rung: str, net_qty: int) -> None:
        """Shares that were held before the first fill: they count from the first value known. Told
        again, so many more than was thought, below zero fewer."""
        if net_qty:
            before_qty = self._unpriced.get(market_id, ("", 0))[1]
            self._unpriced[market_id] = (rung, before_qty + net_qty)
            if market_id in self._positions:
                self._price_opening(market_id, self._value(market_id, 0))

    def _price_opening(self, market_id: MarketId, value: int | None) -> None:
        """Shares held at the opening come in at this value, once there is one."""
        if value is None or market_id not in self._unpriced:
            return
        rung, net_qty = self._unpriced.pop(market_id)
        self._opened[market_id] = self._opened.get(market_id, 0) + net_qty * value
        labels = dict.fromkeys(DIMENSIONS, _OPENING) | {"rung": rung}
        for group in self._groups_of(labels):
            group.hold(market_id, net_qty, value)
        self._positions.setdefault(market_id, _Position()).trade(net_qty, value)

    def booked(self, entry: AttributedFill, filled_ns: int) -> int:
        """A fill was booked that happened at `filled_ns`, by our own clock; what a share counted
        for then, thousandths of a cent."""
        market_id, price = entry.market_id, entry.price * MILLI
        value = self._marks.fair_before(market_id, filled_ns)
        if value is None:
            value = self._value(market_id, price)
        self._price_opening(market_id, value)
        signed_qty = entry.signed_qty
        groups = tuple(self._groups_of(_labels(entry)))
        for group in groups:
            group.fills += 1
            group.qty += entry.qty
            group.fees_cents += entry.fee_cents
            group.spread += signed_qty * (value - price)
            group.hold(market_id, signed_qty, value)
        self._positions.setdefault(market_id, _Position()).trade(signed_qty, price)
        fill = _Filled(entry, filled_ns, value, groups, [None] * len(HORIZONS_S))
        self._newest.append(fill)
        self._wait_for(fill)
        if self._marks.is_settled(market_id):
            self._pay_out(market_id)
        return value

    def _groups_of(self, labels: Mapping[str, str]) -> Iterable[_Group]:
        """The total, and the group of each dimension."""
        yield self._total
        for name, label in labels.items():
            groups = self._groups[name]
            most = _RUNGS_MAX if name == "rung" else _VALUES_MAX
            if label not in groups and len(groups) >= most:
                label = _OTHER
            if label not in groups:
                groups[label] = _Group()
            yield groups[label]

    def settled(self, market_id: MarketId, winner: Outcome, now_ns: int) -> None:
        """A rung resolved and paid."""
        self._price_opening(market_id, self._marks.value(market_id))
        self._marks.settled(market_id, winner, now_ns)
        self._price_opening(market_id, self._marks.value(market_id))
        self._pay_out(market_id)

    def _pay_out(self, market_id: MarketId) -> None:
        value = self._marks.value(market_id)
        assert value is not None
        self._pay_out_at(market_id, value)

    def _pay_out_at(self, market_id: MarketId, value: int) -> None:
        self._total.pay_out(market_id, value)
        for groups in self._groups.values():
            for group in groups.values():
                group.pay_out(market_id, value)
        if market_id in self._positions:
            self._positions[market_id].settle(value)

    def forget(self, rungs: Mapping[MarketId, str]) -> None:
        """Drop rungs on which nothing is held any more, by market and name; what they earned stays
        counted, together with all that have gone before."""
        for market_id, rung in rungs.items():
            value = self._value(market_id, 0)
            self._pay_out_at(market_id, value)
            position = self._positions.pop(market_id, None)
            if position is not None:
                self._gone.realised += position.realised
                self._gone.settled += position.settled
            self._gone.cost += self._opened.pop(market_id, 0)
            self._unpriced.pop(market_id, None)
            self._paid.pop(market_id, None)
            group = self._groups["rung"].pop(rung, None)
            if group is not None:
                self._groups["rung"].setdefault(_RESOLVED, _Group()).absorb(group)

    # --- sampling ---------------------------------------------------------------------------------

    @property
    def due_ns(self) -> int:
        """When `sample` has work; 0 while an opening has no price yet."""
        if self._unpriced:
            return 0
        return self._waiting[0][0] if self._waiting else NEVER_NS

    def sample(self, now_ns: int) -> None:
        """Take the markouts whose horizon is over, and what was held at the opening in at the first
        value that there is: here, for drawing a picture must change nothing."""
        for market_id in list(self._unpriced):
            self._price_opening(market_id, self._marks.value(market_id))
        while self._waiting and self._waiting[0][0] <= now_ns:
            _, _, at_ns, horizon, fill, against = self._waiting.pop(0)
            value = self._marks.at(fill.entry.market_id, at_ns, against)
            if value is not None:
                self._known(fill, against, horizon, value)
            elif now_ns < at_ns + LATE_MAX_NS:
                self._wait(now_ns + _LOOK_AGAIN_NS, at_ns, horizon, fill, against)
            else:
                self._missed += 1

    def _wait_for(self, fill: _Filled) -> None:
        """Wait for every horizon of a fill."""
        count = len(HORIZONS_S) * len(Against)
        if len(self._waiting) + count > _WAITING_MAX:
            self._missed += count
            return
        for horizon, seconds in enumerate(HORIZONS_S):
            at_ns = fill.filled_ns + seconds * NS_PER_SECOND
            for against in Against:
                self._wait(at_ns, at_ns, horizon, fill, against)

    def _wait(self, due_ns: int, at_ns: int, horizon: int, fill: _Filled, against: Against) -> None:
        self._count += 1
        insort(self._waiting, (due_ns, self._count, at_ns, horizon, fill, against))

    def _known(self, fill: _Filled, against: Against, horizon: int, value: int) -> None:
        entry = fill.entry
        sign = 1 if entry.side is BookSide.BID else -1
        markout = sign * (value - entry.price * MILLI)
        if against is Against.FAIR:
            fill.markouts[horizon] = markout
        adverse = 0
        if horizon == ADVERSE and against is Against.FAIR:
            adverse = entry.signed_qty * (value - fill.value)
        for group in fill.groups:
            group.markouts.add(against, horizon, markout, entry.qty, fill.filled_ns)
            group.adverse += adverse
        if self._marked is not None:
            self._marked(entry.fill_id, against, HORIZONS_S[horizon], value)

    # --- reading ----------------------------------------------------------------------------------

    def _value(self, market_id: MarketId, price: int) -> int:
        """What a share counts for now; where no value was ever known, the first price it had."""
        value = self._marks.value(market_id)
        return self._paid.setdefault(market_id, price) if value is None else value

    def _values(self) -> dict[MarketId, int]:
        """What a share of each rung with shares or fills counts for now."""
        return {market_id: self._value(market_id, 0) for market_id in self._positions}

    def net_qty(self, market_id: MarketId) -> int:
        """YES shares less NO shares of a rung by the fills, those held at the opening included."""
        position = self._positions.get(market_id)
        held = 0 if position is None else position.net
        return held + self._unpriced.get(market_id, ("", 0))[1]

    def difference(self, cash_flow_cents: int, holdings: Mapping[MarketId, tuple[int, int]]) -> int:
        """What the ledger's account and this one differ by, in thousandths of a cent: 0.

        cash_flow_cents: since the opening, less the dollars that pairs held then were sure of.
        holdings: YES and NO shares of every rung of the ledger's.
        """
        values = self._values()
        owned = MILLI * cash_flow_cents - sum(self._opened.values()) - self._gone.cost
        for market_id, (yes_qty, no_qty) in holdings.items():
            owned += MILLI * PAYOUT_CENTS * no_qty
            if market_id not in self._unpriced:
                owned += (yes_qty - no_qty) * values.get(market_id, 0)
            if yes_qty - no_qty != self.net_qty(market_id):
                return MILLI * PAYOUT_CENTS * (yes_qty - no_qty - self.net_qty(market_id))
        return owned - self._total.row("", values, 0).profit_millicents

    def report(self, difference: int = 0) -> ProfitReport:
        """The account as of now. difference: from the ledger's, as found."""
        values = self._values()
        adverse: dict[int, int] = {}
        for _, _, _, horizon, fill, against in self._waiting:
            value = values.get(fill.entry.market_id)  # None once its rung is forgotten
            if horizon != ADVERSE or against is not Against.FAIR or value is None:
                continue
            moved = fill.entry.signed_qty * (value - fill.value)
            for group in fill.groups:
                adverse[id(group)] = adverse.get(id(group), 0) + moved
        by = {
            name: tuple(
                group.row(label, values, adverse.get(id(group), 0))
                for label, group in sorted(groups.items())
            )
            for name, groups in self._groups.items()
        }
        total = self._total.row("total", values, adverse.get(id(self._total), 0))
        positions = self._positions.values()
        realised = self._gone.realised + sum(each.realised for each in positions)
        settled = self._gone.settled + sum(each.settled for each in positions)
        return ProfitReport(
            total=total,
            realised_millicents=realised,
            settled_millicents=settled,
            open_millicents=total.profit_millicents + MILLI * total.fees_cents - realised - settled,
            difference_millicents=difference,
            unsampled=self._missed,
            by=by,
        )

    def last_fills(self) -> tuple[FillReport, ...]:
        """The newest KEPT_MAX fills, the newest first."""
        return tuple(fill.report() for fill in reversed(self._newest))


def _labels(entry: AttributedFill) -> dict[str, str]:
    level = entry.tag.level
    return {
        "rung": entry.rung,
        "side": entry.side.value,
        "level": str(level) if level >= 0 else "none",
        "strategy": entry.tag.strategy,
        "reason": entry.tag.reason,
    }
