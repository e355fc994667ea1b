"""Claims about docs/venue.md: it is whole, current, and every proof that it names exists."""

import ast
import re
from pathlib import Path

import pytest

from tests.builders.spec.venue_page import ELSEWHERE, HEADINGS, page, rows
from venue.conformance.judge import CODES, UNPROVOKED
from venue.conformance.runner import suite

ROOT = Path(__file__).resolve().parents[3]


def _table():
    """Each statement of the page: its words, heading and proof."""
    text = (ROOT / "docs/venue.md").read_text(encoding="utf-8")
    made: list[list[str]] = []
    heading = ""
    for line in text.splitlines():
        if line.startswith("### "):
            heading = line.removeprefix("### ")
        elif line.startswith("- "):
            statements, _, proof = line.removeprefix("- ").removesuffix(")").rpartition(" (")
            made += [[each, heading, proof] for each in statements.split("<br>")]
    return made


def test_the_venue_page_is_current():
    text = (ROOT / "docs/venue.md").read_text(encoding="utf-8")
    assert text == page(), "run: make pages"


def test_every_statement_has_a_heading_and_a_proof():
    table = _table()
    assert len(table) == len(rows()) > 200
    for row in table:
        assert len(row) == 3, row
        assert all(row), row


@pytest.mark.parametrize("heading", HEADINGS)
def test_every_heading_of_the_interface_has_a_statement(heading):
    assert [row for row in _table() if row[1] == heading]


def test_the_page_names_exactly_the_checks_of_the_judge():
    named = {
        name for row in _table() for name in re.findall(r"`([^`]+)`", row[2]) if "/" not in name
    }
    assert named == {each.name for each in suite()}


@pytest.mark.parametrize("place", [row[2] for row in ELSEWHERE])
def test_every_test_that_the_page_names_exists(place):
    path, _, name = place.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = [
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert not name or name in functions


def test_every_error_code_has_a_statement_and_a_check_or_is_marked_unprovoked():
    proofs: dict[str, list[str]] = {}
    for row in _table():
        for code in re.findall(r"[a-z]+(?:_[a-z]+)+|unauthenticated", row[0]):
            proofs.setdefault(code, []).append(row[2])
    codes = set().union(*CODES.values())
    missing = codes - proofs.keys()
    assert missing == set(), "make pages; a check says in its docstring: Errors | <status> <code>"
    unproven = {code for code in codes if all(text.startswith("nothing") for text in proofs[code])}
    assert unproven == UNPROVOKED, "write a check, or mark it in venue/conformance/codes.txt"
