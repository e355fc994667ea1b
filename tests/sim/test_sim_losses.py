"""Claims about the judge of the loss and the drawdown breaker, told by the venue's own account."""

from types import SimpleNamespace

import pytest

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import BreakerSettings, PaceSettings, RiskSettings, TraderSettings
from bot.lab.sim.judge.broken import Broken
from bot.lab.sim.judge.losses import Losses
from bot.lab.sim.judge.truth import Truth
from bot.lab.sim.odds import MS
from bot.lab.sim.seen import Seen
from bot.lab.sim.venue.exchange import MAKER, SERIES, market_id
from venue.core import messages as v
from venue.wire.model import Liquidity
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import OrderId

MARKET = market_id(0, 0)
RISK = RiskSettings(series_loss_cents=Cents(900), rung_position_qty=Qty(50), order_qty=Qty(10))


class Case:
    """A life whose books are open, with ten YES shares at 50 cents; a loss of 30 cents trips, or
    one of 40 from the highest."""

    def __init__(self) -> None:
        self.truth = Truth(held={(MARKET, Outcome.YES): 10})
        breakers = BreakerSettings(loss_cents=30, drawdown_cents=40)
        settings = TraderSettings(
            series_ticker=SERIES, risk=RISK, pace=PaceSettings(), breakers=breakers
        )
        self.judge = Losses(settings, self.truth, Seen())
        self.rung = SimpleNamespace(market_id=MARKET, book=SimpleNamespace(last_price=None))
        ladder = SimpleNamespace(rungs=[self.rung])
        self.trader = SimpleNamespace(
            phase=Phase.STARTING, quoting=SimpleNamespace(ladders=[ladder])
        )
        self.now_ns = 0
        self.looks(50)
        self.trader.phase = Phase.QUOTING
        self.looks(50, 5)

    def looks(self, fair, times=1):
        """A beat every tenth of a second."""
        for _ in range(times):
            self.now_ns += 100 * MS
            self.rung.fair = None if fair is None else SimpleNamespace(value_cents=fair)
            self.judge.look(self.trader, {}, self.now_ns, self.now_ns)

    def fills(self, name, price, qty):
        """Shares are bought at a price, and the venue books them."""
        fill = v.FillBooked(
            0, name, name, MAKER, OrderId("1"), MARKET, Outcome.YES, Side.BUY, Price(price),
            Price(price), Qty(qty), Cents(0), Liquidity.MAKER,
        )  # fmt: skip
        self.truth.fills.append((self.now_ns, fill))

    def is_shown(self, *names):
        """A whole walk of the list of fills ends, and another one begins."""
        rows = tuple(SimpleNamespace(fill_id=name) for name in names)
        self.judge.asked(m.ReadFills(""))
        self.judge.answered(m.ReadFills(""), m.Done(m.FillsShown(rows, "")))
        self.judge.asked(m.ReadFills(""))


def test_a_loss_is_over_its_limit_once_every_look_of_three_tenths_of_a_second_shows_it():
    case = Case()
    case.looks(46, 3)
    assert not case.judge.over
    case.looks(46)
    assert case.judge.over == "a loss of 40 cents, at most 30"


def test_a_loss_within_the_margin_or_for_a_moment_alone_calls_for_nothing():
    case = Case()
    case.looks(47, 20)
    assert not case.judge.over
    case.looks(40, 2)
    case.looks(50, 5)
    assert not case.judge.over


def test_what_was_believed_before_the_books_open_and_is_not_as_they_do_tells_of_no_loss():
    case = Case()
    case.trader.phase = Phase.STARTING
    case.looks(50)
    case.looks(None)
    case.trader.phase = Phase.QUOTING
    case.looks(None, 5)
    case.looks(40, 20)
    assert not case.judge.over


def test_a_drawdown_counts_from_the_highest_that_was_seen_for_as_long():
    case = Case()
    case.looks(60, 2)
    case.looks(55, 5)
    case.looks(50, 5)
    assert case.judge.over == "a drawdown of 50 cents, at most 40"


def test_a_loss_beyond_its_limit_sets_the_latch_within_a_second():
    case = Case()
    case.looks(40, 5)
    case.judge.stands("", case.now_ns)
    case.looks(40, 11)
    case.judge.stands("loss_cents: 100, at most 30", case.now_ns)
    with pytest.raises(Broken, match="B13: a drawdown of 100 cents, at most 40, and no latch"):
        case.judge.stands("", case.now_ns)


def test_a_fill_counts_once_a_whole_walk_has_shown_it_and_till_then_as_is_better_for_the_bot():
    case = Case()
    case.fills("f1", 70, 5)
    case.looks(50, 5)
    assert not case.judge.over
    case.is_shown("f1")
    case.looks(50, 4)
    assert case.judge.over == "a drawdown of 100 cents, at most 40"


def test_a_walk_that_failed_shows_nothing():
    case = Case()
    case.fills("f1", 70, 5)
    case.judge.asked(m.ReadFills(""))
    rows = (SimpleNamespace(fill_id="f1"),)
    case.judge.answered(m.ReadFills(""), m.Done(m.FillsShown(rows, "more")))
    case.judge.answered(m.ReadFills("more"), m.Unknown("lost"))
    case.judge.asked(m.ReadFills(""))
    case.looks(50, 5)
    assert not case.judge.over


def test_a_share_whose_rung_has_resolved_may_have_paid_the_dollar():
    case = Case()
    case.truth.resolved[MARKET] = Outcome.NO
    case.looks(1, 20)
    assert not case.judge.over


def test_a_belief_that_is_missing_is_no_loss():
    case = Case()
    case.rung.book.last_price = 10
    case.looks(None, 20)
    assert not case.judge.over


def test_profit_is_reckoned_anew_once_a_person_has_looked():
    case = Case()
    case.looks(40, 5)
    assert case.judge.over
    case.judge.cleared()
    case.looks(40, 20)
    assert not case.judge.over


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("loss_cents: 100, at most 30", ""),
        ("loss_cents: 100, at most 90", "at most 90"),
        ("loss_cents: 140, at most 30", "100 by the judge"),
        ("drawdown_cents: 40, at most 40", "at most 40"),
        ("creates_per_minute: 61, at most 60", ""),
    ],
)
def test_a_breaker_that_trips_has_lost_as_much_as_it_says_and_its_limit_is_the_one_in_force(
    reason, told
):
    case = Case()
    case.looks(40)
    if not told:
        case.judge.tripped(reason)
        return
    with pytest.raises(Broken, match=told):
        case.judge.tripped(reason)


def test_limits_that_are_not_given_follow_from_that_of_the_series():
    case = Case()
    case.judge.follow(TraderSettings(series_ticker=SERIES, risk=RISK, pace=PaceSettings()))
    case.looks(0, 20)
    assert not case.judge.over
    case.fills("f1", 99, 5)
    case.is_shown("f1")
    case.looks(0, 5)
    assert case.judge.over == "a loss of 995 cents, at most 900"
