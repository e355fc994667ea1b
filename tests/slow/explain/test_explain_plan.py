"""Claims about plans: what would be sent and what holds it back, told without changing anything."""

import asyncio
from collections.abc import Callable

import anyio
import msgspec
import pytest

from bot.cli.plan_text import dry_text
from bot.core import messages as m
from bot.core.preview import Act, TraderPlan, rooms
from bot.core.report import Phase
from bot.core.risk.exposure import Bounds, Exposure, OpenExposure, RungTerms, bounds_of
from bot.core.risk.limits import limits_in_force
from bot.core.settings import RiskSettings
from bot.core.trader import Trader
from bot.io.adapter import Connection
from bot.io.clock import Clock
from bot.io.journal.recovery import NOTHING_LEFT, RecoveredState
from bot.io.run.dryrun import DryPlan, WishesOnly, dry_run
from bot.io.run.watchdog import StrategyWatchdog
from bot.strategy.api import Strategy, Take
from strategies.ladder_joint import LadderJoint
from tests.builders.bot.thin import Thin
from venue.wire import model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import QtyOrder, TimeInForce


def joint() -> LadderJoint:
    return LadderJoint(LadderJoint.Params(levels=2))


def effects_of_a_wandering_market(thin: Thin, looks: Callable[[], object]) -> list[list[m.Effect]]:
    """The effects of a run in which the market wanders; `looks` is called before each event."""
    made: list[list[m.Effect]] = []
    receive = thin.trader.receive

    def kept(event: m.Event, now_ns: int) -> list[m.Effect]:
        looks()
        made.append(receive(event, now_ns))
        return made[-1]

    thin.trader.receive = kept
    thin.start()
    step = iter(range(1_000))

    def wander() -> None:
        at = next(step)
        if at % 4 == 1:  # what is wished for then has to wait
            thin.trader.out.purse.told_to_wait(NS_PER_SECOND // 2, thin.now_ns)
        thin.mids = [70 + at % 3, 50 - at % 2, 30 + (at // 2) % 3]
        for index in range(3):
            thin.show(index, thin.now_ns)

    thin.run(6, wander, NS_PER_SECOND // 3)
    return made


def test_reading_the_plan_does_not_change_the_run():
    alone, looked_at = Thin([70, 50, 30], joint), Thin([70, 50, 30], joint)
    plans: list[TraderPlan] = []

    def look() -> None:
        plans.append(looked_at.trader.plan(looked_at.now_ns))

    assert effects_of_a_wandering_market(looked_at, look) == effects_of_a_wandering_market(
        alone, lambda: None
    )
    counted = [run.trader.out.counters for run in (alone, looked_at)]
    assert counted[0] == counted[1]
    assert any(plan.requests for plan in plans)
    assert any(each.act is Act.KEEP for plan in plans for each in actions(plan))


def actions(plan: TraderPlan) -> list:
    return [each for event in plan.events for rung in event.rungs for each in rung.intentions]


@pytest.fixture
def thin() -> Thin:
    run = Thin([70, 50, 30], joint)
    run.start()
    return run


def test_a_plan_is_read_back_from_json_as_written(thin):
    plan = thin.trader.plan(thin.now_ns)
    assert msgspec.json.decode(msgspec.json.encode(plan), type=TraderPlan) == plan


def test_a_kept_order_has_the_reason_it_was_placed_for(thin):
    kept = [each for each in actions(thin.trader.plan(thin.now_ns)) if each.act is Act.KEEP]
    whys = {own.order_id: own.why for own in thin.trader.desk.live_orders}
    assert kept
    assert all(each.why == whys[each.order_id] for each in kept)


def test_the_planned_requests_are_sent_at_the_next_decision(thin):
    thin.mids = [70, 46, 30]
    thin.show(1, thin.now_ns)
    thin.now_ns += NS_PER_SECOND // 5
    thin.trader.out.purse.told_to_wait(NS_PER_SECOND // 5, thin.now_ns)
    thin.give(m.Tick())  # decided and planned, and nothing may leave
    planned = thin.trader.plan(thin.now_ns).requests
    since_ns = thin.now_ns
    thin.now_ns += NS_PER_SECOND // 5
    thin.give(m.Tick())
    assert not thin.writes(since_ns)
    thin.now_ns += NS_PER_SECOND // 5
    thin.give(m.Tick())
    sent = thin.writes(since_ns)
    assert planned
    for act, kind in (Act.CANCEL, m.CancelResting), (Act.AMEND, m.AmendResting):
        assert {each.order_id for _, each in planned if each.act is act} == {
            each.order_id for each in sent if isinstance(each, kind)
        }
    assert [each.turn for _, each in planned] == list(range(1, len(planned) + 1))


def test_the_plan_of_a_paused_trader_cancels_and_says_so(thin):
    thin.trader.out.purse.told_to_wait(NS_PER_SECOND, thin.now_ns)
    thin.trader.receive(m.PauseRequested("lunch"), thin.now_ns)
    plan = thin.trader.plan(thin.now_ns)
    assert plan.withheld == "paused"
    assert {each.act for _, each in plan.requests} == {Act.CANCEL}


@pytest.mark.parametrize(
    ("happens", "says"),
    [
        (lambda t: t.trader.receive(m.FeedClosed("cut"), t.now_ns), "channel"),
        (lambda t: t.trader.receive(m.StopRequested("x"), t.now_ns), "stopping"),
        (lambda t: t.trader.receive(m.LatchSet("look at it"), t.now_ns), "latched: look at it"),
        (lambda t: t.trader.receive(m.JournalFailed("full"), t.now_ns), "stopping"),
    ],
)
def test_the_plan_names_what_blocks_all_requests(thin, happens, says):
    happens(thin)
    thin.give(m.Tick())
    plan = thin.trader.plan(thin.now_ns)
    blocked = [rung.blocked for event in plan.events for rung in event.rungs]
    assert says in f"{plan.withheld} {blocked}"


def test_the_plan_names_a_limit_that_trims_every_quote():
    run = Thin([70, 50, 30], joint)
    tight = RiskSettings(
        event_loss_cents=Cents(700),
        series_loss_cents=Cents(700),
        rung_position_qty=Qty(100_000),
        order_qty=Qty(1_000),
    )
    settings = msgspec.structs.replace(run.trader.reconfiguration.settings, risk=tight)
    run.trader = Trader(settings, joint)
    run.start()
    plan = run.trader.plan(run.now_ns)
    cuts = [cut for event in plan.events for rung in event.rungs for cut in rung.cuts]
    assert {cut.reason for cut in cuts} == {"event_loss"}
    (limits,) = [event.limits for event in plan.events]
    used = {each.name: each for each in limits}["event_loss_cents"]
    assert 0 < used.used <= used.limit == 700


def order_of_50_at_10() -> tuple[Exposure, OpenExposure, Bounds]:
    """Nothing is held, a dollar may be lost, 40 shares may be held."""
    market = MarketId("r")
    free = FeeRate.parse("0")
    exposure = Exposure([RungTerms.at_rates(market, free, free)], Cents(0), [(0, 0)])
    limits = limits_in_force(
        RiskSettings(
            event_loss_cents=Cents(100),
            series_loss_cents=Cents(100),
            rung_position_qty=Qty(40),
            order_qty=Qty(50),
        )
    )
    candidate = OpenExposure(market, Outcome.YES, Side.BUY, Price(10), Qty(50))
    return exposure, candidate, bounds_of(limits, Cents(100))


def test_the_room_under_each_limit_is_computed_by_itself():
    """Ten cents a share lost at worst, a dollar allowed: ten shares, whatever else there is."""
    found = {each.limit: each.qty for each in rooms(*order_of_50_at_10())}
    assert (found["loss_cents"], found["position_qty"]) == (10, 40)
    assert found["resting_cents"] == 50  # its limit is ten times as much


# --- dry runs -------------------------------------------------------------------------------------


class Reads:
    """A venue's REST side of which every write is an error."""

    def __init__(self, thin: Thin) -> None:
        self.thin = thin
        self.asked: list[m.Request] = []

    def start(self, send: m.Send, answered: Callable[[m.Response], None], _: object = None) -> None:
        self.asked.append(send.request)
        assert not isinstance(send.request, m.Create | m.AmendResting | m.CancelResting)
        answer = self.thin.answer(send.request)
        asyncio.get_running_loop().call_soon(answered, m.Response(send.request_id, answer, 500))


class Books:
    """A channel that shows every book once a tenth of a second."""

    def __init__(self, thin: Thin, tell: Callable[[m.Event], None], clock: Clock) -> None:
        self.thin, self.tell, self.clock = thin, tell, clock

    def subscribe(self, _: m.SubscribeTo) -> None:
        """All of them are shown anyway."""

    async def run(self) -> None:
        self.tell(m.FeedOpened())
        while True:
            for index in range(len(self.thin.mids)):
                self.tell(self.thin.book(index, self.clock.now_ns()))
            await asyncio.sleep(0.1)


def dry(
    thin: Thin,
    longest_s: float = 8,
    memory: RecoveredState = NOTHING_LEFT,
    strategy: Callable[[], Strategy] = joint,
    **more: object,
) -> tuple[DryPlan, Reads]:
    """A dry run on a thin venue, with a read lag of a hundredth of a second."""
    settings = thin.trader.reconfiguration.settings
    staleness = msgspec.structs.replace(settings.staleness, read_lag_ns=10 * NS_PER_MS)
    settings = msgspec.structs.replace(settings, staleness=staleness)
    trader = Trader(settings, strategy, WishesOnly(settings.budget))
    reads, clock = Reads(thin), Clock()
    thin.now_ns = clock.now_ns()

    async def run() -> DryPlan:
        return await dry_run(
            trader,
            Connection(reads, lambda tell: Books(thin, tell, clock)),
            memory,
            StrategyWatchdog(NS_PER_SECOND),
            clock,
            int(longest_s * NS_PER_SECOND),
            **more,
        )

    return anyio.run(run), reads


def test_a_dry_run_plans_quotes_on_every_rung_and_writes_nothing():
    plan, reads = dry(Thin([70, 50, 30], joint))
    assert plan.settled
    assert plan.plan.phase is Phase.QUOTING
    acts = {
        rung.ticker: {each.act for each in rung.intentions} for rung in plan.plan.events[0].rungs
    }
    assert set(map(frozenset, acts.values())) == {frozenset({Act.CREATE})}
    assert all(not each.held_back for each in actions(plan.plan))
    assert plan.first == ()
    assert reads.asked


class Taking(Strategy):
    name = "taking"

    def quote(self, view):
        first = view.rungs[0]
        if first.best_ask is None or not first.quotable:
            return {}
        return {first.market_id: (Take(BookSide.BID, first.best_ask, Qty(5)),)}


def test_a_dry_run_shows_the_takes_of_the_strategy():
    plan, _ = dry(Thin([70, 50, 30], joint), strategy=lambda: Taking(Taking.Params()))
    takes = [rung.takes for rung in plan.plan.events[0].rungs]
    assert takes == [(Take(BookSide.BID, Price(72), Qty(5)),), (), ()]
    told = dry_text(plan)
    assert "wanted to take bid 72 x 5 in its last answer" in told
    assert "all is on target" not in told


def test_a_suspended_event_shows_no_take():
    thin = Thin([70, 50, 30], lambda: Taking(Taking.Params()))
    thin.start()
    ladder = thin.trader.quoting.ladders[0]
    assert ladder.takes
    settled = msgspec.structs.replace(ladder.event, status=model.EventStatus.SETTLED)
    ladder.refresh(settled, thin.now_ns, lambda: ladder.strategy)
    assert not any(rung.takes for rung in thin.trader.plan(thin.now_ns).events[0].rungs)


def test_a_dry_run_plans_to_cancel_resting_orders_and_leaves_them():
    thin = Thin([70, 50, 30], joint)
    thin.start()
    left = dict(thin.orders)
    plan, _ = dry(thin)
    assert plan.settled
    assert {OrderId(each.order) for each in plan.first} == set(left)
    assert {each.kind for each in plan.first} == {"cancel"}
    assert thin.orders == left
    assert all(order.status is model.OrderStatus.OPEN for order in thin.orders.values())


@pytest.mark.parametrize("landed", [True, False])
def test_a_dry_run_resolves_an_unconfirmed_create_by_the_list_of_orders(landed):
    thin = Thin([70, 50, 30], joint)
    order = QtyOrder(
        thin.markets[0].market_id, Outcome.YES, Side.BUY, Price(60), Qty(3), TimeInForce.GTC,
        ClientOrderId("lost-1"),
    )  # fmt: skip
    if landed:
        thin.answer(m.Create(order, False))
        shown = thin.orders[OrderId("1")]
        thin.orders[OrderId("1")] = msgspec.structs.replace(
            shown, client_order_id=ClientOrderId("lost-1")
        )
    memory = RecoveredState(m.JournalFate.FOUND, (m.UnconfirmedCreate(order),))
    plan, _ = dry(thin, memory=memory)
    assert plan.settled
    kinds = [(each.kind, each.order) for each in plan.first]
    assert kinds[0] == ("create", "lost-1")
    assert (("cancel", "1") in kinds) is landed
    assert len(thin.orders) == int(landed)


def test_the_plan_of_a_latched_bot_is_empty_and_says_why():
    plan, _ = dry(Thin([70, 50, 30], joint), latched="a breaker")
    assert plan.settled
    assert "a breaker" in plan.plan.withheld


def test_a_dry_run_that_times_out_says_what_it_waits_for():
    plan, _ = dry(Thin([70, 50, 30], joint), longest_s=0.05)
    assert not plan.settled
    assert plan.plan.withheld or plan.plan.events


def test_the_room_under_the_cash_is_listed_with_the_limits():
    found = rooms(*order_of_50_at_10(), Qty(3))
    assert (found[0].limit, found[0].qty) == ("cash", 3)
