"""Claims about this folder: every entry of the column "the bot also survives" has its tests."""

import ast
import re
from pathlib import Path

from tests.builders.house import tree
from venue.wire.assumptions import ASSUMPTIONS

HERE = Path(__file__).parent
SURVIVED = [
    1, 3, 4, 5, 6, 8, 9, 10, 13, 14, 16, 17, 18, 21, 22, 23, 25, 28, 29, 30, 31, 33, 35, 39, 42, 43,
    46, 48, 49, 50, 51, 53,
]  # fmt: skip
DECIDED_BY_NOBODY = {
    15: "nothing of the bot's derives or compares an order id",
    41: "the bot reads no volume",
}
"""Entries that ask that something is never done: shown by its absence from the source."""


def numbers_of_tests():
    """The numbers that the names of the tests here begin with."""
    text = "".join(path.read_text() for path in HERE.glob("test_silences_*.py"))
    return {int(number) for number in re.findall(r"^def test_s(\d+)_", text, re.MULTILINE)}


def test_every_survived_reading_has_a_test():
    assert sorted(numbers_of_tests()) == sorted([*SURVIVED, *DECIDED_BY_NOBODY])


def test_the_survived_readings_are_those_of_the_table():
    kept = {int(name[1:]) for name, row in ASSUMPTIONS.items() if row.survives}
    assert kept == {*SURVIVED, *DECIDED_BY_NOBODY}


def names_used(*folders):
    """Every attribute name of the files of some folders, and its file."""
    used: dict[str, list[str]] = {}
    for path in tree.python_files(*folders):
        for node in ast.walk(tree.tree(path)):
            if isinstance(node, ast.Attribute):
                used.setdefault(node.attr, []).append(tree.shown(path))
    return used


def test_s15_the_bot_derives_parses_and_orders_no_order_id():
    text = "\n".join(tree.text(path) for path in tree.python_files("bot/core", "bot/io"))
    assert not re.search(r"int\([a-z_.]*order_id\)", text)
    assert not re.search(r"order_id [<>]=? ", text)
    assert "venue.engine.identity" not in text


def test_s41_the_bot_reads_no_volume():
    assert "volume_usd" not in names_used("bot", "strategies")
