"""Audits one series by the engine's events and the traffic: limits, exposure, crossing orders.

It shares no arithmetic with the trader. Whenever something leaves, the use of each limit (B3) is
within it, or no more than just before: what exceeds a lowered limit may only shrink.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Final, NamedTuple

from bot.core import messages as m
from bot.core.quoting.event_quoter import EventQuoter
from bot.core.settings import RiskSettings
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.coverage import EventCounts
from bot.lab.sim.scenario import DAY_NS, SimScenario
from bot.lab.sim.truth import (
    DOLLAR,
    Fees,
    Flight,
    Possible,
    Truth,
    check,
    level_of,
    may_rest,
    side_of,
)
from bot.lab.sim.venue import SimulatedVenue
from venue.engine import messages as v
from venue.wire.model import Liquidity
from venue.wire.money import Outcome, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker
from venue.wire.requests import QtyOrder

LIMITS: Final = {
    "loss": "event_loss_cents",
    "series": "series_loss_cents",
    "position": "rung_position_qty",
    "order": "order_qty",
    "net": "event_net_qty",
    "gross": "event_gross_qty",
    "gross cents": "event_gross_cents",
    "resting": "resting_cents",
}
_CENTS: Final = ("loss", "series", "gross cents", "resting")
_STRANGE_CENTS: Final = DOLLAR + 2  # the most that a share costs, with its fee


def is_looser(risk: RiskSettings, than: RiskSettings) -> bool:
    """True if any limit was raised or removed."""
    both = [(getattr(risk, name), getattr(than, name)) for name in LIMITS.values()]
    return any(old and not 0 < new <= old for new, old in both)


Use = dict[tuple[str, str], int]
"""The use of a limit in a place: an event, a side of a rung, or the whole series."""


class AuditedAccount:
    def __init__(self, loss_limit_cents: int) -> None:
        self.limit_cents = loss_limit_cents
        self.members: list[Exposure] = []
        self.available_cents = self.total_cents = 0

    def loses_cents(self) -> int:
        """What all series may lose together; 0 without a limit."""
        return sum(each.loses_cents() for each in self.members) if self.limit_cents else 0

    def orders(self) -> int:
        return sum(each.flight.count() for each in self.members)

    def leaves_alone(self, member: "Exposure", request: m.CancelResting | m.AmendResting) -> None:
        others = (each for each in self.members if each is not member)
        alone = not any(request.order_id in each.truth.names for each in others)
        check(alone, "B6", f"{request} is about an order of another series")

    def within_loss(self, before_cents: int) -> None:
        """B3 of the account."""
        cents = self.loses_cents()
        known = cents - sum(
            _STRANGE_CENTS * len(each.truth.strange) + each.truth.unshown_cents
            for each in self.members
        )
        text = f"all series may lose {cents} together, at most {self.limit_cents}"
        check(known <= max(self.limit_cents, before_cents), "B3", text)


class Exposure:
    def __init__(
        self,
        risk: RiskSettings,
        fees: Fees,
        truth: Truth,
        flight: Flight,
        markets: Mapping[Ticker, Sequence[MarketId]],
        account: AuditedAccount,
    ) -> None:
        self.risk = risk  # the limits that hold
        self.fees = fees
        self.truth = truth
        self.flight = flight
        self.account = account
        account.members.append(self)
        self._markets = markets
        self.event_of = {market: event for event, its in markets.items() for market in its}
        self._gone: dict[Ticker, int] = {}  # net shares that turned into cash, perhaps unknown yet
        self._history: dict[Ticker, int] = {}

    def limit(self, name: str) -> int:
        value: int = getattr(self.risk, LIMITS[name])
        return value

    def cost_unknown(self) -> None:
        """As far as a bot without its journal knows, its inventory cost nothing."""
        self._history = dict(self.truth.cash)

    def ladder_of(self, market: MarketId) -> Sequence[MarketId]:
        return self._markets[self.event_of[market]]

    def on_payout(self, market: MarketId) -> None:
        event = self.event_of[market]
        self._gone[event] = self._gone.get(event, 0) + abs(self.truth.net(market))

    def _live(self, market: MarketId, *, bare: bool) -> list[Possible]:
        return [] if bare else self.flight.possible(market)

    def used(self, event: Ticker, *, bare: bool = False) -> dict[str, int]:
        """The use of an event's limits. bare: by inventory alone. In outcome b of a ladder the b
        lowest rungs pay YES; a resolved rung rules some out. Net is 0 without an order on that
        side. Gross is counted rung by rung, as if each could fail."""
        net = bids = asks = gross = 0
        cash = self.truth.cash.get(event, 0) - self._history.get(event, 0)
        apart = all_no = cash
        swings = []
        first, last = 0, len(self._markets[event])
        for index, market in enumerate(self._markets[event]):
            yes = self.truth.held.get((market, Outcome.YES), 0)
            no = self.truth.held.get((market, Outcome.NO), 0)
            if_yes, if_no, up, down = DOLLAR * yes, DOLLAR * no, 0, 0
            for each in self._live(market, bare=bare):
                if each.is_bid:
                    up += each.qty
                    if_no -= each.loses(self.fees)
                else:
                    down += each.qty
                    if_yes -= each.loses(self.fees)
            net, bids, asks = net + yes - no, bids + up, asks + down
            gross += max(abs(yes - no + up), abs(yes - no - down))
            apart += min(if_yes, if_no)
            all_no += if_no
            swings.append(if_yes - if_no)
            winner = self.truth.resolved.get(market)
            if winner is Outcome.YES:
                first = max(first, index + 1)
            elif winner is Outcome.NO:
                last = min(last, index)
        outcomes = list(accumulate(swings, initial=all_no))
        either = max(net + bids if bids else 0, asks - net if asks else 0)
        return {
            "loss": -min(outcomes[first : last + 1]),
            "net": either - self._gone.get(event, 0),
            "gross": gross,
            "gross cents": -apart,
        }

    def equity_cents(self, marks: Mapping[MarketId, float]) -> float | None:
        """The cash of all fills and payouts, and the shares at these marks, in YES; None where
        shares have none."""
        cents: float = sum(self.truth.cash.values())
        for (market, outcome), qty in self.truth.held.items():
            if qty and market in self.event_of:
                if market not in marks:
                    return None
                mark = marks[market]
                cents += qty * (mark if outcome is Outcome.YES else DOLLAR - mark)
        return cents

    def worst_cents(self) -> int:
        """What `equity_cents` becomes at worst: everything that may fill does, and every event ends
        in its worst outcome."""
        history = sum(self._history.values())
        return history - sum(self.used(event)["loss"] for event in self._markets)

    def loses_cents(self) -> int:
        """Of events that still trade, whatever fills; 0 or more."""
        return sum(max(0, self.used(event)["loss"]) for event in self._open_events())

    def _open_events(self) -> Iterator[Ticker]:
        resolved = self.truth.resolved
        return (key for key, its in self._markets.items() if any(x not in resolved for x in its))

    def _in_use(self, events: Sequence[Ticker], *, bare: bool = False) -> Use:
        every = {event: self.used(event, bare=bare) for event in self._markets}
        use: Use = {(name, event): every[event][name] for event in events for name in every[event]}
        if len(self._markets) > 1:
            losses = (every[event]["loss"] for event in self._open_events())
            use["series", ""] = sum(max(0, each) for each in losses)
        everything = (each for key in self.event_of for each in self._live(key, bare=bare))
        use["resting", ""] = sum(each.loses(self.fees) for each in everything)
        for market in (key for event in events for key in self._markets[event]):
            net, live = self.truth.net(market), self._live(market, bare=bare)
            for is_bid, way in ((True, net), (False, -net)):
                qty = sum(each.qty for each in live if each.is_bid is is_bid)
                use["position", f"{market} {'long' if is_bid else 'short'}"] = qty and way + qty
        return use

    def most_in_use(self) -> dict[str, int]:
        most: dict[str, int] = {}
        for (name, _), amount in self._in_use(tuple(self._markets)).items():
            most[LIMITS[name]] = max(amount, most.get(LIMITS[name], 0))
        return most

    def _beyond(self, use: Use) -> Iterator[tuple[str, str]]:
        strange = len(self.truth.strange)
        unknown_cents = strange * _STRANGE_CENTS + self.truth.unshown_cents
        for (name, place), amount in use.items():
            known = amount - (unknown_cents if name in _CENTS else strange)
            if 0 < self.limit(name) < known:
                yield name, place

    def before(self, market: MarketId) -> tuple[Use, int]:
        """The use where a write to this market may change it, for `within` once it left."""
        return self._in_use((self.event_of[market],)), self.account.loses_cents()

    def within(self, market: MarketId, before: tuple[Use, int]) -> None:
        earlier, lost_cents = before
        use = self._in_use((self.event_of[market],))
        for key in self._beyond(use):
            text = f"{' of '.join(filter(None, key))}: {use[key]}, limit {self.limit(key[0])}"
            check(use[key] <= earlier[key], "B3", text)
        self.account.within_loss(lost_cents)

    def overhangs(self) -> list[str]:
        events = tuple(self._markets)
        use, bare = self._in_use(events), self._in_use(events, bare=True)
        return [
            f"{name} of {place}: {use[name, place]}, {bare[name, place]} by shares held"
            for name, place in self._beyond(use)
            if use[name, place] > bare[name, place]
        ]

    def is_tight(self, market: MarketId, more: int) -> bool:
        """True if the limits may leave no room for so many more shares at the worst price. A trader
        may round up the fee of each share: a cent more a share. One that starts after shares have
        paid knows their cost alone; all are forgiven as much."""
        event = self.event_of[market]
        live_qty = sum(each.qty for key in self.event_of for each in self.flight.possible(key))
        dear = DOLLAR * more + live_qty + more
        limit_cents = self.account.limit_cents
        if limit_cents and limit_cents - self.account.loses_cents() < dear:
            return True
        paid = self.truth.paid
        losses = {each: self.used(each)["loss"] + paid.get(each, 0) for each in self._markets}
        use = self._in_use((event,))
        use["loss", event] = losses[event]
        use["series", ""] = sum(max(0, each) for each in losses.values())
        return any(
            0 < self.limit(name) < amount + (dear if name in _CENTS else more)
            for (name, _), amount in use.items()
            if name != "position"
        )


_SIBLINGS_MAX = 4
"""Orders possibly live in one slot by one route (sold or bought): three siblings, and one more
that a plan moves there."""


class DayBudget:
    """What the records of the day's loss budget bind: those of lives before that were surely on the
    disk, and all of the life that runs."""

    def __init__(self) -> None:
        self._sure: list[m.LossRecord] = []
        self._of_this_life: list[tuple[int, m.LossRecord]] = []

    def on_record(self, record: m.LossRecord, entry: int) -> None:
        """entry: its number in the journal of this life."""
        self._of_this_life.append((entry, record))

    def on_end(self, durable: int, *, lost: bool) -> None:
        """A life has ended. durable: entries that were on the disk. lost: the disk is, too."""
        known = [record for entry, record in self._of_this_life if entry < durable]
        self._sure = [] if lost else [*self._sure, *known]
        self._of_this_life = []

    def use(self, now_ns: int) -> tuple[int, int]:
        """What this day has lost at least, and what its budget was raised by; cents."""
        records = [*self._sure, *(record for _, record in self._of_this_life)]
        start_ns = now_ns - now_ns % DAY_NS
        uses = [use for record in records for use in record.uses if use.start_ns == start_ns]
        lost_cents = max((use.lost_cents for use in uses), default=0)
        raised_cents = max((sum(each.cents for each in use.raises) for use in uses), default=0)
        return lost_cents, raised_cents


class SpentBudget(NamedTuple):
    """By how many cents the loss came to exceed a budget, and how many more than the budget might
    have been lost by what was live as it was spent."""

    excess_cents: float
    live_cents: float


class LedgerLoss:
    """The loss of one series since its first life began, by the venue's fills and payouts, with the
    shares at the bot's fair values.

    B3: it exceeds the day's budget by no more than what was live as the budget was spent could
    still lose: every order that might fill, and the shares in the worst outcome.
    """

    def __init__(self, exposure: Exposure) -> None:
        self.spent: dict[int, SpentBudget] = {}  # by the budget, with what it was raised by
        self._exposure = exposure
        self._marks: dict[MarketId, float] = {}
        self._live_cents = 0.0  # as of the last look at which the budget was not spent
        self._is_known = True

    def on_end(self, *, lost: bool) -> None:
        """A life has ended. lost: with its state directory, so that the next one knows no loss."""
        self._is_known &= not lost

    def audit_loss(self, budget_cents: int, ladders: Iterable[EventQuoter]) -> None:
        """budget_cents: with what a person raised it by."""
        self._mark(ladders)
        exposure = self._exposure
        # What others of the account lose, or place, is no loss of this series, nor live here.
        is_alone = len(exposure.account.members) == 1 and not exposure.truth.foreign
        equity_cents = exposure.equity_cents(self._marks)
        if equity_cents is None or not (self._is_known and is_alone):
            return
        excess_cents = -equity_cents - budget_cents
        spent = self.spent.get(budget_cents)
        if spent is None:
            if excess_cents < 0:
                self._live_cents = equity_cents - exposure.worst_cents()
                return
            spent = SpentBudget(excess_cents, self._live_cents)
        most_cents = max(excess_cents, spent.excess_cents)
        self.spent[budget_cents] = spent._replace(excess_cents=most_cents)
        text = f"the day's budget of {budget_cents} cents is exceeded by {excess_cents:.2f}"
        could = f"what was live as it was spent could lose {spent.live_cents:.2f}"
        check(excess_cents <= spent.live_cents, "B3", f"{text}; {could}")

    def _mark(self, ladders: Iterable[EventQuoter]) -> None:
        """Take the bot's fair values; a market without one keeps its last."""
        for ladder in ladders:
            for rung in ladder.rungs:
                if rung.decided is not None:
                    self._marks[rung.market_id] = DOLLAR * (rung.decided is Outcome.YES)
                elif rung.fair is not None:
                    self._marks[rung.market_id] = rung.fair.value_cents


class Auditor:
    def __init__(
        self,
        scenario: SimScenario,
        risk: RiskSettings,
        exchange: SimulatedVenue,
        coverage: EventCounts,
        account: AuditedAccount,
    ) -> None:
        self.truth = Truth()
        self.coverage = coverage
        self.day_budget = DayBudget()
        self._dearer = exchange.readings.dearer
        markets = exchange.markets
        self.flight = Flight(self.truth, (each for its in markets.values() for each in its))
        # An order that is meant to rest may take, so that the dearer of both rates counts.
        fees = Fees(max(scenario.fee_rate, scenario.maker_fee_rate, key=float))
        self.exposure = Exposure(risk, fees, self.truth, self.flight, markets, account)
        self.ledger_loss = LedgerLoss(self.exposure)
        exchange.watchers.append(self.on_command)

    # --- the engine -------------------------------------------------------------------------------

    def on_command(
        self, command: v.Command, answer: v.Answer, events: list[v.Event], now_ns: int
    ) -> None:
        ours, account = self.exposure.event_of, self.exposure.account
        if isinstance(command, v.PlaceOrder) and command.user_id == MAKER:
            if command.order.market_id not in ours:
                return
            if isinstance(answer, v.Placed):
                self._placed(command.order.client_order_id, answer.order)
        elif isinstance(command, v.AmendOrder) and isinstance(answer, v.Amended):
            self._amended(command.order_id, answer.order.order_id)
        for event in events:
            match event:
                case v.OrderChanged(order=it) if it.user_id == MAKER and it.market_id in ours:
                    self.truth.on_order(it)
                case v.FillBooked(user_id=user) if user == MAKER and event.market_id in ours:
                    self._book(event, now_ns)
                case v.PositionChanged(user_id=user) if user == MAKER and event.market_id in ours:
                    self.truth.held[event.market_id, event.outcome] = event.qty
                case v.BalanceChanged(user_id=user) if user == MAKER:
                    account.total_cents = event.available_cents + event.reserved_cents
                    account.available_cents = event.available_cents
        if isinstance(command, v.ResolveMarket) and events and command.market_id in ours:
            self.truth.resolved[command.market_id] = command.winner
            for outcome in Outcome:
                self.truth.held.pop((command.market_id, outcome), None)

    def _placed(self, name: ClientOrderId, order: v.OrderState) -> None:
        order_id = order.order_id
        self.flight.on_landed(order.market_id, name, order_id)
        self.truth.names[order_id] = name
        if name not in self.flight.orders:
            self.truth.foreign[order_id] = None
        if int(order_id) > 2**53:
            self.coverage.hit("order_id_beyond_2_53")

    def _amended(self, before: OrderId, order_id: OrderId) -> None:
        if order_id != before and before in self.truth.names:
            self.truth.renames(before, order_id)
            self.flight.order_of[self.truth.names[order_id]] = order_id

    def _book(self, fill: v.FillBooked, now_ns: int) -> None:
        self.truth.fills.append((now_ns, fill))
        self.truth.moved(self.exposure.event_of[fill.market_id], self._cents(fill))
        self.truth.unshown_cents += fill.fill_id in self._dearer
        if fill.order_id in self.truth.foreign:
            self.truth.strange[fill.fill_id] = fill.order_id
        self.coverage.hit("fill_with_fee" if fill.fee_cents else "fill")
        if fill.liquidity is Liquidity.MAKER:
            self.coverage.hit("late_fill")

    def _cents(self, fill: v.FillBooked) -> int:
        sign = -1 if fill.side is Side.BUY else 1
        fee_cents = fill.fee_cents + (fill.fill_id in self._dearer)
        return sign * fill.qty * fill.outcome_price - fee_cents

    def cents_since(self, world_ns: int) -> list[int]:
        return [self._cents(fill) for at_ns, fill in self.truth.fills if at_ns >= world_ns]

    def own_levels(self, market: MarketId) -> list[int]:
        here = self.truth.working_in.get(market, {})
        return [level_of(order.outcome, order.price) for order in here.values()]

    def on_payout(self, market: MarketId, winner: Outcome) -> None:
        """A market is about to pay the shares of the winner."""
        event, truth = self.exposure.event_of[market], self.truth
        cents = DOLLAR * truth.held.get((market, winner), 0)
        self.exposure.on_payout(market)
        truth.moved(event, cents)
        truth.paid[event] = truth.paid.get(event, 0) + cents

    def on_listed(self, event: Ticker, market: MarketId) -> None:
        self.exposure.event_of[market] = event
        self.flight.on_listed(market)

    # --- the traffic ------------------------------------------------------------------------------

    def audit_send(self, request: m.Request) -> None:
        """B1, B3, B6, B11, B12 with a request counted."""
        if isinstance(request, m.CancelResting | m.AmendResting):
            self.exposure.account.leaves_alone(self.exposure, request)
        if isinstance(request, m.Create):
            self._create_sent(request)
        elif isinstance(request, m.AmendResting):
            self._amend_sent(request)

    def _create_sent(self, request: m.Create) -> None:
        order = request.order
        self.flight.on_create_sent(request)
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
        with self._within_limits(order.market_id):
            self.flight.may_land(order)

    def _amend_sent(self, request: m.AmendResting) -> None:
        amend, order = request.amend, self.truth.working.get(request.order_id)
        self._is_sane(amend.price, amend.qty)
        if order is None:
            self.flight.on_amend_sent(request)
            return
        check(amend.qty is None or amend.qty < order.qty, "B1", f"{amend} of {order}")
        if amend.price is not None:
            self._crosses_nothing(order.market_id, order.outcome, order.side, amend.price)
        with self._within_limits(order.market_id):
            self.flight.on_amend_sent(request)

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
        level = level_of(outcome, price)
        is_bid = (outcome is Outcome.YES) == (side is Side.BUY)
        for each in self.flight.possible(market):
            if each.is_bid is is_bid:
                continue
            self.coverage.hit("cross_checked")
            meets = min(each.levels) <= level if is_bid else max(each.levels) >= level
            text = f"{side} {outcome} {price} on {market} meets our {each.levels}"
            check(not meets, "B11", text)

    @contextmanager
    def _within_limits(self, market: MarketId) -> Iterator[None]:
        """B3 before and after something is counted."""
        before = self.exposure.before(market)
        yield
        self.coverage.hit("limit_checked")
        if self.flight.is_under_way(market):
            self.coverage.hit("limit_with_flight")
        if len(self.exposure.ladder_of(market)) > 1:
            self.coverage.hit("limit_on_ladder")
        self.exposure.within(market, before)
