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

The worst case trusts that the rungs are a ladder; the gross limits beside it do not. They count
each rung by itself, as if any rung could fail while any other pays.

Formulas: docs/pricing.md#section-1g.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import add, sub
from typing import Final

import msgspec

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
    """What never changes about a rung: the most that one share bought or sold there can lose.

    bid_loss_cents[p], ask_loss_cents[p]: at canonical price p, one-share fee included; index 0 is
    no price.
    """

    market_id: MarketId
    bid_loss_cents: tuple[int, ...]
    ask_loss_cents: tuple[int, ...]

    @classmethod
    def of(cls, market_id: MarketId, maker: FeeRate, taker: FeeRate) -> "RungTerms":
        """The terms of a rung with these two fee rates; make once and keep."""
        rate = max(maker, taker)
        prices = [Price(cents) for cents in range(PRICE_MIN, PRICE_MAX + 1)]
        fees = [fee_cents(rate, Qty(1), price) for price in prices]
        bids = [price + fee for price, fee in zip(prices, fees, strict=True)]
        asks = [complement(price) + fee for price, fee in zip(prices, fees, strict=True)]
        return cls(market_id, (0, *bids), (0, *asks))


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What one event may come to at most, everything that may be live counted; each >= 0.

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


class Exposure:
    """What one event may cost us. Rungs are numbered in strike order, the lowest is 0.

    A bid loses its price and fee where its rung resolves NO, an ask the rest of the dollar and its
    fee where it resolves YES, and neither ever loses on the other side: the fee of one share,
    rounded up, is at most the lesser of the price and its complement, as no rate is above 1.
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
        "_index",
        "_least",
        "_net",
        "_outcomes",
        "_reaches",
        "_resting",
        "_rungs",
        "_summed",
        "_sunk",
        "_worst",
        "_worsts",
    )

    def __init__(
        self,
        rungs: Sequence[RungTerms],
        cash_flow_cents: Cents,
        holdings: Sequence[tuple[int, int]],
        lives: Iterable[OpenExposure] = (),
    ) -> None:
        """cash_flow_cents: of the event's fills and payouts so far, fees included. holdings: YES
        and NO shares per rung, in the order of `rungs`. Raises ValueError when those two differ
        in length.
        """
        if len(rungs) != len(holdings):
            raise ValueError(f"{len(rungs)} rungs with {len(holdings)} holdings")
        self._rungs = tuple(rungs)
        self._index = {rung.market_id: index for index, rung in enumerate(self._rungs)}
        self._net = [yes - no for yes, no in holdings]
        self._outcomes = _outcomes(cash_flow_cents, holdings)
        self._least = min(self._outcomes)
        self._cash = cash_flow_cents
        self._if_yes = [PAYOUT_CENTS * yes for yes, _ in holdings]  # each rung by itself
        self._if_no = [PAYOUT_CENTS * no for _, no in holdings]
        self._begin()
        for live in lives:
            self.add(live)

    def _begin(self) -> None:
        """Nothing is live."""
        self._bids = [0] * len(self._rungs)  # shares that may be bought, per rung
        self._asks = [0] * len(self._rungs)
        self._bid_loss = [0] * len(self._rungs)  # what they lose if the rung resolves NO
        self._ask_loss = [0] * len(self._rungs)  # and YES
        self._resting = 0
        self._summed = False
        self._gross = self._sunk = 0  # as `_sum` makes them, and of each rung:
        self._reaches: list[int] = []
        self._worsts: list[int] = []
        self._worst: list[int] | None = None

    def bare(self) -> "Exposure":
        """What is held alone, nothing live; the two share nothing that changes."""
        copy = Exposure.__new__(Exposure)
        copy._rungs, copy._index, copy._net = self._rungs, self._index, self._net
        copy._outcomes, copy._least, copy._cash = self._outcomes, self._least, self._cash
        copy._if_yes, copy._if_no = self._if_yes, self._if_no
        copy._begin()
        return copy

    @property
    def rung_count(self) -> int:
        """How many rungs there are; outcomes are one more."""
        return len(self._rungs)

    @property
    def outcome_cents(self) -> tuple[Cents, ...]:
        """Profit (or loss, below zero) in each of the n + 1 outcomes if nothing more fills."""
        return tuple(Cents(cents) for cents in self._outcomes)

    @property
    def worst_outcome_cents(self) -> tuple[Cents, ...]:
        """The same, if everything live that would hurt in that outcome fills."""
        return tuple(Cents(cents) for cents in self.worst_by_outcome())

    @property
    def worst_cents(self) -> Cents:
        """The least of `worst_outcome_cents`: below zero is a loss."""
        return Cents(min(self.worst_by_outcome()))

    def worst_by_outcome(self) -> list[int]:
        """`worst_outcome_cents` as a list that is kept: not to be changed by the caller."""
        if self._worst is None:
            hurt = hurt_by_outcome(self._bid_loss, self._ask_loss)
            self._worst = list(map(sub, self._outcomes, hurt))
        return self._worst

    @property
    def net_qty(self) -> int:
        """The largest |YES - NO| of all rungs together that fills of live orders can lead to."""
        net = sum(self._net)
        bought, sold = abs(net + sum(self._bids)), abs(net - sum(self._asks))
        return bought if bought > sold else sold

    @property
    def gross_qty(self) -> int:
        """The rungs' largest |YES - NO| added up."""
        self._sum()
        return self._gross

    @property
    def gross_cents(self) -> Cents:
        """What is lost (a gain is below zero) if every rung goes the worse way by itself, and every
        live order fills that makes it worse. Never less than the loss of the worst outcome."""
        self._sum()
        return Cents(-self._sunk)

    @property
    def resting_cents(self) -> Cents:
        """What everything live would lose if all of it filled and lost, both sides added up."""
        return Cents(self._resting)

    def is_within(self, bounds: Bounds) -> bool:
        """Whether every bound but the rungs' positions is kept (`position_room` has those)."""
        # No outcome loses more than all that is live together.
        ample = self._least - self._resting >= -bounds.loss_cents
        fits = ample or min(self.worst_by_outcome()) >= -bounds.loss_cents
        return fits and self.is_within_sums(bounds)

    def is_within_sums(self, bounds: Bounds) -> bool:
        """Whether the bounds that do not hang on the outcome are kept: net, gross and resting."""
        self._sum()
        return (
            self._resting <= bounds.resting_cents
            and self._gross <= bounds.gross_qty
            and -self._sunk <= bounds.gross_cents
            and self.net_qty <= bounds.net_qty
        )

    # --- what is live -----------------------------------------------------------------------------

    def add(self, live: OpenExposure) -> None:
        """Count an order as live. Raises KeyError for a market that is no rung of this event."""
        index, is_bid, loss = self._terms(live)
        self.count(index, live.qty_max, live.qty_max * loss, is_bid=is_bid)

    def remove(self, live: OpenExposure) -> None:
        """Take an order that was added out again."""
        index, is_bid, loss = self._terms(live)
        self.count(index, -live.qty_max, -live.qty_max * loss, is_bid=is_bid)

    def replace(self, before: Sequence[OpenExposure], after: Sequence[OpenExposure]) -> None:
        """Count `after` as live in the stead of what was added as `before`."""
        gone = list(before)
        for live in after:
            if live in gone:
                gone.remove(live)
            else:
                self.add(live)
        for live in gone:
            self.remove(live)

    def _terms(self, live: OpenExposure) -> tuple[int, bool, int]:
        """Rung, whether it is a bid, and the most that one share of it can lose."""
        index = self._index[live.market_id]
        price = canonical(live.outcome, live.price)
        is_bid = book_side(live.outcome, live.side) is _BID
        return index, is_bid, self.share_losses(index, is_bid=is_bid)[price]

    def index_of(self, market_id: MarketId) -> int:
        """The number of a rung. Raises KeyError for a market that is none of this event."""
        return self._index[market_id]

    def share_losses(self, index: int, *, is_bid: bool) -> tuple[int, ...]:
        """The most that one share bought or sold on a rung can lose, cents, by canonical price."""
        rung = self._rungs[index]
        return rung.bid_loss_cents if is_bid else rung.ask_loss_cents

    def count(self, index: int, qty: int, loss_cents: int, *, is_bid: bool) -> None:
        """Count so many more shares (below zero: fewer) as live on a side of a rung, of which all
        together can lose `loss_cents`."""
        if is_bid:
            self._bids[index] += qty
            self._bid_loss[index] += loss_cents
        else:
            self._asks[index] += qty
            self._ask_loss[index] += loss_cents
        self._resting += loss_cents
        self._counted_anew(index)

    def count_rung(self, index: int, bids: tuple[int, int], asks: tuple[int, int]) -> None:
        """Have this counted as live on a rung, and nothing else: of either side the shares, and
        what they can lose together."""
        self._resting -= self._bid_loss[index] + self._ask_loss[index]
        self._bids[index], self._bid_loss[index] = bids
        self._asks[index], self._ask_loss[index] = asks
        self._resting += bids[1] + asks[1]
        self._counted_anew(index)

    def _counted_anew(self, index: int) -> None:
        """Other orders than before are live on a rung: bring up to date what hangs on them."""
        self._worst = None
        if self._summed:
            reach, worst = self._reach(index), self._rung_worst(index)
            self._gross += reach - self._reaches[index]
            self._sunk += worst - self._worsts[index]
            self._reaches[index], self._worsts[index] = reach, worst

    def count_level(self, shares: Sequence[list[int]], losses: Sequence[list[int]]) -> None:
        """Count one more order on each side of each rung: shares, and what they can lose together,
        of the bids and of the asks, by rung; 0 for none."""
        self._bids = list(map(add, self._bids, shares[0]))
        self._asks = list(map(add, self._asks, shares[1]))
        self._bid_loss = list(map(add, self._bid_loss, losses[0]))
        self._ask_loss = list(map(add, self._ask_loss, losses[1]))
        self._resting += sum(losses[0]) + sum(losses[1])
        self._summed = False
        self._worst = None

    def _sum(self) -> None:
        """Have the sums over the rungs: from when they are asked for first `count` keeps them.
        Added up for each decision they cost 60 us of 400 at forty rungs (bench/deciding.py)."""
        if not self._summed:
            rungs = range(len(self._rungs))
            self._reaches = list(map(self._reach, rungs))
            self._worsts = list(map(self._rung_worst, rungs))
            self._gross = sum(self._reaches)
            self._sunk = self._cash + sum(self._worsts)
            self._summed = True

    def _reach(self, index: int) -> int:
        """The largest |YES - NO| of a rung that fills of live orders can lead to."""
        net = self._net[index]
        bought, sold = abs(net + self._bids[index]), abs(net - self._asks[index])
        return bought if bought > sold else sold

    def _rung_worst(self, index: int) -> int:
        """What a rung by itself leaves in the worse of its two outcomes, its cash left out."""
        if_yes = self._if_yes[index] - self._ask_loss[index]
        if_no = self._if_no[index] - self._bid_loss[index]
        return if_yes if if_yes < if_no else if_no

    # --- room -------------------------------------------------------------------------------------

    def largest(self, candidate: OpenExposure, bounds: Bounds) -> Qty:
        """The largest size, up to the candidate's, that every bound admits; 0 when none.

        The candidate itself is not to be added yet. Where a bound is passed already, nothing fits
        that passes it by its own side alone; what brings us back always fits.
        """
        index, is_bid, loss = self._terms(candidate)
        largest = self.largest_of(index, loss, bounds, is_bid=is_bid)
        return Qty(max(0, min(candidate.qty_max, largest)))

    def largest_of(self, index: int, loss: int, bounds: Bounds, *, is_bid: bool) -> int:
        """As `largest`, without a size of its own; below 1 when nothing fits."""
        return min(
            self._loss_room(index, is_bid, loss, bounds.loss_cents),
            self._position_room(index, is_bid, bounds.position_qty),
            self.net_room(bounds.net_qty, is_bid=is_bid),
            self.gross_room(index, bounds.gross_qty, is_bid=is_bid),
            self.gross_loss_room(index, loss, bounds.gross_cents, is_bid=is_bid),
            (bounds.resting_cents - self._resting) // loss,
        )

    def room(self, candidate: OpenExposure, loss_limit_cents: Cents) -> Qty:
        """The largest size, up to the candidate's, that keeps the worst case within the limit.

        loss_limit_cents: >= 0; the candidate itself is not to be added yet. Where an outcome is
        beyond the limit already, nothing fits that would deepen it.
        """
        index, is_bid, loss = self._terms(candidate)
        room = self._loss_room(index, is_bid, loss, loss_limit_cents)
        return Qty(max(0, min(candidate.qty_max, room)))

    def _loss_room(self, index: int, is_bid: bool, loss: int, loss_limit_cents: int) -> int:
        worst = self.worst_by_outcome()
        hurting = worst[: index + 1] if is_bid else worst[index + 1 :]
        return (min(hurting) + loss_limit_cents) // loss

    def position_room(self, candidate: OpenExposure, limit_qty: Qty) -> Qty:
        """The largest size, up to the candidate's, that keeps |YES - NO| of its rung within the
        limit even when every live order on its side fills first. Cutting holdings back always fits.
        """
        index, is_bid, _ = self._terms(candidate)
        room = self._position_room(index, is_bid, limit_qty)
        return Qty(max(0, min(candidate.qty_max, room)))

    def _position_room(self, index: int, is_bid: bool, limit_qty: int) -> int:
        if is_bid:
            return limit_qty - self._net[index] - self._bids[index]
        return limit_qty + self._net[index] - self._asks[index]

    def position_room_of(self, index: int, limit_qty: int, *, is_bid: bool) -> int:
        """As `position_room`, without a size of its own; below 1 when nothing fits."""
        return self._position_room(index, is_bid, limit_qty)

    def net_room(self, limit_qty: int, *, is_bid: bool) -> int:
        """Shares that one side of all rungs together still has room for; may be below zero."""
        if is_bid:
            return limit_qty - sum(self._net) - sum(self._bids)
        return limit_qty + sum(self._net) - sum(self._asks)

    def gross_room(self, index: int, limit_qty: int, *, is_bid: bool) -> int:
        """Shares that `gross_qty` still has room for on a side of a rung; below 1 when none."""
        # Past the limit the other side's reach is no licence: it may have filled unseen, or go.
        reach = max(0, self._reach(index) + limit_qty - self.gross_qty)
        return self._position_room(index, is_bid, reach)

    def gross_loss_room(self, index: int, loss: int, limit_cents: int, *, is_bid: bool) -> int:
        """As `gross_room`, of `gross_cents`: shares that can lose `loss` cents each."""
        better = self._better(index, is_bid=is_bid)
        slack = limit_cents - self.gross_cents
        room = (better + slack) // loss
        if slack < 0:  # past the limit what works a position off fits all the same
            room = max(room, min(better // loss, self._position_room(index, is_bid, 0)))
        return room

    def _better(self, index: int, *, is_bid: bool) -> int:
        """Cents by which the outcome that hurts a side of a rung is better than its worse one."""
        held, loss = (self._if_no, self._bid_loss) if is_bid else (self._if_yes, self._ask_loss)
        return held[index] - loss[index] - self._rung_worst(index)

    def gross_growth(self, index: int, qty: int, *, is_bid: bool) -> int:
        """By how many shares `qty` more on one side of a rung would raise `gross_qty`."""
        moved = self._bids[index] + qty if is_bid else -self._asks[index] - qty
        return max(0, abs(self._net[index] + moved) - self._reach(index))

    def gross_loss_growth(self, index: int, loss_cents: int, *, is_bid: bool) -> int:
        """By how much shares that can lose `loss_cents` would raise `gross_cents`."""
        return max(0, loss_cents - self._better(index, is_bid=is_bid))


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
