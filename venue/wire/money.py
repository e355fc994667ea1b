"""The sole price arithmetic of the house, in integers. Prices are whole cents of one outcome,
1..99; a share pays 100 cents or nothing. Only `ceil_cents` rounds. See docs/venue.md#market.
Readings: docs/assumptions.md#S16, #S17."""

import enum
import re
from typing import Final, NewType

import msgspec

Price = NewType("Price", int)
"""Cents per share of one named outcome, 1..99."""

Cents = NewType("Cents", int)
"""An amount of money in whole cents; may be negative where a difference is meant."""

Qty = NewType("Qty", int)
"""Whole shares, >= 0."""

PAYOUT_CENTS: Final = 100
"""What a winning share pays; also the price of one YES and one NO share together."""

PRICE_MIN: Final = Price(1)
PRICE_MAX: Final = Price(99)
TICK_CENTS: Final = 1


class Outcome(enum.StrEnum):
    YES = "yes"
    NO = "no"

    @property
    def other(self) -> "Outcome":
        return _NO if self is _YES else _YES


class Side(enum.StrEnum):
    """The side of an order in its own outcome."""

    BUY = "buy"
    SELL = "sell"


class BookSide(enum.StrEnum):
    """Which side of the canonical YES book an order rests on."""

    BID = "bid"
    ASK = "ask"

    @property
    def other(self) -> "BookSide":
        return _ASK if self is _BID else _BID


_YES: Final = Outcome.YES
_NO: Final = Outcome.NO
_BUY: Final = Side.BUY
_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK


def complement(price: Price) -> Price:
    """The price of the other outcome: 100 - price. A mirror of a mirror is the price itself."""
    return Price(PAYOUT_CENTS - price)


def canonical(outcome: Outcome, price: Price) -> Price:
    """The YES price of an order's own price: itself for YES, the complement for NO. Also the way
    back."""
    return price if outcome is _YES else Price(PAYOUT_CENTS - price)


def book_side(outcome: Outcome, side: Side) -> BookSide:
    """The canonical side: buy YES and sell NO are bids, sell YES and buy NO are asks."""
    return _BID if (outcome is _YES) == (side is _BUY) else _ASK


def is_price(value: int) -> bool:
    return PRICE_MIN <= value <= PRICE_MAX


def notional(price: Price, qty: Qty) -> Cents:
    return Cents(price * qty)


FeeUnits = NewType("FeeUnits", int)
"""An exact, unrounded fee: 10**10 units are one cent. Sums of fees are kept in it (S16)."""

_RATE_DIGITS: Final = 8
_RATE_SCALE: Final = 10**_RATE_DIGITS
FEE_UNITS_PER_CENT: Final = _RATE_SCALE * PAYOUT_CENTS
_ALMOST_A_CENT: Final = FEE_UNITS_PER_CENT - 1
_RATE_TEXT: Final = re.compile(r"(0|1)(?:\.([0-9]{1,8}))?", re.ASCII)


class FeeRate(msgspec.Struct, frozen=True, order=True):
    """An exact fee rate of 0 to 1, at most 8 decimal places. e8: the rate times 10**8. `str()`
    gives the wire text with at least four places (`0.0700` is 7%)."""

    e8: int

    @classmethod
    def parse(cls, text: str) -> "FeeRate":
        """The rate that a decimal string names. Raises ValueError when it is not one of 0..1."""
        match = _RATE_TEXT.fullmatch(text)
        if match is None:
            raise ValueError(f"not a fee rate: {text!r} (a decimal fraction of 0 to 1, 8 places)")
        e8 = int(match[1]) * _RATE_SCALE + int((match[2] or "").ljust(_RATE_DIGITS, "0"))
        if e8 > _RATE_SCALE:
            raise ValueError(f"not a fee rate: {text!r} (above 1)")
        return cls(e8)

    def __str__(self) -> str:
        whole, fraction = divmod(self.e8, _RATE_SCALE)
        digits = f"{fraction:0{_RATE_DIGITS}d}".rstrip("0").ljust(4, "0")
        return f"{whole}.{digits}"


def fee_units(rate: FeeRate, qty: Qty, price: Price) -> FeeUnits:
    """The exact fee of a fill: rate x qty x p x (1 - p), p in dollars. qty: shares >= 0. price:
    1..99, of either outcome."""
    return FeeUnits(rate.e8 * qty * price * (PAYOUT_CENTS - price))


def ceil_cents(units: FeeUnits) -> Cents:
    """A sum of exact fees, rounded up to whole cents: the one rounding of the house."""
    return Cents((units + _ALMOST_A_CENT) // FEE_UNITS_PER_CENT)


def fee_cents(rate: FeeRate, qty: Qty, price: Price) -> Cents:
    """The fee of a single fill standing alone, rounded up."""
    return ceil_cents(fee_units(rate, qty, price))


def reserve_cents(rate: FeeRate, qty: Qty, price: Price, fees_so_far: FeeUnits) -> Cents:
    """What the remainder of a buy order may still cost, fee included. rate: the larger of maker and
    taker (S17). qty: the remainder, shares >= 0. price: the order's own limit. fees_so_far: exact,
    of its fills (S16). A fill at the limit or better costs no more, so released cash never goes
    negative."""
    # `notional`, `fee_units` and `ceil_cents` in one: an order asks this at every step of its life.
    fees = fees_so_far + rate.e8 * qty * price * (PAYOUT_CENTS - price)
    cents = price * qty + (fees + _ALMOST_A_CENT) // FEE_UNITS_PER_CENT
    if fees_so_far:
        cents -= (fees_so_far + _ALMOST_A_CENT) // FEE_UNITS_PER_CENT
    return Cents(cents)


def qty_within(rate: FeeRate, price: Price, cents: int) -> Qty:
    """The most shares of which a new buy order reserves no more than `cents`, its fee included.
    ceil(x) <= n exactly when x <= n for a whole n, so the rounding needs no search."""
    each = price * FEE_UNITS_PER_CENT + fee_units(rate, Qty(1), price)
    return Qty(max(0, cents) * FEE_UNITS_PER_CENT // each)


def fill_fee(
    fees_so_far: FeeUnits, rate: FeeRate, qty: Qty, price: Price
) -> tuple[FeeUnits, Cents]:
    """An order's exact fees with one more fill, and what that fill is charged (S16): the ceiling of
    the new sum less that of the old one, >= 0."""
    fees = fees_so_far + rate.e8 * qty * price * (PAYOUT_CENTS - price)
    charge = (fees + _ALMOST_A_CENT) // FEE_UNITS_PER_CENT
    if fees_so_far:
        charge -= (fees_so_far + _ALMOST_A_CENT) // FEE_UNITS_PER_CENT
    return FeeUnits(fees), Cents(charge)


def dollars(cents: int) -> str:
    """Cents as dollars, such as -$1,012.05."""
    return f"{'-' if cents < 0 else ''}${abs(cents) // 100:,}.{abs(cents) % 100:02d}"
