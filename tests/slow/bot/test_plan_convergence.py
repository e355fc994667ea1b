"""Plans carried out one after the other on a still book: they converge and fall silent."""

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import (
    Action,
    AmendAction,
    CancelAction,
    CreateAction,
    crosses,
    free_shares,
)
from bot.core.planning.diff import WorkingOrders
from bot.core.settings import PaceSettings
from bot.strategy.api import Quote
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from tests.builders.bot.planned import ASK, BID, LATER, PACES, Ruler, ask, bid, plan, rests
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, canonical
from venue.wire.names import OrderId


@dataclass
class Toy:
    """A book that carries out every action and checks that no order crosses or oversells."""

    yes: int
    no: int
    orders: list[OwnOrder] = field(default_factory=list)
    made: int = 100

    def carry_out(self, wishes, now_ns: int, pace: PaceSettings) -> None:
        """Cancels, then amends and creates in the order given."""
        for wish in wishes:
            if isinstance(wish, CancelAction):
                self.orders.remove(wish.order)
            elif isinstance(wish, AmendAction):
                own, amend = wish.order, wish.amend
                own.on_amend_sent(amend)
                own.on_write_body(
                    made.shown(
                        own,
                        price=own.price if amend.price is None else amend.price,
                        remaining=own.remaining if amend.qty is None else amend.qty,
                    ),
                    now_ns,
                )
            else:
                self.create(wish, now_ns, pace)
            self.holds()

    def create(self, wish: CreateAction, now_ns: int, pace: PaceSettings) -> None:
        """A new order rests."""
        self.made += 1
        price = wish.price if wish.outcome is Outcome.YES else 100 - wish.price
        own = made.own(
            State.OPEN,
            now_ns,
            self.made,
            outcome=wish.outcome,
            side=wish.side,
            price=price,
            qty=wish.qty,
        )
        own.order_id = OrderId(str(self.made))
        self.orders.append(own)
        # One plan may bring an order here and make another beside the siblings there.
        here = [each for each in self.orders if each.yes_price == own.yes_price]
        for route in Side:
            assert sum(each.side is route for each in here) <= pace.orders_per_level_max + 1

    def holds(self) -> None:
        """No own orders cross, and no share is for sale twice."""
        bids = [own.yes_price for own in self.orders if own.book_side is BID]
        asks = [own.yes_price for own in self.orders if own.book_side is ASK]
        assert not bids or not asks or max(bids) < min(asks)
        assert min(free_shares(self.yes, self.no, self.orders)) >= 0

    def resting(self) -> dict[tuple[BookSide, int], int]:
        """Shares by side and canonical price."""
        out: dict[tuple[BookSide, int], int] = {}
        for own in self.orders:
            out[own.book_side, own.yes_price] = (
                out.get((own.book_side, own.yes_price), 0) + own.remaining
            )
        return out


@st.composite
def quotes(draw) -> list[Quote]:
    prices = draw(st.lists(st.integers(30, 70), unique=True, max_size=5).map(sorted))
    split = draw(st.integers(0, len(prices)))
    sized = [(price, draw(st.integers(1, 20))) for price in prices]
    return [bid(*each) for each in sized[:split]] + [ask(*each) for each in sized[split:]]


def settle(toy: Toy, wanted: list[Quote], pace: PaceSettings, now_ns: int) -> int:
    """Plan and carry out until no action is left; the instant after."""
    for _ in range(14):
        step = plan(wanted, toy.orders, toy.yes, toy.no, pace, now_ns)
        if not step.actions and step.again_ns is None:
            return now_ns
        toy.carry_out(step.actions, now_ns, pace)
        now_ns = max(now_ns + 1, step.again_ns or 0)
    raise AssertionError(f"not settled: {step.actions} for {wanted}")


@settings(max_examples=300, deadline=None)
@given(st.lists(quotes(), min_size=1, max_size=4), st.integers(0, 15), st.integers(0, 15), PACES)
def test_plans_converge_and_never_cross_or_oversell(wishlists, yes, no, pace):
    toy, now_ns = Toy(yes, no), LATER
    for wanted in wishlists:
        now_ns = settle(toy, wanted, pace, now_ns) + 1
        have = toy.resting()
        for quote in wanted:
            back = -1 if quote.side is BID else 1
            near = [(quote.side, quote.price + back * away) for away in range(3)]
            there = max((have.get(key, 0) for key in near), default=0)
            assert 100 * (quote.qty - there) < max(pace.resize_pct * quote.qty, 1)
        assert plan(wanted, toy.orders, yes, no, pace, now_ns + LAG_NS).actions == ()


@settings(max_examples=200, deadline=None)
@given(
    quotes(),
    st.lists(
        st.tuples(st.integers(30, 70), st.integers(1, 12), st.sampled_from(list(State))),
        max_size=6,
    ),
    st.booleans(),
)
def test_a_plan_has_one_action_an_order_and_none_for_one_with_a_write_in_flight(
    wanted, drawn, doomed
):
    orders = []
    for number, (level, qty, state) in enumerate(drawn):
        side = BID if level < 50 else ASK
        own = rests(level, qty, side, number=number, state=state)
        own.cancel_requested = doomed and number % 2 == 0
        orders.append(own)
    live = [own for own in orders if own.is_live]
    wishes = plan(wanted, live).actions
    touched = [wish.order for wish in wishes if not isinstance(wish, CreateAction)]
    assert len(touched) == len({id(own) for own in touched})
    for wish in wishes:
        if isinstance(wish, AmendAction):
            assert wish.order.state is State.OPEN
            assert not wish.order.cancel_requested
        elif isinstance(wish, CancelAction):
            assert wish.order.can_cancel
        else:
            assert not crosses(wish.book_side, wish.price, live)
            assert wish.qty >= 1


BEATS = 120


class Flow(Ruler):
    def __init__(self, move: float, capital: float, part: float, stays: float) -> None:
        super().__init__(move, capital, {})
        self.part, self.stays = part, stays

    def edge(self, side: BookSide, price: int) -> float:
        return max(0.5, super().edge(side, price))

    def joining(self, side: BookSide, price: int, qty: int, edge: float) -> float:
        return self.part * super().joining(side, price, qty, edge)

    def staying(self, own: OwnOrder, edge: float) -> float:
        return self.part * self.stays * own.remaining * edge / 4


class StillRung:
    """A rung on which nothing fills, with drawn quotes, holdings, orders and response times."""

    def __init__(self, seed: int) -> None:
        of = random.Random(seed)
        self.now_ns = T0 + 10 * NS_PER_SECOND
        self.sides = [BID] if of.random() < 0.4 else [ASK] if of.random() < 0.5 else [BID, ASK]
        self.pace = PaceSettings(
            dwell_ns=of.choice((0, 0, NS_PER_SECOND // 2)),
            tolerance_ticks=of.choice((0, 0, 1, 2)),
            resize_pct=of.choice((1, 10, 10, 30, 50)),
            orders_per_level_max=of.choice((1, 2, 3, 4)),
        )
        self.held = {side: of.choice((0, 0, 1, 2, 3, 5, 8, 10, 20)) for side in (ASK, BID)}
        capital, move = of.choice((0.0, 0.05, 0.2, 1.0)), of.choice((0.0, 0.01, 0.05, 0.2))
        self.worth = Flow(move, capital, of.choice((0, 0.01, 0.1, 1)), of.choice((0, 0.5, 1, 2)))
        self.wanted: list[Quote] = []
        for side in self.sides:
            sign = -1 if side is BID else 1
            for away in of.sample(range(2, 12), of.randint(1, 4)):
                limit = None
                if of.random() < 0.3:
                    limit = Price(50 + sign * (away - of.randint(0, 2)))
                qty = Qty(of.choice((1, 2, 3, 5, 8, 10)))
                self.wanted.append(Quote(side, Price(50 + sign * away), qty, limit))
        self.orders: list[OwnOrder] = []
        self.made = 0
        for side in self.sides:
            for _ in range(of.randint(0, 5)):
                self._place_before(of, side)
        self.response_beats = of.choice((0, 0, 1, 2, 3))
        self.writes_a_beat = of.choice((1, 2, 99))
        self.best_first = of.random() < 0.5
        self._answers: list[tuple[int, OwnOrder, Action]] = []

    def _place_before(self, of: random.Random, side: BookSide) -> None:
        """An order rests from before."""
        at = [abs(quote.price - 50) for quote in self.wanted if quote.side is side]
        away = of.randint(2, 13) if of.random() < 0.4 else of.choice(at)
        qty, price = of.choice((1, 2, 3, 5, 8, 10)), Price(50 - away if side is BID else 50 + away)
        working = WorkingOrders(self.orders, self.held[ASK], self.held[BID])
        free = working.free[side]
        sells = of.random() < 0.4 and free > 0
        own = self._make(side, price, min(qty, free) if sells else qty, sells)
        own.state, own.placed_ns = State.OPEN, T0 - of.randint(0, 10) * NS_PER_SECOND
        own.order_id = OrderId(str(self.made))
        if of.random() < 0.5:
            self.worth._places[own.client_order_id] = of.choice((0.01, 0.1, 1.0, 5.0))

    def _make(self, side: BookSide, price: Price, qty: int, sells: bool) -> OwnOrder:
        held, self.made = Outcome.NO if side is BID else Outcome.YES, self.made + 1
        outcome, route = (held, Side.SELL) if sells else (held.other, Side.BUY)
        at = canonical(outcome, price)
        own = made.own(
            State.PENDING_NEW,
            self.now_ns,
            self.made,
            outcome=outcome,
            side=route,
            price=at,
            qty=qty,
        )
        self.orders.append(own)
        return own

    def beat(self, number: int) -> int:
        """A fifth of a second passes and a part of the plan is sent; how many actions."""
        self.now_ns += NS_PER_SECOND // 5
        for each in [each for each in self._answers if each[0] <= number]:
            self._answers.remove(each)
            self._respond(*each[1:])
        step = plan(
            self.wanted,
            self.orders,
            self.held[ASK],
            self.held[BID],
            self.pace,
            self.now_ns,
            self.worth,
        )
        wishes = list(step.actions)
        if self.best_first:
            wishes.sort(key=lambda w: (not isinstance(w, CancelAction), -w.value))
        able = [w for w in wishes if isinstance(w, CreateAction) or w.order.state is State.OPEN]
        for wish in able[: self.writes_a_beat]:
            own = self._sent(wish)
            if self.response_beats:
                self._answers.append((number + self.response_beats, own, wish))
            else:
                self._respond(own, wish)
        return len(able[: self.writes_a_beat])

    def _sent(self, wish: Action) -> OwnOrder:
        if isinstance(wish, CreateAction):
            return self._make(wish.book_side, wish.price, wish.qty, wish.side is Side.SELL)
        own = wish.order
        if isinstance(wish, AmendAction):
            own.on_amend_sent(wish.amend)
        else:
            own.on_cancel_sent()
            own.why = wish.why
        return own

    def _respond(self, own: OwnOrder, wish: Action) -> None:
        if isinstance(wish, CancelAction):
            self.orders.remove(own)
            return
        new = {}
        if isinstance(wish, AmendAction):
            new = {
                "price": own.price if wish.amend.price is None else wish.amend.price,
                "remaining": own.remaining if wish.amend.qty is None else wish.amend.qty,
            }
            if not wish.keeps_priority:
                self.worth._places.pop(own.client_order_id, None)
        number = own.client_order_id.rsplit("-", 1)[1]
        own.on_write_body(made.shown(own, order_id=own.order_id or number, **new), self.now_ns)


@pytest.mark.parametrize("some", range(6))
def test_on_a_still_book_plans_end_whichever_actions_are_sent_first(some):
    for seed in range(100 * some, 100 * (some + 1)):
        rung = StillRung(seed)
        writes = [rung.beat(number) for number in range(BEATS)]
        assert not any(writes[BEATS // 2 :]), f"seed {seed}"
