"""A statement as plain values, CSV, text, and one HTML page. Amounts are whole cents that add up:
what rounding leaves, two cents at most, is in the drift."""

import csv
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from bot.core.account.markouts import HORIZONS_S, MILLI
from bot.core.report import Against
from bot.io.metrics.profits import part_cents, plain_markout
from bot.page.plot import Plot, rows_plot, span_of
from bot.page.skeleton import columns, escaped, figure, html_page, numbers, panel, table
from bot.page.text import Income, income, text_table
from bot.records.rows import ProfitRow
from bot.records.statement import StatedFill, Statement, StatementLine
from venue.wire.instant import NS_PER_SECOND, from_ns
from venue.wire.money import dollars

_PARTS: Final = ("spread", "adverse", "drift", "fees")


def cents_of(line: StatementLine) -> dict[str, int]:
    return part_cents(line.profit, line.spread, line.adverse, line.fees_cents)


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


def plain_fill(stated: StatedFill) -> dict[str, object]:
    """A fill as plain values; markouts against fair in thousandths of a cent a share."""
    fill, valued = stated.fill, stated.valued
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
            for horizon_s, markout in zip(HORIZONS_S, stated.markouts, strict=True)
        },
    }


def plain(statement: Statement) -> dict[str, object]:
    return {
        "bot": statement.book,
        "account": statement.label,
        "day": statement.day,
        "is_over": statement.is_over,
        "closes": statement.closes,
        "checks": [msgspec.structs.asdict(check) for check in statement.checks],
        "cash_open_cents": statement.cash_open_cents,
        "cash_close_cents": statement.cash_close_cents,
        "other_series": {"fills": statement.other_fills, "cash_cents": statement.other_cents},
        "total": _plain_line(statement.total),
        "rungs": [_plain_line(line) for line in statement.rungs],
        "fills": [plain_fill(each) for each in statement.fills],
    }


# --- CSV ------------------------------------------------------------------------------------------

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
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


def cell_text(text: str) -> str:
    """A text as a cell of CSV: behind an apostrophe if a spreadsheet would compute it as a formula,
    with a space for a carriage return, which not every reader accepts within a text."""
    safe = text.replace("\r", " ")
    return f"'{safe}" if text.startswith(_FORMULA) else safe


def as_csv(statement: Statement) -> str:
    """One row for each check, cash amount, market, total and fill, by the column `kind`. A cell is
    empty where the column does not apply."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in _rows(statement):
        writer.writerow(
            {key: cell_text(cell) if isinstance(cell, str) else cell for key, cell in row.items()}
        )
    return out.getvalue()


def _rows(statement: Statement) -> Iterator[Mapping[str, object]]:
    for check in statement.checks:
        text = f"{'closes' if check.closes else 'DOES NOT CLOSE'}: {check.text}"
        yield {"kind": "check", "name": check.name, "text": text}
    yield {"kind": "cash", "name": "open", "cash_cents": statement.cash_open_cents}
    yield {"kind": "cash", "name": "other series", "cash_cents": statement.other_cents}
    yield {"kind": "cash", "name": "close", "cash_cents": statement.cash_close_cents}
    for line in statement.rungs:
        yield {"kind": "rung", **_plain_line(line)}
    yield {"kind": "total", **_plain_line(statement.total)}
    for each in statement.fills:
        yield {"kind": "fill", "name": each.fill.ticker, **plain_fill(each)}


# --- text -----------------------------------------------------------------------------------------

_HEAD: Final = (
    *("", "profit", *_PARTS, "cash", "fills", "bought", "sold", "YES/NO before", "after"),
    *(f"{horizon_s} s" for horizon_s in HORIZONS_S),
)


def _cells(line: StatementLine) -> tuple[str, ...]:
    """A row under `_HEAD`: dollars, and mean markouts in cents a share."""
    cents = cents_of(line)
    means = {e.horizon_s: e.mean_cents for e in line.markouts if e.against is Against.FAIR}
    return (
        line.name,
        *(income(cents[f"{name}_cents"]) for name in ("profit", *_PARTS[:-1])),
        dollars(cents["fees_cents"]),
        dollars(line.cash_cents),
        str(line.fills),
        str(line.bought_qty),
        str(line.sold_qty),
        f"{line.yes_open}/{line.no_open}",
        f"{line.yes_close}/{line.no_close}",
        *(Income(f"{means[each]:+.2f}") if each in means else "-" for each in HORIZONS_S),
    )


def _active(statement: Statement) -> list[StatementLine]:
    return [
        line
        for line in statement.rungs
        if line.fills or any((line.yes_open, line.no_open, line.yes_close, line.no_close))
    ]


def _head_lines(statement: Statement) -> list[str]:
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


def _check_lines(statement: Statement) -> list[str]:
    verdict = "the statement closes" if statement.closes else "THE STATEMENT DOES NOT CLOSE"
    rows = [
        f"{'ok  ' if check.closes else 'FAIL'} {check.name}: {check.text}"
        for check in statement.checks
    ]
    return [*rows, verdict]


def as_text(statement: Statement) -> str:
    """For a person at a terminal."""
    title, *head = _head_lines(statement)
    rows = [_HEAD, *(_cells(line) for line in (*_active(statement), statement.total))]
    checks = _check_lines(statement)
    return "\n".join([title, _profit_line(statement.total), *head, text_table(rows), *checks])


def _profit_line(line: StatementLine) -> str:
    cents = cents_of(line)
    parts = ", ".join(f"{name} {dollars(cents[f'{name}_cents'])}" for name in _PARTS)
    return f"profit {dollars(cents['profit_cents'])} ({parts}), {line.fills} fills"


def summary_line(statement: Statement) -> str:
    verdict = "closes" if statement.closes else "DOES NOT CLOSE"
    return f"{statement.day}: {_profit_line(statement.total)}; the statement {verdict}"


# --- the page -------------------------------------------------------------------------------------

_HOUR_NS: Final = 3_600 * NS_PER_SECOND
_SHORT_NS: Final = 2 * _HOUR_NS
_FILLS_SHOWN_MAX: Final = 5_000
_NOTHING: Final = "No rung held or traded anything on this day."
_FILL_COLUMNS: Final = (
    *("at", "rung", "side", "price", "qty", "fee_cents", "cash_cents", "fair_millicents"),
    *("reason", "markout_1s_millicents", "markout_10s_millicents", "markout_60s_millicents"),
    *("markout_300s_millicents", "fill_id"),
)


def page(statement: Statement, profits: Sequence[ProfitRow]) -> str:
    """The whole HTML file. profits: the runs' attributions through the day, for the first plot."""
    *checks, verdict = _check_lines(statement)
    title, *head = _head_lines(statement)
    lines = _active(statement)
    rungs = [_cells(line) for line in (*lines, statement.total)]
    total = zip(_HEAD[1:], rungs[-1][1:], strict=True)
    leading = list(itertools.islice(total, len(_PARTS) + 3))
    note = "Markouts: cents a share against fair, weighted by shares."
    fills = [plain_fill(each) for each in statement.fills[:_FILLS_SHOWN_MAX]]
    rows = [["" if fill[k] is None else fill[k] for k in _FILL_COLUMNS] for fill in fills]
    left = len(statement.fills) - len(fills)
    more = f"<p>{left} more are in the CSV.</p>" if left else ""
    names = [name.replace("_", " ") for name in _FILL_COLUMNS]
    figures = (_profit_plot(statement, profits), _rung_plot(lines), _holdings_plot(lines))
    body = [
        numbers(leading),
        f"<p class='finding{' good' if statement.closes else ''}'>{escaped(verdict)}</p>",
        *(f"<p>{escaped(line)}</p>" for line in head),
        "<ul>",
        *(f"<li>{escaped(line)}</li>" for line in checks),
        "</ul>",
        panel("figures", "Figures", columns(figures, 2)),
        panel("rungs", "By rung", table(note, _HEAD, rungs, sums=1)),
        panel("fills", "Fills", table("", names, rows, label="Fills") + more),
    ]
    return html_page(title, "".join(body))


def curves(profits: Sequence[ProfitRow]) -> dict[str, list[tuple[int, float]]]:
    """Profit and its parts through the day in dollars, 0 at the first: the sums of all runs, each
    of which counts from 0. Fees are negative."""
    names = ("profit", *_PARTS)
    out: dict[str, list[tuple[int, float]]] = {name: [] for name in names}
    sums = dict.fromkeys(names, 0)
    before: dict[str, int] | None = None
    started_ns = None
    for row in profits:
        now = {name: getattr(row, name) for name in names[:-1]}
        now["fees"] = -MILLI * row.fees_cents
        if before is not None:
            last = before if row.started_ns == started_ns else dict.fromkeys(names, 0)
            for name in names:
                sums[name] += now[name] - last[name]
        before, started_ns = now, row.started_ns
        for name in names:
            out[name].append((row.at_ns, sums[name] / (100 * MILLI)))
    return out


def _profit_plot(statement: Statement, profits: Sequence[ProfitRow]) -> str:
    title = "Profit through the day by its sources"
    if not profits:
        return figure("profit", title, "", "No run kept an account of its profit on this day.")
    found = curves(profits)
    begun_ns, unit_ns, across = statement.from_ns, _HOUR_NS, "hour of the day, UTC"
    span_ns = profits[-1].at_ns - profits[0].at_ns
    if span_ns < _SHORT_NS:  # too short for the scale of a day
        begun_ns, unit_ns = profits[0].at_ns, 60 * NS_PER_SECOND
        across = f"minutes since {from_ns(begun_ns)[11:16]} UTC"
    points = {
        name: [((at_ns - begun_ns) / unit_ns, value) for at_ns, value in each]
        for name, each in found.items()
    }
    whole = 24.0 if begun_ns == statement.from_ns else span_ns / unit_ns
    plot = Plot(span_of([whole]), span_of(y for each in points.values() for _, y in each), 270)
    plot.marks_across(None, across)
    plot.marks_up("$")
    for name, each in points.items():
        plot.trace(f"ink {name}", each)
    plot.names((name, f"ink {name}", each[-1][1], "") for name, each in points.items())
    return figure("profit", title, plot.svg(title), "")


def _rung_plot(lines: Sequence[StatementLine]) -> str:
    """A bar for each source, one above the other, and the profit as a mark."""
    title = "Profit by rung: mark; spread, adverse, drift, fees: bars, from above"
    if not lines:
        return figure("rungs", title, "", _NOTHING)
    rows = []
    for line in lines:
        cents = cents_of(line)
        bars = (*(cents[f"{name}_cents"] / 100 for name in _PARTS[:3]), -cents["fees_cents"] / 100)
        rows.append((bars, cents["profit_cents"] / 100))
    across = span_of(value for bars, profit in rows for value in (*bars, profit))
    plot = rows_plot(across, "$", _short_names(lines), 34)
    for place, (bars, profit) in enumerate(rows):
        for at, (name, value) in enumerate(zip(_PARTS, bars, strict=True)):
            top = 0.32 - 0.16 * at - place
            plot.block(f"ink {name}", 0, top, value, top - 0.12, f"{name} {value:+.2f}")
        x = plot.x(profit)
        style = "good" if profit > 0 else "poor" if profit < 0 else "profit"
        plot.line(f"ink {style}", x, plot.y(0.42 - place), x, plot.y(-0.42 - place))
    return figure("rungs", title, plot.svg(title), "")


def _holdings_plot(lines: Sequence[StatementLine]) -> str:
    """YES shares less NO shares of each market, before and after the day."""
    title = "Held before (grey) and after (blue)"
    if not lines:
        return figure("held", title, "", _NOTHING)
    nets = [(line.yes_open - line.no_open, line.yes_close - line.no_close) for line in lines]
    across = span_of(float(value) for pair in nets for value in pair)
    plot = rows_plot(across, "shares, YES less NO", _short_names(lines), 26)
    for place, (before, after) in enumerate(nets):
        plot.block("ink open", 0, 0.35 - place, before, 0.05 - place, f"before {before:+d}")
        plot.block("ink fair", 0, -0.05 - place, after, -0.35 - place, f"after {after:+d}")
    return figure("held", title, plot.svg(title), "")


def _short_names(lines: Sequence[StatementLine]) -> list[str]:
    """The tickers; without their event's if all are of one."""
    if len({line.event for line in lines}) > 1:
        return [line.name for line in lines]
    return [line.name.removeprefix(f"{line.event}-") for line in lines]
