"""Contradictions in the venue's history: the bot cancels everything, latches and says so once; and
the one way to cancel everything, which pause, latch and stop share."""

import time

import pytest

from bot.core import messages as m
from bot.core.inconsistency import INCONSISTENCIES, Inconsistency
from bot.core.report import Phase
from bot.strategy.api import EventView, Quotes
from tests.builders.bot.thin import START_NS, FixedQuotes, Thin
from venue.wire.instant import NS_PER_SECOND

EVIDENCE = "fill f-1 of order 7"


class Around(FixedQuotes):
    """One bid and one ask on every rung; counts its calls."""

    bid, ask = 40, 60
    calls = 0

    def quote(self, view: EventView) -> Quotes:
        type(self).calls += 1
        return super().quote(view)


class Slow(Around):
    """The same after 50 ms."""

    def quote(self, view: EventView) -> Quotes:
        time.sleep(0.05)
        return super().quote(view)


def quoting(strategy: type[Around] = Around) -> Thin:
    """A trader that quotes two markets, with four orders resting."""
    venue = Thin([50, 50], strategy)
    venue.start()
    assert venue.trader.phase is Phase.QUOTING
    assert len(venue.orders) == 4
    return venue


def cancelled(effects: list[m.Effect]) -> set[str]:
    sends = [each.request for each in effects if isinstance(each, m.Send)]
    return {each.order_id for each in sends if isinstance(each, m.CancelResting)}


def noted(effects: list[m.Effect], name: str) -> list[m.Noted]:
    return [each for each in effects if isinstance(each, m.Noted) and each.name == name]


def adding(venue: Thin, since_ns: int) -> list[m.Request]:
    return [each for each in venue.writes(since_ns) if not isinstance(each, m.CancelResting)]


@pytest.mark.parametrize(
    "event",
    [m.PauseRequested("asked for"), m.StopRequested("asked for"), m.LatchSet("reaper: silent")],
    ids=["pause", "stop", "latch"],
)
def test_a_pause_stop_or_latch_cancels_at_once_without_asking_the_strategy(event):
    venue = quoting(Slow)
    resting, asked = set(venue.orders), Slow.calls
    assert cancelled(venue.trader.receive(event, venue.now_ns)) == resting
    assert Slow.calls == asked


def test_a_paused_bot_cancels_everything_and_quotes_again_after_a_resume():
    """An order whose create was on its way shows its id only later."""
    venue = quoting()
    venue.give(m.PauseRequested("asked for"))
    venue.run(2)
    assert not venue.orders
    assert not adding(venue, venue.now_ns - 2 * NS_PER_SECOND)
    venue.give(m.ResumeRequested(""))
    venue.run(2)
    assert len(venue.orders) == 4


@pytest.mark.parametrize("kind", Inconsistency)
def test_a_contradiction_cancels_everything_latches_and_is_reported_once(kind):
    venue = quoting()
    resting = set(venue.orders)
    venue.trader.out.inconsistencies.contradicts(kind, EVIDENCE)
    effects = venue.trader.receive(m.FeedAlive(), venue.now_ns)
    assert cancelled(effects) == resting
    (note,) = noted(effects, "inconsistency")
    (latched,) = [each for each in effects if isinstance(each, m.Latched)]
    report = venue.trader.report(venue.now_ns)
    sentence = report.latched
    assert (note.fields["kind"], note.fields["evidence"]) == (kind, EVIDENCE)
    assert note.fields["text"] == latched.reason == sentence
    assert latched.by is m.LatchedBy.CONTRADICTION
    assert report.phase is Phase.LATCHED
    assert report.inconsistency == kind
    assert report.withheld == f"latched: {sentence}"
    assert INCONSISTENCIES[kind].saw in sentence
    assert EVIDENCE in sentence
    assert not noted(venue.trader.receive(m.Tick(), venue.now_ns), "inconsistency")


def test_the_tick_that_finds_a_contradiction_sends_nothing_that_adds_exposure():
    """The detector speaks in the midst of a decision, before the creates of that tick."""
    venue = quoting()
    venue.give(m.PauseRequested("asked for"))
    venue.run(1)

    class Found(Around):
        def quote(self, view: EventView) -> Quotes:
            venue.trader.out.inconsistencies.contradicts(Inconsistency.CASH_DIFFERS, EVIDENCE)
            return super().quote(view)

    for ladder in venue.trader.quoting.ladders:
        ladder.strategy = Found()
    since_ns = venue.now_ns
    venue.give(m.ResumeRequested(""))
    venue.run(3)
    assert venue.trader.phase is Phase.LATCHED
    assert not adding(venue, since_ns)


def test_a_contradiction_found_during_a_stop_latches_the_next_run():
    venue = quoting()
    venue.give(m.StopRequested("asked for"))
    venue.trader.out.inconsistencies.contradicts(Inconsistency.CASH_DIFFERS, EVIDENCE)
    effects = venue.give(m.Tick())
    assert [each.by for each in effects if isinstance(each, m.Latched)] == ["contradiction"]
    assert venue.trader.phase in (Phase.STOPPING, Phase.STOPPED)


def test_a_contradiction_is_reported_although_a_breaker_latched_before():
    venue = quoting()
    venue.give(m.LatchSet("breaker: fills_per_minute"))
    venue.trader.out.inconsistencies.contradicts(Inconsistency.CASH_DIFFERS, EVIDENCE)
    venue.give(m.Tick())
    assert venue.trader.report(venue.now_ns).inconsistency == Inconsistency.CASH_DIFFERS


def sign(venue: Thin, market: int | None = 0) -> None:
    """A read that began now shows a sign."""
    venue.trader.out.inconsistencies.on_sign(
        Inconsistency.SHARES_DIFFER,
        "key",
        EVIDENCE,
        venue.now_ns,
        venue.now_ns,
        None if market is None else venue.markets[market].market_id,
    )


def test_a_first_sign_stops_quotes_on_its_market_alone_until_it_is_gone():
    venue = quoting()
    doubted, other = (each.market_id for each in venue.markets)
    sign(venue)
    venue.run(2)
    assert {each.market_id for each in venue.orders.values()} == {other}
    assert venue.trader.phase is Phase.QUOTING
    venue.trader.out.inconsistencies.on_sign_gone(Inconsistency.SHARES_DIFFER, "key")
    venue.run(60)
    assert venue.trader.phase is Phase.QUOTING
    assert {each.market_id for each in venue.orders.values()} == {doubted, other}


def test_a_sign_about_the_account_stops_all_quotes():
    venue = quoting()
    sign(venue, market=None)
    venue.run(2)
    assert not venue.orders


def test_during_a_sign_fills_are_read_more_often():
    venue = quoting()
    venue.run(60)

    def lists(seconds: float) -> int:
        since_ns = venue.now_ns
        venue.run(seconds)
        return sum(at > since_ns for at, each in venue.sent if isinstance(each, m.ReadFills))

    usual = lists(20)
    sign(venue)
    assert lists(20) > 2 * usual


def test_a_sign_that_persists_stops_the_bot_within_a_minute():
    venue = quoting()
    began_ns = venue.now_ns
    venue.run(60, lambda: sign(venue), 5 * NS_PER_SECOND)
    cancelled_ns = [ns for ns, each in venue.sent if isinstance(each, m.CancelResting)]
    assert venue.trader.phase is Phase.LATCHED
    assert max(cancelled_ns) <= began_ns + 60 * NS_PER_SECOND


def stopped() -> Thin:
    """A bot that a contradiction has stopped, with nothing resting."""
    venue = quoting()
    venue.trader.out.inconsistencies.contradicts(Inconsistency.SHARES_DIFFER, EVIDENCE)
    venue.give(m.Tick())
    venue.run(20)
    assert not venue.orders
    return venue


def test_a_reset_opens_the_books_again_and_then_quotes():
    venue = stopped()
    since_ns = venue.now_ns
    venue.give(m.LatchCleared("a person looked"))
    assert venue.trader.phase is Phase.STARTING
    assert not venue.trader.ledgers.is_open
    venue.run(0.2)
    assert not venue.writes(since_ns)
    venue.run(10)
    assert venue.trader.ledgers.is_open
    assert venue.trader.phase is Phase.QUOTING
    assert len(venue.orders) == 4
    report = venue.trader.report(venue.now_ns)
    assert not (report.latched or report.inconsistency or report.findings)
    first_ns = min(at for at, each in venue.sent if at > since_ns and isinstance(each, m.Create))
    before = {type(each) for at, each in venue.sent if since_ns <= at <= first_ns}
    assert before >= {m.ReadBalance, m.ReadPositions, m.ReadFills, m.ReadResting}


def test_only_a_persons_reset_ends_a_contradiction():
    venue = stopped()
    venue.give(m.LatchCleared(looked=False))
    venue.run(5)
    assert venue.trader.phase is Phase.LATCHED
    assert not venue.orders


def test_the_next_run_stays_latched_by_a_contradiction_until_a_reset():
    before = stopped().trader.report(START_NS).latched
    venue = Thin([50, 50], Around)
    kept = f"{m.LatchedBy.CONTRADICTION}: {before}"
    venue.give(m.Started("0" * 20, (), new_account=True, latched=kept))
    venue.give(m.FeedOpened())
    for index in range(2):
        venue.show(index)
    venue.run(5)
    assert not venue.writes()
    report = venue.trader.report(venue.now_ns)
    assert (report.latched, report.inconsistency) == (kept, Inconsistency.SHARES_DIFFER)
    venue.give(m.LatchCleared("a person looked"))
    venue.run(10)
    assert len(venue.orders) == 4
    assert not venue.trader.report(venue.now_ns).inconsistency
