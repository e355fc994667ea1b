"""The planted best point: found sooner than by chance, the same on every kind of processes."""

import socket
import time

import pytest

from bot.lab.sweep.trials import (
    ClusterFault,
    Job,
    RunnerFault,
    TrialConfig,
    cluster,
    code_of,
    processes,
    seeded,
)
from tests.builders.sweep.planted import CONFIG, SMALL, found_at, planted, run, told

pytestmark = pytest.mark.xdist_group("sweep")

MOST = 20


@pytest.fixture(scope="module")
def alone():
    sweep = planted(seeds="1-4")
    run(sweep, most=MOST)
    return sweep


def test_a_search_finds_the_planted_best_faster_than_chance(alone):
    other = planted(seeds="1-4")
    run(other, most=60, seed=2)
    assert found_at(alone) <= MOST
    assert found_at(other) <= 60  # chance takes 200 of the 400 points on average


def test_a_sweep_in_two_processes_equals_one_in_one_process(alone):
    sweep = planted(seeds="1-4")
    assert run(sweep, processes(2), most=MOST)
    assert told(sweep) == told(alone)
    assert found_at(sweep) <= MOST


def test_finished_trials_come_before_the_death_of_a_process_is_raised():
    setup, function = TrialConfig(CONFIG, SMALL).base, "tests.builders.sweep.planted:dying"
    code = code_of(setup, function)
    jobs = [Job(setup, {}, case, function, code) for case in seeded(SMALL, range(1, 30))]
    came = []
    with pytest.raises(RunnerFault, match="a process died"), processes(2) as carry_out:
        for job, _ in carry_out(jobs, wanted=lambda: True):
            came.append(job.case.seed)
    assert came == [2]


def test_a_sweep_on_a_cluster_equals_one_in_one_process(alone):
    from distributed import LocalCluster

    sweep = planted(seeds="1-4")
    quiet = {"dashboard": False}
    options = {"threads_per_worker": 1, "scheduler_kwargs": quiet, "host": "127.0.0.1"}
    with LocalCluster(n_workers=2, processes=True, **options) as local:
        assert run(sweep, cluster(local.scheduler_address), most=MOST)
    assert told(sweep) == told(alone)
    assert found_at(sweep) <= MOST


@pytest.mark.parametrize("address", ["nonsense", "nonsense://x", "tcp://127.0.0.1", "tcp://[::1:x"])
def test_an_invalid_scheduler_address_is_rejected(address):
    with pytest.raises(ClusterFault, match="no Dask scheduler"), cluster(address):
        pass


def test_an_unreachable_scheduler_is_rejected_within_seconds():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        begun_s = time.monotonic()
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ClusterFault, match="no Dask scheduler"), cluster(address):
            pass
    assert time.monotonic() - begun_s < 15
