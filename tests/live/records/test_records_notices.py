"""Claims about notices: sent once, in time, to every kind of receiver, without delaying the run."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from bot.core import messages as m
from bot.io.notices import QUEUE_MAX, Courier, Form, Notices, Target, Times, What
from bot.io.secret import Secret
from tests.builders.io.samples import report
from tests.builders.records.receiver import Receiver, running
from tests.builders.records.servers import free_port
from tests.builders.until import until
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import ClientOrderId, OrderId

pytestmark = pytest.mark.anyio
QUICK = Times(
    attempt_s=0.3, backoff_min_s=0.02, backoff_max_s=0.1, patience_max_s=0.5, give_up_s=0.5
)
EVERYTHING = frozenset(What)


def notices(
    url: str,
    form: Form = Form.JSON,
    what: frozenset[What] = EVERYTHING,
    per_minute: int = 60,
    repeat_s: int = 900,
    times: Times = QUICK,
) -> Notices:
    target = Target(Secret(url), form, what, per_minute, repeat_s)
    made = Notices("acme", [target], [Courier(target.address, per_minute, times)])
    made.on_run_start(report, time.time_ns)
    return made


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver().listening() as found:
        yield found


@asynccontextmanager
async def going(made: Notices) -> AsyncIterator[None]:
    async with running(made):
        yield
    await made.on_run_end()


async def tell(made: Notices, receiver: Receiver, *effects: m.Effect, at_ns: int = 0) -> None:
    """Tell the notices of effects, and return once the receiver has the first."""
    async with going(made):
        for effect in effects:
            made.did(effect, at_ns)
        await receiver.until(lambda: bool(receiver.got))


def note(name: str, text: str = "why", level: str = "error") -> m.Noted:
    return m.Noted(level, name, {"text": text})


@pytest.mark.parametrize(
    ("effect", "event", "text", "resolved"),
    [
        (m.Latched("loss 5 > 4"), "breaker", "loss 5 > 4", False),
        (note("latched", "the reaper"), "latch", "the reaper", False),
        (note("latched_cleared"), "latch", "latched: over", True),
        (m.Noted("info", "stopping", {"reason": "SIGTERM"}), "stop", "SIGTERM", False),
        (m.DrainComplete((), ()), "stop", "stopped, nothing rests", True),
        (
            m.DrainComplete((), (), unshown=True),
            "stop",
            "stopped, and no list shows that nothing rests",
            False,
        ),
        (
            m.DrainComplete((OrderId("17"),), (ClientOrderId("a-1"),)),
            "stop",
            "stopped with orders left: 17, a-1",
            False,
        ),
        (note("foreign_orders"), "foreign_orders", "why", False),
        (note("unknown_old", "no answer: a-1"), "unknown_order", "no answer: a-1", False),
        (note("unknown_old_cleared"), "unknown_order", "unknown_old: over", True),
        (note("key_refused", "401"), "key_refused", "401", False),
        (note("read_key_refused", "403"), "key_refused", "403", False),
    ],
)
async def test_each_event_is_sent_as_a_notice(effect, event, text, resolved, receiver):
    made = notices(receiver.url)
    await tell(made, receiver, effect, at_ns=10 * NS_PER_SECOND)
    assert receiver.got == [
        {
            "event": event,
            "bot": "acme",
            "series": "X",
            "at": "1970-01-01T00:00:10.000000000Z",
            "text": text,
            "resolved": resolved,
            "repeats": 0,
        }
    ]
    assert made.counts.fates["sent"] == 1


@pytest.mark.parametrize(("count", "more"), [(50, ""), (52, " and 2 more")])
async def test_orders_left_by_a_run_are_named_up_to_50_and_then_counted(count, more, receiver):
    left = tuple(OrderId(f"{10**19 + number}") for number in range(count))
    made = notices(receiver.url)
    await tell(made, receiver, m.DrainComplete(left, ()))
    named = ", ".join(left[:50])
    assert [got["text"] for got in receiver.got] == [f"stopped with orders left: {named}{more}"]


async def test_events_that_no_receiver_asked_for_are_not_sent(receiver):
    made = notices(receiver.url, what=frozenset({What.STOP}))
    async with going(made):
        for effect in (m.Latched("x"), note("news"), note("shadow_quotes"), m.WakeAt(1)):
            made.did(effect, 0)
        made.notify(What.STOP, "now", 0)
        await receiver.until(lambda: bool(receiver.got))
    assert [got["text"] for got in receiver.got] == ["now"]


async def test_slack_gets_one_text_with_its_markup_escaped(receiver):
    made = notices(receiver.url, Form.SLACK)
    await tell(made, receiver, m.Latched("<!channel> a & b\x1b[31m"))
    (got,) = receiver.got
    assert list(got) == ["text"]
    assert got["text"].startswith("*acme* X breaker: &lt;!channel&gt; a &amp; b")
    assert "\x1b" not in got["text"]


async def test_a_repeated_notice_is_counted_and_sent_after_a_while(receiver):
    made = notices(receiver.url, repeat_s=60)
    async with going(made):
        for second, names in ((0, "a1"), (10, "b2"), (59, "c3"), (61, "d4")):
            made.did(note("unknown_old", f"for {second} s: 0123abcd-{names}99"),
                     second * NS_PER_SECOND)  # fmt: skip
        made.did(note("foreign_orders"), 61 * NS_PER_SECOND)
        await receiver.until(lambda: len(receiver.got) == 3)
    sent_notices = [(got["event"], got["repeats"]) for got in receiver.got]
    assert sent_notices == [("unknown_order", 0), ("unknown_order", 2), ("foreign_orders", 0)]
    assert made.counts.fates == {"sent": 3, "repeated": 2, "dropped": 0, "lost": 0}


async def test_the_rate_limit_of_a_receiver_delays_notices_and_loses_none(receiver):
    made = notices(receiver.url, per_minute=2)
    async with going(made):
        for name in ("foreign_orders", "key_refused", "unknown_old", "latched"):
            made.did(note(name), 0)
        await receiver.until(lambda: len(receiver.got) == 2)
        await asyncio.sleep(0.1)
        assert len(receiver.got) == 2
    # At the end of the run the rest is told at once.
    assert len(receiver.got) == 4


@pytest.mark.parametrize(
    "refusal",
    [(503, {}), (500, {}), (429, {"Retry-After": "0"}), (429, {"Retry-After": "²"}), None],
)
async def test_a_notice_is_retried_until_the_receiver_takes_it(refusal, receiver):
    receiver.script = [refusal, refusal]
    made = notices(receiver.url, times=Times(attempt_s=0.2, backoff_min_s=0.02))
    await tell(made, receiver, m.Latched("x"))
    assert len(receiver.times) == 3
    assert made.counts.fates["sent"] == 1


async def test_a_receiver_that_asks_to_wait_is_waited_for(receiver):
    receiver.script = [(429, {"Retry-After": "1"})]
    made = notices(receiver.url, times=Times(backoff_min_s=0.01, patience_max_s=0.4))
    await tell(made, receiver, m.Latched("x"))
    waited_s = receiver.times[1] - receiver.times[0]
    assert waited_s >= 0.4, "a second was asked for, and the most patience there is was given"


@pytest.mark.parametrize("status", [301, 400, 404, 410])
async def test_a_rejected_notice_is_not_retried(status, receiver):
    receiver.script = [(status, {"Location": "http://127.0.0.1:9/"})]
    made = notices(receiver.url)
    async with going(made):
        made.did(m.Latched("x"), 0)
        made.did(note("foreign_orders"), 0)
        await receiver.until(lambda: bool(receiver.got))
    assert [got["event"] for got in receiver.got] == ["foreign_orders"]
    assert made.counts.fates["lost"] == 1


async def test_an_undelivered_notice_is_given_up_and_logged_without_the_address():
    made = notices(f"http://127.0.0.1:{free_port()}/hook/s3cret")
    with capture_logs() as logs:
        async with going(made):
            made.did(m.Latched("x"), 0)
            made.did(note("foreign_orders"), 0)
            await until(lambda: made.counts.fates["lost"] == 2)
    sent_notices = [entry for entry in logs if entry["event"] == "notice_not_taken"]
    assert [entry["why"] for entry in sent_notices] == ["ConnectError"]
    assert "s3cret" not in str(logs)
    assert "s3cret" not in repr(made._targets)


async def test_waiting_notices_cost_no_time_and_are_bounded(receiver):
    receiver.script = [None] * 10
    made = notices(receiver.url, repeat_s=0, times=Times())
    task = asyncio.create_task(made.run())
    made.did(m.Latched("x"), 0)
    await asyncio.sleep(0.05)
    begun = time.process_time()
    for number in range(5_000):
        made.did(note("foreign_orders", f"order {number}"), number)
    spent_s = time.process_time() - begun
    waiting = sum(len(courier) for courier in made._couriers)
    task.cancel()
    await asyncio.wait([task])
    assert waiting == QUEUE_MAX
    assert made.counts.fates["dropped"] == 5_001 - QUEUE_MAX
    assert len(made._last) <= 256
    assert spent_s < 5, "a millisecond each at the very most"


async def test_the_end_of_a_run_waits_for_a_receiver_for_a_bounded_time(monkeypatch, receiver):
    monkeypatch.setattr("bot.io.notices.FINISH_S", 0.2)
    receiver.script = [None]
    made = notices(receiver.url, times=Times())
    made.did(m.Latched("x"), 0)
    begun = time.monotonic()
    await made.on_run_end()
    assert time.monotonic() - begun < 5


async def test_waiting_notices_are_sent_at_the_end_of_the_run(receiver):
    made = notices(receiver.url)
    made.did(m.DrainComplete((), ()), 0)
    await made.on_run_end()
    assert [got["text"] for got in receiver.got] == ["stopped, nothing rests"]


async def test_a_bug_with_one_notice_does_not_stop_the_next(monkeypatch, receiver):
    courier = Courier(Secret(receiver.url), 60, QUICK)
    fates: list[str] = []
    courier.count = fates.append
    plain_try = courier._try

    async def broken(notice: bytes) -> tuple[str, float | None]:
        if notice == b"1":
            raise RuntimeError("a bug")
        return await plain_try(notice)

    monkeypatch.setattr(courier, "_try", broken)
    courier.offer(b"1")
    courier.offer(b"2")
    await courier.deliver_all()
    await courier.close()
    assert fates == ["lost", "sent"]
