"""How the run of one series ended, and what the process ends with."""

import enum
from typing import Final

import msgspec
import structlog

from bot.core import messages as m
from bot.core.report import Report

_NOT_OURS: Final = frozenset({"venue", "disk", "latch"})
"""Ends that are no bug of the bot: the embedded venue, a disk that takes nothing."""


class Exit(enum.IntEnum):
    """What the process ends with."""

    OK = 0
    BUG = 1
    CONFIGURATION = 2
    VENUE = 3
    LEFT_OVER = 4


def may_rest(finished: m.DrainComplete) -> bool:
    """Whether orders are left, or unknown, or no read has shown that none are."""
    return bool(finished.left or finished.unknown or finished.unshown)


def tell_left(log: structlog.stdlib.BoundLogger, finished: m.DrainComplete) -> None:
    """Log what a drain that ran out of time leaves behind, every order by its id or name."""
    if not may_rest(finished):
        log.warning("drain_overdue", advice="nothing rests; cash may not be compared")
        return
    log.error(
        "drain_overdue",
        left=", ".join(finished.left) or "none known",
        unknown=", ".join(finished.unknown) or "none known",
        advice="look at the account: orders may rest there",
    )


class RunResult(msgspec.Struct, frozen=True):
    """How a run ended. `overdue`: the drain ran out of time; `died`: what ended or failed."""

    report: Report
    finished: m.DrainComplete
    overdue: bool
    died: tuple[str, ...]

    @property
    def exit_code(self) -> Exit:
        """Orders left or unknown are worth more than any other fault."""
        if may_rest(self.finished):
            return Exit.LEFT_OVER
        if self.crashed:
            return Exit.BUG
        # A latched run did not end as asked: a person has to look before the next one quotes.
        return Exit.VENUE if self.died or self.report.latched else Exit.OK

    @property
    def crashed(self) -> bool:
        """Whether a bug ended it: after three in a row it stays down (`bot.io.state.crashes`)."""
        return not _NOT_OURS.issuperset(self.died)
