"""Claims about what people and machines are shown: page, health, terminal, logs."""

import asyncio
import io
import json
import logging
import re

import httpx
import msgspec
import pytest
import structlog
from rich.console import Console

from bot.core.report import Phase
from bot.io.logs import SecretRedactor, configure_logs, log_note
from bot.io.metrics.metrics import Metrics
from bot.io.run.terminal import picture, show_lines
from bot.io.secret import MASK, Secret
from bot.io.status.serving import StatusFault, listen
from bot.io.status.snapshot import Snapshot
from tests.builders.house.tree import ROOT
from tests.builders.io import pages
from tests.builders.io.samples import ORDER_ID, report
from venue.wire.money import dollars

pytestmark = pytest.mark.anyio
SECOND = 10**9
HOST = {"Host": "127.0.0.1:8090"}
PAGE = ROOT / "bot/io/status/page"


def snapshot(
    phase=Phase.QUOTING, blocked="", age_ns=0, silent_ns=0, trusted_ns=10 * SECOND
) -> Snapshot:
    now_ns = 100 * SECOND
    shown = report(phase, now_ns - silent_ns, blocked)
    shown = msgspec.structs.replace(shown, feed_silent_after_ns=trusted_ns)
    return Snapshot(now_ns, now_ns - age_ns, shown)


def client_of(look, allowed=()) -> httpx.AsyncClient:
    return pages.client_of(pages.app_of(look, allowed))


@pytest.mark.parametrize(
    ("shown", "status"),
    [
        (None, 503),
        (snapshot(), 200),
        (snapshot(Phase.PAUSED), 200),
        (snapshot(Phase.STARTING), 503),
        (snapshot(Phase.STOPPING), 503),
        (snapshot(Phase.STOPPED), 503),
        (snapshot(age_ns=3 * SECOND), 503),
        (snapshot(Phase.PAUSED, age_ns=3 * SECOND), 503),
        (snapshot(silent_ns=11 * SECOND), 503),
        (snapshot(silent_ns=11 * SECOND, trusted_ns=60 * SECOND), 200),
        (snapshot(blocked="book too old"), 503),
    ],
)
async def test_a_bot_is_healthy_only_while_it_quotes_or_is_paused(shown, status):
    async with client_of(lambda: shown) as client:
        assert (await client.get("/healthz", headers=HOST)).status_code == status


async def test_the_health_page_is_one_line_whatever_a_strategy_raised():
    (event,) = (base := report(Phase.QUOTING)).events
    failing = msgspec.structs.replace(event, strategy_fault="x: \x1b[2J\r\nok \udc80")
    shown = msgspec.structs.replace(base, events=(failing,), resting=0)
    async with client_of(lambda: Snapshot(shown.now_ns, shown.now_ns, shown)) as client:
        answer = await client.get("/healthz", headers=HOST)
    assert answer.status_code == 503
    assert answer.content == b"the strategy is at fault everywhere: x: ?[2J??ok ?\n"


@pytest.mark.parametrize(
    ("shown", "state"),
    [
        (snapshot(), "quoting"),
        (snapshot(silent_ns=11 * SECOND), "no feed"),
        (snapshot(blocked="market halted"), "nothing quotable"),
        (snapshot(Phase.PAUSED, blocked="market halted"), "paused"),
    ],
)
async def test_page_terminal_and_metrics_show_the_same_state(shown, state):
    async with client_of(lambda: shown) as client:
        assert (await client.get("/status.json", headers=HOST)).json()["state"] == state
    assert f"X  {state}  http" in printed(shown)
    at_once = msgspec.structs.replace(shown.report, now_ns=shown.now_ns)
    lines = Metrics(lambda: at_once).text().decode().splitlines()
    assert [line for line in lines if line.startswith("laddermaker_state{") and " 1" in line] == [
        f'laddermaker_state{{series="X",state="{state}"}} 1.0'
    ]


async def test_other_tasks_run_between_two_families_of_the_metrics():
    turns = 0

    async def work():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with client_of(snapshot) as client:
        working = asyncio.create_task(work())
        text = (await client.get("/metrics", headers=HOST)).text
        working.cancel()
    assert turns > text.count("# HELP ") > 20


async def test_the_snapshot_has_its_age():
    async with client_of(lambda: snapshot(age_ns=3 * SECOND)) as client:
        shown = (await client.get("/status.json", headers=HOST)).json()
    assert shown["age_ms"] == 3000
    assert shown["unhealthy"] == "no decision for 3000 ms"
    assert shown["report"]["events"][0]["rungs"][0]["orders"][0]["order_id"] == ORDER_ID


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8090", 200),
        ("127.0.0.1:1", 200),
        ("[::1]", 200),
        ("[::1]:8090", 200),
        ("bot.internal:8090", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost@evil.example", 421),
        ("", 421),
    ],
)
async def test_only_requests_for_our_own_hosts_are_answered(host, status):
    async with client_of(snapshot, ("bot.internal",)) as client:
        assert (await client.get("/status.json", headers={"Host": host})).status_code == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_the_page_can_only_be_read(method):
    async with client_of(snapshot) as client:
        for path in ("/", "/status.json", "/events", "/metrics", "/main.js"):
            assert (await client.request(method, path)).status_code == 405


async def test_the_page_answers_for_its_own_paths_and_series_alone():
    unknown = ("/admin", "/page/index.html", "/../status.py", "/control/stop")
    async with client_of(snapshot) as client:
        for path in (*unknown, "/status.json?series=Y"):
            assert (await client.get(path)).status_code == 404
        assert (await client.get("/status.json?series=X")).json()["series"] == ["X"]
        events = await client.head("/events")
    assert (events.status_code, events.headers["content-type"]) == (200, "text/event-stream")


@pytest.mark.parametrize("path", [f"/{file.name}" for file in PAGE.iterdir()])
async def test_the_page_loads_nothing_from_another_host(path):
    async with client_of(snapshot) as client:
        answer = await client.get("/" if path == "/index.html" else path)
    assert answer.status_code == 200
    named = set(re.findall(r"""(?:https?:)?//[\w.]+|@import|url\(""", answer.text))
    assert named <= {"http://www.w3.org"}


async def test_the_page_runs_only_the_scripts_and_styles_of_its_own_files():
    async with client_of(snapshot) as client:
        answer = await client.get("/")
    policy = dict(
        part.strip().partition(" ")[::2]
        for part in answer.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert policy["require-trusted-types-for"] == "'script'"
    page, _, after = answer.text.partition('id="first">')
    page += 'id="first">'
    rest = after.partition("</script>")[2]
    assert re.findall(r"<script[^>]*>", page + rest) == [
        '<script type="application/json" id="first">',
        '<script type="module" src="main.js">',
    ]
    assert not re.search(r"<style|\bon\w+=|\bstyle=", page + rest)
    assert re.findall(r'(?:src|href)="([^"]+)"', answer.text)


async def test_the_first_snapshot_in_the_page_cannot_end_its_element():
    hostile = "</script><script>alert(1)</script><!--"
    shown = msgspec.structs.replace(report(), latched=hostile)
    async with client_of(lambda: pages.seen(shown)) as client:
        text = (await client.get("/")).text
    data = text.partition('id="first">')[2].partition("</script>")[0]
    assert json.loads(data)["report"]["latched"] == hostile
    assert "<" not in data


def test_no_script_of_the_page_turns_text_into_markup():
    for file in PAGE.glob("*.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", file.read_text()
        )


def test_a_taken_port_is_reported_with_what_to_do():
    with listen("127.0.0.1", 0) as first:
        first.listen()
        with pytest.raises(StatusFault, match="--status-port 0"):
            listen("127.0.0.1", first.getsockname()[1])


# --- the terminal ---------------------------------------------------------------------------------


def printed(shown: Snapshot) -> str:
    console = Console(file=io.StringIO(), width=140, force_terminal=True, color_system=None)
    console.print(picture(shown, ["warning x text=\x1b[2J"], "http://127.0.0.1:1/", 2.5))
    return console.file.getvalue()


def test_the_table_shows_quotes_position_profit_and_request_rate():
    text = printed(snapshot())
    for part in ("X-26Q4", "1 USD billions", "39 / 45", "42.0", "-$0.07", "2.5 requests/s"):
        assert part in text


def test_a_terminal_of_80_by_24_shows_the_totals_and_all_17_rungs():
    shown = snapshot()
    event = shown.report.events[0]
    rung = msgspec.structs.replace(event.rungs[0], strike_text="206.25 USD billions")
    title = "Aurelia Robotics valuation at the end of Q4 2026"
    events = tuple(
        msgspec.structs.replace(event, title=title, rungs=(rung,) * count) for count in (9, 8)
    )
    report = msgspec.structs.replace(shown.report, events=events, findings=())
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    notes = ["info note"] * 5
    console.print(picture(msgspec.structs.replace(shown, report=report), notes, "http://h/", 2.5))
    seen = console.file.getvalue().splitlines()[:23]  # the last line says that there is more
    assert sum(line.startswith("206.25 USD billions") for line in seen) == 17
    assert any("-$0.07" in line and "worst case" in line for line in seen)


def test_names_from_the_venue_are_neither_terminal_codes_nor_markup():
    text = printed(snapshot())
    assert "\x07" not in text
    assert "\x1b[2J" not in text
    assert "[bold]at the end" in text


@pytest.mark.parametrize(
    ("cents", "text"), [(0, "$0.00"), (-5, "-$0.05"), (123456, "$1,234.56"), (-100, "-$1.00")]
)
def test_cents_are_shown_as_dollars(cents, text):
    assert dollars(cents) == text


# --- logs -----------------------------------------------------------------------------------------


@pytest.fixture
def logged():
    """What is logged while the test runs; logging is as before afterwards."""
    root, stream, masker = logging.getLogger(), io.StringIO(), SecretRedactor()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    masker.learn(Secret("lm_canary_1"))
    configure_logs(masker, stream=stream)
    yield stream
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_log_line_is_json_without_control_characters(logged):
    log_note("warning", "feed_closed", {"reason": "a\nb\x1b[31m", "event": "X", "count": 3})
    [line] = lines(logged)
    assert line["event"] == "feed_closed"
    assert line["level"] == "warning"
    assert line["reason"] == "a?b?[31m"
    assert (line["event_ticker"], line["count"]) == ("X", 3)


def test_the_log_has_every_fault_of_a_refused_configuration(logged):
    faults = [f"/etc/x/bot.yaml:{line}: risk.order_qty: 'x'; accepted: a" for line in range(30)]
    why = " | ".join(faults)
    log_note("error", "config_refused", {"why": why})
    [line] = lines(logged)
    assert line["why"] == why


def test_the_key_is_masked_everywhere_in_the_log(logged):
    log = structlog.stdlib.get_logger("bot")
    log.info("a lm_canary_1 b", api_key="anything", note=["lm_canary_1"], text="x lm_canary_1")
    try:
        raise ValueError("lm_canary_1")
    except ValueError:
        log.exception("failed")
    logging.getLogger("somebody.else").error("theirs: %s", "lm_canary_1")
    text = logged.getvalue()
    assert "canary" not in text
    assert "anything" not in text
    assert text.count(MASK) >= 5


def test_other_libraries_log_only_warnings(logged):
    for name in ("httpx", "httpcore.http11", "websockets.client", "uvicorn.error"):
        logging.getLogger(name).info("x")
        logging.getLogger(name).debug("x")
    assert logged.getvalue() == ""


async def test_without_a_terminal_the_state_is_logged_regularly(logged):
    showing = asyncio.ensure_future(show_lines(snapshot, 0.01))
    await asyncio.sleep(0.1)
    showing.cancel()
    await asyncio.wait([showing])
    first = lines(logged)[0]
    assert (first["event"], first["phase"], first["pnl_cents"]) == ("state", "quoting", -7)
