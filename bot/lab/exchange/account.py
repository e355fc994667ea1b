"""The trader's account kept a second time, from its fills and the payouts alone.

Cash moves by own outcome and price: nothing is reckoned the way the venue's ledger does it, and the
two must meet to the cent.
"""

from venue.engine.messages import FillBooked
from venue.wire.model import Liquidity
from venue.wire.money import PAYOUT_CENTS, Outcome, Side
from venue.wire.names import MarketId


class DoesNotClose(Exception):
    """The fills and the venue's ledger tell two profits: a fault of ours or of the venue's."""


class PaperAccount:
    """Cash gained, shares held and fees paid. fills: all there were, in order."""

    def __init__(self) -> None:
        self.cash_cents = 0
        self.fees_cents = 0
        self.fills: list[FillBooked] = []
        self.shares: dict[tuple[MarketId, Outcome], int] = {}

    def filled(self, fill: FillBooked) -> None:
        """Book a fill."""
        key, price = (fill.market_id, fill.outcome), int(fill.outcome_price)
        sign = 1 if fill.side is Side.BUY else -1
        self.cash_cents -= sign * price * fill.qty + fill.fee_cents
        self.fees_cents += fill.fee_cents
        self.shares[key] = self.shares.get(key, 0) + sign * fill.qty
        self.fills.append(fill)

    def settled(self, market_id: MarketId, winner: Outcome) -> None:
        """A market pays: a dollar for each share of the winner, nothing for the others."""
        self.cash_cents += PAYOUT_CENTS * self.shares.pop((market_id, winner), 0)
        for outcome in Outcome:
            self.shares.pop((market_id, outcome), None)

    def held_cents(self, market_id: MarketId, doubled_mid: int) -> int:
        """Twice what the shares of a market are worth at a middle of `doubled_mid` / 2 cents."""
        yes = self.shares.get((market_id, Outcome.YES), 0)
        no = self.shares.get((market_id, Outcome.NO), 0)
        return yes * doubled_mid + no * (2 * PAYOUT_CENTS - doubled_mid)

    @property
    def maker_qty(self) -> int:
        """Shares that came to us."""
        return sum(fill.qty for fill in self.fills if fill.liquidity is Liquidity.MAKER)

    @property
    def taker_qty(self) -> int:
        """Shares that we took."""
        return sum(fill.qty for fill in self.fills) - self.maker_qty

    def prove(self, venue_gain_cents: int) -> None:
        """Raises DoesNotClose unless the venue's cash has gained what the fills say."""
        if self.cash_cents != venue_gain_cents:
            raise DoesNotClose(
                f"fills and payouts: {self.cash_cents} cents, the venue: {venue_gain_cents} cents"
            )
