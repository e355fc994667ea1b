"""Lives a journalled run again: the same events through a fresh trader, its effects compared.

The journal holds every event of a run, so the trader that they make is the one that lived then, to
the byte. Candidates may run beside it that did not run then: they change nothing of it. Of a run
that goes on all is retold that has reached the disk. Where an effect is another one than then, the
answers that follow are answers to something else: there the retelling ends, with a fault.

Source: design, laws 2 and 7; docs/accounting.md.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.candidate import Candidate
from bot.core.settings import TraderSettings
from bot.core.strategy import Strategy
from bot.core.trader import Trader
from bot.io.journal import read_journal, segments
from bot.io.records import Entry, JournalFault
from bot.io.watched import Retold, interruptions
from venue.wire.names import Ticker

_BEGINS_WITHIN: Final = 64
"""A run begins a segment of its own: its `Started` is among the first entries there."""


class Retelling(msgspec.Struct, frozen=True):
    """A run lived again, up to `until_ns`."""

    trader: Trader
    until_ns: int
    events: int


def retell(
    state: Path,
    settings: TraderSettings,
    make_strategy: Callable[[], Strategy],
    candidates: Sequence[Candidate] = (),
) -> Retelling:
    """The newest run in this state directory.

    Raises JournalFault when there is none, when its beginning is no longer kept, when the journal
    cannot be read, and when the run had another configuration or another program.
    """
    paths = _newest_run(state)
    interrupted = interruptions(entry.message for entry in _entries(paths))
    series = next(_series_asked_for(paths), settings.series_ticker)
    trader = Trader(
        msgspec.structs.replace(settings, series_ticker=series),
        lambda: Retold(make_strategy, interrupted),
        candidates=candidates,
    )
    made: deque[m.Effect] = deque()
    until_ns = events = 0
    for entry in _entries(paths):
        message = entry.message
        if isinstance(message, m.Event):
            until_ns = max(until_ns, entry.at_ns)
            events += 1
            effects = trader.receive(message, entry.at_ns)
            made = deque(each for each in effects if not isinstance(each, _TELLING))
        elif not isinstance(message, _TELLING) and (not made or made.popleft() != message):
            raise JournalFault(
                f"{state}: with this configuration or program the run takes another course, from "
                f"event {events} on; name the configuration that it had, or use the program that "
                "wrote it"
            )
    return Retelling(trader, until_ns, events)


_TELLING: Final = (m.Noted, m.Finished)
"""Effects that no answer hangs on: notes, and the end, which the loop may write down by itself."""


def _newest_run(state: Path) -> list[Path]:
    """The segments of the newest run, oldest first."""
    try:
        paths = segments(state)
    except OSError as fault:
        raise JournalFault(f"{state}: {fault.strerror}") from None
    if not paths:
        raise JournalFault(f"{state}: no journal here; name the state directory of a run")
    for place in reversed(range(len(paths))):
        first = islice(read_journal(paths[place]), _BEGINS_WITHIN)
        if any(isinstance(entry.message, m.Started) for entry in first):
            return paths[place:]
    raise JournalFault(
        f"{state}: the beginning of the newest run is no longer kept; the status page of a running "
        "bot has its account"
    )


def _entries(paths: Sequence[Path]) -> Iterator[Entry]:
    """The entries of a run, from its beginning."""
    begun = False
    for path in paths:
        for entry in read_journal(path):
            begun = begun or isinstance(entry.message, m.Started)
            if begun:
                yield entry


def _series_asked_for(paths: Sequence[Path]) -> Iterator[Ticker]:
    """The series that the run traded: a tape brings its own."""
    for entry in _entries(paths):
        if isinstance(entry.message, m.Send) and isinstance(entry.message.request, m.ReadSeries):
            yield entry.message.request.series_ticker
