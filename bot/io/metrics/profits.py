"""The account of profit for people and metrics: whole cents that add up, and labelled samples."""

from collections.abc import Iterable
from typing import Final

import msgspec

from bot.core.report import MarkoutReport, ProfitReport, ProfitRow, ShadowReport
from venue.wire.money import Cents
from venue.wire.names import Ticker

MILLI: Final = 1_000
"""Thousandths of a cent to a cent."""

Sample = tuple[tuple[str, ...], float]


def row_cents(row: ProfitRow) -> dict[str, int]:
    """profit = spread + adverse + drift - fees in whole cents, exactly: the rest that rounding
    leaves, two cents at most, is in the drift."""
    profit = round(row.profit_millicents / MILLI)
    spread = round(row.spread_millicents / MILLI)
    adverse = round(row.adverse_millicents / MILLI)
    drift = profit - spread - adverse + row.fees_cents
    return {
        "profit_cents": profit,
        "spread_cents": spread,
        "adverse_cents": adverse,
        "drift_cents": drift,
        "fees_cents": row.fees_cents,
    }


def sure_cents(profit: ProfitReport) -> dict[str, int]:
    """realised + settled + open less the fees = profit in whole cents, exactly: the rest that
    rounding leaves is in what is open."""
    row = row_cents(profit.total)
    realised = round(profit.realised_millicents / MILLI)
    settled = round(profit.settled_millicents / MILLI)
    return {
        "realised_cents": realised,
        "settled_cents": settled,
        "open_cents": row["profit_cents"] + row["fees_cents"] - realised - settled,
    }


def plain_row(row: ProfitRow) -> dict[str, object]:
    """A row as plain values, its markouts with it."""
    return {
        "name": row.name,
        "fills": row.fills,
        "qty": row.qty,
        **row_cents(row),
        "markouts": [plain_markout(each) for each in row.markouts],
    }


def plain_markout(each: MarkoutReport) -> dict[str, object]:
    """A markout as plain values; cents a share, to the millionth: whoever shows hundredths rounds
    them once."""
    error = each.error_cents
    return {
        "horizon_s": each.horizon_s,
        "against": each.against.value,
        "fills": each.fills,
        "qty": each.qty,
        "mean_cents": round(each.mean_cents, 6),
        "error_cents": None if error is None else round(error, 6),
    }


def plain_profit(profit: ProfitReport, by: Iterable[str] = ()) -> dict[str, object]:
    """An account as plain values. by: the dimensions to show row by row."""
    return {
        "total": plain_row(profit.total),
        **sure_cents(profit),
        "difference_millicents": profit.difference_millicents,
        "unsampled": profit.unsampled,
        "by": {name: [plain_row(row) for row in profit.by[name]] for name in by},
    }


def plain_shadow(shadow: ShadowReport, by: Iterable[str] = ()) -> dict[str, object]:
    """A candidate under one reading of the queue as plain values."""
    return {
        "name": shadow.name,
        "strategy": shadow.strategy,
        "bound": shadow.bound,
        "stopped": shadow.stopped,
        "decisions": shadow.decisions,
        "same": shadow.same,
        "changes": shadow.changes,
        "left_out": shadow.left_out,
        "resting_qty": shadow.resting,
        "worst_case_max_cents": shadow.worst_case_max_cents,
        "profit": plain_profit(shadow.profit, by),
    }


class ShownReport(msgspec.Struct, frozen=True):
    """Of a report on a status page, what tells of profit."""

    now_ns: int
    started_ns: int
    series_ticker: Ticker
    pnl_cents: Cents
    profit: ProfitReport | None = None
    shadows: tuple[ShadowReport, ...] = ()


class StatusReport(msgspec.Struct, frozen=True):
    """A status page; its report is None while the bot is only starting."""

    report: ShownReport | None
