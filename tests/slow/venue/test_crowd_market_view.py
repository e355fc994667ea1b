"""What the crowd knows of the venue."""

import math

import msgspec
import pytest

from tests.builders.venue.crowd_simulation import LAG_NS, PROJECT, START_NS, ladder, market_id
from venue.crowd.market_view import CrowdView
from venue.engine import messages as m
from venue.engine.engine import Engine
from venue.wire.model import MarketState, VenueState
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, UserId
from venue.wire.requests import QtyOrder, TimeInForce

ANN, BEN = UserId("ann"), UserId("ben")
MARKET = market_id(0)


class WatchedEngine:
    """An engine whose events reach the crowd's view at once; only ann belongs to the crowd."""

    def __init__(self):
        self.engine, self.view, self.count = Engine(b"k" * 32), CrowdView([ANN], Cents(10_000)), 0
        for command in ladder():
            self.engine.apply(command, START_NS)
        self.view.open_with(ladder())
        for user in (ANN, BEN):
            self.do(m.AddUser(user))
            self.do(m.Deposit(user, Cents(10_000)))

    def do(self, command):
        answer, events = self.engine.apply(command, START_NS + LAG_NS)
        self.view.observe(events)
        return answer

    def place(self, user, outcome, side, price, qty):
        self.count += 1
        body = QtyOrder(
            MARKET,
            outcome,
            side,
            Price(price),
            Qty(qty),
            TimeInForce.GTC,
            ClientOrderId(str(self.count)),
        )
        return self.do(m.PlaceOrder(user, body))


@pytest.fixture
def watched():
    return WatchedEngine()


def test_the_best_price_excludes_own_size(watched):
    watched.place(ANN, Outcome.YES, Side.BUY, 40, 5)
    watched.place(BEN, Outcome.YES, Side.BUY, 39, 5)
    assert watched.view.best(MARKET, BookSide.BID, ANN) == 39
    assert watched.view.best(MARKET, BookSide.BID, BEN) == 40
    assert watched.view.best(MARKET, BookSide.ASK, ANN) is None


def test_the_best_price_includes_a_level_shared_with_others(watched):
    watched.place(ANN, Outcome.NO, Side.BUY, 40, 5)
    watched.place(BEN, Outcome.NO, Side.BUY, 40, 1)
    assert watched.view.best(MARKET, BookSide.ASK, ANN) == 60


def test_shares_in_a_resting_sale_are_not_free(watched):
    watched.place(ANN, Outcome.YES, Side.BUY, 40, 10)
    watched.place(BEN, Outcome.NO, Side.BUY, 60, 10)
    assert watched.view.free_shares(ANN, MARKET, Outcome.YES) == 10
    watched.place(ANN, Outcome.YES, Side.SELL, 90, 4)
    assert watched.view.free_shares(ANN, MARKET, Outcome.YES) == 6


def test_the_view_forgets_closed_orders_and_follows_cash(watched):
    placed = watched.place(ANN, Outcome.YES, Side.BUY, 40, 10)
    assert len(watched.view.orders(ANN, MARKET)) == 1
    assert watched.view.cash_cents[ANN] < 10_000 - 399
    watched.do(m.CancelOrder(ANN, placed.order.order_id))
    assert watched.view.orders(ANN, MARKET) == []
    assert watched.view.cash_cents[ANN] == 10_000


def test_a_halted_market_or_venue_is_not_active(watched):
    assert watched.view.is_active(MARKET)
    watched.do(m.HaltMarket(MARKET))
    assert not watched.view.is_active(MARKET)
    watched.do(m.ResumeMarket(MARKET))
    assert watched.view.is_active(MARKET)
    watched.do(m.SetVenueState(VenueState.CANCEL_ONLY))
    assert not watched.view.is_active(MARKET)


def test_the_view_of_an_opening_knows_halted_and_resolved_markets():
    view = CrowdView([ANN], Cents(1))
    halted, resolved, resumed = (market_id(place) for place in range(3))
    view.open_with(
        [
            *ladder(),
            m.HaltMarket(halted),
            m.ResolveMarket(resolved, Outcome.YES),
            m.HaltMarket(resumed),
            m.ResumeMarket(resumed),
            m.AddUser(BEN),
        ]
    )
    assert not view.is_active(halted)
    assert resolved not in view.spots
    assert view.is_active(resumed)
    view.open_with([m.SetVenueState(VenueState.HALTED)])
    assert not view.is_active(resumed)


def test_the_view_forgets_a_resolved_market(watched):
    watched.place(ANN, Outcome.YES, Side.BUY, 40, 10)
    watched.do(m.ResolveMarket(MARKET, Outcome.YES))
    assert MARKET not in watched.view.spots
    assert watched.view.orders(ANN, MARKET) == []
    assert not watched.view.is_active(MARKET)


def test_the_view_ignores_events_of_an_unknown_market():
    view = CrowdView([ANN], Cents(1))
    view.observe(
        [
            m.LevelChanged(START_NS, MARKET, BookSide.BID, Price(40), Qty(1)),
            m.MarketStateChanged(START_NS, MARKET, MarketState.RESOLVED),
        ]
    )
    assert view.spots == {}


def test_strikes_in_different_units_compare_by_value():
    view = CrowdView([ANN], Cents(1))
    company, event, *rungs = ladder(["2", "2000", "3"])
    units = ["USD billions", "USD millions", None]
    written = zip(rungs, units, strict=True)
    listed = [msgspec.structs.replace(rung, strike_unit=unit) for rung, unit in written]
    view.open_with([company, event, *listed])
    strikes = [spot.log_strike for spot in view.spots.values()]
    assert strikes == [math.log(2), pytest.approx(math.log(2)), math.log(3)]
    assert view.dollars_per_unit(PROJECT) == 10**9
