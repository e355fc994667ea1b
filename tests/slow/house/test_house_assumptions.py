"""Claims about the readings: the numbers are whole, every citation exists, the page is current."""

import ast
import io
import re
import tokenize

import pytest

from tests.builders.house import tree
from tests.builders.house.assumptions_page import page
from venue.wire.assumptions import ASSUMPTIONS

pytestmark = pytest.mark.xdist_group("house")  # what is parsed is parsed once

HOME = tree.ROOT / "venue/wire/assumptions.py"
CITATION = re.compile(r"(?<![\w-])S([1-9][0-9]?)(?![\w-])")


def citations(path):
    """The numbers that the comments and texts of a file cite."""
    words = tokenize.generate_tokens(io.StringIO(tree.text(path)).readline)
    return {
        f"S{number}"
        for token in words
        if token.type in (tokenize.COMMENT, tokenize.STRING)
        for number in CITATION.findall(token.string)
    }


def defined_names(module):
    """The names that a file defines at its top."""
    found = set()
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def exists(place):
    """Whether a dotted name is a file of ours or a name at the top of one."""
    path = tree.ROOT / (place.replace(".", "/") + ".py")
    if path.is_file():
        return True
    module, _, name = place.rpartition(".")
    path = tree.ROOT / (module.replace(".", "/") + ".py")
    return path.is_file() and name in defined_names(tree.tree(path))


def test_the_readings_are_numbered_from_1_without_a_gap():
    assert list(ASSUMPTIONS) == [f"S{number}" for number in range(1, len(ASSUMPTIONS) + 1)]


@pytest.mark.parametrize("number", ASSUMPTIONS)
def test_a_reading_names_its_gap_its_reading_and_its_switch(number):
    row = ASSUMPTIONS[number]
    assert row.gap
    assert row.reading
    assert [place for place in row.switch.split(", ") if not exists(place)] == []


@tree.of_each(tree.python_files(*tree.SHIPPED))
def test_every_cited_reading_exists(path):
    assert citations(path) - set(ASSUMPTIONS) == set()


def test_every_reading_is_cited_where_it_is_followed():
    files = [path for path in tree.python_files(*tree.SHIPPED) if path != HOME]
    cited = set().union(*(citations(path) for path in files))
    assert sorted(set(ASSUMPTIONS) - cited, key=lambda number: int(number[1:])) == []


def test_the_page_of_readings_is_current():
    shown = (tree.ROOT / "docs/assumptions.md").read_text(encoding="utf-8")
    assert shown == page(), "run: make pages"
