"""Claims about the controls: who may ask, what the trader is received, and what makes no sense."""

import json
import stat

import httpx
import msgspec
import pytest

from bot.core import messages as m
from bot.core.report import ExitReport, Phase
from bot.core.settings import BudgetPeriod
from bot.core.trading_state import TradingState
from bot.io.secret import Secret
from bot.io.state.kill_switch_file import KillSwitchFile
from bot.io.status.control import TOKEN_NAME, Action, Control, ControlFault, token_in
from bot.io.status.status import StatusApp
from tests.builders.bot.restricted import by_operator
from tests.builders.io.pages import TOKEN, EventLog, app_of, client_of, seen, served, shown_by
from tests.builders.io.samples import operator_value, report, spent_budget
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Qty
from venue.wire.names import Ticker

pytestmark = pytest.mark.anyio
BEARER = {"Authorization": f"Bearer {TOKEN}"}
WHY = {"reason": "a test"}
COMMANDS = [action for action in Action if action is not Action.RAISE_BUDGET]
EVENT = report(Phase.QUOTING).events[0].event_ticker


def in_phase(phase: Phase, **changes: object):
    return lambda: seen(msgspec.structs.replace(report(phase), **changes))


def paused(**changes: object):
    return in_phase(Phase.PAUSED, restrictions=(by_operator(TradingState.HALTED),), **changes)


FLATTENING = in_phase(Phase.QUOTING, restrictions=(by_operator(TradingState.REDUCE_ONLY),))


async def asked(
    action: str,
    look=seen,
    headers: dict[str, str] | None = None,
    body: object = WHY,
    state=None,
) -> tuple[httpx.Response, list[m.Event]]:
    """The answer to one request, and what the trader was received."""
    received = EventLog()
    app = app_of(look, event_log=received, state=state, control=True)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with client_of(app) as client:
        answer = await client.post(
            f"/control/{action}", content=content, headers=BEARER if headers is None else headers
        )
    return answer, received.events


# --- commands ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "look", "event"),
    [
        ("pause", seen, m.PauseRequested("a test")),
        ("resume", paused(), m.ResumeRequested("a test")),
        ("resume", FLATTENING, m.ResumeRequested("a test")),
        ("flatten", seen, m.FlattenRequested("a test")),
        ("cancel-all", seen, m.PauseRequested("cancel all: a test")),
        ("cancel-all", paused(resting=1), m.PauseRequested("cancel all: a test")),
        ("pause", lambda: None, m.PauseRequested("a test")),
    ],
)
async def test_a_command_becomes_an_event_of_the_trader(action, look, event):
    answer, events = await asked(action, look)
    assert (answer.status_code, answer.json()) == (202, {"done": action})
    assert events == [event]


async def test_a_command_may_be_for_one_event():
    _, events = await asked("pause", body=WHY | {"event": EVENT.lower()})
    assert events == [m.PauseRequested("a test", EVENT)]


@pytest.mark.parametrize(
    ("action", "body", "event"),
    [
        ("pause", {}, m.PauseRequested("a test", account=True)),
        ("flatten", {}, m.FlattenRequested("a test", account=True)),
        ("reduce", {"size_divisor": 4}, m.ReduceRequested("a test", 4, account=True)),
    ],
)
async def test_a_command_about_the_account_goes_to_every_series(action, body, event):
    received = {Ticker("A"): EventLog(), Ticker("B"): EventLog()}
    shown = {ticker: shown_by(seen, each) for ticker, each in received.items()}
    app = StatusApp(shown, (), control=Control(Secret(TOKEN), shown))
    async with client_of(app) as client:
        sent = WHY | {"account": True} | body
        await client.post(f"/control/{action}?series=B", json=sent, headers=BEARER)
    assert [log.events for log in received.values()] == [[event], [event]]


async def test_a_resume_of_the_series_says_that_the_account_is_paused():
    of_account = by_operator(TradingState.HALTED, of_account=True)
    answer, _ = await asked("resume", in_phase(Phase.PAUSED, restrictions=(of_account,)))
    assert answer.status_code == 409
    assert "the account is halted: resume the account" in answer.text


async def test_a_reduction_needs_a_divisor_and_no_stricter_word():
    look = in_phase(Phase.QUOTING, restrictions=(by_operator(TradingState.REDUCE_ONLY),))
    assert "needs a size_divisor" in (await asked("reduce"))[0].text
    answer, events = await asked("reduce", look, body=WHY | {"size_divisor": 2})
    assert (answer.status_code, events) == (409, [])
    assert "resume it first" in answer.text


@pytest.mark.parametrize("action", ["cancel-all", "reset", "exit"])
async def test_a_command_for_a_series_or_event_is_refused_for_the_account(action):
    answer, events = await asked(action, body=WHY | {"account": True})
    assert (answer.status_code, events) == (409, [])
    assert f"{action} is not for the account" in answer.text


MORE = WHY | {"period": "day", "cents": 500}


async def test_a_loss_budget_is_raised_by_the_event_of_the_trader():
    answer, events = await asked(
        "raise-budget", in_phase(Phase.LATCHED, loss_budgets=(spent_budget(),)), body=MORE
    )
    assert answer.status_code == 202
    assert events == [m.RaiseBudget(BudgetPeriod.DAY, Cents(500), "a test")]


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (MORE | {"period": "week"}, 409, "no loss budget for week"),
        (MORE | {"period": "month"}, 400, "send"),
        (MORE | {"cents": 0}, 400, "send"),
        (WHY, 400, "period and cents"),
    ],
)
async def test_a_raise_of_nothing_is_refused(body, status, text):
    answer, events = await asked(
        "raise-budget", in_phase(Phase.QUOTING, loss_budgets=(spent_budget(),)), body=body
    )
    assert (answer.status_code, events) == (status, [])
    assert text in answer.text


@pytest.mark.parametrize(
    ("action", "event", "text"),
    [
        ("pause", "NONE-26", "no event NONE-26"),
        ("resume", EVENT, "quoting already"),
        ("reset", EVENT, "for the whole series"),
    ],
)
async def test_a_command_for_an_event_is_refused_where_it_makes_no_sense(action, event, text):
    answer, events = await asked(action, body=WHY | {"event": event})
    assert (answer.status_code, events) == (409, [])
    assert text in answer.text


TERMS = {"within_ms": 60_000, "max_cost_cents": 500}


def holding(**changes: object):
    """The sample, with shares of the first rung."""
    (event, *others), (rung, *rungs) = report().events, report().events[0].rungs
    held = msgspec.structs.replace(rung, yes_qty=Qty(rung.no_qty + 7))
    event = msgspec.structs.replace(event, rungs=(held, *rungs), **changes)
    return in_phase(Phase.QUOTING, events=(event, *others))


RUNNING = ExitReport(
    began_ns=0,
    ends_ns=1,
    max_cost_cents=Cents(5),
    reason="",
    stage="last",
    over="",
    start_qty=1,
    left_qty=1,
    cost_cents=0,
    may_cost_cents=0,
    preview=None,
)


async def test_an_exit_is_asked_for_with_its_event_time_and_cost():
    answer, events = await asked("exit", holding(), body=WHY | TERMS | {"event": EVENT})
    assert answer.status_code == 202
    assert events == [m.ExitRequested(EVENT, 60 * NS_PER_SECOND, Cents(500), "a test")]


@pytest.mark.parametrize(
    ("look", "terms", "code", "text"),
    [
        (holding(), TERMS, 409, "an exit is for one event"),
        (holding(), {"event": EVENT}, 409, "needs an event, a time and a cost"),
        (holding(), TERMS | {"event": EVENT, "within_ms": 5}, 400, "accepted: 1000 to 86400000"),
        (holding(), TERMS | {"event": EVENT, "max_cost_cents": -1}, 400, "accepted: 0 to"),
        (holding(exit=RUNNING), TERMS | {"event": EVENT}, 409, "resume the event first"),
        (in_phase(Phase.LATCHED, latched="x"), TERMS | {"event": EVENT}, 409, "latched"),
    ],
)
async def test_an_exit_that_makes_no_sense_is_refused(look, terms, code, text):
    answer, events = await asked("exit", look, body=WHY | terms)
    assert (answer.status_code, events) == (code, [])
    assert text in answer.text


async def test_an_exit_of_an_event_without_inventory_is_refused():
    (event, *_), flat = report().events, []
    for rung in event.rungs:
        flat.append(msgspec.structs.replace(rung, yes_qty=Qty(3), no_qty=Qty(3)))
    look = in_phase(Phase.QUOTING, events=(msgspec.structs.replace(event, rungs=tuple(flat)),))
    answer, _ = await asked("exit", look, body=WHY | TERMS | {"event": EVENT})
    assert (answer.status_code, answer.text) == (409, "no inventory is held there\n")


async def test_a_reason_is_one_line_without_control_characters():
    _, events = await asked("flatten", body={"reason": "a\x1b[31mred\a\r\nb gr\xf6\xdfe"})
    assert events == [m.FlattenRequested("a?[31mred???b gr\xf6\xdfe")]


async def test_a_reset_clears_the_latch_and_gives_the_trader_the_reason(tmp_path):
    KillSwitchFile(tmp_path).set("loss_cents: 501", "breaker", 0)
    look = in_phase(Phase.LATCHED, latched="loss_cents: 501")
    answer, events = await asked("reset", look, state=tmp_path)
    assert answer.status_code == 202
    assert KillSwitchFile(tmp_path).read_latch() is None
    assert events == [m.LatchCleared("a test")]


@pytest.mark.parametrize(
    ("action", "look", "text"),
    [
        ("pause", paused(), "paused already"),
        ("resume", seen, "quoting already"),
        ("resume", in_phase(Phase.LATCHED, latched="x"), "latched"),
        ("flatten", in_phase(Phase.LATCHED, latched="x"), "latched"),
        ("flatten", FLATTENING, "flattening already"),
        ("cancel-all", paused(resting=0), "nothing rests"),
        ("reset", seen, "nothing is latched"),
        ("reset", lambda: None, "nothing is latched"),
        *((action.value, in_phase(Phase.STOPPING), "stopping") for action in COMMANDS),
    ],
)
async def test_a_command_that_does_not_fit_the_state_is_refused_with_the_reason(
    action, look, text, tmp_path
):
    answer, events = await asked(action, look, state=tmp_path)
    assert answer.status_code == 409
    assert text in answer.text
    assert events == []


async def test_a_command_is_for_every_series_or_for_the_one_named():
    received = {Ticker("A"): EventLog(), Ticker("B"): EventLog()}
    shown = {ticker: shown_by(seen, each) for ticker, each in received.items()}
    app = StatusApp(shown, (), control=Control(Secret(TOKEN), shown))
    async with client_of(app) as client:
        await client.post("/control/pause", json=WHY, headers=BEARER)
        await client.post("/control/flatten?series=B", json=WHY, headers=BEARER)
        unknown = await client.post("/control/pause?series=C", json=WHY, headers=BEARER)
    assert received[Ticker("A")].events == [m.PauseRequested("a test")]
    assert received[Ticker("B")].events == [
        m.PauseRequested("a test"),
        m.FlattenRequested("a test"),
    ]
    assert unknown.status_code == 404


RUNG = report(Phase.QUOTING).events[0].rungs[0].ticker
SERIES = report(Phase.QUOTING).series_ticker
WORTH = {"about": SERIES, "unit": "dollars", "value": 2e11, "sd": 2e9, "ttl_ms": 60_000}
CHANCE = {**WORTH, "about": RUNG, "unit": "chance", "value": 0.4, "sd": 0.05}
STATED = in_phase(
    Phase.QUOTING,
    events=tuple(
        msgspec.structs.replace(each, outside_values=(operator_value(SERIES),))
        for each in report(Phase.QUOTING).events
    ),
)


@pytest.mark.parametrize("value", [WORTH, WORTH | {"about": EVENT}, CHANCE])
async def test_a_value_of_the_operator_becomes_an_event_of_the_trader(value):
    body = WHY | {"value": {**value, "about": value["about"].lower()}}
    answer, events = await asked("set-value", body=body)
    assert answer.status_code == 202
    (event,) = events
    assert (event.source, event.about, event.value) == ("operator", value["about"], value["value"])
    assert event.until_ns - event.observed_ns == 60 * 10**9


@pytest.mark.parametrize("about", [SERIES, None])
async def test_a_value_of_the_operator_is_withdrawn_alone_or_with_all_others(about):
    body = WHY | {"value": {} if about is None else {"about": about}}
    _, events = await asked("clear-value", STATED, body=body)
    assert events == [m.OutsideValueCleared("operator", about)]


@pytest.mark.parametrize(
    ("action", "value", "text"),
    [
        ("set-value", {**WORTH, "about": "NONE"}, "dollars need a series or event of"),
        ("set-value", {**WORTH, "about": RUNG}, "dollars need a series or event of"),
        ("set-value", {**CHANCE, "about": EVENT}, "chance need a market of"),
        ("set-value", {**WORTH, "value": -1.0}, "value: above 0"),
        ("set-value", {**CHANCE, "value": 1.0}, "value: above 0, and a chance below 1"),
        ("set-value", {**WORTH, "sd": 0.0}, "sd: above 0"),
        ("set-value", {**WORTH, "ttl_ms": 0}, "ttl_ms: 1 to"),
        ("set-value", {}, "about: the ticker"),
        ("clear-value", {"about": SERIES}, "has stated nothing of"),
        ("clear-value", {}, "the operator has stated no value"),
    ],
)
async def test_a_value_that_makes_no_sense_is_refused_with_the_reason(action, value, text):
    answer, events = await asked(action, body=WHY | {"value": value})
    assert (answer.status_code, events) == (409, [])
    assert text in answer.text


# --- who may ask ----------------------------------------------------------------------------------


OWN = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        *(
            (headers, 401)
            for headers in (
                {},
                *(
                    {"Authorization": each}
                    for each in (
                        *("", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x"),
                        *(f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN),
                    )
                ),
                {"X-Api-Key": TOKEN},
                {"Cookie": f"token={TOKEN}"},
            )
        ),
        *(
            ({**BEARER, "Origin": origin}, 403)
            for origin in ("http://evil.example", "http://localhost:1", "null", "http://[")
        ),
        ({**BEARER, "Sec-Fetch-Site": "cross-site"}, 403),
        ({**BEARER, "Sec-Fetch-Site": "same-site"}, 403),
        ({**BEARER, "Host": "evil.example"}, 421),
        ({**BEARER, **OWN}, 202),
    ],
    ids=str,
)
async def test_only_a_request_with_the_token_and_our_origin_reaches_the_trader(headers, status):
    answer, events = await asked("pause", headers=headers)
    assert answer.status_code == status
    assert len(events) == (status == 202)
    if status == 401:
        assert answer.headers["www-authenticate"] == "Bearer"


async def test_controls_that_are_switched_off_refuse_every_command():
    received = EventLog()
    async with client_of(app_of(seen, event_log=received)) as client:
        answer = await client.post("/control/pause", json=WHY, headers=BEARER)
        status = (await client.get("/status.json")).json()
    assert (answer.status_code, status["control"], received.events) == (403, False, [])


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"])
async def test_only_a_post_is_a_command(method):
    received = EventLog()
    async with client_of(app_of(seen, event_log=received, control=True)) as client:
        answer = await client.request(method, "/control/pause", headers=BEARER)
    assert (answer.status_code, answer.headers["allow"], received.events) == (405, "POST", [])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"pause",
        b"[]",
        {},
        {"reason": ""},
        {"reason": "  \n "},
        {"reason": 3},
        {"reason": "x" * 201},
        b'{"reason": "' + b"x" * 5_000 + b'"}',
        b'{"reason": "\xff"}',
    ],
)
async def test_a_command_without_a_valid_reason_is_refused(body):
    answer, events = await asked("pause", body=body)
    assert answer.status_code == 400
    assert events == []


async def test_a_command_works_over_a_socket_and_a_long_body_is_refused():
    received = EventLog()
    async with (
        served(app_of(seen, event_log=received, control=True)) as url,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        done = await client.post(f"{url}control/pause", json=WHY, headers=BEARER)
        long = await client.post(f"{url}control/pause", content=b"x" * 99_999, headers=BEARER)
    assert (done.status_code, long.status_code) == (202, 400)
    assert received.events == [m.PauseRequested("a test")]


# --- the token ------------------------------------------------------------------------------------


def test_one_private_token_is_made_for_all_state_directories(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    first = token_in(folders[:1]).reveal()
    again = token_in(folders).reveal()
    assert first == again == (folders[1] / TOKEN_NAME).read_text().strip()
    assert len(first) >= 40
    for folder in folders:
        assert stat.S_IMODE((folder / TOKEN_NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("spoil", ["open", "empty", "two words"])
def test_a_token_that_others_could_have_changed_is_replaced(tmp_path, spoil):
    old = token_in([tmp_path]).reveal()
    place = tmp_path / TOKEN_NAME
    if spoil == "open":
        place.chmod(0o644)
    else:
        place.write_text("" if spoil == "empty" else "two words")
    fresh = token_in([tmp_path]).reveal()
    assert fresh != old
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_a_link_in_the_place_of_the_token_is_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("somebody-elses-secret")
    (tmp_path / TOKEN_NAME).symlink_to(elsewhere)
    assert token_in([tmp_path]).reveal() != "somebody-elses-secret"
    assert elsewhere.read_text() == "somebody-elses-secret"


def test_a_token_that_cannot_be_written_is_a_fault(tmp_path):
    with pytest.raises(ControlFault, match="cannot be written"):
        token_in([tmp_path / "absent"])


def test_the_token_is_not_in_the_representation_of_the_controls():
    assert TOKEN not in repr(Control(Secret(TOKEN), {}).__dict__)
