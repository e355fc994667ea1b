"""The exact worst case of an event, and the cutting of wanted quotes to hard limits.

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

Source: strategy, 1(g); reliability, rows 55, 75, 78, B3; design, The bot, item 4.
"""

import enum
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from bot.core.settings import RiskSettings
from bot.core.strategy import Quote, Quotes
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


class Live(msgspec.Struct, frozen=True):
    """An order that may be live: resting, in flight, unknown, or wished for.

    price: cents of the order's own outcome, the worst it may trade at. qty_max: all that may fill.
    """

    market_id: MarketId
    outcome: Outcome
    side: Side
    price: Price
    qty_max: Qty


def live_of(market_id: MarketId, quote: Quote) -> Live:
    """A wanted quote as the order it would be, by the YES route; the other route costs the same."""
    side = Side.BUY if quote.side is BookSide.BID else Side.SELL
    return Live(market_id, Outcome.YES, side, quote.price, quote.qty)


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
        "_index",
        "_net",
        "_outcomes",
        "_rungs",
    )

    def __init__(
        self,
        rungs: Sequence[RungTerms],
        cash_flow_cents: Cents,
        holdings: Sequence[tuple[int, int]],
        lives: Iterable[Live] = (),
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
        self._bids = [0] * len(self._rungs)  # shares that may be bought, per rung
        self._asks = [0] * len(self._rungs)
        self._bid_loss = [0] * len(self._rungs)  # what they lose if the rung resolves NO
        self._ask_loss = [0] * len(self._rungs)  # and YES
        for live in lives:
            self.add(live)

    @property
    def outcome_cents(self) -> tuple[Cents, ...]:
        """Profit (or loss, below zero) in each of the n + 1 outcomes if nothing more fills."""
        return tuple(Cents(cents) for cents in self._outcomes)

    @property
    def worst_outcome_cents(self) -> tuple[Cents, ...]:
        """The same, if everything live that would hurt in that outcome fills."""
        return tuple(Cents(cents) for cents in self._worst_by_outcome())

    @property
    def worst_cents(self) -> Cents:
        """The least of `worst_outcome_cents`: below zero is a loss."""
        return Cents(min(self._worst_by_outcome()))

    def _worst_by_outcome(self) -> list[int]:
        hurt = _hurt_by_outcome(self._bid_loss, self._ask_loss)
        return [outcome - loss for outcome, loss in zip(self._outcomes, hurt, strict=True)]

    def add(self, live: Live) -> None:
        """Count an order as live. Raises KeyError for a market that is no rung of this event."""
        index, is_bid, loss = self._terms(live)
        self._count(index, is_bid, loss, live.qty_max)

    def remove(self, live: Live) -> None:
        """Take an order that was added out again."""
        index, is_bid, loss = self._terms(live)
        self._count(index, is_bid, loss, -live.qty_max)

    def _terms(self, live: Live) -> tuple[int, bool, int]:
        """Rung, whether it is a bid, and the most that one share of it can lose."""
        index = self._index[live.market_id]
        price = canonical(live.outcome, live.price)
        is_bid = book_side(live.outcome, live.side) is BookSide.BID
        return index, is_bid, self._share_loss(index, is_bid, price)

    def _share_loss(self, index: int, is_bid: bool, price: Price) -> int:
        rung = self._rungs[index]
        return rung.bid_loss_cents[price] if is_bid else rung.ask_loss_cents[price]

    def _count(self, index: int, is_bid: bool, loss: int, qty: int) -> None:
        if is_bid:
            self._bids[index] += qty
            self._bid_loss[index] += qty * loss
        else:
            self._asks[index] += qty
            self._ask_loss[index] += qty * loss

    def room(self, candidate: Live, loss_limit_cents: Cents) -> Qty:
        """The largest size, up to the candidate's, that keeps the worst case within the limit.

        loss_limit_cents: >= 0; the candidate itself is not to be added yet. Where an outcome is
        beyond the limit already, nothing fits that would deepen it.
        """
        index, is_bid, loss = self._terms(candidate)
        room = self._loss_room(index, is_bid, loss, loss_limit_cents)
        return Qty(max(0, min(candidate.qty_max, room)))

    def _loss_room(self, index: int, is_bid: bool, loss: int, loss_limit_cents: int) -> int:
        worst = self._worst_by_outcome()
        hurting = worst[: index + 1] if is_bid else worst[index + 1 :]
        return (min(hurting) + loss_limit_cents) // loss

    def position_room(self, candidate: Live, limit_qty: Qty) -> Qty:
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

    def largest_position(self, market_id: MarketId) -> int:
        """The largest |YES - NO| of a rung that fills of live orders can lead to."""
        index = self._index[market_id]
        up = self._net[index] + self._bids[index]
        down = self._net[index] - self._asks[index]
        return max(abs(up), abs(down))


def _outcomes(cash_flow_cents: int, holdings: Sequence[tuple[int, int]]) -> list[int]:
    """W(b) of every outcome: cash, YES shares of the rungs below b, NO shares of the others."""
    total = cash_flow_cents + PAYOUT_CENTS * sum(no for _, no in holdings)
    out = [total]
    for yes, no in holdings:
        total += PAYOUT_CENTS * (yes - no)
        out.append(total)
    return out


def _hurt_by_outcome(bid_loss: list[int], ask_loss: list[int]) -> list[int]:
    """What all live orders together lose in each outcome: asks of the rungs below, bids of the
    others."""
    hurt = sum(bid_loss)
    out = [hurt]
    for if_no, if_yes in zip(bid_loss, ask_loss, strict=True):
        hurt += if_yes - if_no
        out.append(hurt)
    return out


# --- cutting wanted quotes ------------------------------------------------------------------------


class CutReason(enum.StrEnum):
    """The limit that a quote was cut to."""

    ORDER_QTY = "order_qty"
    RUNG_POSITION = "rung_position"
    EVENT_LOSS = "event_loss"


class Cut(msgspec.Struct, frozen=True):
    """A quote made smaller: from `wanted` to `allowed` shares (0: left out), and why."""

    market_id: MarketId
    side: BookSide
    price: Price
    wanted: Qty
    allowed: Qty
    reason: CutReason


_EIGHTHS: Final = 8


class _Wish:
    """A quote on its way through the limits: `size` is what is left of it, `reason` why; `capped`
    is what its caps leave of it, whatever the others want."""

    __slots__ = ("capped", "index", "is_bid", "loss", "market_id", "quote", "reason", "size")

    def __init__(self, market_id: MarketId, quote: Quote, index: int, loss: int) -> None:
        self.market_id = market_id
        self.quote = quote
        self.index = index
        self.is_bid = quote.side is BookSide.BID
        self.loss = loss
        self.size: int = quote.qty
        self.capped: int = quote.qty
        self.reason: CutReason | None = None


def fits_surely(
    quotes: Quotes, held: Exposure, limits: RiskSettings, loss_limit_cents: Cents
) -> bool:
    """Whether no limit could cut anything, at a glance: no share can lose more than its payout.

    False says nothing; `cut` then looks closely. held: the exposure of the holdings alone.
    """
    shares = 0
    for market_id, wanted in quotes.items():
        rung_shares = 0
        for quote in wanted:
            if quote.qty > limits.order_qty:
                return False
            rung_shares += quote.qty
        if held.largest_position(market_id) + rung_shares > limits.rung_position_qty:
            return False
        shares += rung_shares
    return PAYOUT_CENTS * shares <= held.worst_cents + loss_limit_cents


def cut(
    quotes: Quotes, held: Exposure, limits: RiskSettings, loss_limit_cents: Cents
) -> tuple[dict[MarketId, tuple[Quote, ...]], list[Cut]]:
    """Wanted quotes within the limits, as if they were the only live orders; and what was cut.

    held: the exposure of the holdings alone; afterwards it counts what stands as live.
    loss_limit_cents: the event's, or what the series leaves it if that is less
    (`event_limit_cents`). Levels are served in turn, the best of every rung and side before any
    second one. A quote cut for several reasons is listed once, with the last of order size, rung
    position, event loss. Raises KeyError for a market that is no rung of the event.
    """
    levels = _by_level(quotes, held)
    cuts: list[Cut] = []
    for wishes in levels:
        for wish in wishes:
            _cap(wish, held, limits)
        _share_room(wishes, held, loss_limit_cents)
        for wish in wishes:
            if wish.reason is not None:
                at = wish.quote
                size = Qty(wish.size)
                cuts.append(Cut(wish.market_id, at.side, at.price, at.qty, size, wish.reason))
    if not cuts:
        return dict(quotes), cuts
    return _kept(quotes, cuts), cuts


def _cap(wish: _Wish, exposure: Exposure, limits: RiskSettings) -> None:
    """Bring a wish within the caps of order size and rung position."""
    if wish.size > limits.order_qty:
        wish.size, wish.reason = limits.order_qty, CutReason.ORDER_QTY
    room = exposure._position_room(wish.index, wish.is_bid, limits.rung_position_qty)
    if wish.size > room:
        wish.size, wish.reason = max(0, room), CutReason.RUNG_POSITION
    wish.capped = wish.size


def _share_room(wishes: list[_Wish], exposure: Exposure, loss_limit_cents: int) -> None:
    """Bring one level of wishes within the loss limit together, and count what stands as live.

    In each outcome the room is shared in proportion to what each wish would lose there, so every
    rung keeps some of its quotes when not all fit. The part is a whole number of eighths, so that
    a tick on one rung does not resize every other; where it comes to less than one share, one
    share stands if there is room for it.
    """
    rungs = range(len(exposure._rungs))
    bid_loss, ask_loss = [0 for _ in rungs], [0 for _ in rungs]
    for wish in wishes:
        (bid_loss if wish.is_bid else ask_loss)[wish.index] += wish.size * wish.loss
    parts = [
        _EIGHTHS if loss == 0 else (outcome + loss_limit_cents) * _EIGHTHS // loss
        for outcome, loss in zip(
            exposure._worst_by_outcome(), _hurt_by_outcome(bid_loss, ask_loss), strict=True
        )
    ]
    if min(parts) < _EIGHTHS:
        for wish in wishes:
            hurting = parts[: wish.index + 1] if wish.is_bid else parts[wish.index + 1 :]
            part = max(0, min(_EIGHTHS, *hurting))
            wish.size = wish.size * part // _EIGHTHS
    for wish in wishes:
        exposure._count(wish.index, wish.is_bid, wish.loss, wish.size)
    for wish in wishes:
        if wish.size == 0 < wish.capped:
            room = exposure._loss_room(wish.index, wish.is_bid, wish.loss, loss_limit_cents)
            if room > 0:
                wish.size = 1
                exposure._count(wish.index, wish.is_bid, wish.loss, 1)
        if wish.size < wish.capped:
            wish.reason = CutReason.EVENT_LOSS


def _kept(quotes: Quotes, cuts: list[Cut]) -> dict[MarketId, tuple[Quote, ...]]:
    """The quotes with the cuts carried out; emptied ones are left out."""
    by_quote = {(each.market_id, each.side, each.price): each.allowed for each in cuts}
    out: dict[MarketId, tuple[Quote, ...]] = {}
    for market_id, wanted in quotes.items():
        sized = [
            (quote, by_quote.get((market_id, quote.side, quote.price), quote.qty))
            for quote in wanted
        ]
        out[market_id] = tuple(Quote(at.side, at.price, size) for at, size in sized if size > 0)
    return out


def _by_level(quotes: Quotes, exposure: Exposure) -> list[list[_Wish]]:
    """The quotes of each level, best first: every rung's best bid and ask, then the second, ..."""
    levels: list[list[_Wish]] = []
    for market_id, wanted in quotes.items():
        index = exposure._index[market_id]
        bids: list[_Wish] = []
        asks: list[_Wish] = []
        for quote in wanted:
            is_bid = quote.side is BookSide.BID
            loss = exposure._share_loss(index, is_bid, quote.price)
            (bids if is_bid else asks).append(_Wish(market_id, quote, index, loss))
        bids.sort(key=_price, reverse=True)
        asks.sort(key=_price)
        for side in (bids, asks):
            for depth, wish in enumerate(side):
                if depth == len(levels):
                    levels.append([])
                levels[depth].append(wish)
    return levels


def _price(wish: _Wish) -> Price:
    return wish.quote.price


# --- several events -------------------------------------------------------------------------------


def loss_cents(worst_cents: Cents) -> Cents:
    """A worst case as a loss of 0 or more."""
    return Cents(max(0, -worst_cents))


def series_loss_cents(worst_by_event: Iterable[Cents]) -> Cents:
    """The worst case of a series: its events' losses added up, gains of one not set against
    losses of another."""
    return Cents(sum(loss_cents(worst) for worst in worst_by_event))


def event_limit_cents(limits: RiskSettings, others_loss_cents: Cents) -> Cents:
    """What an event may lose: its own limit, or what the other events leave of the series' limit
    if that is less; never below zero."""
    left = limits.series_loss_cents - others_loss_cents
    return Cents(max(0, min(limits.event_loss_cents, left)))
