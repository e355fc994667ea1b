"""Claims: the engine is the naive exchange, and every command of its histories keeps the laws."""

import pytest

from tests.builders.core.histories import History
from tests.builders.core.twin import Twin
from tests.builders.laws.auditor import Auditor

COMMANDS_PER_SEED = 2_000
EVERYTHING_EVERY = 500


@pytest.mark.parametrize("seed", range(40))
def test_the_engine_answers_a_history_as_the_naive_exchange_and_keeps_every_law(seed):
    twin, auditor, history = Twin(), Auditor(), History(seed, COMMANDS_PER_SEED)
    for count, command in enumerate(history):
        answer, events = twin.apply(command)
        history.learn(events)
        auditor.observe(command, answer, events)
        if count % EVERYTHING_EVERY == 0:
            twin.compare_everything()
            auditor.audit()
    twin.compare_everything()
    auditor.audit()
