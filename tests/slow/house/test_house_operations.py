"""Claims about the pages for operators: every number of the trader is there with its default."""

import json
import re
import shlex

import msgspec
import pytest
import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from bot.cli.main import app
from bot.config.sections import SETTINGS_OF, key_of_field
from bot.core.orders.cancel_reasons import CancelReason
from bot.core.settings import TraderSettings
from tests.builders.house import tree
from venue.cli.main import app as venue
from venue.seed import read_seed

PAGE = tree.ROOT / "docs/configuration.md"
ROW = re.compile(r"^\| `([a-z_.]+)` \| ([^|]+) \|", re.MULTILINE)
NAMED = re.compile(r"`([a-z_]+)\.([a-z_]+)[`:]")
PAGES = [
    tree.ROOT / "docs/operations.md",
    tree.ROOT / "docs/from-elsewhere.md",
    *sorted((tree.ROOT / "docs/runbooks").glob("*.md")),
]
LISTS = {"calendar", "outside_sources"}
ELSEWHERE = {"series_ticker", "keys.read", "keys.standby", "other_series", *LISTS}
"""Settings that are no keys of their own: they follow from others, or are named otherwise."""


def documented():
    """Key to default, as the page shows them."""
    return {name: default.strip() for name, default in ROW.findall(tree.text(PAGE))}


def settings(kind, prefix):
    """(dotted name, default) of every number, those of nested settings included."""
    found: list[tuple[str, object]] = []
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            found += settings(field.type, f"{prefix}{field.name}.")
        else:
            found.append((prefix + field.name, field.default))
    return found


# A journal that was written before the key existed has polled as if there were none.
OLDER = ("staleness.poll_quiet_ns",)
SETTINGS = [row for row in settings(TraderSettings, "") if row[0] not in (*ELSEWHERE, *OLDER)]


def key_of(name):
    """The key of a setting: durations are kept in nanoseconds and given in milliseconds."""
    part, field = name.split(".")
    section = next(each for each, other in SETTINGS_OF.items() if other == part)
    return f"{section}.{key_of_field(field)}"


def shown_as(name, text):
    """The default of a setting that the page shows."""
    if text == "must be given":
        return msgspec.NODEFAULT
    if text == "-":
        return None
    if text in ("true", "false"):
        return text == "true"
    if "." in text and text.replace(".", "", 1).isdecimal():
        return float(text)
    if not text.isdecimal():
        return text
    return int(text) * 10**6 if name.endswith("_ns") else int(text)


@pytest.mark.parametrize(("name", "default"), SETTINGS)
def test_every_setting_of_the_trader_is_documented_with_its_default(name, default):
    assert shown_as(name, documented()[key_of(name)]) == default


@pytest.mark.parametrize("file", ["configs/venue.yaml", "deploy/venue.yaml"])
def test_every_shipped_venue_configuration_is_valid(file):
    seed, _ = read_seed(tree.ROOT / file)
    assert seed.companies


# --- what the pages name --------------------------------------------------------------------------


def keys_of(schema, part):
    """The keys of a part of the schema, in whatever form it may be given."""
    found = set(part.get("properties", {}))
    for inner in (*part.get("anyOf", ()), *part.get("oneOf", ()), *part.get("allOf", ())):
        found |= keys_of(schema, inner)
    if "$ref" in part:
        found |= keys_of(schema, schema["$defs"][part["$ref"].rpartition("/")[2]])
    return found


@tree.of_each(PAGES)
def test_every_key_on_the_operators_pages_is_a_configuration_key(path):
    schema = json.loads(tree.text(tree.ROOT / "configs/schema.json"))
    parts = {name: keys_of(schema, part) for name, part in schema["properties"].items()}
    for section, key in NAMED.findall(tree.text(path)):
        assert key in parts.get(section, {key}), f"{section}.{key}"


COMMAND = re.compile(r"`bot ([a-z-]+ [^`]*)`")
ROOT_COMMAND = typer.main.get_command(app)


@tree.of_each(PAGES[1:])
def test_every_command_on_the_operators_pages_parses(path):
    for words in (found.split() for found in COMMAND.findall(tree.text(path))):
        command = ROOT_COMMAND
        while isinstance(command, TyperGroup):
            command = command.commands[words.pop(0)]
        try:
            command.make_context(command.name, words)
        except TyperException as fault:
            raise AssertionError(f"{command.name} {words}: {fault.message}") from None


BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = [tree.ROOT / "README.md", *sorted((tree.ROOT / "docs").rglob("*.md"))]
GROUPS = {"bot": ROOT_COMMAND, "venue": typer.main.get_command(venue)}


@tree.of_each(PRINTED)
def test_every_command_in_a_block_of_a_page_parses(path):
    for block in BLOCK.findall(tree.text(path)):
        for line in block.replace("\\\n", " ").splitlines():
            if not line.startswith(("bot ", "venue ")) or " ... " in line:
                continue
            program, *words = shlex.split(line, comments=True)
            command = GROUPS[program]
            while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
                command = command.commands[words.pop(0)]
            end = next((at for at, word in enumerate(words) if word in ("&", ">", "|", "||")), None)
            try:
                command.make_context(command.name, words[:end])
            except TyperException as fault:
                raise AssertionError(f"{line}: {fault.message}") from None


def commands(group, before=""):
    """Every command of a program by its words, those of its groups included."""
    if not isinstance(group, TyperGroup):
        return [before]
    return [
        name
        for word, command in group.commands.items()
        if not command.hidden
        for name in commands(command, f"{before} {word}".strip())
    ]


@pytest.mark.parametrize("command", commands(ROOT_COMMAND))
def test_every_command_has_a_row_in_the_table_of_exit_codes(command):
    page = tree.text(PAGES[0]).partition("| command of `bot` |")[2].partition("\n\n")[0]
    first_cells = " ".join(line.split("|")[1] for line in page.splitlines() if "|" in line[1:])
    assert f"`{command}`" in first_cells


def test_every_cancel_reason_is_in_the_operators_table():
    page = tree.text(PAGES[0]).partition("## Explain")[2].partition("\n## ")[0]
    assert [reason for reason in CancelReason if reason.value not in page] == []
