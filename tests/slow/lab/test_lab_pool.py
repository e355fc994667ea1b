"""Claims about work in several processes: in order, and an early end that loses nothing."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from bot.lab.pool import in_order


def halved(number: int) -> int:
    """Half of a number, the first of them last. Raises ValueError for an odd one."""
    if number == 2:
        time.sleep(0.3)
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def where(_number: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_items(jobs: int) -> None:
    assert list(in_order(halved, [2, 4, 6, 8], jobs)) == [(2, 1), (4, 2), (6, 3), (8, 4)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_after_a_stop_only_items_already_started_are_finished(jobs: int) -> None:
    asked: list[int] = []
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(2, 200, 2):
            taken.append(item)
            yield item

    came = []
    for item, _ in in_order(halved, items(), jobs, lambda: not asked):
        came.append(item)
        asked.append(1)
    assert came == taken
    assert len(came) < 99


def test_an_exception_is_raised_after_the_other_started_items() -> None:
    came = []
    with pytest.raises(ValueError, match="3 is odd"):
        for item, _ in in_order(halved, [3, 2, *range(4, 400, 2)], 2):
            came.append(item)
    assert came[0] == 2
    assert len(came) < 190


def dying(number: int) -> int:
    """The same number, but the first of them after all others, and of 3 the end of its process."""
    if number == 1:
        time.sleep(600)
    if number == 3:
        os._exit(1)
    return number


def test_finished_results_come_before_the_death_of_a_process_is_raised() -> None:
    came = []
    with pytest.raises(BrokenProcessPool):
        for item, _ in in_order(dying, [1, 2, 3, *range(4, 400)], 2):
            came.append(item)
    assert came == [2]


def test_one_job_runs_in_this_process_and_several_do_not() -> None:
    assert {pid for _, pid in in_order(where, [1, 2], 1)} == {os.getpid()}
    assert os.getpid() not in {pid for _, pid in in_order(where, [1, 2], 2)}


def is_gone(pid: int) -> bool:
    """Whether a process has ended within a while."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


_PARENT = """
import sys
from pathlib import Path
from bot.lab.pool import in_order
from tests.builders.pool import lasting
if __name__ == "__main__":
    list(in_order(lasting, [Path(sys.argv[1])], 2))
"""


@pytest.mark.parametrize("how", ["terminate", "kill"])
def test_worker_processes_end_silently_with_their_parent(tmp_path, how) -> None:
    (tmp_path / "parent.py").write_text(_PARENT)
    root = Path(__file__).resolve().parents[3]
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "parent.py", tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
    while not (tmp_path / "pid").exists():
        assert parent.poll() is None
        time.sleep(0.05)
    pid = int((tmp_path / "pid").read_text())
    getattr(parent, how)()
    parent.wait(10)
    try:
        assert is_gone(pid)
    finally:
        if Path(f"/proc/{pid}").exists():
            os.kill(pid, 9)
    said, _ = parent.communicate(timeout=10)
    assert said == b""
