"""The auditor of one series: what must hold of the account, by the engine's events and the traffic.

It shares no arithmetic with the trader: cash, holdings, resting orders and worst cases are added up
again, from what the engine says it did and from what has left towards it.
"""

from bot.core import messages as m
from bot.core.settings import RiskSettings
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.coverage import Seen
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.limits import Account, Exposure
from bot.lab.sim.judge.truth import DOLLAR, Fees, Flight, Truth, level_of, may_rest, side_of
from bot.lab.sim.odds import Odds
from bot.lab.sim.venue.simulated import SimulatedVenue
from venue.engine import messages as v
from venue.wire.model import Liquidity
from venue.wire.money import Outcome, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker
from venue.wire.requests import QtyOrder

_SIBLINGS_MAX = 4
"""Orders possibly live in one slot by one route (sold or bought): three siblings, and one more
that a plan moves there."""


class Auditor:
    """Watches the engine and the traffic of every life of the bot."""

    def __init__(
        self, odds: Odds, risk: RiskSettings, exchange: SimulatedVenue, seen: Seen, account: Account
    ) -> None:
        self.truth = Truth()
        self._seen = seen
        self._dearer = exchange.readings.dearer
        self.resolves_ns = exchange.resolves_ns
        markets = exchange.markets
        self.flight = Flight(self.truth, (each for its in markets.values() for each in its))
        # An order that is meant to rest may take, so that the dearer of both rates counts.
        fees = Fees(max(odds.fee_rate, odds.maker_fee_rate, key=float))
        self.exposure = Exposure(risk, fees, self.truth, self.flight, markets, account)
        exchange.watchers.append(self.applied)

    # --- the engine -------------------------------------------------------------------------------

    def applied(
        self, command: v.Command, answer: v.Answer, events: list[v.Event], now_ns: int
    ) -> None:
        ours, account = self.exposure.is_ours, self.exposure.account
        if isinstance(command, v.PlaceOrder) and command.user_id == MAKER:
            if not ours(command.order.market_id):
                return
            if isinstance(answer, v.Placed):
                self._placed(command.order.client_order_id, answer.order)
        elif isinstance(command, v.Withdraw) and command.user_id == MAKER:
            # Nobody tells the bot: for a while it counts on cash that is gone.
            account.spent_beside = True
        elif isinstance(command, v.AmendOrder) and isinstance(answer, v.Amended):
            self._amended(command.order_id, answer.order.order_id)
        for event in events:
            match event:
                case v.OrderChanged(order=it) if it.user_id == MAKER and ours(it.market_id):
                    self.truth.take(it)
                case v.FillBooked(user_id=user) if user == MAKER and ours(event.market_id):
                    self._book(event, now_ns)
                case v.PositionChanged(user_id=user) if user == MAKER and ours(event.market_id):
                    self.truth.held[event.market_id, event.outcome] = event.qty
                case v.BalanceChanged(user_id=user) if user == MAKER:
                    account.total_cents = event.available_cents + event.reserved_cents
                    account.available_cents = event.available_cents
        if isinstance(command, v.PlaceOrder | v.AmendOrder) and command.user_id == MAKER:
            self._no_self_trade(command, answer, events)
        if isinstance(command, v.ResolveMarket) and events and ours(command.market_id):
            self.truth.resolved[command.market_id] = command.winner
            for outcome in Outcome:
                self.truth.held.pop((command.market_id, outcome), None)

    def _placed(self, name: ClientOrderId, order: v.OrderState) -> None:
        order_id = order.order_id
        self.flight.landed(order.market_id, name, order_id)
        self.truth.names[order_id] = name
        if name not in self.flight.bodies:
            self.truth.foreign[order_id] = None
            self.exposure.account.spent_beside = True
        if int(order_id) > 2**53:
            self._seen.hit("order_id_beyond_2_53")

    def _amended(self, before: OrderId, order_id: OrderId) -> None:
        if order_id != before and before in self.truth.names:
            self._seen.hit("id_changed")
            self.truth.renames(before, order_id)
            self.flight.order_of[self.truth.names[order_id]] = order_id

    def _book(self, fill: v.FillBooked, now_ns: int) -> None:
        self.truth.fills.append((now_ns, fill))
        self.truth.moved(self.exposure.event_of(fill.market_id), self._cents(fill))
        self.truth.unshown_cents += fill.fill_id in self._dearer
        if fill.order_id in self.truth.foreign:
            self.truth.strange[fill.fill_id] = fill.order_id
        self._seen.hit("fill_with_fee" if fill.fee_cents else "fill")
        if fill.liquidity is Liquidity.MAKER:
            self._seen.hit("late_fill")

    def _cents(self, fill: v.FillBooked) -> int:
        """The cents that came by a fill; below zero where they went."""
        sign = -1 if fill.side is Side.BUY else 1
        fee_cents = fill.fee_cents + (fill.fill_id in self._dearer)
        return sign * fill.qty * fill.outcome_price - fee_cents

    def cents_since(self, world_ns: int) -> list[int]:
        """The cents that came by each fill since then; below zero: went."""
        return [self._cents(fill) for at_ns, fill in self.truth.fills if at_ns >= world_ns]

    def own_levels(self, market: MarketId) -> list[int]:
        here = self.truth.working_in.get(market, {})
        return [level_of(order.outcome, order.price) for order in here.values()]

    def pays(self, market: MarketId, winner: Outcome) -> None:
        """A market is about to resolve, and pays what is held of the winner."""
        event, truth = self.exposure.event_of(market), self.truth
        cents = DOLLAR * truth.held.get((market, winner), 0)
        self.exposure.pays(market)
        truth.moved(event, cents)
        truth.paid[event] = truth.paid.get(event, 0) + cents

    def listed(self, event: Ticker, market: MarketId) -> None:
        self.exposure.listed(event, market)
        self.flight.listed(market)

    def _no_self_trade(
        self, command: v.PlaceOrder | v.AmendOrder, answer: v.Answer, events: list[v.Event]
    ) -> None:
        """B11: a write of ours changes no other order of ours, and ends its own only by filling."""
        if not isinstance(answer, v.Placed | v.Amended):
            return
        own, foreign = answer.order, self.truth.foreign
        if own.order_id in foreign or not self.exposure.is_ours(own.market_id):
            return
        changed = {
            event.order.order_id
            for event in events
            if isinstance(event, v.OrderChanged) and event.order.user_id == MAKER
        }
        # The id that an amend names may be another one now.
        named = {own.order_id, command.order_id if isinstance(command, v.AmendOrder) else None}
        check(changed <= named | foreign.keys(), "B11", f"self-trade with {own}")
        is_alone = not changed & foreign.keys()
        if isinstance(answer, v.Placed) and answer.fresh and is_alone and may_rest(own):
            check(own.filled_qty + own.remaining_qty == own.qty, "B11", f"shrunk: {own}")

    # --- the traffic ------------------------------------------------------------------------------

    def sent(self, request: m.Request) -> None:
        """The trader has a request sent: B1, B3, B6, B11, B12 with it counted."""
        if isinstance(request, m.CancelResting | m.AmendResting):
            self.exposure.account.leaves_alone(self.exposure, request)
        if isinstance(request, m.Create):
            self._create_sent(request)
        elif isinstance(request, m.AmendResting):
            self._amend_sent(request)

    def _create_sent(self, request: m.Create) -> None:
        order = request.order
        self.flight.leaves(request)
        self._is_sane(order.price, order.qty)
        if order.client_order_id in self.flight.order_of:
            return
        if request.again:
            # It is what it was, whatever the limits have become since.
            self.flight.may_land(order)
            return
        check(order.qty <= self.exposure.limit("order"), "B12", order)
        self._crosses_nothing(order.market_id, order.outcome, order.side, order.price)
        self._fits_its_slot(order)
        before = self.exposure.before(order.market_id)
        self.flight.may_land(order)
        self._counted(order.market_id, before)

    def _amend_sent(self, request: m.AmendResting) -> None:
        amend, order = request.amend, self.truth.working.get(request.order_id)
        self._is_sane(amend.price, amend.qty)
        if order is None:
            self.flight.amends(request)
            return
        check(amend.qty is None or amend.qty < order.qty, "B1", f"{amend} of {order}")
        if amend.price is not None:
            self._crosses_nothing(order.market_id, order.outcome, order.side, amend.price)
        before = self.exposure.before(order.market_id)
        self.flight.amends(request)
        self._counted(order.market_id, before)

    def _is_sane(self, price: int | None, qty: int | None) -> None:
        check(price is None or (type(price) is int and 1 <= price <= 99), "B12", f"price {price}")
        check(qty is None or (type(qty) is int and qty >= 1), "B12", f"{qty} shares")

    def _fits_its_slot(self, order: QtyOrder) -> None:
        """B1: only so many orders may be live at one price by one route."""
        level, (_, is_bid) = level_of(order.outcome, order.price), side_of(order)
        count = sum(
            each.is_bid is is_bid
            and each.is_buy is (order.side is Side.BUY)
            and each.rests
            and level in each.levels
            for each in self.flight.possible(order.market_id)
        )
        few = not may_rest(order) or count < _SIBLINGS_MAX
        check(few, "B1", f"{count} orders in the slot of {order}")

    def _crosses_nothing(self, market: MarketId, outcome: Outcome, side: Side, price: int) -> None:
        """B11: a price of ours meets nothing of ours that may be live."""
        level = level_of(outcome, price)
        is_bid = (outcome is Outcome.YES) == (side is Side.BUY)
        for each in self.flight.possible(market):
            if each.is_bid is is_bid:
                continue
            self._seen.hit("cross_checked")
            meets = min(each.levels) <= level if is_bid else max(each.levels) >= level
            text = f"{side} {outcome} {price} on {market} meets our {each.levels}"
            check(not meets, "B11", text)

    def _counted(self, market: MarketId, before: tuple[dict[tuple[str, str], int], int]) -> None:
        """B3 with what has just been sent."""
        self._seen.hit("limit_checked")
        if self.flight.is_under_way(market):
            self._seen.hit("limit_with_flight")
        if len(self.exposure.ladder_of(market)) > 1:
            self._seen.hit("limit_on_ladder")
        self.exposure.within(market, before)
