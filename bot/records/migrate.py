"""Brings a store's tables to the version of this program: forward only, a step in a transaction.

A step that is cut short, by a kill or a fault, leaves the version before it whole. Of two programs
that migrate at once one waits, and finds the work done.
"""

from collections.abc import Sequence

from bot.records.database import Database, StoreFault
from bot.records.schema import STEPS, Step


def version_of(database: Database) -> int:
    """The version of the tables; 0 for an empty store. Raises StoreFault."""
    with database.migrating():
        return _version(database)


def _version(database: Database) -> int:
    database.define("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
    return _read(database)


def _read(database: Database) -> int:
    rows = database.run("SELECT version FROM schema_version")
    return int(rows[0][0]) if rows else 0


def migrate(database: Database, steps: Sequence[Step] = STEPS) -> int:
    """Take every step that is missing; the version before.

    Raises StoreFault when a step cannot be taken, when the tables are newer than the program, and
    when they are older and nothing can be written.
    """
    found = _read(database) if database.is_read_only else version_of(database)
    if found > len(steps):
        raise StoreFault(
            f"the records are of schema {found}, and this program knows schemas up to "
            f"{len(steps)}: run the newer program, or give this one a store of its own"
        )
    if found < len(steps) and database.is_read_only:
        raise StoreFault(
            f"the records are of schema {found}, this program reads schema {len(steps)}, and "
            "nothing can be written there: copy them to where it may bring them up"
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
