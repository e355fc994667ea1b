"""The market of a journal that is written by hand."""

import pytest

from tests.builders.what_if.made import by_hand


@pytest.fixture
def session_of(tmp_path):
    """Make the market of a run with these messages, each at its second."""
    return lambda *rows: by_hand(tmp_path / "run.log", rows)
