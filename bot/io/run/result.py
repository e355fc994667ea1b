"""How the run of one series ended: the exit code, and the summary as one JSON object."""

import enum
from typing import Final

import msgspec
import structlog

from bot.core import messages as m
from bot.core.report import Report
from bot.io.metrics.profits import plain_profit, plain_shadow
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

_NOT_OURS: Final = frozenset({"venue", "disk", "latch"})
"""Ends that are no bug of the bot."""


class Exit(enum.IntEnum):
    OK = 0
    BUG = 1
    CONFIGURATION = 2
    VENUE = 3
    LEFT_OVER = 4


def may_rest(finished: m.DrainComplete) -> bool:
    """True if orders are left or unknown, or no read has shown that none are."""
    return bool(finished.left or finished.unknown or finished.unshown)


def tell_left(log: structlog.stdlib.BoundLogger, finished: m.DrainComplete) -> None:
    """Log what a drain that ran out of time leaves, every order by its id or name."""
    if not may_rest(finished):
        log.warning("drain_overdue", advice="nothing rests; the cash was perhaps not compared")
        return
    log.error(
        "drain_overdue",
        left=", ".join(finished.left) or "none known",
        unknown=", ".join(finished.unknown) or "none known",
        advice="look at the account: orders may rest there",
    )


class RunResult(msgspec.Struct, frozen=True):
    """overdue: the drain ran out of time. died: what ended or failed."""

    report: Report
    finished: m.DrainComplete
    overdue: bool
    died: tuple[str, ...]

    @property
    def exit_code(self) -> Exit:
        """Orders left or unknown weigh more than any other fault."""
        if may_rest(self.finished):
            return Exit.LEFT_OVER
        if self.crashed:
            return Exit.BUG
        # None of these ended as asked: a person has to look before the next run quotes.
        is_useless = self.report.counters.strategy_failed
        return Exit.VENUE if self.died or self.report.latched or is_useless else Exit.OK

    @property
    def crashed(self) -> bool:
        """True if a bug ended it. After three crashes in a row the bot stays down."""
        return not _NOT_OURS.issuperset(self.died)


_UNSHOWN: Final = "no list shows that nothing rests"


def summary_of(ended: RunResult, process_start_ns: int) -> dict[str, object]:
    """The fields in the order in which a person wants them; seconds to the millisecond.

    process_start_ns: on the clock of the report; `first_two_sided_s` counts from there, None when
    there was never a bid and an ask of ours on every rung at once. `unshown` says why a run ended
    with 4 that knows of nothing left.
    """
    report, counters = ended.report, ended.report.counters
    first_ns = report.first_two_sided_ns
    return {
        "exit_code": int(ended.exit_code),
        "paper": report.paper or None,
        "first_two_sided_s": None if first_ns is None else _seconds(first_ns - process_start_ns),
        "seconds": _seconds(report.now_ns - process_start_ns),
        "rungs": sum(len(event.rungs) for event in report.events),
        "frames": counters.frames,
        "fills": counters.fills,
        "requests": counters.requests,
        "amends_kept_place": counters.amends_kept_place,
        "amends_lost_place": counters.amends_lost_place,
        "refused": counters.refused,
        "unknown_open": report.unknown_open,
        "self_trades": counters.self_trades,
        "rate_limited": counters.rate_limited,
        "worst_case_loss_cents_max": report.worst_case_max_cents,
        "worst_case_limit_cents": report.worst_case_limit_cents,
        "pnl_cents": report.pnl_cents,
        "profit": None if report.profit is None else plain_profit(report.profit, ("side",)),
        "shadows": [plain_shadow(shadow) for shadow in report.shadows],
        "resting_after": len(ended.finished.left),
        "ledger_difference_cents": report.ledger_difference_cents,
        "transfers_cents": report.transfers_cents,
        "unallocated_cents": report.unallocated_cents,
        "left": list(ended.finished.left),
        "unknown": list(ended.finished.unknown),
        "unshown": _UNSHOWN if ended.finished.unshown else None,
        "latched": report.latched,
        "strategy_failed": report.counters.strategy_failed or None,
        "findings": list(report.findings),
        "died": list(ended.died),
    }


def _seconds(ns: int) -> float:
    return round(ns // NS_PER_MS * NS_PER_MS / NS_PER_SECOND, 3)
