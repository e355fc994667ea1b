"""The account by its fills: inventory, cash and fees, to the cent, in any order.

Every sum here is commutative: a fill may be read after its market has settled, and the end result
is the same. The venue's positions and balances serve to reconcile, never to add up; inventory that
no fill explains is taken over when the books open, at no cost.
"""

import math
from collections.abc import Iterable, Mapping

import msgspec

from bot.core.messages import FillMark
from venue.wire import model
from venue.wire.instant import to_ns
from venue.wire.money import (
    PAYOUT_CENTS,
    Cents,
    FeeRate,
    FeeUnits,
    Outcome,
    Qty,
    Side,
    ceil_cents,
    fee_units,
    notional,
)
from venue.wire.names import MarketId, OrderId, Ticker, fold_ticker


class UnbookableFill(Exception):
    """A fill cannot be read as cash and shares; nothing was booked. The text names it and why."""


class OrderTally(msgspec.Struct):
    """The sums of one order's booked fills."""

    filled: int = 0
    fee_units: int = 0  # the exact fees by formula of those fills that came without a fee (S16)
    newest_ns: int = 0  # the venue's time of the newest fill


class _EventBook(msgspec.Struct):
    """The net cash of one event's fills and payouts."""

    ticker: Ticker  # folded, as in every key here
    cash_cents: int = 0
    carried_cents: int = 0  # of that, by earlier runs
    is_ours: bool = False  # some market of it was listed here


class MarketBook(msgspec.Struct):
    """One market."""

    event: _EventBook
    rates: tuple[FeeRate, FeeRate] | None = None  # maker's and taker's, once listed
    yes: int = 0
    no: int = 0
    winner: Outcome | None = None  # once settled
    # By a payment without a winner: the value of a YES share, and the remainder of the division,
    # thousandths of a cent.
    unallocated: tuple[int, int] | None = None
    taken_yes: int = 0  # taken over without a fill; part of the inventory
    taken_no: int = 0
    cash_cents: int = 0


class Portfolio:
    """The books. Amounts are integer cents, sizes whole shares.

    All fills of the account are in them, those of other series too: only then do they come to the
    venue's balance. Profit counts only the events that were listed here.
    """

    def __init__(self) -> None:
        self.markets: dict[MarketId, MarketBook] = {}
        self._tallies: dict[OrderId, OrderTally] = {}
        self._events: dict[Ticker, _EventBook] = {}
        # Of events of ours that were forgotten, and of that by earlier runs:
        self._gone_cents = self._gone_carried_cents = 0
        self._cash_cents = 0
        self.version = 0
        """Grows with every fill, payout and take-over."""

    def list_market(
        self, market_id: MarketId, event_ticker: Ticker, maker: FeeRate, taker: FeeRate
    ) -> None:
        """Make a market and its fee rates known; new rates count from now on.

        Cash booked under another event, or under none, moves to this one. A market that is listed
        stays in its event until that is forgotten.
        """
        market, event = self._market(market_id, event_ticker), self._event(event_ticker)
        if market.rates is None and market.event is not event:
            market.event.cash_cents -= market.cash_cents
            event.cash_cents += market.cash_cents
            market.event = event
        market.rates = maker, taker
        market.event.is_ours = True

    def _market(self, market_id: MarketId, event_ticker: Ticker) -> MarketBook:
        market = self.markets.get(market_id)
        if market is None:
            market = self.markets[market_id] = MarketBook(self._event(event_ticker))
        return market

    def _event(self, event_ticker: Ticker) -> _EventBook:
        ticker = fold_ticker(event_ticker)
        event = self._events.get(ticker)
        if event is None:
            event = self._events[ticker] = _EventBook(ticker)
        return event

    # --- writing ----------------------------------------------------------------------------------

    def book_fill(self, fill: model.Fill) -> model.Fill:
        """Book a fill, which the caller knows not to be booked. Returns it with the charged fee.

        Cash is reckoned in `outcome_price`. A fill without a fee is charged by the formula, one
        running sum per order, at the rate of its role, or at the dearer one if that is not shown;
        nothing on a market whose rates nobody knows. Raises UnbookableFill, and books nothing, for
        an outcome, side, time, price, size or fee that it cannot read.
        """
        created_ns = created_ns_of(fill)
        try:
            outcome, side = Outcome(fill.outcome.value), Side(fill.side.value)
        except ValueError as fault:
            raise UnbookableFill(f"fill {fill.fill_id}: {fault}") from None
        _check_amounts(fill)
        market = self.markets.get(fill.market_id)
        if market is None:
            market = self._market(fill.market_id, fill.event_ticker)
        tally = self._tallies.setdefault(fill.order_id, OrderTally())
        fee_cents = _fee_of(fill, market, tally)
        sign = 1 if side is Side.BUY else -1
        tally.filled += fill.qty
        tally.newest_ns = max(tally.newest_ns, created_ns)
        self._add_cash(market, -sign * notional(fill.outcome_price, fill.qty) - fee_cents)
        self._move_shares(market, outcome, sign * fill.qty)
        return msgspec.structs.replace(fill, fee_cents=Cents(fee_cents))

    def _add_cash(self, market: MarketBook, cash_cents: int) -> None:
        self.version += 1
        market.cash_cents += cash_cents
        market.event.cash_cents += cash_cents
        self._cash_cents += cash_cents

    def _move_shares(self, market: MarketBook, outcome: Outcome, shares: int) -> None:
        """Inventory of a settled market turns into its payout at once, late fills included."""
        self.version += 1
        if market.winner is not None:
            if outcome is market.winner:
                self._add_cash(market, PAYOUT_CENTS * shares)
        elif outcome is Outcome.YES:
            market.yes += shares
        else:
            market.no += shares

    def settle(self, market_id: MarketId, winner: Outcome) -> Cents:
        """A market resolved: its inventory becomes cash. Returns the payout; 0 where it is settled
        already or unknown."""
        market = self.markets.get(market_id)
        if market is None or market.winner is not None:
            return Cents(0)
        winning = market.yes if winner is Outcome.YES else market.no
        market.yes = market.no = 0
        market.winner = winner
        self._add_cash(market, PAYOUT_CENTS * winning)
        return Cents(PAYOUT_CENTS * winning)

    def pay(self, market_id: MarketId, cash_cents: Cents) -> None:
        """The shares of a market are gone for so much cash, without a winner (unallocated)."""
        market = self.markets[market_id]
        if net_qty := market.yes - market.no:
            value_cents = cash_cents - PAYOUT_CENTS * market.no
            market.unallocated = divmod(1_000 * value_cents, net_qty)
        market.yes = market.no = 0
        self._add_cash(market, cash_cents)

    def unallocated_millicents(self, market_id: MarketId) -> tuple[int, int] | None:
        """The value of a YES share by a payment without a winner, and the remainder of the division
        by all shares; None without such a payment."""
        market = self.markets.get(market_id)
        return None if market is None else market.unallocated

    def carry(self, event_ticker: Ticker, cash_cents: Cents) -> None:
        """Earlier runs booked so much net cash of an event, which its loss limit counts. It is no
        part of `cash_flow_cents`: the opening balance contains it."""
        event = self._event(event_ticker)
        event.cash_cents += cash_cents
        event.carried_cents += cash_cents

    def take_over(
        self, market_id: MarketId, event_ticker: Ticker, outcome: Outcome, shares: int
    ) -> None:
        """Add shares (below zero: remove) that no fill explains, at no cost; they pay as others."""
        market = self._market(market_id, event_ticker)
        if outcome is Outcome.YES:
            market.taken_yes += shares
        else:
            market.taken_no += shares
        self._move_shares(market, outcome, shares)

    def taken_over(self, market_id: MarketId) -> tuple[int, int]:
        """YES and NO shares of a market that were taken over so far."""
        market = self.markets.get(market_id)
        return (0, 0) if market is None else (market.taken_yes, market.taken_no)

    def forget_event(self, event_ticker: Ticker) -> None:
        """Drop the markets of an event without inventory; its sums stay counted."""
        event = self._events.pop(fold_ticker(event_ticker), None)
        if event is not None:
            if event.is_ours:
                self._gone_cents += event.cash_cents
                self._gone_carried_cents += event.carried_cents
            held = self.markets.items()
            self.markets = {key: market for key, market in held if market.event is not event}

    def trim(self, floor_ns: int, live_orders: Iterable[OrderId]) -> None:
        """Forget fills older than the floor, but for those of these orders."""
        live = frozenset(live_orders)
        self._tallies = {
            key: tally
            for key, tally in self._tallies.items()
            if tally.newest_ns >= floor_ns or key in live
        }

    # --- reading ----------------------------------------------------------------------------------

    def holdings(self, market_id: MarketId) -> tuple[int, int]:
        """Inventory of a market, YES and NO shares, by the booked fills.

        Below zero only while the purchase that an already booked sale came from is yet to be read.
        """
        market = self.markets.get(market_id)
        return (0, 0) if market is None else (market.yes, market.no)

    def winner(self, market_id: MarketId) -> Outcome | None:
        """The outcome that won, once settled."""
        market = self.markets.get(market_id)
        return None if market is None else market.winner

    def filled_qty(self, order_id: OrderId) -> Qty:
        """Booked shares of an order, 0 when there are none or it was forgotten."""
        tally = self._tallies.get(order_id)
        return Qty(0) if tally is None else Qty(tally.filled)

    def cash_of_market(self, market_id: MarketId) -> Cents:
        """Net cash flow of a market's fills and payouts, fees included."""
        market = self.markets.get(market_id)
        return Cents(0 if market is None else market.cash_cents)

    def held_markets(self) -> list[MarketId]:
        """Markets with inventory, in first-seen order."""
        return [key for key, market in self.markets.items() if market.yes or market.no]

    def event_of(self, market_id: MarketId) -> Ticker:
        """The folded ticker of the event of a market that was booked or listed."""
        return self.markets[market_id].event.ticker

    def event_cash_cents(self, event_ticker: Ticker) -> Cents:
        """Net cash flow of an event's fills and payouts, fees included."""
        event = self._events.get(fold_ticker(event_ticker))
        return Cents(0 if event is None else event.cash_cents)

    @property
    def own_cash_cents(self) -> Cents:
        """Net cash flow of the events that were listed here, fees and payouts included."""
        own = sum([event.cash_cents for event in self._events.values() if event.is_ours])
        return Cents(self._gone_cents + own)

    @property
    def own_flow_cents(self) -> Cents:
        """The part of `cash_flow_cents` that is of the events that were listed here."""
        carried = sum([event.carried_cents for event in self._events.values() if event.is_ours])
        return Cents(self.own_cash_cents - self._gone_carried_cents - carried)

    @property
    def cash_flow_cents(self) -> Cents:
        """Net cash flow of everything booked."""
        return Cents(self._cash_cents)

    def value_cents(self, marks: Mapping[MarketId, float]) -> Cents:
        """The value of the inventory in markets listed here, each rounded to the cent.

        marks: YES value per share, cents 0..100. Where a mark is missing or no finite number, pairs
        of YES and NO count at the dollar that they pay for certain, and the rest at nothing.
        """
        worth = 0
        for key, each in self.markets.items():
            if (each.yes or each.no) and each.event.is_ours:
                worth += worth_cents(each.yes, each.no, marks.get(key))
        return Cents(worth)

    def pnl_cents(self, marks: Mapping[MarketId, float]) -> Cents:
        """Cash flow of the events listed here, and the value of their inventory at `marks`."""
        return Cents(self.own_cash_cents + self.value_cents(marks))


def _check_amounts(fill: model.Fill) -> None:
    """Raises UnbookableFill for a price, a size or a fee that no trade can have had.

    What a fee says goes straight into the cash that the loss limit counts: a large one given back
    would pay for any loss.
    """
    price, qty, fee_cents = fill.outcome_price, fill.qty, fill.fee_cents
    if not (0 <= price <= PAYOUT_CENTS and qty >= 1):
        raise UnbookableFill(f"fill {fill.fill_id}: {qty} shares at {price} cents")
    if fee_cents is not None and not -notional(price, qty) <= fee_cents <= PAYOUT_CENTS * qty:
        raise UnbookableFill(
            f"fill {fill.fill_id}: a fee of {fee_cents} cents for {qty} shares at {price} cents"
        )


def _fee_of(fill: model.Fill, market: MarketBook, tally: OrderTally) -> int:
    """The fee of a fill. Missing fees of an order add up to one rounding of their sum (S16), and
    only they are in that sum, so that the order in which fills are booked does not matter."""
    if fill.fee_cents is not None:
        return fill.fee_cents
    if market.rates is None:
        return 0
    maker, taker = market.rates
    rate = {
        model.Liquidity.MAKER: maker,
        model.Liquidity.TAKER: taker,
    }.get(fill.liquidity, max(maker, taker))
    before = FeeUnits(tally.fee_units)
    after = FeeUnits(before + fee_units(rate, fill.qty, fill.outcome_price))
    tally.fee_units = after
    return ceil_cents(after) - ceil_cents(before)


def worth_cents(yes: int, no: int, mark: float | None) -> int:
    """The value of so many shares of a rung at a mark, see `Portfolio.value_cents`."""
    if mark is None or not math.isfinite(mark):
        return PAYOUT_CENTS * max(0, min(yes, no))
    return PAYOUT_CENTS * no + round((yes - no) * mark)


def created_ns_of(fill: model.Fill | FillMark) -> int:
    """When a fill happened, by the venue. Raises UnbookableFill when that is unreadable."""
    try:
        return to_ns(fill.created_at)
    except ValueError as fault:
        raise UnbookableFill(f"fill {fill.fill_id}: {fault}") from None
