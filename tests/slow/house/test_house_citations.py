"""Claims about citations: each leads to a place that exists, none to a page outside the project."""

import re
from functools import cache

import pytest

from bot.core.inconsistency import INCONSISTENCIES, RUNBOOK, Inconsistency
from bot.io.metrics.table import FINDINGS, NOTES
from tests.builders.house import tree

pytestmark = pytest.mark.xdist_group("house")  # what is parsed is parsed once

FILES = tree.python_files(*tree.SHIPPED, "tests", "bench", "deploy")
PAGES = sorted((tree.ROOT / "docs").rglob("*.md"))
TARGET = re.compile(r"\bdocs/[\w/-]+\.md(?:#[\w-]+(?:, #[\w-]+)*)?")
LINK = re.compile(r"\]\(([\w./-]*\.md)?#([\w-]+)\)")
OLD = re.compile(
    r"Source: (?:design|reliability|strategy|(?:the )?interface|silences?|security list)\b"
    r"|\breliability, row|\bdesign, (?:law|The )|\bstrategy, (?:\d|section)|\binterface, [A-Z]"
    r"|\bsilences S\d|\((?:rows?|laws?) \d"
)
"""How pages outside the project were cited."""

WRITTEN = {"docs/holdout.md"}
"""Pages that a command writes."""


@cache
def anchors(page):
    """Where a link may lead within a page: marked places and headings."""
    text = tree.text(page)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    bare = [re.sub(r"<[^>]*>|[^\w\- ]", "", heading).strip() for heading in headings]
    marked = set(re.findall(r'<a id="([\w-]+)"', text))
    return marked | {heading.lower().replace(" ", "-") for heading in bare}


@cache
def joined(path):
    """A file on one line: a citation may go over the end of one. Docstrings, comments and texts."""
    return " ".join(tree.text(path).split())


@tree.of_each(FILES)
def test_every_cited_page_and_place_exists(path):
    for target in set(TARGET.findall(joined(path))) - WRITTEN:
        page, _, places = target.partition("#")
        assert (tree.ROOT / page).is_file(), target
        for place in filter(None, places.split(", #")):
            assert place in anchors(tree.ROOT / page), f"{page}#{place}"


@tree.of_each(FILES)
def test_every_citation_is_of_a_page_in_the_project(path):
    assert OLD.findall(joined(path)) == []


@tree.of_each(PAGES)
def test_every_link_to_a_place_on_a_page_resolves(path):
    for page, place in LINK.findall(tree.text(path)):
        target = (path.parent / page).resolve() if page else path
        assert place in anchors(target), f"{page}#{place}"


def test_the_fault_model_has_one_row_for_each_inconsistency_with_its_patience():
    page = tree.text(tree.ROOT / "docs/fault-model.md")
    table = page.partition("## What an inconsistency is")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (yes|no) \|$", table, re.MULTILINE)
    assert [(Inconsistency(kind), patience == "yes") for kind, patience in rows] == [
        (kind, INCONSISTENCIES[kind].patience) for kind in Inconsistency
    ]


def test_the_fault_model_lists_every_inconsistency_with_its_runbook():
    page = tree.text(tree.ROOT / "docs/fault-model.md")
    table = page.partition("## B. Stop and call")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith('| <a id="b')]
    kinds = [kind for row in rows for kind in re.findall(r"`(\w+)`", row.split("|")[3])]
    assert sorted(kinds) == sorted(Inconsistency)
    assert RUNBOOK.rpartition("/")[2] in table


def test_the_findings_and_notes_of_the_fault_model_exist():
    page = tree.text(tree.ROOT / "docs/fault-model.md")
    table = page.partition("## Findings and notes by class")[2]
    rows = re.findall(
        r"^\| (?:survived|reduce-only|stopped): (\w+) \| (.+) \|$", table, re.MULTILINE
    )
    assert len(rows) == 4
    for what, names in rows:
        known = FINDINGS if what == "findings" else [name for _, name in NOTES]
        assert set(re.findall(r"`(\w+)`", names)) <= set(known)
