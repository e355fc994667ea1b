"""A migration that is killed half-way, as a process of its own: run by the claims about stores.

Arguments: `sqlite` and a file, or a PostgreSQL's port and database (its password in DOOR); then
before which statement it kills itself.
"""

import os
import signal
import sys
from pathlib import Path

from bot.io.secret import Secret
from bot.records.database import Address, Database, Postgres, Sqlite
from bot.records.tables import STEPS, migrate

MORE = (*STEPS, ("ALTER TABLE fills ADD COLUMN note TEXT", "CREATE TABLE extra (x BIGINT)"))


def opened(kind: str, place: str) -> Database:
    if kind == "sqlite":
        return Sqlite(Path(place))
    return Postgres(
        Address("127.0.0.1", int(kind), "keeper", place, tls=False), Secret(os.environ["DOOR"])
    )


def main() -> None:
    database, stop = opened(sys.argv[1], sys.argv[2]), int(sys.argv[3])
    define, done = database.define, 0

    def counted(statement: str) -> None:
        nonlocal done
        if not statement.startswith("CREATE TABLE IF"):
            if done == stop:
                os.kill(os.getpid(), signal.SIGKILL)
            done += 1
        define(statement)

    database.define = counted  # type: ignore[method-assign]
    migrate(database, MORE)


if __name__ == "__main__":
    main()
