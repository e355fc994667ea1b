"""Claims about the commands that ask a running bot: addresses, series, tokens, refusals, codes."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from bot.cli import running_bot
from bot.cli.main import COMMANDS, app
from bot.config.bot_config import read_draft
from bot.core.report import ConfigReport, Phase, Report
from bot.io.state.locks import StateDirectory, held_by_a_bot
from tests.builders import ctrl_c
from tests.builders.io.samples import report

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "configs" / "demo.yaml"
TOKEN = "canary_token_of_the_control"


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


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

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say(200, found.body)

        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            reason = json.loads(self.rfile.read(size))["reason"]
            found.asked.append((self.path, self.headers["Authorization"], reason))
            name = self.path.partition("?")[0].rpartition("/")[2]
            code, text = found.answers.get(name, (202, "{}"))
            self._say(code, text.encode())

        def _say(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    found.url = f"http://127.0.0.1:{server.server_port}"
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    try:
        yield found
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def body(
    unhealthy: str = "",
    series: tuple[str, ...] = ("AURELIA-VAL",),
    shown: Report | None = None,
    paused: str = "",
) -> bytes:
    told = {"age_ms": 3, "unhealthy": unhealthy, "report": shown or report(), "control": True}
    told["paused"] = paused
    return msgspec.json.encode({**told, "series": series})


def state(folder: Path, token: str = TOKEN) -> str:
    place = folder / "control-token"
    place.write_text(f"{token}\n")
    place.chmod(0o600)
    return str(folder)


def hidden(folder: Path) -> str:
    """A state directory in which nobody can look, as one of another user, for a root too."""
    return str(folder / ("x" * 300))


def test_a_bot_that_is_well_is_shown_and_ends_with_0():
    with site(body()) as page:
        done = invoke("status", str(DEMO), "--status", page.url)
    assert done.exit_code == 0, done.output
    assert "worst case" in done.stdout


def test_a_bot_that_is_not_well_is_shown_and_ends_with_3_and_why():
    with site(body("latched: look at it")) as page:
        done = invoke("status", str(DEMO), "--status", page.url)
        line = invoke("status", str(DEMO), "--status", page.url, "--json")
    assert (done.exit_code, line.exit_code) == (3, 3)
    assert "not well: latched: look at it" in done.stderr
    assert json.loads(line.stdout)["unhealthy"] == "latched: look at it"


def test_a_flatten_a_pause_and_a_refused_configuration_are_shown_with_their_reasons():
    fault = ConfigReport(fault="risk.order_qty: 0")
    flat = msgspec.structs.replace(report(), flattening="results tonight", config=fault)
    with site(body(shown=flat)) as page:
        told = invoke("status", str(DEMO), "--status", page.url).stdout
    assert "quoting, only to flatten" in told
    assert "only to flatten: results tonight" in told
    assert "change is in force: risk.order_qty: 0" in told
    with site(body(shown=report(Phase.PAUSED), paused="it behaves oddly")) as page:
        told = invoke("status", str(DEMO), "--status", page.url).stdout
    assert "paused: it behaves oddly" in told


def broken(folder: Path, *changes: tuple[str, str]) -> Path:
    text = DEMO.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "broken.yaml"
    path.write_text(text)
    return path


ELSEWHERE = (
    ("order_qty:", "ordr_qty:"),
    ("decide_ms: 50", "decide_ms: x"),
    ("jump_guard:", "jmp_guard:"),
)


@pytest.mark.parametrize("command", ["status", "pause", "resume", "flatten", "cancel-all"])
def test_a_file_that_is_wrong_in_how_to_trade_keeps_nobody_from_the_bot_that_runs(
    tmp_path, command
):
    path = broken(tmp_path, *ELSEWHERE)
    given = () if command == "status" else ("--state-dir", state(tmp_path))
    with site(body()) as page:
        done = invoke(command, str(path), "--status", page.url, *given)
    assert done.exit_code == 0, done.output
    for told in ("risk.ordr_qty: no such key", "throttle.decide_ms: 'x'", "jmp_guard: no such key"):
        assert f": {told}" in done.stderr
    assert f"warning: {path}:19: risk.order_qty: missing" in done.stderr


def test_a_file_that_is_wrong_in_how_to_trade_keeps_nobody_from_the_latch(tmp_path):
    done = invoke("reset", str(broken(tmp_path, *ELSEWHERE)))
    assert done.exit_code == 0
    assert "nothing is latched" in done.output


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [("port: 8090", "port: x", "status.port: 'x'"), ("series: AU", "sries: AU", "series: missing")],
)
def test_a_file_that_is_wrong_in_where_the_bot_is_ends_with_2(tmp_path, old, new, told):
    with site(body()) as page:
        done = invoke("pause", str(broken(tmp_path, (old, new))), "--status", page.url)
    assert done.exit_code == 2
    assert told in done.stderr
    assert page.asked == []


@pytest.mark.parametrize("said", [b"<html>", b"{}", b"[]", b'{"series": ["AURELIA-VAL"]}'])
def test_what_is_no_bot_of_this_version_ends_with_3(said):
    with site(said) as page:
        done = invoke("status", str(DEMO), "--status", page.url)
    assert done.exit_code == 3
    assert "of this version" in done.stderr


@pytest.mark.parametrize("page", ["http://127.0.0.1:9", "http://a..b", "http://["])
@pytest.mark.parametrize("command", ["status", "pause", "resume", "flatten"])
def test_where_nobody_answers_it_ends_with_3(command, page):
    done = invoke(command, str(DEMO), "--status", page)
    assert done.exit_code == 3
    assert "no bot answers there" in done.stderr


def test_a_bot_of_other_series_is_left_alone(tmp_path):
    with site(body(series=("OTHER-A", "OTHER-B"))) as page:
        done = invoke("pause", str(DEMO), "--status", page.url, "--state-dir", state(tmp_path))
    assert done.exit_code == 3
    assert "trades OTHER-A, OTHER-B, not AURELIA-VAL" in done.stderr
    assert page.asked == []


def test_a_page_may_be_named_without_its_scheme():
    with site(body()) as page:
        done = invoke("status", str(DEMO), "--status", page.url.removeprefix("http://"))
    assert done.exit_code == 0, done.output
    assert f"quoting  {page.url}" in done.stdout


def test_a_tape_may_bring_a_series_of_its_own(tmp_path):
    with site(body(series=("KXINXU",))) as page:
        done = invoke("pause", str(DEMO), "--status", page.url, "--state-dir", state(tmp_path))
    assert done.exit_code == 0, done.output
    assert page.asked[0][0] == "/control/pause?series=KXINXU"


@pytest.mark.parametrize("command", ["pause", "resume", "flatten"])
def test_what_is_asked_carries_the_token_the_reason_and_the_series(tmp_path, command):
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
def test_a_shipped_bot_on_a_venue_of_its_own_can_be_paused(file):
    assert read_draft(ROOT / file).file.status.control


def test_the_examples_of_what_may_be_asked_name_a_file_whose_bot_can_be_asked():
    for command in ("pause", "resume", "flatten"):
        assert f"Example: bot {command} configs/paper.yaml" in invoke(command, "--help").output


def test_without_a_token_nothing_is_asked_and_the_way_is_told(tmp_path):
    with site(body()) as page:
        done = invoke("pause", str(DEMO), "--status", page.url, "--state-dir", str(tmp_path))
    assert done.exit_code == 3
    assert "status.control: true" in done.stderr
    assert "SIGUSR1" in done.stderr
    assert page.asked == []


@pytest.mark.parametrize("code", [401, 403, 409])
def test_a_refusal_ends_with_4_and_says_why(tmp_path, code):
    folder = state(tmp_path)
    with site(body(), {"pause": (code, "not now")}) as page:
        done = invoke("pause", str(DEMO), "--status", page.url, "--state-dir", folder)
    assert done.exit_code == 4
    assert "not now" in done.stderr
    assert TOKEN not in done.output


@pytest.mark.parametrize(
    ("reason", "told"),
    [("", "'--reason': blank"), ("   ", "'--reason': blank"), ("x" * 201, "1 to 200 characters")],
)
def test_a_reason_that_is_none_ends_with_2(reason, told):
    done = invoke("pause", str(DEMO), "--reason", reason)
    assert done.exit_code == 2
    assert told in done.stderr


def test_a_page_at_a_port_that_changes_has_to_be_named(tmp_path):
    path = tmp_path / "demo.yaml"
    text = DEMO.read_text().replace("port: 8090", "port: 0")
    path.write_text(text.replace("embedded: venue.yaml", f"embedded: {DEMO}"))
    done = invoke("status", str(path))
    assert done.exit_code == 2
    assert "name it with --status" in done.stderr


def test_cancel_all_on_an_embedded_venue_asks_the_bot_and_is_done(tmp_path):
    folder = state(tmp_path)
    with site(body()) as page:
        done = invoke(
            "cancel-all", str(DEMO), "--status", page.url, "--state-dir", folder, "--json"
        )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["bot_paused"] is True
    assert page.asked[0][0].startswith("/control/cancel-all")


@pytest.mark.parametrize(("option", "asked"), [("--all", ""), ("--series", "?series=AURELIA-VAL")])
def test_cancel_all_pauses_every_series_of_the_bot_unless_one_is_meant(tmp_path, option, asked):
    with site(body(series=("AURELIA-VAL", "OTHER"))) as page:
        done = invoke(
            "cancel-all", str(DEMO), option, "--status", page.url, "--state-dir", state(tmp_path)
        )
    assert done.exit_code == 0, done.output
    assert [path for path, *_ in page.asked] == [f"/control/cancel-all{asked}"]


def test_a_bot_that_refuses_does_not_stand_in_the_way_of_cancelling(tmp_path):
    folder = state(tmp_path)
    with site(body(), {"cancel-all": (409, "it is stopping")}) as page:
        done = invoke("cancel-all", str(DEMO), "--status", page.url, "--state-dir", folder)
    assert done.exit_code == 2  # as without a bot: on an embedded venue there is nothing else to do
    assert "it is stopping" in done.stderr


def test_a_token_that_cannot_be_looked_at_does_not_stand_in_the_way_of_cancelling(tmp_path):
    folder = hidden(tmp_path)
    with site(body()) as page:
        done = invoke("cancel-all", str(DEMO), "--status", page.url, "--state-dir", folder)
    assert done.exit_code == 2, done.output  # as without a bot
    assert "the running bot cannot be asked" in done.stderr
    assert page.asked == []


def test_a_token_that_cannot_be_looked_at_is_told_and_ends_with_3(tmp_path):
    with site(body()) as page:
        done = invoke("pause", str(DEMO), "--status", page.url, "--state-dir", hidden(tmp_path))
    assert done.exit_code == 3, done.output
    assert done.stderr.startswith("control token file ")
    assert "control-token: cannot be read" in done.stderr


def test_a_bot_that_stands_still_already_counts_as_paused(tmp_path):
    refusal = (409, "nothing rests, and it is paused")
    with site(body(paused="asked for"), {"cancel-all": refusal}) as page:
        done = invoke(
            "cancel-all", str(DEMO), "--status", page.url, "--state-dir", state(tmp_path), "--json"
        )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["bot_paused"] is True
    assert "warning" not in done.stderr


def test_no_proxy_of_the_environment_is_shown_the_token(tmp_path, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with site(body()) as page:
        done = invoke("resume", str(DEMO), "--status", page.url, "--state-dir", state(tmp_path))
    assert done.exit_code == 0, done.output


def test_whether_a_bot_runs_on_a_state_directory_is_seen_without_touching_it(tmp_path):
    assert not held_by_a_bot(tmp_path)
    assert list(tmp_path.iterdir()) == []
    held = StateDirectory.open(tmp_path)
    assert held_by_a_bot(tmp_path)
    held.close()
    assert not held_by_a_bot(tmp_path)


@pytest.mark.parametrize(
    ("cold", "advice"), [(True, "leave out --cold to ask it"), (False, "name it with --status")]
)
def test_a_dry_run_on_the_folder_of_a_bot_that_runs_is_refused_and_says_how_to_ask_it(
    tmp_path, cold, advice
):
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
def test_a_state_directory_that_cannot_be_looked_into_is_told_and_ends_with_3(tmp_path, command):
    folder, tables = hidden(tmp_path), tmp_path / "tables"
    done = invoke(*(each.format(folder=folder, tables=tables) for each in command))
    assert done.exit_code == 3, done.output
    assert folder in done.stderr


# --- version, completion, help --------------------------------------------------------------------


def test_the_version_names_the_journals_that_it_reads():
    told = json.loads(invoke("version", "--json").stdout)
    assert told["journal"] in told["journals_read"]
    assert told["bot"] in invoke("version").stdout


SINGLE = sorted(set(COMMANDS) - {"config"})


@pytest.mark.parametrize("command", SINGLE)
def test_every_command_has_an_example_that_names_it(command):
    text = invoke(command, "--help").output
    assert f"Example: bot {command}" in " ".join(text.split())


def test_everything_that_a_script_may_want_comes_as_json():
    without = [name for name in SINGLE if "--json" not in invoke(name, "--help").output]
    assert without == ["completion"]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("bot re", "reaper record replay report reset resume"), ("bot pla", "plan")],
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
    done = subprocess.run(
        ["bash", "-c", code],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        env={**os.environ, "PATH": path},
    )
    assert sorted(done.stdout.split()) == wanted.split(), done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_have_a_script_too(shell):
    done = invoke("completion", shell)
    assert done.exit_code == 0
    assert f"complete_{shell}" in done.stdout


@contextmanager
def silent_bot() -> Iterator[tuple[str, threading.Event]]:
    """The page of a bot that hears what it is asked to do and never answers: its address, and what
    is set once it has heard it."""
    heard, over = threading.Event(), threading.Event()

    class Hears(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown = body()
            self.send_response(200)
            self.send_header("Content-Length", str(len(shown)))
            self.end_headers()
            self.wfile.write(shown)

        def do_POST(self) -> None:
            heard.set()
            over.wait(30)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hears) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", heard
        finally:
            over.set()
            server.shutdown()


def test_a_bot_that_was_asked_and_does_not_answer_may_have_been_told(tmp_path, monkeypatch):
    monkeypatch.setattr(running_bot, "ANSWER_S", 0.5)
    with silent_bot() as (url, _):
        done = invoke("pause", str(DEMO), "--status", url, "--state-dir", state(tmp_path))
    assert done.exit_code == 3
    assert "may have received it all the same" in done.stderr


@pytest.mark.parametrize("command", ["pause", "cancel-all"])
def test_ctrl_c_while_a_bot_is_asked_says_that_it_may_have_been_told(tmp_path, command):
    with silent_bot() as (url, heard):
        line = [sys.executable, "-m", "bot", command, str(DEMO), "--status", url]
        line += ["--state-dir", state(tmp_path)]
        process = ctrl_c.started(line)
        assert heard.wait(30)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr == f"interrupted: {running_bot.NO_ANSWER}\n"
