"""What backtests came to as text: a table with both bounds side by side, and what it does not show.

Source: strategy, 4, Backtest realism.
"""

from collections.abc import Sequence
from typing import Final

from bot.core.imagined import Bound
from bot.lab.backtest.market import Kind
from bot.lab.backtest.run import Result

LIMITS: Final = {
    Kind.BOOKS: "replayed history does not react to us: no result about size",
    Kind.TOPS: "no sizes and no prints were recorded: fills only where others come to our price, "
    "of sizes made up; both bounds are one",
    Kind.TRADES: "books are made up around prints; averse fills only what trades through our price",
}
"""What a kind of tape cannot say."""

_HEAD: Final = (
    f"{'tape':<18} {'bound':<7} {'events':>6} {'profit $':>10} {'fees $':>8} {'fills':>6} "
    f"{'came':>7} {'took':>6} {'of prints':>9} {'requests':>8} {'worst $':>8} {'ev/s':>7}"
)


def text(results: Sequence[Result]) -> str:
    """The table: a row for each tape and bound, then what there is to be said of them."""
    lines = [_HEAD]
    for tape in dict.fromkeys(result.tape for result in results):
        rows = [result for result in results if result.tape == tape]
        lines += [_row(tape, bound, rows) for bound in Bound if _under(rows, bound)]
    return "\n".join([*lines, "", *notes(results)])


def _under(rows: Sequence[Result], bound: Bound) -> list[Result]:
    return [row for row in rows if row.bound == bound.value]


def _row(tape: str, bound: Bound, rows: Sequence[Result]) -> str:
    mine = _under(rows, bound)
    printed = sum(row.printed_qty for row in mine)
    share = f"{sum(row.maker_qty for row in mine) / printed:9.2%}" if printed else f"{'-':>9}"
    cpu_s = sum(row.cpu_s for row in mine)
    rate = sum(row.events for row in mine) / cpu_s if cpu_s else 0.0
    return (
        f"{tape:<18} {bound:<7} {len(mine):6d} "
        f"{sum(row.net_millicents for row in mine) / 100_000:10.2f} "
        f"{sum(row.fees_cents for row in mine) / 100:8.2f} "
        f"{sum(row.fills for row in mine):6d} "
        f"{sum(row.maker_qty for row in mine):7d} {sum(row.taker_qty for row in mine):6d} {share} "
        f"{sum(sum(row.requests.values()) for row in mine):8d} "
        f"{max(row.worst_case_max_cents for row in mine) / 100:8.2f} {rate:7.0f}"
    )


def notes(results: Sequence[Result]) -> list[str]:
    """What a reader has to know beside the numbers, a line each."""
    lines = []
    for tape in dict.fromkeys(result.tape for result in results):
        rows = [result for result in results if result.tape == tape]
        lines.append(f"{tape}: {LIMITS[Kind(rows[0].recorded)]}")
        if any(row.settled == "mid" for row in rows):
            lines.append(f"{tape}: no known outcome or not played whole: marked at the last middle")
        if not all(row.whole for row in rows):
            lines.append(f"{tape}: ended early, these are the figures up to there")
        for row in rows:
            if row.latched:
                lines.append(f"{row.event}, {row.bound}: latched: {row.latched}")
            if row.strategy_errors:
                lines.append(f"{row.event}, {row.bound}: {row.strategy_errors} strategy errors")
        averse, likely = (sum(row.net_millicents for row in _under(rows, bound)) for bound in Bound)
        if averse <= 0 < likely:
            lines.append(f"{tape}: a profit under the likely bound alone is none")
    return lines
