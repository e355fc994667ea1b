"""Claims about orders that the venue has acknowledged and does not know any more."""

from functools import partial

import msgspec
import pytest

from bot.core import messages as m
from bot.core.orders.absence import Absence
from bot.core.orders.order import State
from bot.core.report import Phase
from bot.core.settings import BudgetSettings, TrustSettings
from bot.core.trader import Trader
from strategies.fixed_spread import FixedSpread
from tests.bot import made
from tests.bot.desks import answer, desk, listed
from tests.bot.made import LAG_NS, T0
from tests.bot.thin import Thin
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Qty
from venue.wire.names import OrderId
from venue.wire.requests import Amend

NOT_FOUND = m.Refused(404, "order_not_found", "")


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
    trust = TrustSettings(read_lag_ns=5 * NS_PER_SECOND)
    settings = thin.trader.reconfiguration.settings
    thin.trader = Trader(msgspec.structs.replace(settings, trust=trust), make)
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
                return m.Refused(422, "order_not_cancelable", "")
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
        if isinstance(request, m.CancelResting) and isinstance(answer, m.Done):
            assert isinstance(answer.body, m.CancelShown)
            return m.Done(m.CancelShown(answer.body.order, Qty(answer.body.reduced_by - 1)))
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


def test_an_amended_order_that_cannot_be_read_is_gone_where_the_venue_then_forgets_it():
    class Strange(Forgetful):
        """It answers no amend, and reads show orders in a status of a later version."""

        def answer(self, request: m.Request) -> m.Answer:
            if isinstance(request, m.AmendResting):
                return m.Unknown("cut")
            if isinstance(request, m.ReadOrder) and request.order_id in self.orders:
                strange = {"status": model.OrderStatus.UNKNOWN}
                return made.done(msgspec.structs.replace(self.orders[request.order_id], **strange))
            return super().answer(request)

    thin = Strange([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    before = set(thin.orders)
    thin.mids[0] = 52
    thin.show(0)
    thin.run(2)
    states = {own.order_id: own.state for own in thin.trader.desk.all_live()}
    undecided = {order_id for order_id in before if states.get(order_id) is State.BLURRED}
    assert undecided
    for order_id in undecided:
        del thin.orders[order_id]
    thin.run(30)
    assert thin.gone() == undecided


def test_an_order_that_was_shown_as_it_cannot_be_is_gone_where_the_venue_then_forgets_it():
    of, out = desk()
    own = made.own(State.OPEN)
    of.add(own)
    of.merge_read(own, made.shown(own, price=own.price - 3), T0 + LAG_NS)
    assert own.state is State.BLURRED
    at_ns = T0 + 2 * LAG_NS
    assert of.send_cancel(own, own.why, at_ns)
    answer(of, own, m.CancelResting(own.order_id), NOT_FOUND, at_ns)
    for _ in range(4):
        assert own.is_live
        at_ns += LAG_NS
        answer(of, own, m.ReadOrder(own.order_id), NOT_FOUND, at_ns, at_ns)
        listed(of, [], at_ns)
        if own.is_live:
            assert not of.missing_from_list(own, at_ns, at_ns, at_ns)
    assert not own.is_live
    assert "order_gone" in {each.name for each in out.effects if isinstance(each, m.Noted)}


class SetBack(Forgetful):
    """`over`: an order that it says has filled, as it was before it was set back."""

    over: model.Order | None = None

    def answer(self, request: m.Request) -> m.Answer:
        if self.over is None or getattr(request, "order_id", "") != self.over.order_id:
            return super().answer(request)
        if isinstance(request, m.ReadOrder):
            return made.done(self.over)
        return m.Refused(422, "order_not_cancelable", "")


def test_an_order_that_filled_as_it_was_before_an_amend_is_over():
    """The venue was set back to before the amend, and all that the order was made for filled."""
    lots = [Qty(10)]

    class Lots(FixedSpread):
        def quote(self, view):
            whole = super().quote(view)
            return {
                key: tuple(msgspec.structs.replace(each, qty=lots[-1]) for each in quotes)
                for key, quotes in whole.items()
            }

    thin = SetBack([50], lambda: Lots(Lots.Params()))
    thin.start()
    before = dict(thin.orders)
    lots.append(Qty(2))
    thin.run(3, lambda: thin.show(0, thin.now_ns), NS_PER_SECOND)
    order_id = next(iter(before))
    assert thin.orders.pop(order_id).remaining_qty == 2
    thin.over = msgspec.structs.replace(
        before[order_id],
        filled_qty=Qty(10),
        remaining_qty=Qty(0),
        status=model.OrderStatus.FILLED,
    )
    thin.run(5, lambda: thin.show(0, thin.now_ns), NS_PER_SECOND)
    assert not thin.trader.desk.unknown_count()
    thin.give(m.StopRequested("the end"))
    thin.run(6)
    assert thin.trader.phase is Phase.STOPPED


def test_an_order_that_an_undecided_amend_gave_another_id_is_not_gone():
    thin = Cut([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    thin.elsewhere = True
    thin.mids[0] = 52
    thin.show(0)
    thin.run(15, lambda: thin.show(0, thin.now_ns), NS_PER_SECOND)
    assert any(len(order_id) > 1 for order_id in thin.orders)
    assert {own.order_id for own in thin.trader.desk.all_live()} == set(thin.orders)
    assert not thin.gone()


def test_only_four_answers_together_prove_that_an_order_is_gone():
    denied = Absence(T0)
    late = T0 + LAG_NS
    assert not denied.by_read(late - 1, LAG_NS).read
    assert denied.by_list(late - 1, LAG_NS).list_ns is None
    by_read, by_list = denied.by_read(late, LAG_NS), denied.by_list(late, LAG_NS)
    assert not by_read.is_proven
    assert not by_list.by_list(late + LAG_NS - 1, LAG_NS).lists
    assert not by_list.by_list(late + LAG_NS, LAG_NS).is_proven
    assert by_list.by_list(late + LAG_NS, LAG_NS).by_read(late, LAG_NS).is_proven


@pytest.mark.parametrize("shown", ["read", "amend"])
def test_whatever_shows_the_order_again_begins_anew(shown):
    own = made.own(State.OPEN)
    own.absence = Absence(T0, True, T0, True)
    if shown == "read":
        own.shown_by_read(made.shown(own), T0 + 1, LAG_NS)
    else:
        own.sent_amend(Amend(qty=Qty(5)))
        own.shown_by_write(made.shown(own, remaining=5), T0 + 1)
    assert own.absence is None
    assert not own.gone(T0 + 2)


# --- ids given anew -------------------------------------------------------------------------------


class CountsAnew(Forgetful):
    """What it makes bears the name that we gave it, as the interface has it, and can be read."""

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.ReadOrder) and request.order_id in self.orders:
            return m.Done(m.OrderShown(self.orders[request.order_id]))
        answer = super().answer(request)
        if isinstance(request, m.Create) and isinstance(answer, m.Done):
            name = request.order.client_order_id
            assert isinstance(answer.body, m.OrderShown)
            named = msgspec.structs.replace(answer.body.order, client_order_id=name)
            return m.Done(m.OrderShown(named))
        return answer

    def seen(self) -> list[tuple[object, ...]]:
        """What rests, by the venue."""
        return sorted(
            (each.order_id, each.market_id, each.outcome.value, each.price)
            for each in self.orders.values()
        )

    def believed(self) -> list[tuple[object, ...]]:
        """What rests, by the trader."""
        return sorted(
            (own.order_id, own.market_id, own.outcome.value, own.price)
            for own in self.trader.desk.all_live()
        )


@pytest.mark.parametrize("made", range(5))
def test_an_id_that_a_venue_gives_anew_is_the_order_that_was_made_with_it(made):
    thin = CountsAnew([50, 40, 30], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    thin.orders.clear()
    thin._made = made
    thin.mids = [53, 44, 26]

    def show() -> None:
        for index in range(3):
            thin.show(index, thin.now_ns)

    show()
    thin.run(40, show, NS_PER_SECOND)
    assert len(thin.orders) == 6
    assert thin.believed() == thin.seen()
    assert "order_id_reused" in {note.name for note in thin.notes}


def test_a_row_of_another_rung_under_the_id_of_an_order_is_no_row_of_it():
    of, out = desk()
    own = made.own(State.OPEN)
    of.add(own)
    of.merge_read(own, msgspec.structs.replace(made.shown(own), market_id="other"), T0)
    assert not own.is_live
    assert [each.name for each in out.effects] == ["order_id_reused"]


def test_a_row_whose_outcome_cannot_be_read_is_no_other_order():
    of, _ = desk()
    own = made.own(State.OPEN)
    of.add(own)
    unread = msgspec.structs.replace(made.shown(own), outcome=model.ShownOutcome.UNKNOWN)
    of.merge_read(own, unread, T0 + LAG_NS)
    assert own.state is State.OPEN


class Misnaming(Forgetful):
    """The answer to the first create names another id than the order has."""

    def answer(self, request: m.Request) -> m.Answer:
        answer = super().answer(request)
        if isinstance(request, m.Create) and self.orders.keys() == {"1"}:
            made_as = msgspec.structs.replace(self.orders[OrderId("1")], order_id=OrderId("9"))
            return m.Done(m.OrderShown(made_as))
        return answer


def test_an_order_that_rests_under_another_id_than_its_answer_named_is_cancelled_as_ours():
    thin = Misnaming([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    thin.run(30)
    assert thin.gone() == {"9"}
    assert OrderId("1") not in thin.orders
    assert len(thin.orders) == 2
    assert not thin.trader.out.findings


@pytest.mark.parametrize(
    ("code", "left"), [("order_not_cancelable", False), ("venue_halted", True)]
)
def test_a_stop_without_a_list_names_no_order_that_the_venue_has_said_to_be_over(code, left):
    class Blind(Thin):
        """From the end on nothing can be read, and every cancel is refused."""

        is_over = False

        def answer(self, request: m.Request) -> m.Answer:
            if isinstance(request, m.CancelResting) and self.is_over:
                return m.Refused(422 if not left else 409, code, "")
            if self.is_over:
                return m.Refused(503, "engine_unavailable", "")
            return super().answer(request)

    thin = Blind([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    thin.is_over = True
    thin.give(m.StopRequested("the end"))
    thin.run(8)
    assert thin.trader.phase is Phase.STOPPING
    named = tuple(thin.orders) if left else ()
    assert thin.trader.left_over() == m.Finished(named, (), unshown=True)
