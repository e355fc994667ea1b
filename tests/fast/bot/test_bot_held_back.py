"""Claims about what is counted of requests that did not leave: no token, or a limit held them."""

from bot.core import messages as m
from bot.core.orders.outbox import Outbox
from bot.core.orders.request_budget import Priority
from bot.core.settings import BudgetSettings
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin
from venue.wire.money import Outcome

READ = m.ReadBalance()
SECOND = 10**9


def emptied() -> Outbox:
    """An outbox whose purse holds its reserve and nothing more."""
    out = Outbox(BudgetSettings(rate_per_second=1, burst=3, reserve=2))
    assert out.send(READ, Priority.READ, "why", 0)
    return out


def test_a_request_without_a_token_is_counted_by_lane_once_an_instant():
    out = emptied()
    for _ in range(5):
        assert not out.send(READ, Priority.READ, "why", 0)
    assert not out.send(READ, Priority.CREATE, "why", 0)
    assert not out.send(READ, Priority.READ, "why", 1)
    assert out.counters.denied == {"read": 2, "create": 1}


def test_what_leaves_is_not_counted_as_denied():
    out = emptied()
    assert out.send(READ, Priority.CANCEL, "why", 0)
    assert out.counters.denied == {}


def test_what_limits_hold_back_is_counted_by_limit():
    out = emptied()
    for limit in ("pace", "exposure", "pace"):
        out.holds_back(limit)
    assert out.counters.held_back == {"pace": 2, "exposure": 1}


class Poor(Thin):
    """A venue of one rung on which cash suffices for no ask. refused_ns: when one was refused."""

    def __init__(self) -> None:
        self.refused_ns: list[int] = []
        super().__init__([50], lambda: FixedSpread(FixedSpread.Params()))

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.Create) and request.order.outcome is Outcome.NO:
            self.refused_ns.append(self.now_ns)
            return m.Rejected(422, "insufficient_balance", "")
        return super().answer(request)

    def frees_some(self) -> None:
        """An order of ours ends, and lets its reserve go."""
        for own in self.trader.desk.live_orders:
            own.cancel_requested = True
            self.trader.quoting.orders_changed(own.market_id)
        self.show(0, self.now_ns)


def test_what_waits_after_a_refusal_is_held_back_by_no_limit_of_ours():
    thin = Poor()
    thin.start()
    thin.run(20, lambda: thin.show(0, thin.now_ns), SECOND)
    (rung,) = thin.trader.plan(thin.now_ns).events[0].rungs
    assert [each.held_back[:15] for each in rung.intentions] == ["", "refused: retry "]
    assert thin.trader.report(thin.now_ns).counters.held_back == {}


def test_what_funds_did_not_suffice_for_three_times_in_a_minute_waits_a_minute():
    """Row 19: however often an order of ours ends meanwhile."""
    thin = Poor()
    thin.start()
    thin.run(55, thin.frees_some, SECOND)
    assert len(thin.refused_ns) == 3
    thin.run(60, thin.frees_some, SECOND)
    assert len(thin.refused_ns) == 6
    assert thin.refused_ns[3] - thin.refused_ns[2] >= 60 * SECOND
