"""Claims about the loop: order, Beats, the journal before the act, and every way to end."""

import asyncio
import os
import signal
import time

import pytest

from bot.core import messages as m
from bot.io.journal.journal import read_journal, segments
from bot.io.run import runner as runner_module
from bot.io.run.result import Exit, summary_of
from bot.io.run.runner import Child
from tests.builders.io.fakes import FakeTrader, run, runner_of
from tests.builders.io.hostile import hostile, says, silence
from tests.builders.io.samples import ORDER_ID, ORDER_JSON, create, sent
from venue.wire.names import ClientOrderId

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


def once(kind: type, *effects: m.Effect):
    """Wish for these effects at the first event of a kind."""
    left = list(effects)

    def behave(event: m.Event) -> list[m.Effect]:
        if not isinstance(event, kind):
            return []
        now, left[:] = list(left), []
        return now

    return behave


async def test_a_run_begins_with_started_and_ends_well_when_its_time_is_over(tmp_path):
    trader = FakeTrader()
    ended = await run(runner_of(trader, tmp_path))
    assert trader.events[0] == m.Started("ab" * 10, (), journal=m.JournalFate.LOST)
    assert trader.of(m.StopRequested) == [m.StopRequested("the time asked for is over")]
    assert ended.exit_code is Exit.OK


@pytest.mark.parametrize("new_account", [False, True])
async def test_a_run_begins_with_what_the_last_one_left_open_at_the_same_venue(
    tmp_path, new_account
):
    async with hostile(silence) as site:
        first = FakeTrader(once(m.Started, sent(create(), 3)), patient=False)
        first.left = m.DrainComplete((), (ClientOrderId("a-1"),))
        await run(runner_of(first, tmp_path, site.base_url), 20_000_000)
    second = FakeTrader()
    async with asyncio.timeout(10):
        await runner_of(second, tmp_path).run("cd" * 10, (), 20_000_000, new_account=new_account)
    left = () if new_account else (m.UnconfirmedCreate(create().order, create().body),)
    assert second.events[0] == m.Started("cd" * 10, left, new_account)


async def test_every_batch_is_followed_by_one_beat_and_time_never_steps_back(tmp_path):
    trader = FakeTrader()
    await run(runner_of(trader, tmp_path))
    assert isinstance(trader.events[1], m.Tick)
    assert trader.times == sorted(trader.times)


async def test_a_beat_comes_when_the_wake_up_falls_due(tmp_path):
    woken: list[int] = []
    runner = runner_of(trader := FakeTrader(), tmp_path)

    def behave(event: m.Event) -> list[m.Effect]:
        if isinstance(event, m.Tick):
            woken.append(trader.times[-1])
            return [m.WakeAt(trader.times[-1] + 5_000_000)]
        return []

    trader._behave = behave
    await run(runner, 300_000_000)
    # Without the wish there would be one each tenth of a second.
    assert 6 <= len(woken) <= 80


async def test_the_newest_wake_up_replaces_an_older_one(tmp_path):
    beats = 0

    def behave(event: m.Event) -> list[m.Effect]:
        nonlocal beats
        if not isinstance(event, m.Tick):
            return []
        beats += 1
        return [m.WakeAt(0), m.WakeAt(2**62)]

    await run(runner_of(FakeTrader(behave), tmp_path), 60_000_000)
    assert beats <= 4


async def test_the_answer_to_a_request_comes_back_as_an_event(tmp_path):
    async with hostile(says(201, ORDER_JSON)) as site:
        trader = FakeTrader(once(m.Started, sent(create(), 3)))
        await run(runner_of(trader, tmp_path, site.base_url))
    [replied] = trader.of(m.Response)
    assert replied.request_id == 3
    assert isinstance(replied.answer, m.Ok)


async def test_a_create_is_on_disk_before_its_bytes_leave(tmp_path):
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


async def test_when_the_journal_fails_the_trader_hears_it_and_no_create_leaves(
    tmp_path, monkeypatch
):
    real = os.write

    def full(handle: int, data: bytes) -> int:
        if bytes(data[:4]) == b"LMKJ":
            return real(handle, data)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    sends = (sent(create(), 1), sent(m.CancelResting(ORDER_ID), 2))
    async with hostile(says(404, b"")) as site:
        trader = FakeTrader(once(m.Started, *sends))
        await run(runner_of(trader, tmp_path, site.base_url))
    assert len(trader.of(m.JournalFailed)) == 1
    assert [raw.split(b" ")[0] for raw in site.requests] == [b"DELETE"]
    answers = {reply.request_id: reply.answer for reply in trader.of(m.Response)}
    assert answers[1].status == 0


async def test_a_create_whose_record_is_late_on_the_disk_does_not_leave_after_it(
    tmp_path, monkeypatch
):
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


@pytest.mark.parametrize("fails", [True, False])
async def test_a_child_that_ends_by_itself_stops_the_bot_with_a_fault(tmp_path, fails):
    async def ends() -> None:
        await asyncio.sleep(0.02)
        if fails:
            raise ZeroDivisionError

    trader = FakeTrader()
    ended = await run(runner_of(trader, tmp_path), None, (Child("page", ends),))
    assert trader.of(m.StopRequested) == [m.StopRequested("page ended")]
    assert ended.exit_code is Exit.BUG


async def test_the_end_of_the_embedded_venue_is_the_venues_fault(tmp_path):
    async def ends() -> None:
        await asyncio.sleep(0.01)

    ended = await run(runner_of(FakeTrader(), tmp_path), None, (Child("venue", ends),))
    assert ended.exit_code is Exit.VENUE


async def test_a_trader_that_raises_is_stopped_and_still_drained(tmp_path):
    def behave(event: m.Event) -> list[m.Effect]:
        if isinstance(event, m.Started):
            raise ZeroDivisionError
        return []

    ended = await run(runner_of(FakeTrader(behave), tmp_path), None)
    assert ended.died == ("trader",)
    assert ended.exit_code is Exit.BUG


async def test_what_a_trader_had_decided_before_it_raised_leaves_all_the_same(tmp_path):
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


async def test_a_fault_of_the_shell_loses_no_answer_and_stops_in_good_order(tmp_path, monkeypatch):
    trader = FakeTrader(once(m.Started, sent(m.CancelResting(ORDER_ID), 4)))
    runner = runner_of(trader, tmp_path)

    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(runner._rest, "start", broken)
    ended = await run(runner, None)
    assert [type(reply.answer) for reply in trader.of(m.Response)] == [m.Unknown]
    assert ended.died == ("shell",)
    assert ended.exit_code is Exit.BUG


@pytest.mark.parametrize(
    "left", [m.DrainComplete((ORDER_ID,), ()), m.DrainComplete((), (ClientOrderId("a"),))]
)
async def test_orders_left_behind_end_with_their_own_exit_code(tmp_path, left):
    trader = FakeTrader()
    trader.left = left
    assert (await run(runner_of(trader, tmp_path))).exit_code is Exit.LEFT_OVER


async def test_a_drain_that_takes_too_long_gives_up_and_says_so(tmp_path):
    trader = FakeTrader(finishes=False)
    trader.left = m.DrainComplete((ORDER_ID,), ())
    ended = await run(runner_of(trader, tmp_path, drain_ns=100_000_000))
    assert ended.overdue
    assert ended.finished.left == (ORDER_ID,)
    assert ended.exit_code is Exit.LEFT_OVER


@pytest.mark.parametrize("unshown", [False, True])
async def test_a_drain_without_its_last_reads_is_left_over_unless_a_list_shows_that_nothing_rests(
    tmp_path, unshown
):
    trader = FakeTrader(finishes=False)
    trader.left = m.DrainComplete((), (), unshown=unshown)
    ended = await run(runner_of(trader, tmp_path, drain_ns=100_000_000))
    assert ended.overdue
    assert ended.exit_code is (Exit.LEFT_OVER if unshown else Exit.OK)


async def test_a_run_waits_for_the_answers_still_under_way_and_journals_them(tmp_path):
    async def slow(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.3)
        await says(201, ORDER_JSON)(writer)

    async with hostile(slow) as site:
        trader = FakeTrader(once(m.Started, sent(create(), 3)), patient=False)
        await run(runner_of(trader, tmp_path, site.base_url), 20_000_000)
    written = [entry.message for entry in read_journal(segments(tmp_path)[0])]
    assert [each.request_id for each in written if isinstance(each, m.Response)] == [3]


async def test_the_first_signal_stops_and_the_second_changes_nothing(tmp_path):
    trader = FakeTrader(finishes=False)
    running = asyncio.ensure_future(run(runner_of(trader, tmp_path, drain_ns=200_000_000), None))
    await trader.until(m.Started)
    os.kill(os.getpid(), signal.SIGTERM)
    await trader.until(m.StopRequested)
    os.kill(os.getpid(), signal.SIGINT)
    await running
    assert trader.of(m.StopRequested) == [m.StopRequested("SIGTERM")]


async def test_a_signal_after_the_drain_changes_nothing_while_companions_finish(tmp_path):
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


async def test_of_a_trader_that_cannot_say_what_is_left_nothing_is_written_down(
    tmp_path, monkeypatch
):
    trader = FakeTrader(finishes=False)
    monkeypatch.setattr(trader, "left_over", lambda: 1 / 0)
    ended = await run(runner_of(trader, tmp_path, drain_ns=100_000_000))
    assert ended.exit_code is not Exit.OK
    written = [entry.message for entry in read_journal(segments(tmp_path)[0])]
    assert not [each for each in written if isinstance(each, m.DrainComplete)]


async def test_signals_pause_and_resume(tmp_path):
    trader = FakeTrader()
    running = asyncio.ensure_future(run(runner_of(trader, tmp_path), None))
    await trader.until(m.Started)
    os.kill(os.getpid(), signal.SIGUSR1)
    await trader.until(m.PauseRequested)
    os.kill(os.getpid(), signal.SIGUSR2)
    await trader.until(m.ResumeRequested)
    os.kill(os.getpid(), signal.SIGTERM)
    await running
    assert trader.of(m.PauseRequested) == [m.PauseRequested("SIGUSR1")]
    assert trader.of(m.ResumeRequested) == [m.ResumeRequested()]


@pytest.mark.parametrize(
    ("noted", "why"),
    [
        (m.Noted("info", "paused", {"reason": "it behaves oddly"}), "it behaves oddly"),
        (m.Noted("info", "flat", {}), "everything is flat"),
    ],
)
async def test_the_picture_says_why_it_was_last_paused(tmp_path, noted, why):
    runner = runner_of(
        FakeTrader(lambda event: [noted] if isinstance(event, m.Started) else []), tmp_path
    )
    await run(runner)
    assert runner.look().paused == why


async def test_the_summary_tells_what_a_run_came_to(tmp_path):
    ended = await run(runner_of(FakeTrader(), tmp_path))
    told = summary_of(ended, ended.report.now_ns - 2_500_000_000)
    assert told["seconds"] == 2.5
    assert told["first_two_sided_s"] is None
    assert told["requests"] == {"create": 2, "amend": 1, "cancel": 0, "read": 4}
    assert told["pnl_cents"] == -7
    assert told["rungs"] == 1
    assert told["exit_code"] == 0


@pytest.mark.parametrize("unshown", [False, True])
async def test_the_summary_says_where_no_list_has_shown_that_nothing_rests(tmp_path, unshown):
    trader = FakeTrader(finishes=False)
    trader.left = m.DrainComplete((), (), unshown=unshown)
    ended = await run(runner_of(trader, tmp_path, drain_ns=100_000_000))
    told = summary_of(ended, ended.report.now_ns)
    assert told["left"] == told["unknown"] == []
    assert told["exit_code"] == (4 if unshown else 0)
    assert told["unshown"] == ("no list shows that nothing rests" if unshown else None)


async def test_what_an_overdue_drain_leaves_is_told_with_the_answers_that_came_late(
    tmp_path,
):
    async def slow(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.3)
        await says(404, b"")(writer)

    class Learns(FakeTrader):
        def left_over(self) -> m.DrainComplete:
            return m.DrainComplete(() if self.of(m.Response) else (ORDER_ID,), ())

    async with hostile(slow) as site:
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
