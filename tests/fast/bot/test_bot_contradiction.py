"""Claims about the one stop: what contradicts itself cancels everything, latches and is told once;
and about the one way to cancel everything, which pause, latch and stop share."""

import time

import pytest

from bot.core import messages as m
from bot.core.inconsistency import INCONSISTENCIES, Inconsistency
from bot.core.report import Phase
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from tests.builders.bot.thin import START_NS, Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty

EVIDENCE = "fill f-1 of order 7"


class Around(Strategy):
    """One bid and one ask around the middle of every book, on every call."""

    asked = 0

    def quote(self, view: EventView) -> Quotes:
        """Ten shares a side."""
        type(self).asked += 1
        return {
            rung.market_id: (
                Quote(BookSide.BID, Price(40), Qty(10)),
                Quote(BookSide.ASK, Price(60), Qty(10)),
            )
            for rung in view.rungs
        }


class Slow(Around):
    """The same, 50 ms later."""

    def quote(self, view: EventView) -> Quotes:
        """As `Around`."""
        time.sleep(0.05)
        return super().quote(view)


def quoting(strategy: type[Around] = Around) -> Thin:
    """A trader that quotes two markets, with four orders resting."""
    venue = Thin([50, 50], lambda: strategy(None))
    venue.start()
    assert venue.trader.phase is Phase.QUOTING
    assert len(venue.orders) == 4
    return venue


def cancelled(effects: list[m.Effect]) -> set[str]:
    """The orders whose cancels are among the effects."""
    sends = [each.request for each in effects if isinstance(each, m.Send)]
    return {each.order_id for each in sends if isinstance(each, m.CancelResting)}


def noted(effects: list[m.Effect], name: str) -> list[m.Noted]:
    """The notes of this name."""
    return [each for each in effects if isinstance(each, m.Noted) and each.name == name]


def adding(venue: Thin, since_ns: int) -> list[m.Request]:
    """Creates and amends from an instant on."""
    return [each for each in venue.writes(since_ns) if not isinstance(each, m.CancelResting)]


# --- one way to cancel everything ----------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [m.PauseRequested("asked for"), m.StopRequested("asked for"), m.LatchSet("reaper: silent")],
    ids=["pause", "stop", "latch"],
)
def test_the_cancels_are_among_the_effects_of_the_request_itself_and_no_strategy_is_asked(event):
    venue = quoting(Slow)
    resting, asked = set(venue.orders), Slow.asked
    assert cancelled(venue.trader.receive(event, venue.now_ns)) == resting
    assert Slow.asked == asked


def test_what_a_pause_could_not_cancel_at_once_is_cancelled_before_the_next_plan():
    """An order whose create was on its way shows its id only later."""
    venue = quoting()
    venue.give(m.PauseRequested("asked for"))
    venue.run(2)
    assert not venue.orders
    assert not adding(venue, venue.now_ns - 2 * NS_PER_SECOND)
    venue.give(m.ResumeRequested(""))
    venue.run(2)
    assert len(venue.orders) == 4


# --- the stop ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", Inconsistency)
def test_a_contradiction_cancels_everything_latches_and_is_told_once_in_one_sentence(kind):
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


def test_nothing_that_adds_exposure_leaves_in_the_very_tick_that_finds_a_contradiction():
    """The detector speaks in the midst of a decision, before the creates of that tick."""
    venue = quoting()
    venue.give(m.PauseRequested("asked for"))
    venue.run(1)

    class Found(Around):
        def quote(self, view: EventView) -> Quotes:
            venue.trader.out.inconsistencies.contradicts(Inconsistency.CASH_DIFFERS, EVIDENCE)
            return super().quote(view)

    for ladder in venue.trader.quoting.ladders:
        ladder.strategy = Found(None)
    since_ns = venue.now_ns
    venue.give(m.ResumeRequested(""))
    venue.run(3)
    assert venue.trader.phase is Phase.LATCHED
    assert not adding(venue, since_ns)


def test_a_contradiction_found_while_it_stops_is_kept_for_the_next_run():
    venue = quoting()
    venue.give(m.StopRequested("asked for"))
    venue.trader.out.inconsistencies.contradicts(Inconsistency.CASH_DIFFERS, EVIDENCE)
    effects = venue.give(m.Tick())
    assert [each.by for each in effects if isinstance(each, m.Latched)] == ["contradiction"]
    assert venue.trader.phase in (Phase.STOPPING, Phase.STOPPED)


def test_a_contradiction_says_its_sentence_over_a_breaker_that_had_latched_before():
    venue = quoting()
    venue.give(m.LatchSet("breaker: fills_per_minute"))
    venue.trader.out.inconsistencies.contradicts(Inconsistency.CASH_DIFFERS, EVIDENCE)
    venue.give(m.Tick())
    assert venue.trader.report(venue.now_ns).inconsistency == Inconsistency.CASH_DIFFERS


# --- a first sign --------------------------------------------------------------------------------


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


def test_from_the_first_sign_on_nothing_may_grow_a_position_on_its_market_and_the_others_go_on():
    venue = quoting()
    doubted, other = (each.market_id for each in venue.markets)
    sign(venue)
    venue.run(2)
    assert {each.market_id for each in venue.orders.values()} == {other}
    assert venue.trader.phase is Phase.QUOTING
    venue.trader.out.inconsistencies.on_sign_gone(Inconsistency.SHARES_DIFFER, "key")
    venue.run(3)
    assert {each.market_id for each in venue.orders.values()} == {doubted, other}


def test_a_sign_about_the_account_lets_nothing_grow_anywhere():
    venue = quoting()
    sign(venue, market=None)
    venue.run(2)
    assert not venue.orders


def test_while_a_sign_is_observed_fills_and_orders_are_read_at_the_quicker_pace():
    venue = quoting()
    venue.run(60)

    def lists(seconds: float) -> int:
        since_ns = venue.now_ns
        venue.run(seconds)
        return sum(at > since_ns for at, each in venue.sent if isinstance(each, m.ReadFills))

    calm = lists(20)
    sign(venue)
    assert lists(20) > 2 * calm


def test_a_sign_that_persists_stops_the_bot_within_the_minute_and_one_that_goes_never_does():
    venue = quoting()
    began_ns = venue.now_ns
    venue.run(60, lambda: sign(venue), 5 * NS_PER_SECOND)
    latched = [ns for ns, each in venue.sent if isinstance(each, m.CancelResting)]
    assert venue.trader.phase is Phase.LATCHED
    assert max(latched) <= began_ns + 60 * NS_PER_SECOND
    calm = quoting()
    sign(calm)
    calm.trader.out.inconsistencies.on_sign_gone(Inconsistency.SHARES_DIFFER, "key")
    calm.run(60)
    assert calm.trader.phase is Phase.QUOTING


# --- the reset -----------------------------------------------------------------------------------


def stopped() -> Thin:
    """A bot that a contradiction has stopped, with nothing resting."""
    venue = quoting()
    venue.trader.out.inconsistencies.contradicts(Inconsistency.SHARES_DIFFER, EVIDENCE)
    venue.give(m.Tick())
    venue.run(20)
    assert not venue.orders
    return venue


def test_a_reset_opens_the_books_anew_and_quotes_again_once_they_are_open():
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


def test_a_latch_that_was_only_feared_and_is_gone_does_not_end_a_contradiction():
    venue = stopped()
    venue.give(m.LatchCleared(looked=False))
    venue.run(5)
    assert venue.trader.phase is Phase.LATCHED
    assert not venue.orders


def test_the_next_run_is_latched_with_the_same_sentence_and_a_reset_lets_it_start():
    before = stopped().trader.report(START_NS).latched
    venue = Thin([50, 50], lambda: Around(None))
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
