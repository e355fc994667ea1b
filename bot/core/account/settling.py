"""Which outcome won on a rung that has resolved: told from the cash that its shares paid.

The venue does not publish winners. Shares leave the list of positions when they pay, so a balance
read after they were seen gone holds what they paid, be it nothing. A ladder resolves as a ladder
can: no rung pays YES above one that pays NO. When the rungs that have paid can have come to that
cash in one way only, their winners are known; what rungs of other series were paid need not be.

A rung that pays while a start reads the account may still show its shares where the balance holds
their dollars already: unless cash of its own comes from then on nobody can tell how it resolved.

Source: reliability, B9; silences S5, S22.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Final

import msgspec

from bot.core.account.portfolio import Portfolio
from bot.core.strike import strike_value
from venue.wire import model
from venue.wire.money import PAYOUT_CENTS, Outcome
from venue.wire.names import MarketId, Ticker

SETTLES_WITHIN_NS: Final = 60 * 10**9
"""So long after a rung was seen resolved its shares may still wait to be paid."""

_SUMS_MAX: Final = 50_000
"""Sums of cash that are looked at; with more, nothing is settled."""


class Waiting(msgspec.Struct, frozen=True):
    """A resolved rung whose shares wait for their winner. ours: its profit is ours to account for.

    strike: its place on the ladder, dollars; None on a binary market, and where it is not known.
    is_early: what it paid may be in the opening balance.
    """

    market_id: MarketId
    event_ticker: Ticker
    strike: Decimal | None
    yes_qty: int
    no_qty: int
    ours: bool
    is_early: bool = False

    def pays(self, winner: Outcome) -> int:
        """Cents that its shares pay."""
        return PAYOUT_CENTS * (self.yes_qty if winner is Outcome.YES else self.no_qty)


class _Way(msgspec.Struct, frozen=True):
    """One way in which rungs can have resolved. own: what each of ours was paid by it. winners:
    None for one that was paid nothing, or before."""

    own: tuple[int, ...]
    winners: tuple[tuple[MarketId, Outcome | None], ...]


Held = Mapping[tuple[MarketId, Outcome], int]
"""Shares of a list of positions."""

Known = Mapping[Ticker, Iterable[tuple[Decimal, Outcome]]]
"""Strikes and winners of the rungs of an event that have settled already."""


def winners_by_cash(
    received_cents: tuple[int, ...],
    waiting: Iterable[Waiting],
    known: Known,
    late_cents: tuple[int, ...] = (),
) -> dict[MarketId, Outcome | None]:
    """The winners by which these rungs paid exactly the first of these amounts of cash that can
    have come from them; empty where that can have come to ours in several ways, or none of them
    from these rungs. An early rung that was paid none of it has None for a winner.

    late_cents: one of these may be in the first amount besides, where else none of them fits, and
    not where several of these make it fit.
    """
    beside = [received_cents[0] - cents for cents in late_cents]
    sums = _sums(max((*received_cents, *beside)), waiting, known)
    ways = [sums[cents] for cents in received_cents if cents in sums][:1]
    ways = ways or [sums[cents] for cents in beside if cents in sums]
    return dict(ways[0][0].winners) if len(ways) == 1 and len(ways[0]) == 1 else {}


def _sums(most_cents: int, waiting: Iterable[Waiting], known: Known) -> dict[int, list[_Way]]:
    """Every sum up to `most_cents` that these rungs can have paid, each with its ways: two at most
    that pay ours differently, for with two it is open anyhow. Empty where there are too many."""
    sums: dict[int, list[_Way]] = {0: [_Way((), ())]}
    for group in _groups(waiting):
        grown: dict[int, list[_Way]] = {}
        for paid, way in _ways(group, tuple(known.get(group[0].event_ticker, ()))):
            for so_far, before in sums.items():
                if so_far + paid <= most_cents:
                    _add(grown.setdefault(so_far + paid, []), before, way)
        sums = grown
        if len(sums) > _SUMS_MAX:
            return {}
    return sums


def _add(there: list[_Way], before: list[_Way], way: _Way) -> None:
    for each in before:
        joined = _Way((*each.own, *way.own), (*each.winners, *way.winners))
        if len(there) < 2 and all(joined.own != other.own for other in there):
            there.append(joined)


def _groups(waiting: Iterable[Waiting]) -> list[list[Waiting]]:
    """The rungs of each ladder together, lowest strike first; each without a strike by itself, and
    each that is early: what it may have paid before says nothing of the others."""
    ladders: dict[Ticker, list[Waiting]] = {}
    alone: list[list[Waiting]] = []
    for rung in waiting:
        if rung.strike is None or rung.is_early:
            alone.append([rung])
        else:
            ladders.setdefault(rung.event_ticker, []).append(rung)
    for ladder in ladders.values():
        ladder.sort(key=lambda rung: (rung.strike, rung.market_id))
    return [*ladders.values(), *alone]


def _ways(
    rungs: list[Waiting], known: tuple[tuple[Decimal, Outcome], ...]
) -> Iterable[tuple[int, _Way]]:
    """Every way in which rungs of one group can have resolved, with what it pays; of those that
    pay each rung of ours the same the first."""
    seen: dict[tuple[int, tuple[int, ...]], None] = {}
    if rungs[0].is_early:
        nothing = tuple(0 for rung in rungs if rung.ours)
        seen[0, nothing] = None
        yield 0, _Way(nothing, tuple((rung.market_id, None) for rung in rungs))
    for cut in range(len(rungs) + 1):
        winners = [Outcome.YES] * cut + [Outcome.NO] * (len(rungs) - cut)
        pairs = list(zip(rungs, winners, strict=True))
        if not all(_fits(rung, winner, known) for rung, winner in pairs):
            continue
        paid = sum(rung.pays(winner) for rung, winner in pairs)
        own = tuple(rung.pays(winner) for rung, winner in pairs if rung.ours)
        if (paid, own) not in seen:
            seen[paid, own] = None
            yield paid, _Way(own, tuple((rung.market_id, winner) for rung, winner in pairs))


def _fits(rung: Waiting, winner: Outcome, known: tuple[tuple[Decimal, Outcome], ...]) -> bool:
    """Whether a rung may resolve so beside those of its ladder that have settled."""
    if rung.strike is None:
        return True
    if winner is Outcome.YES:
        return all(won is Outcome.YES for strike, won in known if strike < rung.strike)
    return all(won is Outcome.NO for strike, won in known if strike > rung.strike)


class _Resolved(msgspec.Struct):
    """A market that has resolved. paid_ns: when its shares were seen gone, once they were."""

    seen_ns: int
    paid_ns: int | None = None


class Settling:
    """The rungs that have resolved, until their winners are known and their event is forgotten.

    untold: those of which `winners` has found that nothing will tell, for whoever takes them, and
    their shares with them.
    """

    def __init__(self, book: Portfolio, read_lag_ns: int) -> None:
        self._book = book
        self._lag_ns = read_lag_ns
        self._listed: dict[MarketId, tuple[Ticker, Decimal | None, bool]] = {}
        self._resolved: dict[MarketId, _Resolved] = {}
        self._early: set[MarketId] = set()
        self._shown: frozenset[MarketId] = frozenset()  # by the newest list of positions
        self._missing: frozenset[MarketId] = frozenset()  # from it, and shown by one before
        self._sure_from_ns = 0
        self._unpaid: set[MarketId] = set()  # as the opening balance was answered, lists say
        self._of_before: dict[MarketId, Outcome] = {}
        # Rungs of ours that have settled, each with what may have paid into the same cash unseen:
        # whatever a list of positions that was begun late enough still shows has not.
        self._unsure: dict[MarketId, tuple[int, frozenset[MarketId]]] = {}
        self._doubted: set[MarketId] = set()  # of those some that have resolved since
        self._told: set[MarketId] = set()
        self.tells: Callable[[MarketId], None] = lambda _id: None
        self.untold: list[MarketId] = []

    def remember(self, winners: Iterable[tuple[MarketId, Outcome]]) -> None:
        """Earlier runs were told these winners: what they paid was paid then."""
        self._of_before = dict(winners)

    def told_winner(self, market_id: MarketId) -> Outcome | None:
        """The outcome that won on a rung of ours, where what was paid tells it for certain; what it
        told an earlier run counts once the market has been seen resolved."""
        if market_id in self._told:
            return self._book.winner(market_id)
        return self._of_before.get(market_id) if self.is_resolved(market_id) else None

    def settled(self, markets: Iterable[MarketId], from_ns: int) -> None:
        """These have settled by a balance; what a list of positions shows that is begun from
        `from_ns` on had paid nothing into it. `tells` is called with each rung of which that makes
        the winner certain, now or later."""
        self._be_sure()
        held = frozenset(self._book.held_markets()).difference(self._resolved)
        for market_id in markets:
            *_, ours = self._listed.get(market_id, (False,))
            if ours and self._book.told_winner(market_id) and market_id not in self._doubted:
                self._unsure[market_id] = from_ns, held
        self._be_sure()

    def _be_sure(self, shown: frozenset[MarketId] = frozenset(), begun_ns: int = -1) -> None:
        """A list of positions, if any, that was begun then shows these. What was sold has not paid;
        what resolves before it was shown may have, and then either can be of the other's cash."""
        for market_id, (from_ns, others) in list(self._unsure.items()):
            others = others.difference(shown) if begun_ns >= from_ns else others
            gone = others.intersection(self._resolved)
            left = frozenset(each for each in others if any(self._book.holdings(each)))
            self._unsure[market_id] = from_ns, left
            if gone or not left:
                del self._unsure[market_id]
            self._doubted |= gone
            if not gone and not left:
                self._told.add(market_id)
                self.tells(market_id)

    def opened(self, held: Held, ended_ns: int, balance_ended_ns: int) -> list[MarketId]:
        """The books open with this list of positions, answered at `ended_ns`, and a balance.

        Resolved rungs must have paid before where they show no position and the fills leave some:
        these shares are written off. Returns their markets.
        """
        self.positions_read(held, ended_ns)
        over = [
            rung.market_id for rung in self.waiting() if not self._is_held(held, rung.market_id)
        ]
        for market_id in over:
            self._book.write_off(market_id)
        self._early = {market_id for (market_id, _), qty in held.items() if qty}
        self._early.update(self._book.held_markets())
        self._sure_from_ns = balance_ended_ns + self._lag_ns
        return over

    def may_have_paid(self, market_id: MarketId) -> None:
        """A fill of this market was listed after the opening and may be of before it, by its time:
        unless a list of positions that was asked for late enough has shown shares, or does from
        here on, the opening balance may hold what they paid."""
        if market_id not in self._unpaid:
            self._early.add(market_id)

    @property
    def sure_from_ns(self) -> int | None:
        """From when on a list of positions that is asked for tells of what it shows that the
        opening balance holds no payout of it; None while there is nothing to tell that of."""
        return self._sure_from_ns if self._early else None

    def lacking(self, held: Held) -> frozenset[MarketId]:
        """Markets of which the fills leave shares and this list of positions shows none."""
        markets = self._book.held_markets()
        return frozenset(each for each in markets if not self._is_held(held, each))

    def positions_shown(self, held: Held, begun_ns: int) -> None:
        """A list of positions, whatever is filled meanwhile: what it shows had not been paid for
        when the opening balance was answered, if it was begun late enough after that. What was
        shown and is no more may have been paid before the series shows that it has resolved."""
        shown = frozenset(market_id for (market_id, _), qty in held.items() if qty)
        self._shown, self._missing = shown, (self._missing | self._shown) - shown
        if begun_ns >= self._sure_from_ns:
            self._early -= shown
            self._unpaid.update(shown.intersection(self._listed))
        self._be_sure(shown, begun_ns)

    def listed(self, market: model.Market, *, ours: bool) -> None:
        """A market of ours, or of another series on the account, is known."""
        strike = strike_value(market.strike_value, market.strike_unit)
        self._listed[market.market_id] = (market.event_ticker, strike, ours)

    def is_listed(self, market_id: MarketId) -> bool:
        """Whether a market is known, whosever it is."""
        return market_id in self._listed

    def rungs_of(self, event_ticker: Ticker) -> list[MarketId]:
        """The known markets of an event, whether it still shows them or not."""
        return [key for key, (event, _, _) in self._listed.items() if event == event_ticker]

    def state_shown(self, market: model.Market, believed_from_ns: int, now_ns: int) -> None:
        """A read of the series, which speaks of `believed_from_ns` and before, shows a rung.

        A resolution that was taken back is forgotten, unless it has paid: what is bought from then
        on would be settled by cash that never comes, and its shares compared with no list.
        """
        market_id = market.market_id
        if market.state is model.MarketState.RESOLVED:
            self.resolved(market_id, now_ns)
            return
        found = self._resolved.get(market_id)
        if found is None or self._book.winner(market_id) is not None:
            return
        if found.seen_ns < believed_from_ns:  # else it may only be an older copy
            del self._resolved[market_id]

    def resolved(self, market_id: MarketId, now_ns: int) -> None:
        """A market has resolved: its positions leave the venue's list, and pay; again changes
        nothing."""
        if market_id not in self._resolved:
            self._resolved[market_id] = _Resolved(now_ns)

    def is_resolved(self, market_id: MarketId) -> bool:
        """Whether a market has resolved."""
        return market_id in self._resolved

    def resolved_ns(self, market_id: MarketId) -> int | None:
        """When a market was first seen resolved; None when it has not been."""
        found = self._resolved.get(market_id)
        return None if found is None else found.seen_ns

    def positions_read(self, held: Held, ended_ns: int) -> None:
        """A list of positions that shows every booked fill: what it lacks has been paid.

        Shares of a market that nobody listed here leave it for no other reason (S22).
        """
        for market_id in self._book.unlisted_holdings():
            if not self._is_held(held, market_id):
                self.resolved(market_id, ended_ns)
        for market_id, found in self._resolved.items():
            if found.paid_ns is None and not self._is_held(held, market_id):
                found.paid_ns = ended_ns

    def resolved_read(self, held: Held, begun_ns: int, ended_ns: int) -> None:
        """A list of positions, whatever is filled elsewhere meanwhile: of a market that was seen
        resolved long enough before it shows every fill, for none came since. What it lacks there
        has been paid."""
        for market_id, found in self._resolved.items():
            if found.paid_ns is not None or begun_ns <= found.seen_ns + self._lag_ns:
                continue
            if market_id in self._listed and not self._is_held(held, market_id):
                found.paid_ns = ended_ns

    def _is_held(self, held: Held, market_id: MarketId) -> bool:
        return any(held.get((market_id, outcome), 0) for outcome in Outcome)

    def waiting(self, paid_before_ns: int | None = None) -> list[Waiting]:
        """Resolved rungs whose shares wait for a winner; those alone that a balance read begun at
        `paid_before_ns` must show as paid, if that is given."""
        found = []
        for market_id, each in self._resolved.items():
            yes_qty, no_qty = self._book.holdings(market_id)
            if not (yes_qty or no_qty) or self._book.winner(market_id) is not None:
                continue
            if paid_before_ns is not None and (
                each.paid_ns is None or paid_before_ns <= each.paid_ns + self._lag_ns
            ):
                continue
            event_ticker, strike, ours = self._listed.get(market_id, (Ticker(""), None, False))
            is_early = market_id in self._early
            found.append(Waiting(market_id, event_ticker, strike, yes_qty, no_qty, ours, is_early))
        return found

    def waits_since_ns(self) -> int:
        """When the first of the rungs whose shares wait for a winner was seen resolved; 0 without
        any."""
        return min((self._resolved[rung.market_id].seen_ns for rung in self.waiting()), default=0)

    def may_yet_pay(self, now_ns: int) -> bool:
        """Whether shares of a rung that resolved of late wait to be seen paid."""
        return any(
            now_ns < self._resolved[rung.market_id].seen_ns + SETTLES_WITHIN_NS
            for rung in self.waiting()
        )

    def paid_by_ns(self) -> int | None:
        """Balance reads begun later show what every rung that waits was paid; None while there is
        one of which that is not known."""
        paid_ns = [self._resolved[rung.market_id].paid_ns for rung in self.waiting()]
        if None in paid_ns:
            return None
        return max((each for each in paid_ns if each is not None), default=0) + self._lag_ns

    def winners(
        self, received_cents: tuple[int, ...], begun_ns: int, late_cents: tuple[int, ...] = ()
    ) -> dict[MarketId, Outcome]:
        """The winners that a balance read begun at `begun_ns` tells, if it tells any.

        received_cents: what it may have beyond the cash of the fills, of what has settled before
        and of what else differs, the likeliest first: the first that can have been paid counts.
        late_cents: see `winners_by_cash`.
        """
        known: dict[Ticker, list[tuple[Decimal, Outcome]]] = {}
        for market_id in self._resolved:
            winner = self._book.winner(market_id)
            event_ticker, strike, _ = self._listed.get(market_id, (Ticker(""), None, False))
            if winner is not None and strike is not None:
                known.setdefault(event_ticker, []).append((strike, winner))
        paid = self.waiting(begun_ns)
        unseen = self._missing - self._resolved.keys()
        if (
            not paid
            or len(paid) < len(self.waiting())
            or any(any(self._book.holdings(market_id)) for market_id in unseen)
        ):
            # What is about to be paid, or just was, could be taken for what these were paid.
            return {}
        winners: dict[MarketId, Outcome] = {}
        for market_id, winner in winners_by_cash(received_cents, paid, known, late_cents).items():
            if winner is None:
                self.untold.append(market_id)
            else:
                winners[market_id] = winner
        return winners

    def forget(self, event_ticker: Ticker) -> None:
        """Drop the markets of an event."""
        gone = self.rungs_of(event_ticker)
        self._shown, self._missing = self._shown.difference(gone), self._missing.difference(gone)
        for market_id in gone:
            del self._listed[market_id]
            self._resolved.pop(market_id, None)
            self._early.discard(market_id)
            self._unpaid.discard(market_id)
            self._of_before.pop(market_id, None)
            self._unsure.pop(market_id, None)
            self._doubted.discard(market_id)
            self._told.discard(market_id)
