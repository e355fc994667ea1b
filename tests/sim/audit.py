"""The auditor: what must hold after every step, reckoned from the engine's events and the traffic.

It shares no arithmetic with the trader: cash, holdings, resting orders and worst cases are added up
here anew, from what the engine says it did.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from bot.core import messages as m
from tests.sim.exchange import MAKER, Exchange
from tests.sim.odds import SECOND, Odds
from venue.core import messages as v
from venue.wire.model import RESTING
from venue.wire.money import Outcome, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId


class Broken(AssertionError):
    """An invariant does not hold."""


def check(holds: bool, invariant: str, text: object) -> None:
    """Raise `Broken` unless it holds."""
    if not holds:
        raise Broken(f"{invariant}: {text}")


@dataclass
class Truth:
    """The maker's account as the engine's events make it."""

    cash: dict[str, int] = field(default_factory=dict)
    held: dict[tuple[MarketId, Outcome], int] = field(default_factory=dict)
    orders: dict[OrderId, v.OrderState] = field(default_factory=dict)
    working: dict[OrderId, v.OrderState] = field(default_factory=dict)
    flow_cents: int = 0
    total_cents: int = 0

    def take(self, order: v.OrderState) -> None:
        """An order is now this."""
        self.orders[order.order_id] = order
        if order.status in RESTING:
            self.working[order.order_id] = order
        else:
            self.working.pop(order.order_id, None)

    def resting(self) -> list[v.OrderState]:
        """Orders that stand in the book."""
        return list(self.working.values())


class Auditor:
    """Watches the engine and the traffic of every trader of the account."""

    def __init__(self, odds: Odds, exchange: Exchange) -> None:
        self.truth = Truth()
        self._odds = odds
        self._markets = exchange.markets
        self._event_of = {
            market: event for event, markets in exchange.markets.items() for market in markets
        }
        self._rate = Fraction(odds.fee_rate)
        self._bodies: dict[ClientOrderId, bytes] = {}
        self._order_of: dict[ClientOrderId, OrderId] = {}
        self.worst_seen = 0
        self.fills = 0
        exchange.watchers.append(self.applied)

    # --- the engine -------------------------------------------------------------------------------

    def applied(
        self, command: v.Command, answer: v.Answer, events: list[v.Event], now_ns: int
    ) -> None:
        """A command was carried out: take in what it did and check what must hold."""
        mine = False
        for event in events:
            match event:
                case v.FillBooked(user_id=user) if user == MAKER:
                    self._book(event)
                    mine = True
                case v.PositionChanged(user_id=user) if user == MAKER:
                    self.truth.held[event.market_id, event.outcome] = event.qty
                case v.OrderChanged() if event.order.user_id == MAKER:
                    self.truth.take(event.order)
                    mine = True
                case v.BalanceChanged(user_id=user) if user == MAKER:
                    self.truth.total_cents = event.available_cents + event.reserved_cents
                case _:
                    pass
        if isinstance(command, v.PlaceOrder | v.AmendOrder) and command.user_id == MAKER:
            self._no_self_trade(answer, events)
        if mine:
            self._within_limits()

    def _book(self, fill: v.FillBooked) -> None:
        sign = -1 if fill.side is Side.BUY else 1
        cents = sign * fill.qty * fill.outcome_price - fill.fee_cents
        event = self._event_of[fill.market_id]
        self.truth.cash[event] = self.truth.cash.get(event, 0) + cents
        self.truth.flow_cents += cents
        self.fills += 1

    def _no_self_trade(self, answer: v.Answer, events: list[v.Event]) -> None:
        """B11: a write of ours changes no other order of ours, and ends its own only by filling."""
        if isinstance(answer, v.Placed):
            known = self._order_of.setdefault(answer.client_order_id, answer.order.order_id)
            check(known == answer.order.order_id, "B1", "two orders for one client_order_id")
        if not isinstance(answer, v.Placed | v.Amended):
            return
        own = answer.order
        for event in events:
            if isinstance(event, v.OrderChanged) and event.order.user_id == MAKER:
                check(event.order.order_id == own.order_id, "B11", f"self-trade with {own}")
        if isinstance(answer, v.Placed) and answer.fresh:
            check(own.filled_qty + own.remaining_qty == own.qty, "B11", f"shrunk: {own}")

    def _within_limits(self) -> None:
        """B3: no subset of fills of what rests can lose more than the limit, or pass a position."""
        for event, markets in self._markets.items():
            worst = self._worst(event, markets)
            self.worst_seen = max(self.worst_seen, -worst)
            check(
                worst >= -self._odds.event_loss_cents,
                "B3",
                f"{event} may lose {-worst}, limit {self._odds.event_loss_cents}",
            )
        for market in self._event_of:
            net = self._held(market, Outcome.YES) - self._held(market, Outcome.NO)
            for is_bid in (True, False):
                side = sum(
                    order.remaining_qty
                    for order in self.truth.resting()
                    if order.market_id == market and _is_bid(order) is is_bid
                )
                after = net + side if is_bid else side - net
                check(
                    side == 0 or after <= self._odds.rung_position_qty,
                    "B3",
                    f"position of {market} may become {after}",
                )

    def _held(self, market: MarketId, outcome: Outcome) -> int:
        return self.truth.held.get((market, outcome), 0)

    def _worst(self, event: str, markets: list[MarketId]) -> int:
        """The least over n + 1 outcomes of what is left if everything that hurts fills."""
        resting = [order for order in self.truth.resting() if order.event_ticker == event]
        rung_of = {market: index for index, market in enumerate(markets)}
        outcomes = []
        for rungs_yes in range(len(markets) + 1):
            value = self.truth.cash.get(event, 0)
            for market, index in rung_of.items():
                outcome = Outcome.YES if index < rungs_yes else Outcome.NO
                value += 100 * self._held(market, outcome)
            for order in resting:
                wins = (rung_of[order.market_id] < rungs_yes) == (order.outcome is Outcome.YES)
                gain = (100 * wins - order.price) * order.remaining_qty
                gain = gain if order.side is Side.BUY else -gain
                value += min(0, gain - self._fee(order))
            outcomes.append(value)
        return min(outcomes)

    def _fee(self, order: v.OrderState) -> int:
        exact = self._rate * order.remaining_qty * order.price * (100 - order.price) / 100
        return -int(-exact // 1)

    # --- the traffic ------------------------------------------------------------------------------

    def sent(self, request: m.Request) -> None:
        """B1, B12: one body per client_order_id, legal numbers, nothing sent twice but re-sends."""
        if isinstance(request, m.Create):
            order = request.order
            known = self._bodies.get(order.client_order_id)
            check(known is None or known == request.body, "B1", "a client_order_id with two bodies")
            check((known is not None) == request.again, "B12", f"again is {request.again}")
            self._bodies[order.client_order_id] = request.body
            check(type(order.price) is int and 1 <= order.price <= 99, "B12", order)
            check(type(order.qty) is int and 1 <= order.qty <= self._odds.order_qty, "B12", order)
        elif isinstance(request, m.AmendResting):
            amend = request.amend
            check(amend.qty is None or amend.qty >= 1, "B12", amend)
            check(amend.price is None or 1 <= amend.price <= 99, "B12", amend)


class Traffic:
    """B5 for one life of a trader: the sends of any window, and the silence after Retry-After."""

    def __init__(self, now_ns: int, rate: int, burst: int, reserve: int) -> None:
        self._rate, self._burst, self._reserve = rate, burst, reserve
        self._level = Fraction(burst)
        self._at_ns = now_ns
        self._closed_until_ns = 0

    def sent(self, request: m.Request, now_ns: int) -> None:
        """A request leaves."""
        check(now_ns >= self._closed_until_ns, "B5", "sent inside Retry-After")
        gained = Fraction(now_ns - self._at_ns, SECOND) * self._rate
        self._level = min(Fraction(self._burst), self._level + gained) - 1
        self._at_ns = now_ns
        check(self._level >= 0, "B5", "more than burst + rate x t were sent")
        if isinstance(request, m.Create) and not request.again:
            check(self._level >= self._reserve, "B5", "a create took a reserved token")

    def told_to_wait(self, retry_after_ns: int, now_ns: int) -> None:
        """A 429 with Retry-After arrived."""
        self._closed_until_ns = max(self._closed_until_ns, now_ns + retry_after_ns)


def _is_bid(order: v.OrderState) -> bool:
    return (order.outcome is Outcome.YES) == (order.side is Side.BUY)
