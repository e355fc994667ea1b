"""Claim: the same commands give the same state and the same events in any process."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import hashlib
from tests.builders.core.histories import History
from venue.engine.engine import Engine

engine, history, digest = Engine(b"key"), History(77, 1_500), hashlib.sha256()
for now_ns, command in enumerate(history):
    answer, events = engine.apply(command, now_ns)
    history.learn(events)
    digest.update(repr((command, answer, events)).encode())
print(engine.state_hash(), digest.hexdigest())
"""
ROOT = Path(__file__).parents[3]


def test_a_history_replays_to_the_same_state_and_events_under_every_hash_seed():
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for hash_seed in ("0", "1", "2")
    ]
    outputs = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert len(set(outputs)) == 1
    assert len(outputs[0].split()) == 2
