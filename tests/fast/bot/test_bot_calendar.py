"""The calendar of an event: restricted around each date, from instant to instant."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.orders.outbox import NEVER_NS
from bot.core.quoting.guards import Calendar
from bot.core.risk.limits import no_looser
from bot.core.settings import CalendarEntry, TraderSettings
from bot.core.trading_state import Source, TradingState, in_force
from tests.builders.bot.thin import EVENT, Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import Ticker

AT_NS = 1_800_000_000 * NS_PER_SECOND
OTHER = Ticker("ACME-VAL-99Q1")


def entry(**changes: object) -> CalendarEntry:
    wanted = {
        "at_ns": AT_NS,
        "name": "results",
        "before_ns": 100,
        "after_ns": 50,
        "state": TradingState.HALTED,
        **changes,
    }
    return CalendarEntry(**wanted)


def restricted(now_ns: int, *entries: CalendarEntry) -> Calendar:
    calendar = Calendar(EVENT, entries)
    calendar.restrict(now_ns)
    return calendar


@pytest.mark.parametrize(
    ("after_ns", "state", "until_ns"),
    [
        (-101, TradingState.ACTIVE, AT_NS - 100),
        (-100, TradingState.HALTED, AT_NS + 50),
        (49, TradingState.HALTED, AT_NS + 50),
        (50, TradingState.ACTIVE, NEVER_NS),
    ],
)
def test_an_entry_restricts_from_before_its_date_until_after_it(after_ns, state, until_ns):
    calendar = restricted(AT_NS + after_ns, entry())
    assert in_force(calendar.restrictions).state is state
    assert calendar.until_ns == until_ns


def test_an_entry_of_one_event_restricts_no_other():
    assert not restricted(AT_NS, entry(event_ticker=OTHER)).restrictions
    assert restricted(AT_NS, entry(event_ticker=EVENT)).restrictions


def test_each_entry_in_force_is_shown_and_the_strictest_holds():
    reduced = entry(name="index day", state=TradingState.REDUCED, size_divisor=4, after_ns=80)
    calendar = restricted(AT_NS, reduced, entry(state=TradingState.REDUCE_ONLY))
    assert in_force(calendar.restrictions) == (TradingState.REDUCE_ONLY, 4)
    assert [each.source for each in calendar.restrictions] == [Source.CALENDAR] * 2
    assert calendar.restrictions[0].text() == (
        "reduced (calendar): index day at 2027-01-15T08:00:00Z; ends: when the date is over, "
        "at 2027-01-15T08:00:00Z"
    )
    assert calendar.until_ns == AT_NS + 50


states = st.sampled_from([TradingState.REDUCED, TradingState.REDUCE_ONLY, TradingState.HALTED])
entries = st.lists(
    st.builds(
        entry,
        at_ns=st.integers(0, 60),
        before_ns=st.integers(0, 30),
        after_ns=st.integers(0, 30),
        state=states,
        event_ticker=st.sampled_from([None, EVENT, OTHER]),
    ),
    max_size=6,
)


@given(entries, st.integers(-40, 100))
def test_nothing_changes_before_an_entry_begins_or_ends(listed, now_ns):
    """Asked only when due, it restricts as if it were asked at every instant."""
    calendar = restricted(now_ns, *listed)
    assert calendar.until_ns > now_ns
    due_ns = min(calendar.until_ns, 140)
    for at_ns in range(now_ns, due_ns):
        held = [
            each.name
            for each in listed
            if each.event_ticker in (None, EVENT)
            if at_ns >= each.at_ns - each.before_ns
            if at_ns < each.at_ns + each.after_ns
        ]
        assert len(held) == len(calendar.restrictions)


def test_a_trader_cancels_and_quotes_again_at_the_very_instants_of_an_entry():
    thin = Thin([70, 40])
    at_ns = thin.now_ns + 60 * NS_PER_SECOND
    dated = entry(at_ns=at_ns, before_ns=20 * NS_PER_SECOND + 7, after_ns=10 * NS_PER_SECOND)
    thin = Thin([70, 40], calendar=(dated,))
    thin.start()
    assert len(thin.orders) == 4
    thin.run(40)
    cancels = [sent_ns for sent_ns, each in thin.sent if isinstance(each, m.CancelResting)]
    assert not thin.orders
    assert set(cancels) == {dated.from_ns}
    (restriction,) = thin.trader.report(thin.now_ns).events[0].restrictions
    assert (restriction.source, restriction.state) == (Source.CALENDAR, TradingState.HALTED)
    thin.run(30)
    again = [ns for ns, each in thin.sent if isinstance(each, m.Create) and ns > dated.from_ns]
    assert len(thin.orders) == 4
    assert min(again) == dated.until_ns


def test_a_changed_calendar_applies_at_the_next_tick():
    thin = Thin([70])
    thin.start()
    ladder, settings = thin.trader.quoting.ladders[0], thin.initial_settings
    now = entry(at_ns=thin.now_ns, after_ns=NS_PER_SECOND)
    for calendar, state in (((now,), TradingState.HALTED), ((), TradingState.ACTIVE)):
        ladder.use_settings(msgspec.structs.replace(settings, calendar=calendar), None)
        thin.give(m.Tick())
        assert ladder.in_force.state is state


def test_a_rollback_keeps_the_dates_of_both_configurations():
    settings = Thin([70]).initial_settings
    old = msgspec.structs.replace(settings, calendar=(entry(),))
    new = msgspec.structs.replace(settings, calendar=(entry(name="index day"), entry()))
    assert no_looser(old, new).calendar == (entry(), entry(name="index day"))
    assert no_looser(new, old) is new


def test_settings_of_an_older_journal_have_an_empty_calendar():
    content = msgspec.to_builtins(Thin([70]).initial_settings)
    del content["calendar"]
    assert msgspec.convert(content, TraderSettings).calendar == ()
