"""Claims about several runners in one process: what they end with when one does not begin."""

import pytest

from bot.core import messages as m
from bot.io.run.result import Exit, RunResult
from bot.io.run.session import MultiRunner, worst
from bot.io.state.kill_switch_file import LatchFault
from tests.builders.io.samples import report
from venue.wire.names import Ticker

pytestmark = pytest.mark.anyio

DOWN, OTHER = Ticker("DOWN"), Ticker("OTHER")


class StoppableRunner:
    """A runner that hears no signal."""

    def __init__(self, ticker: Ticker) -> None:
        self.ticker = ticker

    def request_stop(self, _reason: str) -> None:
        """Nothing runs here."""


async def run_two_series(left: tuple[str, ...]) -> tuple[RunResult, ...]:
    """The results of two series: one stays down, the other leaves these orders."""

    async def run(runner: StoppableRunner, _children: object) -> RunResult:
        if runner.ticker == DOWN:
            raise LatchFault("stays down")
        return RunResult(report(), m.DrainComplete(left, ()), overdue=False, died=())

    return await MultiRunner({each: StoppableRunner(each) for each in (DOWN, OTHER)}, ()).run(run)


async def test_a_process_fails_when_one_of_its_series_stays_down():
    with pytest.raises(LatchFault, match="stays down"):
        await run_two_series(())


async def test_orders_left_by_one_series_are_reported_although_another_stays_down():
    [other] = await run_two_series(("77",))
    assert other.finished.left == ("77",)
    assert worst([other]) is Exit.LEFT_OVER
