"""Claims about orders that the venue has acknowledged and does not know any more."""

from functools import partial

import msgspec
import pytest

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import BudgetSettings, StalenessSettings
from bot.core.trader import Trader
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Qty
from venue.wire.names import OrderId

NOT_FOUND = m.Rejected(404, "order_not_found", "")


class Forgetful(Thin):
    """`deny`: orders that it denies to know when they are cancelled; what it has forgotten it
    answers by 404 likewise."""

    deny: frozenset[str] = frozenset()
    notes: tuple[m.Noted, ...] = ()

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.CancelResting | m.AmendResting):
            is_known = request.order_id in self.orders
            if request.order_id in self.deny or not is_known:
                return NOT_FOUND
        return super().answer(request)

    def told(self, effect: m.Effect) -> None:
        if isinstance(effect, m.Noted):
            self.notes += (effect,)

    def gone(self) -> set[str]:
        """Ids that were told to be gone."""
        return {str(note.fields["order_id"]) for note in self.notes if note.name == "order_gone"}


def quoting() -> Forgetful:
    """A venue at which the trader quotes one rung."""
    thin = Forgetful([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    assert thin.orders
    return thin


def test_a_stop_ends_well_where_the_venue_knows_none_of_our_orders_any_more():
    thin = quoting()
    forgotten = set(thin.orders)
    thin.orders.clear()
    thin.give(m.StopRequested("the end"))
    thin.run(6)
    assert thin.trader.phase is Phase.STOPPED
    assert thin.gone() == forgotten


def test_an_order_that_a_list_shows_is_not_gone_however_often_its_cancel_is_denied():
    thin = quoting()
    thin.deny = frozenset(thin.orders)
    thin.give(m.StopRequested("the end"))
    thin.run(30)
    assert thin.trader.phase is Phase.STOPPING
    assert set(thin.trader.left_over().left) == set(thin.orders)


def test_what_the_venue_has_forgotten_while_we_quote_is_cancelled_to_be_sure_and_made_anew():
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


def test_what_the_venue_has_forgotten_is_found_gone_where_reads_lag_longer_than_cancels_wait():
    make = partial(FixedSpread, FixedSpread.Params())
    thin = Forgetful([50], make)
    staleness = StalenessSettings(read_lag_ns=5 * NS_PER_SECOND)
    settings = thin.trader.reconfiguration.settings
    thin.trader = Trader(msgspec.structs.replace(settings, staleness=staleness), make)
    thin.start()
    thin.run(20)
    forgotten = set(thin.orders)
    assert forgotten
    thin.orders.clear()
    thin.run(90, lambda: thin.show(0, thin.now_ns), NS_PER_SECOND)
    assert thin.gone() == forgotten
    assert thin.trader.out.findings == {}
    assert len(thin.orders) == len(forgotten)


def test_more_orders_are_found_gone_than_could_be_cancelled_and_read_each_second():
    make = partial(FixedSpread, FixedSpread.Params())
    thin = Forgetful([30, 40, 50, 60, 70], make)
    budget = BudgetSettings(rate_per_second=12, burst=40, reserve=20)
    settings = thin.trader.reconfiguration.settings
    thin.trader = Trader(msgspec.structs.replace(settings, budget=budget), make)
    thin.start()
    forgotten = set(thin.orders)
    assert len(forgotten) == 10
    thin.orders.clear()
    shown = range(len(thin.mids))
    thin.run(90, lambda: [thin.show(index, thin.now_ns) for index in shown], NS_PER_SECOND)
    assert thin.gone() == forgotten
    assert thin.trader.out.findings == {}
    assert len(thin.orders) == len(forgotten)


def test_an_order_whose_amend_found_it_over_is_gone_where_the_venue_then_forgets_it():
    """As where it filled, an amend met that, and the venue was set back to before the order."""

    class Over(Forgetful):
        def answer(self, request: m.Request) -> m.Answer:
            if isinstance(request, m.AmendResting):
                self.orders.pop(request.order_id, None)
                return m.Rejected(422, "order_not_cancelable", "")
            return super().answer(request)

    thin = Over([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    before = set(thin.orders)
    thin.mids[0] = 52
    thin.show(0)
    thin.run(1)
    assert not before <= set(thin.orders)
    thin.give(m.StopRequested("the end"))
    thin.run(6)
    assert thin.trader.phase is Phase.STOPPED
    assert thin.gone()
    assert thin.gone() <= before


class Short(Forgetful):
    """It says that a cancel of ours took off a share less than was there, and forgets the order."""

    def answer(self, request: m.Request) -> m.Answer:
        answer = super().answer(request)
        if isinstance(request, m.CancelResting) and isinstance(answer, m.Ok):
            assert isinstance(answer.body, m.CancelBody)
            return m.Ok(m.CancelBody(answer.body.order, Qty(answer.body.reduced_by - 1)))
        return answer


class Cut(Forgetful):
    """It answers no amend, and forgets the order. elsewhere: it keeps it under another id."""

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


@pytest.mark.parametrize("kind", [Short, Cut])
def test_an_order_whose_last_write_left_a_doubt_is_gone_where_the_venue_then_forgets_it(kind):
    thin = kind([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    before = set(thin.orders)
    thin.mids[0] = 52
    thin.show(0)
    thin.run(1)
    thin.give(m.StopRequested("the end"))
    thin.run(15)
    assert thin.trader.phase is Phase.STOPPED
    assert thin.gone()
    assert thin.gone() <= before


def test_an_order_that_an_undecided_amend_gave_another_id_is_found_and_cancelled():
    thin = Cut([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    thin.elsewhere = True
    thin.mids[0] = 52
    thin.show(0)
    thin.run(20, lambda: thin.show(0, thin.now_ns), NS_PER_SECOND)
    assert {own.order_id for own in thin.trader.desk.live_orders} == set(thin.orders)
    assert not any(len(order_id) > 1 for order_id in thin.orders)
    assert not thin.gone()


@pytest.mark.parametrize(
    ("code", "left"), [("order_not_cancelable", False), ("venue_halted", True)]
)
def test_a_stop_without_a_list_names_no_order_that_the_venue_has_said_to_be_over(code, left):
    class Blind(Thin):
        """From the end on nothing can be read, and every cancel is refused."""

        is_over = False

        def answer(self, request: m.Request) -> m.Answer:
            if isinstance(request, m.CancelResting) and self.is_over:
                return m.Rejected(422 if not left else 409, code, "")
            if self.is_over:
                return m.Rejected(503, "engine_unavailable", "")
            return super().answer(request)

    thin = Blind([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    thin.is_over = True
    thin.give(m.StopRequested("the end"))
    thin.run(8)
    assert thin.trader.phase is Phase.STOPPING
    named = tuple(thin.orders) if left else ()
    assert thin.trader.left_over() == m.DrainComplete(named, (), unshown=True)
