"""The records of one bot: each write is whole or not at all, and repeating it changes nothing.

One writer a bot; a reader sees one instant. Everything here blocks, and raises StoreFault.
"""

# ruff: noqa: S608 - statements are put together from names of this package and question marks

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Final, TypeVar

import msgspec

from bot.records.database import Database, Value
from bot.records.rows import (
    BUCKET_S,
    AccountRow,
    BalanceRow,
    Batch,
    CursorRow,
    FillRow,
    MarkedRow,
    MarkRow,
    ProfitRow,
    RungRow,
    TraderSample,
    ValuedRow,
)
from bot.records.tables import DATED, STEPS, Step, migrate
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import FeeUnits, ceil_cents

T = TypeVar("T", bound=msgspec.Struct)

_BUCKET_NS: Final = BUCKET_S * NS_PER_SECOND
_IDS_AT_ONCE: Final = 500
_FEE_PLACE: Final = 1 + FillRow.__struct_fields__.index("fee_cents")


def _names(kind: type[msgspec.Struct], *before: str) -> tuple[str, ...]:
    return *before, *kind.__struct_fields__


def _insert(table: str, names: Sequence[str], conflict: str) -> str:
    places = ", ".join("?" for _ in names)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places}) ON CONFLICT {conflict}"


def _update(names: Sequence[str]) -> str:
    return "DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in names)


def _first_and_last(table: str, kind: type[msgspec.Struct], newer: str) -> tuple[str, str]:
    """Two statements that keep the first and the last row of a bucket of time. newer: the column
    that orders them, so that reading a journal again changes nothing."""
    keys = ["account", "bucket_ns"]
    if "market_id" in kind.__struct_fields__:
        keys.append("market_id")
    names = [name for name in kind.__struct_fields__ if name != "market_id"]
    conflict = f"({', '.join(keys)}, is_last) {_update(names)} WHERE excluded.{newer}"
    insert = f"{_insert(table, ['is_last', *keys, *names], conflict)}"
    return f"{insert} < {table}.{newer}", f"{insert} > {table}.{newer}"


_ACCOUNT: Final = _insert("accounts", _names(AccountRow), "(account) DO NOTHING")
_RUNG: Final = _insert(
    "rungs",
    _names(RungRow, "account")[:-2],
    f"(account, market_id) {_update(('maker_fee', 'taker_fee', 'seen_ns'))}, "
    "resolved_ns = COALESCE(rungs.resolved_ns, excluded.resolved_ns)",
)
_FILL: Final = _insert("fills", _names(FillRow, "account"), "(account, fill_id) DO NOTHING")
_VALUED: Final = _insert("valued", _names(ValuedRow, "account"), "(account, fill_id) DO NOTHING")
_MARKED: Final = _insert(
    "marked", _names(MarkedRow, "account"), "(account, fill_id, against, horizon_s) DO NOTHING"
)
_CURSOR: Final = _insert(
    "cursors", _names(CursorRow, "book"), f"(book) {_update(CursorRow.__struct_fields__)}"
)
_FOREIGN: Final = """DELETE FROM rungs WHERE account = ? AND market_id = ? AND NOT EXISTS
    (SELECT 1 FROM marks WHERE marks.account = rungs.account
    AND marks.market_id = rungs.market_id)"""
"""A market whose inventory a trader of ours has sampled was ours once, and stays."""

_SETTLED: Final = """UPDATE rungs SET winner = ?, settled_ns = ?
    WHERE account = ? AND market_id = ? AND winner IS NULL"""
_MARK: Final = _first_and_last("marks", MarkRow, "at_ns")
_BALANCE: Final = _first_and_last("balances", BalanceRow, "begun_ns")
_PROFIT: Final = _first_and_last("profits", ProfitRow, "at_ns")


def _bucket(at_ns: int) -> int:
    return at_ns - at_ns % _BUCKET_NS


class Store:
    """The records of one bot, `book` by name, in a database that others may share."""

    def __init__(
        self, connect: Callable[[], Database], book: str, steps: Sequence[Step] = STEPS
    ) -> None:
        """Connect and migrate. If that raises, nothing is left open."""
        self.book = book
        self._database = connect()
        with ExitStack() as undo:
            undo.callback(self._database.close)
            self.was_version = migrate(self._database, steps)
            undo.pop_all()

    def close(self) -> None:
        self._database.close()

    # --- writing ----------------------------------------------------------------------------------

    def write(self, batches: Sequence[Batch], cursor: CursorRow | None) -> int:
        """Store what a look at the journal found and how far it read, all or nothing; the number of
        new fills."""
        with self._database.writing():
            fresh = sum(self._write_batch(batch) for batch in batches)
            if cursor is not None:
                self._database.run(_CURSOR, (self.book, *_values(cursor)))
        return fresh

    def _write_batch(self, batch: Batch) -> int:
        database, account = self._database, batch.account.account
        database.run(_ACCOUNT, _values(batch.account))
        database.run_many(_RUNG, [(account, *_values(row)[:-2]) for row in batch.rungs])
        database.run_many(_FOREIGN, [(account, market_id) for market_id in batch.not_ours])
        fresh = self._write_fills(account, batch.fills)
        database.run_many(_VALUED, [(account, *_values(row)) for row in batch.valued])
        database.run_many(_MARKED, [(account, *_values(row)) for row in batch.marked])
        for settled in batch.settled:
            database.run(_SETTLED, (settled.winner, settled.at_ns, account, settled.market_id))
        for balance in batch.balances:
            keys = (account, _bucket(balance.begun_ns))
            self._write_first_and_last(_BALANCE, (*keys, *_values(balance)))
        return fresh

    def _write_first_and_last(self, statements: tuple[str, str], values: Sequence[Value]) -> None:
        for is_last, statement in enumerate(statements):
            self._database.run(statement, (is_last, *values))

    def _write_fills(self, account: int, fills: Sequence[FillRow]) -> int:
        """Store the new ones; how many they were."""
        fresh = {fill.fill_id: fill for fill in fills}
        for known in self._stored_ids(account, list(fresh)):
            del fresh[known]
        rows: list[list[Value]] = []
        units: dict[str, int] = {}
        for fill in fresh.values():
            values: list[Value] = [account, *_values(fill)]
            if fill.fee_cents is None:
                values[_FEE_PLACE] = self._fee_cents(account, fill, units)
            rows.append(values)
        self._database.run_many(_FILL, rows)
        return len(rows)

    def _stored_ids(self, account: int, fill_ids: Sequence[str]) -> Iterator[str]:
        for first in range(0, len(fill_ids), _IDS_AT_ONCE):
            some = fill_ids[first : first + _IDS_AT_ONCE]
            places = ", ".join("?" for _ in some)
            rows = self._database.run(
                f"SELECT fill_id FROM fills WHERE account = ? AND fill_id IN ({places})",
                (account, *some),
            )
            yield from (str(row[0]) for row in rows)

    def _fee_cents(self, account: int, fill: FillRow, units: dict[str, int]) -> int:
        """The fee of a fill for which the venue named none. The sum of such fees of an order is
        rounded once (S16), whatever the order of reading. units: the sums of the orders so far."""
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

    def write_sample(self, account: int, sample: TraderSample) -> None:
        """Store a sample of the trader as the newest of its ten minutes."""
        with self._database.writing():
            for mark in sample.marks:
                keys = (account, _bucket(mark.at_ns), mark.market_id)
                self._write_first_and_last(_MARK, (*keys, *_values(mark)[1:]))
            if sample.profit is not None:
                bucket_ns = _bucket(sample.profit.at_ns)
                values = (account, bucket_ns, *_values(sample.profit))
                self._write_first_and_last(_PROFIT, values)

    def prune(self, before_ns: int) -> int:
        """Delete older rows, and our accounts that have none left; the number of rows deleted."""
        gone = 0
        accounts = [row.account for row in self.accounts()]
        for table, column in DATED:
            where = f"FROM {table} WHERE account = ? AND {column} < ?"
            for account in accounts:
                with self._database.writing():
                    rows = self._database.run(f"SELECT COUNT(*) {where}", (account, before_ns))
                    if rows[0][0]:
                        self._database.run(f"DELETE {where}", (account, before_ns))
                    gone += int(rows[0][0])
        with self._database.writing():
            for account in accounts:
                if not any(self._has_rows(table, account) for table, _ in DATED):
                    self._database.run(
                        "DELETE FROM accounts WHERE account = ? AND begun_ns < ?",
                        (account, before_ns),
                    )
        return gone

    def _has_rows(self, table: str, account: int) -> bool:
        return bool(
            self._database.run(f"SELECT 1 FROM {table} WHERE account = ? LIMIT 1", (account,))
        )

    # --- reading ----------------------------------------------------------------------------------

    def reading(self) -> AbstractContextManager[None]:
        """A transaction in which everything is read as of one instant."""
        return self._database.reading()

    def _select(self, kind: type[T], table: str, where: str, *values: Value) -> list[T]:
        names = kind.__struct_fields__
        rows = self._database.run(f"SELECT {', '.join(names)} FROM {table} WHERE {where}", values)
        return [kind(**dict(zip(names, row, strict=True))) for row in rows]

    def _first(self, kind: type[T], table: str, where: str, *values: Value) -> T | None:
        rows = self._select(kind, table, f"{where} LIMIT 1", *values)
        return rows[0] if rows else None

    def _in_span(
        self, kind: type[T], table: str, column: str, account: int, from_ns: int, until_ns: int
    ) -> list[T]:
        """The distinct rows of a span, its end excluded, oldest first."""
        where = f"account = ? AND {column} >= ? AND {column} < ? ORDER BY {column}"
        return [*dict.fromkeys(self._select(kind, table, where, account, from_ns, until_ns))]

    def cursor(self) -> CursorRow | None:
        """How far this bot's journal has been read; None before it ever was."""
        return self._first(CursorRow, "cursors", "book = ?", self.book)

    def accounts(self) -> list[AccountRow]:
        where = "book = ? ORDER BY begun_ns DESC, account"
        return self._select(AccountRow, "accounts", where, self.book)

    def rungs(self, account: int) -> list[RungRow]:
        return self._select(RungRow, "rungs", "account = ?", account)

    def fills(self, account: int, from_ns: int, until_ns: int) -> list[FillRow]:
        """The fills of a span of the venue's time, its end excluded, oldest first."""
        found = self._in_span(FillRow, "fills", "created_ns", account, from_ns, until_ns)
        # Sorted here: databases differ in how they sort text.
        return sorted(found, key=lambda fill: (fill.created_ns, fill.fill_id))

    def last_price_before(self, account: int, market_id: str, before_ns: int) -> int | None:
        """The canonical price of the last fill of a market before an instant."""
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
        return {row.fill_id: row for row in self._of_fills(ValuedRow, "valued", account, fills)}

    def marked(self, account: int, fills: Sequence[FillRow]) -> list[MarkedRow]:
        return self._of_fills(MarkedRow, "marked", account, fills)

    def _of_fills(
        self, kind: type[T], table: str, account: int, fills: Sequence[FillRow]
    ) -> list[T]:
        if not fills:
            return []
        where = (
            "account = ? AND fill_id IN (SELECT fill_id FROM fills "
            "WHERE account = ? AND created_ns >= ? AND created_ns <= ?)"
        )
        ends = fills[0].created_ns, fills[-1].created_ns
        return self._select(kind, table, where, account, account, *ends)

    def marks(self, account: int, from_ns: int, until_ns: int) -> list[MarkRow]:
        """The samples of all markets in a span, its end excluded, oldest first."""
        found = self._in_span(MarkRow, "marks", "at_ns", account, from_ns, until_ns)
        return sorted(found, key=lambda row: (row.at_ns, row.market_id))

    def mark_before(
        self, account: int, market_id: str, before_ns: int, *, valued: bool = False
    ) -> MarkRow | None:
        """The newest sample of a market before an instant. valued: the newest that has a value."""
        return self._mark("at_ns < ? ORDER BY at_ns DESC", account, market_id, before_ns, valued)

    def mark_from(
        self, account: int, market_id: str, from_ns: int, *, valued: bool = False
    ) -> MarkRow | None:
        """The first sample of a market from an instant on. valued: the first that has a value."""
        return self._mark("at_ns >= ? ORDER BY at_ns", account, market_id, from_ns, valued)

    def _mark(
        self, where: str, account: int, market_id: str, at_ns: int, valued: bool
    ) -> MarkRow | None:
        has_value = "AND value IS NOT NULL " if valued else ""
        where = f"account = ? AND market_id = ? {has_value}AND {where}"
        return self._first(MarkRow, "marks", where, account, market_id, at_ns)

    def balances(self, account: int, from_ns: int, until_ns: int) -> list[BalanceRow]:
        """The balances requested in a span, its end excluded, oldest first."""
        return self._in_span(BalanceRow, "balances", "begun_ns", account, from_ns, until_ns)

    def balance_before(self, account: int, before_ns: int) -> BalanceRow | None:
        """The newest balance requested before an instant."""
        where = "account = ? AND begun_ns < ? ORDER BY begun_ns DESC"
        return self._first(BalanceRow, "balances", where, account, before_ns)

    def balance_from(self, account: int, from_ns: int) -> BalanceRow | None:
        """The first balance requested from an instant on."""
        where = "account = ? AND begun_ns >= ? ORDER BY begun_ns"
        return self._first(BalanceRow, "balances", where, account, from_ns)

    def profits(self, account: int, from_ns: int, until_ns: int) -> list[ProfitRow]:
        """The attributions of the runs in a span, its end excluded, oldest first."""
        return self._in_span(ProfitRow, "profits", "at_ns", account, from_ns, until_ns)


def _values(row: msgspec.Struct) -> tuple[Value, ...]:
    return msgspec.structs.astuple(row)
