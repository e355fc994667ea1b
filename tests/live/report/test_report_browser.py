"""Claims about the report as a person meets it: from a file, in a real browser, by keyboard.

After every one of them the console is empty and nothing was asked for but the file itself.
"""

from pathlib import Path

import pytest

from bot.lab.report.page import report
from tests.builders.browser.chromium import Page
from tests.builders.browser.site import HOSTILE
from tests.builders.io.commands import invoke
from tests.builders.report.lived import PLOTS, lived, opened
from tests.builders.report.made import fill, moment, session

pytestmark = pytest.mark.xdist_group("report")
DRAWN = {"profit", "curve", "inventory", "worst", "markouts", "fills", "uptime", "requests"}


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """The report of a run that filled, amended and was paid out."""
    folder = tmp_path_factory.mktemp("page")
    state, _ = lived(folder)
    path = folder / "report.html"
    done = invoke("report", state, "--html", path)
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture
def tab(browser):
    """A tab; in the end it must not have complained, nor asked for anything but files."""
    made: Page = browser.page()
    made.look(1280, 900)
    yield made
    assert made.complaints == []
    assert [url for url in made.requests if not url.startswith(("file:", "about:"))] == []


def plots(tab: Page) -> dict[str, list[object]]:
    return {row[0]: row[1:] for row in tab.value(PLOTS)}


def test_every_plot_is_drawn_with_its_marks_inside_its_axes(tab, file):
    opened(tab, file)
    found = plots(tab)
    assert {kind for kind, row in found.items() if row[0] == "drawn"} >= DRAWN
    for kind, (state, marks, beyond, said) in found.items():
        if state == "drawn":
            assert marks > 0, kind
            assert beyond == 0, kind
        else:
            assert len(said) > 10, kind


def test_the_report_loads_nothing_but_itself(tab, file):
    opened(tab, file)
    tab.rest(0.3)
    assert [url for url in tab.requests if url != file.as_uri()] == []


def test_tab_reaches_the_skip_link_and_every_plot(tab, file):
    opened(tab, file)
    tab.press("Tab")
    assert tab.focused() == "Skip to the figures"
    reached = tab.value("document.querySelectorAll('.pane[tabindex=\"0\"]').length")
    assert reached == tab.value("document.querySelectorAll('figure[data-state=drawn]').length")
    unnamed = "[...document.querySelectorAll('svg')].filter((e) => !e.getAttribute('aria-label'))"
    assert tab.value(f"{unnamed}.length") == 0


def test_the_names_of_rungs_of_two_events_are_not_cut_off(tab, tmp_path):
    run = session(moments=[moment(second) for second in range(60)])
    for place, rung in enumerate(run.rungs):
        rung.ticker = f"ACME-VAL-{26 + place % 2}Q4-{206 + place}.25B"
    path = tmp_path / "names.html"
    path.write_text(report([run]))
    opened(tab, path)
    beyond = """[...document.querySelectorAll('svg text.name')].filter((each) =>
      each.getBoundingClientRect().right > each.closest('svg').getBoundingClientRect().right)
      .map((each) => each.textContent)"""
    assert tab.value(beyond) == []
    assert tab.value("document.querySelectorAll('svg text.rung').length") > 1


def test_texts_from_outside_are_shown_and_never_executed(tab, tmp_path):
    hostile = session(name=HOSTILE, moments=[moment(1), moment(2)], fills=[fill(1)])
    hostile.strategy = f"{HOSTILE} {HOSTILE}"
    hostile.refused = {HOSTILE: 3}
    hostile.damage = HOSTILE
    for rung in hostile.rungs:
        rung.ticker += HOSTILE
    hostile.fills[0].reason = HOSTILE
    path = tmp_path / "hostile.html"
    path.write_text(report([hostile]))
    opened(tab, path)
    assert tab.value("document.querySelectorAll('img, b').length") == 0
    assert tab.value("document.querySelectorAll('script').length") == 0
    assert HOSTILE in tab.value("document.body.textContent")


def test_a_run_without_data_says_so_in_place_of_every_plot(tab, tmp_path):
    path = tmp_path / "empty.html"
    path.write_text(report([session()]))
    opened(tab, path)
    found = plots(tab)
    assert set(found) == DRAWN
    assert {row[0] for row in found.values()} == {"empty"}
    assert min(len(row[3]) for row in found.values()) > 10
