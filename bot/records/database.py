"""The two stores that the records may stand in, behind one small door: SQLite, and PostgreSQL.

Both take the same statements, with `?` for a value. A transaction is whole or not at all, the
definition of tables included. Everything here blocks: it is called from a thread of its own.
"""

import contextlib
import os
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from bot.io.faults import OperatorError
from bot.io.secret import Secret

Value = int | str | None
Row = tuple[Any, ...]

_BUSY_S: Final = 5
_AGAIN_S: Final = 0.01
_STATEMENT_MS: Final = 10_000
_MIGRATING: Final = 7_300_452
"""PostgreSQL's number of the lock that whoever changes the tables holds."""


class StoreFault(OperatorError):
    """The records cannot be opened, read or written; the text says where and why."""


class Address(msgspec.Struct, frozen=True):
    """Where a PostgreSQL is. host: a name, or the folder of its socket. ca_file: what its
    certificate is checked against; None: the machine's own list. tls: whether it must have one."""

    host: str
    port: int
    user: str
    database: str
    tls: bool
    ca_file: Path | None = None

    def __str__(self) -> str:
        return f"postgresql://{self.user}@{self.host}:{self.port}/{self.database}"


class Database(Protocol):
    """What the store needs of either. is_read_only: nothing can be written to it."""

    is_read_only: bool

    def run(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        """Carry out one statement; the rows that it gives. Raises StoreFault."""
        ...

    def run_many(self, statement: str, rows: Sequence[Sequence[Value]]) -> None:
        """Carry out one statement for each row of values. Raises StoreFault."""
        ...

    def define(self, statement: str) -> None:
        """Carry out a definition of `bot.records.schema`. Raises StoreFault."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """A transaction that writes: kept whole at its end, and nothing of it when it raises."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """A transaction that only reads: all as of one instant."""
        ...

    def migrating(self) -> AbstractContextManager[None]:
        """A transaction that no other migration runs beside."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Sqlite:
    """A SQLite file of ours, mode 0600, in WAL: readers never wait for the writer."""

    def __init__(self, path: Path, *, is_read_only: bool = False) -> None:
        """Open the file, made if need be; read-only, nothing is made or written. Raises StoreFault.

        is_read_only: for a file that nobody can write to, as on a backup that is mounted so.
        """
        self._path = path
        self.is_read_only = is_read_only
        access = os.O_RDONLY if is_read_only else os.O_RDWR | os.O_CREAT
        try:
            os.close(os.open(path, access | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            # Opened and used by one thread at a time, not always the one that opened it.
            self._connection = sqlite3.connect(
                _unwritten(path) if is_read_only else path,
                timeout=_BUSY_S,
                isolation_level=None,
                check_same_thread=False,
                uri=is_read_only,
            )
        except (OSError, sqlite3.Error) as fault:
            raise StoreFault(f"{path}: {_reason(fault)}") from None
        try:
            self._opened = self._stands()
            if not is_read_only:
                self._to_wal()
                self.run("PRAGMA synchronous = NORMAL")
        except StoreFault:
            self._connection.close()
            raise

    def _stands(self) -> tuple[int, int]:
        """What tells the file of that name from any other. Raises StoreFault."""
        try:
            shown = self._path.stat()
        except OSError as fault:
            raise StoreFault(f"{self._path}: {_reason(fault)}") from None
        return shown.st_dev, shown.st_ino

    def _to_wal(self) -> None:
        """Leave SQLite's first mode. Of two that do so at once each holds what the other needs: it
        refuses one at once, whatever the timeout, and that one asks again. Raises StoreFault."""
        until = time.monotonic() + _BUSY_S
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.Error as fault:
                is_busy = fault.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_busy or time.monotonic() >= until:
                    raise StoreFault(f"{self._path}: {_reason(fault)}") from None
            time.sleep(_AGAIN_S)

    def run(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        """See Database."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as fault:
            raise StoreFault(f"{self._path}: {_reason(fault)}") from None

    def run_many(self, statement: str, rows: Sequence[Sequence[Value]]) -> None:
        """See Database."""
        try:
            self._connection.executemany(statement, rows)
        except sqlite3.Error as fault:
            raise StoreFault(f"{self._path}: {_reason(fault)}") from None

    def define(self, statement: str) -> None:
        """See Database. STRICT refuses a value of another type, as PostgreSQL does."""
        text = re.sub(r"\bBIGINT\b", "INTEGER", statement)
        self.run(f"{text} STRICT" if text.startswith("CREATE TABLE") else text)

    @contextmanager
    def _within(self, begin: str) -> Iterator[None]:
        self.run(begin)
        with contextlib.ExitStack() as undo:
            undo.callback(self._roll_back)
            yield
            self.run("COMMIT")
            undo.pop_all()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with contextlib.suppress(StoreFault):
                self.run("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """See Database. A file that was deleted or replaced under us would still take everything,
        for nobody to read."""
        with self._within("BEGIN IMMEDIATE"):
            if self._stands() != self._opened:
                raise StoreFault(f"{self._path}: another file has taken its place")
            yield

    migrating = writing

    def reading(self) -> AbstractContextManager[None]:
        """See Database."""
        return self._within("BEGIN")

    def close(self) -> None:
        """See Database."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()


def takes_no_writes(path: Path) -> bool:
    """Whether the file system of a file is mounted read-only. Raises OSError."""
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _unwritten(path: Path) -> str:
    """The address by which SQLite reads a file and makes none beside it."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    # A log beside it is left by a writer that was killed, or belongs to one that sees this place
    # mounted otherwise; it holds the newest rows. Without one SQLite would have to make one.
    log, index = (path.with_name(f"{path.name}-{part}") for part in ("wal", "shm"))
    if not log.exists() or not (log.stat().st_size or index.exists()):
        return f"{uri}&immutable=1"
    if not index.exists() and takes_no_writes(path):
        raise StoreFault(
            f"{log}: holds the newest rows, and is read only with {index.name} beside it, which is "
            "not there and cannot be made: copy the folder to where something can be written"
        )
    return uri


class Postgres:
    """A database of a PostgreSQL server, over psycopg. Waits are bounded, so that a server that
    hangs is a fault like any other."""

    is_read_only = False

    def __init__(self, address: Address, password: Secret | None) -> None:
        """Connect. Raises StoreFault when psycopg is missing or the server does not let us in."""
        self._address = address
        try:
            import psycopg
        except ImportError:
            raise StoreFault("PostgreSQL needs psycopg: install laddermaker[postgres]") from None
        self._error: type[Exception] = psycopg.Error
        ca_file = "system" if address.ca_file is None else str(address.ca_file)
        try:
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
        except psycopg.Error as fault:
            raise StoreFault(f"{address}: {_reason(fault)}") from None

    def run(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        """See Database."""
        try:
            cursor = self._connection.execute(_translated(statement), values)
            return [] if cursor.description is None else cursor.fetchall()
        except self._error as fault:
            raise StoreFault(f"{self._address}: {_reason(fault)}") from None

    def run_many(self, statement: str, rows: Sequence[Sequence[Value]]) -> None:
        """See Database."""
        if not rows:
            return
        try:
            with self._connection.cursor() as cursor:
                cursor.executemany(_translated(statement), rows)
        except self._error as fault:
            raise StoreFault(f"{self._address}: {_reason(fault)}") from None

    def define(self, statement: str) -> None:
        """See Database."""
        self.run(statement)

    @contextmanager
    def _within(self, begin: str) -> Iterator[None]:
        self.run(begin)
        with contextlib.ExitStack() as undo:
            undo.callback(self._roll_back)
            yield
            self.run("COMMIT")
            undo.pop_all()

    def _roll_back(self) -> None:
        with contextlib.suppress(StoreFault):
            self.run("ROLLBACK")

    def writing(self) -> AbstractContextManager[None]:
        """See Database."""
        return self._within("BEGIN")

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """See Database."""
        with self.writing():
            self.run("SELECT pg_advisory_xact_lock(?)", (_MIGRATING,))
            yield

    def reading(self) -> AbstractContextManager[None]:
        """See Database."""
        return self._within("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def close(self) -> None:
        """See Database."""
        with contextlib.suppress(self._error):
            self._connection.close()


def _translated(statement: str) -> bytes:
    """A statement as psycopg takes it: bytes are a query as good as a literal text."""
    return statement.replace("?", "%s").encode()


def _reason(fault: Exception) -> str:
    """What went wrong in one line; never a value that was written."""
    if isinstance(fault, OSError):
        return fault.strerror or "cannot be opened"
    return " ".join(str(fault).split("\n")[0].split()) or type(fault).__name__
