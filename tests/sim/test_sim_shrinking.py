"""Claims about the judge of what may only shrink a position, near an end and under a flatten."""

import pytest

from bot.core import messages as m
from bot.core.settings import CurfewSettings, PaceSettings, RiskSettings, TraderSettings
from bot.lab.sim.judge.broken import Broken
from bot.lab.sim.judge.flight import Flight
from bot.lab.sim.judge.shrinking import Shrinking
from bot.lab.sim.judge.truth import Truth
from bot.lab.sim.odds import SECOND
from bot.lab.sim.seen import Seen
from bot.lab.sim.venue.simulated import SERIES, market_id
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder, TimeInForce

MARKET = market_id(0, 0)
BID, ASK = True, False
NONE = CurfewSettings()
ENDS_NS = 10_000 * SECOND
RISK = RiskSettings(
    event_loss_cents=Cents(900),
    series_loss_cents=Cents(900),
    rung_position_qty=Qty(10),
    order_qty=Qty(5),
)


class Case:
    """A rung of which seven YES shares are held."""

    def __init__(self, curfew: CurfewSettings = NONE) -> None:
        self.truth = Truth(held={(MARKET, Outcome.YES): 7})
        self.flight = Flight(self.truth, [MARKET])
        settings = TraderSettings(
            series_ticker=SERIES, risk=RISK, pace=PaceSettings(), curfew=curfew
        )
        self.judge = Shrinking(settings, self.truth, self.flight, ENDS_NS, Seen())
        self.made = 0

    def makes(self, is_bid: bool, qty: int, left_s: int = 9_000) -> None:
        """A create leaves so long before the end."""
        self.made += 1
        side = Side.BUY if is_bid else Side.SELL
        name = ClientOrderId(str(self.made))
        order = QtyOrder(MARKET, Outcome.YES, side, Price(50), Qty(qty), TimeInForce.GTC, name)
        self.flight.may_land(order)
        self.judge.sent(MARKET, is_bid, ENDS_NS - left_s * SECOND, first=True)


def test_at_any_time_positions_may_grow():
    Case().makes(BID, 9)


def test_under_a_flatten_no_more_may_fill_than_is_held_until_a_resume():
    case = Case()
    case.judge.saw(m.FlattenRequested("home"))
    case.makes(ASK, 4)
    case.makes(ASK, 3)
    with pytest.raises(Broken, match=r"8 shares may fill .* 7 are to be shrunk"):
        case.makes(ASK, 1)
    with pytest.raises(Broken, match=r"1 shares may fill .* 0 are to be shrunk"):
        case.makes(BID, 1)
    case.judge.saw(m.ResumeRequested())
    case.makes(BID, 1)


def test_near_an_end_orders_are_made_on_the_side_alone_that_shrinks():
    case = Case(CurfewSettings(reduce_ns=600 * SECOND))
    case.makes(BID, 1, 601)
    case.makes(ASK, 1, 500)
    with pytest.raises(Broken, match="new exposure"):
        case.makes(BID, 1, 500)


def test_after_the_stop_no_order_is_made_and_what_rests_goes():
    case = Case(CurfewSettings(stop_ns=600 * SECOND))
    case.makes(ASK, 1, 601)
    assert not case.judge.must_go(MARKET, ASK, ENDS_NS - 601 * SECOND)
    with pytest.raises(Broken, match="before its event ends"):
        case.makes(ASK, 1, 500)
    assert case.judge.must_go(MARKET, ASK, ENDS_NS - 500 * SECOND)


def test_under_a_flatten_an_order_that_can_shrink_nothing_goes_once_that_must_be_known():
    case = Case()
    case.judge.saw(m.FlattenRequested("home"))
    assert not case.judge.must_go(MARKET, BID, 0)
    assert not case.judge.must_go(MARKET, ASK, 60 * SECOND)
    assert not case.judge.must_go(MARKET, BID, SECOND)
    assert case.judge.must_go(MARKET, BID, 60 * SECOND)
    case.truth.held[MARKET, Outcome.YES] = 6
    assert not case.judge.must_go(MARKET, BID, 61 * SECOND)
