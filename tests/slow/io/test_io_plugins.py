"""Claims about finding strategies, by name, path, file or entry point, and their parameters."""

import inspect
import json
import signal
import sys
from pathlib import Path

import pytest
from pydantic import Field
from typer.testing import CliRunner

from bot.cli.main import app
from bot.config.plugins import (
    StrategyFault,
    about,
    find_strategy,
    known_strategies,
    listed_strategies,
    made,
    parameters_of,
)
from bot.strategy.api import Strategy
from bot.strategy.pricing.price import legal

SHIPPED = {
    *("amm", "arb", "avellaneda_stoikov", "bands", "fixed_spread", "glft", "ladder_joint"),
    *("lmsr", "pure_mm", "queue_touch"),
}


MINE = '''"""Nothing at all.

More of it.
"""

from bot.strategy.api import Strategy


class Idle(Strategy):
    name = "idle"

    def quote(self, view):
        return {}


STRATEGY = Idle
'''


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package that gives three strategies: a good one, one that is gone, and a shipped name."""
    (tmp_path / "elsewhere_idle.py").write_text(MINE)
    described = tmp_path / "elsewhere-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(
        "[laddermaker.strategies]\n"
        "idle = elsewhere_idle:Idle\n"
        "gone = elsewhere_gone:Idle\n"
        "fixed_spread = elsewhere_idle:Idle\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


def test_every_shipped_strategy_is_listed_usable_and_described():
    assert set(known_strategies()) >= SHIPPED
    for row in listed_strategies():
        assert row.fault == ""
        assert row.about


def test_the_class_of_a_strategy_file_is_named_in_it_or_after_a_colon(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    assert find_strategy("mine.py", tmp_path).name == "idle"
    assert find_strategy("./mine.py:Idle", tmp_path).name == "idle"
    with pytest.raises(StrategyFault, match="no class made from"):
        find_strategy("./mine.py:Busy", tmp_path)
    with pytest.raises(StrategyFault, match="no such Python file"):
        find_strategy("./nobodys.py", tmp_path)


ODD = "class Odd(BaseException):\n    pass\n\n\n"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (MINE.replace("STRATEGY", "Idle.Params = 3\nSTRATEGY"), "its Params is no class made from"),
        ("import sys\nsys.exit(5)\n", "cannot be imported: .*SystemExit: 5"),
        (f"{ODD}raise Odd('gone')\n", r"cannot be imported: bad\.py:5: .*: gone"),
        (f"{ODD}raise GeneratorExit('gone')\n", r"cannot be imported: bad\.py:5: .*: gone"),
    ],
    ids=["params", "exit", "base exception", "generator exit"],
)
def test_a_file_that_cannot_be_imported_as_a_strategy_is_refused(tmp_path, monkeypatch, code, said):
    monkeypatch.delitem(sys.modules, "strategy_bad", raising=False)
    (tmp_path / "bad.py").write_text(code)
    with pytest.raises(StrategyFault, match=rf"bad\.py: {said}"):
        find_strategy("./bad.py", tmp_path)
    assert "strategy_bad" not in sys.modules or "Params" in said


def exits() -> None:
    sys.exit(5)


def leaves() -> None:
    raise GeneratorExit("gone")


@pytest.mark.parametrize(
    ("begin", "quotes", "said"),
    [
        (exits, True, "cannot be made: .*SystemExit: 5"),
        (leaves, True, "cannot be made: .*GeneratorExit: gone"),
        (None, False, r"it has no method quote\(self, view\)"),
        (lambda: None, True, r"does not begin with super\(\).__init__\(params\)"),
    ],
    ids=["exits", "raises", "no quote", "no super"],
)
def test_a_strategy_that_cannot_be_instantiated_is_refused(begin, quotes, said):
    members = {"quote": lambda self, view: {}} if quotes else {}
    if begin is not None:
        members["__init__"] = lambda self, params: begin()
    kind = type("Faulty", (Strategy,), members)
    with pytest.raises(StrategyFault, match=said):
        made(kind, kind.Params())


def test_ctrl_c_interrupts_the_import_of_a_strategy_file(tmp_path):
    (tmp_path / "slow.py").write_text("raise KeyboardInterrupt\n")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            find_strategy("./slow.py", tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_installed_package_provides_strategies_by_name(installed, tmp_path):
    assert find_strategy("idle", tmp_path).__module__ == "elsewhere_idle"
    rows = {row.name: row for row in listed_strategies()}
    assert (rows["idle"].source, rows["idle"].about) == ("elsewhere", "Nothing at all.")
    assert "elsewhere_gone" in rows["gone"].fault


def test_a_shipped_strategy_wins_over_an_installed_one_of_its_name(installed, tmp_path):
    assert find_strategy("fixed_spread", tmp_path).__module__ == "strategies.fixed_spread"
    assert known_strategies().count("fixed_spread") == 1


def test_an_unknown_strategy_name_gets_a_suggestion(tmp_path):
    with pytest.raises(StrategyFault, match=r"did you mean ladder_joint\?"):
        find_strategy("ladder_join", tmp_path)


class Described(Strategy):
    """A strategy in one line, and

    a second paragraph.
    """

    class Params(Strategy.Params):
        lot_qty: int = Field(ge=1, le=9, description="shares")
        decay_per_cent: float = Field(0.5, gt=0, lt=2)
        on: bool = False
        mode: str | None = None
        mood: str = ""


def test_parameters_are_described_with_default_range_unit_and_meaning():
    rows = {row.name: row for row in parameters_of(Described)}
    assert rows["lot_qty"].is_required
    assert rows["lot_qty"].accepted == "int, >= 1, <= 9"
    assert (rows["lot_qty"].unit, rows["lot_qty"].about) == ("shares", "shares")
    assert rows["decay_per_cent"].accepted == "float, > 0, < 2"
    assert (rows["decay_per_cent"].default, rows["decay_per_cent"].unit) == ("0.5", "per 1 cent")
    assert rows["on"].default == "false"
    assert (rows["mode"].default, rows["mode"].accepted) == ("none", "str | none")


def test_two_strategy_files_of_one_name_are_two_modules(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(
            f'"""Of folder {folder}."""\n'
            "from bot.strategy.api import Strategy\n"
            "class Mine(Strategy): name = 'mine'\n"
            "STRATEGY = Mine\n"
        )
    found = [find_strategy(f"./{folder}/mine.py", tmp_path) for folder in ("one", "two")]
    assert [about(each) for each in found] == ["Of folder one.", "Of folder two."]
    assert [Path(inspect.getfile(each)).parent.name for each in found] == ["one", "two"]


def test_a_strategy_file_is_imported_again_once_it_is_corrected(tmp_path):
    path = tmp_path / "mended.py"
    path.write_text("raise ValueError\n")
    with pytest.raises(StrategyFault):
        find_strategy("./mended.py", tmp_path)
    assert "strategy_mended" not in sys.modules
    path.write_text(
        "from bot.strategy.api import Strategy\nclass Mended(Strategy): pass\nSTRATEGY = Mended\n"
    )
    assert find_strategy("./mended.py", tmp_path).__name__ == "Mended"


def test_the_strategies_command_lists_all_and_shows_one():
    listed = CliRunner().invoke(app, ["strategies", "--json"])
    assert {row["name"] for row in json.loads(listed.stdout)} >= SHIPPED
    shown = CliRunner().invoke(app, ["strategies", "fixed_spread"])
    assert "  lot_qty: default 10, shares (int, >= 1, <= 100000)\n" in shown.stdout
    assert "  lot_qty" not in CliRunner().invoke(app, ["strategies"]).stdout
    assert CliRunner().invoke(app, ["strategies", "nobody"]).exit_code == 2


def test_a_strategy_may_import_its_contract_from_the_old_modules(tmp_path):
    (tmp_path / "old.py").write_text(
        "from bot.core.pricing.price import legal\n"
        "from bot.core.strategy import Strategy\n"
        "class Old(Strategy):\n"
        "    tool = staticmethod(legal)\n"
    )
    found = find_strategy("./old.py:Old", tmp_path)
    assert issubclass(found, Strategy)
    assert found.tool is legal
