"""Cash and inventory of all users, conserved to the cent: cash in accounts + 100 x open interest +
fees taken = net deposits, after every call but between the two sides of one match. A call notes
what it changes first, so that `tell` reports each difference once. Readings:
docs/assumptions.md#S5, #S16, #S17, #S22."""

from typing import Final

from venue.engine.messages import BalanceChanged, Event, OpenInterestChanged, PositionChanged
from venue.wire.money import (
    PAYOUT_CENTS,
    Cents,
    Outcome,
    Qty,
)
from venue.wire.names import MarketId, UserId

_YES: Final = Outcome.YES
CASH_CENTS_MAX: Final = 10**15
"""Net deposits of all accounts together; keeps every sum exact in any JSON reader."""


class CashAccount:
    """One holder's cash, in cents: free, and locked by resting buys; never negative. number: how
    many accounts were opened before it."""

    __slots__ = ("available", "number", "reserved", "user_id")

    def __init__(self, user_id: UserId, number: int) -> None:
        self.user_id = user_id
        self.number = number
        self.available = Cents(0)
        self.reserved = Cents(0)


class Holding:
    """One user's inventory of one outcome. locked: committed by resting sells, <= qty. cost_basis:
    cents paid for the shares still held, fees excluded; realized: proceeds - cost of what left -
    every fee (S5)."""

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
        return Qty(self.qty - self.locked)


class Shares:
    """All shares of one market by user, oldest first. open_interest: pairs issued and not yet
    retired."""

    __slots__ = ("market_id", "no", "open_interest", "yes")

    def __init__(self, market_id: MarketId) -> None:
        self.market_id = market_id
        self.open_interest = Qty(0)
        self.yes: dict[UserId, Holding] = {}
        self.no: dict[UserId, Holding] = {}

    def of(self, outcome: Outcome) -> dict[UserId, Holding]:
        return self.yes if outcome is _YES else self.no


class Ledger:
    def __init__(self) -> None:
        self.accounts: dict[UserId, CashAccount] = {}
        self.accounts_by_number: list[CashAccount] = []
        self.markets: dict[MarketId, Shares] = {}
        self.fees_cents = Cents(0)
        self.deposited_cents = Cents(0)
        self._accounts_before: dict[CashAccount, tuple[Cents, Cents]] = {}
        self._holdings_before: dict[Holding, tuple[Qty, Cents, Cents]] = {}
        self._interest_before: dict[Shares, Qty] = {}

    def open_account(self, user_id: UserId) -> CashAccount:
        """Add an account without cash; the user must have none."""
        assert user_id not in self.accounts
        account = self.accounts[user_id] = CashAccount(user_id, len(self.accounts_by_number))
        self.accounts_by_number.append(account)
        return account

    def open_market(self, market_id: MarketId) -> Shares:
        assert market_id not in self.markets
        shares = self.markets[market_id] = Shares(market_id)
        return shares

    def deposit(self, account: CashAccount, cents: Cents) -> None:
        """Bring cash in; a negative amount takes available cash out."""
        self._note(account)
        account.available = Cents(account.available + cents)
        self.deposited_cents = Cents(self.deposited_cents + cents)
        assert account.available >= 0

    def reserve(self, account: CashAccount, cents: Cents) -> None:
        """Lock available cash; a negative amount releases it."""
        if account not in self._accounts_before:
            self._accounts_before[account] = (account.available, account.reserved)
        available = account.available = Cents(account.available - cents)
        reserved = account.reserved = Cents(account.reserved + cents)
        assert available >= 0
        assert reserved >= 0

    def holding(self, account: CashAccount, shares: Shares, outcome: Outcome) -> Holding:
        """A user's inventory of one outcome, made on first use."""
        holders = shares.yes if outcome is _YES else shares.no
        holding = holders.get(account.user_id)
        if holding is None:
            holding = Holding(account.user_id, shares.market_id, outcome)
            holders[account.user_id] = holding
        return holding

    def free_shares(self, account: CashAccount, shares: Shares, outcome: Outcome) -> Qty:
        """Inventory that a user may still offer; 0 where there never was any."""
        holding = shares.of(outcome).get(account.user_id)
        return Qty(0) if holding is None else holding.free

    def lock(self, account: CashAccount, shares: Shares, outcome: Outcome, qty: Qty) -> None:
        """Commit free shares to a resting sell; a negative number sets them free."""
        holding = self.holding(account, shares, outcome)
        holding.locked = Qty(holding.locked + qty)
        assert 0 <= holding.locked <= holding.qty

    def buy(
        self,
        account: CashAccount,
        shares: Shares,
        outcome: Outcome,
        qty: Qty,
        cost: Cents,
        fee: Cents,
        released: Cents,
    ) -> None:
        """Pay the cost and the fee, and take the shares. released: reserved cents that become
        available first."""
        if account not in self._accounts_before:
            self._accounts_before[account] = (account.available, account.reserved)
        available = account.available = Cents(account.available + released - cost - fee)
        assert available >= 0
        if released:
            reserved = account.reserved = Cents(account.reserved - released)
            assert reserved >= 0
        holding = self.holding(account, shares, outcome)
        if holding not in self._holdings_before:
            self._holdings_before[holding] = (holding.qty, holding.cost_basis, holding.realized)
        holding.qty = Qty(holding.qty + qty)
        holding.cost_basis = Cents(holding.cost_basis + cost)
        if fee:
            holding.realized = Cents(holding.realized - fee)
            self.fees_cents = Cents(self.fees_cents + fee)

    def sell(
        self,
        account: CashAccount,
        shares: Shares,
        outcome: Outcome,
        qty: Qty,
        proceeds: Cents,
        fee: Cents,
        freed: Qty,
    ) -> None:
        """Give shares away and receive the proceeds less the fee. freed: committed shares that
        become free first. Shares leave at average cost, rounded down; the last takes the rest along
        (S5)."""
        self._note(account)
        account.available = Cents(account.available + proceeds - fee)
        holding = self.holding(account, shares, outcome)
        holding.locked = Qty(holding.locked - freed)
        assert holding.locked >= 0
        assert 0 < qty <= holding.free
        self._note_holding(holding)
        cost = Cents(holding.cost_basis * qty // holding.qty)
        holding.qty = Qty(holding.qty - qty)
        holding.cost_basis = Cents(holding.cost_basis - cost)
        holding.realized = Cents(holding.realized + proceeds - cost - fee)
        self.fees_cents = Cents(self.fees_cents + fee)

    def change_interest(self, shares: Shares, pairs: int) -> None:
        """Issue pairs, or retire them when the number is negative."""
        if shares not in self._interest_before:
            self._interest_before[shares] = shares.open_interest
        shares.open_interest = Qty(shares.open_interest + pairs)
        assert shares.open_interest >= 0

    def pay_out(self, shares: Shares, winner: Outcome) -> None:
        """Settle a market: 100 cents for each share of `winner` (S22). No share may be locked any
        more."""
        for outcome in Outcome:
            for holding in shares.of(outcome).values():
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

    def tell(self, events: list[Event], now_ns: int) -> None:
        """Append an event per position, account and open interest that differs from the last call,
        in the order of their first changes."""
        if self._holdings_before:
            for holding, before in self._holdings_before.items():
                qty, cost_basis, realized = holding.qty, holding.cost_basis, holding.realized
                if before != (qty, cost_basis, realized):
                    events.append(
                        PositionChanged(
                            now_ns,
                            holding.user_id,
                            holding.market_id,
                            holding.outcome,
                            qty,
                            cost_basis,
                            realized,
                        )
                    )
            self._holdings_before.clear()
        for account, (available, reserved) in self._accounts_before.items():
            if account.available != available or account.reserved != reserved:
                events.append(
                    BalanceChanged(now_ns, account.user_id, account.available, account.reserved)
                )
        self._accounts_before.clear()
        if self._interest_before:
            for shares, pairs in self._interest_before.items():
                if shares.open_interest != pairs:
                    events.append(
                        OpenInterestChanged(now_ns, shares.market_id, shares.open_interest)
                    )
            self._interest_before.clear()

    def _note(self, account: CashAccount) -> None:
        if account not in self._accounts_before:
            self._accounts_before[account] = (account.available, account.reserved)

    def _note_holding(self, holding: Holding) -> None:
        if holding not in self._holdings_before:
            self._holdings_before[holding] = (holding.qty, holding.cost_basis, holding.realized)
