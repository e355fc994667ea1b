"""Claims about work in several processes: in order, and an early end that loses nothing."""

import os
import time
from collections.abc import Iterator

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
    """The process that does it."""
    return os.getpid()


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_what_was_asked(jobs: int) -> None:
    assert list(in_order(halved, [2, 4, 6, 8], jobs)) == [(2, 1), (4, 2), (6, 3), (8, 4)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_has_begun_comes_and_nothing_more_is_begun_once_no_more_is_wanted(jobs: int) -> None:
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


def test_a_fault_is_raised_once_what_else_was_begun_has_come() -> None:
    came = []
    with pytest.raises(ValueError, match="3 is odd"):
        for item, _ in in_order(halved, [3, 2, *range(4, 400, 2)], 2):
            came.append(item)
    assert came[0] == 2
    assert len(came) < 190


def test_one_job_is_done_in_this_process_and_more_are_not() -> None:
    assert {pid for _, pid in in_order(where, [1, 2], 1)} == {os.getpid()}
    assert os.getpid() not in {pid for _, pid in in_order(where, [1, 2], 2)}
