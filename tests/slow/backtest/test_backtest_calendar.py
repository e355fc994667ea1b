"""Claims about dates in a backtest: wider quotes around one, and variance that one brings."""

from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from statistics import mean

import msgspec
import pytest

from bot.config.bot_config import finish, read_draft
from bot.core.settings import CalendarEntry
from bot.core.trading_state import TradingState
from bot.lab.backtest.run import Backtest
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from venue.crowd.tape import closes_ns, read_tape
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty

STARTER = Path(__file__).parents[3] / "bot" / "starter"
TAPE = read_tape(STARTER / "tape")
BEGAN_NS = TAPE.records[0].ts
HALF_SPREAD_CENTS = 4
DATE_S, WIDE_S, NORMAL_S, END_S = 30, 60, 90, 120
"""DATE_S is the date that is worth variance; quotes are wider from WIDE_S to NORMAL_S."""
LEFT_S = (closes_ns(TAPE) - BEGAN_NS) // NS_PER_SECOND
WIDTH_PCT = 300
CALENDAR = (
    CalendarEntry(
        at_ns=BEGAN_NS + DATE_S * NS_PER_SECOND,
        name="guidance",
        before_ns=0,
        after_ns=0,
        state=TradingState.ACTIVE,
        variance_ns=3 * LEFT_S * NS_PER_SECOND,
    ),
    CalendarEntry(
        at_ns=BEGAN_NS + WIDE_S * NS_PER_SECOND,
        name="index day",
        before_ns=0,
        after_ns=(NORMAL_S - WIDE_S) * NS_PER_SECOND,
        state=TradingState.ACTIVE,
        width_pct=WIDTH_PCT,
    ),
)


class Around(Strategy):
    """Quotes so far on both sides of the fair value, whatever it holds, and keeps what it saw."""

    def __init__(self) -> None:
        super().__init__(None)
        self.views: list[EventView] = []

    def quote(self, view: EventView) -> Quotes:
        self.views.append(view)
        return {
            rung.market_id: (
                Quote(BookSide.BID, Price(round(fair) - HALF_SPREAD_CENTS), Qty(1)),
                Quote(BookSide.ASK, Price(round(fair) + HALF_SPREAD_CENTS), Qty(1)),
            )
            for rung in view.rungs
            if rung.quotable and (fair := rung.fair_cents) is not None and 15 < fair < 85
        }


class Played:
    """A run of the first minutes of a tape: by second, how far each order rests from the fair value
    of its rung, in cents, and what the strategy saw."""

    def __init__(self, calendar: tuple[CalendarEntry, ...]) -> None:
        self.strategy = Around()
        self.distances: dict[int, list[float]] = {}
        settings = finish(read_draft(STARTER / "bot.yaml")).trader
        settings = msgspec.structs.replace(settings, calendar=calendar)
        model, terms = QueueModel.PESSIMISTIC, Terms()
        self._run = Backtest(TAPE, settings, lambda: self.strategy, model, terms)
        self._run.run(self._look)

    def _look(self, _: int) -> bool:
        now_ns = self._run.recorded_ns
        second = (now_ns - BEGAN_NS) // NS_PER_SECOND
        if second not in self.distances:
            self.distances[second] = [*self._away(now_ns)]
        return second < END_S

    def _away(self, now_ns: int) -> Iterator[float]:
        for event in self._run.trader.report(now_ns).events:
            for rung in event.rungs:
                for order in rung.orders:
                    assert rung.fair_cents is not None
                    yield abs(order.price - rung.fair_cents)

    def mean_cents(self, from_s: int, until_s: int) -> float:
        return mean(
            cents for second in range(from_s, until_s) for cents in self.distances.get(second, ())
        )

    def view_at(self, second: int) -> EventView:
        """What the strategy saw first from this second on."""
        views = self.strategy.views
        return next(each for each in views if LEFT_S - each.seconds_to_resolution >= second)


@pytest.fixture(scope="module")
def runs() -> tuple[Played, Played]:
    """Of the same tape, without and with the calendar."""
    return Played(()), Played(CALENDAR)


@pytest.mark.parametrize(
    ("from_s", "until_s", "times"),
    [(10, WIDE_S, 1), (WIDE_S, NORMAL_S, 3), (NORMAL_S + 5, END_S, 1)],
)
def test_quotes_rest_further_from_the_fair_value_by_the_width_of_a_date(
    runs, from_s, until_s, times
):
    plain_cents, dated_cents = (run.mean_cents(from_s, until_s) for run in runs)
    assert dated_cents == pytest.approx(times * plain_cents, rel=0.05)


@pytest.mark.parametrize(("second", "times"), [(DATE_S - 1, 4), (DATE_S + 10, 1)])
def test_a_date_worth_thrice_the_time_left_halves_the_volatility_before_it(runs, second, times):
    """Of rungs whose values have hardly moved: then it is the value's sd over the root of the
    variance."""
    plain, dated = (run.view_at(second) for run in runs)
    variance_s = plain.variance_s(LEFT_S)
    assert dated.variance_s(LEFT_S) == pytest.approx(times * variance_s, rel=1e-4)
    volatilities = [rung.volatility_cents / sqrt(times) for rung in plain.rungs]
    assert [rung.volatility_cents for rung in dated.rungs] == pytest.approx(volatilities, rel=0.03)
