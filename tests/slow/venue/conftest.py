"""Fixtures of the venue's tests: a served venue with its clients, and a desk without sockets."""

import pytest

from tests.builders.venue.control_bench import served
from tests.builders.venue.rest_bench import ScriptedDesk, opened_views


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
def house():
    """One venue for claims that do not disturb each other."""
    with served() as venue:
        yield venue


@pytest.fixture(scope="module")
def control(house):
    with house.client() as client:
        yield client


@pytest.fixture(scope="module")
def rest(house):
    with house.rest() as client:
        yield client


@pytest.fixture
def desk():
    return ScriptedDesk()


@pytest.fixture
def views():
    return opened_views()
