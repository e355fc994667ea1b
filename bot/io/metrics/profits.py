"""The profit of a run for people: whole cents that add up."""

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
    """profit = spread + adverse + drift - fees in whole cents, exactly: the drift takes the
    rounding, two cents at most."""
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
    """realised + settled + open less the fees = profit in whole cents, exactly: open takes the
    rounding."""
    row = row_cents(profit.total)
    realised = round(profit.realised_millicents / MILLI)
    settled = round(profit.settled_millicents / MILLI)
    return {
        "realised_cents": realised,
        "settled_cents": settled,
        "open_cents": row["profit_cents"] + row["fees_cents"] - realised - settled,
    }


def plain_row(row: ProfitRow) -> dict[str, object]:
    return {
        "name": row.name,
        "fills": row.fills,
        "qty": row.qty,
        **row_cents(row),
        "markouts": [plain_markout(each) for each in row.markouts],
    }


def plain_markout(each: MarkoutReport) -> dict[str, object]:
    """Cents a share, to the millionth: a page that shows hundredths rounds once."""
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
    """by: the dimensions to show row by row."""
    return {
        "total": plain_row(profit.total),
        **sure_cents(profit),
        "difference_millicents": profit.difference_millicents,
        "unsampled": profit.unsampled,
        "by": {name: [plain_row(row) for row in profit.by[name]] for name in by},
    }


def plain_shadow(shadow: ShadowReport, by: Iterable[str] = ()) -> dict[str, object]:
    """A candidate under one queue model as plain values."""
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
    """The parts of a status page's report that show profit."""

    now_ns: int
    started_ns: int
    series_ticker: Ticker
    pnl_cents: Cents
    profit: ProfitReport | None = None
    shadows: tuple[ShadowReport, ...] = ()


class StatusReport(msgspec.Struct, frozen=True):
    """A status page; its report is None while the bot is starting."""

    report: ShownReport | None
