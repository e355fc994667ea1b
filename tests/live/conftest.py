"""The browser of the live tests: one for a file, with an empty profile."""

import pytest

from tests.builders.browser.chromium import chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("chromium")) as started:
        yield started
