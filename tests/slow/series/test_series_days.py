"""Claims about days of two series on one account: quarters roll, rungs halt, resolve and leave, and
in the end the venue's ledger and the traders' own accounts of profit agree to the cent."""

import gc
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import pytest

from bot.core import messages as m
from bot.core.account.profit import AttributedFill
from bot.core.orders.request_budget import WriteThrottle
from bot.core.report import Phase
from strategies.fixed_spread import FixedSpread
from tests.builders.series.days import (
    DAY,
    DEPOSIT_CENTS,
    HOUR,
    MINUTE,
    SECOND,
    START_NS,
    Days,
    Desk,
    settings_for,
)
from venue.engine import messages as v
from venue.wire.money import Outcome
from venue.wire.names import MarketId, Ticker

ACME, BOLT = "ACME-VAL", "BOLT-VAL"
pytestmark = pytest.mark.xdist_group("series-days")

FINE_NS = 10 * SECOND
YES, NO = Outcome.YES, Outcome.NO


def strategy() -> FixedSpread:
    return FixedSpread(FixedSpread.Params())


def settled_of(desk: Desk, rungs: list[MarketId]) -> int:
    """How many of these rungs a trader told to have settled."""
    return sum(note.fields["market_id"] in rungs for note in desk.noted("rung_settled"))


class FiveDays:
    """Five days of two series, run once, with what was observed on the way."""

    def __init__(self) -> None:
        days = self.days = Days()
        self.old = days.list_event(ACME, "26Q4", (70, 85, 100, 115), START_NS + 2 * DAY)
        self.whole = days.list_event(BOLT, "26Q4", (80, 95, 110, 125), START_NS + 3 * DAY)
        days.act()
        self.acme = days.join(settings_for(ACME, (BOLT,)), strategy)
        self.bolt = days.join(settings_for(BOLT, (ACME,)), strategy)
        self.rungs = {event: list(days.ends[event]) for event in (self.old, self.whole)}
        self._first_day()
        self._wind_down_and_resolve()
        self._second_series()
        self._end()

    def resting(self, event: Ticker) -> int:
        return sum(len(self.days.resting(market)) for market in self.days.ends[event])

    def _first_day(self) -> None:
        days = self.days
        days.run(6 * HOUR)
        self.quoted_at_first = self.resting(self.old) > 0 and self.resting(self.whole) > 0
        self.roll = days.list_event(ACME, "27Q1", (75, 90), START_NS + 4 * DAY)
        days.run(MINUTE, step_ns=FINE_NS)
        self.new_quarter_rests = self.resting(self.roll)
        self.late_rung = days.list_rung(self.roll, 105)
        days.run(MINUTE, step_ns=FINE_NS)
        self.new_rung_rests = len(days.resting(self.late_rung))
        halted = self.halted = self.rungs[self.old][1]
        days.apply(v.HaltMarket(halted))
        days.run(MINUTE, step_ns=FINE_NS)
        self.halted_rests = len(days.resting(halted))
        self.beside_halted_rests = len(days.resting(self.rungs[self.old][2]))
        days.run(HOUR)
        before_ns = days.now_ns
        days.apply(v.ResumeMarket(halted))
        days.run(MINUTE, step_ns=FINE_NS)
        self.resumed_rests = len(days.resting(halted))
        self.created_while_halted = [
            request
            for at_ns, request in self.acme.sent
            if isinstance(request, m.Create)
            and request.order.market_id == halted
            and before_ns - HOUR < at_ns <= before_ns
        ]

    def _wind_down_and_resolve(self) -> None:
        days = self.days
        days.run(START_NS + 2 * DAY - 2 * HOUR - 5 * MINUTE - days.now_ns)
        days.run(10 * MINUTE, step_ns=MINUTE)
        self.nets: list[list[int]] = []
        days.run(95 * MINUTE, self._watch, step_ns=5 * MINUTE)
        days.run(15 * MINUTE, step_ns=MINUTE)
        self.rests_at_the_stop = self.resting(self.old)
        days.run(10 * MINUTE, step_ns=MINUTE)
        self.held_into_resolution = [days.holds(market) for market in self.rungs[self.old]]
        # Rung by rung, an hour apart: the three lowest pay YES.
        self.settled_after: list[int] = []
        for market, winner in zip(self.rungs[self.old], (YES, YES, YES, NO), strict=True):
            days.resolve(market, winner)
            days.run(2 * MINUTE, step_ns=FINE_NS)
            self.settled_after.append(settled_of(self.acme, self.rungs[self.old]))
            days.run(HOUR)
        days.run(HOUR)

    def _watch(self) -> None:
        self.nets.append([self.days.net_qty(market) for market in self.rungs[self.old]])

    def _second_series(self) -> None:
        days = self.days
        days.run(START_NS + 3 * DAY - days.now_ns)
        self.held_of_whole = [days.holds(market) for market in self.rungs[self.whole]]
        for market, winner in zip(self.rungs[self.whole], (YES, YES, NO, NO), strict=True):
            days.resolve(market, winner)
        days.run(3 * MINUTE, step_ns=FINE_NS)
        days.run(HOUR)

    def _end(self) -> None:
        days = self.days
        days.run(START_NS + 4 * DAY - days.now_ns)
        for market, winner in zip(days.ends[self.roll], (YES, NO, NO), strict=True):
            days.resolve(market, winner)
        days.run(3 * MINUTE, step_ns=FINE_NS)
        days.run(HOUR)
        for desk in days.desks:
            days.give(desk, m.StopRequested("the end"))
        days.beats(10 * SECOND)


@pytest.fixture(scope="module")
def days_of_two_series() -> FiveDays:
    return FiveDays()


def test_both_series_are_quoted_on_the_first_day(days_of_two_series: FiveDays) -> None:
    assert days_of_two_series.quoted_at_first


def test_a_new_event_and_a_new_rung_are_quoted_within_a_minute(
    days_of_two_series: FiveDays,
) -> None:
    assert days_of_two_series.new_quarter_rests >= 4
    assert days_of_two_series.new_rung_rests >= 2


def test_quotes_of_a_halted_rung_are_pulled_until_it_resumes(days_of_two_series: FiveDays) -> None:
    assert days_of_two_series.halted_rests == 0
    assert days_of_two_series.beside_halted_rests > 0
    assert days_of_two_series.created_while_halted == []
    assert days_of_two_series.resumed_rests > 0


def test_the_wind_down_only_reduces_positions_and_ends_flat_of_orders(
    days_of_two_series: FiveDays,
) -> None:
    for before, after in zip(days_of_two_series.nets, days_of_two_series.nets[1:], strict=False):
        for was, now in zip(before, after, strict=True):
            assert 0 <= now * (1 if was >= 0 else -1) <= abs(was)
    assert days_of_two_series.rests_at_the_stop == 0


def test_holdings_are_settled_rung_by_rung(days_of_two_series: FiveDays) -> None:
    held = days_of_two_series.held_into_resolution
    assert any(held), "nothing was held into the resolution"
    assert days_of_two_series.settled_after == [
        sum(held[: place + 1]) for place in range(len(held))
    ]


def test_a_ladder_that_resolves_at_once_is_settled_as_a_whole(days_of_two_series: FiveDays) -> None:
    held = sum(days_of_two_series.held_of_whole)
    assert held > 1
    assert (
        settled_of(days_of_two_series.bolt, days_of_two_series.rungs[days_of_two_series.whole])
        == held
    )


def test_no_request_is_sent_to_a_resolved_rung(days_of_two_series: FiveDays) -> None:
    assert all(
        desk.trader.out.counters.refused.get("market_resolved", 0) == 0
        for desk in days_of_two_series.days.desks
    )


def test_the_profit_of_both_series_agrees_with_the_venue_to_the_cent(
    days_of_two_series: FiveDays,
) -> None:
    earned_cents = days_of_two_series.days.cash_cents - DEPOSIT_CENTS
    reports = [
        desk.trader.report(days_of_two_series.days.now_ns) for desk in days_of_two_series.days.desks
    ]
    own = [desk.trader.ledgers.book.own_cash_cents for desk in days_of_two_series.days.desks]
    assert sum(own) == earned_cents
    assert sum(report.pnl_cents for report in reports) == earned_cents
    by_fills = [report.profit.total.profit_millicents for report in reports if report.profit]
    assert sum(by_fills) == 1_000 * earned_cents
    assert all(cents and by == 1_000 * cents for cents, by in zip(own, by_fills, strict=True))
    for report in reports:
        assert report.ledger_difference_cents == 0
        assert report.profit is not None
        assert report.profit.difference_millicents == 0
        assert report.findings == ()


def test_no_finding_is_raised_in_five_days(days_of_two_series: FiveDays) -> None:
    told = [
        note
        for desk in days_of_two_series.days.desks
        for note in desk.notes
        if note.level == "error"
    ]
    assert told == []


def test_both_series_stop_without_an_order_left(days_of_two_series: FiveDays) -> None:
    for desk in days_of_two_series.days.desks:
        assert desk.finished == m.DrainComplete((), ())
        assert desk.trader.phase is Phase.STOPPED


def test_the_traders_keep_no_state_of_resolved_events(days_of_two_series: FiveDays) -> None:
    gone = [market for markets in days_of_two_series.days.ends.values() for market in markets]
    assert [len(desk.noted("event_left")) for desk in days_of_two_series.days.desks] == [2, 1]
    for desk in days_of_two_series.days.desks:
        assert desk.trader.quoting.ladders == []
        assert reachable_ids(desk, gone) == []


_SKIPPED = (
    ModuleType,
    FunctionType,
    MethodType,
    BuiltinFunctionType,
    type,
    WriteThrottle,
    AttributedFill,
)
"""Of what is kept by market a bounded number: the pace (`MARKETS_MAX`), the newest fills
(`KEPT_MAX`)."""


def reachable_ids(desk: Desk, markets: list[MarketId]) -> list[str]:
    """Where the ids of these markets can still be reached from a trader."""
    wanted = dict.fromkeys(markets)
    found: list[str] = []
    seen: dict[int, object] = {}
    todo: list[tuple[str, object]] = [("trader", desk.trader)]
    while todo:
        path, thing = todo.pop()
        if isinstance(thing, _SKIPPED) or id(thing) in seen:
            continue
        if isinstance(thing, str):
            if thing in wanted:
                found.append(path)
            continue
        seen[id(thing)] = thing
        todo.extend((f"{path} > {type(thing).__name__}", each) for each in inside(thing))
    return found


def inside(thing: object) -> Iterator[object]:
    yield from gc.get_referents(thing)
