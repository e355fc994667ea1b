"""A state directory with a run's journal, and the recorder of its fills and snapshots."""

import msgspec

from bot.core.report import Phase, ProfitReport, ProfitRow, Report
from bot.records.daily_summary import DailySummary, StorePlace
from bot.records.database import Sqlite, StoreFault
from bot.records.recorder import Recorder
from bot.records.store import Store
from tests.builders.io.samples import report
from tests.builders.records.lived import NOON_NS, Journalled, fill, market
from venue.wire.instant import NS_PER_SECOND

BOOK = "acme"
END_NS = 10**19 // 2


def recorded_fills(store: Store) -> list[str]:
    """The ids of all fills, account by account."""
    accounts = [row.account for row in store.accounts()]
    return [fill.fill_id for account in accounts for fill in store.fills(account, 0, END_NS)]


def snapshot(at_ns: int = NOON_NS) -> Report:
    """A report with open books."""
    total = ProfitRow("total", 1, 1, 700, 1_000, -300, 1_000, 1, ())
    profit = ProfitReport(total, 0, 0, 0, 0, 0, {"rung": (), "side": ()})
    return msgspec.structs.replace(
        report(Phase.QUOTING, at_ns), profit=profit, fills_from_ns=at_ns - NS_PER_SECOND
    )


class Site:
    """The journal and its recorder. notices: takes daily summaries; None: nobody wants any."""

    def __init__(self, tmp_path, open_store=None, notices=None) -> None:
        self.journal = Journalled(tmp_path / "state")
        self.journal.started(NOON_NS)
        self.journal.series(NOON_NS, market(1))
        self.path = tmp_path / "records.sqlite3"
        self.now_ns = NOON_NS
        self.broken = False
        self.recorder = Recorder(
            open_store or self.store, self.journal.folder, "here", keep_days=30, poll_s=0.01,
            notify=notices or (lambda _text, _at_ns: None),
            summary=None if notices is None else DailySummary(StorePlace(BOOK, self.path)),
        )  # fmt: skip
        self.recorder.on_run_start(lambda: snapshot(self.now_ns), lambda: self.now_ns)

    def store(self) -> Store:
        if self.broken:
            raise StoreFault("the disk is away")
        return Store(lambda: Sqlite(self.path), BOOK)

    def traded(self, number: int) -> None:
        """A fill comes in."""
        self.journal.fills(NOON_NS + number, fill(number, NOON_NS + number))

    def fills(self) -> list[str]:
        store = Store(lambda: Sqlite(self.path), BOOK)
        try:
            return recorded_fills(store)
        finally:
            store.close()
