"""The event loop of these tests."""

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"
