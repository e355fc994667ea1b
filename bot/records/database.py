"""The two databases that may hold the records, SQLite and PostgreSQL, with one interface.

Both take the same statements, with `?` for a value. Everything here blocks.
"""

import contextlib
import os
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.io.faults import OperatorError
from bot.io.secret import Secret

Value = int | str | None
Row = tuple[Any, ...]

_BUSY_S: Final = 5
_RETRY_S: Final = 0.01
_STATEMENT_MS: Final = 10_000
_MIGRATION_LOCK: Final = 7_300_452
"""PostgreSQL's number of the lock that a migration holds."""


class StoreFault(OperatorError):
    """The records cannot be opened, read or written; the text says where and why."""


class Address(msgspec.Struct, frozen=True):
    """A PostgreSQL server. host: a name, or the folder of its socket. tls: True if it must present
    a certificate. ca_file: what that is checked against; None: the machine's own list."""

    host: str
    port: int
    user: str
    database: str
    tls: bool
    ca_file: Path | None = None

    def __str__(self) -> str:
        return f"postgresql://{self.user}@{self.host}:{self.port}/{self.database}"


@contextmanager
def _faults_at(place: object, *kinds: type[Exception]) -> Iterator[None]:
    """Raise StoreFault, which names the place, for these faults."""
    try:
        yield
    except kinds as fault:
        raise StoreFault(f"{place}: {_reason(fault)}") from None


class Database:
    """A connection. is_read_only: nothing can be written. Every method raises StoreFault."""

    is_read_only = False

    def run(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        """Execute one statement; the rows that it returns."""
        raise NotImplementedError

    def run_many(self, statement: str, rows: Sequence[Sequence[Value]]) -> None:
        raise NotImplementedError

    def define(self, statement: str) -> None:
        """Execute a definition of `bot.records.tables`."""
        self.run(statement)

    def writing(self) -> AbstractContextManager[None]:
        """A transaction that is committed at its end, and rolled back if the block raises."""
        return self._transaction("BEGIN")

    def reading(self) -> AbstractContextManager[None]:
        """A transaction that reads everything as of one instant."""
        return self._transaction("BEGIN")

    def migrating(self) -> AbstractContextManager[None]:
        """A transaction during which no other migration runs."""
        return self.writing()

    def close(self) -> None:
        raise NotImplementedError

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self.run(begin)
        with contextlib.ExitStack() as undo:
            undo.callback(self._roll_back)
            yield
            self.run("COMMIT")
            undo.pop_all()

    def _roll_back(self) -> None:
        with contextlib.suppress(StoreFault):
            self.run("ROLLBACK")


class Sqlite(Database):
    """A SQLite file of ours, mode 0600, in WAL mode: readers never wait for the writer."""

    def __init__(self, path: Path, *, is_read_only: bool = False) -> None:
        """Open the file, and create it unless read-only.

        is_read_only: nothing is created or written, as on a backup that is mounted read-only.
        """
        self._path = path
        self.is_read_only = is_read_only
        access = os.O_RDONLY if is_read_only else os.O_RDWR | os.O_CREAT
        with _faults_at(path, OSError, sqlite3.Error):
            os.close(os.open(path, access | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            # Used by one thread at a time, not always the one that opened it.
            self._connection = sqlite3.connect(
                _read_only_uri(path) if is_read_only else path,
                timeout=_BUSY_S,
                isolation_level=None,
                check_same_thread=False,
                uri=is_read_only,
            )
        try:
            self._opened = self._identity()
            if not is_read_only:
                self._use_wal()
                self.run("PRAGMA synchronous = NORMAL")
        except StoreFault:
            self._connection.close()
            raise

    def _identity(self) -> tuple[int, int]:
        with _faults_at(self._path, OSError):
            shown = self._path.stat()
        return shown.st_dev, shown.st_ino

    def _use_wal(self) -> None:
        """Switch to WAL. If two processes do so at once, SQLite refuses one of them immediately,
        whatever the timeout, and that one retries."""
        until = time.monotonic() + _BUSY_S
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.Error as fault:
                is_busy = fault.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_busy or time.monotonic() >= until:
                    raise StoreFault(f"{self._path}: {_reason(fault)}") from None
            time.sleep(_RETRY_S)

    def run(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        with _faults_at(self._path, sqlite3.Error):
            return self._connection.execute(statement, values).fetchall()

    def run_many(self, statement: str, rows: Sequence[Sequence[Value]]) -> None:
        with _faults_at(self._path, sqlite3.Error):
            self._connection.executemany(statement, rows)

    def define(self, statement: str) -> None:
        """STRICT refuses a value of another type, as PostgreSQL does."""
        text = re.sub(r"\bBIGINT\b", "INTEGER", statement)
        self.run(f"{text} STRICT" if text.startswith("CREATE TABLE") else text)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Raises StoreFault if the file was deleted or replaced: writes to it would be
        lost."""
        with self._transaction("BEGIN IMMEDIATE"):
            if self._identity() != self._opened:
                raise StoreFault(f"{self._path}: another file has taken its place")
            yield

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            super()._roll_back()

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()


def is_read_only_mount(path: Path) -> bool:
    """True if the file system of a file is mounted read-only. Raises OSError."""
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _read_only_uri(path: Path) -> str:
    """The address by which SQLite reads a file without creating others."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    # The log of a killed writer, or of one that has this place mounted otherwise, holds the newest
    # rows. Without a log, SQLite would have to create one.
    log, index = (path.with_name(f"{path.name}-{part}") for part in ("wal", "shm"))
    if not log.exists() or not (log.stat().st_size or index.exists()):
        return f"{uri}&immutable=1"
    if not index.exists() and is_read_only_mount(path):
        raise StoreFault(
            f"{log}: holds the newest rows, and cannot be read without {index.name}, which is "
            "missing and cannot be created here: copy the folder to a writable place"
        )
    return uri


class Postgres(Database):
    """A database of a PostgreSQL server, over psycopg. All waits have a timeout, so that a server
    that hangs is a fault like any other."""

    def __init__(self, address: Address, password: Secret | None) -> None:
        """Connect. Raises StoreFault if psycopg is missing or the server refuses us."""
        self._address = address
        try:
            import psycopg
        except ImportError:
            raise StoreFault("PostgreSQL needs psycopg: install laddermaker[postgres]") from None
        self._error: type[Exception] = psycopg.Error
        ca_file = "system" if address.ca_file is None else str(address.ca_file)
        with _faults_at(address, psycopg.Error):
            self._connection: psycopg.Connection[Row] = psycopg.connect(
                host=address.host,
                port=address.port,
                user=address.user,
                dbname=address.database,
                password=None if password is None else password.reveal(),
                sslmode="verify-full" if address.tls else "disable",
                sslrootcert=ca_file if address.tls else None,
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=_BUSY_S,
                tcp_user_timeout=_STATEMENT_MS,
                application_name="laddermaker",
                options=f"-c statement_timeout={_STATEMENT_MS} -c lock_timeout={_BUSY_S * 1000}",
            )

    def run(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        with _faults_at(self._address, self._error):
            cursor = self._connection.execute(_translated(statement), values)
            return [] if cursor.description is None else cursor.fetchall()

    def run_many(self, statement: str, rows: Sequence[Sequence[Value]]) -> None:
        if not rows:
            return
        with _faults_at(self._address, self._error), self._connection.cursor() as cursor:
            cursor.executemany(_translated(statement), rows)

    @contextmanager
    def migrating(self) -> Iterator[None]:
        with self.writing():
            self.run("SELECT pg_advisory_xact_lock(?)", (_MIGRATION_LOCK,))
            yield

    def reading(self) -> AbstractContextManager[None]:
        return self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def close(self) -> None:
        with contextlib.suppress(self._error):
            self._connection.close()


def _translated(statement: str) -> bytes:
    # psycopg's types take bytes, or a literal text alone.
    return statement.replace("?", "%s").encode()


def _reason(fault: Exception) -> str:
    """What went wrong, in one line without any value that was written."""
    if isinstance(fault, OSError):
        return fault.strerror or "cannot be opened"
    return " ".join(str(fault).split("\n")[0].split()) or type(fault).__name__
