"""Claims about the commands beside run and check: what they refuse, say, and leave unloaded."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.main import app
from bot.config.bot_config import ReaperSettings, read_draft
from bot.config.secrets import KeyPlace
from bot.io.state.locks import StateDirectory

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "configs" / "demo.yaml"
PAPER = ROOT / "configs" / "paper.yaml"
HEAVY = (
    "httpx",
    "numpy",
    "pydantic",
    "structlog",
    "uvicorn",
    "bot.core",
    "bot.lab",
    "bot.config.bot_config",
)


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def paper(folder: Path, reaper: str = "reaper: {key_file: reaper.key}\n") -> Path:
    """The shipped configuration of an external venue, on a port where nobody listens."""
    text = PAPER.read_text().replace(":8080/", ":1/").replace("../state/venue-keys.json", "k.json")
    head, _, rest = text.partition("reaper:")
    config = folder / "paper.yaml"
    config.write_text(head + reaper + rest[rest.index("\nbudget:") :])
    (folder / "k.json").write_text('{"maker": "lm_canary_maker"}')
    (folder / "reaper.key").write_text("lm_canary_reaper")
    for name in ("k.json", "reaper.key"):
        (folder / name).chmod(0o600)
    return config


def test_every_command_has_an_example_and_the_help_loads_nothing_heavy():
    code = f"""\
import sys
from bot.cli.main import app
try:
    app(["--help"])
except SystemExit:
    pass
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    for command in ("run", "check", "reaper", "cancel-all", "reset", "simulate"):
        assert f"  {command} " in done.stdout
        help_text = invoke(command, "--help").output
        assert f"Example: bot {command}" in help_text
        assert "--json" in help_text


@pytest.mark.parametrize("command", ["reaper", "cancel-all"])
def test_an_embedded_venue_needs_neither(command):
    done = invoke(command, str(DEMO))
    assert done.exit_code == 2
    assert "the embedded venue ends with its bot" in done.stderr


def test_a_reaper_that_the_file_does_not_describe_is_refused(tmp_path):
    done = invoke("reaper", str(paper(tmp_path, "")))
    assert done.exit_code == 2
    assert "name a key of its own there" in done.stderr


@pytest.mark.parametrize(
    "url", ["foo", "http://", "http://[", "http://a..b", "http://a:99999", "http://256.1.1.1"]
)
def test_a_reaper_refuses_a_status_page_that_can_be_none(tmp_path, url):
    done = invoke("reaper", str(paper(tmp_path)), "--url", url)
    assert done.exit_code == 2
    assert f"--url {url}: accepted: an address such as http://" in done.stderr


def test_a_reaper_with_the_bots_own_secret_is_refused_however_it_is_named(tmp_path):
    config = paper(tmp_path)
    (tmp_path / "reaper.key").write_text("lm_canary_maker\n")
    done = invoke("reaper", str(config))
    assert done.exit_code == 2
    assert "its key is the bot's own" in done.stderr
    assert "canary" not in done.output + done.stderr


def test_a_key_of_the_reaper_that_cannot_be_read_ends_with_3(tmp_path):
    config = paper(tmp_path)
    (tmp_path / "reaper.key").unlink()
    done = invoke("reaper", str(config))
    assert done.exit_code == 3
    assert "reaper.key" in done.stderr


def test_what_is_wrong_in_how_to_trade_is_told_and_keeps_no_reaper_from_its_watch(tmp_path):
    config = paper(tmp_path)
    config.write_text(config.read_text() + "shadow: 7\njump_guard: {oops: 1}\n")
    (tmp_path / "reaper.key").unlink()
    done = invoke("reaper", str(config))
    assert done.exit_code == 3  # it came as far as its key
    assert "reaper.key" in done.stderr
    assert "jump_guard.oops: no such key" in done.stderr


def test_what_is_wrong_in_what_a_reaper_needs_ends_it_with_2(tmp_path):
    done = invoke("reaper", str(paper(tmp_path, "reaper: {key_file: reaper.key, after_ms: 0}\n")))
    assert done.exit_code == 2
    assert "reaper.after_ms" in done.stderr


def test_a_deadline_that_is_no_time_is_refused():
    done = invoke("cancel-all", str(PAPER), "--deadline", "60")
    assert done.exit_code == 2
    assert "--deadline 60: a number and" in done.stderr


def test_a_venue_that_is_not_there_makes_cancel_all_end_with_3_and_claim_nothing(tmp_path):
    command = [sys.executable, "-m", "bot", "cancel-all", str(paper(tmp_path))]
    done = subprocess.run(
        [*command, "--deadline", "300ms", "--json"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 3
    assert "canary" not in done.stdout + done.stderr
    assert '"verified": false' in done.stdout
    assert '"listed": false' in done.stdout


def test_a_venue_that_is_not_there_is_not_said_to_have_nothing_left(tmp_path):
    command = [sys.executable, "-m", "bot", "cancel-all", str(paper(tmp_path))]
    done = subprocess.run(
        [*command, "--deadline", "300ms"], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 3
    assert "left 0" not in done.stdout + done.stderr
    assert "no list of the account yet" in done.stderr


def test_the_reapers_key_is_asked_for_only_where_there_is_one(tmp_path):
    done = invoke("cancel-all", str(paper(tmp_path, "")), "--reaper-key")
    assert done.exit_code == 2
    assert "no reaper is described there" in done.stderr


def test_the_shipped_configuration_describes_a_reaper():
    assert read_draft(PAPER).reaper == ReaperSettings(
        KeyPlace(PAPER.parent / "../state/venue-keys.json", "reaper", None), 10_000_000_000
    )
    assert read_draft(DEMO).reaper is None


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ("reaper: {}", "exactly one of key_file and key_env is wanted in reaper"),
        ("reaper: {key_file: a, key_env: B}", "exactly one of key_file and key_env"),
        ("reaper: {key_env: LM, key_name: x}", "reaper.key_name: only with key_file"),
        ("reaper: {key_env: lm-secret}", "never write the key itself here"),
        ("reaper: {key_file: a, after_ms: 999}", "reaper.after_ms"),
        ("reaper: {key_file: a, key: lm_x}", "reaper.key: no such key"),
    ],
)
def test_a_reaper_described_wrongly_is_told(tmp_path, block, fault):
    faults = [each.text for each in read_draft(paper(tmp_path, block + "\n")).faults]
    assert any(fault in text for text in faults), faults


def test_an_embedded_venue_with_a_reaper_is_told(tmp_path):
    config = tmp_path / "demo.yaml"
    config.write_text(f"{DEMO.read_text()}\nreaper: {{key_file: a}}\n")
    faults = [each.text for each in read_draft(config).faults]
    assert any("not with an embedded venue" in text for text in faults), faults


def test_a_record_beside_a_state_directory_without_a_name_has_the_name_of_that_folder(
    tmp_path, monkeypatch
):
    config = paper(tmp_path)
    config.write_text(f"{config.read_text()}\nstate: {{dir: .}}\n")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert invoke("record", str(config), "--for", "1s").exit_code == 3, "nobody answers there"
    assert (tmp_path / "here-record").is_dir()


def test_a_reset_where_no_bot_has_run_says_in_which_folder_it_looked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = invoke("reset", str(DEMO), "--json")
    assert json.loads(done.stdout)["was_latched"] is False
    assert "warning: state/demo: no bot has run here" in done.stderr
    StateDirectory.open(tmp_path / "state" / "demo").close()
    done = invoke("reset", str(DEMO))
    assert (done.stdout, done.stderr) == ("state/demo: nothing is latched\n", "")


@pytest.mark.parametrize("command", ["run", "check", "plan", "record"])
def test_no_memory_is_dumped_of_a_command_that_is_about_to_read_a_key(tmp_path, command):
    config = paper(tmp_path)
    (tmp_path / "k.json").unlink()
    words = [command, str(config)]
    words += [] if command == "check" else ["--state-dir", str(tmp_path / "state")]
    words += ["--status-port", "0"] if command == "run" else []
    code = f"""\
import resource
from bot.cli.main import app
try:
    app({words!r})
except SystemExit as end:
    print(end.code, *resource.getrlimit(resource.RLIMIT_CORE))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "3 0 0"


def test_an_option_and_a_value_of_the_version_before_still_work_and_say_so(tmp_path):
    words = ("backtest", "--data", str(tmp_path / "none"), "--config", str(DEMO))
    done = invoke(*words, "--readings", "averse")
    assert done.exit_code == 2
    assert "deprecated: --readings is now --queue-model" in done.stderr
    assert "deprecated: averse is now pessimistic" in done.stderr
    done = invoke(*words, "--queue-model=pessimistic")
    assert "deprecated" not in done.stderr
