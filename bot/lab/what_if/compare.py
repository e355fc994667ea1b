"""A session with another configuration, beside what happened and beside the model's own error.

Three rows for each reading of the queue: what happened; what the model makes of the configuration
that the session had, and so how far the model is from what happened; what it makes of the other
one. A difference between the last two is worth what the model is worth.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from bot.config.diff import Change
from bot.core import messages as m
from bot.core.reconfigure import Remake
from bot.io.journal.records import JournalFault
from bot.lab.evaluate.patience import ended_when_stalled
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.terms import Terms
from bot.lab.replay.replay import Replayer, replay
from bot.lab.session import Run, Until, beside_of, version_of
from bot.lab.what_if.changes import Trial, Wanted
from bot.lab.what_if.measure import Measured
from bot.lab.what_if.play import Play, Setup
from bot.lab.what_if.session import Session, session_of
from venue.wire.names import Ticker

Progress = Callable[[str, int, int], None]
"""Called now and then: what is done, how much of it is through, and of how much."""


class Played(msgspec.Struct, frozen=True):
    """What the model makes of the session under one reading. unchanged: of the configuration that
    it had; changed: of the other one, None where none was wanted."""

    reading: str
    unchanged: Measured
    changed: Measured | None


class Assumed(msgspec.Struct, frozen=True):
    """What the model was told; round trips and fees are those of the session."""

    read_lag_ns: int
    power: float
    seed: int


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. version: of the journal. cut: why it is told up to there alone, else empty.
    short_qty: shares of ours that books should have shown and did not: 0 where the market without
    us is known exactly. given_back: prints that filled us then. beside: the other series of its
    process then, of which nothing is there."""

    nonce: str
    beside: tuple[Ticker, ...]
    segments: tuple[str, ...]
    version: int
    begun_ns: int
    ended_ns: int
    cut: str
    changed: tuple[Change, ...]
    happened: Measured
    played: tuple[Played, ...]
    records: int
    given_back: int
    short_qty: int
    feed_ns: int
    write_ns: int
    terms: Assumed
    cpu_s: float


def compare(
    run: Run,
    again: Replayer,
    had: m.Configuration,
    trial: Trial,
    remake: Remake,
    terms: Terms,
    readings: Sequence[QueueModel],
    until: Until,
    progress: Progress = lambda _what, _done, _of: None,
) -> Compared:
    """Play a session as it was configured and otherwise. again: the run, not lived yet. had: what
    it was configured with.

    Raises ConfigFault for a configuration that cannot be, and JournalFault for a run that cannot be
    lived again: then this is another program than wrote the journal, and no comparison is one; and
    Stalled when the strategy does not come back.
    """
    began_s = time.process_time()
    wanted = None if trial.is_empty else trial.on(had)
    session = session_of(run, until, had.settings.trust.gap_ns)
    happened = _happened(run, again, session, until, progress)
    played = []
    for reading in readings:

        def play(setup: Setup, name: str, reading: QueueModel = reading) -> Measured:
            whole = len(session.acts)
            one = Play(session, setup, terms, reading)
            with ended_when_stalled():
                return one.run(lambda done: progress(f"{reading}, {name}", done, whole))

        unchanged = play(Setup(had, remake, lambda event: event), "unchanged")
        setup = _otherwise(wanted, trial, remake)
        changed = None if setup is None else play(setup, "changed")
        played.append(Played(reading.value, unchanged, changed))
    writes = sorted(session.write_trips_ns) or [0]
    return Compared(
        nonce=run.started.boot_nonce,
        beside=beside_of(run),
        segments=tuple(path.name for path in run.paths),
        version=version_of(run),
        begun_ns=run.begun_ns,
        ended_ns=session.ended_ns,
        cut=session.cut,
        changed=() if wanted is None else wanted.changed,
        happened=happened,
        played=tuple(played),
        records=len(session.acts),
        given_back=sum(act.ours for act in session.acts),
        short_qty=session.short_qty,
        feed_ns=session.feed_ns,
        write_ns=writes[len(writes) // 2],
        terms=Assumed(terms.read_lag_ns, terms.power, terms.seed),
        cpu_s=time.process_time() - began_s,
    )


def _otherwise(wanted: Wanted | None, trial: Trial, remake: Remake) -> Setup | None:
    if wanted is None:
        return None

    def reconfigured(event: m.Reconfigured) -> m.Reconfigured | None:
        # A file stands for the whole session; sets stand on top of every change of its own.
        if trial.has_file:
            return None
        return msgspec.structs.replace(event, configured=trial.on(event.configured).configured)

    return Setup(wanted.configured, remake, reconfigured)


_WHAT_HAPPENED: Final = "what happened"


def _happened(
    run: Run, again: Replayer, session: Session, until: Until, progress: Progress
) -> Measured:
    """Raises JournalFault when the run cannot be lived again."""
    upto = Until(min(session.ended_ns, until.at_ns), until.number, until.place)
    found = replay(again, upto, lambda done: progress(_WHAT_HAPPENED, done, 0))
    if found.difference is not None:
        at = found.difference.before[-1].place
        raise JournalFault(
            f"{run.paths[0].parent}: this program decides otherwise than the one that wrote the "
            f"journal, from {at.segment}:{at.entry} on (`bot replay` shows what); what happened "
            "cannot be told beside what would have"
        )
    if found.damage:
        raise JournalFault(found.damage)
    span_ns = (run.begun_ns, session.ended_ns)
    return session.happened.result(again.trader, span_ns, session.tickers, session.clock_ahead_ns)
