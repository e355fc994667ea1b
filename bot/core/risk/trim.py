"""Cuts the wanted quotes of one event to the hard limits, before planning.

Wanted quotes are held to the limits as if they were the only live orders; what may leave is checked
once more against everything that may be live. Where not all fit, the room is shared, level by
level, the best of every rung and side before any second one: of the loss limit all may use the same
cents, so that a share at 98 cents does not crowd out many at a few; of the others all get the same
part of the shares that use them up.

Most decisions move one rung: the result for a rung is cached while its quotes are the same (the
same object is fastest).
"""

import enum
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul
from typing import Final

import msgspec

from bot.core.risk.exposure import Bounds, Exposure, Rooms, hurt_by_outcome
from bot.core.settings import RiskSettings
from bot.strategy.api import Quote, Resting
from venue.wire.money import BookSide, Cents, Price, Qty
from venue.wire.names import MarketId

_BID: Final = BookSide.BID

_EIGHTHS: Final = 8
"""A quote gets whole eighths of its size, so that a tick on one rung does not resize all others."""

_AMPLE: Final = 10**18
"""Cents of room where an outcome bounds nothing."""


class TrimReason(enum.StrEnum):
    """The limit that a quote was cut to."""

    ORDER_QTY = "order_qty"
    RUNG_POSITION = "rung_position"
    EVENT_LOSS = "event_loss"
    EVENT_NET = "event_net"
    EVENT_GROSS = "event_gross"
    RESTING = "resting"


class Trim(msgspec.Struct, frozen=True):
    """A quote made smaller: from `wanted` to `allowed` shares (0: left out), and why."""

    market_id: MarketId
    side: BookSide
    price: Price
    wanted: Qty
    allowed: Qty
    reason: TrimReason


class MarketLimits(msgspec.Struct):
    """The quotes of one rung within the limits of order size and rung position, by itself.

    The rows of `caps` and `losses` are even for bids and odd for asks, the best first; 0 where
    there is no quote.
    """

    quotes: tuple[Quote, ...]
    index: int  # of the rung
    rows: list[int]  # of each quote
    caps: list[int]  # shares that order size and rung position leave, by row
    losses: list[int]  # the most that one share can lose, by row
    full: tuple[Quote, ...]  # the quotes of these sizes
    sizes: Sequence[int]  # by row, after the last sharing
    left: tuple[Quote, ...]  # the quotes of those sizes

    def resize(self, sizes: Sequence[int]) -> None:
        """Take over these sizes, by row; `left` is the same object while they are the same."""
        if sizes != self.sizes:
            self.sizes = sizes
            self.left = _sized(self.quotes, self.rows, sizes)


_KNOWN_MAX: Final = 512
"""Quotes of rungs whose limits are kept, for one event."""


def _limited(
    quotes: tuple[Quote, ...], index: int, held: Exposure, limits: RiskSettings
) -> MarketLimits:
    """The quotes of one rung within the limits of order size and rung position, best first. held:
    with nothing live."""
    bids: list[tuple[int, int]] = []
    asks: list[tuple[int, int]] = []
    for place, quote in enumerate(quotes):
        if quote.side is _BID:
            bids.append((-quote.price, place))
        else:
            asks.append((quote.price, place))
    count = 2 * max(len(bids), len(asks))
    rows, caps, losses = [0] * len(quotes), [0] * count, [0] * count
    for first, side in ((0, bids), (1, asks)):
        if not side:
            continue
        side.sort()
        terms = held.rungs[index]
        share_losses = terms.ask_loss_cents if first else terms.bid_loss_cents
        room = limits.rung_position_qty + (held.net[index] if first else -held.net[index])
        for row, (_, place) in zip(range(first, count, 2), side, strict=False):
            quote = quotes[place]
            rows[place] = row
            losses[row] = share_losses[quote.price]
            caps[row] = max(0, min(quote.qty, limits.order_qty, room))
            room -= caps[row]
    full = _sized(quotes, rows, caps)
    return MarketLimits(quotes, index, rows, caps, losses, full, tuple(caps), full)


def _sized(quotes: tuple[Quote, ...], rows: list[int], sizes: Sequence[int]) -> tuple[Quote, ...]:
    """The quotes with these sizes by row; `quotes` itself where they have them."""
    wanted = [sizes[row] for row in rows]
    if wanted == [quote.qty for quote in quotes]:
        return quotes
    return tuple(
        quote if size == quote.qty else msgspec.structs.replace(quote, qty=Qty(size))
        for quote, size in zip(quotes, wanted, strict=True)
        if size > 0
    )


class QuoteTrimmer:
    """Trims the quotes of one event; caches the result for those that do not change."""

    def __init__(self, limits: RiskSettings) -> None:
        """limits: those in force; what of them is the event's alone comes with each call."""
        self._limits = limits
        self._held: Exposure | None = None
        self._bounds: Bounds | None = None
        self._quotes: Resting | None = None
        self._markets: dict[MarketId, MarketLimits] = {}
        self._known: dict[tuple[int, tuple[Quote, ...]], MarketLimits] = {}
        """By rung and quotes, for prices swing between a few values: limits and wanted quotes took
        2.0 times as long as the strategy without it, 1.7 with it (bench/deciding.py)."""
        self._left: dict[MarketId, tuple[Quote, ...]] = {}
        self._is_shared = False
        self._counted: Exposure | None = None
        self._reasons: dict[tuple[int, int], TrimReason] = {}

    def trim(
        self, quotes: Resting, held: Exposure, bounds: Bounds
    ) -> dict[MarketId, tuple[Quote, ...]]:
        """The quotes within every limit, not to be changed by the caller. A rung with the same
        quotes as last time has the same tuple; one whose quotes are all gone has none.

        quotes: the same mapping as last time, or another; never changed later. held: the exposure
        of the inventory; orders in it are ignored. Raises KeyError for a market that is no
        rung of the event.
        """
        if held is not self._held:
            self._held = held
            self._bare, self._full = held.bare(), held.bare()
            self._markets = {}
            self._known.clear()
            self._bounds = self._quotes = None
        markets = self._markets
        changed: list[MarketId] | None = []  # None: of another rung there are no quotes any more
        if quotes is not self._quotes:
            changed = []
            for market_id, wanted in quotes.items():
                market = markets.get(market_id)
                if market is None or (market.quotes is not wanted and market.quotes != wanted):
                    index = self._bare.index[market_id]
                    market = markets[market_id] = self._market(index, wanted)
                    bids, bid_losses = market.caps[::2], market.losses[::2]
                    asks, ask_losses = market.caps[1::2], market.losses[1::2]
                    self._full.set_rung(
                        index,
                        (sum(bids), sum(map(mul, bids, bid_losses))),
                        (sum(asks), sum(map(mul, asks, ask_losses))),
                    )
                    changed.append(market_id)
            if len(markets) > len(quotes):
                for market_id in [key for key in markets if key not in quotes]:
                    self._full.set_rung(markets.pop(market_id).index, (0, 0), (0, 0))
                changed = None
            self._quotes = quotes
        is_bounded = bounds is self._bounds or bounds == self._bounds
        if is_bounded and changed == []:
            return self._left
        was_whole = self._bounds is not None and not self._is_shared
        self._bounds = bounds
        self._is_shared = not self._full.is_within(bounds)
        if self._is_shared:
            self._share(bounds)
            self._left = {key: market.left for key, market in markets.items()}
            return self._left
        self._counted = self._full
        if was_whole and changed is not None:
            self._left = self._left | {key: markets[key].full for key in changed}
        else:
            self._left = {key: market.full for key, market in markets.items()}
        return self._left

    def _market(self, index: int, quotes: tuple[Quote, ...]) -> MarketLimits:
        market = self._known.get((index, quotes))
        if market is None:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            market = _limited(quotes, index, self._bare, self._limits)
            self._known[index, quotes] = market
        return market

    def gains_by(self, loss_cents: Cents, resting_cents: Cents) -> bool:
        """True if the event loss or resting limit trimmed the last quotes, this is more of it, and
        the other is not so much lower that it would trim them instead.

        Where all that is wanted comes to too many shares, or costs too much, more to lose is no
        gain: the quotes that use those up are then shared again, and may get less.
        """
        if not self._is_shared or self._bounds is None:
            return False
        was, loses, rests = self._bounds, -self._full.worst_cents, self._full.resting_cents
        if min(loses, was.loss_cents) > loss_cents or min(rests, was.resting_cents) > resting_cents:
            return False
        if loss_cents > was.loss_cents < loses:
            return self._full.is_within_sums(msgspec.structs.replace(was, resting_cents=rests))
        return resting_cents > was.resting_cents < rests

    @property
    def resting_cents(self) -> Cents:
        """The loss of all quotes left by the last trim, both sides added up."""
        return Cents(0) if self._counted is None else self._counted.resting_cents

    @property
    def worst_cents(self) -> Cents:
        """The worst case with the quotes left by the last trim: below zero is a loss."""
        return Cents(0) if self._counted is None else self._counted.worst_cents

    @property
    def trims(self) -> tuple[Trim, ...]:
        """The trims of the last call, and why. A quote trimmed for several reasons is listed
        once: with what the sharing was short of, else rung position, else order size."""
        found = []
        for market_id, market in self._markets.items():
            sizes = market.sizes if self._is_shared else market.caps
            for quote, row in zip(market.quotes, market.rows, strict=True):
                if sizes[row] < quote.qty:
                    size, reason = Qty(sizes[row]), self._reason(market, row, quote)
                    found.append(Trim(market_id, quote.side, quote.price, quote.qty, size, reason))
        return tuple(found)

    def _reason(self, market: MarketLimits, row: int, quote: Quote) -> TrimReason:
        if self._is_shared and market.sizes[row] < market.caps[row]:
            return self._reasons.get((row, market.index), TrimReason.EVENT_LOSS)
        by_size = market.caps[row] == min(quote.qty, self._limits.order_qty)
        return TrimReason.ORDER_QTY if by_size else TrimReason.RUNG_POSITION

    # --- sharing ----------------------------------------------------------------------------------

    def _by_row(self) -> tuple[list[list[int]], list[list[int]]]:
        """Caps and losses of the markets by row and rung; 0 where there is no quote."""
        rows = max((len(market.caps) for market in self._markets.values()), default=0)
        caps = [[0] * self._bare.rung_count for _ in range(rows)]
        losses = [[0] * self._bare.rung_count for _ in range(rows)]
        for market in self._markets.values():
            for row, (cap, loss) in enumerate(zip(market.caps, market.losses, strict=True)):
                caps[row][market.index], losses[row][market.index] = cap, loss
        return caps, losses

    def _share(self, bounds: Bounds) -> None:
        """Bring the quotes within the bounds together, level by level.

        Of the loss limit every quote that would use it up may use the same cents, of each other
        bound the same part of its size; both in whole eighths of the size, so every rung keeps some
        of its quotes when not all fit. Where that is less than a share, one share stays if it fits.
        """
        caps, losses = self._by_row()
        work = self._bare.bare()
        # Smaller sizes never make one of the sums larger: if all of it fits there, so does a part.
        sums_fit = self._full.is_within_sums(bounds)
        self._reasons = {}
        sizes: list[list[int]] = []
        for row in range(0, len(caps), 2):
            level = _LevelUnderTrim(caps[row : row + 2], losses[row : row + 2], work, bounds)
            level.share_loss()
            if not sums_fit:
                for index, is_bid, reason in level.share_sums():
                    self._reasons[row + (not is_bid), index] = reason
            level.count(sums_fit=sums_fit)
            sizes += level.sizes
        self._counted = work
        columns = list(zip(*sizes, strict=True))
        for market in self._markets.values():
            market.resize(columns[market.index][: len(market.caps)] if columns else ())


class _LevelUnderTrim:
    """One level of every rung on its way through the bounds.

    sizes: of the bids and of the asks, by rung. work: the inventory and the
    better levels; `count` adds this one.
    """

    def __init__(
        self, caps: list[list[int]], losses: list[list[int]], work: Exposure, bounds: Bounds
    ) -> None:
        self.sizes = [caps[0][:], caps[1][:]]
        self._caps = caps
        self._losses = losses
        self._work = work
        self._bounds = bounds

    def _used(self) -> tuple[list[int], list[int]]:
        """The worst loss of the bids, and of the asks, of each rung."""
        (bids, asks), (bid_losses, ask_losses) = self.sizes, self._losses
        return list(map(mul, bids, bid_losses)), list(map(mul, asks, ask_losses))

    def share_loss(self) -> None:
        """Come within the loss limit of every outcome."""
        limit = self._bounds.loss_cents
        bids, asks = used = self._used()
        most = []
        # A bid loses in the outcomes up to its rung, an ask in those above it.
        for outcome, (kept, loss) in enumerate(
            zip(self._work.worst_by_outcome(), hurt_by_outcome(bids, asks), strict=True)
        ):
            room = kept + limit
            fits = loss <= room or not loss
            most.append(_AMPLE if fits else _equal(room, bids[outcome:] + asks[:outcome]))
        if min(most) == _AMPLE:
            return
        for side, room_of in enumerate((_up_to(most), _above(most))):
            self.sizes[side] = [
                size * _part(room, use) // _EIGHTHS if use else size
                for size, room, use in zip(self.sizes[side], room_of, used[side], strict=True)
            ]

    def share_sums(self) -> list[tuple[int, bool, TrimReason]]:
        """Come within the bounds that are the same in every outcome, one after the other. Returns
        the trimmed quotes: rung, True for a bid, and why.

        The part of a quote that works a position off uses up nothing of a gross bound, and stays
        whole. The other shares use up at least in proportion, so the same part of all of them is
        enough.
        """
        work, bounds = self._work, self._bounds
        trimmed: list[tuple[int, bool, TrimReason]] = []
        for side, is_bid in enumerate((True, False)):
            uses = [[0] * work.rung_count, [0] * work.rung_count]
            uses[side] = self.sizes[side]
            room = work.side_rooms(0, 1, bounds, is_bid=is_bid).net_qty
            trimmed += self._share_use(uses, room, TrimReason.EVENT_NET)
        return [*trimmed, *self._share_gross(), *self._share_gross_loss(), *self._share_resting()]

    def _share_gross(self) -> list[tuple[int, bool, TrimReason]]:
        work, limit = self._work, self._bounds.gross_qty
        if work.gross_qty > limit:
            return self._fit_apart(lambda rooms: rooms.gross_qty)
        uses = [
            [work.gross_growth(rung, size, is_bid=is_bid) for rung, size in enumerate(sizes)]
            for is_bid, sizes in zip((True, False), self.sizes, strict=True)
        ]
        return self._share_use(uses, limit - work.gross_qty, TrimReason.EVENT_GROSS)

    def _share_gross_loss(self) -> list[tuple[int, bool, TrimReason]]:
        work, limit = self._work, self._bounds.gross_cents
        if work.gross_cents > limit:
            return self._fit_apart(lambda rooms: rooms.gross_cents)
        uses = [
            [work.gross_loss_growth(rung, loss, is_bid=is_bid) for rung, loss in enumerate(used)]
            for is_bid, used in zip((True, False), self._used(), strict=True)
        ]
        return self._share_use(uses, limit - work.gross_cents, TrimReason.EVENT_GROSS, self._losses)

    def _share_resting(self) -> list[tuple[int, bool, TrimReason]]:
        room = self._bounds.resting_cents - self._work.resting_cents
        return self._share_use(list(self._used()), room, TrimReason.RESTING, self._losses)

    def _fit_apart(self, room_of: Callable[[Rooms], int]) -> list[tuple[int, bool, TrimReason]]:
        """Give every quote its own room in a gross bound that is passed already: what fits there
        uses up nothing of it (`Exposure.largest`), so there is nothing to share."""
        trimmed = []
        for side, sizes in enumerate(self.sizes):
            for rung, size in enumerate(sizes):
                if not size:
                    continue
                loss = self._losses[side][rung]
                rooms = self._work.side_rooms(rung, loss, self._bounds, is_bid=side == 0)
                room = max(0, room_of(rooms))
                if room < size:
                    sizes[rung] = room
                    trimmed.append((rung, side == 0, TrimReason.EVENT_GROSS))
        return trimmed

    def _share_use(
        self,
        uses: list[list[int]],
        room: int,
        reason: TrimReason,
        losses: list[list[int]] | None = None,
    ) -> list[tuple[int, bool, TrimReason]]:
        """Give every quote that uses up something of a bound the same part of the shares that do.
        losses: cents of each share, where the uses are cents; None where they are shares."""
        wanted = sum(map(sum, uses))
        if wanted <= max(0, room):
            return []
        part = _part(room, wanted)
        trimmed = []
        for side, sizes in enumerate(self.sizes):
            for rung, use in enumerate(uses[side]):
                if use:
                    using = use if losses is None else -(-use // losses[side][rung])
                    sizes[rung] -= using - using * part // _EIGHTHS
                    trimmed.append((rung, side == 0, reason))
        return trimmed

    def count(self, *, sums_fit: bool) -> None:
        """Count the sizes, and one share of each quote that came to nothing, while it fits.

        sums_fit: True if the bounds that are the same in every outcome hold for any sizes.
        """
        work = self._work
        if not sums_fit:
            work.add_level(self.sizes, self._used())
        left = self._left(counted=not sums_fit)
        for side, is_bid in enumerate((True, False)):
            sizes, losses = self.sizes[side], self._losses[side]
            for rung, cap in enumerate(self._caps[side]):
                if sizes[rung] or not cap:
                    continue
                loss = losses[rung]
                hurts = slice(0, rung + 1) if is_bid else slice(rung + 1, None)
                if min(left[hurts]) < loss:
                    continue
                if not sums_fit:
                    if min(work.side_rooms(rung, loss, self._bounds, is_bid=is_bid)) < 1:
                        continue
                    work.add_shares(rung, 1, loss, is_bid=is_bid)
                sizes[rung] = 1
                left[hurts] = [cents - loss for cents in left[hurts]]
        if sums_fit:
            work.add_level(self.sizes, self._used())

    def _left(self, *, counted: bool) -> list[int]:
        """The room of the loss limit in each outcome with these sizes; counted: they are in
        `work` already."""
        limit = self._bounds.loss_cents
        if counted:
            return [cents + limit for cents in self._work.worst_by_outcome()]
        hurt = hurt_by_outcome(*self._used())
        return [
            cents + limit - loss
            for cents, loss in zip(self._work.worst_by_outcome(), hurt, strict=True)
        ]


def _up_to(by_outcome: list[int]) -> list[int]:
    """Of each rung the least over the outcomes in which it resolves NO."""
    return list(accumulate(by_outcome[:-1], min))


def _above(by_outcome: list[int]) -> list[int]:
    """Of each rung the least over the outcomes in which it resolves YES."""
    return list(accumulate(by_outcome[:0:-1], min))[::-1]


def _equal(room: int, uses: list[int]) -> int:
    """The cents that each of these uses may come to at most, so that together they fit the room:
    what one does not need is left to the others. 0 without room; together they need more."""
    waiting = len(uses)
    for use in sorted(uses):
        if use * waiting > room:
            break
        room -= use
        waiting -= 1
    return max(0, room) // waiting


def _part(room: int, use: int) -> int:
    """The eighths of `use` > 0 that fit into the room."""
    return max(0, min(_EIGHTHS, room * _EIGHTHS // use))
