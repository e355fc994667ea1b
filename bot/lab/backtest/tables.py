"""What backtests came to as text: a table with all readings side by side, and what it cannot
show.
"""

from collections.abc import Sequence
from typing import Final

from bot.lab.backtest.run import Result
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.recorded import Kind

LIMITS: Final = {
    Kind.BOOKS: "replayed history does not react to us: no result about size",
    Kind.TOPS: "no sizes and no prints were recorded: fills only where others come to our price, "
    "of sizes made up; all readings of the queue are one",
    Kind.TRADES: "books are made up around prints; averse fills what trades through our price, "
    "kind all that trades at it",
}
"""What a kind of tape cannot say."""

_HEAD: Final = (
    f"{'tape':<18} {'queue':<7} {'events':>6} {'profit $':>10} {'fees $':>8} {'fills':>6} "
    f"{'came':>7} {'took':>6} {'of prints':>9} {'requests':>8} {'worst $':>8} {'ev/s':>7}"
)


def text(results: Sequence[Result]) -> str:
    """The table: a row for each tape and reading, then what there is to be said of them."""
    lines = [_HEAD]
    for tape in dict.fromkeys(result.tape for result in results):
        rows = [result for result in results if result.tape == tape]
        lines += [_row(tape, reading, rows) for reading in QueueModel if _under(rows, reading)]
    return "\n".join([*lines, "", *notes(results)])


def _under(rows: Sequence[Result], reading: QueueModel) -> list[Result]:
    return [row for row in rows if row.bound == reading.value]


def _row(tape: str, reading: QueueModel, rows: Sequence[Result]) -> str:
    mine = _under(rows, reading)
    printed = sum(row.printed_qty for row in mine)
    share = f"{sum(row.maker_qty for row in mine) / printed:9.2%}" if printed else f"{'-':>9}"
    cpu_s = sum(row.cpu_s for row in mine)
    rate = sum(row.events for row in mine) / cpu_s if cpu_s else 0.0
    return (
        f"{tape:<18} {reading:<7} {len(mine):6d} "
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
        if any(row.settled == "part" for row in rows):
            lines.append(f"{tape}: rungs without a known outcome: marked at the last middle")
        asked = [row for row in rows if not (row.whole or row.ended_early)]
        if asked:
            lines.append(f"{tape}: the first {asked[0].asked} records of each event, as asked for")
        if any(row.ended_early for row in rows):
            lines.append(f"{tape}: ended early, these are the figures up to there")
        lines.append(
            f"{tape}: fees as given, not as recorded: maker {rows[0].maker_rate}, "
            f"taker {rows[0].taker_rate} (--maker-fee, --taker-fee)"
        )
        for row in rows:
            if row.latched:
                lines.append(f"{row.event}, {row.bound}: latched: {row.latched}")
            if row.strategy_errors:
                errors = f"{row.strategy_errors} strategy errors, the first: {row.strategy_fault}"
                lines.append(f"{row.event}, {row.bound}: {errors}")
        net = {
            reading: sum(row.net_millicents for row in _under(rows, reading))
            for reading in QueueModel
            if _under(rows, reading)
        }
        if net.get(QueueModel.PESSIMISTIC, 1) <= 0 < max(net.values()):
            lines.append(f"{tape}: a profit that averse does not have is none")
    return lines
