"""The calendar of an event: restricted around each date, from instant to instant."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.orders.outbox import NEVER_NS
from bot.core.quoting.guards import Calendar, widened
from bot.core.risk.limits import no_looser
from bot.core.settings import CalendarEntry, TraderSettings
from bot.core.trading_state import InForce, Source, TradingState, in_force
from bot.strategy.api import ComingDate, EventView, Quote
from tests.builders.bot.thin import EVENT, START_NS, Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId, Ticker

AT_NS = 1_800_000_000 * NS_PER_SECOND
HOUR_NS = 3_600 * NS_PER_SECOND
RUNG = MarketId("a rung")
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
    assert in_force(calendar.restrictions) == InForce(TradingState.REDUCE_ONLY, 4)
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


def test_an_entry_with_a_width_alone_restricts_only_the_width():
    wide = entry(state=TradingState.ACTIVE, width_pct=150)
    calendar = restricted(AT_NS, wide, entry(state=TradingState.ACTIVE, width_pct=120))
    assert in_force(calendar.restrictions) == InForce(TradingState.ACTIVE, 1, 150)
    assert calendar.restrictions[0].text().startswith("active (calendar, width 150 %): results at")


@pytest.mark.parametrize(
    ("side", "price", "limit", "moved"),
    [
        (BookSide.BID, 48, None, (46, None)),
        (BookSide.ASK, 53, 52, (56, 54)),
        (BookSide.BID, 51, 52, (51, 52)),
        (BookSide.ASK, 49, None, (49, None)),
    ],
)
def test_a_wider_quote_rests_at_a_multiple_of_its_distance_rounded_away(side, price, limit, moved):
    """At a fair value of 50.25 and 175 %; at or beyond the fair value nothing moves."""
    wanted = {RUNG: (Quote(side, Price(price), Qty(3), limit),)}
    (quote,) = widened(wanted, {RUNG: 50.25}, 175)[RUNG]
    assert (quote.price, quote.limit) == moved


def test_a_quote_that_would_rest_outside_the_prices_is_left_out():
    near, far = (Quote(BookSide.ASK, Price(price), Qty(3)) for price in (90, 97))
    assert widened({RUNG: (near, far)}, {RUNG: 80.0}, 150) == {
        RUNG: (Quote(BookSide.ASK, Price(95), Qty(3)),)
    }


def test_a_rung_without_a_fair_value_has_no_wider_quotes():
    wanted = {RUNG: (Quote(BookSide.BID, Price(40), Qty(3)),)}
    assert widened(wanted, {RUNG: None}, 150) == {RUNG: ()}
    assert widened(wanted, {RUNG: None}, 100) is wanted


def test_quotes_step_back_at_the_instant_of_a_wider_entry_and_return_after_it():
    thin = Thin([70, 40])
    at_ns = thin.now_ns + 60 * NS_PER_SECOND
    wide = entry(
        at_ns=at_ns, before_ns=20 * NS_PER_SECOND, state=TradingState.ACTIVE, width_pct=300
    )
    thin = Thin([70, 40], calendar=(wide,))
    thin.start()
    normal = {order.price for order in thin.orders.values()}
    thin.run(40)
    changes = [ns for ns, each in thin.sent if isinstance(each, m.AmendResting)]
    stepped_back = {order.price for order in thin.orders.values()}
    assert min(changes) == wide.from_ns
    assert not stepped_back & normal
    thin.run(40)
    assert {order.price for order in thin.orders.values()} == normal


def test_the_view_has_the_dates_to_come_before_the_event_resolves():
    worth = entry(at_ns=70, before_ns=0, variance_ns=9 * NS_PER_SECOND)
    calendar = Calendar(EVENT, (worth, entry(at_ns=50), entry(at_ns=90), entry(at_ns=30)))
    assert calendar.coming(30, 80) == (
        ComingDate("results", 40 / NS_PER_SECOND, 9.0),
        ComingDate("results", 20 / NS_PER_SECOND, 0.0),
    )


def test_variance_counts_the_dates_within_the_time_asked_for():
    dates = (ComingDate("results", 50.0, 900.0), ComingDate("index day", 80.0, 7.0))
    view = EventView.example(seconds_to_resolution=100.0, dates=dates)
    assert [view.variance_s(within_s) for within_s in (49, 50, 80, 1_000)] == [49, 950, 987, 1_007]


def test_ordinary_time_is_calmer_until_a_date_is_over_that_brings_variance():
    """The volatility of a rung without a history is the value's sd over the root of the variance:
    half of it where the date is worth three times the 60 days that are left."""
    at_ns = START_NS + 100 * NS_PER_SECOND
    worth = entry(at_ns=at_ns, before_ns=0, after_ns=0, variance_ns=3 * 60 * 24 * HOUR_NS)
    volatilities = []
    for calendar in ((), (worth,)):
        thin = Thin([70, 40], calendar=calendar)
        thin.start()
        thin.run(90)
        volatilities.append(thin.trader.quoting.ladders[0].views[0].volatility_cents)
    plain, calm = volatilities
    thin.run(10)
    assert calm == pytest.approx(plain / 2, rel=1e-3)
    assert thin.trader.quoting.ladders[0].views[0].volatility_cents > 1.9 * calm


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


def test_settings_of_older_journals_have_no_calendar_or_one_without_width_and_variance():
    settings = msgspec.structs.replace(Thin([70]).initial_settings, calendar=(entry(),))
    content = msgspec.to_builtins(settings)
    for name in ("width_pct", "variance_ns"):
        del content["calendar"][0][name]
    assert msgspec.convert(content, TraderSettings) == settings
    del content["calendar"]
    assert msgspec.convert(content, TraderSettings).calendar == ()
