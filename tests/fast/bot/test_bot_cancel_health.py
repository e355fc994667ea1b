"""Claims about a venue that takes orders and cancels none."""

import pytest

from bot.core import messages as m
from bot.core.orders.rejects import FAILING_NS, CancelHealth
from bot.strategy.api import EventView, Quotes
from strategies.fixed_spread import FixedSpread
from tests.builders.bot import made
from tests.builders.bot.made import T0
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_SECOND

FAILURE = m.Unknown("500 internal_error")


class Fickle(FixedSpread):
    """Quotes every rung but the `unwanted` ones."""

    unwanted: frozenset[int] = frozenset()

    def quote(self, view: EventView) -> Quotes:
        quotes = super().quote(view)
        return {
            rung.market_id: () if place in Fickle.unwanted else quotes[rung.market_id]
            for place, rung in enumerate(view.rungs)
        }


class NoCancels(Thin):
    """Cancels, or those of `only` some orders, are answered with `fails`."""

    fails: m.Answer | None = None
    only: frozenset[str] | None = None

    def __init__(self, rungs: int) -> None:
        Fickle.unwanted = frozenset()
        super().__init__([50, 45, 40, 35][:rungs], lambda: Fickle(FixedSpread.Params()))

    def answer(self, request: m.Request) -> m.Answer:
        if self.fails is not None and isinstance(request, m.CancelResting):
            is_meant = self.only is None or request.order_id in self.only
            return self.fails if is_meant else super().answer(request)
        return super().answer(request)

    def pull(self, *places: int) -> None:
        """The strategy stops quoting these rungs."""
        Fickle.unwanted = frozenset(places)
        self.show_all()

    def live(self, seconds: float) -> None:
        """Let time pass, with frames."""
        for _ in range(int(seconds * 5)):
            self.show_all()
            self.run(0.2)

    @property
    def text(self) -> str:
        return self.trader.out.findings.get("cancels_fail", "")


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (m.Unknown("500 internal_error"), "500 internal_error"),
        (m.Unknown("405 without a code"), "405 without a code"),
        (m.Rejected(503, "engine_unavailable", "not submitted"), "503 engine_unavailable"),
    ],
    ids=str,
)
def test_nothing_is_placed_while_cancels_fail_and_quoting_resumes_once_one_works(failure, said):
    thin = NoCancels(4)
    thin.start()
    thin.fails = failure
    thin.pull(0, 1)
    thin.live(FAILING_NS / NS_PER_SECOND + 2)
    assert thin.text.endswith(f"the last answer: {said}")
    assert thin.trader.withheld == thin.text
    since_ns = thin.now_ns
    Fickle.unwanted = frozenset()
    thin.live(5)
    sent = thin.writes(since_ns)
    assert sent
    assert all(isinstance(each, m.CancelResting) for each in sent)
    asked = {each.order_id for each in sent}
    assert asked == {*thin.orders}, "what it cannot watch over is wanted away"
    assert len(sent) <= 6 * len(asked), "a second apart"
    thin.fails = None
    thin.live(4)
    assert not thin.text
    assert len(thin.orders) == 8
    assert all(own.order_id not in asked for own in thin.trader.desk.live_orders)


def test_one_order_that_cannot_be_cancelled_stops_no_other_quotes():
    thin = NoCancels(4)
    thin.start()
    thin.fails = FAILURE
    rung = thin.markets[0].market_id
    thin.only = frozenset(each.order_id for each in thin.orders.values() if each.market_id == rung)
    assert len(thin.only) == 2
    thin.pull(0)
    thin.live(8)
    assert not thin.text
    assert len(thin.orders) == 8


def test_rate_limited_cancels_do_not_count_as_failing():
    thin = NoCancels(4)
    thin.start()
    thin.fails = m.Rejected(429, "rate_limited", "slow down")
    thin.pull(0, 1)
    thin.live(8)
    assert not thin.text


def test_failures_an_hour_apart_do_not_count_as_failing_cancels():
    of = CancelHealth()
    first, later = made.own(number=1), made.own(number=2)
    assert of.on_answer(first, FAILURE, 2, T0) is None
    hour_ns = 3_600 * NS_PER_SECOND
    assert of.on_answer(later, FAILURE, 2, T0 + hour_ns) is None
    assert of.on_answer(first, FAILURE, 2, T0 + hour_ns + FAILING_NS - 1) is None
    assert of.on_answer(first, FAILURE, 2, T0 + hour_ns + FAILING_NS)


def test_slow_failures_count_as_one_period_of_failing_cancels():
    of = CancelHealth()
    own = made.own()
    assert of.on_answer(own, FAILURE, 1, T0) is None
    assert of.on_answer(own, FAILURE, 1, T0 + 15 * NS_PER_SECOND)
