"""What of the limits is in use: worst cases, net and gross, positions, and what rests.

Added up anew from what is held and what may be live; no arithmetic of the trader's.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from bot.core.settings import RiskSettings
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.ceilings import CENTS, LIMITS, Ceilings
from bot.lab.sim.judge.flight import Flight
from bot.lab.sim.judge.possible import DOLLAR, Fees, Possible, Sums, sums_of
from bot.lab.sim.judge.together import Account
from bot.lab.sim.judge.truth import Truth
from venue.wire.money import Outcome
from venue.wire.names import ClientOrderId, MarketId, Ticker

_FEE_MAX_CENTS: Final = 2
"""Of one share, at any rate that is drawn."""


class Exposure:
    """What is in use of each limit, and whether that may be. ceilings: the limits that hold."""

    def __init__(
        self,
        risk: RiskSettings,
        fees: Fees,
        truth: Truth,
        flight: Flight,
        markets: Mapping[Ticker, Sequence[MarketId]],
        account: Account,
    ) -> None:
        self.account = account
        self._fees = fees
        self._truth = truth
        self._flight = flight
        self._markets = markets
        self._event_of = {market: event for event, its in markets.items() for market in its}
        self._gone: dict[Ticker, int] = {}  # net shares that turned into cash, perhaps unknown yet
        self.ceilings = Ceilings(risk)
        self._history: dict[Ticker, int] = {}

    def cost_unknown(self) -> None:
        self._history = dict(self._truth.cash)

    def _cash(self, event: Ticker) -> int:
        return self._truth.cash.get(event, 0) - self._history.get(event, 0)

    def listed(self, event: Ticker, market: MarketId) -> None:
        self._event_of[market] = event

    def is_ours(self, market: MarketId) -> bool:
        return market in self._event_of

    def event_of(self, market: MarketId) -> Ticker:
        return self._event_of[market]

    def beside(self, market: MarketId) -> Sequence[MarketId]:
        return self._markets[self._event_of[market]]

    def is_on_ladder(self, market: MarketId) -> bool:
        return len(self.beside(market)) > 1

    def pays(self, market: MarketId) -> None:
        event = self._event_of[market]
        self._gone[event] = self._gone.get(event, 0) + abs(self._truth.net(market))

    def worst(self, event: Ticker, *, bare: bool = False) -> int:
        above = self._cash(event)
        rungs = []
        for market in self._markets[event]:
            if_yes = DOLLAR * self._truth.shares(market, Outcome.YES)
            if_no = DOLLAR * self._truth.shares(market, Outcome.NO)
            for each in () if bare else self._flight.possible(market):
                fee = self._fees.of(each.price, each.qty)
                pays_yes, pays_no = (DOLLAR, 0) if each.outcome is Outcome.YES else (0, DOLLAR)
                sign = 1 if each.is_buy else -1
                if_yes += min(0, sign * (pays_yes - each.price) * each.qty - fee)
                if_no += min(0, sign * (pays_no - each.price) * each.qty - fee)
            rungs.append((if_yes, if_no))
            above += if_no
        # Outcome b: the b lowest rungs pay YES, the others NO; a resolved rung rules some out.
        outcomes = [above]
        for if_yes, if_no in rungs:
            above += if_yes - if_no
            outcomes.append(above)
        first, last = 0, len(rungs)
        for index, market in enumerate(self._markets[event]):
            winner = self._truth.resolved.get(market)
            if winner is Outcome.YES:
                first = max(first, index + 1)
            elif winner is Outcome.NO:
                last = min(last, index)
        return min(outcomes[first : last + 1])

    def is_tight(self, market: MarketId, more: int) -> bool:
        """Whether the limits may leave no room for so many more shares at the worst price.

        A trader may count the fee of each share for itself, rounded up: a cent more a share. One
        that starts after shares have paid knows their cost alone; all are forgiven as much.
        """
        event, limit = self._event_of[market], self.ceilings.limit
        live_qty = sum(
            each.qty for every in self._event_of for each in self._flight.possible(every)
        )
        dear = DOLLAR * more + live_qty + more
        worst = {each: self.worst(each) - self._truth.paid.get(each, 0) for each in self._markets}
        total = sum(min(0, cents) for cents in worst.values())
        room = min(limit("loss") + worst[event], limit("series") + total)
        of_account = self.account.room_cents
        if of_account is not None:
            room = min(room, of_account)
        sums = self._sums(event)
        return (
            room < dear
            or 0 < limit("net") < max(sums.up, sums.down) + more
            or 0 < limit("gross") < sums.gross + more
            or 0 < limit("gross cents") < sums.apart + dear
            or 0 < limit("resting") < sums.resting + dear
        )

    def _used(self, event: Ticker, *, bare: bool = False) -> dict[str, int]:
        sums = self._sums(event, bare=bare)
        used = {
            "loss": -self.worst(event, bare=bare),
            "net": max(sums.up, sums.down) - self._gone.get(event, 0),
            "gross": sums.gross,
            "gross cents": sums.apart,
            "resting": sums.resting,
        }
        if len(self._markets) > 1:
            used["series"] = self.loses_cents(bare=bare)
        return used

    def loses_cents(self, *, bare: bool = False) -> int:
        open_events = (key for key, each in self._markets.items() if not self._truth.over(each))
        return -sum(min(0, self.worst(each, bare=bare)) for each in open_events)

    def _positions(self, market: MarketId) -> tuple[tuple[str, int], ...]:
        if market in self._truth.resolved:
            return ()
        net = self._truth.net(market)
        bids = asks = 0
        for each in self._flight.possible(market):
            if each.is_bid:
                bids += each.qty
            else:
                asks += each.qty
        long = net + bids if bids else 0
        return (("long", long), ("short", asks - net if asks else 0))

    def _in_use(self) -> dict[tuple[str, str], int]:
        used: dict[tuple[str, str], int] = {}
        for event, markets in self._markets.items():
            for name, amount in self._used(event).items():
                used[name, "" if name == "series" else event] = amount
            for market in markets:
                for way, amount in self._positions(market):
                    used["position", f"{market} {way}"] = amount
        return used

    def most_in_use(self) -> dict[str, int]:
        most: dict[str, int] = {}
        for (name, _), amount in self._in_use().items():
            most[LIMITS[name]] = max(amount, most.get(LIMITS[name], 0))
        return most

    def limits_are(self, risk: RiskSettings, now_ns: int) -> bool:
        return self.ceilings.change(risk, self._in_use(), now_ns)

    def made(self, name: ClientOrderId) -> None:
        self.ceilings.made(name)

    def made_again(self, name: ClientOrderId, now_ns: int) -> None:
        self.ceilings.lift(name, self._in_use(), now_ns)

    def overhangs(self) -> list[str]:
        out = []
        for event, markets in self._markets.items():
            bare = self._used(event, bare=True)
            for name, amount in self._used(event).items():
                known = amount - self.strange(name)
                if 0 < self.ceilings.limit(name) < known and amount > bare[name]:
                    out.append(f"{name} of {event}: {amount}, {bare[name]} by what is held")
            for market in markets:
                for way, amount in self._positions(market):
                    if amount - self.strange("position") > self.ceilings.limit("position"):
                        out.append(f"position of {market}, {way}: {amount}")
        return out

    def within_loss(self, event: Ticker, now_ns: int, *, sent: bool = False) -> None:
        """B3: no subset of fills of what may be live loses more than the limits, and those hold
        that do not hang on the outcome: net, gross, and what rests."""
        used = self._used(event)
        slack = sum(len(self._flight.possible(market)) + 1 for market in self._event_of)
        for name, amount in used.items():
            place = "" if name == "series" else event
            known = amount - self.strange(name)
            holds = self.ceilings.admits(name, place, known, now_ns, sent=sent, slack=slack)
            check(holds, "B3", f"{name} of {event}: {amount}, limit {self.ceilings.limit(name)}")
        self.account.within_loss()

    def strange(self, name: str) -> int:
        each = DOLLAR + _FEE_MAX_CENTS if name in CENTS else 1
        return each * len(self._truth.strange)

    def _sums(self, event: Ticker, *, bare: bool = False) -> Sums:
        def live(market: MarketId) -> list[Possible]:
            # What is on its way to a rung that has resolved is refused there.
            return [] if bare or market in self._truth.resolved else self._flight.possible(market)

        rungs = [
            (
                self._truth.shares(market, Outcome.YES),
                self._truth.shares(market, Outcome.NO),
                live(market),
            )
            for market in self._markets[event]
        ]
        everything = (each for market in self._event_of for each in live(market))
        return sums_of(self._cash(event), rungs, everything, self._fees)

    def within_position(self, market: MarketId, now_ns: int) -> None:
        """B3: no position can pass its limit; on a rung that has resolved nothing fills any more,
        and what was held has been paid."""
        for way, amount in self._positions(market):
            known, place = amount - self.strange("position"), f"{market} {way}"
            holds = self.ceilings.admits("position", place, known, now_ns, sent=True)
            text = f"position of {market}, {way}: {amount}"
            check(holds, "B3", f"{text}, limit {self.ceilings.limit('position')}")
