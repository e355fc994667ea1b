"""Claims about every page that a command writes to a file: one style, on a desktop and on a phone,
in light and in dark, with every label of every drawing in view."""

import pytest

from tests.builders.browser.files import KINDS, written_pages
from tests.builders.browser.money import assert_income_green_and_loss_red
from tests.builders.report.lived import opened

pytestmark = pytest.mark.xdist_group("files")

CUT_OFF = """[...document.querySelectorAll('svg text')].filter((text) => {
  const at = text.getBoundingClientRect(), pane = text.closest('.pane').getBoundingClientRect();
  return at.width && (at.left < pane.left - 1 || at.right > pane.right + 1
    || at.top < pane.top - 1 || at.bottom > pane.bottom + 1);
}).map((text) => text.textContent)"""
"""Letters of drawings that lie beyond the part of the page where the drawing is seen."""

SCROLLED = """[...document.querySelectorAll('.pane')]
  .filter((pane) => pane.scrollWidth > pane.clientWidth).length"""

SMALLEST_PX = """Math.min(...[...document.querySelectorAll('svg text')].map((text) => {
  const svg = text.closest('svg');
  return svg.clientWidth ? parseFloat(getComputedStyle(text).fontSize) * svg.clientWidth
    / svg.viewBox.baseVal.width : 99;
}))"""

OVERLAPPING = """[...document.querySelectorAll('svg')].flatMap((svg) => {
  const texts = [...svg.querySelectorAll('text.name')];
  const at = texts.map((text) => text.getBoundingClientRect());
  return texts.filter((text, place) => at[place].width && at.slice(place + 1).some((other) =>
    Math.abs(other.top - at[place].top) < 0.6 * at[place].height)).map((text) => text.textContent);
})"""

GROUND = {False: "rgb(246, 246, 243)", True: "rgb(18, 20, 24)"}
"""By whether the page is dark."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return written_pages(tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_shows_every_label_and_the_colour_of_money(browser, pages, kind, width, dark):
    tab = browser.page()
    tab.look(width, 900, dark=dark)
    opened(tab, pages[kind])
    assert tab.value("document.documentElement.scrollWidth") == width
    assert tab.value("document.querySelectorAll('figure[data-state=drawn] svg').length") > 0
    assert tab.value(CUT_OFF) == []
    assert tab.value(SCROLLED) == 0
    assert tab.value(OVERLAPPING) == []
    assert tab.value(SMALLEST_PX) >= 7
    assert tab.value("getComputedStyle(document.body).backgroundColor") == GROUND[dark]
    assert_income_green_and_loss_red(tab, dark=dark)
    assert tab.complaints == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_heads_of_rows_and_columns_stay_in_view_on_a_phone(browser, pages, kind):
    tab = browser.page()
    tab.look(390, 900)
    opened(tab, pages[kind])
    tab.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    moved = """[...document.querySelectorAll('.scroll')].filter((box) => {
      box.scrollTo(10000, 10000);
      const at = box.getBoundingClientRect();
      const head = box.querySelector('thead th').getBoundingClientRect();
      const rows = [...box.querySelectorAll('tbody th')].map((row) => row.getBoundingClientRect());
      return head.top < at.top - 1 || head.top > at.bottom
        || rows.some((row) => row.left < at.left - 1 || row.left > at.right);
    }).length"""
    assert tab.value("document.querySelectorAll('.scroll').length") > 0
    assert tab.value(moved) == 0
