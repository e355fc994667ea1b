"""Both stores: every claim about the records holds in SQLite and in a real PostgreSQL."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.io.secret import Secret
from bot.records.database import Database, Postgres, Sqlite
from bot.records.store import Store
from tests.builders.records.servers import PASSWORD, Server, server
from tests.builders.records.site import BOOK

Connect = Callable[[], Database]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the server goes to one worker, so that one server is enough."""
    for item in items:
        if "postgres" in item.nodeid.partition("::")[2] or "postgres" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("postgres"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with server() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgres"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Connect:
    """Opens one and the same store, empty at first, as often as it is called."""
    if request.param == "sqlite":
        return lambda: Sqlite(tmp_path / "records.sqlite3")
    found: Server = request.getfixturevalue("postgres")
    address = found.new_database()
    return lambda: Postgres(address, Secret(PASSWORD))


@pytest.fixture
def store(connect: Connect) -> Iterator[Store]:
    found = Store(connect, BOOK)
    yield found
    found.close()
