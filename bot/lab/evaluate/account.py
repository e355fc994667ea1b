"""The trader's account in a world, kept a second time from the venue's fills and the true values.

Whole millicents throughout. Profit is what was gained on each fill against the true value then
(spread), plus what the holdings moved by afterwards (inventory), less fees; and it is what the
venue's cash says. The two ways to it must meet to the last cent.
"""

from typing import NamedTuple

from bot.lab.evaluate.draws import Class
from bot.lab.evaluate.latent import MILLICENTS, PAYOUT_MC
from venue.wire.money import PAYOUT_CENTS


class Fill(NamedTuple):
    """One fill. sign: 1 longer YES, -1 shorter. price: canonical cents. fair_mc: millicents that
    the rung was worth then."""

    rung: int
    sign: int
    price: int
    qty: int
    fee_cents: int
    maker: bool
    by: Class
    at_ns: int
    fair_mc: int


class DoesNotClose(Exception):
    """The two ways to the profit do not meet: a fault of ours or of the venue's."""


class Account:
    """Holdings, cash and the parts of the profit of one life, by rung in strike order.

    Fills come while `fairs_mc` is what the rungs are worth; `moved` is told when that changes, once
    for every point of the path.
    """

    def __init__(self, rungs: int) -> None:
        self.fairs_mc: tuple[int, ...] = (0,) * rungs
        self.net = [0] * rungs
        self.cash_cents = 0
        self.fees_cents = 0
        self.spread_mc = 0
        self.inventory_mc = 0
        self.fills: list[Fill] = []
        self._held = False
        self._edge_mc = 0
        self._edge_by_gain_mc2 = 0
        self._gains_mc = 0
        self._points = 0

    def begin(self, fairs_mc: tuple[int, ...]) -> None:
        """What the rungs are worth at the beginning."""
        self.fairs_mc = fairs_mc

    def filled(
        self,
        *,
        rung: int,
        sign: int,
        price: int,
        qty: int,
        fee_cents: int,
        maker: bool,
        by: Class,
        at_ns: int,
    ) -> None:
        """Book a fill. Cash is that of YES alone: short YES is paid for when it is sold, and the
        NO bought for it counts as minus YES and a share's payout."""
        fair_mc = self.fairs_mc[rung]
        self.fills.append(Fill(rung, sign, price, qty, fee_cents, maker, by, at_ns, fair_mc))
        self.spread_mc += sign * (fair_mc - price * MILLICENTS) * qty
        self.cash_cents -= sign * price * qty + fee_cents
        self.fees_cents += fee_cents
        self.net[rung] += sign * qty
        self._held = True

    def moved(self, fairs_mc: tuple[int, ...]) -> None:
        """The rungs are worth something else now."""
        edge_mc = self.spread_mc - self.fees_cents * MILLICENTS
        self._edge_by_gain_mc2 += (edge_mc - self._edge_mc) * self.inventory_mc
        self._edge_mc = edge_mc
        self._gains_mc += self.inventory_mc
        self._points += 1
        if self._held:
            before = self.fairs_mc
            self.inventory_mc += sum(
                [q * (new - old) for q, new, old in zip(self.net, fairs_mc, before, strict=True)]
            )
        self.fairs_mc = fairs_mc

    @property
    def edge_by_gain(self) -> float:
        """Cents^2: each change of the edge by what inventory had gained when it came, summed.

        No gain of inventory is foreseen, so its mean over lives is that of the whole edge by the
        whole gain: what is gained after a part of the edge has nothing to do with that part.
        """
        return self._edge_by_gain_mc2 / MILLICENTS**2

    @property
    def gain_mean(self) -> float:
        """Cents: what inventory had gained, on average of the points of the path before the
        outcome; its mean over lives is zero."""
        return self._gains_mc / self._points / MILLICENTS if self._points else 0.0

    @property
    def net_mc(self) -> int:
        """Profit so far in millicents, holdings at what they are worth."""
        worth = sum([q * fair for q, fair in zip(self.net, self.fairs_mc, strict=True)])
        return self.cash_cents * MILLICENTS + worth

    def close(self, venue_gain_cents: int) -> None:
        """Prove the identity once every rung has paid.

        venue_gain_cents: what the trader's cash at the venue has gained. Raises DoesNotClose when
        the parts do not add up to the profit, or the profit is not what the venue says.
        """
        parts_mc = self.spread_mc + self.inventory_mc - self.fees_cents * MILLICENTS
        if parts_mc != self.net_mc:
            raise DoesNotClose(f"spread + inventory - fees {parts_mc}, profit {self.net_mc} mc")
        if any(fair not in (0, PAYOUT_MC) for fair in self.fairs_mc):
            raise DoesNotClose(f"not every rung has paid: {self.fairs_mc}")
        if self.net_mc != venue_gain_cents * MILLICENTS:
            raise DoesNotClose(f"profit {self.net_mc} mc, the venue says {venue_gain_cents} cents")


def exact_fee_mc(rate_e8: int, qty: int, price: int) -> float:
    """A fee before it is rounded up, millicents, for telling what the ceiling wastes."""
    return rate_e8 * qty * price * (PAYOUT_CENTS - price) * MILLICENTS / (PAYOUT_CENTS * 10**8)
