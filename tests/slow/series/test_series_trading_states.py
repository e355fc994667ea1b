"""Claims about the trading states of single events: one is restricted, the others trade on."""

import msgspec

from bot.core import messages as m
from bot.core.report import EventReport, Phase
from bot.core.settings import CalendarEntry
from bot.core.trading_state import Source, TradingState
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.world import SimulatedWorld
from tests.builders.bot.worlds import assert_replayed, calm, quoting


def events(world: SimulatedWorld) -> tuple[EventReport, ...]:
    return world.process.trader.report(world.now_ns).events


def orders_of(event: EventReport) -> int:
    return sum(len(rung.orders) for rung in event.rungs)


def test_a_pause_of_one_event_cancels_its_orders_alone_until_its_resume() -> None:
    world = quoting(calm())
    first, second = events(world)
    world.deliver(world.process, m.PauseRequested("results", first.event_ticker))
    world.driver.run_until(world.now_ns + 2 * SECOND)
    paused, other = events(world)
    assert (orders_of(paused), orders_of(other)) == (0, orders_of(second))
    assert paused.state is TradingState.HALTED
    (restriction,) = paused.restrictions
    assert (restriction.source, restriction.why) == (Source.OPERATOR, "results")
    assert world.process.trader.phase is Phase.QUOTING
    world.deliver(world.process, m.ResumeRequested("", first.event_ticker))
    quotes_again = world.process.trader.quoting.all_two_sided
    assert world.driver.run_until(world.now_ns + 5 * SECOND, quotes_again)


def test_a_resume_of_the_series_ends_what_the_operator_said_of_each_event() -> None:
    world = quoting(calm())
    for each in events(world):
        world.deliver(world.process, m.PauseRequested("", each.event_ticker))
    world.driver.run_until(world.now_ns + 2 * SECOND)
    assert not any(map(orders_of, events(world)))
    world.deliver(world.process, m.ResumeRequested())
    quotes_again = world.process.trader.quoting.all_two_sided
    assert world.driver.run_until(world.now_ns + 5 * SECOND, quotes_again)


def sizes(world: SimulatedWorld) -> list[int]:
    """Of the quotes wanted now, by rung."""
    ladders = world.process.trader.quoting.ladders
    return [quote.qty for each in ladders for rung in each.rungs for quote in rung.wanted]


def test_the_strictest_of_two_restrictions_is_in_force() -> None:
    world = quoting(calm())
    first = events(world)[0].event_ticker
    world.deliver(world.process, m.PauseRequested("results", first))
    world.deliver(world.process, m.FlattenRequested("home"))
    assert [each.state for each in events(world)] == [
        TradingState.HALTED,
        TradingState.REDUCE_ONLY,
    ]


def test_a_flatten_of_one_event_leaves_the_others_quoting_both_sides() -> None:
    world = quoting(calm())
    first, second = events(world)
    world.deliver(world.process, m.FlattenRequested("home", first.event_ticker))
    world.driver.run_until(world.now_ns + 2 * SECOND)
    flat, other = events(world)
    assert orders_of(flat) == 0, "without inventory there is nothing to reduce"
    assert orders_of(other) == orders_of(second)


def test_a_reduction_divides_the_size_of_every_quote_until_resumed() -> None:
    world = quoting(calm())
    first, _ = events(world)
    whole = sizes(world)
    assert min(whole) >= 2
    world.deliver(world.process, m.ReduceRequested("results", 2, first.event_ticker))
    world.deliver(world.process, m.ReduceRequested("results", 3, account=True))
    world.driver.run_until(world.now_ns + 2 * SECOND)
    assert [each.state for each in events(world)] == [TradingState.REDUCED] * 2
    assert sizes(world) == [max(1, qty // 3) for qty in whole]
    world.deliver(world.process, m.ResumeRequested(account=True))
    world.driver.run_until(world.now_ns + 2 * SECOND)
    assert sizes(world) == whole


def test_a_word_about_the_account_outlives_those_about_series_and_events() -> None:
    world = quoting(calm())
    world.deliver(world.process, m.PauseRequested("all", account=True))
    world.deliver(world.process, m.FlattenRequested("home"))
    world.deliver(world.process, m.ResumeRequested())
    (restriction,) = world.process.trader.restrictions
    assert (restriction.state, restriction.of_account) == (TradingState.HALTED, True)
    assert "operator, the whole account" in restriction.text()
    assert "`bot resume --account`" in restriction.text()
    world.driver.run_until(world.now_ns + 2 * SECOND)
    assert not any(map(orders_of, events(world)))
    world.deliver(world.process, m.ResumeRequested(account=True))
    assert world.process.trader.restrictions == ()


def test_an_event_is_halted_around_a_date_of_the_calendar_and_quotes_again_after_it() -> None:
    world = quoting(calm())
    first, second = events(world)
    configured = world.process.configured
    entry = CalendarEntry(
        at_ns=world.process.clock.to_host_ns(world.now_ns) + 4 * SECOND,
        name="results",
        event_ticker=first.event_ticker,
        before_ns=2 * SECOND,
        after_ns=3 * SECOND,
        state=TradingState.HALTED,
    )
    dated = msgspec.structs.replace(configured.settings, calendar=(entry,))
    changed = m.Configuration(dated, configured.strategy, "dated")
    world.deliver(world.process, m.Reconfigured(1, changed, ()))
    world.driver.run_until(world.now_ns + SECOND)
    assert [orders_of(each) for each in events(world)] == [orders_of(first), orders_of(second)]
    world.driver.run_until(world.now_ns + 3 * SECOND)
    halted, other = events(world)
    assert (orders_of(halted), orders_of(other)) == (0, orders_of(second))
    (restriction,) = halted.restrictions
    assert (restriction.source, restriction.until_ns) == (Source.CALENDAR, entry.until_ns)
    world.driver.run_until(world.now_ns + 2 * SECOND)
    assert orders_of(events(world)[0]) == 0
    quotes_again = world.process.trader.quoting.all_two_sided
    assert world.driver.run_until(world.now_ns + 3 * SECOND, quotes_again)
    world.process.settings = configured.settings  # those that the trader started with
    assert_replayed(world)


def test_a_restriction_of_an_unknown_event_is_noted_and_changes_nothing() -> None:
    world = quoting(calm())
    before = [orders_of(each) for each in events(world)]
    world.deliver(world.process, m.PauseRequested("results", world.process.trader.series_ticker))
    world.driver.run_until(world.now_ns + 2 * SECOND)
    assert [orders_of(each) for each in events(world)] == before
    noted = [
        e.name for _, _, effects in world.process.log for e in effects if isinstance(e, m.Noted)
    ]
    assert "event_unknown" in noted
