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
from bot.config.bot_config import ConfigFault, finish, read_draft
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
    "amm",
    "arb",
    "avellaneda_stoikov",
    "bands",
    "fixed_spread",
    "glft",
    "ladder_joint",
    "lmsr",
    "pure_mm",
    "queue_touch",
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
CONFIG = """\
series: AURELIA-VAL
venue:
  embedded: venue.yaml
strategy:
  name: fixed_spread
  params:
    half_spread_cents: {value}
risk:
  series_loss_cents: 200000
  rung_position_qty: 300
  order_qty: 100
"""


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


def test_every_strategy_that_comes_with_the_program_is_known_usable_and_has_a_line():
    assert set(known_strategies()) >= SHIPPED
    for row in listed_strategies():
        assert row.fault == ""
        assert row.about


def test_a_file_names_its_class_itself_or_after_a_colon(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    assert find_strategy("mine.py", tmp_path).name == "idle"
    assert find_strategy("./mine.py:Idle", tmp_path).name == "idle"
    with pytest.raises(StrategyFault, match="no class made from"):
        find_strategy("./mine.py:Busy", tmp_path)
    with pytest.raises(StrategyFault, match="no such Python file"):
        find_strategy("./nobodys.py", tmp_path)


def test_a_class_whose_parameters_are_no_schema_cannot_be_used(tmp_path):
    (tmp_path / "mine.py").write_text(MINE.replace("STRATEGY", "Idle.Params = 3\nSTRATEGY"))
    with pytest.raises(StrategyFault, match=r"mine\.py: its Params is no class made from"):
        find_strategy("./mine.py", tmp_path)


def test_a_file_that_ends_the_program_as_it_is_imported_cannot_be_used(tmp_path):
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(5)\n")
    with pytest.raises(StrategyFault, match=r"ends\.py: cannot be imported: .*SystemExit: 5"):
        find_strategy("./ends.py", tmp_path)
    assert "strategy_ends" not in sys.modules


def test_a_strategy_that_ends_the_program_as_it_is_made_cannot_be_used():
    class Ends(Strategy):
        def __init__(self, params):
            sys.exit(5)

        def quote(self, view):
            return {}

    with pytest.raises(StrategyFault, match=r"cannot be made: .*SystemExit: 5"):
        made(Ends, Ends.Params())


ODD = "class Odd(BaseException):\n    pass\n\n\n"


@pytest.mark.parametrize("odd", ["Odd('gone')", "GeneratorExit('gone')"])
def test_a_file_that_raises_what_nobody_catches_as_it_is_imported_cannot_be_used(tmp_path, odd):
    (tmp_path / "odd.py").write_text(f"{ODD}raise {odd}\n")
    with pytest.raises(StrategyFault, match=r"odd\.py: cannot be imported: odd\.py:5: .*: gone"):
        find_strategy("./odd.py", tmp_path)
    assert "strategy_odd" not in sys.modules


def test_a_strategy_that_raises_what_nobody_catches_as_it_is_made_cannot_be_used():
    class Odd(Strategy):
        def __init__(self, params):
            raise GeneratorExit("gone")

        def quote(self, view):
            return {}

    with pytest.raises(StrategyFault, match=r"cannot be made: .*GeneratorExit: gone"):
        made(Odd, Odd.Params())


def test_ctrl_c_while_a_file_is_imported_comes_through(tmp_path):
    (tmp_path / "slow.py").write_text("raise KeyboardInterrupt\n")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            find_strategy("./slow.py", tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_strategy_without_a_quote_of_its_own_is_refused_as_it_is_made():
    class Silent(Strategy):
        pass

    with pytest.raises(StrategyFault, match=r"it has no method quote\(self, view\)"):
        made(Silent, Silent.Params())


def test_a_strategy_whose_beginning_leaves_out_that_of_the_base_is_refused_as_it_is_made():
    class Forgetful(Strategy):
        def __init__(self, params):
            self.seen = {}

        def quote(self, view):
            return {}

    with pytest.raises(StrategyFault, match=r"does not begin with super\(\).__init__\(params\)"):
        made(Forgetful, Forgetful.Params())


def test_an_installed_package_gives_strategies_by_name(installed, tmp_path):
    assert find_strategy("idle", tmp_path).__module__ == "elsewhere_idle"
    rows = {row.name: row for row in listed_strategies()}
    assert (rows["idle"].source, rows["idle"].about) == ("elsewhere", "Nothing at all.")
    assert "elsewhere_gone" in rows["gone"].fault


def test_a_shipped_name_is_the_shipped_one_whatever_is_installed(installed, tmp_path):
    assert find_strategy("fixed_spread", tmp_path).__module__ == "strategies.fixed_spread"
    assert known_strategies().count("fixed_spread") == 1


def test_an_unknown_name_is_told_what_there_is(tmp_path):
    with pytest.raises(StrategyFault, match=r"did you mean ladder_joint\?"):
        find_strategy("ladder_join", tmp_path)


class Told(Strategy):
    """A strategy in one line, and

    a second paragraph.
    """

    class Params(Strategy.Params):
        lot_qty: int = Field(ge=1, le=9, description="shares")
        decay_per_cent: float = Field(0.5, gt=0, lt=2)
        on: bool = False
        mode: str | None = None


def test_parameters_are_told_with_default_range_unit_and_meaning():
    rows = {row.name: row for row in parameters_of(Told)}
    assert rows["lot_qty"].is_required
    assert rows["lot_qty"].accepted == "int, >= 1, <= 9"
    assert (rows["lot_qty"].unit, rows["lot_qty"].about) == ("shares", "shares")
    assert rows["decay_per_cent"].accepted == "float, > 0, < 2"
    assert (rows["decay_per_cent"].default, rows["decay_per_cent"].unit) == ("0.5", "per 1 cent")
    assert rows["on"].default == "false"
    assert (rows["mode"].default, rows["mode"].accepted) == ("none", "str | none")


def test_an_empty_text_is_a_default():
    class Worded(Strategy):
        class Params(Strategy.Params):
            mood: str = ""

    (row,) = parameters_of(Worded)
    assert (row.default, row.is_required) == ("''", False)


def test_a_strategy_in_one_line_is_its_first_paragraph():
    assert about(Told) == "A strategy in one line, and"


def test_two_files_of_one_name_are_two_modules(tmp_path):
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


def test_a_file_that_could_not_be_imported_is_imported_once_it_can(tmp_path):
    path = tmp_path / "mended.py"
    path.write_text("raise ValueError\n")
    with pytest.raises(StrategyFault):
        find_strategy("./mended.py", tmp_path)
    assert "strategy_mended" not in sys.modules
    path.write_text(
        "from bot.strategy.api import Strategy\nclass Mended(Strategy): pass\nSTRATEGY = Mended\n"
    )
    assert find_strategy("./mended.py", tmp_path).__name__ == "Mended"


def test_the_command_lists_them_and_shows_one():
    listed = CliRunner().invoke(app, ["strategies", "--json"])
    assert {row["name"] for row in json.loads(listed.stdout)} >= SHIPPED
    shown = CliRunner().invoke(app, ["strategies", "fixed_spread"])
    assert "  lot_qty: default 10, shares (int, >= 1, <= 100000)\n" in shown.stdout
    assert "  lot_qty" not in CliRunner().invoke(app, ["strategies"]).stdout
    assert CliRunner().invoke(app, ["strategies", "nobody"]).exit_code == 2


@pytest.mark.parametrize("value", ["0", "50", "2.5", "two"])
def test_a_wrong_parameter_is_told_with_file_line_key_value_and_what_is_accepted(tmp_path, value):
    path = tmp_path / "mine.yaml"
    path.write_text(CONFIG.format(value=value))
    with pytest.raises(ConfigFault) as caught:
        finish(read_draft(path))
    [text] = str(caught.value).splitlines()
    assert text.startswith(f"{path}:7: strategy.params.half_spread_cents: ")
    assert value in text
    assert "1" in text
    assert "49" in text


def test_a_strategy_may_still_import_its_contract_from_where_it_was(tmp_path):
    (tmp_path / "old.py").write_text(
        "from bot.core.pricing.price import legal\n"
        "from bot.core.strategy import Strategy\n"
        "class Old(Strategy):\n"
        "    tool = staticmethod(legal)\n"
    )
    found = find_strategy("./old.py:Old", tmp_path)
    assert issubclass(found, Strategy)
    assert found.tool is legal
