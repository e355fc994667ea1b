"""Plans that are carried out one after the other on a still book: they come to an end."""

import random

import pytest

from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import (
    Action,
    AmendAction,
    CancelAction,
    CreateAction,
)
from bot.core.planning.diff import WorkingOrders
from bot.core.settings import PaceSettings
from bot.strategy.api import Quote
from tests.builders.bot import made
from tests.builders.bot.made import T0
from tests.builders.bot.planned import BID, Ruler, plan
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, canonical
from venue.wire.names import OrderId

ASK = BookSide.ASK
BEATS = 120


class Flow(Ruler):
    """A worth by rule of thumb where little trades. part: of a new order fills so much; stays: one
    that stands fills so many times as often as half a new one."""

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
    """A rung on which nothing fills: what is wanted, what is held, our orders, and how many beats
    an answer takes."""

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
                self._stands(of, side)
        self.answered_after = of.choice((0, 0, 1, 2, 3))
        self.writes_a_beat = of.choice((1, 2, 99))
        self.best_first = of.random() < 0.5
        self._answers: list[tuple[int, OwnOrder, Action]] = []

    def _stands(self, of: random.Random, side: BookSide) -> None:
        """An order stands there from before."""
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
        """A fifth of a second later: answers come, and a part of the plan leaves. How many."""
        self.now_ns += NS_PER_SECOND // 5
        for each in [each for each in self._answers if each[0] <= number]:
            self._answers.remove(each)
            self._answered(*each[1:])
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
            own = self._left(wish)
            if self.answered_after:
                self._answers.append((number + self.answered_after, own, wish))
            else:
                self._answered(own, wish)
        return len(able[: self.writes_a_beat])

    def _left(self, wish: Action) -> OwnOrder:
        if isinstance(wish, CreateAction):
            return self._make(wish.book_side, wish.price, wish.qty, wish.side is Side.SELL)
        own = wish.order
        if isinstance(wish, AmendAction):
            own.on_amend_sent(wish.amend)
        else:
            own.on_cancel_sent()
            own.why = wish.why
        return own

    def _answered(self, own: OwnOrder, wish: Action) -> None:
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
def test_on_a_still_book_plans_come_to_an_end_whatever_of_them_leaves_first(some):
    for seed in range(100 * some, 100 * (some + 1)):
        rung = StillRung(seed)
        writes = [rung.beat(number) for number in range(BEATS)]
        assert not any(writes[BEATS // 2 :]), f"seed {seed}"
