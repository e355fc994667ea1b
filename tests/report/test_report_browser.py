"""Claims about the report as a person meets it: from a file, in a real browser, by keyboard.

After every one of them the console is empty and nothing was asked for but the file itself.
"""

from pathlib import Path

import pytest

from bot.lab.report.gathered import report
from bot.lab.report.page import Group, page
from tests.browser.chromium import Page, chromium
from tests.browser.site import HOSTILE
from tests.report.lived import PLOTS, invoke, opened
from tests.report.made import fill, moment, picture, session
from tests.servers import need

pytestmark = pytest.mark.xdist_group("report")
DRAWN = {"profit", "film", "inventory", "worst", "markouts", "fills", "uptime", "queue", "estimate",
         "requests"}  # fmt: skip
OUTPUT = "document.querySelector('.film output').textContent"
CURVE = "document.querySelector('.film .curve').getAttribute('points')"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    need("chromium")
    with chromium(tmp_path_factory.mktemp("chromium")) as started:
        yield started


@pytest.fixture(scope="module")
def file(tmp_path_factory, run) -> Path:
    """The report of a run that filled, amended and was paid out."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    done = invoke("report", run[0], "--html", path)
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
    """What `PLOTS` says, by kind."""
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


def test_the_page_asks_for_nothing_but_itself(tab, file):
    opened(tab, file)
    tab.rest(0.3)
    assert [url for url in tab.requests if url != file.as_uri()] == []


def test_the_film_turns_by_keyboard_and_says_where_it_is(tab, file):
    opened(tab, file)
    tab.value("document.querySelector('.film input').focus()")
    last = tab.value(OUTPUT)
    tab.press("Home")
    assert tab.value(OUTPUT) != last
    first = tab.value(OUTPUT)
    tab.press("ArrowRight")
    assert tab.value(OUTPUT) not in (first, last)
    curve = tab.value(CURVE)  # at the last picture every rung may have resolved
    tab.press("End")
    slider = "document.querySelector('.film input')"
    assert tab.value(f"{slider}.valueAsNumber === Number({slider}.max)")
    assert tab.value(f"{slider}.getAttribute('aria-valuetext')") == tab.value(OUTPUT)
    assert curve.count(",") > 1


def test_the_film_plays_and_pauses(tab, file):
    opened(tab, file)
    tab.value("document.querySelector('.film .play').focus()")
    tab.press("Enter")
    start = tab.value(OUTPUT)
    tab.wait(f"{OUTPUT} !== {start!r}")
    tab.press("Enter")
    assert tab.text(".film .play") == "Play"


def test_two_films_side_by_side_turn_together(tab, tmp_path):
    pictures = [picture(second) for second in range(0, 60, 5)]
    both = tuple(session(name=name, pictures=pictures) for name in ("a", "b"))
    path = tmp_path / "two.html"
    path.write_text(page("two", [Group("two", ("A", "B"), both, compared=True)]))
    opened(tab, path)
    tab.value("document.querySelector('.film input').focus()")
    tab.press("Home")
    outputs = "[...document.querySelectorAll('.film output')].map((each) => each.textContent)"
    one, other = tab.value(outputs)
    assert one == other == "after 0 s, quoting"


def test_tab_leads_past_the_skip_link_to_the_links_and_every_plot(tab, file):
    opened(tab, file)
    tab.press("Tab")
    assert tab.focused() == "Skip to the figures"
    reached = tab.value("document.querySelectorAll('.pane[tabindex=\"0\"]').length")
    assert reached == tab.value("document.querySelectorAll('figure[data-state=drawn]').length")
    unnamed = "[...document.querySelectorAll('svg')].filter((e) => !e.getAttribute('aria-label'))"
    assert tab.value(f"{unnamed}.length") == 0


def test_on_a_phone_in_the_dark_nothing_is_wider_than_the_screen(tab, file):
    tab.look(390, 800, dark=True)
    opened(tab, file)
    assert tab.value("document.documentElement.scrollWidth") <= 390
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(18, 20, 24)"


def test_the_names_of_rungs_of_two_events_are_seen_whole(tab, tmp_path):
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


def test_texts_from_outside_are_shown_and_never_run(tab, tmp_path):
    hostile = session(
        name=HOSTILE, moments=[moment(1), moment(2)], pictures=[picture(1)], fills=[fill(1)]
    )
    hostile.strategy = f"{HOSTILE} {HOSTILE}"
    hostile.refused = {HOSTILE: 3}
    hostile.damage = hostile.closing.phase + HOSTILE
    for rung in hostile.rungs:
        rung.ticker += HOSTILE
    hostile.fills[0].reason = HOSTILE
    path = tmp_path / "hostile.html"
    path.write_text(report([hostile]))
    opened(tab, path)
    assert tab.value("document.querySelectorAll('img, b').length") == 0
    assert tab.value("document.querySelectorAll('script').length") == 2
    assert HOSTILE in tab.value("document.body.textContent")


def test_a_run_without_anything_says_so_in_the_place_of_every_plot(tab, tmp_path):
    path = tmp_path / "empty.html"
    path.write_text(report([session()]))
    opened(tab, path)
    found = plots(tab)
    assert set(found) == DRAWN | {"refusals"}
    assert {row[0] for row in found.values()} == {"empty"}
    assert min(len(row[3]) for row in found.values()) > 10
