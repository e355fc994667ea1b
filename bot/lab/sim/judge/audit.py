"""The auditor of one series: what must hold of the account, by the engine's events and the traffic.

It shares no arithmetic with the trader: cash, holdings, resting orders and worst cases are added up
anew, from what the engine says it did and from what has left towards it. May be live: what rests,
creates that may yet land at full size, amends on their way at the worse price and size.
"""

from bot.core import messages as m
from bot.core.settings import RiskSettings
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.exposure import Exposure
from bot.lab.sim.judge.flight import Flight
from bot.lab.sim.judge.possible import DOLLAR, Fees, level_of
from bot.lab.sim.judge.together import Account
from bot.lab.sim.judge.truth import Truth, may_rest
from bot.lab.sim.odds import Odds
from bot.lab.sim.seen import Seen
from bot.lab.sim.venue.simulated import SimulatedVenue
from venue.core import messages as v
from venue.wire.model import Liquidity
from venue.wire.money import Outcome, Side
from venue.wire.names import MarketId, OrderId, Ticker

_SIBLINGS_MAX = 4
"""Orders possibly live in one slot by one route (sold or bought): three siblings, and one more
that a plan moves there."""


class Auditor:
    """Watches the engine and the traffic of every life of the bot."""

    def __init__(
        self,
        odds: Odds,
        risk: RiskSettings,
        exchange: SimulatedVenue,
        seen: Seen,
        account: Account | None = None,
    ) -> None:
        self.truth = Truth()
        self._seen = seen
        self._dearer = exchange.readings.dearer
        self.resolves_ns = exchange.resolves_ns
        # An order that is meant to rest may take, so that the dearer of both rates counts.
        self._fees = fees = Fees(max(odds.fee_rate, odds.maker_fee_rate, key=float))
        markets = exchange.markets
        self.flight = Flight(self.truth, (each for its in markets.values() for each in its))
        if account is None:
            account = Account(risk.account_loss_cents)
        self.exposure = Exposure(risk, fees, self.truth, self.flight, markets, account)
        account.joins(self)
        self.market_of: dict[OrderId, MarketId] = {}
        self.payouts: list[int] = []
        self.resolved_ns: dict[MarketId, int] = {}
        self._now_ns = 0
        self.fills = 0
        exchange.watchers.append(self.applied)

    # --- the engine -------------------------------------------------------------------------------

    def applied(
        self, command: v.Command, answer: v.Answer, events: list[v.Event], now_ns: int
    ) -> None:
        ours = self.exposure.is_ours
        if isinstance(command, v.PlaceOrder) and command.user_id == MAKER:
            if not ours(command.order.market_id):
                return
            self._placed(command, answer)
        elif isinstance(command, v.Withdraw) and command.user_id == MAKER:
            # Nobody tells the bot: for a while it counts on cash that is gone.
            self.exposure.account.spent_beside = True
        elif isinstance(command, v.AmendOrder) and isinstance(answer, v.Amended):
            self._renamed(command.order_id, answer.order.order_id)
        if not events:
            return
        self._now_ns = now_ns
        booked: Ticker | None = None
        for event in events:
            if isinstance(event, v.OrderChanged):
                if event.order.user_id == MAKER and ours(event.order.market_id):
                    self.truth.take(event.order)
            elif isinstance(event, v.FillBooked):
                if event.user_id == MAKER and ours(event.market_id):
                    self.truth.fills.append((now_ns, event))
                    booked = self._book(event)
            elif isinstance(event, v.PositionChanged):
                if event.user_id == MAKER and ours(event.market_id):
                    self.truth.held[event.market_id, event.outcome] = event.qty
            elif isinstance(event, v.BalanceChanged) and event.user_id == MAKER:
                self.exposure.account.total_cents = event.available_cents + event.reserved_cents
                self.exposure.account.available_cents = event.available_cents
        if isinstance(command, v.PlaceOrder | v.AmendOrder) and command.user_id == MAKER:
            self._no_self_trade(command, answer, events)
        if isinstance(command, v.ResolveMarket) and ours(command.market_id):
            self.resolved_ns[command.market_id] = now_ns
            self._resolved(command)
        elif booked is not None:
            self.exposure.within_loss(booked, self._now_ns)

    def _renamed(self, before: OrderId, order_id: OrderId) -> None:
        if order_id == before or before not in self.truth.names:
            return
        self._seen.hit("id_changed")
        self.truth.renamed[before] = None
        self.truth.names[order_id] = name = self.truth.names[before]
        self.flight.order_of[name] = order_id
        self.market_of[order_id] = self.market_of[before]
        if before in self.truth.foreign:
            self.truth.foreign[order_id] = None

    def own_levels(self, market: MarketId) -> list[int]:
        here = self.truth.working_in.get(market, {})
        return [level_of(order.outcome, order.price) for order in here.values()]

    def _placed(self, command: v.PlaceOrder, answer: v.Answer) -> None:
        name = command.order.client_order_id
        if isinstance(answer, v.Placed):
            order_id = answer.order.order_id
            self.flight.landed(command.order.market_id, name, order_id)
            self.market_of[order_id] = command.order.market_id
            self.truth.names[order_id] = name
            if name not in self.flight.bodies:
                self.truth.foreign[order_id] = None
                self.exposure.account.spent_beside = True
            if int(order_id) > 2**53:
                self._seen.hit("order_id_beyond_2_53")

    def _book(self, fill: v.FillBooked) -> Ticker:
        cents = self._cents(fill)
        event = self.exposure.event_of(fill.market_id)
        self.truth.moved(event, cents)
        if fill.order_id in self.truth.foreign:
            self.truth.strange[fill.fill_id] = fill.order_id
        self.fills += 1
        self._seen.hit("fill_with_fee" if fill.fee_cents else "fill")
        if fill.liquidity is Liquidity.MAKER:
            self._seen.hit("late_fill")
        return event

    def cents_since(self, world_ns: int) -> list[int]:
        """The cents that came by each fill since then; below zero: went."""
        return [self._cents(fill) for at_ns, fill in self.truth.fills if at_ns >= world_ns]

    def _cents(self, fill: v.FillBooked) -> int:
        """The cents that came by a fill; below zero where they went."""
        sign = -1 if fill.side is Side.BUY else 1
        fee_cents = fill.fee_cents + (fill.fill_id in self._dearer)
        return sign * fill.qty * fill.outcome_price - fee_cents

    def loses_cents(self) -> int:
        return self.exposure.loses_cents()

    def has_order(self, order_id: OrderId) -> bool:
        return order_id in self.market_of

    def locks_cents(self) -> int:
        return self.flight.locks_cents(self._fees)

    def strange_cents(self) -> int:
        return self.exposure.strange("loss")

    def live_count(self) -> int:
        return self.flight.count()

    def _resolved(self, command: v.ResolveMarket) -> None:
        market = command.market_id
        self.truth.resolved[market] = command.winner
        for outcome in Outcome:
            self.truth.held.pop((market, outcome), None)

    def pays(self, market: MarketId, winner: Outcome) -> None:
        cents = DOLLAR * self.truth.shares(market, winner)
        self.exposure.pays(market)
        self.truth.pays(self.exposure.event_of(market), cents)
        self.payouts.append(cents)

    def _no_self_trade(
        self, command: v.PlaceOrder | v.AmendOrder, answer: v.Answer, events: list[v.Event]
    ) -> None:
        """B11: a write of ours changes no other order of ours, and ends its own only by filling."""
        if not isinstance(answer, v.Placed | v.Amended):
            return
        own = answer.order
        foreign = self.truth.foreign
        if own.order_id in foreign or not self.exposure.is_ours(own.market_id):
            return
        met = False
        ids = [own.order_id]
        if isinstance(command, v.AmendOrder):
            ids.append(command.order_id)  # which may be another now
        for event in events:
            if isinstance(event, v.OrderChanged) and event.order.user_id == MAKER:
                other = event.order.order_id
                met = met or other in foreign
                check(other in ids or other in foreign, "B11", f"self-trade with {own}")
        if isinstance(answer, v.Placed) and answer.fresh and not met and may_rest(own):
            check(own.filled_qty + own.remaining_qty == own.qty, "B11", f"shrunk: {own}")

    def listed(self, event: Ticker, market: MarketId) -> None:
        self.exposure.listed(event, market)
        self.flight.listed(market)

    def limits_are(self, risk: RiskSettings) -> None:
        self.exposure.account.learns()
        if self.exposure.limits_are(risk, self._now_ns):
            self._seen.hit("limit_lowered_below_use")

    # --- the traffic ------------------------------------------------------------------------------

    def sent(self, request: m.Request) -> None:
        """The trader has a request sent: B1, B3, B11, B12 with it counted."""
        if isinstance(request, m.CancelResting | m.AmendResting):
            self.exposure.account.leaves_alone(self, request)
        if isinstance(request, m.Create):
            self._create_sent(request)
        elif isinstance(request, m.AmendResting):
            amend = request.amend
            check(amend.qty is None or amend.qty >= 1, "B12", amend)
            check(amend.price is None or 1 <= amend.price <= 99, "B12", amend)
            order = self.truth.working.get(request.order_id)
            if order is not None and amend.price is not None:
                self._crosses_nothing(order.market_id, order.outcome, order.side, amend.price)
            self.flight.amends(request)
            if order is not None:
                self._counted(order.market_id)

    def _create_sent(self, request: m.Create) -> None:
        order, name = request.order, request.order.client_order_id
        known = self.flight.bodies.get(name)
        check(known is None or known == request.body, "B1", "a client_order_id with two bodies")
        check((known is not None) == request.again, "B12", f"again is {request.again}")
        self.flight.leaves(request)
        check(type(order.price) is int and 1 <= order.price <= 99, "B12", order)
        check(type(order.qty) is int and order.qty >= 1, "B12", order)
        # One that is sent again is what it was, whatever the limits have become since.
        check(request.again or order.qty <= self.exposure.ceilings.limit("order"), "B12", order)
        if name in self.flight.order_of:
            return
        if not request.again:
            level, rests = level_of(order.outcome, order.price), may_rest(order)
            is_bid = (order.outcome is Outcome.YES) == (order.side is Side.BUY)
            self._crosses_nothing(order.market_id, order.outcome, order.side, order.price)
            here = [
                each
                for each in self.flight.possible(order.market_id)
                if each.is_bid is is_bid
                and each.is_buy is (order.side is Side.BUY)
                and level in each.levels
                and each.rests
            ]
            check(
                not rests or len(here) < _SIBLINGS_MAX,
                "B1",
                f"{len(here)} orders in the slot of {order}",
            )
        self.flight.may_land(order)
        if not request.again:
            self.exposure.made(name)
            self._counted(order.market_id)
        else:
            self.exposure.made_again(name, self._now_ns)

    def _crosses_nothing(self, market: MarketId, outcome: Outcome, side: Side, price: int) -> None:
        """B11: a price of ours meets nothing of ours that may be live."""
        level = level_of(outcome, price)
        is_bid = (outcome is Outcome.YES) == (side is Side.BUY)
        for each in self.flight.possible(market):
            if each.is_bid is is_bid:
                continue
            self._seen.hit("cross_checked")
            for other in each.levels:
                meets = other <= level if is_bid else other >= level
                check(not meets, "B11", f"{side} {outcome} {price} on {market} meets our {other}")

    def _counted(self, market: MarketId) -> None:
        """B3 with what has just been sent."""
        self._seen.hit("limit_checked")
        if self.flight.is_under_way(market):
            self._seen.hit("limit_with_flight")
        if self.exposure.is_on_ladder(market):
            self._seen.hit("limit_on_ladder")
        self.exposure.account.within_cash()
        self.exposure.within_position(market, self._now_ns)
        self.exposure.within_loss(self.exposure.event_of(market), self._now_ns, sent=True)
