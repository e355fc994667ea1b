"""The pages in one file that the commands write, one of each kind, from small real runs."""

import datetime
from pathlib import Path

from bot.records.database import Sqlite
from bot.records.day import gather
from bot.records.output import page
from bot.records.statement import state
from bot.records.store import Store
from tests.builders.backtest.made import book, configured, trade, written
from tests.builders.io.commands import invoke
from tests.builders.records.days import ACCOUNT, BOOK, busy_days
from tests.builders.records.lived import NIGHT_NS
from tests.builders.report.lived import lived
from tests.builders.sweep.planted import CONFIG, OVER, SCORE

KINDS = ("report", "backtest", "evaluation", "sweep", "statement")
_DAY = datetime.date(2026, 11, 20)


def written_pages(folder: Path) -> dict[str, Path]:
    """The files, by kind."""
    files = {kind: folder / f"{kind}.html" for kind in KINDS}
    state_dir, _ = lived(folder)
    records = [book(second / 2, [[40, 30]], [[60, 50]]) for second in range(40)]
    tape = written(folder / "tape", [*records, trade(21, 38, 50, "no")])
    config = configured(folder, "fixed_spread")
    over = [part for text in OVER for part in ("--over", text)]
    entries = ("--strategies", "fixed_spread,pure_mm", "--worlds", "base", "--no-baselines")
    for arguments in (
        ("report", state_dir, "--html", files["report"]),
        ("backtest", "--data", tape, "--config", config, "--html", files["backtest"]),
        ("evaluate", *entries, "--seeds", "1-2", "--steps", "40", "--html", files["evaluation"]),
        ("sweep", "--config", CONFIG, "--world", "independent-base", "--objective", SCORE, *over,
         "--how", "random", "--trials", "12", "--seeds", "1-6", "--html", files["sweep"]),
    ):  # fmt: skip
        done = invoke(*arguments)
        assert done.exit_code == 0, done.output
    store = Store(lambda: Sqlite(folder / "records.sqlite3"), BOOK)
    busy_days(store, 1)
    day = gather(store, ACCOUNT, _DAY, 2 * NIGHT_NS)
    files["statement"].write_text(page(state(day), day.profits), encoding="utf-8")
    store.close()
    return files
