"""Cash and shares of everybody: reserves, locks, fills, fees, settlement; conserved to the cent.

Cash in accounts + 100 x open interest + fees taken = net deposits, after every call but between
the two sides of one match. The ledger knows no orders and no book. What a call is about to change
it notes first, so that `drain` can tell each difference once.

Source: interface, Balance; Position; silences S5, S16, S17, S22.
"""

from typing import Final

from venue.core.messages import BalanceChanged, Event, OpenInterestChanged, PositionChanged
from venue.wire.money import (
    PAYOUT_CENTS,
    Cents,
    FeeRate,
    FeeUnits,
    Outcome,
    Price,
    Qty,
    ceil_cents,
    fee_units,
    notional,
)
from venue.wire.names import MarketId, UserId

CASH_CENTS_MAX: Final = 10**15
"""Net deposits of all accounts together; keeps every sum exact in any JSON reader."""


class Account:
    """One holder's cash, in cents: free, and locked by resting buys. Neither is ever negative."""

    __slots__ = ("available", "reserved", "user_id")

    def __init__(self, user_id: UserId) -> None:
        self.user_id = user_id
        self.available = Cents(0)
        self.reserved = Cents(0)


class Holding:
    """Shares of one outcome of one market in one hand.

    locked: the part that resting sells have committed, <= qty. cost_basis: cents paid for the
    shares still held, fees excluded; realized: proceeds - cost of what left - every fee (S5).
    """

    __slots__ = ("cost_basis", "locked", "market_id", "outcome", "qty", "realized", "user_id")

    def __init__(self, user_id: UserId, market_id: MarketId, outcome: Outcome) -> None:
        self.user_id = user_id
        self.market_id = market_id
        self.outcome = outcome
        self.qty = Qty(0)
        self.locked = Qty(0)
        self.cost_basis = Cents(0)
        self.realized = Cents(0)

    @property
    def free(self) -> Qty:
        """Shares that may still be offered."""
        return Qty(self.qty - self.locked)


class Shares:
    """All shares of one market. open_interest: pairs issued and not yet retired."""

    __slots__ = ("holdings", "market_id", "open_interest")

    def __init__(self, market_id: MarketId) -> None:
        self.market_id = market_id
        self.open_interest = Qty(0)
        self.holdings: dict[Outcome, dict[UserId, Holding]] = {Outcome.YES: {}, Outcome.NO: {}}


def fill_fee(
    fees_so_far: FeeUnits, rate: FeeRate, qty: Qty, price: Price
) -> tuple[FeeUnits, Cents]:
    """An order's exact fees with one more fill, and what that fill is charged (S16).

    The charge is the ceiling of the new sum less the ceiling of the old one: >= 0, and over an
    order's life less than one cent above the exact fees.
    """
    fees = FeeUnits(fees_so_far + fee_units(rate, qty, price))
    return fees, Cents(ceil_cents(fees) - ceil_cents(fees_so_far))


class Ledger:
    """Every account and every share, and what changed since the last `drain`."""

    def __init__(self) -> None:
        self.accounts: dict[UserId, Account] = {}
        self.markets: dict[MarketId, Shares] = {}
        self.fees_cents = Cents(0)
        self.deposited_cents = Cents(0)
        self._accounts_before: dict[Account, tuple[Cents, Cents]] = {}
        self._holdings_before: dict[Holding, tuple[Qty, Cents, Cents]] = {}
        self._interest_before: dict[Shares, Qty] = {}

    def open_account(self, user_id: UserId) -> None:
        """Add an account without cash; the user must have none."""
        assert user_id not in self.accounts
        self.accounts[user_id] = Account(user_id)

    def open_market(self, market_id: MarketId) -> Shares:
        """Begin to keep the shares of a new market."""
        assert market_id not in self.markets
        shares = self.markets[market_id] = Shares(market_id)
        return shares

    def deposit(self, account: Account, cents: Cents) -> None:
        """Bring cash in; a negative amount takes available cash out."""
        self._note(account)
        account.available = Cents(account.available + cents)
        self.deposited_cents = Cents(self.deposited_cents + cents)
        assert account.available >= 0

    def reserve(self, account: Account, cents: Cents) -> None:
        """Lock available cash; a negative amount releases it."""
        if cents:
            self._note(account)
            account.available = Cents(account.available - cents)
            account.reserved = Cents(account.reserved + cents)
            assert account.available >= 0
            assert account.reserved >= 0

    def holding(self, account: Account, shares: Shares, outcome: Outcome) -> Holding:
        """A user's shares of one outcome, made when there were never any."""
        holders = shares.holdings[outcome]
        holding = holders.get(account.user_id)
        if holding is None:
            holding = Holding(account.user_id, shares.market_id, outcome)
            holders[account.user_id] = holding
        return holding

    def free_shares(self, account: Account, shares: Shares, outcome: Outcome) -> Qty:
        """Shares that a user may still offer; 0 when there were never any."""
        holding = shares.holdings[outcome].get(account.user_id)
        return Qty(0) if holding is None else holding.free

    def lock(self, account: Account, shares: Shares, outcome: Outcome, qty: Qty) -> None:
        """Commit free shares to a resting sell; a negative number sets them free."""
        if qty:
            holding = self.holding(account, shares, outcome)
            holding.locked = Qty(holding.locked + qty)
            assert 0 <= holding.locked <= holding.qty

    def buy(
        self, account: Account, shares: Shares, outcome: Outcome, price: Price, qty: Qty, fee: Cents
    ) -> None:
        """Pay price x qty and the fee from available cash, and take the shares.

        price: of the outcome itself.
        """
        cost = notional(price, qty)
        self._note(account)
        account.available = Cents(account.available - cost - fee)
        assert account.available >= 0
        holding = self.holding(account, shares, outcome)
        self._note_holding(holding)
        holding.qty = Qty(holding.qty + qty)
        holding.cost_basis = Cents(holding.cost_basis + cost)
        holding.realized = Cents(holding.realized - fee)
        self.fees_cents = Cents(self.fees_cents + fee)

    def sell(
        self, account: Account, shares: Shares, outcome: Outcome, price: Price, qty: Qty, fee: Cents
    ) -> None:
        """Give free shares away and receive price x qty less the fee.

        price: of the outcome itself. The shares leave at average cost, rounded down, and the last
        of them takes the rest of the cost along (S5).
        """
        proceeds = notional(price, qty)
        self._note(account)
        account.available = Cents(account.available + proceeds - fee)
        holding = self.holding(account, shares, outcome)
        assert 0 < qty <= holding.free
        self._note_holding(holding)
        cost = Cents(holding.cost_basis * qty // holding.qty)
        holding.qty = Qty(holding.qty - qty)
        holding.cost_basis = Cents(holding.cost_basis - cost)
        holding.realized = Cents(holding.realized + proceeds - cost - fee)
        self.fees_cents = Cents(self.fees_cents + fee)

    def change_interest(self, shares: Shares, pairs: int) -> None:
        """Issue pairs, or retire them when the number is negative."""
        self._interest_before.setdefault(shares, shares.open_interest)
        shares.open_interest = Qty(shares.open_interest + pairs)
        assert shares.open_interest >= 0

    def pay_out(self, shares: Shares, winner: Outcome) -> None:
        """Settle a market: 100 cents for each share of `winner`, nothing for the others (S22).

        No share may be locked any more.
        """
        for outcome in Outcome:
            for holding in shares.holdings[outcome].values():
                assert holding.locked == 0
                if holding.qty == 0:
                    continue
                payout = Cents(PAYOUT_CENTS * holding.qty if outcome is winner else 0)
                if payout:
                    account = self.accounts[holding.user_id]
                    self._note(account)
                    account.available = Cents(account.available + payout)
                self._note_holding(holding)
                holding.realized = Cents(holding.realized + payout - holding.cost_basis)
                holding.cost_basis = Cents(0)
                holding.qty = Qty(0)
        self.change_interest(shares, -shares.open_interest)

    def drain(self, now_ns: int) -> list[Event]:
        """One event per position, account and open interest that is other than at the last drain.

        In the order in which each was first changed.
        """
        events: list[Event] = []
        for holding, (qty, cost_basis, realized) in self._holdings_before.items():
            position = (holding.qty, holding.cost_basis, holding.realized)
            if position != (qty, cost_basis, realized):
                events.append(
                    PositionChanged(
                        now_ns, holding.user_id, holding.market_id, holding.outcome, *position
                    )
                )
        for account, (available, reserved) in self._accounts_before.items():
            if account.available != available or account.reserved != reserved:
                events.append(
                    BalanceChanged(now_ns, account.user_id, account.available, account.reserved)
                )
        for shares, pairs in self._interest_before.items():
            if shares.open_interest != pairs:
                events.append(OpenInterestChanged(now_ns, shares.market_id, shares.open_interest))
        self._holdings_before.clear()
        self._accounts_before.clear()
        self._interest_before.clear()
        return events

    def _note(self, account: Account) -> None:
        if account not in self._accounts_before:
            self._accounts_before[account] = (account.available, account.reserved)

    def _note_holding(self, holding: Holding) -> None:
        if holding not in self._holdings_before:
            self._holdings_before[holding] = (holding.qty, holding.cost_basis, holding.realized)
