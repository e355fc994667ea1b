"""Fixtures of the trader's tests."""

import pytest

from tests.builders.bot.meddled import Meddled, quoted


@pytest.fixture
def venue() -> Meddled:
    """A venue on which the bot quotes two rungs."""
    return quoted(Meddled())
