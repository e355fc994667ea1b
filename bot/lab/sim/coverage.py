"""Counts what happened in a world by name, and maps the names to rows of the failure catalogue."""

from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from bot.core.fault_text import fault_text


class EventCounts:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.faults = 0  # how many of them were faults
        self.own_faults = 0  # answers of the strategy that raised or were nonsense undrawn
        self.own_fault = ""  # the first

    def hit(self, name: str, times: int = 1) -> None:
        self.counts[name] += times

    def fault(self, name: str) -> None:
        self.faults += 1
        self.hit(name)

    def strategy_fault(self, fault: BaseException) -> None:
        self.own_faults += 1
        self.own_fault = self.own_fault or fault_text(fault)


class CatalogueRow(NamedTuple):
    number: int
    title: str
    marks: tuple[str, ...]  # names counted by `EventCounts`, with * for any text


_LOST: Final = (
    *("lost_after", "internal_error_after", "result_unknown_after", "garbled_reply"),
    "reset_after",
)

ROWS: Final = (
    # Rows that are not here begin before the trader's events: docs/simulation.md.
    # A. Transport
    CatalogueRow(1, "create reply lost", (*(f"{name}:create" for name in _LOST),)),
    CatalogueRow(
        2, "never sent and maybe sent", ("not_connected:*", "reset_before:*", "lost_before:*")
    ),
    CatalogueRow(4, "keep-alive closed as it is reused", ("reset_before:*", "reset_after:*")),
    CatalogueRow(5, "redirect", ("redirected:*",)),
    CatalogueRow(7, "half-open socket", ("half_open", "feed_stall")),
    CatalogueRow(8, "DNS outage", ("outage_request",)),
    CatalogueRow(9, "loop stall", ("process_pause",)),
    CatalogueRow(10, "clock step or skew", ("clock_skew",)),
    # B. Rate limit and retry
    CatalogueRow(12, "429 rate_limited", ("rate_limited:*",)),
    CatalogueRow(13, "network bunching", ("bunched",)),
    CatalogueRow(14, "cancels behind creates", ("cancel_from_reserve",)),
    CatalogueRow(
        15, "codes confused", ("engine_overloaded:*", "engine_unavailable:*", "result_unknown_*")
    ),
    CatalogueRow(16, "limiter headers absent or odd", ("headers_odd:*",)),
    CatalogueRow(17, "two processes on one key", ("foreign_token",)),
    CatalogueRow(18, "herd after outage", ("feed_opened",)),
    CatalogueRow(19, "400 or 422 retried unchanged", ("invalid_request:*",)),
    # C. Order lifecycle
    CatalogueRow(20, "client_order_id after a restart", ("create_after_restart",)),
    CatalogueRow(22, "re-send of a create that never landed", ("resend_landed",)),
    CatalogueRow(23, "refusal of a re-send", ("resend_refused",)),
    CatalogueRow(24, "duplicate_order_id", ("says_duplicate:create",)),
    CatalogueRow(25, "lands long after", ("landed_late:create",)),
    CatalogueRow(26, "amend without an answer", ("amend_unknown",)),
    CatalogueRow(27, "amend on every tick", ("amend",)),
    CatalogueRow(28, "fill beats cancel", ("cancel_after_fill", "order_not_cancelable:cancel")),
    CatalogueRow(
        29, "cancel answers 422, 404 or 0", ("order_not_cancelable:cancel", "not_found:*")
    ),
    CatalogueRow(30, "cancel without an answer", ("cancel_unknown",)),
    CatalogueRow(31, "venue_halted", ("venue_halted:*",)),
    CatalogueRow(32, "cancel only, halted, resolved", ("venue_cancel_only:*", "market_*:*")),
    CatalogueRow(33, "self-cross", ("cross_checked",)),
    CatalogueRow(34, "self-trade prevention", ("stp_met",)),
    CatalogueRow(35, "unknown enum or code", ("odd_status:*",)),
    CatalogueRow(36, "lagging read", ("stale_read",)),
    CatalogueRow(37, "page shifts", ("page", "row_repeated:*", "cursor_*:*")),
    CatalogueRow(38, "flicker", ("flick",)),
    # D. Market data
    CatalogueRow(39, "subscribe refused", ("subscribe_refused_frame",)),
    CatalogueRow(40, "silent target", ("silent_frame",)),
    CatalogueRow(41, "subscribe replaces the set", ("subscribed",)),
    CatalogueRow(42, "reconnect", ("feed_opened",)),
    CatalogueRow(
        43, "frames lost, late, twice", ("frame_dropped*", "frame_delayed*", "frame_stale")
    ),
    CatalogueRow(44, "consumer slower than the feed", ("conflated", "feed_late")),
    CatalogueRow(45, "zero instant", ("zero_book",)),
    CatalogueRow(46, "degraded to empty", ("book_emptied:*", "book_unavailable:*")),
    CatalogueRow(47, "own size in the book", ("own_at_touch",)),
    CatalogueRow(48, "crossed or garbled frame", ("frame_crossed", "frame_garbled*")),
    CatalogueRow(49, "prints repeated", ("frame_duplicated:print",)),
    # E. Accounting
    CatalogueRow(52, "float money", ("fill_with_fee",)),
    CatalogueRow(53, "reserve below cost", ("fill_with_fee",)),
    CatalogueRow(54, "missed or doubled fill", ("row_repeated:*", "late_fill")),
    CatalogueRow(55, "YES and NO netted", ("limit_checked",)),
    CatalogueRow(57, "order_id as a number", ("order_id_beyond_2_53",)),
    CatalogueRow(58, "profit misses fees or payout", ("books_compared",)),
    # F. Restart and crash
    CatalogueRow(59, "killed around a send", ("crash", "crashed_at_effect", "quiet_restart")),
    CatalogueRow(60, "torn tail", ("torn_tail",)),
    CatalogueRow(61, "disk full", ("disk_fault",)),
    CatalogueRow(62, "state directory lost", ("lost_journal", "stranger_refused")),
    CatalogueRow(63, "two bots on one account", ("twin_orders", "begun_amid_trade")),
    CatalogueRow(65, "stopped by the operator", ("operator_restart", "books_compared")),
    # G. Operator and configuration
    CatalogueRow(71, "fat finger", ("fat_finger_quote",)),
    CatalogueRow(74, "reload half applied", ("config_applied",)),
    # H. Strategy and risk
    CatalogueRow(75, "limits on settled position only", ("limit_with_flight",)),
    CatalogueRow(76, "mad strategy", ("mad_quote",)),
    CatalogueRow(77, "strategy raises", ("tantrum_quote",)),
    CatalogueRow(78, "rungs correlated", ("limit_on_ladder",)),
    CatalogueRow(79, "dead 1/99 book", ("dead_book",)),
)


def hits(row: CatalogueRow, counts: Mapping[str, int]) -> int:
    return sum(
        count for mark in row.marks for name, count in counts.items() if fnmatchcase(name, mark)
    )


def by_row(counts: Mapping[str, int]) -> dict[int, int]:
    return {row.number: hits(row, counts) for row in ROWS}


def table(counts: Mapping[str, int]) -> str:
    return "\n".join(f"  {row.number:3d} {hits(row, counts):9d}  {row.title}" for row in ROWS)
