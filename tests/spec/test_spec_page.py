"""Claims about docs/venue.md: it is whole, current, and every proof that it names exists."""

import ast
import re
from pathlib import Path

import pytest

from tests.spec.venue_page import ELSEWHERE, HEADINGS, page, rows
from venue.check.judge import CODES
from venue.check.runner import suite

ROOT = Path(__file__).resolve().parents[2]
# Every refusal that a trader can meet has a more specific code.
UNPROVOKED = {"invalid_request"}


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _table() -> list[list[str]]:
    text = (ROOT / "docs/venue.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [_cells(line) for line in lines[1:]]


def test_the_page_is_current() -> None:
    text = (ROOT / "docs/venue.md").read_text(encoding="utf-8")
    assert text == page(), "run: python -m tests.spec.venue_page > docs/venue.md"


def test_every_row_has_its_four_cells_and_a_proof() -> None:
    table = _table()
    assert len(table) == len(rows()) > 200
    for row in table:
        assert len(row) == 4, row
        assert all(row[:3]), row


@pytest.mark.parametrize("heading", HEADINGS)
def test_every_heading_of_the_interface_has_a_row(heading: str) -> None:
    assert [row for row in _table() if row[1] == heading]


def test_every_check_named_exists_and_every_check_is_named() -> None:
    named = {
        name for row in _table() for name in re.findall(r"`([^`]+)`", row[2]) if "/" not in name
    }
    assert named == {each.name for each in suite()}


@pytest.mark.parametrize("place", [row[2] for row in ELSEWHERE])
def test_every_test_named_exists(place: str) -> None:
    path, _, name = place.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = [
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert not name or name in functions


def test_every_code_of_the_closed_set_has_a_row_and_all_but_one_a_check() -> None:
    proofs: dict[str, list[str]] = {}
    for row in _table():
        for code in re.findall(r"[a-z]+(?:_[a-z]+)+|unauthenticated", row[0]):
            proofs.setdefault(code, []).append(row[2])
    codes = set().union(*CODES.values())
    assert codes - proofs.keys() == set()
    unproven = {code for code in codes if all(text.startswith("nothing") for text in proofs[code])}
    assert unproven == UNPROVOKED
