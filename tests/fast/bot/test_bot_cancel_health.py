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

FAILURES = [
    m.Unknown("500 internal_error"),
    m.Unknown("405 without a code"),
    m.Rejected(503, "engine_unavailable", "not submitted"),
]


class Fickle(FixedSpread):
    """Quotes every rung but those of which it wants to know nothing at the moment."""

    unwanted: frozenset[int] = frozenset()

    def quote(self, view: EventView) -> Quotes:
        quotes = super().quote(view)
        return {
            rung.market_id: () if place in Fickle.unwanted else quotes[rung.market_id]
            for place, rung in enumerate(view.rungs)
        }


class NoCancels(Thin):
    """A venue whose every cancel, or every one of some orders, is answered by the same failure."""

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
        """The strategy quotes these rungs no more; it is asked at the next frame."""
        Fickle.unwanted = frozenset(places)
        for index in range(len(self.mids)):
            self.show(index)

    def live(self, seconds: float) -> None:
        """Let time pass, with frames."""
        for _ in range(int(seconds * 5)):
            for index in range(len(self.mids)):
                self.show(index)
            self.run(0.2)

    @property
    def text(self) -> str:
        return self.trader.out.findings.get("cancels_fail", "")


@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_nothing_is_placed_while_no_cancel_works_and_quoting_goes_on_once_one_does(failure):
    thin = NoCancels(4)
    thin.start()
    thin.fails = failure
    thin.pull(0, 1)
    thin.live(FAILING_NS / NS_PER_SECOND + 2)
    assert thin.text
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


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (FAILURES[0], "500 internal_error"),
        (FAILURES[1], "405 without a code"),
        (FAILURES[2], "503 engine_unavailable"),
    ],
    ids=str,
)
def test_what_is_told_of_failing_cancels_names_the_last_answer(failure, said):
    thin = NoCancels(4)
    thin.start()
    thin.fails = failure
    thin.pull(0, 1)
    thin.live(FAILING_NS / NS_PER_SECOND + 2)
    assert thin.text.endswith(f"the last answer: {said}")


def test_one_order_that_cannot_be_cancelled_stops_nothing_else():
    thin = NoCancels(4)
    thin.start()
    thin.fails = FAILURES[0]
    rung = thin.markets[0].market_id
    thin.only = frozenset(each.order_id for each in thin.orders.values() if each.market_id == rung)
    assert len(thin.only) == 2
    thin.pull(0)
    thin.live(8)
    assert not thin.text
    assert len(thin.orders) == 8


def test_a_venue_that_asks_to_wait_does_not_look_like_one_that_cancels_nothing():
    thin = NoCancels(4)
    thin.start()
    thin.fails = m.Rejected(429, "rate_limited", "slow down")
    thin.pull(0, 1)
    thin.live(8)
    assert not thin.text


def test_two_failures_an_hour_apart_are_not_a_time_in_which_no_cancel_works():
    of = CancelHealth()
    first, later = made.own(number=1), made.own(number=2)
    assert of.on_answer(first, FAILURES[0], 2, T0) is None
    hour_ns = 3_600 * NS_PER_SECOND
    assert of.on_answer(later, FAILURES[0], 2, T0 + hour_ns) is None
    assert of.on_answer(first, FAILURES[0], 2, T0 + hour_ns + FAILING_NS - 1) is None
    assert of.on_answer(first, FAILURES[0], 2, T0 + hour_ns + FAILING_NS)


def test_failures_that_each_take_long_to_come_are_one_time_in_which_no_cancel_works():
    of = CancelHealth()
    own = made.own()
    assert of.on_answer(own, FAILURES[0], 1, T0) is None
    assert of.on_answer(own, FAILURES[0], 1, T0 + 15 * NS_PER_SECOND)
