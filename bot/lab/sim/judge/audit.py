"""The auditor of the bot: what must hold of the account, from the engine's events and the traffic.

It shares no arithmetic with the trader: cash, holdings, resting orders and worst cases are added up
here anew, from what the engine says it did and from what has left towards it. May be live: what
rests, creates that may yet land at full size, amends on their way at the worse price and size.

Source: reliability, section 2 (b).
"""

from collections import deque
from collections.abc import Collection

from bot.core import messages as m
from bot.core.settings import RiskSettings
from bot.lab.sim.judge.ceilings import LIMITS, Ceilings
from bot.lab.sim.judge.possible import DOLLAR, Fees, Possible, Sums, level_of, sums_of
from bot.lab.sim.judge.truth import Truth, may_rest, place_of
from bot.lab.sim.odds import SECOND, Odds
from bot.lab.sim.seen import Seen
from bot.lab.sim.venue.exchange import MAKER, Exchange
from venue.core import messages as v
from venue.wire.model import RESTING, Liquidity
from venue.wire.money import Outcome, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker
from venue.wire.requests import Amend, QtyOrder

_RECENT_NS = 5 * SECOND
_SIBLINGS_MAX = 4
"""Orders possibly live in one slot by one route (sold or bought): three siblings, and one more
that a plan moves there."""


class Broken(AssertionError):
    """An invariant does not hold. world: the world it does not hold in, when it is known."""

    world: object = None


def check(holds: bool, invariant: str, text: object) -> None:
    """Raise `Broken` unless it holds."""
    if not holds:
        raise Broken(f"{invariant}: {text}")


class Auditor:
    """Watches the engine and the traffic of every life of the bot."""

    def __init__(self, odds: Odds, risk: RiskSettings, exchange: Exchange, seen: Seen) -> None:
        """risk: the limits that hold until others are put in force."""
        self.truth = Truth()
        self._seen = seen
        self._markets = exchange.markets
        self._event_of = {
            market: event for event, markets in exchange.markets.items() for market in markets
        }
        # An order that is meant to rest may take, so that the dearer of both rates counts.
        self._fees = Fees(max(odds.fee_rate, odds.maker_fee_rate, key=float))
        self.ceilings = Ceilings(risk)
        self.bodies: dict[ClientOrderId, bytes] = {}
        self.order_of: dict[ClientOrderId, OrderId] = {}
        self._landing = {market: dict[ClientOrderId, QtyOrder]() for market in self._event_of}
        self._copies: dict[ClientOrderId, int] = {}
        self._over: dict[ClientOrderId, None] = {}
        self._explained: dict[ClientOrderId, None] = {}
        self._amending: dict[OrderId, list[Amend]] = {}
        self.market_of: dict[OrderId, MarketId] = {}
        self.payouts: list[int] = []
        self._gone: dict[Ticker, int] = {}  # net shares that turned into cash, perhaps unknown yet
        self._left: deque[tuple[int, MarketId, bool, int]] = deque(maxlen=16)
        self._now_ns = 0
        self.worst_seen = 0
        self.fills = 0
        exchange.watchers.append(self.applied)

    # --- the engine -------------------------------------------------------------------------------

    def applied(
        self, command: v.Command, answer: v.Answer, events: list[v.Event], now_ns: int
    ) -> None:
        """A command was carried out: take in what it did and check what must hold."""
        if isinstance(command, v.PlaceOrder) and command.user_id == MAKER:
            self._placed(command, answer)
        if not events:
            return
        booked: Ticker | None = None
        for event in events:
            if isinstance(event, v.OrderChanged):
                if event.order.user_id == MAKER:
                    self._leaveslevel_of(event.order, now_ns)
                    self.truth.take(event.order)
            elif isinstance(event, v.FillBooked):
                if event.user_id == MAKER:
                    booked = self._book(event)
            elif isinstance(event, v.PositionChanged):
                if event.user_id == MAKER:
                    self.truth.held[event.market_id, event.outcome] = event.qty
            elif isinstance(event, v.BalanceChanged) and event.user_id == MAKER:
                self.truth.total_cents = event.available_cents + event.reserved_cents
        if isinstance(command, v.PlaceOrder | v.AmendOrder) and command.user_id == MAKER:
            self._no_self_trade(answer, events)
        if isinstance(command, v.ResolveMarket):
            self._resolved(command)
        elif booked is not None:
            self._within_loss(booked)

    def _leaveslevel_of(self, order: v.OrderState, now_ns: int) -> None:
        """Remember where an order stood that has ended or moved: what could have been crossed."""
        before = self.truth.working.get(order.order_id)
        if before is not None and (order.status not in RESTING or order.price != before.price):
            is_bid = (before.outcome is Outcome.YES) == (before.side is Side.BUY)
            level = level_of(before.outcome, before.price)
            self._left.append((now_ns, before.market_id, is_bid, level))
        self._now_ns = now_ns

    def own_levels(self, market: MarketId) -> list[int]:
        """Canonical prices at which orders of the bot rest."""
        here = self.truth.working_in.get(market, {})
        return [level_of(order.outcome, order.price) for order in here.values()]

    def _placed(self, command: v.PlaceOrder, answer: v.Answer) -> None:
        name = command.order.client_order_id
        if isinstance(answer, v.Placed):
            order_id = answer.order.order_id
            known = self.order_of.setdefault(name, order_id)
            check(known == order_id, "B1", "two orders for one client_order_id")
            self.market_of[order_id] = command.order.market_id
            self.truth.names[order_id] = name
            self._landing[command.order.market_id].pop(name, None)
            if name not in self.bodies:
                self.truth.foreign[order_id] = None
            if int(order_id) > 2**53:
                self._seen.hit("order_id_beyond_2_53")

    def _book(self, fill: v.FillBooked) -> Ticker:
        sign = -1 if fill.side is Side.BUY else 1
        cents = sign * fill.qty * fill.outcome_price - fill.fee_cents
        event = self._event_of[fill.market_id]
        self.truth.moved(event, cents)
        self.fills += 1
        self._seen.hit("fill_with_fee" if fill.fee_cents else "fill")
        if fill.liquidity is Liquidity.MAKER:
            self._seen.hit("late_fill")
        return event

    def _resolved(self, command: v.ResolveMarket) -> None:
        """Winning shares have become cash (what PositionChanged said of them is gone)."""
        market = command.market_id
        self.truth.resolved[market] = command.winner
        for outcome in Outcome:
            self.truth.held.pop((market, outcome), None)

    def pays(self, market: MarketId, winner: Outcome) -> None:
        """A market is about to resolve: what the maker's winning shares will pay."""
        cents = DOLLAR * self._held(market, winner)
        event = self._event_of[market]
        net = self._held(market, Outcome.YES) - self._held(market, Outcome.NO)
        self._gone[event] = self._gone.get(event, 0) + abs(net)
        self.truth.pays(event, cents)
        self.payouts.append(cents)

    def _no_self_trade(self, answer: v.Answer, events: list[v.Event]) -> None:
        """B11: a write of ours changes no other order of ours, and ends its own only by filling."""
        if not isinstance(answer, v.Placed | v.Amended):
            return
        own = answer.order
        foreign = self.truth.foreign
        if own.order_id in foreign:
            return
        met = False
        for event in events:
            if isinstance(event, v.OrderChanged) and event.order.user_id == MAKER:
                other = event.order.order_id
                met = met or other in foreign
                check(other == own.order_id or other in foreign, "B11", f"self-trade with {own}")
        if isinstance(answer, v.Placed) and answer.fresh and not met and may_rest(own):
            check(own.filled_qty + own.remaining_qty == own.qty, "B11", f"shrunk: {own}")

    def listed(self, event: Ticker, market: MarketId) -> None:
        """An event is about to have one more rung."""
        self._event_of[market] = event
        self._landing[market] = {}

    # --- what may be live -------------------------------------------------------------------------

    def possible(self, market: MarketId) -> list[Possible]:
        """Every order of the bot on a market that may be live, at its worst."""
        out = []
        foreign = self.truth.foreign
        for order_id, order in self.truth.working_in.get(market, {}).items():
            if order_id not in foreign:
                each = Possible(order.outcome, order.side, order.price, order.remaining_qty)
                for amend in self._amending.get(order_id, ()):
                    each.may_become(amend)
                out.append(each)
        for wanted in self._landing[market].values():
            rests = may_rest(wanted)
            out.append(Possible(wanted.outcome, wanted.side, wanted.price, wanted.qty, rests=rests))
        return out

    def level_of(self, order: QtyOrder) -> int:
        """The canonical price at which an order asks to rest."""
        return level_of(order.outcome, order.price)

    def _held(self, market: MarketId, outcome: Outcome) -> int:
        return self.truth.held.get((market, outcome), 0)

    def worst(self, event: Ticker, *, bare: bool = False) -> int:
        """The least over n + 1 outcomes of what is left if everything that hurts fills. bare: if
        nothing does."""
        above = self.truth.cash.get(event, 0)
        rungs = []
        for market in self._markets[event]:
            if_yes = DOLLAR * self._held(market, Outcome.YES)
            if_no = DOLLAR * self._held(market, Outcome.NO)
            for each in () if bare else self.possible(market):
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
            winner = self.truth.resolved.get(market)
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
        live_qty = sum(each.qty for every in self._event_of for each in self.possible(every))
        dear = DOLLAR * more + live_qty + more
        worst = {each: self.worst(each) - self.truth.paid.get(each, 0) for each in self._markets}
        total = sum(min(0, cents) for cents in worst.values())
        room = min(limit("loss") + worst[event], limit("series") + total)
        sums = self._sums(event)
        return (
            room < dear
            or 0 < limit("net") < max(sums.up, sums.down) + more
            or 0 < limit("gross") < sums.gross + more
            or 0 < limit("gross cents") < sums.apart + dear
            or 0 < limit("resting") < sums.resting + dear
        )

    def _used(self, event: Ticker, *, bare: bool = False) -> dict[str, int]:
        """What is in use of the limits of an event, and of the series. bare: by what is held."""
        sums = self._sums(event, bare=bare)
        used = {
            "loss": -self.worst(event, bare=bare),
            "net": max(sums.up, sums.down) - self._gone.get(event, 0),
            "gross": sums.gross,
            "gross cents": sums.apart,
            "resting": sums.resting,
        }
        if len(self._markets) > 1:
            # What an event has lost that is over is at risk no more.
            open_events = (key for key, each in self._markets.items() if not self.truth.over(each))
            used["series"] = -sum(min(0, self.worst(each, bare=bare)) for each in open_events)
        return used

    def _positions(self, market: MarketId) -> tuple[tuple[str, int], ...]:
        """How far a position may come, long and short, by orders that may be live."""
        if market in self.truth.resolved:
            return ()
        net = self._held(market, Outcome.YES) - self._held(market, Outcome.NO)
        bids = asks = 0
        for each in self.possible(market):
            if each.is_bid:
                bids += each.qty
            else:
                asks += each.qty
        long = net + bids if bids else 0
        return (("long", long), ("short", asks - net if asks else 0))

    def _in_use(self) -> dict[tuple[str, str], int]:
        """What is in use of every limit, by its name and its place."""
        used: dict[tuple[str, str], int] = {}
        for event, markets in self._markets.items():
            for name, amount in self._used(event).items():
                used[name, "" if name == "series" else event] = amount
            for market in markets:
                for way, amount in self._positions(market):
                    used["position", f"{market} {way}"] = amount
        return used

    def most_in_use(self) -> dict[str, int]:
        """The most that is in use of each limit, by the name of its setting."""
        most: dict[str, int] = {}
        for (name, _), amount in self._in_use().items():
            most[LIMITS[name]] = max(amount, most.get(LIMITS[name], 0))
        return most

    def limits_are(self, risk: RiskSettings) -> None:
        """These limits hold from here on; what is above one of them may only shrink."""
        if self.ceilings.change(risk, self._in_use(), self._now_ns):
            self._seen.hit("limit_lowered_below_use")

    def overhangs(self) -> list[str]:
        """Limits that orders alone stand above: they were lowered, and the orders were left."""
        out = []
        for event, markets in self._markets.items():
            bare = self._used(event, bare=True)
            for name, amount in self._used(event).items():
                if 0 < self.ceilings.limit(name) < amount and amount > bare[name]:
                    out.append(f"{name} of {event}: {amount}, {bare[name]} by what is held")
            for market in markets:
                for way, amount in self._positions(market):
                    if amount > self.ceilings.limit("position"):
                        out.append(f"position of {market}, {way}: {amount}")
        return out

    def _within_loss(self, event: Ticker, *, sent: bool = False) -> None:
        """B3: no subset of fills of what may be live loses more than the limits, and those hold
        that do not hang on the outcome: net, gross, and what rests."""
        used = self._used(event)
        self.worst_seen = max(self.worst_seen, used["loss"])
        slack = sum(len(self.possible(market)) + 1 for market in self._event_of)
        for name, amount in used.items():
            place = "" if name == "series" else event
            holds = self.ceilings.admits(name, place, amount, self._now_ns, sent=sent, slack=slack)
            check(holds, "B3", f"{name} of {event}: {amount}, limit {self.ceilings.limit(name)}")

    def _sums(self, event: Ticker, *, bare: bool = False) -> Sums:
        def live(market: MarketId) -> list[Possible]:
            # What is on its way to a rung that has resolved is refused there.
            return [] if bare or market in self.truth.resolved else self.possible(market)

        rungs = [
            (self._held(market, Outcome.YES), self._held(market, Outcome.NO), live(market))
            for market in self._markets[event]
        ]
        everything = (each for market in self._event_of for each in live(market))
        return sums_of(self.truth.cash.get(event, 0), rungs, everything, self._fees)

    def _within_position(self, market: MarketId) -> None:
        """B3: no position can pass its limit; on a rung that has resolved nothing fills any more,
        and what was held has been paid."""
        for way, amount in self._positions(market):
            holds = self.ceilings.admits(
                "position", f"{market} {way}", amount, self._now_ns, sent=True
            )
            text = f"position of {market}, {way}: {amount}"
            check(holds, "B3", f"{text}, limit {self.ceilings.limit('position')}")

    # --- the traffic ------------------------------------------------------------------------------

    def sent(self, request: m.Request) -> None:
        """The trader has a request sent: B1, B3, B11, B12 with it counted."""
        if isinstance(request, m.Create):
            self._create_sent(request)
        elif isinstance(request, m.AmendResting):
            amend = request.amend
            check(amend.qty is None or amend.qty >= 1, "B12", amend)
            check(amend.price is None or 1 <= amend.price <= 99, "B12", amend)
            order = self.truth.working.get(request.order_id)
            if order is not None and amend.price is not None:
                self._crosses_nothing(order.market_id, order.outcome, order.side, amend.price)
            self._amending.setdefault(request.order_id, []).append(amend)
            if order is not None:
                self._counted(order.market_id)

    def _create_sent(self, request: m.Create) -> None:
        order, name = request.order, request.order.client_order_id
        known = self.bodies.get(name)
        check(known is None or known == request.body, "B1", "a client_order_id with two bodies")
        check((known is not None) == request.again, "B12", f"again is {request.again}")
        self.bodies[name] = request.body
        self._copies[name] = self._copies.get(name, 0) + 1
        self._over.pop(name, None)
        check(type(order.price) is int and 1 <= order.price <= 99, "B12", order)
        check(type(order.qty) is int and order.qty >= 1, "B12", order)
        # One that is sent again is what it was, whatever the limits have become since.
        check(request.again or order.qty <= self.ceilings.limit("order"), "B12", order)
        if name in self.order_of:
            return
        if not request.again:
            level, rests = level_of(order.outcome, order.price), may_rest(order)
            is_bid = (order.outcome is Outcome.YES) == (order.side is Side.BUY)
            self._crosses_nothing(order.market_id, order.outcome, order.side, order.price)
            here = [
                each
                for each in self.possible(order.market_id)
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
        self._landing[order.market_id][name] = order
        if not request.again:
            self.ceilings.made(name)
            self._counted(order.market_id)
        else:
            self.ceilings.lift(name, self._in_use(), self._now_ns)

    def _crosses_nothing(self, market: MarketId, outcome: Outcome, side: Side, price: int) -> None:
        """B11: a price of ours meets nothing of ours that may be live."""
        level = level_of(outcome, price)
        is_bid = (outcome is Outcome.YES) == (side is Side.BUY)
        for at_ns, where, was_bid, other in self._left:
            if where == market and was_bid is not is_bid and self._now_ns - at_ns < _RECENT_NS:
                meets = other <= level if is_bid else other >= level
                if meets:
                    self._seen.hit("would_have_crossed")
                    break
        for each in self.possible(market):
            if each.is_bid is is_bid:
                continue
            for other in each.levels:
                meets = other <= level if is_bid else other >= level
                check(not meets, "B11", f"{side} {outcome} {price} on {market} meets our {other}")

    def _counted(self, market: MarketId) -> None:
        """B3 with what has just been sent."""
        self._seen.hit("limit_checked")
        if self._landing[market] or self._amending:
            self._seen.hit("limit_with_flight")
        if len(self._markets[self._event_of[market]]) > 1:
            self._seen.hit("limit_on_ladder")
        self._within_position(market)
        self._within_loss(self._event_of[market], sent=True)

    def copy_ends(self, request: m.Request) -> None:
        """A copy of a write has arrived at the engine, or can no more."""
        if isinstance(request, m.AmendResting):
            left = self._amending.get(request.order_id)
            if left and request.amend in left:
                left.remove(request.amend)
                if not left:
                    del self._amending[request.order_id]
        elif isinstance(request, m.Create):
            name = request.order.client_order_id
            left_copies = self._copies.get(name, 0) - 1
            if left_copies > 0:
                self._copies[name] = left_copies
                return
            self._copies.pop(name, None)
            if self._over.pop(name, self) is None:
                self._landing[request.order.market_id].pop(name, None)

    def never_left(self, request: m.Request) -> None:
        """A write that was made, and died with its process before it left."""
        self.copy_ends(request)
        if isinstance(request, m.Create) and not request.again:
            self.refused(request.order)

    def refused(self, order: QtyOrder) -> None:
        """The bot was told that a create made no order: only a copy on its way could still land."""
        name = order.client_order_id
        if name in self._copies:
            self._over[name] = None
        else:
            self._landing[order.market_id].pop(name, None)

    def settled(self, name: ClientOrderId, order_id: OrderId | None = None) -> None:
        """The bot says that this create made no order, or knows the order: it counts it no more.

        B6: when it says none, none of it rests; when it names one, that is it, or its equal.
        """
        made = self.order_of.get(name)
        rests = None if made is None else self.truth.working.get(made)
        if rests is not None:
            named = None if order_id is None else self.truth.working.get(order_id)
            equal = named is not None and place_of(named) == place_of(rests)
            check(equal or order_id == made, "B6", f"{name} rests as {made}, not as {order_id}")
        for landing in self._landing.values():
            order = landing.get(name)
            if order is not None:
                self._explained[name] = None
                self.refused(order)

    def remembered(self, names: Collection[ClientOrderId], *, lost: bool = False) -> None:
        """A life begins that knows of these creates alone: no other is ever sent again.

        B6: unless its journal is lost, it knows every one that may land.
        """
        for landing in self._landing.values():
            for name, order in list(landing.items()):
                if name not in names:
                    check(
                        lost or name in self._explained, "B6", f"{name} may land and is forgotten"
                    )
                    self.refused(order)
