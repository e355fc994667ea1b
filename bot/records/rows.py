"""What is kept, as plain rows: what the venue said of fills and cash, what was believed of them.

Values and profits are thousandths of a cent, amounts whole cents, times nanoseconds since 1970.
"""

import hashlib
from typing import Final

import msgspec

from venue.wire.money import BookSide, Outcome, Price, Side, book_side, canonical

BUCKET_S: Final = 600
"""Of what changes all the time the first and the last of every ten minutes are kept; a divisor of
a day, so that no stretch reaches over midnight."""


def account_of(book: str, label: str) -> int:
    """The number of an account: of a bot's name and what it trades on, 63 bits of their hash."""
    digest = hashlib.sha256(f"{book}\0{label}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


class AccountRow(msgspec.Struct, frozen=True):
    """One account that a bot has traded. label: the venue's address, or the run that had an
    embedded venue to itself. begun_ns: when it was first heard of."""

    account: int
    book: str
    label: str
    begun_ns: int


class CursorRow(msgspec.Struct, frozen=True):
    """How far the journal has been read: `place` bytes of the segment with this number and opening.

    account: whose entries come next. at_ns: of the last entry read.
    """

    account: int
    segment: int
    opened_ns: int
    place: int
    at_ns: int


class RungRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rung of the series. resolved_ns: when it was first seen resolved; winner, settled_ns: once
    the cash has told which outcome won."""

    market_id: str
    ticker: str
    event_ticker: str
    maker_fee: str
    taker_fee: str
    seen_ns: int
    resolved_ns: int | None = None
    winner: str | None = None
    settled_ns: int | None = None

    @property
    def paid_ns(self) -> int | None:
        """When its shares turned into cash, as near as is known; None before."""
        if self.winner is None:
            return None
        return self.settled_ns if self.resolved_ns is None else self.resolved_ns


class FillRow(msgspec.Struct, frozen=True, kw_only=True):
    """A fill of the account, of whichever series. price: cents of its own outcome.

    fee_units: the exact fee by the formula where the venue named none; then fee_cents is what the
    order's running sum of those is rounded up by (S16).
    """

    fill_id: str
    created_ns: int
    market_id: str
    ticker: str
    event_ticker: str
    order_id: str
    trade_id: str
    outcome: str
    side: str
    price: int
    qty: int
    fee_cents: int | None
    fee_units: int | None
    liquidity: str

    @property
    def book_side(self) -> BookSide:
        """The canonical side."""
        return book_side(Outcome(self.outcome), Side(self.side))

    @property
    def yes_price(self) -> int:
        """The canonical price."""
        return canonical(Outcome(self.outcome), Price(self.price))

    @property
    def signed_qty(self) -> int:
        """Shares by which it made us longer YES."""
        return self.qty if self.book_side is BookSide.BID else -self.qty

    @property
    def shares(self) -> tuple[int, int]:
        """What it did to the YES and the NO shares held."""
        moved = self.qty if self.side == Side.BUY else -self.qty
        return (moved, 0) if self.outcome == Outcome.YES else (0, moved)

    @property
    def cash_cents(self) -> int:
        """What it did to our cash, its fee included."""
        sign = -1 if self.side == Side.BUY else 1
        return sign * self.price * self.qty - (self.fee_cents or 0)


class ValuedRow(msgspec.Struct, frozen=True):
    """What a YES share was worth when a fill could first be heard of, and why its order stood."""

    fill_id: str
    heard_ns: int
    value: int
    level: int
    strategy: str
    reason: str


class MarkedRow(msgspec.Struct, frozen=True):
    """What a YES share was worth so long after a fill. against: fair, or the mid of others."""

    fill_id: str
    against: str
    horizon_s: int
    value: int
    at_ns: int


class MarkRow(msgspec.Struct, frozen=True):
    """A rung at one instant: the value of a YES share, None while none is known, and what we held,
    fills not booked yet included."""

    market_id: str
    at_ns: int
    value: int | None
    yes_qty: int
    no_qty: int


class BalanceRow(msgspec.Struct, frozen=True):
    """The account's cash as the venue told it, in a read asked for and answered at these times."""

    begun_ns: int
    ended_ns: int
    total_cents: int


class ProfitRow(msgspec.Struct, frozen=True):
    """The run's own account of profit since it opened its books at `started_ns`."""

    at_ns: int
    started_ns: int
    profit: int
    spread: int
    adverse: int
    drift: int
    fees_cents: int
    worst_case_cents: int
    worst_case_limit_cents: int


class Settled(msgspec.Struct, frozen=True):
    """A rung was paid: the outcome that won."""

    market_id: str
    winner: str
    at_ns: int


class Batch(msgspec.Struct):
    """What one look at the journal found, for one account. not_ours: markets of other series that
    earlier versions of the program kept among the bot's own rungs."""

    account: AccountRow
    rungs: list[RungRow] = []
    not_ours: list[str] = []
    fills: list[FillRow] = []
    valued: list[ValuedRow] = []
    marked: list[MarkedRow] = []
    balances: list[BalanceRow] = []
    settled: list[Settled] = []


class Picture(msgspec.Struct, frozen=True):
    """The trader at one instant, as far as it is kept."""

    marks: tuple[MarkRow, ...]
    profit: ProfitRow | None
