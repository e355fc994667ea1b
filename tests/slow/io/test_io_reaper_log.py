"""Claims about what the log of a reaper says."""

import pytest
from structlog.testing import capture_logs

from bot.io.run import reaper as reaper_module
from bot.io.run.reaper import Phase
from tests.slow.io.test_io_reaper import Account, until, watching

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_the_log_tells_as_a_truth_value_whether_nothing_rests(tmp_path, monkeypatch):
    monkeypatch.setattr(reaper_module, "LOOK_S", 0.01)
    with capture_logs() as lines:
        async with watching(Account("1"), tmp_path, at_once=True) as reaper:
            await until(lambda: reaper.phase is Phase.REAPING and reaper.clean)
            reaper._log_state(0, 0)
    told = [line["nothing_rests"] for line in lines if line["event"] == "reaper"]
    assert {type(each) for each in told} <= {bool, type(None)}
    assert True in told
