"""Claims about what a newcomer reads first: links that lead somewhere, help that has an example."""

import re
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from bot.cli.main import app as bot
from tests import journeys
from tests.builders.house import commands_page, tree
from venue.cli.main import app as venue

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PAGES = [
    tree.ROOT / "README.md",
    *sorted((tree.ROOT / "docs").rglob("*.md")),
    *sorted((tree.ROOT / "strategies").glob("*.md")),
]


@tree.of_each(PAGES)
def test_every_link_within_the_project_leads_to_a_file(path):
    for target in LINK.findall(tree.text(path)):
        assert ":" in target or (path.parent / target).exists(), target


TRADER = tree.ROOT / "bot/core"
ROW = re.compile(r"^\| `([a-z_/]+)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)


def test_the_map_of_the_trader_names_exactly_its_files():
    page = tree.text(tree.ROOT / "docs/architecture.md")
    named: dict[Path, set[str]] = {}
    for package, files in ROW.findall(page.partition("## Inside the trader")[2]):
        folder = TRADER if package == "bot/core" else TRADER / package
        named.setdefault(folder, set()).update(re.findall(r"`(\w+)`", files))
    assert named == {
        folder: {file.stem for file in folder.glob("*.py")} - {"__init__"}
        for folder in (TRADER, *TRADER.iterdir())
        if folder.is_dir() and folder.name != "__pycache__"
    }


def test_the_page_of_commands_is_current():
    assert tree.text(tree.ROOT / "docs/commands.md") == commands_page.page(), "make pages"


def test_the_figures_of_the_journeys_are_current():
    page = tree.text(tree.ROOT / "docs/architecture.md")
    assert journeys.table() in page, "python -m tests.journeys, into docs/architecture.md"


def every(command, name):
    """A command and all below it, by the words that call it."""
    yield name, command
    if isinstance(command, TyperGroup):
        for word, below in command.commands.items():
            yield from every(below, f"{name} {word}")


COMMANDS = dict(
    each
    for app, name in ((bot, "bot"), (venue, "venue"))
    for each in every(typer.main.get_command(app), name)
)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example_of_it(name):
    assert (COMMANDS[name].epilog or "").removeprefix("\b\n").startswith(f"Example: {name}")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrapped_help_example_can_be_pasted_into_a_terminal(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    context = COMMANDS[name].make_context(name, [], resilient_parsing=True)
    *broken, _ = COMMANDS[name].get_help(context).partition("Example: ")[2].splitlines()
    assert all(line.endswith(" \\") for line in broken)
