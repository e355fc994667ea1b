"""Claims about a strategy that cannot be made: every command ends with 2, and says where it was."""

from pathlib import Path

import pytest

from tests.builders.backtest.made import book, configured, written
from tests.builders.io.commands import invoke

RAISES_IN_CONSTRUCTOR = """
from bot.strategy.api import Strategy


class Unmade(Strategy):
    def __init__(self, params):
        raise OSError("no model")


STRATEGY = Unmade
"""
SAID = "cannot be made: unmade.py:7: OSError: no model"


@pytest.fixture
def raising_file(tmp_path: Path) -> Path:
    path = tmp_path / "unmade.py"
    path.write_text(RAISES_IN_CONSTRUCTOR, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("strategies",),
        ("evaluate", "--no-baselines", "--strategies"),
        ("simulate", "--seed", "1", "--strategy"),
    ],
)
def test_a_strategy_whose_constructor_raises_exits_with_2_and_its_line(
    raising_file: Path, words: tuple[str, ...]
) -> None:
    done = invoke(*words, raising_file)
    assert done.exit_code == 2
    assert SAID in done.stderr


@pytest.mark.parametrize("command", ["check", "run", "backtest"])
def test_a_configuration_whose_strategy_constructor_raises_is_rejected_with_its_line(
    raising_file: Path, command: str, tmp_path: Path
) -> None:
    config = str(configured(tmp_path, "./unmade.py"))
    words = [command, config]
    if command == "backtest":
        tape = written(tmp_path / "tape", [book(0, [[40, 30]], [[60, 50]])])
        words = [command, "--data", str(tape), "--config", config]
    done = invoke(*words)
    assert done.exit_code == 2
    assert f"strategy.name: {SAID}" in done.stderr
