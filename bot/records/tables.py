"""The tables of the records, and the migrations that bring a store to this program's version.

A released step is never changed; a change is a new step at the end. Amounts are cents or
thousandths of a cent, times nanoseconds since 1970, all of them integers of 64 bits.
"""

from collections.abc import Sequence
from typing import Final

from bot.records.database import Database, StoreFault

Step = tuple[str, ...]

STEPS: Final[tuple[Step, ...]] = (
    (
        """CREATE TABLE accounts (
            account BIGINT PRIMARY KEY, book TEXT NOT NULL, label TEXT NOT NULL,
            begun_ns BIGINT NOT NULL)""",
        """CREATE TABLE cursors (
            book TEXT PRIMARY KEY, account BIGINT NOT NULL, segment BIGINT NOT NULL,
            opened_ns BIGINT NOT NULL, place BIGINT NOT NULL, at_ns BIGINT NOT NULL)""",
        """CREATE TABLE rungs (
            account BIGINT NOT NULL, market_id TEXT NOT NULL, ticker TEXT NOT NULL,
            event_ticker TEXT NOT NULL, maker_fee TEXT NOT NULL, taker_fee TEXT NOT NULL,
            seen_ns BIGINT NOT NULL, resolved_ns BIGINT, winner TEXT, settled_ns BIGINT,
            PRIMARY KEY (account, market_id))""",
        """CREATE TABLE fills (
            account BIGINT NOT NULL, fill_id TEXT NOT NULL, created_ns BIGINT NOT NULL,
            market_id TEXT NOT NULL, ticker TEXT NOT NULL, event_ticker TEXT NOT NULL,
            order_id TEXT NOT NULL, trade_id TEXT NOT NULL, outcome TEXT NOT NULL,
            side TEXT NOT NULL, price BIGINT NOT NULL, qty BIGINT NOT NULL,
            fee_cents BIGINT NOT NULL, fee_units BIGINT, liquidity TEXT NOT NULL,
            PRIMARY KEY (account, fill_id))""",
        "CREATE INDEX fills_by_time ON fills (account, created_ns)",
        "CREATE INDEX fills_by_order ON fills (account, order_id)",
        """CREATE TABLE valued (
            account BIGINT NOT NULL, fill_id TEXT NOT NULL, heard_ns BIGINT NOT NULL,
            value BIGINT NOT NULL, level BIGINT NOT NULL, strategy TEXT NOT NULL,
            reason TEXT NOT NULL,
            PRIMARY KEY (account, fill_id))""",
        """CREATE TABLE marked (
            account BIGINT NOT NULL, fill_id TEXT NOT NULL, against TEXT NOT NULL,
            horizon_s BIGINT NOT NULL, value BIGINT NOT NULL, at_ns BIGINT NOT NULL,
            PRIMARY KEY (account, fill_id, against, horizon_s))""",
        """CREATE TABLE marks (
            account BIGINT NOT NULL, market_id TEXT NOT NULL, bucket_ns BIGINT NOT NULL,
            is_last BIGINT NOT NULL, at_ns BIGINT NOT NULL, value BIGINT,
            yes_qty BIGINT NOT NULL, no_qty BIGINT NOT NULL,
            PRIMARY KEY (account, market_id, bucket_ns, is_last))""",
        "CREATE INDEX marks_by_time ON marks (account, at_ns)",
        """CREATE TABLE balances (
            account BIGINT NOT NULL, bucket_ns BIGINT NOT NULL, is_last BIGINT NOT NULL,
            begun_ns BIGINT NOT NULL, ended_ns BIGINT NOT NULL, total_cents BIGINT NOT NULL,
            PRIMARY KEY (account, bucket_ns, is_last))""",
        """CREATE TABLE profits (
            account BIGINT NOT NULL, bucket_ns BIGINT NOT NULL, is_last BIGINT NOT NULL,
            at_ns BIGINT NOT NULL, started_ns BIGINT NOT NULL, profit BIGINT NOT NULL,
            spread BIGINT NOT NULL, adverse BIGINT NOT NULL, drift BIGINT NOT NULL,
            fees_cents BIGINT NOT NULL, worst_case_cents BIGINT NOT NULL,
            worst_case_limit_cents BIGINT NOT NULL,
            PRIMARY KEY (account, bucket_ns, is_last))""",
    ),
    ("CREATE INDEX marked_by_time ON marked (account, at_ns)",),
)
"""Step n leads from version n to version n + 1; version 0 is an empty store."""

DATED: Final = (
    ("marked", "at_ns"),
    ("valued", "heard_ns"),
    ("fills", "created_ns"),
    ("marks", "at_ns"),
    ("balances", "ended_ns"),
    ("profits", "at_ns"),
    ("rungs", "seen_ns"),
)
"""The tables that retention prunes, each with the column that dates its rows."""


# --- migrations -----------------------------------------------------------------------------------


def version_of(database: Database) -> int:
    """The version of the tables; 0 for an empty store. Raises StoreFault."""
    with database.migrating():
        return _version(database)


def _version(database: Database) -> int:
    database.define("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
    return _stored_version(database)


def _stored_version(database: Database) -> int:
    rows = database.run("SELECT version FROM schema_version")
    return int(rows[0][0]) if rows else 0


def migrate(database: Database, steps: Sequence[Step] = STEPS) -> int:
    """Take every missing step; returns the version before. A step that is cut short leaves the
    version before it whole. Of two programs that migrate at once, one waits.

    Raises StoreFault if a step fails, if the tables are newer than the program, or if they are
    older and read-only.
    """
    found = _stored_version(database) if database.is_read_only else version_of(database)
    if found > len(steps):
        raise StoreFault(
            f"the records are of schema {found}, and this program knows schemas up to "
            f"{len(steps)}: run the newer program, or give this one a store of its own"
        )
    if found < len(steps) and database.is_read_only:
        raise StoreFault(
            f"the records are of schema {found}, this program reads schema {len(steps)}, and "
            "nothing can be written there: copy them to a writable place"
        )
    for number in range(found, len(steps)):
        with database.migrating():
            if _version(database) != number:
                continue
            for statement in steps[number]:
                database.define(statement)
            database.run("DELETE FROM schema_version")
            database.run("INSERT INTO schema_version (version) VALUES (?)", (number + 1,))
    return found
