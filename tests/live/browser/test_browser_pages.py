"""Claims about the pages of evaluations, sweeps and statements: they fit a phone and a desk."""

import pytest

from bot.lab.evaluate.page import html_tables
from bot.page.plot import rows_plot
from bot.page.skeleton import figure, html_page

COLUMNS = 24
WIDE = "\n".join(f"| {' | '.join([each] * COLUMNS)} |" for each in ("the head", "-", "12,345.67"))


@pytest.mark.parametrize("width", [360, 1280])
def test_only_a_wide_table_scrolls_sideways_and_not_the_page(browser, tmp_path, width):
    drawn = rows_plot((0.0, 1.0), "across", ["a" * 40]).svg("A picture")
    file = tmp_path / "page.html"
    body = figure("wide", "A picture", drawn, "") + html_tables(WIDE)
    file.write_text(html_page("./a/folder/and_a_long_name_of_a_strategy.py:AndItsClass", body))
    tab = browser.page()
    tab.look(width, 740)
    tab.open(file.as_uri())
    tab.wait("document.readyState === 'complete'")
    assert tab.value("document.documentElement.scrollWidth") == width
    assert tab.value("document.querySelector('.scroll').scrollWidth") > 1280
    assert tab.value("document.querySelector('.pane').scrollWidth") < width
    inside = "svg.x <= name.x && name.right <= svg.right"
    box = "const [svg, name] = ['svg', 'svg text:not([text-anchor=middle])'].map((each) =>"
    box += " document.querySelector(each).getBoundingClientRect());"
    assert tab.value(f"(() => {{ {box} return {inside}; }})()")
