"""Settlement of resolved rungs: the outcome of their event by which the balance moved.

The venue does not publish winners. When a rung resolves its position leaves and the balance moves.
A ladder of n rungs has n+1 outcomes, since no rung pays YES above one that pays NO. Where the cash
fits an outcome the rungs are settled by it, and a winner counts as known if every outcome that fits
agrees on it. Cash that fits none is an unallocated settlement: it is booked without a winner.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

import msgspec

from bot.core.account.portfolio import Portfolio
from bot.core.strike import strike_value
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, Outcome
from venue.wire.names import MarketId, Ticker

SETTLES_WITHIN_NS: Final = 60 * NS_PER_SECOND
"""Timeout of a settlement: for the position of a resolved rung to leave, and then for the cash to
fit an outcome."""

_EVENTS_MAX: Final = 2
"""The sum of the cash can be split between so many events that settle at once, and no more."""

Held = Mapping[tuple[MarketId, Outcome], int]
"""Shares of a list of positions."""

Winners = dict[MarketId, Outcome]


class Waiting(msgspec.Struct, frozen=True):
    """A resolved rung with inventory in the books. strike: dollars; None on a binary market, and
    where it is not known."""

    market_id: MarketId
    event_ticker: Ticker
    strike: Decimal | None
    yes_qty: int
    no_qty: int

    def pays(self, winner: Outcome) -> int:
        """Cents that its shares pay."""
        return PAYOUT_CENTS * (self.yes_qty if winner is Outcome.YES else self.no_qty)


def outcomes(rungs: Sequence[Waiting]) -> Iterator[Winners]:
    """The ways in which rungs of one event can have resolved. Of several of which one has no strike
    none is known."""
    strikes = [rung.strike for rung in rungs if rung.strike is not None]
    if len(strikes) < len(rungs) and len(rungs) > 1:
        return
    ladder = sorted(rungs, key=lambda rung: (rung.strike or Decimal(0), rung.market_id))
    for cut in range(len(ladder) + 1):
        yield {
            rung.market_id: Outcome.YES if at < cut else Outcome.NO
            for at, rung in enumerate(ladder)
        }


class Settlement:
    """The rungs that have resolved, until their event is forgotten."""

    def __init__(self, book: Portfolio) -> None:
        self._book = book
        self._listed: dict[MarketId, tuple[Ticker, Decimal | None]] = {}
        self.resolved_ns: dict[MarketId, int] = {}
        """When a market was first seen resolved."""
        self._gone: dict[MarketId, int] = {}  # when its position was seen gone first
        # Opening inventory: a payout may be in its balance, until a later list shows the shares.
        self._unproven: set[MarketId] = set()
        self._proven_from_ns = 0
        self._winners: Winners = {}

    def known_winner(self, market_id: MarketId) -> Outcome | None:
        """The outcome that won, where the payout shows it; one that an earlier run knew counts once
        the market has been seen resolved."""
        return self._winners.get(market_id) if market_id in self.resolved_ns else None

    # --- reads of the series ---------------------------------------------------------------------

    def list_market(self, market: model.Market, event_ticker: Ticker) -> None:
        """A market of ours, or of another series of ours on the account, is known."""
        strike = strike_value(market.strike_value, market.strike_unit)
        self._listed[market.market_id] = (event_ticker, strike)

    def is_listed(self, market_id: MarketId) -> bool:
        return market_id in self._listed

    def event_of(self, market_id: MarketId) -> Ticker:
        """The event of a market; empty where no series of ours lists it."""
        return self._listed.get(market_id, (Ticker(""), None))[0]

    def rungs_of(self, event_ticker: Ticker) -> list[MarketId]:
        """The known markets of an event, those included that it no longer shows."""
        return [key for key, (event, _) in self._listed.items() if event == event_ticker]

    def state_shown(self, market: model.Market, believed_from_ns: int, now_ns: int) -> None:
        """A read of the series, which speaks of `believed_from_ns` and before, shows a market. A
        resolution that was taken back is forgotten, unless it has paid."""
        if market.state is model.MarketState.RESOLVED:
            self.on_resolved(market.market_id, now_ns)
            return
        seen_ns = self.resolved_ns.get(market.market_id, believed_from_ns)
        if seen_ns < believed_from_ns and self._book.winner(market.market_id) is None:
            del self.resolved_ns[market.market_id]

    def on_resolved(self, market_id: MarketId, now_ns: int) -> None:
        """A market has resolved; again changes nothing."""
        self.resolved_ns.setdefault(market_id, now_ns)

    # --- reads of the account --------------------------------------------------------------------

    def on_open(self, proven_from_ns: int) -> None:
        """The books are open. The balance did not contain the payout of shares that positions begun
        from then on still show."""
        self._unproven, self._proven_from_ns = set(self._book.held_markets()), proven_from_ns

    def positions_shown(self, held: Held, begun_ns: int) -> None:
        """A list of positions, begun then."""
        if self._unproven and begun_ns >= self._proven_from_ns:
            self._unproven.difference_update(key for (key, _), qty in held.items() if qty)

    def on_audit(self, held: Held, now_ns: int) -> None:
        """An audit shows these positions: note since when each rung has none any more."""
        for market_id in self._book.held_markets():
            if any(held.get((market_id, outcome), 0) for outcome in Outcome):
                self._gone.pop(market_id, None)
            else:
                self._gone.setdefault(market_id, now_ns)

    def unexplained(self) -> list[tuple[MarketId, int]]:
        """The unresolved markets whose positions are gone, and since when."""
        held = (key for key in self._book.held_markets() if key not in self.resolved_ns)
        return [(key, self._gone[key]) for key in held if key in self._gone]

    def gone(self) -> list[Waiting]:
        """The resolved rungs with inventory in the books and no position at the venue."""
        gone: list[Waiting] = []
        for market_id in self._book.held_markets():
            if market_id in self.resolved_ns and market_id in self._gone:
                event_of = self._book.event_of(market_id), None
                event_ticker, strike = self._listed.get(market_id, event_of)
                held = self._book.holdings(market_id)
                gone.append(Waiting(market_id, event_ticker, strike, *held))
        return gone

    def may_yet_go(self, now_ns: int) -> bool:
        """True if the position of a rung that resolved within a minute is still there: the balance
        may contain its payout already."""
        return any(
            now_ns < self.resolved_ns.get(key, -SETTLES_WITHIN_NS) + SETTLES_WITHIN_NS
            for key in self._book.held_markets()
            if key not in self._gone
        )

    def gone_ns(self, rungs: Iterable[Waiting]) -> int:
        """When the last of these was first seen gone."""
        return max(self._gone[rung.market_id] for rung in rungs)

    def winners(self, rungs: Iterable[Waiting], cents: int) -> tuple[Winners, Winners] | None:
        """The winners by which these rungs pay exactly so much, and those of them that are certain.
        None where the cash fits no outcome, or more than one split between two events, or where it
        may have been paid before the opening."""
        events: dict[Ticker, list[Waiting]] = {}
        for rung in rungs:
            events.setdefault(rung.event_ticker, []).append(rung)
        ids = [each.market_id for rungs in events.values() for each in rungs]
        if len(events) > _EVENTS_MAX or not self._unproven.isdisjoint(ids):
            return None
        fitting: list[Winners] = []
        splits: set[tuple[int, ...]] = set()
        possible = [
            [(_paid(each, way), way) for way in outcomes(each) if self._fits(event, way)]
            for event, each in events.items()
        ]
        for combination in itertools.product(*possible):
            paid = tuple(amount for amount, _ in combination)
            if sum(paid) == cents:
                splits.add(paid)
                fitting.append({key: won for _, way in combination for key, won in way.items()})
        if len(splits) != 1:
            return None
        first = fitting[0]
        certain = {key: won for key, won in first.items() if all(w[key] is won for w in fitting)}
        return first, certain

    def _fits(self, event_ticker: Ticker, way: Winners) -> bool:
        """True if rungs can resolve so, given the known winners of their event."""
        ladder = [
            (strike, won)
            for key in self.rungs_of(event_ticker)
            for strike in (self._listed[key][1],)
            for won in (way.get(key) or self.known_winner(key),)
            if strike is not None and won is not None
        ]
        highest_yes = max((at for at, won in ladder if won is Outcome.YES), default=None)
        lowest_no = min((at for at, won in ladder if won is Outcome.NO), default=None)
        return highest_yes is None or lowest_no is None or highest_yes <= lowest_no

    def add_winners(self, winners: Winners) -> None:
        """Rungs that settled, now or in an earlier run, and whose payout shows the winner."""
        self._winners.update(winners)

    def forget_event(self, event_ticker: Ticker) -> None:
        for market_id in self.rungs_of(event_ticker):
            del self._listed[market_id]
            self.resolved_ns.pop(market_id, None)
            self._gone.pop(market_id, None)
            self._winners.pop(market_id, None)
            self._unproven.discard(market_id)


def _paid(rungs: Iterable[Waiting], winners: Winners) -> int:
    return sum(rung.pays(winners[rung.market_id]) for rung in rungs)
