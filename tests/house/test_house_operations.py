"""Claims about the pages for operators: every number of the trader is there with its default."""

import re

import msgspec
import pytest

from bot.core.settings import TraderSettings
from tests.house import tree
from venue.seed import read_seed

PAGE = tree.ROOT / "docs/configuration.md"
ROW = re.compile(r"^\| `([a-z_.]+)` \| ([^|]+) \|", re.MULTILINE)
ELSEWHERE = {"series_ticker", "keys.read", "keys.standby", "beside"}
"""Settings that are no keys of their own: they follow from others, or are named otherwise."""


def documented() -> dict[str, str]:
    """Key to default, as the page shows them."""
    return {name: default.strip() for name, default in ROW.findall(tree.text(PAGE))}


def settings(kind: type[msgspec.Struct], prefix: str) -> list[tuple[str, object]]:
    """(dotted name, default) of every number, those of nested settings included."""
    found: list[tuple[str, object]] = []
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            found += settings(field.type, f"{prefix}{field.name}.")
        else:
            found.append((prefix + field.name, field.default))
    return found


SETTINGS = [row for row in settings(TraderSettings, "") if row[0] not in ELSEWHERE]


def key_of(name: str) -> str:
    """The key of a setting: durations are kept in nanoseconds and given in milliseconds."""
    return name.removesuffix("_ns") + "_ms" if name.endswith("_ns") else name


def shown_as(name: str, text: str) -> object:
    """The default of a setting that the page shows."""
    if text == "must be given":
        return msgspec.NODEFAULT
    if not text.isdecimal():
        return text
    return int(text) * 10**6 if name.endswith("_ns") else int(text)


@pytest.mark.parametrize(("name", "default"), SETTINGS)
def test_a_setting_of_the_trader_is_a_key_that_is_documented_with_its_default(name, default):
    assert shown_as(name, documented()[key_of(name)]) == default


@pytest.mark.parametrize("file", ["configs/venue.yaml", "deploy/venue.yaml"])
def test_a_venue_can_be_opened_with_every_seed_that_is_shipped(file):
    seed, _ = read_seed(tree.ROOT / file)
    assert seed.companies
