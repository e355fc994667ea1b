"""Claims about what is counted of requests that did not leave: no token, or a limit held them."""

from bot.core import messages as m
from bot.core.desk.outbox import Outbox
from bot.core.desk.spend import Lane
from bot.core.settings import BudgetSettings
from strategies.fixed_spread import FixedSpread
from tests.bot.thin import Thin
from venue.wire.money import Outcome

READ = m.ReadBalance()
SECOND = 10**9


def emptied() -> Outbox:
    """An outbox whose purse holds its reserve and nothing more."""
    out = Outbox(BudgetSettings(rate_per_second=1, burst=3, reserve=2))
    out.purse.begin(0)
    assert out.send(READ, Lane.READ, "why", 0)
    return out


def test_a_request_without_a_token_is_counted_by_lane_once_an_instant():
    out = emptied()
    for _ in range(5):
        assert not out.send(READ, Lane.READ, "why", 0)
    assert not out.send(READ, Lane.CREATE, "why", 0)
    assert not out.send(READ, Lane.READ, "why", 1)
    assert out.counters(0).denied == {"read": 2, "create": 1}


def test_what_leaves_is_not_counted_as_denied():
    out = emptied()
    assert out.send(READ, Lane.CANCEL, "why", 0)
    assert out.counters(0).denied == {}


def test_what_limits_hold_back_is_counted_by_limit():
    out = emptied()
    for limit in ("pace", "exposure", "pace"):
        out.holds_back(limit)
    assert out.counters(0).held_back == {"pace": 2, "exposure": 1}


def test_what_waits_after_a_refusal_is_held_back_by_no_limit_of_ours():
    class Poor(Thin):
        def answer(self, request):
            if isinstance(request, m.Create) and request.order.outcome is Outcome.NO:
                return m.Refused(422, "insufficient_balance", "")
            return super().answer(request)

    thin = Poor([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    thin.run(20, lambda: thin.show(0, thin.now_ns), SECOND)
    (rung,) = thin.trader.plan(thin.now_ns).events[0].rungs
    assert [each.held_back[:15] for each in rung.intentions] == ["", "refused of late"]
    assert thin.trader.report(thin.now_ns).counters.held_back == {}
