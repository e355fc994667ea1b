"""The records: what is written is whole or not at all, and writing it again changes nothing.

One writer a bot; whoever reads sees one instant. Everything here blocks, and raises StoreFault.
"""

# ruff: noqa: S608 - what is put into a statement here are names of this package and question marks

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Final

from bot.records.database import Database, Row, Value
from bot.records.migrate import migrate
from bot.records.rows import (
    BUCKET_S,
    AccountRow,
    BalanceRow,
    Batch,
    CursorRow,
    FillRow,
    MarkedRow,
    MarkRow,
    Picture,
    ProfitRow,
    RungRow,
    ValuedRow,
)
from bot.records.schema import DATED, STEPS, Step
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import FeeUnits, ceil_cents

_BUCKET_NS: Final = BUCKET_S * NS_PER_SECOND
_ASKED_AT_ONCE: Final = 500
_FEE_PLACE: Final = 1 + FillRow.__struct_fields__.index("fee_cents")

_RUNG: Final = """INSERT INTO rungs (account, market_id, ticker, event_ticker, maker_fee, taker_fee,
    seen_ns, resolved_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (account, market_id) DO UPDATE SET maker_fee = excluded.maker_fee,
    taker_fee = excluded.taker_fee, seen_ns = excluded.seen_ns,
    resolved_ns = COALESCE(rungs.resolved_ns, excluded.resolved_ns)"""
_FILL: Final = """INSERT INTO fills (account, fill_id, created_ns, market_id, ticker, event_ticker,
    order_id, trade_id, outcome, side, price, qty, fee_cents, fee_units, liquidity)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (account, fill_id) DO NOTHING"""
_VALUED: Final = """INSERT INTO valued (account, fill_id, heard_ns, value, level, strategy, reason)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account, fill_id) DO NOTHING"""
_MARKED: Final = """INSERT INTO marked (account, fill_id, against, horizon_s, value, at_ns)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (account, fill_id, against, horizon_s) DO NOTHING"""
_NOT_OURS: Final = """DELETE FROM rungs WHERE account = ? AND market_id = ? AND NOT EXISTS
    (SELECT 1 FROM marks WHERE marks.account = rungs.account
    AND marks.market_id = rungs.market_id)"""
"""A rung of which a trader of ours has told what it held was ours once, and stays."""

_SETTLED: Final = """UPDATE rungs SET winner = ?, settled_ns = ?
    WHERE account = ? AND market_id = ? AND winner IS NULL"""
_CURSOR: Final = """INSERT INTO cursors (book, account, segment, opened_ns, place, at_ns)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (book) DO UPDATE SET account = excluded.account,
    segment = excluded.segment, opened_ns = excluded.opened_ns, place = excluded.place,
    at_ns = excluded.at_ns"""


def _first_and_last(table: str, columns: str, key: str, newer: str) -> tuple[str, str]:
    """Two statements that keep the first and the last row of a stretch of time. newer: the column
    by which the last is known, so that what is read again later changes nothing."""
    names = columns.split(", ")
    places = ", ".join("?" for _ in range(len(names) + 1))
    moved = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key.split(", "))
    insert = (
        f"INSERT INTO {table} (is_last, {columns}) VALUES ({places}) ON CONFLICT ({key}, is_last)"
    )
    return (
        f"{insert} DO UPDATE SET {moved} WHERE excluded.{newer} < {table}.{newer}",
        f"{insert} DO UPDATE SET {moved} WHERE excluded.{newer} > {table}.{newer}",
    )


_MARK: Final = _first_and_last(
    "marks",
    "account, market_id, bucket_ns, at_ns, value, yes_qty, no_qty",
    "account, market_id, bucket_ns",
    "at_ns",
)
_BALANCE: Final = _first_and_last(
    "balances",
    "account, bucket_ns, begun_ns, ended_ns, total_cents",
    "account, bucket_ns",
    "begun_ns",
)
_PROFIT: Final = _first_and_last(
    "profits",
    "account, bucket_ns, at_ns, started_ns, profit, spread, adverse, drift, fees_cents, "
    "worst_case_cents, worst_case_limit_cents",
    "account, bucket_ns",
    "at_ns",
)


def _bucket(at_ns: int) -> int:
    return at_ns - at_ns % _BUCKET_NS


class Store:
    """The records of one bot, `book` by name, in a database that others may share."""

    def __init__(
        self, connect: Callable[[], Database], book: str, steps: Sequence[Step] = STEPS
    ) -> None:
        """Connect and bring the tables up to date. Raises StoreFault, nothing left open."""
        self.book = book
        self._database = connect()
        with ExitStack() as undo:
            undo.callback(self._database.close)
            self.was_version = migrate(self._database, steps)
            undo.pop_all()

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    # --- writing ----------------------------------------------------------------------------------

    def write(self, batches: Sequence[Batch], cursor: CursorRow | None) -> int:
        """Keep what was found and how far the journal was read, all or nothing; the fills that
        were not known before."""
        with self._database.writing():
            fresh = sum(self._write(batch) for batch in batches)
            if cursor is not None:
                self._database.run(
                    _CURSOR,
                    (
                        self.book,
                        cursor.account,
                        cursor.segment,
                        cursor.opened_ns,
                        cursor.place,
                        cursor.at_ns,
                    ),
                )
        return fresh

    def _write(self, batch: Batch) -> int:
        database, account = self._database, batch.account.account
        database.run(
            "INSERT INTO accounts (account, book, label, begun_ns) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (account) DO NOTHING",
            (account, batch.account.book, batch.account.label, batch.account.begun_ns),
        )
        for rung in batch.rungs:
            database.run(
                _RUNG,
                (
                    account,
                    rung.market_id,
                    rung.ticker,
                    rung.event_ticker,
                    rung.maker_fee,
                    rung.taker_fee,
                    rung.seen_ns,
                    rung.resolved_ns,
                ),
            )
        database.run_many(_NOT_OURS, [(account, market_id) for market_id in batch.not_ours])
        fresh = self._write_fills(account, batch.fills)
        database.run_many(_VALUED, [(account, *_fields(row)) for row in batch.valued])
        database.run_many(_MARKED, [(account, *_fields(row)) for row in batch.marked])
        for settled in batch.settled:
            database.run(_SETTLED, (settled.winner, settled.at_ns, account, settled.market_id))
        for balance in batch.balances:
            values = (account, _bucket(balance.begun_ns), *_fields(balance))
            for is_last, statement in enumerate(_BALANCE):
                database.run(statement, (is_last, *values))
        return fresh

    def _write_fills(self, account: int, fills: Sequence[FillRow]) -> int:
        """Keep those that are not known yet; how many they were."""
        fresh = {fill.fill_id: fill for fill in fills}
        for known in self._known(account, list(fresh)):
            del fresh[known]
        rows: list[list[Value]] = []
        units: dict[str, int] = {}
        for fill in fresh.values():
            values: list[Value] = [account, *_fields(fill)]
            if fill.fee_cents is None:
                values[_FEE_PLACE] = self._charged(account, fill, units)
            rows.append(values)
        self._database.run_many(_FILL, rows)
        return len(rows)

    def _known(self, account: int, fill_ids: Sequence[str]) -> Iterator[str]:
        """Those of these fills that are kept already."""
        for first in range(0, len(fill_ids), _ASKED_AT_ONCE):
            some = fill_ids[first : first + _ASKED_AT_ONCE]
            places = ", ".join("?" for _ in some)
            rows = self._database.run(
                f"SELECT fill_id FROM fills WHERE account = ? AND fill_id IN ({places})",
                (account, *some),
            )
            yield from (str(row[0]) for row in rows)

    def _charged(self, account: int, fill: FillRow, units: dict[str, int]) -> int:
        """The fee of a fill that the venue named none for: one rounding for all such fills of an
        order (S16), whatever the order in which they are read. units: the orders' sums so far."""
        if fill.order_id not in units:
            rows = self._database.run(
                "SELECT fee_units FROM fills WHERE account = ? AND order_id = ? "
                "AND fee_units IS NOT NULL",
                (account, fill.order_id),
            )
            units[fill.order_id] = sum(int(row[0]) for row in rows)
        before = units[fill.order_id]
        after = units[fill.order_id] = before + (fill.fee_units or 0)
        return ceil_cents(FeeUnits(after)) - ceil_cents(FeeUnits(before))

    def write_picture(self, account: int, picture: Picture) -> None:
        """Keep a picture as the newest of its ten minutes."""
        with self._database.writing():
            for mark in picture.marks:
                values = (account, mark.market_id, _bucket(mark.at_ns), *_fields(mark)[1:])
                for is_last, statement in enumerate(_MARK):
                    self._database.run(statement, (is_last, *values))
            profit = picture.profit
            if profit is not None:
                values = (account, _bucket(profit.at_ns), *_fields(profit))
                for is_last, statement in enumerate(_PROFIT):
                    self._database.run(statement, (is_last, *values))

    def prune(self, before_ns: int) -> int:
        """Forget what is older, and accounts of ours that nothing is left of; the rows gone."""
        gone = 0
        accounts = [row.account for row in self.accounts()]
        for table, column in DATED:
            for account in accounts:
                with self._database.writing():
                    count = self._database.run(
                        f"SELECT COUNT(*) FROM {table} WHERE account = ? AND {column} < ?",
                        (account, before_ns),
                    )
                    if count[0][0]:
                        self._database.run(
                            f"DELETE FROM {table} WHERE account = ? AND {column} < ?",
                            (account, before_ns),
                        )
                    gone += int(count[0][0])
        with self._database.writing():
            for account in accounts:
                self._forget(account, before_ns)
        return gone

    def _forget(self, account: int, before_ns: int) -> None:
        left = sum(
            len(self._database.run(f"SELECT 1 FROM {table} WHERE account = ? LIMIT 1", (account,)))
            for table, _ in DATED
        )
        if not left:
            self._database.run(
                "DELETE FROM accounts WHERE account = ? AND begun_ns < ?", (account, before_ns)
            )

    # --- reading ----------------------------------------------------------------------------------

    def reading(self) -> AbstractContextManager[None]:
        """A transaction in which everything is read as of one instant."""
        return self._database.reading()

    def cursor(self) -> CursorRow | None:
        """How far this bot's journal has been read; None before it ever was."""
        rows = self._database.run(
            "SELECT account, segment, opened_ns, place, at_ns FROM cursors WHERE book = ?",
            (self.book,),
        )
        return CursorRow(*rows[0]) if rows else None

    def accounts(self) -> list[AccountRow]:
        """The accounts of this bot, the newest first."""
        rows = self._database.run(
            "SELECT account, book, label, begun_ns FROM accounts WHERE book = ? "
            "ORDER BY begun_ns DESC, account",
            (self.book,),
        )
        return [AccountRow(*row) for row in rows]

    def rungs(self, account: int) -> list[RungRow]:
        """Every rung of the series that an account has seen."""
        rows = self._database.run(
            "SELECT market_id, ticker, event_ticker, maker_fee, taker_fee, seen_ns, resolved_ns, "
            "winner, settled_ns FROM rungs WHERE account = ?",
            (account,),
        )
        names = RungRow.__struct_fields__
        return [RungRow(**dict(zip(names, row, strict=True))) for row in rows]

    def fills(self, account: int, from_ns: int, until_ns: int) -> list[FillRow]:
        """The fills of a stretch of the venue's time, the end left out, oldest first."""
        rows = self._database.run(
            "SELECT fill_id, created_ns, market_id, ticker, event_ticker, order_id, trade_id, "
            "outcome, side, price, qty, fee_cents, fee_units, liquidity FROM fills "
            "WHERE account = ? AND created_ns >= ? AND created_ns < ?",
            (account, from_ns, until_ns),
        )
        names = FillRow.__struct_fields__
        found = [FillRow(**dict(zip(names, row, strict=True))) for row in rows]
        # Sorted here: databases differ in how they sort text.
        return sorted(found, key=lambda fill: (fill.created_ns, fill.fill_id))

    def last_price_before(self, account: int, market_id: str, before_ns: int) -> int | None:
        """The canonical price of the last fill of a rung before an instant."""
        rows = self._database.run(
            "SELECT MAX(created_ns) FROM fills WHERE account = ? AND market_id = ? "
            "AND created_ns < ?",
            (account, market_id, before_ns),
        )
        if rows[0][0] is None:
            return None
        at_ns = int(rows[0][0])
        found = [f for f in self.fills(account, at_ns, at_ns + 1) if f.market_id == market_id]
        return found[-1].yes_price

    def valued(self, account: int, fills: Sequence[FillRow]) -> dict[str, ValuedRow]:
        """What was believed at these fills, by fill id."""
        rows = self._of_fills(
            "SELECT v.fill_id, v.heard_ns, v.value, v.level, v.strategy, v.reason FROM valued v "
            "JOIN fills f ON f.account = v.account AND f.fill_id = v.fill_id "
            "WHERE f.account = ? AND f.created_ns >= ? AND f.created_ns <= ?",
            account,
            fills,
        )
        return {row[0]: ValuedRow(*row) for row in rows}

    def marked(self, account: int, fills: Sequence[FillRow]) -> list[MarkedRow]:
        """What became of these fills."""
        rows = self._of_fills(
            "SELECT m.fill_id, m.against, m.horizon_s, m.value, m.at_ns FROM marked m "
            "JOIN fills f ON f.account = m.account AND f.fill_id = m.fill_id "
            "WHERE f.account = ? AND f.created_ns >= ? AND f.created_ns <= ?",
            account,
            fills,
        )
        return [MarkedRow(*row) for row in rows]

    def _of_fills(self, statement: str, account: int, fills: Sequence[FillRow]) -> list[Row]:
        if not fills:
            return []
        ends = (fills[0].created_ns, fills[-1].created_ns)
        return self._database.run(statement, (account, *ends))

    def marks(self, account: int, from_ns: int, until_ns: int) -> list[MarkRow]:
        """The rungs in a stretch of time, the end left out, oldest first."""
        rows = self._database.run(
            "SELECT market_id, at_ns, value, yes_qty, no_qty FROM marks WHERE account = ? "
            "AND at_ns >= ? AND at_ns < ?",
            (account, from_ns, until_ns),
        )
        return sorted({MarkRow(*row) for row in rows}, key=lambda row: (row.at_ns, row.market_id))

    def mark_before(self, account: int, market_id: str, before_ns: int) -> MarkRow | None:
        """The newest of a rung before an instant."""
        return self._mark("at_ns < ? ORDER BY at_ns DESC", account, market_id, before_ns)

    def mark_from(self, account: int, market_id: str, from_ns: int) -> MarkRow | None:
        """The first of a rung from an instant on."""
        return self._mark("at_ns >= ? ORDER BY at_ns", account, market_id, from_ns)

    def value_before(self, account: int, market_id: str, before_ns: int) -> MarkRow | None:
        """The newest of a rung before an instant that has a value."""
        where = "value IS NOT NULL AND at_ns < ? ORDER BY at_ns DESC"
        return self._mark(where, account, market_id, before_ns)

    def value_from(self, account: int, market_id: str, from_ns: int) -> MarkRow | None:
        """The first of a rung from an instant on that has a value."""
        where = "value IS NOT NULL AND at_ns >= ? ORDER BY at_ns"
        return self._mark(where, account, market_id, from_ns)

    def _mark(self, where: str, account: int, market_id: str, at_ns: int) -> MarkRow | None:
        rows = self._database.run(
            "SELECT market_id, at_ns, value, yes_qty, no_qty FROM marks "
            f"WHERE account = ? AND market_id = ? AND {where} LIMIT 1",
            (account, market_id, at_ns),
        )
        return MarkRow(*rows[0]) if rows else None

    def balances(self, account: int, from_ns: int, until_ns: int) -> list[BalanceRow]:
        """The balances asked for in a stretch of time, the end left out, oldest first."""
        rows = self._database.run(
            "SELECT DISTINCT begun_ns, ended_ns, total_cents FROM balances WHERE account = ? "
            "AND begun_ns >= ? AND begun_ns < ? ORDER BY begun_ns",
            (account, from_ns, until_ns),
        )
        return [BalanceRow(*row) for row in rows]

    def balance_before(self, account: int, before_ns: int) -> BalanceRow | None:
        """The newest balance asked for before an instant."""
        rows = self._database.run(
            "SELECT begun_ns, ended_ns, total_cents FROM balances WHERE account = ? "
            "AND begun_ns < ? ORDER BY begun_ns DESC LIMIT 1",
            (account, before_ns),
        )
        return BalanceRow(*rows[0]) if rows else None

    def balance_from(self, account: int, from_ns: int) -> BalanceRow | None:
        """The first balance asked for from an instant on."""
        rows = self._database.run(
            "SELECT begun_ns, ended_ns, total_cents FROM balances WHERE account = ? "
            "AND begun_ns >= ? ORDER BY begun_ns LIMIT 1",
            (account, from_ns),
        )
        return BalanceRow(*rows[0]) if rows else None

    def profits(self, account: int, from_ns: int, until_ns: int) -> list[ProfitRow]:
        """The runs' own accounts of profit in a stretch of time, the end left out, oldest first."""
        rows = self._database.run(
            "SELECT DISTINCT at_ns, started_ns, profit, spread, adverse, drift, fees_cents, "
            "worst_case_cents, worst_case_limit_cents FROM profits WHERE account = ? "
            "AND at_ns >= ? AND at_ns < ? ORDER BY at_ns",
            (account, from_ns, until_ns),
        )
        return [ProfitRow(*row) for row in rows]


def _fields(row: object) -> tuple[Value, ...]:
    """The values of a row in the order of its fields."""
    names: tuple[str, ...] = row.__struct_fields__  # type: ignore[attr-defined]
    return tuple(getattr(row, name) for name in names)
