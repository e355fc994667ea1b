"""Claims about reaper, cancel-all, reset and record: what they refuse and say."""

import json
import resource
from pathlib import Path

import pytest

from bot.config.bot_config import ReaperSettings, read_draft
from bot.config.secrets import KeyPlace
from bot.io.state.locks import StateDirectory
from tests.builders.house.tree import ROOT
from tests.builders.io.commands import DEMO, finished, invoke

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


def test_the_help_loads_nothing_heavy():
    code = f"""\
import sys
from bot.cli.main import app
try:
    app(["--help"])
except SystemExit:
    pass
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    done = finished("-c", code)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize("command", ["reaper", "cancel-all"])
def test_reaper_and_cancel_all_are_refused_on_an_embedded_venue(command):
    done = invoke(command, str(DEMO))
    assert done.exit_code == 2
    assert "the embedded venue ends with its bot" in done.stderr


def test_a_reaper_without_a_section_in_the_file_is_refused(tmp_path):
    done = invoke("reaper", str(paper(tmp_path, "")))
    assert done.exit_code == 2
    assert "name a key of its own there" in done.stderr


@pytest.mark.parametrize(
    "url", ["foo", "http://", "http://[", "http://a..b", "http://a:99999", "http://256.1.1.1"]
)
def test_a_reaper_refuses_an_impossible_status_page(tmp_path, url):
    done = invoke("reaper", str(paper(tmp_path)), "--url", url)
    assert done.exit_code == 2
    assert f"--url {url}: accepted: an address such as http://" in done.stderr


def test_a_reaper_with_the_key_of_the_bot_is_refused(tmp_path):
    config = paper(tmp_path)
    (tmp_path / "reaper.key").write_text("lm_canary_maker\n")
    done = invoke("reaper", str(config))
    assert done.exit_code == 2
    assert "its key is the bot's own" in done.stderr
    assert "canary" not in done.output + done.stderr


def test_an_unreadable_key_of_the_reaper_ends_with_3(tmp_path):
    config = paper(tmp_path)
    (tmp_path / "reaper.key").unlink()
    done = invoke("reaper", str(config))
    assert done.exit_code == 3
    assert "reaper.key" in done.stderr


def test_a_reaper_starts_although_the_file_has_faults_about_trading(tmp_path):
    config = paper(tmp_path)
    config.write_text(config.read_text() + "shadow: 7\njump_guard: {oops: 1}\n")
    (tmp_path / "reaper.key").unlink()
    done = invoke("reaper", str(config))
    assert done.exit_code == 3  # it came as far as its key
    assert "reaper.key" in done.stderr
    assert "jump_guard.oops: no such key" in done.stderr


def test_a_reaper_with_a_fault_in_its_own_section_ends_with_2(tmp_path):
    done = invoke("reaper", str(paper(tmp_path, "reaper: {key_file: reaper.key, after_ms: 0}\n")))
    assert done.exit_code == 2
    assert "reaper.after_ms" in done.stderr


def test_cancel_all_refuses_a_deadline_without_a_unit():
    done = invoke("cancel-all", str(PAPER), "--deadline", "60")
    assert done.exit_code == 2
    assert "--deadline 60: a number and" in done.stderr


def test_cancel_all_at_an_unreachable_venue_ends_with_3_and_does_not_claim_success(tmp_path):
    words = ("cancel-all", paper(tmp_path), "--deadline", "300ms")
    done, plain = invoke(*words, "--json"), invoke(*words)
    assert done.exit_code == plain.exit_code == 3
    assert "canary" not in done.output
    assert '"verified": false' in done.stdout
    assert '"listed": false' in done.stdout
    assert "left 0" not in plain.output
    assert "no list of the account yet" in plain.stderr


def test_cancel_all_with_the_reapers_key_needs_a_reaper_section(tmp_path):
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
        (None, "not with an embedded venue"),
    ],
)
def test_a_faulty_reaper_section_is_refused(tmp_path, block, fault):
    config = paper(tmp_path, f"{block}\n")
    if block is None:
        config.write_text(f"{DEMO.read_text()}\nreaper: {{key_file: a}}\n")
    faults = [each.text for each in read_draft(config).faults]
    assert any(fault in text for text in faults), faults


def test_a_record_for_the_state_directory_dot_is_named_after_the_folder(tmp_path, monkeypatch):
    config = paper(tmp_path)
    config.write_text(f"{config.read_text()}\nstate: {{dir: .}}\n")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert invoke("record", str(config), "--for", "1s").exit_code == 3, "nobody answers there"
    assert (tmp_path / "here-record").is_dir()


def test_a_reset_where_no_bot_has_run_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = invoke("reset", str(DEMO), "--json")
    assert json.loads(done.stdout)["was_latched"] is False
    assert "warning: state/demo: no bot has run here" in done.stderr
    StateDirectory.open(tmp_path / "state" / "demo").close()
    done = invoke("reset", str(DEMO))
    assert (done.stdout, done.stderr) == ("state/demo: nothing is latched\n", "")


@pytest.mark.parametrize("command", ["run", "check", "plan", "record"])
def test_a_command_that_reads_a_key_writes_no_core_dump(tmp_path, monkeypatch, command):
    limits = {}
    monkeypatch.setattr(resource, "setrlimit", limits.__setitem__)
    config = paper(tmp_path)
    (tmp_path / "k.json").unlink()
    words = [command, str(config)]
    words += [] if command == "check" else ["--state-dir", str(tmp_path / "state")]
    words += {"run": ["--status-port", "0"], "plan": ["--cold"]}.get(command, [])
    assert invoke(*words).exit_code == 3
    assert limits[resource.RLIMIT_CORE] == (0, 0)


def test_a_renamed_option_and_value_still_work_with_a_deprecation_line(tmp_path):
    words = ("backtest", "--data", str(tmp_path / "none"), "--config", str(DEMO))
    done = invoke(*words, "--readings", "averse")
    assert done.exit_code == 2
    assert "deprecated: --readings is now --queue-model" in done.stderr
    assert "deprecated: averse is now pessimistic" in done.stderr
    done = invoke(*words, "--queue-model=pessimistic")
    assert "deprecated" not in done.stderr
