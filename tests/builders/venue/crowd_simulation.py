"""The crowd against the real engine in simulated time, with a plain maker if wanted."""

import collections
import math

from venue.crowd.crowd import SeededCrowd
from venue.crowd.follower import TapeFollower
from venue.crowd.run import CrowdPlan, make_actor, opening_commands
from venue.engine import messages as m
from venue.engine.engine import Engine
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.model import EventStatus
from venue.wire.money import (
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    Cents,
    FeeRate,
    Outcome,
    Price,
    Qty,
    Side,
    complement,
)
from venue.wire.names import ClientOrderId, MarketId, OrderId, ProjectId, Ticker, UserId
from venue.wire.requests import QtyOrder, TimeInForce

START_NS = 1_800_000_000 * NS_PER_SECOND
LAG_NS = 5 * NS_PER_MS
BEAT_NS = 25 * NS_PER_MS
ME = UserId("me")
PROJECT = ProjectId("00000000-0000-4000-8000-000000000001")
STRIKES = ("175", "187.5", "200", "206.25", "212.5", "218.75", "225", "237.5", "250")


def ladder(strikes=STRIKES, days=40, binary=False):
    """Company, event and rungs of a survival ladder, or one binary market."""
    event = Ticker("ACME-VAL-27Q1")
    commands = [
        m.ListCompany(PROJECT, "Acme", "ACME"),
        m.ListEvent(
            event_ticker=event,
            series_ticker=Ticker("ACME-VAL"),
            project_market_id="00000000-0000-4000-8000-000000000002",
            project_id=PROJECT,
            title="Acme",
            category="valuation",
            status=EventStatus.OPEN,
            mutually_exclusive=False,
            resolution_date_ns=START_NS + days * 86_400 * NS_PER_SECOND,
        ),
    ]
    for place, strike in enumerate(("YES",) if binary else strikes):
        commands.append(
            m.ListMarket(
                market_id=market_id(place),
                ticker=Ticker(f"{event}-{strike}"),
                event_ticker=event,
                name=strike,
                outcome_label=strike,
                maker_fee_rate=FeeRate.parse("0.0100"),
                taker_fee_rate=FeeRate.parse("0.0175"),
                strike_value=None if binary else strike,
                strike_unit=None if binary else "USD billions",
            )
        )
    return commands


def market_id(place):
    """The UUID of a rung of `ladder`."""
    return MarketId(f"00000000-0000-4000-9000-{place:012d}")


class Simulation:
    """One engine, one crowd or tape, events visible after a lag, every command and answer kept."""

    def __init__(self, plan: CrowdPlan):
        self.now_ns = START_NS
        self.settings = plan.settings
        self.markets = [each.market_id for each in plan.catalogue if isinstance(each, m.ListMarket)]
        self.engine = Engine(b"k" * 32)
        self.actor: SeededCrowd | TapeFollower = make_actor(plan)
        self.commands: list[m.Command] = []
        self.answers: collections.Counter[str] = collections.Counter()
        self.events: list[m.Event] = []
        self.depth: dict[tuple[MarketId, BookSide], dict[Price, Qty]] = {}
        self.states: dict[OrderId, m.OrderState] = {}
        self.cash: dict[UserId, m.BalanceChanged] = {}
        self.prints: list[m.TradePrinted] = []
        self.fills: list[m.FillBooked] = []
        self.values: list[m.ImpliedValuePublished] = []
        self._waiting: collections.deque[tuple[int, list[m.Event]]] = collections.deque()
        for command in [*plan.catalogue, *opening_commands(plan)]:
            answer, events = self.engine.apply(command, self.now_ns)
            assert isinstance(answer, m.Accepted), answer
            self._keep(events)

    def do(self, command: m.Command) -> m.Answer:
        """Carry a command out now; its events become visible after the lag."""
        answer, events = self.engine.apply(command, self.now_ns)
        name = type(answer).__name__
        self.answers[answer.code.value if isinstance(answer, m.Refused) else name] += 1
        self._keep(events)
        self._waiting.append((self.now_ns + LAG_NS, events))
        return answer

    def run(self, seconds: float, each_beat=None):
        """Let the crowd trade for so long; `each_beat(simulation)` is called before it acts."""
        end_ns = self.now_ns + int(seconds * NS_PER_SECOND)
        while self.now_ns < end_ns:
            self.now_ns += BEAT_NS
            while self._waiting and self._waiting[0][0] <= self.now_ns:
                self.actor.observe(self._waiting.popleft()[1], self.now_ns)
            if each_beat is not None:
                each_beat(self)
            for command in self.actor.step(self.now_ns):
                self.commands.append(command)
                self.do(command)
        return self

    def best(self, market, side):
        """The best canonical price of a side, or None."""
        levels = self.depth.get((market, side))
        if not levels:
            return None
        return max(levels) if side is BookSide.BID else min(levels)

    def two_sided(self, market):
        """Whether both sides of a book have something resting."""
        return all(self.best(market, side) is not None for side in BookSide)

    def _keep(self, events):
        for event in events:
            match event:
                case m.LevelChanged():
                    levels = self.depth.setdefault((event.market_id, event.side), {})
                    levels[event.price] = event.size
                    if event.size == 0:
                        del levels[event.price]
                case m.OrderChanged(order=order):
                    self.states[order.order_id] = order
                case m.BalanceChanged():
                    self.cash[event.user_id] = event
                case m.TradePrinted():
                    self.prints.append(event)
                case m.FillBooked():
                    self.fills.append(event)
                case m.ImpliedValuePublished():
                    self.values.append(event)
                case _:
                    pass


class PlainMaker:
    """Quotes one bid and one ask a rung around the middle of the others, once a second."""

    def __init__(self, simulation, markets, half_spread_cents=2, qty=10, fair=None):
        self.markets, self.half, self.qty, self.fair = markets, half_spread_cents, qty, fair
        self.orders: dict[tuple[MarketId, BookSide], m.OrderState] = {}
        self.next_ns = simulation.now_ns + 2 * NS_PER_SECOND
        self.count = 0
        simulation.do(m.AddUser(ME))
        simulation.do(m.Deposit(ME, Cents(100_000_000)))

    def __call__(self, simulation):
        if simulation.now_ns < self.next_ns:
            return
        self.next_ns += NS_PER_SECOND
        for market in self.markets:
            middle = self._middle(simulation, market)
            if middle is None:
                continue
            for side in BookSide:
                away = -self.half if side is BookSide.BID else self.half
                price = math.floor(middle + away) if away < 0 else math.ceil(middle + away)
                self._quote(simulation, market, side, price)

    def _middle(self, simulation, market):
        if self.fair is not None:
            return self.fair(simulation, market)
        prices = []
        for side in BookSide:
            levels = dict(simulation.depth.get((market, side), {}))
            own = self.orders.get((market, side))
            if own is not None:
                state = simulation.states[own.order_id]
                price = state.price if side is BookSide.BID else complement(state.price)
                if price in levels:
                    levels[price] -= state.remaining_qty
            prices.append([price for price, size in levels.items() if size > 0])
        bids, asks = prices
        return (max(bids) + min(asks)) / 2 if bids and asks else None

    def _quote(self, simulation, market, side, price):
        outcome = Outcome.YES if side is BookSide.BID else Outcome.NO
        own_price = price if side is BookSide.BID else 100 - price
        order = self.orders.get((market, side))
        if order is not None:
            state = simulation.states[order.order_id]
            if state.remaining_qty == self.qty and state.price == own_price:
                return
            simulation.do(m.CancelOrder(ME, order.order_id))
            del self.orders[market, side]
        if not PRICE_MIN <= own_price <= PRICE_MAX:
            return
        self.count += 1
        body = QtyOrder(
            market,
            outcome,
            Side.BUY,
            Price(own_price),
            Qty(self.qty),
            TimeInForce.GTC,
            ClientOrderId(f"me-{self.count}"),
        )
        answer = simulation.do(m.PlaceOrder(ME, body))
        if isinstance(answer, m.Placed):
            self.orders[market, side] = answer.order
