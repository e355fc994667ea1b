"""Claims about whole simulated lives: every invariant holds in every step of every seed."""

import pytest

from bot.lab.sim.coverage import by_row, table
from bot.lab.sim.run import Summary
from tests.builders.sim.blocks import BLOCKS, block, shared_folder

SEEDS_MIN = 50
EVENTS_MIN = 300_000
FAULTS_MIN = 12_000
MEETINGS_MIN = 4


@pytest.fixture
def shared(tmp_path_factory, request):
    worker = getattr(request.config, "workerinput", {}).get("workerid", "")
    return shared_folder(tmp_path_factory.getbasetemp(), worker)


@pytest.mark.parametrize("number", range(BLOCKS))
def test_every_invariant_holds_in_every_step_of_every_seed(number, shared):
    done = block(number, shared)
    assert done.broken == [], f"{done.first_broken}\nreplay: {done.replay}"


def test_the_seeds_cover_every_row_of_the_failure_catalogue(shared):
    whole = Summary()
    for number in range(BLOCKS):
        whole.add_summary(block(number, shared))
    print(whole.line())
    print(table(whole.counts))
    assert whole.seeds >= SEEDS_MIN
    assert whole.events >= EVENTS_MIN
    assert whole.faults >= FAULTS_MIN
    met = by_row(whole.counts)
    assert {row: times for row, times in met.items() if times < MEETINGS_MIN} == {}
