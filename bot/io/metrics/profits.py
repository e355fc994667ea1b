"""The account of profit for people and metrics: whole cents that add up, and labelled samples."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from bot.core.report import Against, MarkoutReport, ProfitReport, ProfitRow, Report, ShadowReport
from venue.wire.money import BookSide, Cents
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


# --- samples --------------------------------------------------------------------------------------

_UNFILLED: Final = ProfitRow("", 0, 0, 0, 0, 0, 0, 0, ())


def _parts(row: ProfitRow) -> Iterator[tuple[str, float]]:
    yield "spread", row.spread_millicents / MILLI
    yield "adverse", row.adverse_millicents / MILLI
    yield "drift", row.drift_millicents / MILLI
    yield "fees", float(-row.fees_cents)


def _markouts(row: ProfitRow) -> Iterator[Sample]:
    for each in row.markouts:
        yield (each.against.value, str(each.horizon_s)), each.mean_cents


def part_samples(report: Report) -> list[Sample]:
    """The parts of the profit; they add up to it."""
    return [] if report.profit is None else [((n,), v) for n, v in _parts(report.profit.total)]


def rung_samples(report: Report) -> list[Sample]:
    """The parts of the profit of every rung that the report shows."""
    if report.profit is None:
        return []
    known = {row.name: row for row in report.profit.by["rung"]}
    shown = [rung.ticker for event in report.events for rung in event.rungs]
    rows = [(ticker, known.get(ticker, _UNFILLED)) for ticker in shown]
    return [((ticker, name), value) for ticker, row in rows for name, value in _parts(row)]


def side_markout_samples(report: Report) -> list[Sample]:
    """Mean markouts by side, what they are against, and horizon."""
    if report.profit is None:
        return []
    sides = {side.value for side in BookSide}
    return [
        ((row.name, *labels), value)
        for row in report.profit.by["side"]
        if row.name in sides
        for labels, value in _markouts(row)
    ]


def rung_markout_samples(report: Report) -> list[Sample]:
    """Mean markouts against fair by rung and horizon."""
    if report.profit is None:
        return []
    shown = {rung.ticker for event in report.events for rung in event.rungs}
    return [
        ((row.name, str(each.horizon_s)), each.mean_cents)
        for row in report.profit.by["rung"]
        if row.name in shown
        for each in row.markouts
        if each.against is Against.FAIR
    ]


def shadow_part_samples(report: Report) -> list[Sample]:
    """The parts of the profit of every candidate, under both readings of the queue."""
    return [
        ((shadow.name, shadow.bound, name), value)
        for shadow in report.shadows
        for name, value in _parts(shadow.profit.total)
    ]


def shadow_markout_samples(report: Report) -> list[Sample]:
    """Mean markouts of every candidate."""
    return [
        ((shadow.name, shadow.bound, *labels), value)
        for shadow in report.shadows
        for labels, value in _markouts(shadow.profit.total)
    ]
