"""Rungs that paid before the books open: the balance must hold what came for the shares.

The list of positions lacks shares that the fills leave, for they have been paid; reads lag, so that
a balance holds that for certain only when it was asked for a lag after such a list. The first of
them counts: a start that has waited long for something else has its balance already.

Source: reliability, B9; silences S5, S22.
"""

from bot.core.account.account import READ_AGAIN_NS, Account, Kind
from bot.core.account.ledgers import Ledgers
from venue.wire.names import MarketId


class Unpaid:
    """The markets whose shares the lists of positions lack, one after the other, and since when."""

    def __init__(self, ledgers: Ledgers, account: Account, read_lag_ns: int) -> None:
        self._ledgers = ledgers
        self._account = account
        self._lag_ns = read_lag_ns
        self._lacking: frozenset[MarketId] = frozenset()
        self._since_ns = 0

    def look(self) -> None:
        """The lists were read once, or again. One that may lack what was just bought says only that
        what it shows has not been paid."""
        lacking = self._ledgers.lacking()
        if self._account.begun_ns[Kind.POSITIONS] <= self._ledgers.booking.booked_ns + self._lag_ns:
            lacking &= self._lacking
        self._take(lacking)

    def _take(self, lacking: frozenset[MarketId]) -> None:
        if not lacking <= self._lacking:
            self._since_ns = self._account.done_ns[Kind.POSITIONS]
        self._lacking = lacking

    def is_in(self, now_ns: int) -> bool:
        """Whether the balance holds what was paid; else it is asked for again."""
        self._take(self._ledgers.lacking())
        from_ns = self._since_ns + self._lag_ns
        if not self._lacking or self._account.begun_ns[Kind.BALANCE] > from_ns:
            return True
        again_ns = self._account.done_ns[Kind.BALANCE] + READ_AGAIN_NS
        self._account.hasten(Kind.BALANCE, max(now_ns, from_ns + 1, again_ns))
        return False
