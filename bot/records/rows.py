"""The rows of the records. Values and profits are thousandths of a cent, amounts cents, times
nanoseconds since 1970. A struct has the columns of its table as fields, in their order."""

import hashlib
from typing import Final

import msgspec

from venue.wire.money import BookSide, Outcome, Price, Side, book_side, canonical

BUCKET_S: Final = 600
"""Samples are thinned to the first and the last of every ten minutes. It divides a day, so that no
bucket spans midnight."""


def account_of(book: str, label: str) -> int:
    """The number of an account: 63 bits of a hash of the bot's name and what it trades on."""
    digest = hashlib.sha256(f"{book}\0{label}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


class AccountRow(msgspec.Struct, frozen=True):
    """One account that a bot has traded. label: the venue's address, or the run on an embedded
    venue. begun_ns: when it was first seen."""

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
    """A market of the series. resolved_ns: when it was first seen resolved. winner, settled_ns:
    None until the cash has shown which outcome won."""

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
        """About when its shares turned into cash; None before."""
        if self.winner is None:
            return None
        return self.settled_ns if self.resolved_ns is None else self.resolved_ns


class FillRow(msgspec.Struct, frozen=True, kw_only=True):
    """A fill of the account, of any series. price: cents of its own outcome.

    fee_units: the exact fee by the formula if the venue named none; then fee_cents is the step of
    the order's rounded sum of those (S16).
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
        return book_side(Outcome(self.outcome), Side(self.side))

    @property
    def yes_price(self) -> int:
        return canonical(Outcome(self.outcome), Price(self.price))

    @property
    def signed_qty(self) -> int:
        """Its change of the net position, in YES shares."""
        return self.qty if self.book_side is BookSide.BID else -self.qty

    @property
    def shares(self) -> tuple[int, int]:
        """Its change of the inventory, YES and NO shares."""
        moved = self.qty if self.side == Side.BUY else -self.qty
        return (moved, 0) if self.outcome == Outcome.YES else (0, moved)

    @property
    def cash_cents(self) -> int:
        """Its change of our cash, fee included."""
        sign = -1 if self.side == Side.BUY else 1
        return sign * self.price * self.qty - (self.fee_cents or 0)


class ValuedRow(msgspec.Struct, frozen=True):
    """The fair value of a YES share when a fill could first be known, and why its order rested."""

    fill_id: str
    heard_ns: int
    value: int
    level: int
    strategy: str
    reason: str


class MarkedRow(msgspec.Struct, frozen=True):
    """The value of a YES share some time after a fill. against: fair, or the mid of others."""

    fill_id: str
    against: str
    horizon_s: int
    value: int
    at_ns: int


class MarkRow(msgspec.Struct, frozen=True):
    """A market at one instant: the value of a YES share, None while unknown, and our inventory,
    with fills not booked yet."""

    market_id: str
    at_ns: int
    value: int | None
    yes_qty: int
    no_qty: int


class BalanceRow(msgspec.Struct, frozen=True):
    """The account's cash by a read that was requested and answered at these times."""

    begun_ns: int
    ended_ns: int
    total_cents: int


class ProfitRow(msgspec.Struct, frozen=True):
    """The run's own attribution of profit since `started_ns`."""

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
    """A market was paid out: the outcome that won."""

    market_id: str
    winner: str
    at_ns: int


class Batch(msgspec.Struct):
    """What one look at the journal found, for one account. not_ours: markets of other series that
    earlier versions stored among the bot's own."""

    account: AccountRow
    rungs: list[RungRow] = []
    not_ours: list[str] = []
    fills: list[FillRow] = []
    valued: list[ValuedRow] = []
    marked: list[MarkedRow] = []
    balances: list[BalanceRow] = []
    settled: list[Settled] = []


class TraderSample(msgspec.Struct, frozen=True):
    """The trader at one instant, as far as it is recorded."""

    marks: tuple[MarkRow, ...]
    profit: ProfitRow | None
