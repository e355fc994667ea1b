"""Claims about lives whose strategy does not come back: they end, and say where it was."""

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.config.plugins import StrategyFault
from bot.lab.evaluate import timeout as patience
from bot.lab.evaluate.entries import Contender
from bot.lab.evaluate.results import Task, run_of
from bot.lab.evaluate.run import run_strategy
from bot.lab.evaluate.scenarios import Scenario, draw
from bot.lab.evaluate.timeout import Stalled, ended_when_stalled
from bot.strategy.api import EventView, Quotes, Strategy

SMALL = Scenario(steps=24, rungs=3)


class Idle(Strategy):
    name = "idle"

    def quote(self, view: EventView) -> Quotes:
        return {}


class Endless(Idle):
    def quote(self, view: EventView) -> Quotes:
        while view.now_s > 4:
            pass
        return {}


class Stubborn(Idle):
    """Catches whatever ends it, three times."""

    def __init__(self, params: object) -> None:
        super().__init__(params)
        self.caught = 0

    def quote(self, view: EventView) -> Quotes:
        while self.caught < 3:
            try:
                while True:
                    pass
            except BaseException:  # noqa: BLE001 - that is what it is about
                self.caught += 1
        while True:
            pass


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(patience, "LOOK_S", 0.05)
    monkeypatch.setattr(patience, "LOOKS", 3)
    yield
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("kind", [Endless, Stubborn])
def test_a_hanging_strategy_ends_its_run_with_file_and_line(
    kind: type[Idle],
) -> None:
    with pytest.raises(Stalled, match=r"not back after 0\.15 s, at test_lab_patience\.py:\d+$"):
        run_strategy(SMALL, draw(SMALL, 1), lambda: kind(kind.Params()))


class Leaving(Idle):
    def quote(self, view: EventView) -> Quotes:
        raise SystemExit(3)


def test_a_strategy_that_calls_exit_ends_only_its_run() -> None:
    came: list[str] = []

    def lives() -> None:
        with pytest.raises(
            Stalled, match=r"end the program, at test_lab_patience\.py:\d+$"
        ) as told:
            run_strategy(SMALL, draw(SMALL, 1), lambda: Leaving(Leaving.Params()))
        came.append(str(told.value))

    thread = threading.Thread(target=lives)
    thread.start()
    thread.join()
    lives()
    assert len(came) == 2


def test_the_watchdog_does_not_end_a_run_whose_calls_all_return(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "LOOK_S", 0.001)
    monkeypatch.setattr(patience, "LOOKS", 1_000_000)
    looked = run_strategy(SMALL, draw(SMALL, 1), lambda: Idle(Idle.Params()))
    assert looked == run_strategy(SMALL, draw(SMALL, 1), lambda: Idle(Idle.Params()))


def test_the_watchdog_ends_only_calls_of_the_strategy() -> None:
    until_s = time.monotonic() + 0.4
    with ended_when_stalled():
        while time.monotonic() < until_s:
            pass


def test_the_watchdog_restores_the_signal_handler_and_its_timer() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: heard.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 30)
        with ended_when_stalled():
            pass
        assert signal.setitimer(signal.ITIMER_REAL, 0)[0] > 0
        signal.raise_signal(signal.SIGALRM)
        assert heard == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_run_outside_the_main_thread_uses_no_timer() -> None:
    came: list[object] = []
    thread = threading.Thread(
        target=lambda: came.append(run_strategy(SMALL, draw(SMALL, 1), lambda: Idle(Idle.Params())))
    )
    thread.start()
    thread.join()
    assert len(came) == 1


def test_evaluate_names_entry_and_seed_of_a_hanging_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from bot.strategy.api import Strategy\n\n\nclass STRATEGY(Strategy):\n"
        "    def quote(self, view):\n        while True:\n            pass\n",
        encoding="utf-8",
    )
    task = Task(Contender("mine", str(path)), {}, SMALL, 7)
    with pytest.raises(StrategyFault, match=r"^mine: .* seed 7: .*, at mine\.py:[67]$"):
        run_of(task)
