"""What holds for every test of the shell: coroutines run on asyncio."""

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"
