"""A statement for people and programs: plain values, CSV, and a table of text.

Whole cents that add up, as everywhere: what rounding leaves, two cents at most, is in the drift.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Final

from bot.core.account.markouts import HORIZONS_S, MILLI
from bot.core.report import Against
from bot.io.metrics.profits import plain_markout
from bot.records.cells import cell_text
from bot.records.statement import Statement, StatementLine, Told, dollars
from venue.wire.instant import from_ns


def cents_of(line: StatementLine) -> dict[str, int]:
    """profit = spread + adverse + drift - fees in whole cents, exactly."""
    profit = round(line.profit / MILLI)
    spread = round(line.spread / MILLI)
    adverse = round(line.adverse / MILLI)
    return {
        "profit_cents": profit,
        "spread_cents": spread,
        "adverse_cents": adverse,
        "drift_cents": profit - spread - adverse + line.fees_cents,
        "fees_cents": line.fees_cents,
    }


def _plain_line(line: StatementLine) -> dict[str, object]:
    return {
        "name": line.name,
        "event": line.event,
        "fills": line.fills,
        "bought_qty": line.bought_qty,
        "sold_qty": line.sold_qty,
        "yes_open_qty": line.yes_open,
        "no_open_qty": line.no_open,
        "yes_close_qty": line.yes_close,
        "no_close_qty": line.no_close,
        "value_open_millicents": line.value_open,
        "value_close_millicents": line.value_close,
        "cash_cents": line.cash_cents,
        "paid_out_cents": line.paid_out_cents,
        **cents_of(line),
        "profit_millicents": line.profit,
        "markouts": [plain_markout(each) for each in line.markouts],
    }


def plain_fill(told: Told) -> dict[str, object]:
    """A fill as plain values; markouts against fair in thousandths of a cent a share."""
    fill, valued = told.fill, told.valued
    return {
        "fill_id": fill.fill_id,
        "at": from_ns(fill.created_ns),
        "rung": fill.ticker,
        "side": fill.book_side.value,
        "price": fill.yes_price,
        "qty": fill.qty,
        "outcome": fill.outcome,
        "own_side": fill.side,
        "own_price": fill.price,
        "cash_cents": fill.cash_cents,
        "fee_cents": fill.fee_cents,
        "liquidity": fill.liquidity,
        "order_id": fill.order_id,
        "trade_id": fill.trade_id,
        "fair_millicents": None if valued is None else valued.value,
        "level": None if valued is None else valued.level,
        "strategy": "" if valued is None else valued.strategy,
        "reason": "" if valued is None else valued.reason,
        **{
            f"markout_{horizon_s}s_millicents": markout
            for horizon_s, markout in zip(HORIZONS_S, told.markouts, strict=True)
        },
    }


def plain(statement: Statement) -> dict[str, object]:
    """The whole statement as plain values."""
    return {
        "bot": statement.book,
        "account": statement.label,
        "day": statement.day,
        "is_over": statement.is_over,
        "closes": statement.closes,
        "checks": [
            {"name": check.name, "closes": check.closes, "text": check.text}
            for check in statement.checks
        ],
        "cash_open_cents": statement.cash_open_cents,
        "cash_close_cents": statement.cash_close_cents,
        "other_series": {"fills": statement.other_fills, "cash_cents": statement.other_cents},
        "total": _plain_line(statement.total),
        "rungs": [_plain_line(line) for line in statement.rungs],
        "fills": [plain_fill(told) for told in statement.fills],
    }


# --- CSV ------------------------------------------------------------------------------------------

_SUMS: Final = (
    *("fills", "bought_qty", "sold_qty", "yes_open_qty", "no_open_qty", "yes_close_qty"),
    *("no_close_qty", "value_open_millicents", "value_close_millicents", "paid_out_cents"),
    *("profit_cents", "spread_cents", "adverse_cents", "drift_cents", "fees_cents"),
)
_FILL: Final = (
    *("at", "fill_id", "side", "price", "qty", "outcome", "own_side", "own_price", "fee_cents"),
    *("liquidity", "order_id", "trade_id", "fair_millicents", "level", "strategy", "reason"),
    *(f"markout_{horizon_s}s_millicents" for horizon_s in HORIZONS_S),
)
COLUMNS: Final = ("kind", "name", "text", "cash_cents", *_SUMS, *_FILL)


def as_csv(statement: Statement) -> str:
    """One row a thing, told apart by `kind`: check, cash, rung, total, fill. Empty: not of it."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in _rows(statement):
        writer.writerow({key: _cell(value) for key, value in row.items()})
    return out.getvalue()


def _cell(value: object) -> object:
    return cell_text(value) if isinstance(value, str) else value


def _rows(statement: Statement) -> Iterator[dict[str, object]]:
    for check in statement.checks:
        text = f"{'closes' if check.closes else 'DOES NOT CLOSE'}: {check.text}"
        yield {"kind": "check", "name": check.name, "text": text}
    yield {"kind": "cash", "name": "open", "cash_cents": statement.cash_open_cents}
    yield {"kind": "cash", "name": "other series", "cash_cents": statement.other_cents}
    yield {"kind": "cash", "name": "close", "cash_cents": statement.cash_close_cents}
    for line in statement.rungs:
        yield {"kind": "rung", **_plain_line(line)}
    yield {"kind": "total", **_plain_line(statement.total)}
    for told in statement.fills:
        yield {"kind": "fill", "name": told.fill.ticker, **plain_fill(told)}


# --- text -----------------------------------------------------------------------------------------

HEAD: Final = (
    *("", "fills", "bought", "sold", "YES/NO before", "after", "cash", "profit", "spread"),
    *("adverse", "drift", "fees", *(f"{horizon_s} s" for horizon_s in HORIZONS_S)),
)


def cells(line: StatementLine) -> tuple[str, ...]:
    """A line of the table, as `HEAD` names it: dollars, and mean markouts in cents a share."""
    parts = cents_of(line)
    names = ("profit", "spread", "adverse", "drift", "fees")
    means = {e.horizon_s: e for e in line.markouts if e.against is Against.FAIR}
    marks = [
        f"{means[horizon_s].mean_cents:+.2f}" if horizon_s in means else "-"
        for horizon_s in HORIZONS_S
    ]
    return (
        line.name,
        str(line.fills),
        str(line.bought_qty),
        str(line.sold_qty),
        f"{line.yes_open}/{line.no_open}",
        f"{line.yes_close}/{line.no_close}",
        dollars(line.cash_cents),
        *(dollars(parts[f"{name}_cents"]) for name in names),
        *marks,
    )


def moved(statement: Statement) -> list[StatementLine]:
    """The rungs of which anything was held or traded."""
    return [
        line
        for line in statement.rungs
        if line.fills or any((line.yes_open, line.no_open, line.yes_close, line.no_close))
    ]


def head_lines(statement: Statement) -> list[str]:
    """What stands above the table: whose it is, the cash, and whether it closes."""
    so_far = "" if statement.is_over else " (the day is not over)"
    lines = [f"{statement.book}, {statement.label}: {statement.day} UTC{so_far}"]
    if statement.cash_open_cents is not None and statement.cash_close_cents is not None:
        moved = statement.cash_close_cents - statement.cash_open_cents
        lines.append(
            f"cash {dollars(statement.cash_open_cents)} -> {dollars(statement.cash_close_cents)}, "
            f"{dollars(moved)}"
        )
    if statement.other_fills:
        lines.append(
            f"{dollars(statement.other_cents)} of it by {statement.other_fills} fills in markets "
            "of other series, not shown"
        )
    return lines


def check_lines(statement: Statement) -> list[str]:
    """A line for each thing that must agree, and the verdict."""
    verdict = "the statement closes" if statement.closes else "THE STATEMENT DOES NOT CLOSE"
    rows = [
        f"{'ok  ' if check.closes else 'FAIL'} {check.name}: {check.text}"
        for check in statement.checks
    ]
    return [*rows, verdict]


def as_text(statement: Statement) -> str:
    """For a person at a terminal."""
    rows = [HEAD, *(cells(line) for line in (*moved(statement), statement.total))]
    return "\n".join([*head_lines(statement), _table(rows), *check_lines(statement)])


def summary_line(statement: Statement) -> str:
    """The day in one line, for a notice."""
    parts = cents_of(statement.total)
    names = ("spread", "adverse", "drift", "fees")
    told = ", ".join(f"{name} {dollars(parts[f'{name}_cents'])}" for name in names)
    verdict = "closes" if statement.closes else "DOES NOT CLOSE"
    return (
        f"{statement.day}: profit {dollars(parts['profit_cents'])} ({told}), "
        f"{statement.total.fills} fills; the statement {verdict}"
    )


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    rows = list(rows)
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
