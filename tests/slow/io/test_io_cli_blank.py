"""Claims about blank words of a command line, such as `--data "$DIR"` where DIR is not set."""

import pytest
import typer
from typer.testing import CliRunner

import bot.cli.main
import venue.cli.main
from tests.builders.house.tree import ROOT

DEMO = str(ROOT / "configs/demo.yaml")

WORDS = [
    ("bot", ("run", ""), "CONFIG"),
    ("bot", ("replay", "", "--quiet"), "STATE_DIR|JOURNAL"),
    ("bot", ("replay", "state/demo", "--until", ""), "'--until'"),
    ("bot", ("explain", DEMO, "--rung", "A", "--at", "  "), "'--at'"),
    ("bot", ("export", "state/demo", "--csv", ""), "'--csv'"),
    ("bot", ("export", "state/demo", "--parquet="), "'--parquet'"),
    ("bot", ("report", "--compare", "state/demo", ""), "'--compare'"),
    ("bot", ("pause", DEMO, "--status", ""), "'--status'"),
    ("bot", ("statement", DEMO, "--day", ""), "'--day'"),
    ("bot", ("worst-case", DEMO, "--rungs", "A", "--hold", "A=yes:1", "--hold", ""), "'--hold'"),
    ("bot", ("backtest", "--config", DEMO, "--data", ""), "'--data'"),
    ("bot", ("sweep", "--config", DEMO, "--over", "a=1", "--data", ""), "'--data'"),
    ("bot", ("evaluate", "--tune", ""), "'--tune'"),
    ("bot", ("config", "show", ""), "CONFIG"),
    ("venue", ("serve", "--port", "0", "--state", ""), "'--state'"),
    ("venue", ("market", "halt", ""), "'market'"),
]


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    apps = {"bot": bot.cli.main.app, "venue": venue.cli.main.app}
    return lambda program, *words: CliRunner().invoke(apps[program], list(words))


@pytest.mark.parametrize(("program", "words", "name"), WORDS, ids=str)
def test_a_blank_argument_is_refused_by_name_and_nothing_is_done(
    program, words, name, invoke, tmp_path
):
    done = invoke(program, *words)
    assert done.exit_code == 2
    assert f"{name}" in done.stderr
    assert "blank, such as of a variable that is not set" in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_key_may_be_asked_for_without_any_scope(invoke):
    done = invoke("venue", "key", "create", "anna", "--scopes", "", "--control", "127.0.0.1:1")
    assert "blank" not in done.stderr


def test_an_option_that_is_left_out_is_not_blank(invoke):
    assert invoke("bot", "strategies").exit_code == 0
    assert invoke("bot", "replay", "--help").exit_code == 0


def test_an_unknown_option_is_named(invoke):
    done = invoke("bot", "replay", "state/demo", "--nonsense")
    assert done.exit_code == 2
    assert "--nonsense" in done.stderr


def test_completion_accepts_a_blank_word(monkeypatch):
    monkeypatch.setenv("_BOT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "bot replay ")
    monkeypatch.setenv("COMP_CWORD", "2")
    done = CliRunner().invoke(bot.cli.main.app, [], prog_name="bot")
    assert "blank" not in done.output
    assert isinstance(bot.cli.main.app, typer.Typer)
