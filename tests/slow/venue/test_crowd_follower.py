"""Tapes as they are played on the real engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.venue.crowd_simulation import ME, PlainMaker
from tests.builders.venue.crowd_tapes import book, follow, price, recorded, rung, top, trade, write
from venue.crowd.follower import TAPE_CASH_CENTS, median_strike
from venue.crowd.people import TAPE_MAKER, TAPE_TAKER
from venue.engine import messages as m
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder, TimeInForce

ONE = {"KX-26JAN02": [rung("A", "10")]}
THREE = {"KX-26JAN02": [rung("A", "10"), rung("B", "20"), rung("C", "30")]}
BRACKETS = {"HI-1": [rung(t, s) for t, s in (("T1", "36"), ("B1", "36.5"), ("B2", "38.5"))]}
BRACKETS["HI-1"] += [rung("B3", "40.5"), rung("T2", "42")]


def levels(sim, place=0):
    return {side: dict(sim.depth.get((sim.markets[place], side), {})) for side in BookSide}


def touch(sim, place):
    return sim.best(sim.markets[place], BookSide.BID), sim.best(sim.markets[place], BookSide.ASK)


def test_a_recorded_book_rests_on_both_outcomes(tmp_path):
    records = [book(0, "A", [[40, 5], [39, 7]], [[50, 3]]), book(100, "A", [[1, 1]], [])]
    sim = follow(write(tmp_path, ONE, records), tape_speed=50).run(1)
    assert levels(sim) == {BookSide.BID: {40: 5, 39: 7}, BookSide.ASK: {50: 3}}
    sides = {order.side for order in sim.states.values()}
    assert sides == {Side.BUY}


def test_each_book_follows_the_one_before(tmp_path):
    records = [book(0, "A", [[40, 5]], [[50, 3]]), book(1, "A", [[40, 2], [41, 4]], [[49, 9]])]
    sim = follow(write(tmp_path, ONE, records), tape_speed=1).run(1.5)
    assert levels(sim) == {BookSide.BID: {40: 2, 41: 4}, BookSide.ASK: {51: 9}}
    assert sim.answers["Amended"] == 1


def test_a_recorded_trade_takes_resting_size(tmp_path):
    records = [
        book(0, "A", [[40, 5]], [[50, 3]]),
        trade(1, "A", 50, 2, "yes"),
        book(1.01, "A", [[40, 5]], [[50, 1]]),
        trade(2, "A", 40, 5, "no"),
        book(2.01, "A", [], [[50, 1]]),
    ]
    sim = follow(write(tmp_path, ONE, records), tape_speed=1).run(3)
    printed = [(found.price, found.qty, found.taker_outcome) for found in sim.prints]
    assert printed == [(50, 2, Outcome.YES), (40, 5, Outcome.NO)]
    assert levels(sim) == {BookSide.BID: {}, BookSide.ASK: {50: 1}}


def test_a_recorded_trade_is_capped_at_tape_take_qty_max(tmp_path):
    records = [book(0, "A", [], [[50, 90]]), trade(1, "A", 50, 80, "yes")]
    sim = follow(write(tmp_path, ONE, records), tape_speed=1, tape_take_qty_max=10).run(2)
    assert [found.qty for found in sim.prints] == [10]


def test_the_next_record_restores_size_that_a_trader_took(tmp_path):
    records = [book(at, "A", [[40, 5]], [[50, 6 + at]]) for at in range(4)]
    sim = follow(write(tmp_path, ONE, records), tape_speed=1).run(0.5)
    sim.do(m.AddUser(ME))
    sim.do(m.Deposit(ME, Cents(100_000)))
    body = QtyOrder(
        sim.markets[0],
        Outcome.YES,
        Side.BUY,
        Price(50),
        Qty(6),
        TimeInForce.IOC,
        ClientOrderId("x"),
    )
    sim.do(m.PlaceOrder(ME, body))
    assert levels(sim)[BookSide.ASK] == {}
    sim.run(1)
    assert levels(sim)[BookSide.ASK] == {50: 7}


def test_a_tape_of_trades_alone_makes_a_narrow_book_around_the_last_trade(tmp_path):
    records = [trade(0, "A", 60, 5, "yes"), trade(1, "A", 58, 7, "no"), trade(9, "A", 9, 1, "no")]
    sim = follow(write(tmp_path, ONE, records), tape_speed=1).run(2)
    assert [(found.price, found.qty) for found in sim.prints] == [(60, 5), (58, 7)]
    assert touch(sim, 0) == (58, 60)


def test_the_newest_trade_moves_other_rungs_so_that_the_ladder_stays_monotone(tmp_path):
    records = [
        trade(0, "A", 60, 1, "yes"),
        trade(1, "C", 30, 1, "yes"),
        trade(2, "C", 80, 1, "yes"),
        trade(9, "A", 9, 1, "no"),
    ]
    sim = follow(write(tmp_path, THREE, records), tape_speed=1).run(1.5)
    assert touch(sim, 1) == (43, 45)
    sim.run(1)
    assert [touch(sim, place) for place in range(3)] == [(78, 80)] * 3


def test_bracket_prices_sum_to_a_survival_ladder(tmp_path):
    quiet = [top(0, name, 19, 21) for name in ("T1", "B1", "B2", "B3", "T2")]
    sim = follow(write(tmp_path, BRACKETS, [*quiet, top(9, "T2", 59, 61)]), tape_speed=1).run(2)
    assert [touch(sim, place) for place in range(4)] == [(79, 81), (58, 62), (38, 42), (19, 21)]


def test_the_underlying_is_published_when_it_was_known_with_8_decimals_at_most(tmp_path):
    values = [price(-1, "9.5"), price(1.5, "10.123456789012"), price(3.5, "99")]
    records = [trade(at, "A", 50, 1, "yes") for at in (0, 1, 2, 3)]
    sim = follow(write(tmp_path, ONE, records, values), tape_speed=1).run(3.5)
    assert [value.value_dollars for value in sim.values] == ["9.5", "10.12345678"]


def test_without_an_underlying_the_median_is_published(tmp_path):
    quiet = [top(0, name, 19, 21) for name in ("T1", "B1", "B2", "B3", "T2")]
    folder = write(tmp_path, BRACKETS, [*quiet, top(9, "T2", 59, 61)], unit="USD thousands")
    sim = follow(folder, tape_speed=1).run(2)
    assert [value.value_dollars for value in sim.values] == ["38500.00"]


def test_after_the_tape_s_end_its_last_book_keeps_resting(tmp_path):
    records = [book(0, "A", [[40, 5]], [[50, 3]]), book(1, "A", [[30, 5]], [])]
    sim = follow(write(tmp_path, ONE, records), tape_speed=1).run(3)
    assert sim.actor.next_due_ns() is None
    seen = len(sim.commands)
    sim.run(20)
    assert len(sim.commands) == seen
    assert levels(sim)[BookSide.BID] == {30: 5}


def test_a_long_gap_in_the_tape_is_shortened(tmp_path):
    records = [book(0, "A", [[40, 5]], []), book(50_000, "A", [[41, 5]], [])]
    sim = follow(write(tmp_path, ONE, records), tape_speed=1).run(4)
    assert touch(sim, 0)[0] == 41


def test_the_lead_in_of_a_tape_sets_the_book_without_trades(tmp_path):
    records = [trade(0, "C", 20, 9, "yes")]
    records += [trade(9000 + at, "A", 60, 1, "yes") for at in range(300)]
    sim = follow(write(tmp_path, THREE, records)).run(0.1)
    assert touch(sim, 2) == (18, 20)
    assert {found.qty for found in sim.prints} == {1}


def test_the_crowd_pauses_in_a_halted_market_until_it_resumes(tmp_path):
    records = [book(at, "A", [[40 + at, 5]], []) for at in range(9)]
    sim = follow(write(tmp_path, ONE, records), tape_speed=1).run(1.5)
    market = sim.markets[0]
    sim.do(m.HaltMarket(market))
    sim.run(0.1)
    seen = len(sim.commands)
    sim.run(2)
    assert len(sim.commands) == seen
    sim.do(m.ResumeMarket(market))
    sim.run(2)
    assert list(levels(sim)[BookSide.BID]) == [45]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8))
def test_the_median_strike_lies_between_the_ends(survival):
    survival = sorted(survival, reverse=True)
    strikes = [float(place) for place in range(len(survival))]
    assert strikes[0] <= median_strike(strikes, survival) <= strikes[-1]


def test_the_median_strike_is_where_survival_crosses_one_half():
    assert median_strike([10, 20, 30], [90, 60, 40]) == 25
    assert median_strike([10, 20], [40, 30]) == 10
    assert median_strike([10, 20], [90, 80]) == 20


@pytest.mark.parametrize(
    ("name", "trades"),
    [("kxinxu-2026-01", True), ("kxhighny-25dec20", False), ("inxd-23apr13", True)],
)
def test_a_recorded_tape_trades_with_a_maker_and_does_not_run_out_of_cash(name, trades):
    sim = follow(recorded(name), tape_speed=150)
    markets = sim.markets
    sim.run(2)
    assert sum(sim.two_sided(market) for market in markets) >= max(1, len(markets) - 2)
    sim.run(60, PlainMaker(sim, markets, 1))
    # A tape of best prices alone has no executions: fills come only when its prices cross ours.
    assert any(fill.user_id == ME for fill in sim.fills) or not trades
    for user in (TAPE_MAKER, TAPE_TAKER):
        if user in sim.cash:
            assert sim.cash[user].available_cents > TAPE_CASH_CENTS * 0.99
    refused = {"order_not_cancelable"}
    assert set(sim.answers) <= {"Placed", "Amended", "Cancelled", "Accepted"} | refused


def test_the_same_tape_gives_the_same_commands():
    folder = recorded("kxinxu-2026-01")
    assert follow(folder).run(60).commands == follow(folder).run(60).commands


def test_recorded_trades_are_printed_at_their_recorded_prices():
    sim = follow(recorded("kxinxu-2026-01")).run(120)
    taken = [fill for fill in sim.fills if fill.user_id == TAPE_TAKER]
    limits = {order.order_id: order.price for order in sim.states.values()}
    at_limit = sum(fill.outcome_price == limits[fill.order_id] for fill in taken)
    # A quote that is still under way cannot be moved out of an execution's way.
    assert len(taken) > 60
    assert at_limit > 0.9 * len(taken), (at_limit, len(taken))
