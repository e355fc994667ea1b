"""The planted best point: found sooner than by chance, the same on every kind of processes."""

import socket
import statistics
import time

import pytest

from bot.lab.sweep.cases import seeded
from bot.lab.sweep.lives import Job, code_of
from bot.lab.sweep.runners import Cluster, Here, Processes, RunnerFault
from bot.lab.sweep.search import Chance
from tests.sweep.planted import BEST, DIMENSIONS, SMALL, found_at, planted, run, told

pytestmark = pytest.mark.xdist_group("sweep")

MOST = 20


@pytest.fixture(scope="module")
def alone():
    sweep = planted(seeds="1-4")
    run(sweep, Here(), most=MOST)
    return sweep


def by_chance(seed):
    """How many trials a random search takes, which learns nothing and so need not live them."""
    return Chance(DIMENSIONS, seed).propose(400).index(BEST) + 1


def test_the_planted_best_is_found_in_fewer_trials_than_by_chance(alone):
    other = planted(seeds="1-4")
    run(other, Here(), most=60, seed=2)
    sought = [found_at(alone), found_at(other)]
    assert sought[0] <= MOST
    assert sought[1] <= 60
    drawn = [by_chance(seed) for seed in range(1, 41)]
    assert 3 * max(sought) < statistics.median(drawn)


def test_two_processes_come_to_the_same_as_one(alone):
    sweep = planted(seeds="1-4")
    assert run(sweep, Processes(2), most=MOST)
    assert told(sweep) == told(alone)
    assert found_at(sweep) <= MOST


def test_what_was_lived_before_a_process_died_is_given_before_that_is_told():
    setup, function = planted()._configured.base, "tests.sweep.planted:dying"
    code = code_of(setup, function)
    cases = seeded(SMALL, range(1, 30))
    jobs = [Job(setup, {}, case, function, code) for case in cases]
    came = []
    with Processes(2) as processes, pytest.raises(RunnerFault, match="a process died"):
        for job, _ in processes.outcomes(jobs, lambda: True):
            came.append(job.case.seed)
    assert came == [2]


def test_a_cluster_of_two_workers_comes_to_the_same_as_one_process(alone):
    from distributed import LocalCluster

    sweep = planted(seeds="1-4")
    quiet = {"dashboard": False}
    options = {"threads_per_worker": 1, "scheduler_kwargs": quiet, "host": "127.0.0.1"}
    with LocalCluster(n_workers=2, processes=True, **options) as cluster:
        assert run(sweep, Cluster(cluster.scheduler_address), most=MOST)
    assert told(sweep) == told(alone)
    assert found_at(sweep) <= MOST


def test_what_a_cluster_has_lived_by_the_time_that_no_more_is_wanted_is_given():
    from distributed import LocalCluster

    sweep = planted(seeds="1-4")
    setup, function = sweep._configured.base, sweep.aim.function
    jobs = [Job(setup, {}, case, function, code_of(setup, function)) for case in sweep.cases]
    given = []
    quiet = {"scheduler_kwargs": {"dashboard": False}, "host": "127.0.0.1"}
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=True, **quiet) as cluster,
        Cluster(cluster.scheduler_address) as runner,
    ):
        for job, _ in runner.outcomes(jobs, lambda: not given):
            while any(each.status != "finished" for each in runner._client.futures.values()):
                time.sleep(0.05)
            given.append(job)
    assert given == jobs


def test_an_address_that_is_none_of_a_scheduler_is_told():
    with pytest.raises(RunnerFault, match="no Dask scheduler"):
        Cluster("nonsense://x")


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1", "tcp://127.0.0.1:x"])
def test_an_address_without_a_port_is_told_at_once(address):
    with pytest.raises(RunnerFault, match="no address such as tcp://127"):
        Cluster(address)


def test_an_address_at_which_nobody_listens_is_told_within_seconds():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        begun_s = time.monotonic()
        with pytest.raises(RunnerFault, match="no Dask scheduler"):
            Cluster(f"tcp://127.0.0.1:{taken.getsockname()[1]}")
    assert time.monotonic() - begun_s < 15
