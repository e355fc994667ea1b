"""Claims about the figures of one setting over its lives."""

from msgspec.structs import replace

from bot.lab.evaluate import tables
from bot.lab.evaluate.compare import compare
from bot.lab.evaluate.lineup import Entry
from bot.lab.evaluate.results import NOTHING, Results, tasks_of
from bot.lab.evaluate.worlds import World

IDLE = Entry("idle", "fixed_spread", {"half_spread_cents": 49})


def test_requests_that_brought_no_fill_are_none_a_fill() -> None:
    lives, seeds = Results(None), range(1, 3)
    for task in tasks_of((IDLE,), (World(),), seeds):
        lives.put(task, replace(NOTHING, requests=40))
    found = compare(lives, (IDLE,), (World(),), seeds, None, "code")
    assert found.lines[0].chosen.requests_per_fill is None
    assert "| 0 |  | 0.0 | 0.0% |" in tables.markdown(found)
