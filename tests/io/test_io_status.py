"""Claims about what people and machines are shown: page, health, metrics, terminal, logs."""

import asyncio
import io
import json
import logging
import re

import httpx
import pytest
import structlog
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from bot.core import messages as m
from bot.core.report import Phase
from bot.io.logs import Masker, configure_logs, log_note
from bot.io.metrics import FAMILIES, Metrics
from bot.io.secret import MASK, Secret
from bot.io.snapshot import Snapshot
from bot.io.status import StatusFault, address, listen, make_app, serve
from bot.io.terminal import dollars, picture, show_lines
from tests.io.samples import ORDER_ID, create, report, sent

pytestmark = pytest.mark.anyio
SECOND = 10**9
HOST = {"Host": "127.0.0.1:8090"}


@pytest.fixture
def anyio_backend():
    return "asyncio"


def snapshot(phase=Phase.QUOTING, blocked="", age_ns=0, silent_ns=0) -> Snapshot:
    now_ns = 100 * SECOND
    shown = report(phase, now_ns - silent_ns, blocked)
    return Snapshot(now_ns, now_ns - age_ns, shown)


def client_of(look, allowed=()) -> httpx.AsyncClient:
    app = make_app(look, Metrics(lambda: None), allowed)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


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
        (snapshot(blocked="book too old"), 503),
    ],
)
async def test_it_is_healthy_only_while_it_quotes_or_was_told_to_pause(shown, status):
    async with client_of(lambda: shown) as client:
        assert (await client.get("/healthz", headers=HOST)).status_code == status


async def test_the_picture_carries_its_age():
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
async def test_only_hosts_of_ours_are_answered(host, status):
    async with client_of(snapshot, ("bot.internal",)) as client:
        assert (await client.get("/status.json", headers={"Host": host})).status_code == status


async def test_nothing_but_reading_is_possible():
    async with client_of(snapshot) as client:
        assert (await client.post("/", headers=HOST)).status_code == 405
        assert (await client.get("/admin", headers=HOST)).status_code == 404


async def test_the_page_names_no_address_outside_itself():
    async with client_of(snapshot) as client:
        answer = await client.get("/", headers=HOST)
    found = re.findall(r"""(?:https?:)?//[\w.]+|src=|href=|@import|url\(""", answer.text)
    assert found == ["http://www.w3.org"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "innerHTML" not in answer.text


async def test_the_page_is_served_over_a_real_socket_until_it_is_cancelled():
    listener = listen("127.0.0.1", 0)
    app = make_app(snapshot, Metrics(lambda: None), ())
    serving = asyncio.ensure_future(serve(app, listener))
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(address(listener))
    serving.cancel()
    await asyncio.wait([serving])
    assert answer.status_code == 200
    assert "laddermaker" in answer.text


def test_an_address_that_is_taken_is_told_with_what_to_do():
    with listen("127.0.0.1", 0) as first:
        first.listen()
        with pytest.raises(StatusFault, match="--status-port 0"):
            listen("127.0.0.1", first.getsockname()[1])


# --- metrics --------------------------------------------------------------------------------------


def samples(metrics: Metrics) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }


def test_the_metrics_tell_what_the_report_tells():
    found = samples(Metrics(report))
    assert found["laddermaker_pnl_cents", ()] == -7
    assert found["laddermaker_phase", ("quoting",)] == 1
    assert found["laddermaker_phase", ("paused",)] == 0
    assert found["laddermaker_requests_total", ("create",)] == 2
    assert found["laddermaker_requests_refused_total", ("rate_limited",)] == 1
    assert found["laddermaker_rung_net_shares", ("X-26Q4-1B",)] == 3


def test_before_the_first_picture_there_are_no_figures_of_one():
    names = {name for name, _ in samples(Metrics(lambda: None))}
    assert "laddermaker_process_start_time_seconds" in names
    assert "laddermaker_pnl_cents" not in names


def test_requests_are_timed_by_kind_and_answer_and_no_id_is_a_label():
    metrics = Metrics(report)
    metrics.did(sent(create(), 1), 0)
    metrics.did(sent(m.CancelResting(ORDER_ID), 2), 0)
    metrics.saw(m.Replied(m.RequestId(1), m.Unknown("x")), 20_000_000)
    found = samples(metrics)
    assert found["laddermaker_request_seconds_count", ("Unknown", "Create")] == 1
    assert found["laddermaker_request_seconds_sum", ("Unknown", "Create")] == 0.02
    assert ORDER_ID not in metrics.text().decode()


def test_a_flood_of_new_names_does_not_become_a_flood_of_series():
    metrics = Metrics(report)
    for number in range(1_000):
        metrics.did(m.Noted("info", f"name_{number}", {}), 0)
    assert sum(name == "laddermaker_notes_total" for name, _ in samples(metrics)) == 200


def test_every_family_has_its_own_name_and_says_its_unit():
    names = [family.name for family in FAMILIES]
    assert len(names) == len(set(names))
    units = ("_cents", "_seconds", "_shares", "_orders", "_dollars")
    counted = {"phase", "requests_in_flight", "tokens", "findings", "rung_quotable"}
    counted |= {"latched", "breaker_used", "breaker_limit", "foreign_requests_per_second"}
    counted |= {"event_alarms", "strategy_at_fault", "shadow_stopped"}
    for family in FAMILIES:
        assert family.is_total or family.name.endswith(units) or family.name in counted
        assert family.help.endswith(".")


# --- the terminal ---------------------------------------------------------------------------------


def printed(shown: Snapshot) -> str:
    console = Console(file=io.StringIO(), width=140, force_terminal=True, color_system=None)
    console.print(picture(shown, ["warning x text=\x1b[2J"], "http://127.0.0.1:1/", 2.5))
    return console.file.getvalue()


def test_the_table_shows_quotes_position_profit_and_pace():
    text = printed(snapshot())
    for part in ("X-26Q4", "1 USD billions", "39 / 45", "42.0", "-$0.07", "2.5 requests/s"):
        assert part in text


def test_what_the_venue_names_is_neither_obeyed_by_the_terminal_nor_read_as_markup():
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
    root, stream, masker = logging.getLogger(), io.StringIO(), Masker()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    masker.learn(Secret("lm_canary_1"))
    configure_logs(masker, stream=stream)
    yield stream
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_note_is_one_line_of_json_without_control_signs(logged):
    log_note("warning", "feed_closed", {"reason": "a\nb\x1b[31m", "event": "X", "count": 3})
    [line] = lines(logged)
    assert line["event"] == "feed_closed"
    assert line["level"] == "warning"
    assert line["reason"] == "a?b?[31m"
    assert (line["event_"], line["count"]) == ("X", 3)


def test_the_key_is_masked_wherever_it_stands(logged):
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


def test_other_libraries_say_nothing_below_a_warning(logged):
    for name in ("httpx", "httpcore.http11", "websockets.client", "uvicorn.error"):
        logging.getLogger(name).info("x")
        logging.getLogger(name).debug("x")
    assert logged.getvalue() == ""


async def test_without_a_terminal_the_state_is_a_line_now_and_then(logged):
    showing = asyncio.ensure_future(show_lines(snapshot, 0.01))
    await asyncio.sleep(0.1)
    showing.cancel()
    await asyncio.wait([showing])
    first = lines(logged)[0]
    assert (first["event"], first["phase"], first["pnl_cents"]) == ("state", "quoting", -7)
