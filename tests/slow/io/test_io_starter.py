"""Claims about `bot init` and `bot new-strategy`: their files are whole and replace nothing."""

import json
import re
from pathlib import Path

import pytest

from bot.config.bot_config import finish, read_draft
from bot.config.plugins import find_strategy
from tests.builders.house.tree import ROOT
from tests.builders.io.commands import invoke

GUIDE = ROOT / "strategies/README.md"


def test_the_configuration_of_init_is_valid_and_names_its_own_strategy(tmp_path):
    assert invoke("init", tmp_path / "mine").exit_code == 0
    config = finish(read_draft(tmp_path / "mine/bot.yaml"))
    assert type(config.make_strategy()).__module__.startswith("strategy_around_fair")


def test_the_strategy_of_init_is_the_example_of_the_guide():
    shown = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[0]
    assert (ROOT / "bot/starter/around_fair.py").read_text(encoding="utf-8") == shown


def test_init_names_every_file_that_it_writes(tmp_path):
    told = json.loads(invoke("init", tmp_path / "mine", "--json").stdout)["written"]
    found = [path for path in (tmp_path / "mine").rglob("*") if path.is_file()]
    assert sorted(map(Path, told)) == sorted(found)


def test_init_overwrites_nothing(tmp_path):
    kept = tmp_path / "venue.yaml"
    kept.write_text("mine")
    done = invoke("init", tmp_path)
    assert (done.exit_code, done.stderr) == (2, f"{kept}: is there already; name a new folder\n")
    assert [*tmp_path.iterdir()] == [kept]
    assert kept.read_text() == "mine"


@pytest.mark.parametrize("given", ["wide_2", "wide_2.py"])
def test_a_new_strategy_has_the_name_that_was_given(tmp_path, given):
    done = invoke("new-strategy", tmp_path / given)
    assert done.exit_code == 0
    assert "strategy: {name: ./wide_2.py}" in done.stdout
    found = find_strategy(str(tmp_path / "wide_2.py"), tmp_path)
    assert (found.__name__, found.name) == ("Wide2", "wide_2")


@pytest.mark.parametrize("name", ["Wide", "2wide", "wide-2", "class"])
def test_new_strategy_refuses_a_name_that_python_or_the_configuration_would_not_take(
    tmp_path, name
):
    done = invoke("new-strategy", tmp_path / name)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{name}: not the name of a strategy")
    assert not [*tmp_path.iterdir()]


def test_new_strategy_overwrites_nothing(tmp_path):
    kept = tmp_path / "wide.py"
    kept.write_text("mine")
    assert invoke("new-strategy", tmp_path / "wide").exit_code == 2
    assert kept.read_text() == "mine"
