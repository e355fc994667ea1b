"""The exact worst case of an event, and the largest order that every hard limit admits.

An event of n rungs has n + 1 outcomes: in outcome b exactly the b lowest rungs resolve YES (a
binary market is n = 1). With W(b) what we end up with if nothing more fills, and D(o, b) what order
o adds if all of it fills, the worst over every subset of (partial) fills of all that is live is

    worst = min over b of  W(b) + sum over o of min(0, D(o, b))

exactly, because within one outcome each order's fate can be chosen by itself. An ask comes to the
same by either route (selling YES at p, or buying NO at the complement: both gain p less what YES
pays), so orders count by their canonical side and price. Fees count per share at the one-share fee
of the dearer role, rounded up: no split of fills can cost more (S16, either reading).

A rung that has settled counts as one without shares, in every outcome: the impossible outcomes that
this keeps in view can only make the answer more careful.

The worst case trusts that the rungs are a ladder; the gross limits do not. They count
each rung by itself, as if any rung could fail while any other pays.

Formulas: docs/pricing.md#section-1g.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import add, sub
from typing import Final, NamedTuple

import msgspec

from bot.core.settings import RiskSettings
from bot.strategy.api import Quote
from venue.wire.money import (
    PAYOUT_CENTS,
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    Cents,
    FeeRate,
    Outcome,
    Price,
    Qty,
    Side,
    book_side,
    canonical,
    complement,
    fee_cents,
)
from venue.wire.names import MarketId

_BID: Final = BookSide.BID


Reach = tuple[BookSide, Price, Qty]
"""The canonical side of an order, the worst canonical price at which it may trade, and all that may
fill."""


class OpenExposure(msgspec.Struct, frozen=True):
    """An order that may be live: resting, in flight, unknown, or wished for.

    price: cents of the order's own outcome, the worst it may trade at. qty_max: all that may fill.
    """

    market_id: MarketId
    outcome: Outcome
    side: Side
    price: Price
    qty_max: Qty


def live_of(market_id: MarketId, quote: Quote) -> OpenExposure:
    """A wanted quote as the order it would be, by the YES route; the other route costs the same."""
    side = Side.BUY if quote.side is _BID else Side.SELL
    return OpenExposure(market_id, Outcome.YES, side, quote.price, quote.qty)


class RungTerms(msgspec.Struct, frozen=True):
    """Constants of a rung: the most that one share bought or sold there can lose.

    bid_loss_cents[p], ask_loss_cents[p]: at canonical price p, one-share fee included; index 0 is
    no price.
    """

    market_id: MarketId
    bid_loss_cents: tuple[int, ...]
    ask_loss_cents: tuple[int, ...]

    @classmethod
    def at_rates(cls, market_id: MarketId, maker: FeeRate, taker: FeeRate) -> "RungTerms":
        """The terms of a rung with these two fee rates; make once and keep."""
        rate = max(maker, taker)
        prices = [Price(cents) for cents in range(PRICE_MIN, PRICE_MAX + 1)]
        fees = [fee_cents(rate, Qty(1), price) for price in prices]
        bids = [price + fee for price, fee in zip(prices, fees, strict=True)]
        asks = [complement(price) + fee for price, fee in zip(prices, fees, strict=True)]
        return cls(market_id, (0, *bids), (0, *asks))


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The exposure of one event, everything that may be live counted; each >= 0.

    loss_cents: in the worst outcome. position_qty: |YES - NO| of each rung. net_qty: |YES - NO|
    of all rungs together, after every live bid, or every live ask, has filled. gross_qty: the
    rungs' |YES - NO| added up, each after the fills that make it largest. gross_cents: the loss if
    every rung went the worse way by itself. resting_cents: what all that is live would lose, both
    sides added up.
    """

    loss_cents: Cents
    position_qty: Qty
    net_qty: Qty
    gross_qty: Qty
    gross_cents: Cents
    resting_cents: Cents


_NOTHING: Final = Cents(0)


def series_loss_cents(worst_by_event: Iterable[Cents]) -> Cents:
    """The worst case of a series: its events' losses added up, gains of one not set against
    losses of another."""
    return Cents(sum([max(0, -worst) for worst in worst_by_event]))


def event_limit_cents(
    limits: RiskSettings, others_loss_cents: Cents, other_series_loss_cents: Cents = _NOTHING
) -> Cents:
    """The loss limit of an event: its own, or what the other events leave of the series' limit,
    or they and the other series of the account leave of the account's, if that is less; never
    below zero."""
    left = min(limits.event_loss_cents, limits.series_loss_cents - others_loss_cents)
    if limits.account_loss_cents:
        of_account = limits.account_loss_cents - other_series_loss_cents - others_loss_cents
        left = min(left, of_account)
    return Cents(max(0, left))


def bounds_of(
    in_force: RiskSettings, loss_cents: Cents, others_resting_cents: Cents = _NOTHING
) -> Bounds:
    """The bounds of one event. in_force: as `limits_in_force` gives them. loss_cents: as
    `event_limit_cents` gives it. others_resting_cents: of the other events' resting orders."""
    return Bounds(
        loss_cents=loss_cents,
        position_qty=in_force.rung_position_qty,
        net_qty=in_force.event_net_qty,
        gross_qty=in_force.event_gross_qty,
        gross_cents=in_force.event_gross_cents,
        resting_cents=Cents(max(0, in_force.resting_cents - others_resting_cents)),
    )


class Rooms(NamedTuple):
    """The largest order on one side of a rung that each of the `Bounds` admits; below 1: none."""

    loss_cents: int
    position_qty: int
    net_qty: int
    gross_qty: int
    gross_cents: int
    resting_cents: int


class Exposure:
    """The exposure of one event. Rungs are numbered in strike order, the lowest is 0.

    A bid loses its price and fee where its rung resolves NO. An ask loses the rest of the dollar
    and its fee where it resolves YES. Neither loses on the other side: the rounded fee of one share
    is at most the lesser of the price and its complement, as no rate is above 1.
    """

    __slots__ = (
        "_ask_loss",
        "_asks",
        "_bid_loss",
        "_bids",
        "_cash",
        "_gross",
        "_if_no",
        "_if_yes",
        "_least",
        "_outcomes",
        "_resting",
        "_rung_sums",
        "_sunk",
        "_worst",
        "index",
        "net",
        "rungs",
    )

    def __init__(
        self,
        rungs: Sequence[RungTerms],
        cash_flow_cents: Cents,
        holdings: Sequence[tuple[int, int]],
        lives: Iterable[OpenExposure] = (),
    ) -> None:
        """cash_flow_cents: of the event's fills and payouts so far, fees included. holdings: the
        inventory, YES and NO shares per rung, in the order of `rungs`. Raises ValueError when
        those two differ in length.
        """
        if len(rungs) != len(holdings):
            raise ValueError(f"{len(rungs)} rungs with {len(holdings)} holdings")
        self.rungs = tuple(rungs)
        """In strike order."""
        self.index = {rung.market_id: index for index, rung in enumerate(self.rungs)}
        """The number of a rung, by market."""
        self.net = [yes - no for yes, no in holdings]
        """Net inventory, YES less NO shares, by rung: not to be changed."""
        self._outcomes = _outcomes(cash_flow_cents, holdings)
        self._least = min(self._outcomes)
        self._cash = cash_flow_cents
        self._if_yes = [PAYOUT_CENTS * yes for yes, _ in holdings]  # each rung by itself
        self._if_no = [PAYOUT_CENTS * no for _, no in holdings]
        self._clear()
        for live in lives:
            self.add_order(live)

    def _clear(self) -> None:
        self._bids = [0] * len(self.rungs)  # shares that may be bought, per rung
        self._asks = [0] * len(self.rungs)
        self._bid_loss = [0] * len(self.rungs)  # what they lose if the rung resolves NO
        self._ask_loss = [0] * len(self.rungs)  # and YES
        self._resting = 0
        self._worst: list[int] | None = None
        self._rung_sums: list[tuple[int, int]] | None = None
        self._gross = self._sunk = 0  # the sums of those, while there are any

    def bare(self) -> "Exposure":
        """A copy with the same inventory and nothing live; the two share nothing that changes."""
        copy = Exposure.__new__(Exposure)
        copy.rungs, copy.index, copy.net = self.rungs, self.index, self.net
        copy._outcomes, copy._least, copy._cash = self._outcomes, self._least, self._cash
        copy._if_yes, copy._if_no = self._if_yes, self._if_no
        copy._clear()
        return copy

    @property
    def rung_count(self) -> int:
        """How many rungs there are; outcomes are one more."""
        return len(self.rungs)

    @property
    def outcome_cents(self) -> tuple[Cents, ...]:
        """Profit (or loss, below zero) in each of the n + 1 outcomes if nothing more fills."""
        return tuple(Cents(cents) for cents in self._outcomes)

    @property
    def worst_cents(self) -> Cents:
        """The least of `worst_by_outcome`: below zero is a loss."""
        return Cents(min(self.worst_by_outcome()))

    def worst_by_outcome(self) -> list[int]:
        """Profit in each outcome if everything live fills that hurts there, in cents. The list is
        cached: not to be changed by the caller."""
        if self._worst is None:
            hurt = hurt_by_outcome(self._bid_loss, self._ask_loss)
            self._worst = list(map(sub, self._outcomes, hurt))
        return self._worst

    @property
    def net_qty(self) -> int:
        """The largest |YES - NO| of all rungs together that fills of live orders can lead to."""
        net = sum(self.net)
        return max(abs(net + sum(self._bids)), abs(net - sum(self._asks)))

    @property
    def gross_qty(self) -> int:
        """The rungs' largest |YES - NO| added up."""
        self._sum_rungs()
        return self._gross

    @property
    def gross_cents(self) -> Cents:
        """The loss (a gain is below zero) if every rung goes the worse way by itself, and every
        live order fills that makes it worse. Never less than the loss of the worst outcome."""
        self._sum_rungs()
        return Cents(-self._sunk)

    @property
    def resting_cents(self) -> Cents:
        """The loss of all live orders if all filled and lost, both sides added up."""
        return Cents(self._resting)

    def is_within(self, bounds: Bounds) -> bool:
        """True if every bound but that of the rungs' positions holds."""
        # No outcome loses more than all that is live together.
        ample = self._least - self._resting >= -bounds.loss_cents
        fits = ample or min(self.worst_by_outcome()) >= -bounds.loss_cents
        return fits and self.is_within_sums(bounds)

    def is_within_sums(self, bounds: Bounds) -> bool:
        """True if the bounds that are the same in every outcome hold: net, gross and resting."""
        self._sum_rungs()
        return (
            self._resting <= bounds.resting_cents
            and self._gross <= bounds.gross_qty
            and -self._sunk <= bounds.gross_cents
            and self.net_qty <= bounds.net_qty
        )

    # --- live orders ------------------------------------------------------------------------------

    def add_order(self, live: OpenExposure) -> None:
        """Count an order as live. Raises KeyError for a market that is no rung of this event."""
        index, is_bid, loss = self._terms(live)
        self.add_shares(index, live.qty_max, live.qty_max * loss, is_bid=is_bid)

    def set_orders(self, market_id: MarketId, lives: Iterable[Reach]) -> None:
        """Have these orders counted as live on a rung, and no others. Raises KeyError as above."""
        index = self.index[market_id]
        rung = self.rungs[index]
        bids = bid_loss = asks = ask_loss = 0
        for side, price, qty in lives:
            if side is _BID:
                bids += qty
                bid_loss += qty * rung.bid_loss_cents[price]
            else:
                asks += qty
                ask_loss += qty * rung.ask_loss_cents[price]
        self.set_rung(index, (bids, bid_loss), (asks, ask_loss))

    def _terms(self, live: OpenExposure) -> tuple[int, bool, int]:
        """Rung, True for a bid, and the most that one share of it can lose."""
        rung_index = self.index[live.market_id]
        rung, price = self.rungs[rung_index], canonical(live.outcome, live.price)
        is_bid = book_side(live.outcome, live.side) is _BID
        return rung_index, is_bid, (rung.bid_loss_cents if is_bid else rung.ask_loss_cents)[price]

    def add_shares(self, index: int, qty: int, loss_cents: int, *, is_bid: bool) -> None:
        """Count so many more shares (below zero: fewer) as live on a side of a rung, of which all
        together can lose `loss_cents`."""
        bids = (self._bids[index], self._bid_loss[index])
        asks = (self._asks[index], self._ask_loss[index])
        if is_bid:
            self.set_rung(index, (bids[0] + qty, bids[1] + loss_cents), asks)
        else:
            self.set_rung(index, bids, (asks[0] + qty, asks[1] + loss_cents))

    def set_rung(self, index: int, bids: tuple[int, int], asks: tuple[int, int]) -> None:
        """Have this counted as live on a rung, and nothing else: of either side the shares, and
        what they can lose together."""
        self._resting += bids[1] + asks[1] - self._bid_loss[index] - self._ask_loss[index]
        self._bids[index], self._bid_loss[index] = bids
        self._asks[index], self._ask_loss[index] = asks
        self._worst = None
        if self._rung_sums is not None:
            (reach, worst), new = self._rung_sums[index], self._rung_sum(index)
            self._gross += new[0] - reach
            self._sunk += new[1] - worst
            self._rung_sums[index] = new

    def add_level(self, shares: Sequence[list[int]], losses: Sequence[list[int]]) -> None:
        """Count one more order on each side of each rung: shares, and what they can lose together,
        of the bids and of the asks, by rung; 0 for none."""
        self._bids = list(map(add, self._bids, shares[0]))
        self._asks = list(map(add, self._asks, shares[1]))
        self._bid_loss = list(map(add, self._bid_loss, losses[0]))
        self._ask_loss = list(map(add, self._ask_loss, losses[1]))
        self._resting += sum(losses[0]) + sum(losses[1])
        self._rung_sums = self._worst = None

    def without(self, live: OpenExposure) -> "Exposure":
        """A copy that does not count an order that is counted here."""
        copy = self.bare()
        copy._bids, copy._asks = self._bids[:], self._asks[:]
        copy._bid_loss, copy._ask_loss = self._bid_loss[:], self._ask_loss[:]
        copy._resting = self._resting
        if self._rung_sums is not None:
            copy._rung_sums = self._rung_sums[:]
            copy._gross, copy._sunk = self._gross, self._sunk
        index, is_bid, loss = self._terms(live)
        copy.add_shares(index, -live.qty_max, -live.qty_max * loss, is_bid=is_bid)
        return copy

    def _sum_rungs(self) -> None:
        """Have the sums over the rungs; `set_rung` then keeps them. Added up for each decision they
        cost 60 us of 400 at forty rungs (bench/deciding.py)."""
        if self._rung_sums is None:
            self._rung_sums = list(map(self._rung_sum, range(len(self.rungs))))
            self._gross = sum([reach for reach, _ in self._rung_sums])
            self._sunk = self._cash + sum([worst for _, worst in self._rung_sums])

    def _rung_sum(self, index: int) -> tuple[int, int]:
        """Of one rung: the largest |YES - NO| that fills of live orders can lead to, and what the
        worse of its two outcomes leaves, its cash left out."""
        net = self.net[index]
        bought, sold = abs(net + self._bids[index]), abs(net - self._asks[index])
        if_yes = self._if_yes[index] - self._ask_loss[index]
        if_no = self._if_no[index] - self._bid_loss[index]
        return (bought if bought > sold else sold), (if_yes if if_yes < if_no else if_no)

    # --- room -------------------------------------------------------------------------------------

    def largest(
        self, candidate: OpenExposure, bounds: Bounds, instead_of: OpenExposure | None = None
    ) -> Qty:
        """The largest size, up to the candidate's, that every bound admits; 0 when none.

        The candidate itself is not to be added yet. instead_of: a counted order that it replaces.
        Where a bound is passed already, nothing fits that passes it by its own side alone; what
        brings us back always fits.
        """
        return Qty(max(0, min(candidate.qty_max, *self.rooms(candidate, bounds, instead_of))))

    def rooms(
        self, candidate: OpenExposure, bounds: Bounds, instead_of: OpenExposure | None = None
    ) -> Rooms:
        """As `largest`, of each bound by itself and without a size of its own."""
        counted = self if instead_of is None else self.without(instead_of)
        index, is_bid, loss = self._terms(candidate)
        return counted.side_rooms(index, loss, bounds, is_bid=is_bid)

    def side_rooms(self, index: int, loss: int, bounds: Bounds, *, is_bid: bool) -> Rooms:
        """As `rooms`, of a side of a rung where a share can lose `loss` cents."""
        self._sum_rungs()
        assert self._rung_sums is not None
        reach, rung_worst = self._rung_sums[index]
        worst = self.worst_by_outcome()
        if is_bid:
            hurting, held_cents = worst[: index + 1], self._if_no[index] - self._bid_loss[index]
            used_qty = self.net[index] + self._bids[index]
            net_used_qty = sum(self.net) + sum(self._bids)
        else:
            hurting, held_cents = worst[index + 1 :], self._if_yes[index] - self._ask_loss[index]
            used_qty = self._asks[index] - self.net[index]
            net_used_qty = sum(self._asks) - sum(self.net)
        # By so much the outcome that hurts this side is better than the rung's worse one.
        better_cents = held_cents - rung_worst
        slack_cents = bounds.gross_cents + self._sunk
        gross_cents_room = (better_cents + slack_cents) // loss
        if slack_cents < 0:  # past the limit what works a position off fits all the same
            gross_cents_room = max(gross_cents_room, min(better_cents // loss, -used_qty))
        return Rooms(
            (min(hurting) + bounds.loss_cents) // loss,
            bounds.position_qty - used_qty,
            bounds.net_qty - net_used_qty,
            # Past the limit the other side's reach is no licence: it may have filled unseen, or go.
            max(0, reach + bounds.gross_qty - self._gross) - used_qty,
            gross_cents_room,
            (bounds.resting_cents - self._resting) // loss,
        )

    def gross_growth(self, index: int, qty: int, *, is_bid: bool) -> int:
        """By how many shares `qty` more on one side of a rung would raise `gross_qty`."""
        moved = self._bids[index] + qty if is_bid else -self._asks[index] - qty
        return max(0, abs(self.net[index] + moved) - self._rung_sum(index)[0])

    def gross_loss_growth(self, index: int, loss_cents: int, *, is_bid: bool) -> int:
        """By how much shares that can lose `loss_cents` would raise `gross_cents`."""
        held, loss = (self._if_no, self._bid_loss) if is_bid else (self._if_yes, self._ask_loss)
        return max(0, loss_cents - held[index] + loss[index] + self._rung_sum(index)[1])


def _outcomes(cash_flow_cents: int, holdings: Sequence[tuple[int, int]]) -> list[int]:
    """W(b) of every outcome: cash, YES shares of the rungs below b, NO shares of the others."""
    total = cash_flow_cents + PAYOUT_CENTS * sum(no for _, no in holdings)
    out = [total]
    for yes, no in holdings:
        total += PAYOUT_CENTS * (yes - no)
        out.append(total)
    return out


def hurt_by_outcome(bid_loss: Sequence[int], ask_loss: Sequence[int]) -> list[int]:
    """What all live orders together lose in each outcome: asks of the rungs below, bids of the
    others."""
    return list(accumulate(map(sub, ask_loss, bid_loss), initial=sum(bid_loss)))


def loss_cents(worst_cents: Cents) -> Cents:
    """A worst case as a loss of 0 or more."""
    return Cents(max(0, -worst_cents))
