"""The seeded crowd on the real engine, in simulated time."""

import collections
import math
import subprocess
import sys

import pytest
from msgspec.structs import replace

from tests.builders.venue.crowd_simulation import (
    BEAT_NS,
    ME,
    PROJECT,
    START_NS,
    PlainMaker,
    Simulation,
    ladder,
    market_id,
)
from venue.crowd.crowd import VALUE_STEPS_MAX
from venue.crowd.latent import GRID_NS, LatentValue
from venue.crowd.market_view import CrowdView
from venue.crowd.people import accounts
from venue.crowd.run import CrowdPlan, make_actor, opening_commands
from venue.crowd.settings import CrowdSettings
from venue.crowd.traders import CrowdMarket, Publisher
from venue.engine import messages as m
from venue.engine.engine import Engine
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import RESTING, VenueState
from venue.wire.money import BookSide, Outcome, Side, book_side, canonical
from venue.wire.names import ProjectId, Ticker
from venue.wire.requests import TimeInForce

RUNGS = [market_id(place) for place in range(9)]
QUIET = {"noise_takes_per_rung_per_minute": 0}


def simulation(catalogue=None, **told):
    return Simulation(CrowdPlan(CrowdSettings(**told), tuple(catalogue or ladder())))


def orders(commands, of=""):
    return [
        command
        for command in commands
        if isinstance(command, m.PlaceOrder) and command.user_id.startswith(f"crowd.{of}")
    ]


@pytest.mark.parametrize("seed", range(4))
def test_two_seconds_after_the_start_every_rung_is_two_sided(seed):
    sim = simulation(seed=seed).run(2)
    assert all(sim.two_sided(rung) for rung in RUNGS)


def test_a_binary_market_is_quoted_around_fifty():
    sim = simulation(ladder(binary=True)).run(2)
    assert sim.best(RUNGS[0], BookSide.BID) < 50 < sim.best(RUNGS[0], BookSide.ASK)


def test_books_slope_down_the_ladder():
    sim = simulation(**QUIET).run(2)
    bids = [sim.best(rung, BookSide.BID) for rung in RUNGS]
    assert bids[0] > 85
    assert bids[-1] < 15
    assert all(lower >= higher for lower, higher in zip(bids, bids[2:], strict=False))


@pytest.mark.parametrize("half_spread_cents", [1, 2, 3])
def test_a_maker_near_the_middle_trades_within_the_first_minute(half_spread_cents):
    sim = simulation()
    me = PlainMaker(sim, RUNGS, half_spread_cents)
    sim.run(62, me)
    fills = [fill for fill in sim.fills if fill.user_id == ME]
    assert len(fills) >= {1: 40, 2: 20, 3: 3}[half_spread_cents]
    assert len({fill.market_id for fill in fills}) >= 3


def test_both_sides_of_a_maker_are_hit():
    sim = simulation()
    sim.run(62, PlainMaker(sim, RUNGS))
    sides = collections.Counter(
        book_side(fill.outcome, fill.side) for fill in sim.fills if fill.user_id == ME
    )
    assert min(sides[BookSide.BID], sides[BookSide.ASK]) >= 5


def test_a_plain_maker_earns_a_little_on_average():
    results = []
    for seed in range(1, 5):
        sim = simulation(seed=seed)
        sim.run(300, PlainMaker(sim, RUNGS))
        worth, shares = 0.0, 0
        for fill in (fill for fill in sim.fills if fill.user_id == ME):
            sign = 1 if book_side(fill.outcome, fill.side) is BookSide.BID else -1
            spot = sim.actor._view.spots[fill.market_id]
            fair = sim.actor._world.fair_cents(spot, sim.now_ns, sim.now_ns)
            worth += sign * fill.qty * (fair - fill.trade_price) - fill.fee_cents
            shares += fill.qty
        results.append(worth / shares)
    assert 0 < sum(results) / len(results) < 2.5


def test_the_same_seed_gives_the_same_commands():
    assert simulation(seed=3).run(30).commands == simulation(seed=3).run(30).commands


def test_another_seed_gives_other_commands():
    assert simulation(seed=3).run(5).commands != simulation(seed=4).run(5).commands


def test_commands_do_not_depend_on_the_hash_seed():
    script = (
        "from tests.slow.venue.test_crowd_seeded import simulation\n"
        "import hashlib, msgspec\n"
        "commands = simulation(seed=5).run(20).commands\n"
        "print(hashlib.sha256(msgspec.json.encode(commands)).hexdigest())\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(told) == 1


def test_one_more_maker_leaves_the_value_of_the_company_as_it_is():
    few, many = simulation(makers=1).run(20), simulation(makers=4).run(20)
    paths = [next(iter(sim.actor._world.latents.values())) for sim in (few, many)]
    assert paths[0].at(few.now_ns) == paths[1].at(many.now_ns)


def test_every_order_has_an_id_of_its_own():
    sim = simulation().run(60)
    ids = [command.order.client_order_id for command in orders(sim.commands)]
    assert len(ids) > 100
    assert len(set(ids)) == len(ids)


def test_takers_buy_and_sell_both_outcomes():
    sim = simulation(noise_takes_per_rung_per_minute=120).run(60)
    acts = {(command.order.outcome, command.order.side) for command in orders(sim.commands, "take")}
    assert acts == {(outcome, side) for outcome in Outcome for side in Side}


def test_takers_never_rest_and_makers_never_take():
    sim = simulation().run(60)
    takes = [*orders(sim.commands, "taker"), *orders(sim.commands, "informed")]
    assert {command.order.time_in_force for command in takes} == {TimeInForce.IOC}
    takers = {fill.user_id for fill in sim.fills if fill.liquidity == "taker"}
    assert takers
    assert not any(user.startswith("crowd.maker") for user in takers)


def test_the_informed_take_a_quote_that_is_far_off_and_leave_a_fair_one():
    sim = simulation(informed_share=0.9, noise_takes_per_rung_per_minute=10, makers=0)
    sim.run(1)
    rung = RUNGS[4]
    me = PlainMaker(sim, [rung], 2, qty=500, fair=lambda sim, market: 60)
    sim.run(60, me)
    fills = [fill for fill in sim.fills if fill.user_id == ME]
    informed = {fill.user_id for fill in sim.fills} - {ME}
    assert any(user.startswith("crowd.informed") for user in informed)
    bought = sum(fill.qty for fill in fills if book_side(fill.outcome, fill.side) is BookSide.BID)
    assert bought > sum(fill.qty for fill in fills) * 0.8


def test_without_a_share_of_the_informed_nobody_sweeps_after_a_jump():
    sim = simulation(informed_share=0, sweep_share=1)
    sim.run(3)
    latent = next(iter(sim.actor._world.latents.values()))
    latent._recent.append(latent._recent[-1] + 0.1)
    sim.actor._plan_sweeps(next(iter(sim.actor._world.latents)), sim.now_ns)
    sim.run(1)
    assert orders(sim.commands, "informed") == []


def test_a_ladder_listed_after_its_companys_binary_market_is_traded_around_its_strikes():
    sim = simulation(ladder(binary=True), **QUIET).run(5)
    before = {side: sim.best(RUNGS[0], side) for side in BookSide}
    late, other = Ticker("ACME-LATE-27Q1"), Ticker("ACME-LATE")
    named = {"event_ticker": late, "series_ticker": other}
    _, listed, *rungs = ladder()
    number = "00000000-0000-4000-8000-000000000003"
    sim.do(replace(listed, **named, project_market_id=number))
    ids = [market_id(place) for place in range(10, 19)]
    for place, rung in zip(ids, rungs, strict=True):
        ticker = Ticker(f"{late}-{rung.strike_value}")
        sim.do(replace(rung, market_id=place, ticker=ticker, event_ticker=late))
    sim.run(2)
    assert all(sim.two_sided(rung) for rung in ids)
    assert sim.best(ids[0], BookSide.BID) > 85
    assert sim.best(ids[-1], BookSide.ASK) < 25
    sim.run(5)
    assert 150e9 < float(sim.values[-1].value_dollars) < 260e9
    assert {side: sim.best(RUNGS[0], side) for side in BookSide} == before


def test_after_a_jump_stale_quotes_are_swept_within_a_second():
    sim = simulation(**QUIET, sweep_share=1)
    sim.run(3)
    latent = next(iter(sim.actor._world.latents.values()))
    before = len(sim.prints)
    latent._recent.append(latent._recent[-1] + 0.1)
    sim.actor._plan_sweeps(next(iter(sim.actor._world.latents)), sim.now_ns)
    sim.run(1)
    swept = {printed.market_id for printed in sim.prints[before:]}
    assert len(swept) >= 5
    assert all(printed.taker_outcome is Outcome.YES for printed in sim.prints[before:])


def test_a_halted_market_is_left_alone_and_taken_up_again():
    sim = simulation()
    sim.run(5)
    sim.do(m.HaltMarket(RUNGS[4]))
    sim.run(0.1)
    seen = len(sim.commands)
    sim.run(20)
    halted = sim.commands[seen:]
    assert all(command.order.market_id != RUNGS[4] for command in orders(halted))
    sim.do(m.ResumeMarket(RUNGS[4]))
    seen = len(sim.commands)
    sim.run(20)
    assert any(command.order.market_id == RUNGS[4] for command in orders(sim.commands[seen:]))


def test_a_halted_venue_is_left_alone():
    sim = simulation()
    sim.run(5)
    sim.do(m.SetVenueState(VenueState.HALTED))
    sim.run(0.1)
    seen = len(sim.commands)
    sim.run(10)
    assert orders(sim.commands[seen:]) == []


def test_a_resolved_market_is_forgotten():
    sim = simulation()
    sim.run(5)
    sim.do(m.ResolveMarket(RUNGS[4], Outcome.YES))
    sim.run(0.1)
    seen = len(sim.commands)
    sim.run(20)
    assert orders(sim.commands[seen:])
    assert all(command.order.market_id != RUNGS[4] for command in orders(sim.commands[seen:]))
    assert RUNGS[4] not in sim.actor._informed


def test_a_market_listed_later_is_quoted_too():
    late = ladder()
    sim = simulation(late[:-1])
    sim.run(5)
    sim.do(late[-1])
    sim.run(3)
    assert sim.two_sided(RUNGS[8])


def test_a_company_listed_later_is_quoted_and_valued():
    sim = simulation()
    sim.run(5)
    project = ProjectId("00000000-0000-4000-8000-00000000000f")
    event, market = ladder()[1], ladder()[2]
    ticker = Ticker("BOLT-27Q1")
    sim.do(m.ListCompany(project, "Bolt", "BOLT"))
    sim.do(
        replace(
            event,
            project_id=project,
            event_ticker=ticker,
            series_ticker=Ticker("BOLT"),
            project_market_id="00000000-0000-4000-8000-000000000003",
        )
    )
    sim.do(
        replace(
            market,
            market_id=market_id(77),
            ticker=Ticker(f"{ticker}-9B"),
            event_ticker=ticker,
            strike_value="9",
        )
    )
    sim.run(3)
    assert sim.two_sided(market_id(77))
    assert any(value.project_id == project for value in sim.values)


def test_implied_values_are_dollars_near_the_middle_of_the_ladder():
    sim = simulation(**QUIET).run(60)
    dollars = [float(value.value_dollars) for value in sim.values]
    assert 8 <= len(dollars) <= 14
    assert all(170e9 < value < 260e9 for value in dollars)
    assert all(0 <= float(value.confidence) <= 1 for value in sim.values)
    assert len(set(dollars)) == len(dollars)


@pytest.mark.parametrize(("log_dollars", "told"), [(34.0, 1), (35.0, 0), (800.0, 0), (-800.0, 1)])
def test_a_value_beyond_what_the_channel_can_tell_is_not_told(log_dollars, told):
    floor = CrowdView([], 0)
    floor.open_with(ladder())
    settings = CrowdSettings(feed_noise_min=0, feed_noise_max=0)
    unit = math.log(floor.dollars_per_unit(PROJECT))
    latent = LatentValue(settings, "acme", log_dollars - unit, START_NS)
    world = CrowdMarket(settings, floor, {PROJECT: latent}, START_NS)
    commands = Publisher(world, PROJECT, "acme").act(START_NS)
    assert len(commands) == told
    engine = Engine(order_id_key=b"k")
    for command in (*ladder(), *commands):
        answer, _ = engine.apply(command, START_NS)
        assert isinstance(answer, m.Accepted), answer


def test_a_surer_feed_is_a_better_one():
    errors = {}
    for noise in (0.01, 0.1):
        still = {"volatility_per_sqrt_hour": 0, "jumps_per_hour": 0, "reversion_hours": 0}
        sim = simulation(**QUIET, **still, feed_noise_min=noise, feed_noise_max=noise)
        sim.run(200)
        wrong = [abs(float(value.value_dollars) / 212.5e9 - 1) for value in sim.values]
        sure = sum(float(value.confidence) for value in sim.values) / len(sim.values)
        errors[sure] = sum(wrong) / len(wrong)
    assert errors[max(errors)] < errors[min(errors)] / 3


def test_a_sleep_is_not_followed_by_a_storm():
    sim = simulation(informed_share=0)
    sim.run(5)
    before = len(sim.commands)
    sim.now_ns += 3600 * NS_PER_SECOND
    sim.now_ns += BEAT_NS
    late = sim.actor.step(sim.now_ns)
    assert len(late) < 150
    assert before < len(sim.run(5).commands)


def test_a_long_sleep_is_made_up_for_a_little_at_a_time_and_to_the_same_value():
    sim = simulation(**QUIET, makers=0).run(1)
    latent = next(iter(sim.actor._world.latents.values()))
    straight = LatentValue(sim.actor._settings, "ACME-VAL-27Q1", latent.log_start, START_NS)
    asleep = 5 * VALUE_STEPS_MAX
    before = latent._steps
    sim.now_ns += asleep * GRID_NS
    sim.run(BEAT_NS / NS_PER_SECOND)
    assert latent._steps - before == VALUE_STEPS_MAX
    sim.run(10 * BEAT_NS / NS_PER_SECOND)
    assert latent._steps == (sim.now_ns - latent._start_ns) // GRID_NS
    straight._start_ns = latent._start_ns
    straight.advance(sim.now_ns)
    assert straight.at(sim.now_ns) == latent.at(sim.now_ns)


def test_next_due_is_ahead_of_what_was_done():
    sim = simulation()
    assert sim.actor.next_due_ns() is None
    sim.run(5)
    assert sim.actor.next_due_ns() > sim.now_ns - BEAT_NS


def test_a_crowd_without_rates_only_publishes():
    sim = simulation(**QUIET, makers=0).run(10)
    assert {type(command) for command in sim.commands} == {m.PublishImpliedValue}


def test_a_poor_crowd_trades_on_in_smaller_sizes():
    sim = simulation(cash_per_user_cents=20_000, noise_takes_per_rung_per_minute=60).run(240)
    late = [fill for fill in sim.fills if fill.at_ns > START_NS + 180 * NS_PER_SECOND]
    assert late
    assert all(balance.available_cents >= 0 for balance in sim.cash.values())


def test_an_hour_leaves_nobody_short_of_cash_and_nothing_piled_up():
    sim = simulation(speed=6)
    sim.run(600, PlainMaker(sim, RUNGS))
    told = sim.actor._settings
    for user in accounts(told):
        if user in sim.cash:
            assert sim.cash[user].available_cents > told.cash_per_user_cents * 0.9
    assert sim.answers["insufficient_balance"] == 0
    # Two sales of the same shares may be under way at once; the second one is refused.
    refused = sim.answers["insufficient_shares"] + sim.answers["order_not_cancelable"]
    assert sim.answers["Placed"] + sim.answers["Cancelled"] + sim.answers["Accepted"] == (
        sum(sim.answers.values()) - refused
    )
    assert sim.answers["insufficient_shares"] < sim.answers["Placed"] / 100
    resting = [order for order in sim.states.values() if order.status in RESTING]
    assert len(resting) <= 9 * 2 * (told.makers + 1)
    known = sum(len(held) for held in sim.actor._view._orders.values())
    assert known <= 9 * 2 * told.makers
    assert len(sim.actor._due) < 9 * 8


class Counted(dict):
    """Counts how often it is gone through whole."""

    walks = 0

    def values(self):
        self.walks += 1
        return super().values()

    def items(self):
        self.walks += 1
        return super().items()


def walks_to_open(companies):
    """How often a crowd goes through all its markets as so many companies open."""
    catalogue = []
    for place in range(companies):
        project = ProjectId(f"00000000-0000-4000-8000-{place:012d}")
        event = Ticker(f"A{place}-VAL-27Q1")
        company, listed, rung = ladder(("200",))
        catalogue += [
            replace(company, project_id=project, symbol=f"A{place}"),
            replace(listed, project_id=project, event_ticker=event),
            replace(rung, event_ticker=event, market_id=market_id(place)),
        ]
    actor = make_actor(CrowdPlan(CrowdSettings(**QUIET), tuple(catalogue)))
    actor._view.spots = Counted(actor._view.spots)
    actor.step(START_NS)
    assert len(actor._world.latents) == companies
    return actor._view.spots.walks


def test_opening_many_companies_goes_through_the_markets_no_oftener_than_for_one():
    assert walks_to_open(20) == walks_to_open(1)


def test_makers_stand_on_their_own_side_of_each_other():
    sim = simulation().run(30)
    for rung in RUNGS:
        for user in ("crowd.maker.1", "crowd.maker.2"):
            prices = collections.defaultdict(list)
            for order in sim.states.values():
                if order.user_id == user and order.market_id == rung and order.status in RESTING:
                    side = book_side(order.outcome, order.side)
                    prices[side].append(canonical(order.outcome, order.price))
            assert all(len(found) == 1 for found in prices.values())
            bids, asks = prices[BookSide.BID], prices[BookSide.ASK]
            assert not bids or not asks or max(bids) < min(asks)


def test_every_account_of_the_crowd_is_opened_with_its_cash():
    plan = CrowdPlan(CrowdSettings(makers=3, takers=2, informed=1), tuple(ladder()))
    opening = opening_commands(plan)
    users = [command.user_id for command in opening if isinstance(command, m.AddUser)]
    assert users == accounts(plan.settings)
    assert len(users) == 6
    assert all("." in user for user in users)
    assert [command.amount_cents for command in opening if isinstance(command, m.Deposit)] == [
        10**9
    ] * 6
