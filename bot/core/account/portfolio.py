"""The account as its fills make it: shares, cash, fees, to the cent, whatever order they come in.

Every sum here is commutative: pages are walked newest first, a fill may be read after its market
has settled, and the end result is the same. Positions and balances that the venue shows are for
comparing with (`holdings`, `expected_cash`), never for adding up.

Each fill is booked exactly once for ever, in bounded memory (`bot.core.account.fillids`). What the
fills of an order come to is kept until it is over and all of them lie below the floor of the ids.

Source: design, laws 3 and 4; reliability, rows 52-58, B9; silences S4, S5, S16, S22.
"""

import math
from collections.abc import Iterable, Mapping

import msgspec

from bot.core.account.fillids import FillIds, UnbookableFill, created_ns_of
from bot.core.sane import QTY_MAX
from venue.wire import model
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


class OrderTally(msgspec.Struct):
    """What the booked fills of one order come to.

    filled: shares. cash_cents: what they did to our cash, fees included; negative is paid.
    fee_units: the exact fees by formula of those fills that came without a fee (S16). newest_ns:
    of the newest fill, by the venue's time. over: the order has ended, all that it showed booked.
    """

    filled: int = 0
    cash_cents: int = 0
    fee_units: int = 0
    newest_ns: int = 0
    over: bool = False


class _Sums(msgspec.Struct):
    """What fills and payouts come to."""

    cash_cents: int = 0
    fills: int = 0

    def add(self, other: "_Sums", sign: int = 1) -> None:
        """Count the other ones in, or with a sign of -1 out again."""
        self.cash_cents += sign * other.cash_cents
        self.fills += sign * other.fills


class _Market(msgspec.Struct):
    """One market: its fee rates once listed, shares by outcome, and `winner` once it settled.

    event_ticker: folded, as in every key here, for case means nothing. sums: its part of those of
    its event, so that it can be found to belong to another one. is_told: it held more of one
    outcome as it settled, so that what was paid tells the winner. taken_yes, taken_no: shares that
    no fill tells of, which are among those held.
    """

    event_ticker: Ticker
    rates: tuple[FeeRate, FeeRate] | None = None  # maker's and taker's
    yes: int = 0
    no: int = 0
    winner: Outcome | None = None
    is_told: bool = False
    taken_yes: int = 0
    taken_no: int = 0
    sums: _Sums = msgspec.field(default_factory=_Sums)


class _Event(_Sums):
    """What the fills and payouts of one event come to. ours: some market of it was listed here."""

    ours: bool = False


class Portfolio:
    """The books. Amounts are integer cents, sizes whole shares.

    All fills of the account are in them, those of other series too: only then do they come to the
    venue's balance. Of profit, fees and number only the markets listed here have a part.
    """

    def __init__(self, ids: FillIds | None = None) -> None:
        """ids: what is to be known of the fills that are booked."""
        self.ids = FillIds() if ids is None else ids
        self._markets: dict[MarketId, _Market] = {}
        self._tallies: dict[OrderId, OrderTally] = {}
        self._events: dict[Ticker, _Event] = {}
        self._gone = _Event()  # events of ours that were forgotten
        self._cash_cents = 0
        self._fees_cents = 0
        self._fill_count = 0
        # Asked for ten times a second; None as soon as anything is booked, moved or forgotten.
        self._held: dict[MarketId, _Market] | None = None
        self._own_cash_cents: int | None = None

    def list_market(
        self, market_id: MarketId, event_ticker: Ticker, maker: FeeRate, taker: FeeRate
    ) -> None:
        """Make a market and its fee rates known; again with other rates is from now on.

        What was booked of it under another event, or under none, is of this event. The first word
        stands: a market that is listed stays where it is until its event is forgotten.
        """
        market = self._market(market_id, event_ticker)
        if market.rates is None:
            self._move_to(market, fold_ticker(event_ticker))
        market.rates = maker, taker
        self._event(market.event_ticker).ours = True
        self._changed()

    def same_market(self, stand_in: MarketId, market_id: MarketId) -> None:
        """What was booked under the first id is of the second one, which is listed."""
        before = self._markets.pop(stand_in, None)
        if before is None:
            return
        market = self._markets[market_id]
        self._changed()
        self._move_to(before, market.event_ticker)
        market.sums.add(before.sums)
        self._move_shares(market, Outcome.YES, before.yes)
        self._move_shares(market, Outcome.NO, before.no)

    def _market(self, market_id: MarketId, event_ticker: Ticker) -> _Market:
        market = self._markets.get(market_id)
        if market is None:
            market = self._markets[market_id] = _Market(fold_ticker(event_ticker))
        return market

    def _move_to(self, market: _Market, event_ticker: Ticker) -> None:
        if market.event_ticker != event_ticker:
            self._changed()
            self._event(market.event_ticker).add(market.sums, -1)
            self._event(event_ticker).add(market.sums)
            market.event_ticker = event_ticker

    def _event(self, event_ticker: Ticker) -> _Event:
        event = self._events.get(event_ticker)
        if event is None:
            event = self._events[event_ticker] = _Event()
        return event

    def _changed(self) -> None:
        """What is held of markets listed here, or their cash, may be something else."""
        self._held = self._own_cash_cents = None

    # --- writing ----------------------------------------------------------------------------------

    def book_fill(self, fill: model.Fill) -> bool:
        """Book a fill. False, and nothing changed, when it was booked before.

        Cash is reckoned in `outcome_price`. A fill without a fee is charged by the formula, one
        running sum per order, at the rate of its role, or at the dearer one if that is not shown.
        Raises UnbookableFill, and books nothing, for an outcome, side, time, price, size or fee it
        cannot read, or a missing fee on a market that was never listed. A fee lies between minus
        the notional, given back, and a dollar a share.
        """
        created_ns = created_ns_of(fill)
        if self.ids.knows(fill.fill_id, created_ns):
            return False
        try:
            outcome, side = Outcome(fill.outcome.value), Side(fill.side.value)
        except ValueError as fault:
            raise UnbookableFill(f"fill {fill.fill_id}: {fault}") from None
        _check_amounts(fill)
        market = self._markets.get(fill.market_id)
        if fill.fee_cents is None and (market is None or market.rates is None):
            raise UnbookableFill(f"fill {fill.fill_id}: no fee, and its market is not listed")
        market = self._market(fill.market_id, fill.event_ticker)
        tally = self._tallies.setdefault(fill.order_id, OrderTally())
        fee_cents = _fee_of(fill, market, tally)
        sign = 1 if side is Side.BUY else -1
        cash_cents = -sign * notional(fill.outcome_price, fill.qty) - fee_cents
        tally.filled += fill.qty
        tally.cash_cents += cash_cents
        tally.newest_ns = max(tally.newest_ns, created_ns)
        self._fees_cents += fee_cents
        self._fill_count += 1
        self.ids.add(fill.fill_id, created_ns)
        self._count(market, _Sums(cash_cents, 1))
        self._move_shares(market, outcome, sign * fill.qty)
        return True

    def _count(self, market: _Market, sums: _Sums) -> None:
        self._changed()
        market.sums.add(sums)
        self._event(market.event_ticker).add(sums)
        self._cash_cents += sums.cash_cents

    def _move_shares(self, market: _Market, outcome: Outcome, shares: int) -> None:
        """Shares of a settled market turn into their payout at once, late fills included."""
        self._changed()
        if market.winner is not None:
            if outcome is market.winner:
                self._count(market, _Sums(PAYOUT_CENTS * shares))
        elif outcome is Outcome.YES:
            market.yes += shares
        else:
            market.no += shares

    def settle(self, market_id: MarketId, winner: Outcome) -> Cents:
        """A market resolved: its shares become cash. What was paid out for shares held now.

        The first word stands: settling again changes nothing and returns 0. A market of which
        nothing is known yet returns 0; list it first so that late fills find its winner (S22).
        """
        market = self._markets.get(market_id)
        if market is None or market.winner is not None:
            return Cents(0)
        winning = market.yes if winner is Outcome.YES else market.no
        market.is_told = market.yes != market.no
        market.yes = market.no = 0
        market.winner = winner
        self._count(market, _Sums(PAYOUT_CENTS * winning))
        return Cents(PAYOUT_CENTS * winning)

    def take_over(self, market_id: MarketId, outcome: Outcome, shares: int) -> None:
        """So many more shares of a listed market (below zero: fewer) are held than fills tell of,
        at no cost; they pay as all others do."""
        market = self._markets[market_id]
        if outcome is Outcome.YES:
            market.taken_yes += shares
        else:
            market.taken_no += shares
        self._move_shares(market, outcome, shares)

    def taken_over(self, market_id: MarketId) -> tuple[int, int]:
        """YES and NO shares of a market that were taken over so far; 0 and 0 when unheard of."""
        market = self._markets.get(market_id)
        return (0, 0) if market is None else (market.taken_yes, market.taken_no)

    def write_off(self, market_id: MarketId) -> None:
        """Shares of a market that paid out before the books were opened are no longer there; what
        they paid is in the opening balance."""
        market = self._markets.get(market_id)
        if market is not None:
            market.yes = market.no = 0
            self._changed()

    def forget_event(self, event_ticker: Ticker) -> None:
        """Drop the markets of an event of which nothing is held any more; its sums stay counted."""
        self._changed()
        event_ticker = fold_ticker(event_ticker)
        event = self._events.pop(event_ticker, None)
        if event is not None and event.ours:
            self._gone.add(event)
        self._markets = {
            key: market
            for key, market in self._markets.items()
            if market.event_ticker != event_ticker
        }

    def trim(self, live_orders: Iterable[OrderId]) -> None:
        """Forget what can never be asked for again. Call when a walk of the fills has finished.
        live_orders: gone through only where something is to be forgotten.

        The tallies of orders that are over go once all their fills are below the floor, and beyond
        their own bound those of all that are not among `live_orders`.
        """
        trimmed, most = self.ids.trim(), 2 * self.ids.most
        if not trimmed and len(self._tallies) <= most:
            return
        live = frozenset(live_orders)
        if trimmed:
            self._tallies = {
                key: tally
                for key, tally in self._tallies.items()
                if not (tally.over and self.ids.is_below_floor(tally.newest_ns)) or key in live
            }
        if len(self._tallies) > most:
            self._tallies = {key: tally for key, tally in self._tallies.items() if key in live}

    def order_over(self, order_id: OrderId) -> None:
        """An order has ended, and all the fills that it showed are booked.

        Should a late answer show more, or another fill of it turn up, what was booked before is
        still known: its tally goes with the ids of its fills.
        """
        tally = self._tallies.get(order_id)
        if tally is not None:
            tally.over = True

    # --- reading ----------------------------------------------------------------------------------

    def holdings(self, market_id: MarketId) -> tuple[int, int]:
        """YES and NO shares held of a market, by the booked fills; 0 and 0 when unheard of.

        Below zero only while the purchase that an already booked sale came from is yet to be read.
        """
        market = self._markets.get(market_id)
        return (0, 0) if market is None else (market.yes, market.no)

    def held_qty(self, market_id: MarketId, outcome: Outcome) -> int:
        """Shares of one outcome of `holdings`."""
        yes_qty, no_qty = self.holdings(market_id)
        return yes_qty if outcome is Outcome.YES else no_qty

    def winner(self, market_id: MarketId) -> Outcome | None:
        """The outcome that won, once settled."""
        market = self._markets.get(market_id)
        return None if market is None else market.winner

    def told_winner(self, market_id: MarketId) -> Outcome | None:
        """The outcome that won, where what was paid tells it: pairs of YES and NO pay the same by
        either."""
        market = self._markets.get(market_id)
        return market.winner if market is not None and market.is_told else None

    def filled_qty(self, order_id: OrderId) -> Qty:
        """Booked shares of an order, 0 when there are none or it was forgotten."""
        tally = self._tallies.get(order_id)
        return Qty(0) if tally is None else Qty(tally.filled)

    def cash_of_order(self, order_id: OrderId) -> Cents:
        """What an order's booked fills did to our cash, fees included; negative is paid."""
        tally = self._tallies.get(order_id)
        return Cents(0) if tally is None else Cents(tally.cash_cents)

    def cash_of_market(self, market_id: MarketId) -> Cents:
        """Net cash flow of a market's fills and payouts, fees included; 0 when unheard of."""
        market = self._markets.get(market_id)
        return Cents(0 if market is None else market.sums.cash_cents)

    def unlisted_holdings(self) -> list[MarketId]:
        """Markets of other series in which shares are held, in first-seen order."""
        return [
            key
            for key, market in self._markets.items()
            if (market.yes or market.no) and not self._is_ours(market)
        ]

    def held_markets(self) -> list[MarketId]:
        """Markets in which shares are held, in first-seen order."""
        return [key for key, market in self._markets.items() if market.yes or market.no]

    def unbought(self) -> dict[tuple[MarketId, Outcome], int]:
        """The outcomes of which more is sold by the booked fills than was bought, each with the 0
        shares that can be left at least."""
        markets = self._markets.items()
        below = [(key, Outcome.YES) for key, market in markets if market.yes < 0]
        return dict.fromkeys(
            [*below, *((key, Outcome.NO) for key, each in markets if each.no < 0)], 0
        )

    def _is_ours(self, market: _Market) -> bool:
        return self._events[market.event_ticker].ours

    def event_cash_cents(self, event_ticker: Ticker) -> Cents:
        """Net cash flow of an event's fills and payouts, fees included."""
        event = self._events.get(fold_ticker(event_ticker))
        return Cents(0 if event is None else event.cash_cents)

    def _own(self) -> list[_Event]:
        """The events that were listed here, and what those of them come to that were forgotten."""
        return [self._gone, *[event for event in self._events.values() if event.ours]]

    @property
    def own_cash_cents(self) -> Cents:
        """Net cash flow of the events that were listed here, fees and payouts included."""
        if self._own_cash_cents is None:
            self._own_cash_cents = sum([event.cash_cents for event in self._own()])
        return Cents(self._own_cash_cents)

    @property
    def own_fills(self) -> int:
        """Fills booked so far of the events that were listed here."""
        return sum([event.fills for event in self._own()])

    @property
    def cash_flow_cents(self) -> Cents:
        """Net cash flow of everything booked."""
        return Cents(self._cash_cents)

    @property
    def fees_cents(self) -> Cents:
        """Fees of everything booked, already inside the cash flow."""
        return Cents(self._fees_cents)

    @property
    def fill_count(self) -> int:
        """Fills booked so far."""
        return self._fill_count

    def expected_cash(self, opening_cents: Cents) -> Cents:
        """What the venue's balance must total, reserves included, if it was `opening_cents` before
        the first booked fill and nothing was paid in or out since."""
        return Cents(opening_cents + self._cash_cents)

    def _held_here(self) -> dict[MarketId, _Market]:
        """The markets listed here in which shares are held, in first-seen order."""
        if self._held is None:
            self._held = {
                key: each
                for key, each in self._markets.items()
                if (each.yes or each.no) and self._is_ours(each)
            }
        return self._held

    def value_cents(self, marks: Mapping[MarketId, float]) -> Cents:
        """What the shares held of markets listed here are worth, each rounded to the cent.

        marks: YES value per share, cents 0..100. Where a mark is missing or no finite number, pairs
        of YES and NO count at the dollar they pay for certain, and what is left over at nothing.
        """
        worth = 0
        for key, each in self._held_here().items():
            worth += worth_cents(each.yes, each.no, marks.get(key))
        return Cents(worth)

    def pnl_cents(self, marks: Mapping[MarketId, float]) -> Cents:
        """Cash flow of the events listed here and what their shares are worth at `marks`."""
        return Cents(self.own_cash_cents + self.value_cents(marks))


def _check_amounts(fill: model.Fill) -> None:
    """Raises UnbookableFill for a price, a size or a fee that no trade can have had.

    What a fee says goes straight into the cash that the loss limit counts: a large one given back
    would pay for any loss.
    """
    price, qty, fee_cents = fill.outcome_price, fill.qty, fill.fee_cents
    if not (0 <= price <= PAYOUT_CENTS and 1 <= qty <= QTY_MAX):
        raise UnbookableFill(f"fill {fill.fill_id}: {qty} shares at {price} cents")
    if fee_cents is not None and not -notional(price, qty) <= fee_cents <= PAYOUT_CENTS * qty:
        raise UnbookableFill(
            f"fill {fill.fill_id}: a fee of {fee_cents} cents for {qty} shares at {price} cents"
        )


def _fee_of(fill: model.Fill, market: _Market, tally: OrderTally) -> int:
    """The fee of a fill. Missing fees of an order add up to one rounding of their sum (S16), and
    only they are in that sum, so that the order in which fills are booked does not matter."""
    if fill.fee_cents is not None:
        return fill.fee_cents
    assert market.rates is not None, "book_fill refuses a missing fee without rates"
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
    """What so many shares of a rung are worth at a mark, see `Portfolio.value_cents`."""
    if mark is None or not math.isfinite(mark):
        return PAYOUT_CENTS * max(0, min(yes, no))
    return PAYOUT_CENTS * no + round((yes - no) * mark)
