"""Claims about the page of a bot that really trades: the demo, a real browser, real controls."""

import pytest

from bot.core import messages as m
from bot.io.journal.journal import read_journal, segments
from tests.builders.browser.chromium import chromium
from tests.builders.browser.demo import running_demo

DRAWN = "performance.getEntriesByName('picture-drawn')"
PHASE = "document.getElementById('phase').textContent"
FIRST_PICTURE_MS = 5_000
"""Five times what is meant, for a machine that others use too."""

WANTED = r"""[...document.querySelectorAll('table.stack td.words')]
  .some((each) => /^wanted here: level \d of \d, \d+ shares/.test(each.textContent))"""
RESTING = """Number([...document.querySelectorAll('#figures > div')]
  .find((each) => each.textContent.startsWith('orders resting')).lastChild.textContent)"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A demo that quotes on both sides everywhere, and a browser."""
    folder = tmp_path_factory.mktemp("demo")
    with chromium(folder) as browser, running_demo(folder) as demo:
        yield demo, browser


def test_the_demo_is_paused_and_resumed_from_the_page_and_journals_it(run, capsys):
    demo, browser = run
    page = browser.page()
    page.look(1280, 900)
    page.open(demo.url)
    page.wait(f"{RESTING} > 30", longest_s=30)
    page.open(demo.url)
    drawn_ms = page.wait(f"{DRAWN}[0].startTime")
    with capsys.disabled():
        print(f" [first picture after {drawn_ms:.0f} ms]", end="")
    assert drawn_ms < FIRST_PICTURE_MS
    page.wait(WANTED)

    page.click("[data-action=pause]")
    page.write(demo.token)
    page.click("#ask-yes")
    page.wait(f"{PHASE} === 'paused' && {RESTING} === 0")
    page.click("[data-action=resume]")
    page.click("#ask-yes")
    page.wait(f"{PHASE} === 'quoting' && {RESTING} > 0")

    assert page.complaints == []
    assert [url for url in page.requests if not url.startswith((demo.url, "about:"))] == []
    kept = [
        entry.message
        for segment in segments(demo.state)
        for entry in read_journal(segment)
        if isinstance(entry.message, m.PauseRequested | m.ResumeRequested)
    ]
    why = "asked on the status page"
    assert kept == [m.PauseRequested(why), m.ResumeRequested(why)]
