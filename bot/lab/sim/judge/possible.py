"""What the auditor adds up of the orders that may be live; no arithmetic of the trader's."""

from collections.abc import Iterable
from dataclasses import dataclass

from venue.wire.money import Outcome, Side
from venue.wire.requests import Amend

DOLLAR = 100
_RATE_UNITS = 10**8


def level_of(outcome: Outcome, price: int) -> int:
    return price if outcome is Outcome.YES else DOLLAR - price


class Possible:
    """One order of the bot that may be live: its levels (canonical YES), and all that may fill."""

    __slots__ = ("is_bid", "is_buy", "levels", "outcome", "price", "qty", "rests")

    def __init__(
        self, outcome: Outcome, side: Side, price: int, qty: int, *, rests: bool = True
    ) -> None:
        self.rests = rests
        self.outcome = outcome
        self.is_buy = side is Side.BUY
        self.is_bid = (outcome is Outcome.YES) == self.is_buy
        self.price = price
        self.levels: tuple[int, ...] = (level_of(outcome, price),)
        self.qty = qty

    def may_become(self, amend: Amend) -> None:
        if amend.price is not None:
            self.levels = (*self.levels, level_of(self.outcome, amend.price))
            worse = max if self.is_buy else min
            self.price = worse(self.price, amend.price)
        if amend.qty is not None:
            self.qty = max(self.qty - 1, 0) + amend.qty

    def loses(self, fees: "Fees") -> int:
        per_share = self.price if self.is_buy else DOLLAR - self.price
        return per_share * self.qty + fees.of(self.price, self.qty)


class Fees:
    """Fees at one rate."""

    def __init__(self, rate: str) -> None:
        self._rate_units = round(float(rate) * _RATE_UNITS)

    def of(self, price: int, qty: int) -> int:
        """The fee of a whole fill in cents, rounded up."""
        exact = self._rate_units * qty * price * (DOLLAR - price)
        return -(-exact // (_RATE_UNITS * DOLLAR))


@dataclass(frozen=True)
class Sums:
    """What an event has in use of the limits that do not hang on the outcome.

    up, down: net shares of all rungs after every bid, every ask; 0 without one. gross: shares.
    apart: cents lost if every rung goes the worse way. resting: cents, of the whole series.
    """

    up: int
    down: int
    gross: int
    apart: int
    resting: int


def sums_of(
    cash: int,
    rungs: Iterable[tuple[int, int, list[Possible]]],
    everything: Iterable[Possible],
    fees: Fees,
) -> Sums:
    """What an event has in use of them. Gross is counted rung by rung, as if each could fail.

    rungs: YES and NO held, and the orders that may be live. everything: those of the series.
    """
    net = bids = asks = gross = 0
    apart = cash
    for yes, no, orders in rungs:
        up = down = 0
        if_yes, if_no = DOLLAR * yes, DOLLAR * no
        for each in orders:
            if each.is_bid:
                up += each.qty
                if_no -= each.loses(fees)
            else:
                down += each.qty
                if_yes -= each.loses(fees)
        net, bids, asks = net + yes - no, bids + up, asks + down
        gross += max(abs(yes - no + up), abs(yes - no - down))
        apart += min(if_yes, if_no)
    return Sums(
        up=net + bids if bids else 0,
        down=asks - net if asks else 0,
        gross=gross,
        apart=-apart,
        resting=sum(each.loses(fees) for each in everything),
    )
