"""The tables of metrics of what stands beside a run: the records that are kept, the notices
sent.
"""

from typing import Final, Protocol

from bot.io.metrics.table import Family, named, one, seconds


class Kept(Protocol):
    """How the records stand; see `bot.records.recorder.Progress`."""

    fills: int
    failures: int
    gaps: int
    unreadable: int
    behind_bytes: int
    fault: str

    @property
    def age_ns(self) -> int | None:
        """Since they were last written; None before."""
        ...


class NoticeCounts(Protocol):
    """What became of the notices; see `bot.io.notices.notices.Counts`."""

    fates: dict[str, int]
    waiting: int


RECORDS: Final[tuple[Family[Kept], ...]] = (
    Family("records_fills", "Fills written into the records.", (), lambda k: one(k.fills), True),
    Family(
        "records_failures",
        "Times that the records could not be written.",
        (),
        lambda k: one(k.failures),
        True,
    ),
    Family(
        "records_failing",
        "1 while the records cannot be written; they catch up from the journal.",
        (),
        lambda k: one(float(bool(k.fault))),
    ),
    Family(
        "records_behind_bytes",
        "How much of the journal is not in the records yet.",
        (),
        lambda k: one(k.behind_bytes),
    ),
    Family(
        "records_age_seconds",
        "Since the records were last written; absent before.",
        (),
        lambda k: one(seconds(k.age_ns)),
    ),
    Family(
        "records_gaps",
        "Times that a part of the journal was gone or damaged before it was read.",
        (),
        lambda k: one(k.gaps),
        True,
    ),
    Family(
        "records_unreadable_fills",
        "Fills of the venue that are no cash and shares, or of an unknown market.",
        (),
        lambda k: one(k.unreadable),
    ),
)

NOTICES: Final[tuple[Family[NoticeCounts], ...]] = (
    Family(
        "notices",
        "Notices by what became of them: sent, repeated, dropped, lost.",
        ("fate",),
        lambda s: named(s.fates),
        True,
    ),
    Family("notices_waiting", "Notices that are not delivered yet.", (), lambda s: one(s.waiting)),
)
