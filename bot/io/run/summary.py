"""The run in one JSON object: what it did, what it risked, what it left behind."""

from typing import Final

from bot.io.metrics.profits import plain_profit, plain_shadow
from bot.io.run.runner import RunResult
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

_UNSHOWN: Final = "no list shows that nothing rests"


def summary_of(ended: RunResult, process_start_ns: int) -> dict[str, object]:
    """The fields in the order in which a person wants them; seconds to the millisecond.

    process_start_ns: when the process was started, on the clock of the report.
    `first_two_sided_s` counts from there, None when there was never a bid and an ask of ours on
    every rung at once. `paper` is True for a paper run, else None. `unshown` says why a run ended
    with 4 that knows of nothing left, else None.
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
        "findings": list(report.findings),
        "died": list(ended.died),
    }


def _seconds(ns: int) -> float:
    return round(ns // NS_PER_MS * NS_PER_MS / NS_PER_SECOND, 3)
