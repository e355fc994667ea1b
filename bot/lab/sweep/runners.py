"""Where jobs are carried out: here, in processes of this machine, or on a cluster of Dask.

All three carry out the same pure function and give the outcomes in the order of the jobs, so what
comes of a sweep does not hang on which of them it was.
"""

import multiprocessing
import socket
import urllib.parse
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from bot.lab.pool import deaf
from bot.lab.sweep.lives import Job, OtherCode, Outcome, lived

if TYPE_CHECKING:
    from concurrent.futures import Future

_AHEAD: Final = 4
"""Jobs that are handed out for each process: none waits, and few are lost by an end."""

_CONNECT_S: Final = 20
_LISTENS_S: Final = 5
_BY_TCP: Final = frozenset({"tcp", "tls", "ws", "wss"})
"""Schemes of addresses where somebody listens if anybody is there."""


class RunnerFault(Exception):
    """Jobs can no longer be carried out; the text says why. What was kept is kept."""


class Runner(Protocol):
    """What carries out jobs; use it in a `with`."""

    def outcomes(
        self, jobs: Sequence[Job], wanted: Callable[[], bool]
    ) -> Iterator[tuple[Job, Outcome]]:
        """Each job with its outcome, in the order of the jobs, until no more is wanted.

        Raises RunnerFault.
        """

    def __enter__(self) -> Self:
        """Ready."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """What was not begun never is."""


class Here:
    """This process, one job after another."""

    def outcomes(
        self, jobs: Sequence[Job], wanted: Callable[[], bool]
    ) -> Iterator[tuple[Job, Outcome]]:
        """See Runner."""
        for job in jobs:
            if not wanted():
                return
            yield job, lived(job)

    def __enter__(self) -> Self:
        """Ready."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left."""


class Processes:
    """Fresh interpreters on this machine: nothing of this one comes along."""

    def __init__(self, count: int) -> None:
        """count: how many, at least 1."""
        self._ahead = _AHEAD * count
        self._pool = ProcessPoolExecutor(
            count, multiprocessing.get_context("spawn"), initializer=deaf
        )

    def outcomes(
        self, jobs: Sequence[Job], wanted: Callable[[], bool]
    ) -> Iterator[tuple[Job, Outcome]]:
        """See Runner."""
        waiting: deque[tuple[Job, Future[Outcome]]] = deque()
        left = deque(jobs)
        try:
            while left or waiting:
                while left and len(waiting) < self._ahead:
                    job = left.popleft()
                    waiting.append((job, self._pool.submit(lived, job)))
                if not wanted():
                    break
                job, future = waiting.popleft()
                yield job, future.result()
            for job, future in waiting:
                if not future.cancel():  # it has begun
                    yield job, future.result()
        except BrokenProcessPool:
            for job, future in waiting:
                if future.done() and not future.cancelled() and future.exception() is None:
                    yield job, future.result()
            raise RunnerFault("a process died; is there enough memory for so many?") from None
        finally:
            for _, future in waiting:
                future.cancel()

    def __enter__(self) -> Self:
        """Ready."""
        return self

    def __exit__(self, *_: object) -> None:
        """What was not begun never is; what was begun is waited for."""
        self._pool.shutdown(cancel_futures=True)


class Cluster:
    """The workers of a Dask scheduler. Each needs this program, and tapes at the same path."""

    def __init__(self, address: str) -> None:
        """address: such as tcp://127.0.0.1:8786. Raises RunnerFault when nobody answers there, and
        ImportError without the library."""
        from distributed import Client
        from distributed.scheduler import KilledWorker

        self._killed: type[Exception] = KilledWorker
        _reach(address)
        connect: Any = Client  # the library has no types for it
        try:
            self._client = connect(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as fault:
            raise RunnerFault(f"{address}: no Dask scheduler: {fault}") from None
        self._address = address

    def outcomes(
        self, jobs: Sequence[Job], wanted: Callable[[], bool]
    ) -> Iterator[tuple[Job, Outcome]]:
        """See Runner. A job whose worker died as often as the scheduler allows has a fault that is
        not kept."""
        futures = [(job, self._client.submit(lived, job, pure=False)) for job in jobs]
        try:
            for job, future in futures:
                if not wanted() and not future.done():
                    continue  # what has come by now is not thrown away
                try:
                    yield job, future.result()
                except self._killed:
                    yield job, Outcome({}, "its worker died", lasting=False)
        except (OSError, CancelledError) as fault:
            raise RunnerFault(f"{self._address}: the scheduler is gone: {fault}") from None
        finally:
            self._client.cancel([future for _, future in futures])

    def __enter__(self) -> Self:
        """Ready."""
        return self

    def __exit__(self, *_: object) -> None:
        """The cluster stays; we leave it."""
        self._client.close()


def _reach(address: str) -> None:
    """Raise RunnerFault, within seconds, for an address at which nobody listens: the library tries
    one again and again, without a word."""
    such = "such as tcp://127.0.0.1:8786"
    try:
        place = urllib.parse.urlsplit(address if "://" in address else f"tcp://{address}")
        host, port = place.hostname, place.port
    except ValueError as fault:
        raise RunnerFault(f"{address}: no address {such}: {fault}") from None
    if place.scheme not in _BY_TCP:
        return
    if not host or not port:
        raise RunnerFault(f"{address}: no address {such}")
    try:
        socket.create_connection((host, port), _LISTENS_S).close()
    except (OSError, ValueError) as fault:  # ValueError: a name that cannot be one
        raise RunnerFault(f"{address}: no Dask scheduler: {fault}") from None


__all__ = ["Cluster", "Here", "OtherCode", "Processes", "Runner", "RunnerFault"]
