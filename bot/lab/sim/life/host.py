"""A simulated host: its clock, and its state directory, the real journal format in memory.

What a life has appended but not yet synced may be on the disk or not, to any byte, when it crashes;
what a create or an amend has waited for is there.
"""

import random
from collections.abc import Iterable, Sequence

from bot.core import messages as m
from bot.io.journal.memory import RecoveredState, RunningState, recall
from bot.io.journal.records import OPENING, Entry, Head, Segment, framed

Logged = tuple[m.Event, int, Sequence[m.Effect]]
"""One event with its time, and the effects that it had."""


class Disk:
    """The segments of the lives so far; the newest one is written by the life that runs."""

    def __init__(self) -> None:
        self._segments: list[bytes] = []
        self._head = Head(0, ())
        self.torn = False

    def plant(self, intent: m.UnconfirmedCreate) -> None:
        head = Head(0, (*self._head.open_intents, intent))
        self._head = head
        self._segments = [OPENING + framed(head)]

    def begin(self, now_ns: int) -> RecoveredState:
        memory = recall(
            Segment(data, f"segment {number}")
            for number, data in reversed(list(enumerate(self._segments)))
        )
        self._head = memory.head(now_ns)
        return memory

    def open_intents(self, log: Iterable[Logged]) -> tuple[m.UnconfirmedCreate, ...]:
        trail = RunningState(self._head)
        for entry in _entries(log):
            trail.follow(entry)
        return trail.head(0).open_intents

    def end(self, log: Sequence[Logged], durable: int, rng: random.Random | None) -> None:
        """The life is over: its segment stays, whole, or, after a crash, cut somewhere.

        durable: entries of the log that are surely there. rng: None after an orderly end.
        """
        opening = OPENING + framed(self._head)
        frames = [framed(entry) for entry in _entries(log)]
        data = opening + b"".join(frames)
        self.torn = False
        if rng is not None:
            sure = len(opening) + sum(len(frame) for frame in frames[:durable])
            cut = rng.choice((len(data), sure, rng.randint(sure, len(data))))
            self.torn = cut not in (len(data), sure)
            data = data[:cut]
        # The newest head tells what came before it; one older segment is kept beside it.
        self._segments = [*self._segments[-1:], data]

    def lose(self) -> None:
        self._segments = []


def entries_of(effects: Sequence[m.Effect]) -> int:
    return 1 + len(effects)


def _entries(log: Iterable[Logged]) -> Iterable[Entry]:
    for event, at_ns, effects in log:
        yield Entry(at_ns, event)
        for effect in effects:
            yield Entry(at_ns, effect)


class HostClock:
    """The host's clock against the world's: off by `skew_ns`, and drifting."""

    def __init__(self, began_ns: int, skew_ns: int, drift_ppm: int) -> None:
        self._began_ns, self.skew_ns, self._drift_ppm = began_ns, skew_ns, drift_ppm

    def read(self, world_ns: int) -> int:
        drift_ns = (world_ns - self._began_ns) * self._drift_ppm // 1_000_000
        return world_ns + self.skew_ns + drift_ns

    def when(self, host_ns: int) -> int:
        since_ns = host_ns - self.skew_ns - self._began_ns
        return self._began_ns + since_ns * 1_000_000 // (1_000_000 + self._drift_ppm) + 1
