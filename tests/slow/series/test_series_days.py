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


class Story:
    """Five days of two series, told once; what was seen on the way is kept for the claims."""

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
def story() -> Story:
    return Story()


def test_both_series_are_quoted(story: Story) -> None:
    assert story.quoted_at_first


def test_a_new_quarter_and_a_rung_that_comes_later_are_quoted_within_a_minute(story: Story) -> None:
    assert story.new_quarter_rests >= 4
    assert story.new_rung_rests >= 2


def test_a_halted_rung_is_pulled_alone_and_comes_back(story: Story) -> None:
    assert story.halted_rests == 0
    assert story.beside_halted_rests > 0
    assert story.created_while_halted == []
    assert story.resumed_rests > 0


def test_before_the_end_positions_only_shrink_and_at_last_nothing_rests(story: Story) -> None:
    for before, after in zip(story.nets, story.nets[1:], strict=False):
        for was, now in zip(before, after, strict=True):
            assert 0 <= now * (1 if was >= 0 else -1) <= abs(was)
    assert story.rests_at_the_stop == 0


def test_what_was_held_is_settled_rung_by_rung(story: Story) -> None:
    held = story.held_into_resolution
    assert any(held), "nothing was held into the resolution"
    assert story.settled_after == [sum(held[: place + 1]) for place in range(len(held))]


def test_a_ladder_that_resolves_at_once_is_settled(story: Story) -> None:
    held = sum(story.held_of_whole)
    assert held > 1
    assert settled_of(story.bolt, story.rungs[story.whole]) == held


def test_nothing_is_sent_to_a_rung_that_has_resolved(story: Story) -> None:
    assert all(
        desk.trader.out.counters.refused.get("market_resolved", 0) == 0 for desk in story.days.desks
    )


def test_the_venue_and_both_accounts_of_profit_agree_to_the_cent(story: Story) -> None:
    earned_cents = story.days.cash_cents - DEPOSIT_CENTS
    reports = [desk.trader.report(story.days.now_ns) for desk in story.days.desks]
    own = [desk.trader.ledgers.book.own_cash_cents for desk in story.days.desks]
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


def test_no_finding_was_told_on_the_way(story: Story) -> None:
    told = [note for desk in story.days.desks for note in desk.notes if note.level == "error"]
    assert told == []


def test_both_end_with_nothing_left(story: Story) -> None:
    for desk in story.days.desks:
        assert desk.finished == m.DrainComplete((), ())
        assert desk.trader.phase is Phase.STOPPED


def test_events_that_resolved_have_left_and_nothing_of_them_is_kept(story: Story) -> None:
    gone = [market for markets in story.days.ends.values() for market in markets]
    assert [len(desk.noted("event_left")) for desk in story.days.desks] == [2, 1]
    for desk in story.days.desks:
        assert desk.trader.quoting.ladders == []
        assert kept(desk, gone) == []


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


def kept(desk: Desk, markets: list[MarketId]) -> list[str]:
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
