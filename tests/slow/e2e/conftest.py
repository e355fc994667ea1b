"""What holds for every run of real processes: none of its bots outlives it."""

from collections.abc import Iterator

import pytest

from tests.builders.e2e.runs import no_bot_outlives


@pytest.fixture(autouse=True)
def _no_bot_outlives_its_test() -> Iterator[None]:
    with no_bot_outlives():
        yield
