"""Orders that the venue has acknowledged and no longer knows."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import BudgetSettings, StalenessSettings
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Qty
from venue.wire.names import OrderId


class Forgetful(Thin):
    """Answers writes about `deny` and about orders it has forgotten by 404."""

    deny: frozenset[str] = frozenset()
    notes: tuple[m.Noted, ...] = ()

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.CancelResting | m.AmendResting):
            is_known = request.order_id in self.orders
            if request.order_id in self.deny or not is_known:
                return m.Rejected(404, "order_not_found", "")
        return super().answer(request)

    def on_effect(self, effect: m.Effect) -> None:
        if isinstance(effect, m.Noted):
            self.notes += (effect,)

    def gone(self) -> set[str]:
        """Ids of the orders reported as gone."""
        return {str(note.fields["order_id"]) for note in self.notes if note.name == "order_gone"}

    def move_ask(self) -> set[str]:
        """The market moves, so that orders are amended; the ids of before."""
        before = set(self.orders)
        self.mids[0] = 52
        self.show(0)
        self.run(1)
        return before


def quoting(kind: type[Forgetful] = Forgetful, mids: tuple[int, ...] = (50,), **settings):
    """A venue on which the trader quotes."""
    thin = kind(list(mids), **settings)
    thin.start()
    assert thin.orders
    return thin


def test_a_stop_ends_though_the_venue_has_forgotten_all_our_orders():
    thin = quoting()
    forgotten = set(thin.orders)
    thin.orders.clear()
    assert thin.stop(6) is Phase.STOPPED
    assert thin.gone() == forgotten


def test_an_order_that_a_list_shows_is_not_gone_though_its_cancels_are_answered_404():
    thin = quoting()
    thin.deny = frozenset(thin.orders)
    assert thin.stop(30) is Phase.STOPPING
    assert set(thin.trader.left_over().left) == set(thin.orders)


def test_an_order_forgotten_while_quoting_is_found_gone_and_replaced():
    thin = quoting()
    forgotten = next(iter(thin.orders))
    slot = thin.orders.pop(forgotten)
    since_ns = thin.now_ns
    thin.run(10)
    asked = [each.order_id for each in thin.writes(since_ns) if isinstance(each, m.CancelResting)]
    assert forgotten not in asked, "reads may lag"
    thin.run(20, lambda: thin.show(0, thin.now_ns), NS_PER_SECOND)
    assert thin.gone() == {forgotten}
    assert thin.trader.out.findings == {}
    assert slot.outcome in [order.outcome for order in thin.orders.values()]


@pytest.mark.parametrize(
    ("mids", "settings"),
    [
        ((50,), {"staleness": StalenessSettings(read_lag_ns=5 * NS_PER_SECOND)}),
        (
            (30, 40, 50, 60, 70),
            {"budget": BudgetSettings(rate_per_second=12, burst=40, reserve=20)},
        ),
    ],
    ids=["reads lag longer than cancels wait", "more orders than requests a second"],
)
def test_orders_that_the_venue_has_forgotten_are_found_gone_and_replaced(mids, settings):
    thin = quoting(mids=mids, **settings)
    thin.run(20)
    forgotten = set(thin.orders)
    assert len(forgotten) == 2 * len(mids)
    thin.orders.clear()
    shown = range(len(mids))
    thin.run(90, lambda: [thin.show(index, thin.now_ns) for index in shown], NS_PER_SECOND)
    assert thin.gone() == forgotten
    assert thin.trader.out.findings == {}
    assert len(thin.orders) == len(forgotten)


class Closed(Forgetful):
    """Closes and forgets an order when it is amended."""

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.AmendResting):
            self.orders.pop(request.order_id, None)
            return m.Rejected(422, "order_not_cancelable", "")
        return super().answer(request)


class Short(Forgetful):
    """Says that a cancel removed a share less than rested, and forgets the order."""

    def answer(self, request: m.Request) -> m.Answer:
        answer = super().answer(request)
        if isinstance(request, m.CancelResting) and isinstance(answer, m.Ok):
            assert isinstance(answer.body, m.CancelBody)
            return m.Ok(m.CancelBody(answer.body.order, Qty(answer.body.reduced_by - 1)))
        return answer


class Cut(Forgetful):
    """Answers no amend, and forgets the order. elsewhere: keeps it under another id."""

    elsewhere = False

    def answer(self, request: m.Request) -> m.Answer:
        if not isinstance(request, m.AmendResting):
            return super().answer(request)
        forgotten = self.orders.pop(request.order_id)
        if self.elsewhere:
            price = request.amend.price or forgotten.price
            moved = OrderId(f"9{forgotten.order_id}")
            self.orders[moved] = msgspec.structs.replace(forgotten, order_id=moved, price=price)
        return m.Unknown("cut")


@pytest.mark.parametrize("kind", [Short, Cut, Closed])
def test_a_stop_finds_an_order_gone_that_the_venue_forgot_after_its_last_write(kind):
    thin = quoting(kind)
    before = thin.move_ask()
    assert thin.stop(15) is Phase.STOPPED
    assert thin.gone()
    assert thin.gone() <= before


def test_an_order_that_a_lost_amend_gave_another_id_is_found_and_cancelled():
    thin = quoting(Cut)
    thin.elsewhere = True
    thin.move_ask()
    thin.run(20, lambda: thin.show(0, thin.now_ns), NS_PER_SECOND)
    assert {own.order_id for own in thin.trader.desk.live_orders} == set(thin.orders)
    assert not any(len(order_id) > 1 for order_id in thin.orders)
    assert not thin.gone()


@pytest.mark.parametrize(
    ("code", "left"), [("order_not_cancelable", False), ("venue_halted", True)]
)
def test_a_stop_without_a_list_names_only_orders_that_may_rest(code, left):
    class Blind(Thin):
        """From the end on nothing can be read, and every cancel is rejected."""

        is_over = False

        def answer(self, request: m.Request) -> m.Answer:
            if isinstance(request, m.CancelResting) and self.is_over:
                return m.Rejected(422 if not left else 409, code, "")
            if self.is_over:
                return m.Rejected(503, "engine_unavailable", "")
            return super().answer(request)

    thin = Blind([50])
    thin.start()
    thin.is_over = True
    assert thin.stop(8) is Phase.STOPPING
    named = tuple(thin.orders) if left else ()
    assert thin.trader.left_over() == m.DrainComplete(named, (), unshown=True)
