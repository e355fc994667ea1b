"""Claims about the commands that ask a running bot: addresses, series, tokens, refusals, codes."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from bot.cli import running_bot
from bot.cli.main import COMMANDS
from bot.cli.main import app as bot
from bot.config.bot_config import read_draft
from bot.core.outcome_risk import CompanyRisk, risk_of
from bot.core.report import ConfigReport, Phase, Report
from bot.core.trading_state import TradingState
from bot.io.state import small_files
from bot.io.state.locks import StateDirectory, held_by_a_bot
from bot.io.state.small_files import keep_page, page_kept
from bot.io.status.serving import address
from tests.builders import ctrl_c
from tests.builders.bot.restricted import by_operator
from tests.builders.house.tree import ROOT
from tests.builders.io.commands import DEMO, demo_copy, invoke
from tests.builders.io.loopback import loopback
from tests.builders.io.samples import report
from venue.cli.main import app as venue
from venue.wire.money import Cents

TOKEN = "canary_token_of_the_control"


class Site:
    """A page on loopback. answers: what it says to a POST, by the last part of its path."""

    def __init__(self, body: bytes, answers: dict[str, tuple[int, str]]) -> None:
        self.body = body
        self.answers = answers
        self.asked: list[tuple[str, str, str]] = []
        self.url = ""


@contextmanager
def site(body: bytes, answers: dict[str, tuple[int, str]] | None = None) -> Iterator[Site]:
    """The page of a bot that says this of itself."""
    found = Site(body, answers or {})

    def answer(request: BaseHTTPRequestHandler) -> tuple[int, bytes]:
        if request.command == "GET":
            return 200, found.body
        reason = json.loads(request.rfile.read(int(request.headers["Content-Length"])))["reason"]
        found.asked.append((request.path, request.headers["Authorization"], reason))
        name = request.path.partition("?")[0].rpartition("/")[2]
        code, text = found.answers.get(name, (202, "{}"))
        return code, text.encode()

    with loopback(answer) as found.url:
        yield found


def body(
    unhealthy: str = "",
    series: tuple[str, ...] = ("AURELIA-VAL",),
    shown: Report | None = None,
    names: tuple[str, ...] = ("demo", "other"),
) -> bytes:
    shown = {"age_ms": 3, "unhealthy": unhealthy, "report": shown or report(), "control": True}
    return msgspec.json.encode({**shown, "series": series, "names": names[: len(series)]})


def state(folder: Path, token: str = TOKEN) -> str:
    place = folder / "control-token"
    place.write_text(f"{token}\n")
    place.chmod(0o600)
    return str(folder)


def hidden(folder: Path) -> str:
    """A state directory in which nobody can look, as one of another user, for a root too."""
    return str(folder / ("x" * 300))


def test_an_unhealthy_bot_is_shown_with_3_and_the_reason():
    with site(body("latched: look at it")) as page:
        done = invoke("status", str(DEMO), "--status", page.url)
        line = invoke("status", str(DEMO), "--status", page.url, "--json")
    assert (done.exit_code, line.exit_code) == (3, 3)
    assert "not well: latched: look at it" in done.stderr
    assert json.loads(line.stdout)["unhealthy"] == "latched: look at it"


def test_status_shows_what_restricts_a_bot_and_why_its_configuration_was_refused():
    fault = ConfigReport(fault="risk.order_qty: 0")
    state, why = TradingState.REDUCE_ONLY, "results tonight"
    restricted = (by_operator(state, why), by_operator(state, why, 1_800_000_000_000_000_000))
    flat = msgspec.structs.replace(report(), state=state, restrictions=restricted, config=fault)
    with site(body(shown=flat)) as page:
        shown = invoke("status", str(DEMO), "--status", page.url).stdout
    assert "quoting, reduce only" in shown
    line = "reduce only (operator): results tonight"
    assert f"{line}; ends: `bot resume`" in shown
    assert f"{line}, since 2027-01-15T08:00:00Z" in shown
    assert "change is in force: risk.order_qty: 0" in shown


def test_status_shows_what_is_held_may_lose_by_the_fair_curve():
    risk = risk_of((-500, 300), (0.25, 0.75), Cents(400))
    event = msgspec.structs.replace(report().events[0], risk=risk)
    both = CompanyRisk(project_id="p", events=("X-26Q4", "X-27Q1"), correlation=0.3, risk=risk)
    changed = msgspec.structs.replace(report(), events=(event,), companies=(both,))
    with site(body(shown=changed)) as page:
        shown = " ".join(invoke("status", str(DEMO), "--status", page.url).stdout.split())
    assert "held: expected $1.00 shortfall" in shown
    assert "$5.00" in shown
    assert "X-26Q4, X-27Q1 together, correlation 0.3: held: expected $1.00" in shown


def broken(folder: Path, *changes: tuple[str, str]) -> Path:
    """The demo's file with changes that are wrong."""
    return demo_copy(folder, *changes, name="broken")


TRADING_FAULTS = (
    ("order_qty:", "ordr_qty:"),
    ("decide_ms: 50", "decide_ms: x"),
    ("jump_guard:", "jmp_guard:"),
)


@pytest.mark.parametrize(
    "command", ["status", "pause", "resume", "flatten", "reduce", "cancel-all"]
)
def test_a_running_bot_can_be_asked_although_its_file_has_faults_about_trading(tmp_path, command):
    path = broken(tmp_path, *TRADING_FAULTS)
    given = () if command == "status" else ("--state-dir", state(tmp_path))
    with site(body(names=("broken",))) as page:
        done = invoke(command, str(path), "--status", page.url, *given)
    assert done.exit_code == 0, done.output
    for shown in (
        "risk.ordr_qty: no such key",
        "throttle.decide_ms: 'x'",
        "jmp_guard: no such key",
    ):
        assert f": {shown}" in done.stderr
    assert f"warning: {path}:19: risk.order_qty: missing" in done.stderr


def test_the_latch_can_be_reset_although_the_file_has_faults_about_trading(tmp_path):
    done = invoke("reset", str(broken(tmp_path, *TRADING_FAULTS)))
    assert done.exit_code == 0
    assert "nothing is latched" in done.output


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [("port: 8090", "port: x", "status.port: 'x'"), ("series: AU", "sries: AU", "series: missing")],
)
def test_a_file_with_faults_about_where_the_bot_is_ends_with_2(tmp_path, old, new, shown):
    with site(body()) as page:
        done = invoke("pause", str(broken(tmp_path, (old, new))), "--status", page.url)
    assert done.exit_code == 2
    assert shown in done.stderr
    assert page.asked == []


@pytest.mark.parametrize("said", [b"<html>", b"{}", b"[]", b'{"series": ["AURELIA-VAL"]}'])
def test_a_page_of_another_program_ends_with_3(said):
    with site(said) as page:
        done = invoke("status", str(DEMO), "--status", page.url)
    assert done.exit_code == 3
    assert "of this version" in done.stderr


@pytest.mark.parametrize("page", ["http://127.0.0.1:9", "http://a..b", "http://["])
@pytest.mark.parametrize("command", ["status", "pause", "resume", "flatten"])
def test_a_page_that_does_not_answer_ends_with_3(command, page):
    done = invoke(command, str(DEMO), "--status", page)
    assert done.exit_code == 3
    assert "no bot answers there" in done.stderr


def test_a_bot_of_other_series_is_not_asked(tmp_path):
    with site(body(series=("OTHER-A", "OTHER-B"))) as page:
        done = invoke("pause", str(DEMO), "--status", page.url, "--state-dir", state(tmp_path))
    assert done.exit_code == 3
    there = f"{page.url}: the bot there is demo on OTHER-A, other on OTHER-B, and {DEMO} describes"
    assert done.stderr == f"{there} demo on AURELIA-VAL\n"
    assert page.asked == []


@pytest.mark.parametrize("command", ["status", "plan", "pnl", "worst-case"])
def test_a_bot_of_another_name_is_not_taken_for_that_of_the_configuration(command):
    with site(body(names=("tokyo",))) as page:
        done = invoke(command, str(DEMO), "--status", page.url)
    assert done.exit_code == 3
    assert "the bot there is tokyo on AURELIA-VAL, and " in done.stderr
    assert done.stderr.endswith(" describes demo on AURELIA-VAL\n")


def test_a_bot_of_another_name_is_not_paused_by_cancel_all(tmp_path):
    options = ("--status", "{}", "--state-dir", state(tmp_path))
    with site(body(names=("tokyo",))) as page:
        done = invoke("cancel-all", str(DEMO), *(each.format(page.url) for each in options))
    assert done.exit_code == 2  # as without a bot: on an embedded venue there is nothing else to do
    assert "the bot there is tokyo on AURELIA-VAL" in done.stderr
    assert page.asked == []


def test_a_healthy_bot_is_shown_with_0_also_where_its_page_is_named_without_a_scheme():
    with site(body()) as page:
        for url in (page.url, page.url.removeprefix("http://")):
            done = invoke("status", DEMO, "--status", url)
            assert done.exit_code == 0, done.output
            assert f"quoting  {page.url}" in done.stdout
            assert "worst case" in done.stdout


def test_a_bot_on_a_tape_is_asked_about_the_series_of_the_tape(tmp_path):
    with site(body(series=("KXINXU",))) as page:
        done = invoke("pause", str(DEMO), "--status", page.url, "--state-dir", state(tmp_path))
    assert done.exit_code == 0, done.output
    assert page.asked[0][0] == "/control/pause?series=KXINXU"


@pytest.mark.parametrize(
    ("words", "done"),
    [
        (("pause",), {"done": "pause"}),
        (("reduce", "--divisor", 3), {"done": "reduce", "size_divisor": 3}),
    ],
)
def test_a_command_may_be_about_the_account_but_not_of_an_event_too(tmp_path, words, done):
    folder = state(tmp_path)
    with site(body()) as page:
        words = (*words, DEMO, "--status", page.url, "--state-dir", folder, "--account")
        asked = invoke(*words, "--json")
        both = invoke(*words, "--event", "X")
    assert json.loads(asked.stdout) == {**done, "series": "AURELIA-VAL", "account": True}
    assert (both.exit_code, len(page.asked)) == (2, 1)
    assert "--event or --account, not both" in both.stderr


@pytest.mark.parametrize("command", ["pause", "resume", "flatten"])
def test_a_command_sends_token_reason_and_series(tmp_path, command):
    folder = state(tmp_path)
    with site(body(series=("AURELIA-VAL", "OTHER"))) as page:
        done = invoke(
            command, str(DEMO), "--status", page.url, "--state-dir", folder, "--reason", "a test",
            "--json",
        )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"done": command, "series": "AURELIA-VAL"}
    asked = (f"/control/{command}?series=AURELIA-VAL", f"Bearer {TOKEN}", "a test")
    assert page.asked == [asked]
    assert TOKEN not in done.output


@pytest.mark.parametrize(
    "file",
    ["configs/paper.yaml", "deploy/bot.yaml", "deploy/kubernetes/series/aurelia-val/bot.yaml"],
)
def test_the_shipped_configurations_for_an_external_venue_open_the_controls(file):
    assert read_draft(ROOT / file).file.status.control


def test_the_examples_of_controls_name_a_file_with_controls():
    for command in ("pause", "resume", "flatten", "reduce"):
        assert f"Example: bot {command} configs/paper.yaml" in invoke(command, "--help").output


@pytest.mark.parametrize("code", [401, 403, 409])
def test_a_command_that_the_bot_refuses_ends_with_4_and_the_reason(tmp_path, code):
    folder = state(tmp_path)
    with site(body(), {"pause": (code, "not now")}) as page:
        done = invoke("pause", str(DEMO), "--status", page.url, "--state-dir", folder)
    assert done.exit_code == 4
    assert "not now" in done.stderr
    assert TOKEN not in done.output


@pytest.mark.parametrize(
    ("reason", "shown"),
    [("", "'--reason': blank"), ("   ", "'--reason': blank"), ("x" * 201, "1 to 200 characters")],
)
def test_a_blank_or_long_reason_ends_with_2(reason, shown):
    done = invoke("pause", str(DEMO), "--reason", reason)
    assert done.exit_code == 2
    assert shown in done.stderr


@pytest.mark.parametrize(("option", "asked"), [("--all", ""), ("--series", "?series=AURELIA-VAL")])
def test_cancel_all_pauses_every_series_of_the_bot_or_the_one_asked_for(tmp_path, option, asked):
    with site(body(series=("AURELIA-VAL", "OTHER"))) as page:
        done = invoke(
            "cancel-all", str(DEMO), option, "--status", page.url, "--state-dir", state(tmp_path)
        )
    assert done.exit_code == 0, done.output
    assert [path for path, *_ in page.asked] == [f"/control/cancel-all{asked}"]


def test_cancel_all_goes_on_when_the_bot_refuses_to_pause(tmp_path):
    folder = state(tmp_path)
    with site(body(), {"cancel-all": (409, "it is stopping")}) as page:
        done = invoke("cancel-all", str(DEMO), "--status", page.url, "--state-dir", folder)
    assert done.exit_code == 2  # as without a bot: on an embedded venue there is nothing else to do
    assert "it is stopping" in done.stderr


def test_cancel_all_goes_on_when_the_token_cannot_be_read(tmp_path):
    folder = hidden(tmp_path)
    with site(body()) as page:
        done = invoke("cancel-all", str(DEMO), "--status", page.url, "--state-dir", folder)
    assert done.exit_code == 2, done.output  # as without a bot
    assert "the running bot cannot be asked" in done.stderr
    assert page.asked == []


def test_a_token_that_cannot_be_read_ends_a_pause_with_3(tmp_path):
    with site(body()) as page:
        done = invoke("pause", str(DEMO), "--status", page.url, "--state-dir", hidden(tmp_path))
    assert done.exit_code == 3, done.output
    assert done.stderr.startswith("control token file ")
    assert "control-token: cannot be read" in done.stderr


def test_a_command_without_a_token_or_a_page_asks_nothing_and_says_what_to_do(tmp_path):
    with site(body()) as page:
        done = invoke("pause", DEMO, "--status", page.url, "--state-dir", tmp_path)
    assert done.exit_code == 3
    assert "status.control: true" in done.stderr
    assert "SIGUSR1" in done.stderr
    assert page.asked == []
    done = invoke("status", demo_copy(tmp_path, ("port: 8090", "port: 0")))
    assert done.exit_code == 2
    assert "name it with --status" in done.stderr


def test_a_bot_that_is_paused_already_counts_as_paused_by_cancel_all(tmp_path):
    refusal = (409, "nothing rests, and it is paused")
    with site(body(shown=report(Phase.PAUSED)), {"cancel-all": refusal}) as page:
        done = invoke(
            "cancel-all", str(DEMO), "--status", page.url, "--state-dir", state(tmp_path), "--json"
        )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["bot_paused"] is True
    assert "warning" not in done.stderr


def test_the_token_is_not_sent_through_a_proxy_of_the_environment(tmp_path, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with site(body()) as page:
        done = invoke("resume", str(DEMO), "--status", page.url, "--state-dir", state(tmp_path))
    assert done.exit_code == 0, done.output


def test_looking_for_a_bot_on_a_state_directory_changes_nothing_there(tmp_path):
    assert not held_by_a_bot(tmp_path)
    assert list(tmp_path.iterdir()) == []
    held = StateDirectory.open(tmp_path)
    assert held_by_a_bot(tmp_path)
    held.close()
    assert not held_by_a_bot(tmp_path)


@pytest.mark.parametrize(
    ("cold", "advice"), [(True, "leave out --cold to ask it"), (False, "name it with --status")]
)
def test_a_dry_run_on_the_state_of_a_running_bot_is_refused_with_advice(tmp_path, cold, advice):
    silent, folder = tmp_path / "demo.yaml", tmp_path / "state"
    silent.write_text(DEMO.read_text().replace("port: 8090", "port: 1"))
    held = StateDirectory.open(folder)
    try:
        words = ("plan", str(silent), "--state-dir", str(folder))
        done = invoke(*words, *(["--cold"] if cold else []))
    finally:
        held.close()
    assert done.exit_code == 3
    assert "a bot runs on it" in done.stderr
    assert advice in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("plan", str(DEMO), "--cold", "--state-dir", "{folder}"),
        ("statement", str(DEMO), "--state-dir", "{folder}"),
        ("replay", "{folder}/journal-00000001.log"),
        ("export", "{folder}/journal-00000001.log", "--csv", "{tables}"),
    ],
    ids=lambda command: command[0],
)
def test_an_unreadable_state_directory_ends_with_3_and_is_named(tmp_path, command):
    folder, tables = hidden(tmp_path), tmp_path / "tables"
    done = invoke(*(each.format(folder=folder, tables=tables) for each in command))
    assert done.exit_code == 3, done.output
    assert folder in done.stderr


# --- version, completion, help --------------------------------------------------------------------


def test_the_version_names_the_journals_that_it_reads():
    shown = json.loads(invoke("version", "--json").stdout)
    assert shown["journal"] in shown["journals_read"]
    lines = invoke("version").stdout.splitlines()
    assert lines[0] == f"bot {shown['bot']}"
    assert [line.split()[0] for line in lines] == ["bot", "python", "journal"]


def test_the_option_version_prints_the_program_and_its_version():
    version = json.loads(invoke("version", "--json").stdout)["bot"]
    assert invoke("--version").stdout == f"bot {version}\n"
    assert CliRunner().invoke(venue, ["--version"]).stdout == f"venue {version}\n"


@pytest.mark.parametrize("program", [bot, venue])
def test_the_help_of_a_program_cuts_no_description_short(program):
    assert "..." not in CliRunner().invoke(program, ["--help"]).output.partition("]...")[2]


SINGLE = sorted(set(COMMANDS) - {"config", "value"})


@pytest.mark.parametrize("command", SINGLE)
def test_every_command_has_an_example_that_names_it(command):
    text = invoke(command, "--help").output
    assert f"Example: bot {command}" in " ".join(text.split())


def test_every_command_but_completion_has_json_output():
    without = [name for name in SINGLE if "--json" not in invoke(name, "--help").output]
    assert without == ["completion"]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("bot re", "reaper record reduce replay report reset resume"), ("bot pla", "plan")],
)
def test_bash_completes_commands(tmp_path, line, wanted):
    script = tmp_path / "bot.bash"
    script.write_text(invoke("completion", "bash").stdout)
    words = line.split()
    code = (
        f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        "_bot_completion bot; echo ${COMPREPLY[@]}"
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path}
    shell = ["bash", "-c", code]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=30, check=True, env=env)
    assert sorted(done.stdout.split()) == wanted.split(), done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_has_scripts_for_zsh_and_fish(shell):
    done = invoke("completion", shell)
    assert done.exit_code == 0
    assert f"complete_{shell}" in done.stdout


@contextmanager
def silent_bot() -> Iterator[tuple[str, threading.Event]]:
    """The page of a bot that hears what it is asked to do and never answers: its address, and what
    is set once it has heard it."""
    heard, over = threading.Event(), threading.Event()

    def answer(request: BaseHTTPRequestHandler) -> tuple[int, bytes]:
        if request.command == "POST":
            heard.set()
            over.wait(30)
        return 200, body()

    with loopback(answer) as url:
        try:
            yield url, heard
        finally:
            over.set()


def test_a_bot_that_does_not_answer_may_have_received_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(running_bot, "ANSWER_S", 0.5)
    with silent_bot() as (url, _):
        done = invoke("pause", str(DEMO), "--status", url, "--state-dir", state(tmp_path))
    assert done.exit_code == 3
    assert "may have received it all the same" in done.stderr


@pytest.mark.parametrize("command", ["pause", "cancel-all"])
def test_ctrl_c_while_a_bot_is_asked_says_that_it_may_have_received_the_command(tmp_path, command):
    with silent_bot() as (url, heard):
        line = [sys.executable, "-m", "bot", command, str(DEMO), "--status", url]
        line += ["--state-dir", state(tmp_path)]
        process = ctrl_c.started(line)
        assert heard.wait(30)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr == f"interrupted: {running_bot.NO_ANSWER}\n"


# --- the page's address in the state directory ----------------------------------------------------


@pytest.mark.parametrize("port", ["0", "1"])
def test_a_bot_is_asked_at_the_page_of_its_process_whatever_port_its_file_names(tmp_path, port):
    """As the second of several series in a process, whose page is that of the first."""
    config, folder = demo_copy(tmp_path, ("port: 8090", f"port: {port}")), tmp_path / "state"
    pause = ("pause", config, "--reason", "test", "--state-dir", folder)
    with site(body()) as page:
        held = StateDirectory.open(folder)
        try:
            state(folder)
            keep_page(folder, f"{page.url}/")
            assert invoke(*pause).exit_code == 0
        finally:
            held.close()
        assert len(page.asked) == 1
        assert invoke(*pause).exit_code == (2 if port == "0" else 3)
        assert len(page.asked) == 1


def test_a_page_address_that_the_disk_refuses_replaces_that_of_the_run_before(
    tmp_path, monkeypatch
):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    held = StateDirectory.open(tmp_path / "state")
    try:
        keep_page(held.path, "http://127.0.0.1:40001/")
        monkeypatch.setattr(small_files, "replace_file", full)
        keep_page(held.path, "http://127.0.0.1:8090/")
        assert page_kept(held.path) == ""
    finally:
        held.close()


def test_a_page_that_listens_everywhere_is_asked_by_address_and_not_by_name():
    """The name may lead to another host first, which would see the token."""
    with socket.create_server(("0.0.0.0", 0)) as listener:
        assert address(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}/"
