"""Claims about the pages of evaluations, sweeps and statements: they fit a phone and a desk."""

import pytest

from bot.drawing import HEIGHT, Frame, html_page, picture
from bot.lab.evaluate.page import html_tables
from tests.browser.chromium import chromium
from tests.servers import need

COLUMNS = 24
WIDE = "\n".join(f"| {' | '.join([each] * COLUMNS)} |" for each in ("the head", "-", "12,345.67"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    need("chromium")
    with chromium(tmp_path_factory.mktemp("chromium")) as started:
        yield started


@pytest.mark.parametrize("width", [360, 1280])
def test_only_what_is_wider_than_the_screen_is_pushed_aside_and_not_the_page(
    browser, tmp_path, width
):
    drawn = picture(HEIGHT, "A picture", Frame([1.0], [1.0]).axes("across", "up"), ["a" * 40])
    file = tmp_path / "page.html"
    body = f"<figure>{drawn}</figure>{html_tables(WIDE)}"
    file.write_text(html_page("./a/folder/and_a_long_name_of_a_strategy.py:AndItsClass", body))
    tab = browser.page()
    tab.look(width, 740)
    tab.open(file.as_uri())
    tab.wait("document.readyState === 'complete'")
    assert tab.value("document.documentElement.scrollWidth") == width
    assert tab.value("document.querySelector('.wide').scrollWidth") > 1280
    assert tab.value("getComputedStyle(document.querySelector('svg text')).fontSize") == "11px"
