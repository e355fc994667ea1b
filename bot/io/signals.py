"""The signals of a running bot: SIGINT and SIGTERM stop it, SIGUSR1 pauses, SIGUSR2 resumes.

One process has one handler of each; with several series every one of them is told.
"""

import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final, Protocol

from bot.core import messages as m
from bot.io.deferred_signals import heard, stopping

_TELLS: Final[dict[signal.Signals, m.Event]] = {
    signal.SIGUSR1: m.PauseRequested("SIGUSR1"),
    signal.SIGUSR2: m.ResumeRequested(),
}


class Told(Protocol):
    """Whoever hears of a signal."""

    def tell(self, event: m.Event) -> None:
        """Take an event."""
        ...

    def asked_to_stop(self, name: str) -> None:
        """A signal of this name asks for the end."""
        ...


@contextmanager
def signals_to(told: Sequence[Told]) -> Iterator[None]:
    """Let every one of them hear of the signals until the block ends."""

    def stop(number: signal.Signals) -> None:
        for each in told:
            each.asked_to_stop(number.name)

    def tell(event: m.Event) -> None:
        for each in told:
            each.tell(event)

    with stopping(stop), ExitStack() as until:
        for number, event in _TELLS.items():
            until.enter_context(heard(number, partial(tell, event)))
        yield
