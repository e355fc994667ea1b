"""What a trader may note, by level: each has its count from the start, and none begins at one.

A count that comes into being with its first event has no increase, so that no alert hears of it.
"""

from typing import Final

_NOTES: Final = {
    "debug": (
        "fills_complete",
        "fill_booked",
        "fill_marked",
        "fill_valued",
        "rung_settled",
        "winner_told",
    ),
    "info": (
        *("config_applied", "config_proven", "create_identified"),
        *("create_never_landed", "event_found", "event_left", "feed_opened", "flat", "flattening"),
        *("latched_flat", "no_journal", "orders_kept", "paused", "quoting"),
        *("resumed", "rung_settled", "shares_taken_over", "stopping", "two_sided_everywhere"),
    ),
    "warning": (
        *("account_transfer", "amend_unknown", "amends_off", "answer_not_credible"),
        *("answer_without_request", "cancel_hangs", "closed_order_listed"),
        *("ceiling_learned", "channel_behind", "create_unknown", "feed_closed", "fees_differ"),
        *("instant_unreadable", "news", "order_gone", "order_of_another_series"),
        "order_cancelled_by_others",
        "order_shrunk_without_fill",
        "order_still_rests",
        *("orders_beyond_limits", "orders_not_kept", "process_paused", "series_beside_unread"),
        *("side_parked", "trade_price_ignored", "unknown_creates_found"),
        "venue_parked",
    ),
    "error": (
        *("beyond_caps", "config_refused", "config_rollback_failed"),
        *("config_rolled_back", "journal_damaged"),
        *("request_refused", "strategy_failed", "strategy_stalled", "subscription_refused"),
        *("unallocated_settlement", "venue_clock_stepped"),
    ),
}
FINDINGS: Final = (
    *("account_unread", "amend_qty_is_total", "cancelled_by_others", "cancels_fail"),
    *("cash_differs", "event_unreadable", "fill_unreadable", "fills_missing"),
    *("foreign_orders", "foreign_spend", "inconsistency", "inconsistency_observed"),
    *("impossible_fact", "journal_failed", "key_refused", "latched", "latched_not_flat"),
    *("order_missing", "order_unreadable", "position_differs", "profit_unexplained"),
    *("read_key_refused", "series_unread", "silent_target", "standby_key_refused"),
    *("status_unreadable", "strangers_found", "strategy_at_fault", "unknown_old"),
)
"""Noted at level error when they are new, and at level info when they no longer hold."""

NOTES: Final[tuple[tuple[str, str], ...]] = (
    *((level, name) for level, names in _NOTES.items() for name in names),
    *(("error", name) for name in FINDINGS),
    *(("info", f"{name}_cleared") for name in FINDINGS),
)
