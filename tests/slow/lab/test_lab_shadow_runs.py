"""Claims about candidates in the shadow of a run: what fills them, what stops them, what they are
held to, and that they live in a market without our own orders."""

from collections.abc import Callable

import msgspec
import pytest

from bot.core import messages as m
from bot.core.report import ShadowReport
from bot.core.settings import Candidate
from bot.lab.shadow import BEHIND_NS, Shadow
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from strategies.ladder_joint import STRATEGY as LADDER_JOINT
from tests.builders.bot.thin import EVENT, Thin
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty

LATENCY_NS = 50 * NS_PER_MS
BEHIND_S = BEHIND_NS / NS_PER_SECOND


def live() -> Strategy:
    return LADDER_JOINT(LADDER_JOINT.Params())


class Fixed(Strategy):
    """Wants `wanted` on the first rung."""

    wanted: tuple[Quote, ...] = ()

    def __init__(self) -> None:
        super().__init__(self.Params())

    def quote(self, view: EventView) -> Quotes:
        return {view.rungs[0].market_id: self.wanted}


def bids(*levels: tuple[int, int]) -> type[Fixed]:
    """A strategy that wants these bids, (price, shares)."""
    quotes = tuple(Quote(BookSide.BID, Price(price), Qty(qty)) for price, qty in levels)
    return type("Bids", (Fixed,), {"wanted": quotes})


class Raises(Fixed):
    """Raises, from the second time it is asked."""

    asked = 0

    def quote(self, view: EventView) -> Quotes:
        self.asked += 1
        if self.asked > 1:
            raise ZeroDivisionError("of mine")
        return {}


Nonsense = bids((0, 1))


def broken() -> Strategy:
    """Cannot even be made."""
    raise RuntimeError("no model")


class Shadowed(Thin):
    """The thin venue with a run of three rungs, 68 to 72 the first, and candidates in its shadow,
    who have `LATENCY_NS` and are given all that the trader takes in and does."""

    def __init__(
        self,
        *makers: Callable[[], Strategy],
        make_live: Callable[[], Strategy] = Fixed,
        **risk: int,
    ) -> None:
        super().__init__([70, 50, 30], make_live)
        candidates = [
            Candidate(f"c{number}", "test", make, LATENCY_NS) for number, make in enumerate(makers)
        ]
        settings = self.trader.reconfiguration.settings
        limits = msgspec.structs.replace(settings.risk, **risk)
        self.shadow = Shadow(candidates, msgspec.structs.replace(settings, risk=limits))
        receive = self.trader.receive

        def followed(event: m.Event, now_ns: int) -> list[m.Effect]:
            effects = receive(event, now_ns)
            for message in (event, *effects):
                self.shadow.on_entry(now_ns, message)
            return effects

        self.trader.receive = followed  # type: ignore[method-assign]
        self.start()

    def print(self, price: int, size: int, name: str = "t") -> None:
        """Somebody sold YES of the first rung into the bids."""
        market, at_ns = self.markets[0].market_id, self.now_ns
        self.give(m.Trade(market, at_ns, name, Price(price), Qty(size), False))

    def move(self, seconds: float = 5.0) -> None:
        """The market moves about for a while."""
        moves = iter([1, 1, -1, 2, -1, -2, 1, 0, 1, -1] * 50)

        def step() -> None:
            by = next(moves)
            self.mids = [mid + by for mid in self.mids]
            for index in range(len(self.mids)):
                self.show(index)

        self.run(seconds, step, NS_PER_SECOND // 4)

    def scores(self) -> tuple[ShadowReport, ...]:
        """What came of all that has happened so far, and was read."""
        self.run(BEHIND_S + 10, least_ns=NS_PER_SECOND // 10)
        return self.shadow.reports()


def bought(venue: Shadowed) -> list[int]:
    return [score.profit.total.qty for score in venue.scores()]


def test_a_shadow_with_the_live_parameters_decides_mostly_the_same():
    venue = Shadowed(live, make_live=live)
    venue.move(20)
    for score in venue.scores():
        assert score.decisions > 50
        assert score.same > 0.6 * score.decisions
        assert score.changes > 3


@pytest.mark.parametrize("make", [live, bids((45, 10)), Raises, Nonsense, broken])
def test_a_shadow_does_not_change_the_requests_of_the_live_strategy(make):
    alone, beside = Shadowed(make_live=live), Shadowed(make, make_live=live)
    for venue in (alone, beside):
        venue.move()
    assert beside.sent == alone.sent


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (Raises, "ZeroDivisionError: of mine"),
        (Nonsense, "NonsenseQuotes: price 0"),
        (broken, "RuntimeError: no model"),
    ],
)
def test_a_failing_shadow_is_stopped_with_its_reason_and_others_continue(make, why):
    venue = Shadowed(make, live)
    venue.move()
    scores = venue.scores()
    failed = [score for score in scores if score.name == "c0"]
    assert all(why in score.stopped and not score.resting for score in failed)
    others = [score for score in scores if score.name == "c1"]
    assert [score.bound for score in others] == ["pessimistic", "expected"]
    assert all(not score.stopped and score.decisions > 10 for score in others)


def test_a_repeated_print_fills_a_shadow_once():
    venue = Shadowed(bids((69, 10)))
    for _ in range(2):
        venue.print(69, 4)
    assert bought(venue) == [4, 4]
    assert [score.resting for score in venue.scores()] == [6, 6]


def test_a_shadow_order_queues_behind_the_book():
    venue = Shadowed(bids((68, 10)))
    venue.print(68, 104)
    assert bought(venue) == [2, 2]


def test_a_shadow_order_does_not_queue_behind_our_live_orders():
    ours = Shadowed(bids((69, 10)), make_live=bids((69, 30)))
    assert ours.book(0).bids[0] == (69, 30)
    ours.print(69, 4)
    assert bought(ours) == [4, 4]


def test_a_print_within_the_latency_does_not_fill_a_shadow():
    venue = Shadowed(bids((66, 10)))
    venue.mids[0] -= 2
    venue.show(0)
    venue.now_ns += LATENCY_NS // 2
    venue.print(60, 4, "early")
    assert bought(venue) == [4, 4]


def test_shadows_respect_the_risk_limits_of_the_live_strategy():
    venue = Shadowed(bids((60, 900)), event_loss_cents=30_000)
    for score in venue.scores():
        assert score.left_out > 0
        assert 0 < score.resting < 900
        assert 0 < score.worst_case_max_cents <= 30_000


def test_shadow_orders_are_cancelled_while_the_bot_is_paused():
    venue = Shadowed(bids((45, 10)))
    assert [score.resting for score in venue.scores()] == [10, 10]
    venue.give(m.PauseRequested("x"))
    assert [score.resting for score in venue.scores()] == [0, 0]


def test_the_profit_of_a_shadow_agrees_with_its_inventory_and_cash():
    venue = Shadowed(bids((69, 10), (67, 10)))
    for number in range(6):
        venue.print(66, 3, f"t{number}")
        venue.move(1)
    for score in venue.scores():
        assert score.profit.total.fills > 2
        assert score.profit.difference_millicents == 0


@pytest.mark.parametrize(("winner", "cents"), [("yes", 400 - 4 * 69), ("no", -4 * 69)])
def test_a_shadow_is_paid_when_the_winner_is_known(winner, cents):
    venue = Shadowed(bids((69, 4)))
    venue.print(69, 4)
    assert bought(venue) == [4, 4]
    note = {"market_id": venue.markets[0].market_id, "winner": winner, "event": EVENT}
    venue.shadow.on_entry(venue.now_ns, m.Noted("info", "rung_settled", note))
    venue.run(90, least_ns=NS_PER_SECOND)
    for score in venue.scores():
        assert score.profit.settled_millicents == 1_000 * cents
        assert score.profit.difference_millicents == 0
