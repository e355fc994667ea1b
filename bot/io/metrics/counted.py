"""The table of metrics that are counted on this host, and read off the tally when somebody asks."""

import os
from collections.abc import Iterable
from typing import Final

from bot.io.metrics.table import Family, Sample, named, one, rungs
from bot.io.metrics.tally import RuntimeMetrics
from venue.wire.instant import NS_PER_SECOND


def _lags(tally: RuntimeMetrics) -> list[Sample]:
    """How late the newest news of every rung came that the newest picture shows."""
    shown = () if tally.seen is None else rungs(tally.seen)
    found = [(rung.ticker, tally.lag_ns.get(rung.market_id)) for rung in shown]
    return [((ticker,), lag_ns / NS_PER_SECOND) for ticker, lag_ns in found if lag_ns is not None]


def _in_seconds(counts: Iterable[tuple[tuple[str, ...], int]]) -> list[Sample]:
    return [(labels, value / NS_PER_SECOND) for labels, value in sorted(counts)]


def _disk(tally: RuntimeMetrics) -> os.statvfs_result | None:
    if tally.around.state is None:
        return None
    try:
        return os.statvfs(tally.around.state)
    except OSError:
        return None  # what a disk like that does to the journal is told elsewhere


def _disk_bytes(tally: RuntimeMetrics, *, free: bool) -> float | None:
    disk = _disk(tally)
    if disk is None:
        return None
    return float(disk.f_frsize * (disk.f_bavail if free else disk.f_blocks))


def _journal_lag_s(tally: RuntimeMetrics) -> float | None:
    journal = tally.around.journal
    return None if journal is None else journal.lag_s()


def _of_reaper(tally: RuntimeMetrics, value: bool) -> list[Sample]:
    return one(float(value)) if tally.around.reaper else []


COUNTED: Final[tuple[Family[RuntimeMetrics], ...]] = (
    Family(
        "notes",
        "Things noted, by level and name.",
        ("level", "name"),
        lambda t: [(note, float(count)) for note, count in sorted(t.notes.items())],
        True,
    ),
    Family(
        "answers",
        "Answers to requests by kind, code and outcome: done, refused or unknown.",
        ("kind", "code", "outcome"),
        lambda t: [(key, float(count)) for key, count in sorted(t.answers.items())],
        True,
    ),
    Family(
        "venue_tokens",
        "Requests that the venue said it would take at once, by key.",
        ("key",),
        lambda t: named(t.venue_tokens),
    ),
    Family(
        "retry_after_seconds",
        "Time that the venue asked to wait, added up.",
        (),
        lambda t: one(t.retry_after_ns / NS_PER_SECOND),
        True,
    ),
    Family(
        "rung_feed_lag_seconds",
        "How late the newest news of the rung came, by the venue's clock and ours.",
        ("rung",),
        _lags,
    ),
    Family(
        "rung_on_target_seconds",
        "Time in which all that was wanted on a side of a rung rested there, within "
        "pace.tolerance_ticks and pace.resize_pct.",
        ("rung", "side"),
        lambda t: _in_seconds(t.on_target_ns.items()),
        True,
    ),
    Family(
        "rung_open_seconds",
        "Time in which the rung's market took orders.",
        ("rung",),
        lambda t: _in_seconds(((ticker,), value) for ticker, value in t.open_ns.items()),
        True,
    ),
    Family(
        "journal_lag_seconds",
        "How long the disk has had entries of the journal that it was given and has not taken.",
        (),
        lambda t: one(_journal_lag_s(t)),
    ),
    Family(
        "journal_waiting_bytes",
        "What of the journal is not on disk yet.",
        (),
        lambda t: one(None if t.around.journal is None else t.around.journal.waiting_bytes),
    ),
    Family(
        "inbox_dropped",
        "What the far end sent and nobody read: a book that a newer one took the place of before "
        "it was looked at (ordinary), a print beyond the cap, word of a frame of no use.",
        ("kind",),
        lambda t: [] if t.around.dropped is None else named(t.around.dropped()),
        True,
    ),
    Family(
        "state_free_bytes",
        "Room on the disk of the state directory.",
        (),
        lambda t: one(_disk_bytes(t, free=True)),
    ),
    Family(
        "state_size_bytes",
        "Size of the disk of the state directory.",
        (),
        lambda t: one(_disk_bytes(t, free=False)),
    ),
    Family(
        "heartbeat_failing",
        "1 while the heartbeat cannot be written, which a reaper takes for silence.",
        (),
        lambda t: one(None if t.around.unheard is None else float(t.around.unheard())),
    ),
    Family(
        "reaper_watching",
        "1 while a reaper is heard beside this bot; absent where none can be.",
        (),
        lambda t: _of_reaper(t, t.reaper_watches),
    ),
    Family(
        "reaper_key_works",
        "1 while the reaper says that its key can cancel; absent where none can be.",
        (),
        lambda t: _of_reaper(t, t.reaper_key_works),
    ),
)
