"""Orders that rest before a start or after a stop: cancelled, kept or refused; and foreign ones."""

from dataclasses import replace

import msgspec
import pytest

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import Strangers
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.scenario import MS, SECOND
from bot.lab.sim.venue import CROWD, market_id
from tests.builders.bot.thin import Thin
from tests.builders.io.crash_boundaries import places
from tests.builders.io.crash_world import RUNG, START_NS, Photograph, World
from venue.engine import messages as v
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker
from venue.wire.requests import Amend, QtyOrder, TimeInForce

BLANK = Photograph("nowhere", START_NS + 100 * MS, 0, (), (), {"all": ()}, frozenset(), frozenset())
"""An account without a past."""
WITHIN_NS = 4 * SECOND


def theirs(number: int, price: int = 1, qty: int = 1) -> v.PlaceOrder:
    """An order on our account that no journal knows."""
    outcome = Outcome.YES if number % 2 else Outcome.NO
    name = ClientOrderId(f"theirs-{number}")
    order = QtyOrder(RUNG, outcome, Side.BUY, Price(price), Qty(qty), TimeInForce.GTC, name)
    return v.PlaceOrder(MAKER, order)


def after(past: Photograph, *commands: v.Command) -> Photograph:
    """The same past with more commands at the venue."""
    done = tuple((command, past.now_ns) for command in commands)
    return replace(past, commands=(*past.commands, *done))


def noted(world: World) -> list[str]:
    return [
        entry.message.name for entry in world.disk.entries() if isinstance(entry.message, m.Noted)
    ]


def quoting(world: World) -> World:
    assert world.run_until(world.now_ns + WITHIN_NS, lambda: world.trader.phase is Phase.QUOTING), (
        world.trader.out.findings
    )
    return world


def stopped(world: World) -> World:
    """The world once its trader was stopped and has finished."""
    world.deliver(m.StopRequested("the end"))
    assert world.run_until(world.now_ns + WITHIN_NS, lambda: world.finished is not None)
    return world


def a_past_with_orders() -> Photograph:
    """A crash of a life whose two quotes rest, both answered, nothing on its way; and after it a
    crowd that has nothing more to do."""
    for _, past in places(10**6):
        world = World(past, strangers=Strangers.ADOPT)
        settled = [order for order in world.disk.memory.working if order.settled]
        if len(settled) == len(world.truth.resting()) == 2 and not past.flying:
            return replace(past, now_ns=START_NS + SECOND)
    raise AssertionError("no such moment")


PAST = a_past_with_orders()


@pytest.mark.parametrize("part", range(4))
def test_after_a_lost_journal_no_unknown_order_rests_at_the_first_quote(part):
    """Row 62: a hundred boots beside up to 40 orders, and one beside 200."""
    for boot in range(part, 100, 4):
        count = 200 if boot == 50 else 1 + 7 * boot % 40
        strangers = (Strangers.CANCEL, Strangers.ADOPT)[boot % 2]
        past = after(BLANK, *(theirs(number) for number in range(count)))
        world = World(past, strangers=strangers)
        resting = world.truth.resting()
        assert len(resting) == count
        quoting(world)
        assert not set(resting) & set(world.truth.resting())
        assert not world.truth.broken


def test_a_start_without_a_journal_notes_it_as_information():
    world = World(BLANK)
    world.run_until(world.now_ns + MS)
    messages = [entry.message for entry in world.disk.entries()]
    (note,) = [each for each in messages if isinstance(each, m.Noted) and each.name == "no_journal"]
    assert note.level == "info"


def test_a_start_with_a_damaged_journal_keeps_no_order_and_notes_it():
    [*sealed, last] = PAST.disks["all"]
    hurt = bytearray(last)
    hurt[len(hurt) // 2] ^= 1
    past = replace(PAST, disks={"all": (*sealed, bytes(hurt))})
    world = World(past, strangers=Strangers.ADOPT)
    assert world.disk.memory.fate is m.JournalFate.DAMAGED
    resting = world.truth.resting()
    quoting(world)
    assert "journal_damaged" in noted(world)
    assert not set(resting) & set(world.truth.resting())
    assert world.kept == 0


def test_journaled_orders_keep_their_queue_position_under_adopt():
    world = World(PAST, strangers=Strangers.ADOPT)
    resting = world.truth.resting()
    assert len(resting) == 2
    quoting(world)
    world.run_until(world.now_ns + 5 * MS)
    assert world.kept == 2
    known = {order.order_id: order for order in world.disk.memory.working}
    for order_id in resting:
        own = world.trader.desk.live_order(order_id)
        assert own is not None
        assert own.client_order_id == known[order_id].client_order_id
        assert own.placed_ns == known[order_id].placed_ns
        shown = world.truth.orders[order_id]
        assert (own.price, own.remaining) == (shown.price, shown.remaining_qty)
    writes = [flown.request for flown in world.flying.values()]
    assert not any(isinstance(each, m.CancelResting) for each in writes)


def test_a_kept_order_has_the_price_and_size_that_the_list_shows():
    resting = World(PAST).truth.resting()
    amended = after(PAST, v.AmendOrder(MAKER, resting[0], Amend(qty=Qty(3))))
    world = quoting(World(amended, strangers=Strangers.ADOPT))
    own = world.trader.desk.live_order(resting[0])
    assert own is not None
    assert own.remaining == world.truth.orders[resting[0]].remaining_qty == 3


def test_an_unknown_order_is_cancelled_before_the_first_quote_under_adopt():
    past = after(PAST, theirs(1))
    world = World(past, strangers=Strangers.ADOPT)
    stranger = world.truth.id_of[ClientOrderId("theirs-1")]
    quoting(world)
    assert stranger not in world.truth.resting()
    assert world.kept == 2


def test_an_order_with_an_undecided_write_is_not_kept():
    past = next(
        past
        for _, past in places(10**6)
        if past.door == "before departure AmendResting" and World(past).disk.memory.working
    )
    world = World(past, strangers=Strangers.ADOPT)
    unsettled = {each.order_id for each in world.disk.memory.working if not each.settled}
    assert unsettled
    quoting(world)
    assert not unsettled & set(world.truth.resting())


class NoBooks(World):
    """Reads of order books come to nothing for eight seconds."""

    def _reply(self, request_id: m.RequestId, answer: m.Answer) -> None:
        is_book = isinstance(answer, m.Ok) and isinstance(answer.body, m.BookBody)
        is_early = self.now_ns < PAST.now_ns + 8 * SECOND
        super()._reply(request_id, m.Unknown("cut") if is_book and is_early else answer)


def test_kept_orders_without_a_book_are_cancelled():
    world = NoBooks(PAST, strangers=Strangers.ADOPT)
    world._show_book = lambda: None
    resting = world.truth.resting()
    assert world.run_until(
        world.now_ns + 8 * SECOND, lambda: not set(resting) & set(world.truth.resting())
    )
    quoting(world)
    assert world.kept == 0
    assert "orders_not_kept" in noted(world)


def test_a_stop_during_the_start_cancels_orders_to_be_kept():
    world = World(PAST, strangers=Strangers.ADOPT)
    world._show_book = lambda: None
    world.run_until(world.now_ns + SECOND)
    assert world.trader.phase is Phase.STARTING
    assert len(world.truth.resting()) == 2
    assert stopped(world).finished == m.DrainComplete((), ())
    assert world.truth.resting() == []


class Deaf(World):
    """A world in which reads of some kinds are asked for and never answered."""

    unheard: tuple[type, ...] = ()

    def _depart(self, effect: m.Send) -> None:
        if not isinstance(effect.request, self.unheard):
            super()._depart(effect)


@pytest.mark.parametrize("unheard", [m.ReadPositions, m.ReadFills, m.ReadBalance, m.ReadResting])
def test_a_stop_needs_only_a_list_of_resting_orders_to_know_that_nothing_rests(unheard):
    world = quoting(Deaf(PAST))
    world.unheard = (unheard,)
    world.deliver(m.StopRequested("the end"))
    world.run_until(world.now_ns + 8 * SECOND)
    assert world.finished is None
    left = world.trader.left_over()
    assert left == m.DrainComplete((), (), unshown=unheard is m.ReadResting)
    assert world.truth.resting() == []


@pytest.mark.parametrize(
    ("unheard", "raises"),
    [(m.ReadPositions, False), (m.ReadResting, True)],
)
def test_a_latched_bot_reports_not_flat_only_without_a_list_of_resting_orders(unheard, raises):
    world = quoting(Deaf(PAST))
    world.unheard = (unheard,)
    world.deliver(m.LatchSet("reaper"))
    world.run_until(world.now_ns + 10 * SECOND)
    assert ("latched_not_flat" in world.trader.out.findings) is raises


def test_an_unknown_order_stops_a_refusing_start_and_is_left_resting():
    past = after(PAST, theirs(1), theirs(2))
    world = World(past, strangers=Strangers.REFUSE)
    strangers = [world.truth.id_of[ClientOrderId(f"theirs-{n}")] for n in (1, 2)]
    assert world.run_until(world.now_ns + WITHIN_NS, lambda: world.finished is not None)
    assert sorted(world.truth.resting()) == sorted(strangers)
    assert sorted(world.finished.left) == sorted(strangers)
    text = world.trader.out.findings["strangers_found"]
    assert all(order_id in text for order_id in strangers)
    assert world.trader.out.counters.requests["create"] == 0


def test_a_refusing_start_that_is_stopped_at_once_names_the_unknown_orders():
    world = World(after(BLANK, theirs(1), theirs(2)), strangers=Strangers.REFUSE)
    resting = world.truth.resting()
    assert sorted(stopped(world).truth.resting()) == sorted(resting) == sorted(world.finished.left)


def test_a_refusing_start_cancels_journaled_orders_and_quotes():
    world = World(PAST, strangers=Strangers.REFUSE)
    resting = world.truth.resting()
    quoting(world)
    assert not set(resting) & set(world.truth.resting())


@pytest.mark.parametrize("strangers", [Strangers.CANCEL, Strangers.ADOPT])
def test_fills_between_two_runs_are_booked(strangers):
    before = World(PAST).truth
    [bid] = [each for each in before.resting() if before.orders[each].outcome is Outcome.YES]
    price = 100 - before.orders[bid].price
    name = ClientOrderId("meanwhile")
    sold = QtyOrder(RUNG, Outcome.NO, Side.BUY, Price(price), Qty(500), TimeInForce.IOC, name)
    world = quoting(World(after(PAST, v.PlaceOrder(CROWD[3], sold)), strangers=strangers))
    held = tuple(world.truth.held.get(outcome, 0) for outcome in (Outcome.YES, Outcome.NO))
    assert held[0] >= 2
    assert world.trader.ledgers.holdings(RUNG) == held
    assert stopped(world).trader.report(world.now_ns).ledger_difference_cents == 0


def test_a_foreign_order_stops_creates_until_it_is_gone():
    world = quoting(World(PAST))
    world.exchange.execute(theirs(1), world.now_ns)
    began_ns = world.now_ns
    findings = world.trader.out.findings
    assert world.run_until(world.now_ns + 10 * SECOND, lambda: "foreign_orders" in findings)
    assert world.now_ns - began_ns <= 10 * SECOND
    creates = world.trader.out.counters.requests["create"]
    world.run_until(world.now_ns + SECOND)
    assert world.trader.out.counters.requests["create"] == creates
    assert not len(world.trader.desk.live_orders), "what was quoted is pulled meanwhile"
    stranger = world.truth.id_of[ClientOrderId("theirs-1")]
    assert stranger in world.truth.resting(), "it is not ours to cancel while we quote"
    assert f" rest in our rungs: {stranger} on " in findings["foreign_orders"]
    world.exchange.execute(v.CancelOrder(MAKER, stranger), world.now_ns)
    assert world.run_until(world.now_ns + 10 * SECOND, lambda: "foreign_orders" not in findings)


def test_a_stop_cancels_foreign_orders_and_clears_the_alert():
    world = quoting(World(PAST))
    world.exchange.execute(theirs(1), world.now_ns)
    findings = world.trader.out.findings
    assert world.run_until(world.now_ns + 10 * SECOND, lambda: "foreign_orders" in findings)
    assert "foreign_orders" not in stopped(world).trader.out.findings
    assert world.truth.id_of[ClientOrderId("theirs-1")] not in world.truth.resting()


def elsewhere(world: World) -> None:
    """Let every list of resting orders show an order in a market of another series too."""
    reading = world.exchange.front.reading
    real = reading.reword_answer

    def shown(request, answer):
        answer = real(request, answer)
        if isinstance(request, m.ReadResting):
            [row, *_] = answer.body.orders or [None]
            if row is not None:
                other = msgspec.structs.replace(
                    row, order_id=OrderId("999"), market_id=MarketId(market_id(7, 7))
                )
                return m.Ok(m.OrdersBody((*answer.body.orders, other), answer.body.cursor))
        return answer

    reading.reword_answer = shown


def test_orders_of_another_series_are_noted_once_and_left_alone():
    world = World(PAST)
    elsewhere(world)
    quoting(world)
    world.run_until(world.now_ns + SECOND)
    assert noted(world).count("order_of_another_series") == 1
    assert "foreign_orders" not in world.trader.out.findings
    sent = [e.message.request for e in world.disk.entries() if isinstance(e.message, m.Send)]
    assert m.CancelResting(OrderId("999")) not in sent


class Reissued(World):
    """A start whose series lists its rung under another id and ticker than the run before did."""

    def _reply(self, request_id: m.RequestId, answer: m.Answer) -> None:
        if isinstance(answer, m.Ok) and isinstance(answer.body, m.SeriesBody):
            events = []
            for event in answer.body.events:
                markets = [
                    msgspec.structs.replace(
                        each, ticker=Ticker(f"{each.ticker}0"), market_id=MarketId(market_id(7, 7))
                    )
                    for each in event.markets
                ]
                events.append(msgspec.structs.replace(event, markets=markets))
            answer = m.Ok(msgspec.structs.replace(answer.body, events=tuple(events)))
        super()._reply(request_id, answer)


@pytest.mark.parametrize("strangers", Strangers)
@pytest.mark.parametrize("stops", [False, True])
def test_orders_of_an_earlier_run_on_an_unlisted_rung_are_cancelled(strangers, stops):
    world = Reissued(PAST, strangers=strangers)
    assert len(world.truth.resting()) == 2
    if stops:
        stopped(world)
    else:
        quoting(world)
    assert world.truth.resting() == []
    assert "order_of_another_series" not in noted(world)


def test_a_read_that_is_never_answered_does_not_hold_up_a_stop():
    class NeverTold(Thin):
        """Reads of the series are never answered again."""

        silent = False

        def ask(self, send: m.Send) -> None:
            if not (self.silent and isinstance(send.request, m.ReadSeries)):
                super().ask(send)

    thin = NeverTold([50])
    thin.start()
    thin.silent = True
    thin.run(6)
    assert any(isinstance(each.request, m.ReadSeries) for each in thin.trader.out.pending.values())
    thin.give(m.StopRequested("the end"))
    thin.run(5)
    assert thin.trader.phase is Phase.STOPPED
