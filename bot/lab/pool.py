"""Work in several processes, with the results in the order of the items."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_AHEAD: Final = 4  # results for each process that may wait for one before them


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # Linux alone has it
        return os.cpu_count() or 1


@contextmanager
def processes(jobs: int) -> Iterator[Executor | None]:
    """Fresh interpreters that share no state with this one; None for a single job, which runs in
    this process."""
    if jobs <= 1:
        yield None
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=deaf) as executor:
        yield executor


def in_order(
    work: Callable[[T], R],
    items: Iterable[T],
    jobs: int,
    wanted: Callable[[], bool] = lambda: True,
    executor: Executor | None = None,
) -> Iterator[tuple[T, R]]:
    """Each item with what `work` makes of it, at most `jobs` at once, until no more is wanted.

    executor: None for `processes` of this call alone. No item is None. An item is taken when a
    process is free for it, and what was begun ends. Raises what `work` raises, after all other
    results that were begun, and BrokenProcessPool.
    """
    left = iter(items)
    with processes(jobs) if executor is None else nullcontext(executor) as pool:
        if pool is None:
            while wanted() and (one := next(left, None)) is not None:
                yield one, work(one)
            return
        waiting: deque[tuple[T, Future[R]]] = deque()
        fault: BaseException | None = None
        is_more = True
        while True:
            begun = [future for _, future in waiting if not future.done()]
            is_more = is_more and fault is None and wanted()
            if is_more and len(begun) < jobs and len(waiting) < _AHEAD * jobs:
                if (one := next(left, None)) is None:
                    is_more = False
                    continue
                try:
                    waiting.append((one, pool.submit(work, one)))
                except BrokenProcessPool as died:
                    fault = died
            elif not waiting:
                break
            elif not waiting[0][1].done():
                wait(begun, return_when=FIRST_COMPLETED)
            else:
                item, future = waiting.popleft()
                raised = future.exception()
                if raised is None:
                    yield item, future.result()
                fault = fault or raised
    if fault is not None:
        raise fault


def deaf() -> None:
    """Set up a pool's process: it ignores Ctrl-C, ends with its parent, and prints to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
