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


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Told:
    """A runner that is told to stop and hears no signal."""

    def __init__(self, ticker: Ticker) -> None:
        self.ticker = ticker

    def request_stop(self, _reason: str) -> None:
        """Nothing runs here."""


async def ended(left: tuple[str, ...]) -> tuple[RunResult, ...]:
    """What comes of two series of which one stays down and the other leaves these orders."""

    async def run(runner: Told, _children: object) -> RunResult:
        if runner.ticker == DOWN:
            raise LatchFault("stays down")
        return RunResult(report(), m.DrainComplete(left, ()), overdue=False, died=())

    return await MultiRunner({each: Told(each) for each in (DOWN, OTHER)}, ()).run(run)


async def test_a_series_that_stays_down_is_the_fault_of_the_process():
    with pytest.raises(LatchFault, match="stays down"):
        await ended(())


async def test_orders_that_a_series_left_are_told_though_another_one_stays_down():
    [other] = await ended(("77",))
    assert other.finished.left == ("77",)
    assert worst([other]) is Exit.LEFT_OVER
