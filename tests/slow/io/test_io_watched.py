"""Claims about strategies under a stop watch: told, interrupted, replaced, and replayed alike."""

import asyncio
import signal
import threading
import time

import msgspec
import pytest

from bot.core import messages as m
from bot.core.fault_text import fault_text
from bot.core.quoting.strategy_health import StrategyHealth
from bot.io.journal.journal import read_journal, segments
from bot.io.run.watchdog import Retold, StrategyStalled, StrategyWatchdog, interruptions
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from tests.builders.bot.thin import EVENT, START_NS, Thin
from tests.builders.io.fakes import FakeTrader, runner_of
from tests.builders.strategies import views
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty

VIEW = views.view(views.rung(0, 50.0))
MS = NS_PER_MS
SECOND = NS_PER_SECOND


class Does(Strategy):
    """Does what it is told at its calls, in order; then answers that nothing is wanted."""

    name = "does"

    def __init__(self, *acts) -> None:
        super().__init__(None)
        self.acts = list(acts)

    def quote(self, view: EventView) -> Quotes:
        """See `Strategy`."""
        if self.acts:
            self.acts.pop(0)()
        return {}


def watch(hard_ms: int = 50, budget_ms: int = 5) -> StrategyWatchdog:
    """A watch that interrupts soon."""
    made = StrategyWatchdog(budget_ms * MS)
    made.hard_ns = hard_ms * MS
    return made


def busy(for_s: float) -> None:
    """Use processor time."""
    end = time.thread_time() + for_s
    while time.thread_time() < end:
        pass


def endless() -> None:
    """Pure Python that never comes back."""
    while True:
        pass


def stubborn() -> None:
    """The same, catching whatever an `except Exception` catches."""
    while True:
        try:
            endless()
        except Exception:  # noqa: BLE001 - what a careless strategy does
            continue


def alarm_is_off() -> bool:
    """Whether no timer runs."""
    return signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


# --- the watch ------------------------------------------------------------------------------------


def test_a_quick_call_is_not_told_and_its_answer_is_the_very_one():
    of = watch()
    answer = {VIEW.rungs[0].market_id: ()}
    inner = Does()
    inner.quote = lambda view: answer  # type: ignore[method-assign]
    assert of.wrapped(lambda: inner)().quote(VIEW) is answer
    assert of.take_overruns() == []
    assert alarm_is_off()


def test_a_slow_call_is_told_with_its_number_and_what_it_took():
    of = watch(hard_ms=5_000)
    strategy = of.wrapped(lambda: Does(lambda: None, lambda: busy(0.02)))()
    strategy.quote(VIEW)
    strategy.quote(VIEW)
    [told] = of.take_overruns()
    assert (told.event_ticker, told.strategy, told.call) == (VIEW.event_ticker, "does", 2)
    assert told.took_ns >= 20 * MS
    assert told.allowed_ns == 5 * MS
    assert not told.interrupted
    assert of.take_overruns() == []


def test_time_in_which_the_host_stood_still_is_not_the_strategys():
    of = watch(hard_ms=5_000)
    of.wrapped(lambda: Does(lambda: time.sleep(0.03)))().quote(VIEW)
    assert of.take_overruns() == []


@pytest.mark.parametrize("act", [endless, stubborn, lambda: time.sleep(30)])
def test_an_endless_call_is_interrupted_and_a_fresh_strategy_takes_its_place(act):
    of, made = watch(), []

    def make() -> Strategy:
        made.append(Does(*([act] if not made else [])))
        return made[-1]

    strategy = of.wrapped(make)()
    with pytest.raises(StrategyStalled):
        strategy.quote(VIEW)
    [told] = of.take_overruns()
    assert told.interrupted
    assert told.took_ns >= 50 * MS
    assert strategy.quote(VIEW) == {}
    assert len(made) == 2
    assert alarm_is_off()


def test_an_interruption_is_told_though_no_fresh_strategy_can_be_made_then():
    of, acts = watch(), [lambda: Does(endless), lambda: 1 / 0, Does]
    strategy = of.wrapped(lambda: acts.pop(0)())()
    with pytest.raises(StrategyStalled):
        strategy.quote(VIEW)
    assert [told.interrupted for told in of.take_overruns()] == [True]
    assert strategy.quote(VIEW) == {}
    assert not acts


@pytest.fixture
def heard_between_turns():
    """SIGINT is heard as a run hears it: no KeyboardInterrupt comes of it."""
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard_between_turns")
@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt])
def test_a_strategy_that_wants_to_end_the_program_only_fails(end):
    def leave() -> None:
        raise end

    with pytest.raises(RuntimeError, match="end the program"):
        watch().wrapped(lambda: Does(leave))().quote(VIEW)


class Odd(BaseException):
    """What no `except Exception` catches."""


class OddText(Exception):
    """One whose text cannot be had."""

    def __str__(self) -> str:
        raise Odd


@pytest.mark.parametrize("end", [Odd, GeneratorExit, asyncio.CancelledError])
@pytest.mark.parametrize("wrap", [watch().wrapped, lambda make: lambda: Retold(make, {})])
def test_a_strategy_that_raises_what_nobody_catches_only_fails(end, wrap):
    def leave() -> None:
        raise end("gone")

    with pytest.raises(RuntimeError, match=rf"test_io_watched\.py:\d+: {end.__name__}: gone"):
        wrap(lambda: Does(leave))().quote(VIEW)


def test_a_fault_whose_text_raises_what_nobody_catches_has_a_text():
    assert fault_text(OddText()) == "OddText: its text cannot be had, Odd"


def test_where_ctrl_c_is_not_heard_otherwise_it_comes_through_a_strategy():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            watch().wrapped(lambda: Does(lambda: signal.raise_signal(signal.SIGINT)))().quote(VIEW)
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_a_strategy_raises_comes_through():
    with pytest.raises(ZeroDivisionError):
        watch().wrapped(lambda: Does(lambda: 1 // 0))().quote(VIEW)
    assert alarm_is_off()


def test_outside_the_main_thread_a_call_is_measured_all_the_same():
    of = watch()
    strategy = of.wrapped(lambda: Does(lambda: busy(0.02)))()
    thread = threading.Thread(target=strategy.quote, args=(VIEW,))
    thread.start()
    thread.join()
    assert [each.call for each in of.take_overruns()] == [1]


# --- the record -----------------------------------------------------------------------------------


def overran(call: int, *, interrupted: bool = False) -> m.StrategyOverran:
    """A call that took a tenth of a second."""
    return m.StrategyOverran(EVENT, "does", call, 100 * MS, 50 * MS, interrupted)


def test_three_slow_calls_in_a_row_pull_its_event_and_two_do_not():
    of = StrategyHealth("does")
    assert [of.on_overrun(overran(call), START_NS) for call in (4, 5, 7, 8)] == [False] * 4
    assert of.on_overrun(overran(9), START_NS)
    assert of.pulled_until_ns == START_NS + 5 * SECOND
    assert of.fault == (
        "does: 3 times in a row too slow, took 100.0 ms, 50 ms are allowed; its quotes stay away "
        "for 5 s"
    )


def test_pauses_rise_to_a_minute_and_a_minute_of_good_conduct_is_a_fresh_start():
    of, now_ns, pauses = StrategyHealth("does"), START_NS, []
    for _ in range(6):
        of.on_raise(ValueError("no"), now_ns)
        pauses.append((of.pulled_until_ns - now_ns) // SECOND)
        now_ns = of.pulled_until_ns
    assert pauses == [5, 10, 20, 40, 60, 60]
    of.on_raise(ValueError("no"), now_ns + 60 * SECOND)
    assert of.pulled_until_ns == now_ns + 65 * SECOND


def test_a_fault_is_told_until_it_has_behaved():
    of = StrategyHealth("does")
    of.on_raise(ValueError("no"), START_NS)
    assert "ValueError: no" in of.fault
    assert of.on_sane_answer()
    assert of.fault == ""
    assert not of.on_sane_answer()


# --- the trader -----------------------------------------------------------------------------------


class Quotes50(Strategy):
    """One bid, while `act` does nothing else."""

    name = "fifty"

    def __init__(self, act=lambda: None) -> None:
        super().__init__(None)
        self.act = act

    def quote(self, view: EventView) -> Quotes:
        """See `Strategy`."""
        self.act()
        bid = Quote(BookSide.BID, Price(40), Qty(5))
        return {rung.market_id: (bid,) for rung in view.rungs}


def test_a_strategy_too_slow_three_times_is_pulled_explained_and_comes_back():
    of = Thin([50], Quotes50)
    of.start()
    assert len(of.orders) == 1
    calls = of.trader.quoting.ladders[0].health.calls
    for call in (calls + 1, calls + 2, calls + 3):
        of.give(overran(call))
    of.run(1)
    assert of.orders == {}
    report = of.trader.report(of.now_ns)
    assert report.counters.strategy_overruns == 3
    assert "too slow" in report.events[0].strategy_fault
    assert any(
        text.startswith("strategy_at_fault: ACME-VAL-27Q1: fifty") for text in report.findings
    )
    of.run(6)
    assert len(of.orders) == 1
    assert of.trader.out.findings == {}
    assert of.trader.report(of.now_ns).events[0].strategy_fault == ""


def test_a_run_with_an_interrupted_call_is_replayed_to_the_byte():
    of_watch = watch()
    faults = [lambda: None] * 3 + [endless] + [lambda: None] * 10_000
    of = Thin([50], of_watch.wrapped(lambda: Quotes50(lambda: faults.pop(0)())))
    log: list[tuple[m.Event, int, list[m.Effect]]] = []
    receive = of.trader.receive

    def kept(event: m.Event, now_ns: int) -> list[m.Effect]:
        effects = receive(event, now_ns)
        log.append((event, now_ns, list(effects)))
        for told in of_watch.take_overruns():
            log.append((told, now_ns, receive(told, now_ns)))
        return effects

    of.trader.receive = kept  # type: ignore[method-assign]
    of.start()
    of.run(8, lambda: of.show(0), SECOND)
    assert of.trader.out.counters.strategy_interrupted == 1
    assert of.trader.out.counters.strategy_errors == 1
    assert len(of.orders) == 1
    interrupted = interruptions(event for event, _, _ in log)
    assert interrupted == {EVENT: frozenset({4})}
    fresh = Thin([50], lambda: Retold(lambda: Quotes50(), interrupted)).trader
    for event, now_ns, effects in log:
        again = fresh.receive(event, now_ns)
        assert msgspec.msgpack.encode(again) == msgspec.msgpack.encode(effects)


# --- the loop -------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_what_the_watch_tells_is_journalled_and_reaches_the_trader(tmp_path):
    of = watch()
    trader = FakeTrader()
    runner = runner_of(trader, tmp_path)
    runner._watch = of
    of.overruns.append(overran(1))
    async with asyncio.timeout(10):
        await runner.run("ab" * 10, (), 50 * MS)
    assert trader.of(m.StrategyOverran) == [overran(1)]
    assert overran(1) in [entry.message for entry in read_journal(segments(tmp_path)[0])]


@pytest.fixture
def anyio_backend():
    return "asyncio"
