"""The profit of a run for people: whole cents that add up."""

from collections.abc import Iterable
from typing import Final

from bot.core.report import MarkoutReport, ProfitReport, ProfitRow, ShadowReport

MILLI: Final = 1_000
"""Thousandths of a cent to a cent."""

_INTERVAL: Final = 1.96
"""Standard errors of a 95 % interval to each side, of a normal error."""

Sample = tuple[tuple[str, ...], float]


def part_cents(profit: int, spread: int, adverse: int, fees_cents: int) -> dict[str, int]:
    """profit = spread + adverse + drift - fees in whole cents, exactly, of thousandths of a cent:
    the drift takes the rounding, two cents at most."""
    profit, spread, adverse = (round(each / MILLI) for each in (profit, spread, adverse))
    return {
        "profit_cents": profit,
        "spread_cents": spread,
        "adverse_cents": adverse,
        "drift_cents": profit - spread - adverse + fees_cents,
        "fees_cents": fees_cents,
    }


def row_cents(row: ProfitRow) -> dict[str, int]:
    parts = row.profit_millicents, row.spread_millicents, row.adverse_millicents
    return part_cents(*parts, row.fees_cents)


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


def markout_text(mean_cents: float, error_cents: float | None) -> str:
    """A mean in cents a share, with half its 95 % interval where it has one."""
    text = f"{mean_cents:+.2f}"
    return text if error_cents is None else f"{text} ±{_INTERVAL * error_cents:.2f}"


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
