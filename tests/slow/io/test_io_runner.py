"""Claims about the loop: order, ticks, the journal before the request, and how a run ends."""

import asyncio
import os
import signal
import time

import pytest

from bot.core import messages as m
from bot.io.client.rest import Rest
from bot.io.journal.journal import read_journal, segments
from bot.io.run import runner as runner_module
from bot.io.run.result import Exit, summary_of
from tests.builders.io.fakes import FakeTrader, run, runner_of
from tests.builders.io.hostile import hostile, late, says, silence
from tests.builders.io.samples import ORDER_ID, ORDER_JSON, create, sent
from venue.wire.names import ClientOrderId

pytestmark = pytest.mark.anyio


def once(kind: type, *effects: m.Effect):
    """Wish for these effects at the first event of a kind."""
    left = list(effects)

    def behave(event: m.Event) -> list[m.Effect]:
        if not isinstance(event, kind):
            return []
        now, left[:] = list(left), []
        return now

    return behave


async def test_a_run_begins_with_started_and_ends_when_its_time_is_over(tmp_path):
    trader = FakeTrader()
    ended = await run(runner_of(trader, tmp_path))
    assert trader.events[0] == m.Started("ab" * 10, (), journal=m.JournalFate.LOST)
    assert trader.of(m.StopRequested) == [m.StopRequested("the time asked for is over")]
    assert ended.exit_code is Exit.OK


@pytest.mark.parametrize("new_account", [False, True])
async def test_a_run_on_the_same_account_begins_with_the_unconfirmed_creates_of_the_last(
    tmp_path, new_account
):
    async with hostile(silence) as site:
        first = FakeTrader(once(m.Started, sent(create(), 3)), patient=False)
        first.left = m.DrainComplete((), (ClientOrderId("a-1"),))
        await run(runner_of(first, tmp_path, site.base_url), 20_000_000)
    second = FakeTrader()
    async with asyncio.timeout(10):
        await runner_of(second, tmp_path).run("cd" * 10, (), 20_000_000, new_account=new_account)
    left = () if new_account else (m.UnconfirmedCreate(create().order),)
    assert second.events[0] == m.Started("cd" * 10, left, new_account)


async def test_every_batch_is_followed_by_a_tick_and_time_never_steps_back(tmp_path):
    trader = FakeTrader()
    await run(runner_of(trader, tmp_path))
    assert isinstance(trader.events[1], m.Tick)
    assert trader.times == sorted(trader.times)


async def test_a_tick_comes_when_the_wake_up_falls_due(tmp_path):
    def behave(event: m.Event) -> list[m.Effect]:
        return [m.WakeAt(trader.times[-1] + 5_000_000)] if isinstance(event, m.Tick) else []

    trader = FakeTrader(behave)
    await run(runner_of(trader, tmp_path), 300_000_000)
    # Without the effect there would be one each tenth of a second.
    assert 6 <= len(trader.of(m.Tick)) <= 80


async def test_the_newest_wake_up_replaces_an_older_one(tmp_path):
    def behave(event: m.Event) -> list[m.Effect]:
        return [m.WakeAt(0), m.WakeAt(2**62)] if isinstance(event, m.Tick) else []

    trader = FakeTrader(behave)
    await run(runner_of(trader, tmp_path), 60_000_000)
    assert len(trader.of(m.Tick)) <= 4


async def test_a_create_is_in_the_journal_on_disk_before_it_is_sent(tmp_path):
    on_disk: list[m.Event | m.Effect] = []

    async def look(writer: asyncio.StreamWriter) -> None:
        on_disk.extend(entry.message for entry in read_journal(segments(tmp_path)[0]))
        await says(201, ORDER_JSON)(writer)

    async with hostile(look) as site:
        trader = FakeTrader(once(m.Started, sent(create(), 3)))
        await run(runner_of(trader, tmp_path, site.base_url))
    assert sent(create(), 3) in on_disk


async def test_every_event_and_effect_is_in_the_journal_in_order(tmp_path):
    wishes = (m.Noted("info", "x", {}), m.WakeAt(5))
    trader = FakeTrader(once(m.Started, *wishes))
    await run(runner_of(trader, tmp_path))
    written = [entry.message for entry in read_journal(segments(tmp_path)[0])]
    assert written[:3] == [trader.events[0], *wishes]
    assert [each for each in written if isinstance(each, type(trader.events[1]))]
    events = [
        each for each in written if not isinstance(each, m.Noted | m.WakeAt | m.DrainComplete)
    ]
    assert events[: len(trader.events)] == trader.events


async def test_a_create_is_not_sent_when_its_journal_entry_is_late_on_disk(tmp_path, monkeypatch):
    real, begun = os.fdatasync, []

    def late(handle: int) -> None:
        if begun:  # the opening of the segment comes before the run
            time.sleep(0.4)
        begun.append(handle)
        real(handle)

    monkeypatch.setattr(os, "fdatasync", late)
    monkeypatch.setattr(runner_module, "IN_TIME_S", 0.1)
    sends = (sent(create(), 1), sent(m.CancelResting(ORDER_ID), 2))
    async with hostile(says(404, b"")) as site:
        trader = FakeTrader(once(m.Started, *sends))
        await run(runner_of(trader, tmp_path, site.base_url), 800_000_000)
    assert [raw.split(b" ")[0] for raw in site.requests] == [b"DELETE"]
    answers = {reply.request_id: reply.answer for reply in trader.of(m.Response)}
    assert (answers[1].status, trader.of(m.JournalFailed)) == (0, [])


async def test_requests_decided_before_the_trader_raised_are_sent(tmp_path):
    cancel = sent(m.CancelResting(ORDER_ID), 4)

    def behave(event: m.Event) -> list[m.Effect]:
        trader.effects = [cancel] if isinstance(event, m.Started) else []
        if isinstance(event, m.Started):
            raise ZeroDivisionError
        return []

    trader = FakeTrader(behave)
    async with hostile(says(404, b"")) as site:
        await run(runner_of(trader, tmp_path, site.base_url))
    assert [raw.split(b" ")[0] for raw in site.requests] == [b"DELETE"]


async def test_a_request_that_cannot_be_sent_is_unknown_and_stops_the_bot(tmp_path, monkeypatch):
    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Rest, "start", broken)
    trader = FakeTrader(once(m.Started, sent(m.CancelResting(ORDER_ID), 4)))
    ended = await run(runner_of(trader, tmp_path), None)
    assert [type(reply.answer) for reply in trader.of(m.Response)] == [m.Unknown]
    assert ended.died == ("shell",)
    assert ended.exit_code is Exit.BUG


NO_LIST = "no list shows that nothing rests"


@pytest.mark.parametrize("overdue", [False, True])
@pytest.mark.parametrize(
    ("left", "code"),
    [
        (m.DrainComplete((), ()), Exit.OK),
        (m.DrainComplete((ORDER_ID,), ()), Exit.LEFT_OVER),
        (m.DrainComplete((), (ClientOrderId("a"),)), Exit.LEFT_OVER),
        (m.DrainComplete((), (), unshown=True), Exit.LEFT_OVER),
    ],
    ids=["nothing", "an order", "an unknown create", "not listed"],
)
async def test_a_run_ends_with_4_unless_a_list_shows_that_no_order_is_left(
    tmp_path, left, code, overdue
):
    trader = FakeTrader(finishes=not overdue)
    trader.left = left
    ended = await run(runner_of(trader, tmp_path, drain_ns=100_000_000))
    assert (ended.overdue, ended.finished, ended.exit_code) == (overdue, left, code)
    summary = summary_of(ended, ended.report.now_ns)
    assert (summary["left"], summary["unknown"]) == (list(left.left), list(left.unknown))
    assert summary["exit_code"] == code
    assert summary["unshown"] == (NO_LIST if left.unshown else None)


async def test_a_run_waits_for_requests_in_flight_and_journals_their_responses(tmp_path):
    async with hostile(late(0.3, says(201, ORDER_JSON))) as site:
        trader = FakeTrader(once(m.Started, sent(create(), 3)), patient=False)
        await run(runner_of(trader, tmp_path, site.base_url), 20_000_000)
    written = [entry.message for entry in read_journal(segments(tmp_path)[0])]
    assert [each.request_id for each in written if isinstance(each, m.Response)] == [3]


async def test_signals_pause_resume_and_stop_a_run_once(tmp_path):
    trader = FakeTrader(finishes=False)
    running = asyncio.ensure_future(run(runner_of(trader, tmp_path, drain_ns=200_000_000), None))
    await trader.until(m.Started)
    for number, kind in (
        (signal.SIGUSR1, m.PauseRequested),
        (signal.SIGUSR2, m.ResumeRequested),
        (signal.SIGTERM, m.StopRequested),
    ):
        os.kill(os.getpid(), number)
        await trader.until(kind)
    os.kill(os.getpid(), signal.SIGINT)
    await running
    assert trader.of(m.PauseRequested) == [m.PauseRequested("SIGUSR1")]
    assert trader.of(m.ResumeRequested) == [m.ResumeRequested()]
    assert trader.of(m.StopRequested) == [m.StopRequested("SIGTERM")]


async def test_a_signal_after_the_drain_changes_nothing_while_sidecars_finish(tmp_path):
    class Slow:
        name, secrets, families = "slow", (), ()

        def on_run_start(self, look: object, now_ns: object) -> None:
            pass

        def did(self, effect: m.Effect, at_ns: int) -> None:
            pass

        async def run(self) -> None:
            await asyncio.Event().wait()

        async def on_run_end(self) -> None:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
                os.kill(os.getpid(), number)
                await asyncio.sleep(0.01)
            finished.append(True)

    finished: list[bool] = []
    ended = await run(runner_of(FakeTrader(), tmp_path, companions=(Slow(),)))
    assert finished == [True]
    assert ended.exit_code is Exit.OK


async def test_the_summary_has_the_figures_of_the_run(tmp_path):
    ended = await run(runner_of(FakeTrader(), tmp_path))
    summary = summary_of(ended, ended.report.now_ns - 2_500_000_000)
    assert summary["seconds"] == 2.5
    assert summary["first_two_sided_s"] is None
    assert summary["requests"] == {"create": 2, "amend": 1, "cancel": 0, "read": 4}
    assert summary["pnl_cents"] == -7
    assert summary["rungs"] == 1
    assert summary["exit_code"] == 0


async def test_an_overdue_drain_counts_the_responses_that_came_late(
    tmp_path,
):
    class Learns(FakeTrader):
        def left_over(self) -> m.DrainComplete:
            return m.DrainComplete(() if self.of(m.Response) else (ORDER_ID,), ())

    async with hostile(late(0.3, says(404, b""))) as site:
        cancel = once(m.StopRequested, sent(m.CancelResting(ORDER_ID), 3))
        trader = Learns(cancel, finishes=False)
        ended = await run(runner_of(trader, tmp_path, site.base_url, 100_000_000), 20_000_000)
    assert ended.overdue
    assert ended.finished.left == ()
    written = [entry.message for entry in read_journal(segments(tmp_path)[0])]
    assert [each for each in written if isinstance(each, m.DrainComplete)] == [
        m.DrainComplete((), ())
    ]
    assert type(written[-1]) is m.DrainComplete
