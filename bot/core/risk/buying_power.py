"""The cash that new orders may still lock: the newest balance less the writes since.

A balance is seconds old, and may be stale. A write that was in flight when the balance was
requested, or a lag before, may not be in it: the cash that such writes lock is subtracted too, in
full and at their own prices, until a later balance shows it. So the cash handed out never exceeds
the free cash.

Cash of an order whose cancel left after the balance was answered is free once the order is
closed; sales, payouts, and orders that shrink are when a balance shows them.

Inventory is sold without cash. Somebody else's orders on the account are seen with the next
balance: until then the venue refuses what they have taken.

Readings: docs/assumptions.md#S13, #S16, #S17.
"""

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from venue.wire.money import (
    Cents,
    FeeRate,
    FeeUnits,
    Price,
    Qty,
    Side,
    notional,
    qty_within,
    reserve_cents,
)
from venue.wire.requests import Amend

_BUY: Final = Side.BUY
_NO_FEES: Final = FeeUnits(0)
_UNBOUNDED: Final = Cents(2**62)


class CashOrder(Protocol):
    """An order of ours, as far as it locks cash. Two are equal when they are one."""

    last_write_ns: int

    @property
    def qty(self) -> Qty:
        """Its size, filled shares included."""

    @property
    def side(self) -> Side:
        """Only a purchase locks cash."""

    @property
    def amend(self) -> Amend | None:
        """A change of it that has no answer yet."""

    @property
    def price(self) -> Price:
        """Its limit in cents of its own outcome."""

    @property
    def filled(self) -> Qty:
        """Shares of it that have traded."""

    @property
    def remaining(self) -> int:
        """Shares of it that still rest."""

    @property
    def is_live(self) -> bool:
        """True while it may still lock cash."""

    @property
    def is_decided(self) -> bool:
        """True if every write about it has a clear answer, the last at `last_write_ns`."""


class _Write(msgspec.Struct, frozen=True):
    """A write that left at `at_ns`. cents: what it may lock more, at most. fees_cents: of those
    for fees. freed_cents: of a cancel, what it lets go at least, but for what fills before it.
    size: of an amend, the shares that are to remain, None where it changes none; filled: what had
    filled by then, and share_cents: what a share of that may have cost."""

    at_ns: int
    cents: int
    fees_cents: int = 0
    freed_cents: int = 0
    is_amend: bool = False
    size: int | None = None
    filled: int = 0
    share_cents: int = 0


class _Since(msgspec.Struct):
    """The writes about one order, the oldest first, and its fill before them."""

    filled: Qty
    writes: list[_Write]


class BuyingPower:
    """The free cash of one account, for all who trade on it in one process."""

    def __init__(self) -> None:
        self._shown_cents: Cents | None = None
        self._from_ns = self._answered_ns = -1
        self._since: dict[CashOrder, _Since] = {}
        self._most_cents = 0
        """No less than all orders of `_since` have taken: the sum over them was 20,000 calls for
        480 frames (bench/tick_to_order.py)."""

    # --- balance and writes -----------------------------------------------------------------------

    def on_balance(self, available_cents: Cents, from_ns: int, now_ns: int) -> None:
        """A balance was answered now. from_ns: what had an answer by then is surely in it."""
        if from_ns < self._from_ns:
            return  # one that was begun later is known already
        self._shown_cents, self._from_ns, self._answered_ns = available_cents, from_ns, now_ns
        for own, since in list(self._since.items()):
            since.writes = _unshown(own, since.writes, from_ns)
            if not since.writes:
                del self._since[own]
        rows = self._since.items()
        self._most_cents = sum(_most(own, each) for own, since in rows for each in since.writes)

    def on_create(self, own: CashOrder, rate: FeeRate, now_ns: int) -> None:
        """The create of an order has left."""
        if own.side is _BUY:
            cents = reserve_cents(rate, own.qty, own.price, _NO_FEES)
            fees_cents = cents - notional(own.price, own.qty)
            self._keep(own, _Write(now_ns, cents, fees_cents, filled=own.filled))

    def on_amend(self, own: CashOrder, rate: FeeRate, amend: Amend, now_ns: int) -> None:
        """A change of an order has left, and has no answer yet. It may lock more; if it locks less,
        only a balance shows that. Where it sets a size, what fills before it is carried out was
        locked at the old price, and is locked once more."""
        if own.side is _BUY:
            qty, price = amend.qty or Qty(own.remaining), amend.price or own.price
            growth = reserve_cents(rate, qty, price, _NO_FEES) - _least_locked(own, rate)
            share_cents = reserve_cents(rate, Qty(1), own.price, _NO_FEES)
            change = (True, amend.qty, own.filled, share_cents)
            self._keep(own, _Write(now_ns, max(0, growth), 0, 0, *change))

    def on_cancel(self, own: CashOrder, now_ns: int) -> None:
        """A cancel of an order has left. Of repeated cancels the first is kept: their number has no
        bound. The cash locked by a change in flight is not known."""
        if own.side is not _BUY or own.amend is not None:
            return
        since = self._since.get(own)
        if since is None or not since.writes[-1].freed_cents:
            cents = notional(own.price, Qty(own.remaining))
            self._keep(own, _Write(now_ns, 0, freed_cents=cents, filled=own.filled))

    def _keep(self, own: CashOrder, write: _Write) -> None:
        self._since.setdefault(own, _Since(own.filled, [])).writes.append(write)
        self._most_cents += _most(own, write)

    # --- free cash --------------------------------------------------------------------------------

    def suffices(self, cents: int) -> bool:
        """True if so much more may be locked now; none always may."""
        if cents <= 0 or self._shown_cents is None:
            return True
        return cents <= self._shown_cents - self._most_cents or cents <= self.cents

    def affordable(
        self, rate: FeeRate, price: Price, qty: int, instead_of: CashOrder | None = None
    ) -> int:
        """Shares of a purchase, up to `qty`, that the free cash pays. instead_of: an order that
        rests and that it is a change of."""
        freed = 0 if instead_of is None else _least_locked(instead_of, rate)
        needed = reserve_cents(rate, Qty(qty), price, _NO_FEES) - freed
        if self.suffices(needed):
            return qty
        return min(qty, qty_within(rate, price, freed + max(0, self.cents)))

    @property
    def cents(self) -> int:
        """The free cash, in cents; may be below zero. Unbounded without any balance: nothing is
        quoted before one is known, nor for long after the newest one."""
        if self._shown_cents is None:
            return _UNBOUNDED
        return self._shown_cents - sum(self._taken(*row) for row in self._since.items())

    def _taken(self, own: CashOrder, since: _Since) -> int:
        """Cash that an order has locked or spent beyond the balance read, at most."""
        cents = sum(write.cents for write in since.writes) + _locked_again(own, since.writes)
        if own.is_live or any(write.is_amend for write in since.writes):
            return cents  # an amend may have moved it under another id (S13)
        filled = own.filled - since.filled
        spent = own.price * filled
        first = since.writes[0]
        if not first.freed_cents:
            return min(cents, spent + first.fees_cents) if filled else 0
        if first.at_ns <= self._answered_ns:
            return 0
        return min(0, spent - first.freed_cents)


def _most(own: CashOrder, write: _Write) -> int:
    """No less than `BuyingPower._taken` counts for a write: before the next write no more can fill
    than the order had, and what a change of size lets remain."""
    return write.cents + (0 if write.size is None else write.share_cents * (own.qty + write.size))


def _least_locked(own: CashOrder, rate: FeeRate) -> int:
    """What an order that rests locks at least: next to what has filled its fee may come to a cent
    less (S16)."""
    return reserve_cents(rate, Qty(own.remaining), own.price, _NO_FEES) - bool(rate.e8)


def _locked_again(own: CashOrder, writes: list[_Write]) -> int:
    """What had filled before changes of an order's size: what then remained was set all the same
    (S13). The order itself shows how much that was of the last change, once it is decided."""
    cents = 0
    for at, write in enumerate(writes):
        if write.size is None:
            continue
        is_last = at + 1 == len(writes)
        filled = (own.filled if is_last else writes[at + 1].filled) - write.filled
        if is_last and own.is_decided:
            filled = min(filled, own.filled + own.remaining - write.filled - write.size)
        cents += write.share_cents * max(0, filled)
    return cents


def _unshown(own: CashOrder, writes: list[_Write], from_ns: int) -> list[_Write]:
    """The writes about an order that may have had no answer at an instant. Once all have one, each
    had it before the next one left."""
    if not own.is_decided:
        return writes
    answered_ns = [*(write.at_ns for write in writes[1:]), own.last_write_ns]
    return [write for write, at_ns in zip(writes, answered_ns, strict=True) if at_ns > from_ns]


class AccountRisk:
    """The exposure of all series of one account, and the cash they share.

    Losses add up and gains are not set against them. Each trader reads the others' exposure at
    the instant of sending, so that no orders of two traders fit into the same room.
    Books open only while nothing fills, so no trader quotes before all have opened theirs. Each has
    a number, the first is 0. cash: what new orders of all of them may still lock.
    """

    def __init__(self) -> None:
        self.cash = BuyingPower()
        self.traders = 0
        self._losses: list[Callable[[], Cents]] = []
        self._opened: set[int] = set()

    def join(self, loss_cents: Callable[[], Cents]) -> int:
        """Let one more trader in. Its number.

        loss_cents: the exposure of its series now, >= 0; the others read it at any time.
        """
        self._losses.append(loss_cents)
        self.traders += 1
        return self.traders - 1

    def others_loss_cents(self, member: int) -> Cents:
        """The exposure of the other traders now, added up."""
        return Cents(sum(loss() for number, loss in enumerate(self._losses) if number != member))

    def loss_cents(self) -> Cents:
        """The exposure of all of them now, added up."""
        return Cents(sum(loss() for loss in self._losses))

    def opened(self, member: int) -> None:
        """The books of one are open, or it is not going to quote; again changes nothing."""
        self._opened.add(member)

    @property
    def all_opened(self) -> bool:
        """True once every trader has opened its books."""
        return len(self._opened) == len(self._losses)
