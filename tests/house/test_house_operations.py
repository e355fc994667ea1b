"""Claims about the operations page: it lists every number of the trader with its true default."""

import re

import msgspec
import pytest

from bot.core.settings import TraderSettings
from tests.house import tree
from venue.seed import read_seed

PAGE = tree.ROOT / "docs/operations.md"
SECTION = "\n## The trader's numbers\n"
ROW = re.compile(r"^\| `([a-z_.]+)` \| ([^|]+) \|", re.MULTILINE)
NS = {"ms": 10**6, "s": 10**9}


def documented() -> dict[str, str]:
    """Setting to default, as the page shows them."""
    section = tree.text(PAGE).split(SECTION)[1].split("\n## ")[0]
    return {name: default.strip() for name, default in ROW.findall(section)}


def settings(kind: type[msgspec.Struct], prefix: str) -> list[tuple[str, object]]:
    """(dotted name, default) of every number, those of nested settings included."""
    found: list[tuple[str, object]] = []
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            found += settings(field.type, f"{prefix}{field.name}.")
        else:
            found.append((prefix + field.name, field.default))
    return found


SETTINGS = settings(TraderSettings, "")


def shown_as(name: str, text: str) -> object:
    """The default that a text of the page names: `50 ms` is 50,000,000 of a `_ns` setting."""
    if text == "-":
        return msgspec.NODEFAULT
    number, _, unit = text.partition(" ")
    if not number.isdecimal():
        return text
    return int(number) * NS[unit] if name.endswith("_ns") else int(number)


@pytest.mark.parametrize(("name", "default"), SETTINGS)
def test_a_setting_is_documented_with_its_default(name, default):
    assert name in documented()
    assert shown_as(name, documented()[name]) == default


def test_the_page_names_no_setting_that_is_gone():
    assert set(documented()) == {name for name, _ in SETTINGS}


@pytest.mark.parametrize("file", ["configs/venue.yaml", "deploy/venue.yaml"])
def test_a_venue_can_be_opened_with_every_seed_that_is_shipped(file):
    seed, _ = read_seed(tree.ROOT / file)
    assert seed.companies
