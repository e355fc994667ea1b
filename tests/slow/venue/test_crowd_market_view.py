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


class Watched:
    """An engine whose every event reaches a floor at once; only ann belongs to the floor."""

    def __init__(self):
        self.engine, self.floor, self.count = Engine(b"k" * 32), CrowdView([ANN], Cents(10_000)), 0
        for command in ladder():
            self.engine.apply(command, START_NS)
        self.floor.open_with(ladder())
        for user in (ANN, BEN):
            self.do(m.AddUser(user))
            self.do(m.Deposit(user, Cents(10_000)))

    def do(self, command):
        answer, events = self.engine.apply(command, START_NS + LAG_NS)
        self.floor.observe(events)
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
    return Watched()


def test_the_best_price_leaves_own_shares_out(watched):
    watched.place(ANN, Outcome.YES, Side.BUY, 40, 5)
    watched.place(BEN, Outcome.YES, Side.BUY, 39, 5)
    assert watched.floor.best(MARKET, BookSide.BID, ANN) == 39
    assert watched.floor.best(MARKET, BookSide.BID, BEN) == 40
    assert watched.floor.best(MARKET, BookSide.ASK, ANN) is None


def test_a_level_shared_with_others_stays(watched):
    watched.place(ANN, Outcome.NO, Side.BUY, 40, 5)
    watched.place(BEN, Outcome.NO, Side.BUY, 40, 1)
    assert watched.floor.best(MARKET, BookSide.ASK, ANN) == 60


def test_shares_on_offer_are_not_free(watched):
    watched.place(ANN, Outcome.YES, Side.BUY, 40, 10)
    watched.place(BEN, Outcome.NO, Side.BUY, 60, 10)
    assert watched.floor.free_shares(ANN, MARKET, Outcome.YES) == 10
    watched.place(ANN, Outcome.YES, Side.SELL, 90, 4)
    assert watched.floor.free_shares(ANN, MARKET, Outcome.YES) == 6


def test_cash_is_what_the_venue_says(watched):
    watched.place(ANN, Outcome.YES, Side.BUY, 40, 10)
    assert watched.floor.cash_cents[ANN] < 10_000 - 399


def test_orders_that_ended_are_forgotten(watched):
    placed = watched.place(ANN, Outcome.YES, Side.BUY, 40, 10)
    assert len(watched.floor.orders(ANN, MARKET)) == 1
    watched.do(m.CancelOrder(ANN, placed.order.order_id))
    assert watched.floor.orders(ANN, MARKET) == []


def test_a_halt_of_a_market_or_of_the_venue_stops_orders(watched):
    assert watched.floor.is_active(MARKET)
    watched.do(m.HaltMarket(MARKET))
    assert not watched.floor.is_active(MARKET)
    watched.do(m.ResumeMarket(MARKET))
    assert watched.floor.is_active(MARKET)
    watched.do(m.SetVenueState(VenueState.CANCEL_ONLY))
    assert not watched.floor.is_active(MARKET)


def test_an_opening_with_halted_and_resolved_markets_is_understood():
    floor = CrowdView([ANN], Cents(1))
    halted, resolved, resumed = (market_id(place) for place in range(3))
    floor.open_with(
        [
            *ladder(),
            m.HaltMarket(halted),
            m.ResolveMarket(resolved, Outcome.YES),
            m.HaltMarket(resumed),
            m.ResumeMarket(resumed),
            m.AddUser(BEN),
        ]
    )
    assert not floor.is_active(halted)
    assert resolved not in floor.spots
    assert floor.is_active(resumed)
    floor.open_with([m.SetVenueState(VenueState.HALTED)])
    assert not floor.is_active(resumed)


def test_a_resolved_market_leaves_nothing_behind(watched):
    watched.place(ANN, Outcome.YES, Side.BUY, 40, 10)
    watched.do(m.ResolveMarket(MARKET, Outcome.YES))
    assert MARKET not in watched.floor.spots
    assert watched.floor.orders(ANN, MARKET) == []
    assert not watched.floor.is_active(MARKET)


def test_events_of_an_unknown_market_are_passed_over():
    floor = CrowdView([ANN], Cents(1))
    floor.observe(
        [
            m.LevelChanged(START_NS, MARKET, BookSide.BID, Price(40), Qty(1)),
            m.MarketStateChanged(START_NS, MARKET, MarketState.RESOLVED),
        ]
    )
    assert floor.spots == {}


def test_strikes_of_one_company_compare_whatever_unit_each_is_written_in():
    floor = CrowdView([ANN], Cents(1))
    company, event, *rungs = ladder(["2", "2000", "3"])
    units = ["USD billions", "USD millions", None]
    written = zip(rungs, units, strict=True)
    listed = [msgspec.structs.replace(rung, strike_unit=unit) for rung, unit in written]
    floor.open_with([company, event, *listed])
    strikes = [spot.log_strike for spot in floor.spots.values()]
    assert strikes == [math.log(2), pytest.approx(math.log(2)), math.log(3)]
    assert floor.dollars_per_unit(PROJECT) == 10**9
