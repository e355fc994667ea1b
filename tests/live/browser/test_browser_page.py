"""Claims about the status page as a person meets it: in a real browser, by mouse and by keyboard.

After every one of them the console is empty and nothing was asked of any other host.
"""

import logging

import msgspec
import pytest
from msgspec.structs import replace

from bot.core import messages as m
from bot.core.outcome_risk import CompanyRisk, risk_of
from bot.core.report import Phase
from bot.io.metrics.profits import plain_profit, row_cents
from tests.builders.browser.chromium import Page
from tests.builders.browser.money import assert_income_green_and_loss_red
from tests.builders.browser.site import HOSTILE, STRIKES, Site, picture, site
from tests.builders.io.pages import SECOND, TOKEN
from venue.wire.money import Cents
from venue.wire.names import Ticker

WHOLE = "document.getElementById('uptime').textContent"
"""What is drawn last."""

RUNG = ".columns button"
ORDERS = "document.querySelectorAll('table.stack tbody tr').length"
PHASE = "document.getElementById('phase').textContent"
FIRST_PICTURE_MS = 5_000
"""Five times what is meant, for a machine that others use too."""


@pytest.fixture
def page_site():
    with site() as made:
        yield made


@pytest.fixture
def page(browser, page_site):
    """A tab on the page, its first picture drawn; in the end it must not have complained."""
    tab = browser.page()
    tab.look(1280, 900)
    yield open_page(tab, page_site)
    assert_no_complaint(tab, page_site)


def open_page(tab: Page, page_site: Site, query: str = "") -> Page:
    tab.open(page_site.url + query)
    tab.wait(WHOLE)
    return tab


def opened_at(browser, page_site: Site, width: int, *, dark: bool = False) -> Page:
    """A fresh tab of this width on the page."""
    tab = browser.page()
    tab.look(width, 740, dark=dark)
    return open_page(tab, page_site)


def assert_no_complaint(tab: Page, page_site: Site) -> None:
    assert tab.complaints == []
    assert [url for url in tab.requests if not url.startswith((page_site.url, "about:"))] == []


def focus_on(page: Page, text: str, most: int = 30) -> None:
    """Press Tab until something with this text has the focus, as a person would."""
    for _ in range(most):
        page.press("Tab")
        if text in page.focused():
            return
    raise AssertionError(f"Tab does not lead to {text!r}")


# --- the picture ----------------------------------------------------------------------------------


def test_the_first_snapshot_is_drawn_soon_after_navigation(page):
    drawn_ms = page.value("performance.getEntriesByName('picture-drawn')[0].startTime")
    assert drawn_ms < FIRST_PICTURE_MS


def test_the_ladder_shows_fair_curve_band_quotes_touch_and_holdings(page):
    def count(selector: str) -> int:
        return page.value(f"document.querySelectorAll('.ladder svg {selector}').length")

    assert count("polyline.fair") == count("polygon.band") == 1
    assert count("rect.band") == count("rect.hold") == 5
    assert count("rect.order.bid") == count("rect.order.ask") == 5
    assert count("line.touch") == 20


def test_each_rung_of_the_ladder_has_a_text_alternative(page):
    assert page.text(RUNG) == (
        "175 USD billions, fair 91.5 plus or minus 0.8, own bid 88, own ask 95, others 87 to 96, "
        "held −4, 2 orders"
    )


def test_every_outcome_is_listed_and_the_worst_marked(page):
    rows = "[...document.querySelectorAll('tr.worst')].map((row) => row.textContent)"
    assert page.value(rows) == ["200 to 212.5 · worst20.0 %−$12.50"]
    assert page.value("document.querySelectorAll('td > .bar').length") == 6


def test_the_page_shows_each_value_from_outside_with_what_the_market_says(page):
    text = page.value("document.querySelector('[data-event]').textContent")
    assert "operator about X: $213.5B ± $2B, weight 0.5, 42 s old, 50 min left" in text
    assert "market $210B: used" in text


def test_a_loss_budget_is_shown_among_the_limits_with_its_use(page):
    gauges = page.value("[...document.querySelectorAll('#limits .near')].map((g) => g.textContent)")
    assert [each for each in gauges if "loss budget" in each] == [
        "day · $21.00 of $20.00 · loss budget"
    ]


OUTCOMES = "[...document.querySelectorAll('td:has(> .bar)')].map((cell) => cell.className)"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_income_is_green_and_loss_is_red_as_in_every_report(browser, page_site, width, dark):
    tab = opened_at(browser, page_site, width, dark=dark)
    assert_income_green_and_loss_red(tab, dark=dark)
    assert tab.value(OUTCOMES) == ["gain", "gain", "loss", "loss", "gain", "gain"]
    worst = tab.value("getComputedStyle(document.querySelector('tr.worst th')).color")
    assert worst == tab.value("getComputedStyle(document.body).color")
    assert_no_complaint(tab, page_site)


def test_the_page_shows_profit_fills_budget_limits_and_log(page, page_site):
    line = '{"event": "gap", "level": "warning", "text": "for a test"}'
    page_site.tail.handle(logging.LogRecord("bot", logging.WARNING, "", 0, line, (), None))
    page.wait("document.querySelector('#alerts .warning')")
    assert page.text("#profit-line").startswith("realised $0.30 · settled $0.00 · open $0.41")
    assert "26Q4" not in page.text("#fills tbody tr")
    assert page.text("#fills tbody tr").endswith("200Bbid71474.0+3.00$0.01+2.50−1.00––quote bid")
    assert page.text("#budget .gauge-text") == "320 of 400 tokens, 60 kept for cancels, " + (
        "200 more a second"
    )
    assert "event loss · $90.83 of $100.00 · X-26Q4" in page.text("#limits .near")
    assert page.text("#log .line").endswith("gaptext=for a test")


def test_the_page_rounds_profit_as_every_other_report_does(page, page_site):
    account = page_site.report.profit
    total = msgspec.structs.replace(
        account.total,
        profit_millicents=322_500,
        spread_millicents=493_400,
        adverse_millicents=-65_400,
        drift_millicents=-18_500,
        fees_cents=87,
    )
    account = msgspec.structs.replace(
        account, total=total, realised_millicents=252_400, open_millicents=157_100
    )
    page_site.report = msgspec.structs.replace(page_site.report, profit=account)
    page.wait("document.querySelector('#profit-table tbody').textContent.includes('4.93')")
    cells = "[...document.querySelectorAll('#profit-table tbody tr')].map((row) => row.cells[1]"
    cells_shown = page.value(f"{cells}.textContent)")
    cents = row_cents(total)
    assert cells_shown == ["$4.93", "−$0.65", "−$0.19", "−$0.87", "$3.22"]
    assert cents["profit_cents"] == 322
    assert cents["drift_cents"] == -19
    assert page.text("#profit-line").startswith("realised $2.52 · settled $0.00 · open $1.57")
    assert plain_profit(account)["open_cents"] == 157


# --- choosing a rung ------------------------------------------------------------------------------


def test_a_rung_chosen_by_mouse_shows_its_orders_with_their_reasons(page):
    assert page.value(ORDERS) == 10
    page.click(f"{RUNG}:nth-child(3)")
    page.wait(f"{ORDERS} === 2")
    reasons = page.value("[...document.querySelectorAll('td.words')].map((e) => e.textContent)")
    assert "wanted here: level 1 of 1, 10 shares, on rung 212.5" in reasons
    assert "12 (3–20)" in page.text("table.stack tbody")
    page.click(f"{RUNG}:nth-child(3)")
    page.wait(f"{ORDERS} === 10")


def test_a_rung_chosen_by_keyboard_keeps_the_focus_over_updates(page, page_site):
    focus_on(page, "175 USD billions")
    page.press("ArrowRight", "ArrowRight", "End", "ArrowLeft", "Enter")
    page.wait(f"{ORDERS} === 2")
    assert page.text(".picked-line").startswith("225 USD billions")
    page_site.report = msgspec.structs.replace(page_site.report, pnl_cents=4_321)
    page.wait("document.getElementById('figures').textContent.includes('$43.21')")
    assert page.focused().startswith("225 USD billions")
    page.press(" ")
    page.wait(f"{ORDERS} === 10")


# --- the controls ---------------------------------------------------------------------------------


def test_a_control_used_by_mouse_asks_for_confirmation_and_token(page, page_site):
    page.click("[data-action=pause]")
    page.wait("document.getElementById('ask').open")
    assert page.text("#ask-head") == "Pause X?"
    page.click("#token")
    page.write("not the token")
    page.click("#ask-yes")
    page.wait("document.getElementById('ask-fault').textContent.includes('not the token')")
    # The refusal is no fault of the page, but the browser logs every 401.
    assert [each for each in page.complaints if "401" not in each] == []
    page.complaints.clear()
    assert page_site.event_log.events == []
    page.value("document.getElementById('token').value = ''")
    page.write(TOKEN)
    page.click("#ask-yes")
    page.wait("!document.getElementById('ask').open")
    assert page_site.event_log.events == [m.PauseRequested("asked on the status page")]
    page_site.report = picture(Phase.PAUSED)
    page.wait(f"{PHASE} === 'paused'")


def test_a_control_used_by_keyboard_returns_the_focus(page, page_site):
    focus_on(page, "Flatten")
    page.press("Enter")
    page.wait("document.getElementById('ask').open")
    assert page.focused() == "token"
    page.write(TOKEN)
    page.press("Tab")
    page.value("document.activeElement.select()")
    page.write("the market is mad")
    page.press("Tab", "Tab", "Enter")
    page.wait("!document.getElementById('ask').open")
    assert page_site.event_log.events == [m.FlattenRequested("the market is mad")]
    assert page.focused() == "Flatten"


def test_escape_and_cancel_send_no_command(page, page_site):
    focus_on(page, "Cancel all")
    page.press("Enter")
    page.wait("document.getElementById('ask').open")
    page.press("Escape")
    page.wait("!document.getElementById('ask').open")
    assert page.focused() == "Cancel all"
    page.click("[data-action=reset]")
    page.click("#ask-no")
    page.wait("!document.getElementById('ask').open")
    assert page_site.event_log.events == []


# --- what comes from elsewhere --------------------------------------------------------------------


def test_names_from_the_venue_are_text_and_never_markup(page, page_site):
    page_site.report = picture(reason=HOSTILE, title=HOSTILE, findings=(f"x: {HOSTILE}",))
    page.wait("!document.getElementById('findings').hidden")
    open_page(page, page_site)
    page.wait("document.querySelector('table.stack td')")
    made = "document.images.length + document.querySelectorAll('b:not(.line b)').length"
    assert page.value(made) == 0
    assert HOSTILE in page.text("table.stack")
    assert HOSTILE in page.text("#finding-list")


def test_a_bot_that_no_longer_decides_is_shown_as_stale(page, page_site):
    page_site.age_ns = 9 * SECOND
    page.wait("document.body.classList.contains('stale')")
    assert "not live" in page.text("#age")
    assert "no decision for 9000 ms" in page.text("#health")


def test_another_series_can_be_chosen_in_the_header(browser):
    with site("Y") as page_site:
        tab = open_page(browser.page(), page_site)
        assert tab.text("#series") == "X"
        tab.value("document.getElementById('chooser').focus()")
        tab.value("document.getElementById('chooser').value = 'Y'")
        tab.value("document.getElementById('chooser').dispatchEvent(new Event('change'))")
        tab.wait("document.getElementById('series').textContent === 'Y'")
        assert_no_complaint(tab, page_site)


# --- for everybody --------------------------------------------------------------------------------

CONTRAST = """(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => parts(colour).slice(0, 3).map((c) => c / 255)
    .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, index) => sum + c * [0.2126, 0.7152, 0.0722][index], 0);
  const under = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((parts(colour)[3] ?? 1) === 1) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const poor = [];
  const read = 'h1, h2, p, dt, dd, th, td, caption, a, button';
  for (const element of document.querySelectorAll(read)) {
    if (element.closest('.columns') || !element.textContent.trim()) continue;
    const [one, other] = [light(getComputedStyle(element).color), light(under(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) poor.push(`${element.tagName} ${element.className} ${ratio.toFixed(2)}`);
  }
  return poor;
})()"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_fits_phone_and_desktop_with_enough_contrast(browser, page_site, width, dark):
    tab = opened_at(browser, page_site, width, dark=dark)
    assert tab.value("document.documentElement.scrollWidth") == width
    assert tab.value(CONTRAST) == []
    ground = tab.value("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground[4:-1].split(","))) < 150) == dark
    assert_no_complaint(tab, page_site)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_risk_of_what_is_held_is_a_table_that_fits_a_telephone(browser, page_site, width):
    (event,) = page_site.report.events
    risk = risk_of((-123_456, 300_000), (0.25, 0.75), Cents(99_999))
    other = replace(event, event_ticker=Ticker("AURELIA-VAL-27Q1"), risk=None)
    both = CompanyRisk(project_id="p", events=("X-26Q4", "X-27Q1"), correlation=0.35, risk=risk)
    events = (replace(event, risk=risk), other)
    page_site.report = replace(page_site.report, events=events, companies=(both,))
    tab = opened_at(browser, page_site, width)
    tab.wait("document.querySelectorAll('#risk tbody tr').length === 3")
    rows = tab.value("[...document.querySelectorAll('#risk tbody tr')].map((row) => row.innerText)")
    figures = ["$1,941.36", "$1,234.56", "$1,234.56", "25.0 %"]
    assert [each.split("\t") for each in rows] == [
        ["X-26Q4", *figures],
        ["AURELIA-VAL-27Q1", *"––––"],
        ["2 together, correlation 0.35", *figures],
    ]
    box = "document.querySelector('#risk .scroll')"
    assert tab.value(f"{box}.scrollWidth <= {box}.clientWidth")
    assert_no_complaint(tab, page_site)


OVERLAPS = """((inner) => {
  const boxes = [...document.querySelectorAll(inner)].map((each) => each.getBoundingClientRect());
  return boxes.filter((one, index) => boxes.slice(index + 1).some((other) =>
    one.left < other.right && other.left < one.right && one.top < other.bottom
    && other.top < one.bottom)).length;
})"""
"""How many of the elements that fit a selector lie on a later one."""


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_no_strike_overlaps_another_and_no_bar_its_figure(browser, page_site, width):
    (event,) = page_site.report.events
    rungs = tuple(
        replace(each, strike_text=f"{200 + 6.25 * number} USD billions")
        for number, each in enumerate(event.rungs * 2)
    )
    cents = (9_034, 400, -1_250, -300, 150, 7_700, 20, 99_999, -99_999, 0, 5)
    event = replace(event, rungs=rungs, outcome_cents=cents)
    page_site.report = replace(page_site.report, events=(event,))
    tab = opened_at(browser, page_site, width)
    tab.wait("document.querySelectorAll('svg text.strike').length > 1")
    assert tab.value(f"{OVERLAPS}('svg text.strike')") == 0
    assert tab.value(f"{OVERLAPS}('td > .over, td > .bar')") == 0
    assert_no_complaint(tab, page_site)


def test_a_screen_reader_finds_landmarks_captions_and_named_controls(page):
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    named = [
        (each["role"]["value"], each.get("name", {}).get("value", ""))
        for each in nodes
        if not each.get("ignored") and "role" in each
    ]
    roles = [role for role, _ in named]
    for landmark in ("banner", "main", "contentinfo"):
        assert roles.count(landmark) == 1
    speaking = ("button", "table", "region", "meter", "image", "toolbar", "link", "combobox")
    assert [each for each in named if each[0] in speaking and not each[1].strip()] == []
    buttons = {name for role, name in named if role == "button"}
    assert {"Pause", "Resume", "Flatten", "Cancel all", "Reset breaker"} <= buttons
    assert sum(name.startswith(STRIKES) for name in buttons) == 5
    captions = "[...document.querySelectorAll('table')].map((each) => each.caption.textContent)"
    assert all(page.value(captions))


def test_a_change_of_phase_is_announced_and_figures_are_not(page, page_site):
    assert page.text("#told") == ""
    page_site.report = msgspec.structs.replace(
        page_site.report, pnl_cents=5, series_ticker=Ticker("X")
    )
    page.wait("document.getElementById('figures').textContent.includes('$0.05')")
    assert page.text("#told") == ""
    page_site.report = picture(Phase.PAUSED)
    page.wait("document.getElementById('told').textContent.startsWith('paused')")
