"""Claims about the words of docstrings, comments, messages and pages, counted in ten thousand.

Dialect is a sign of sentences that were translated word for word; the field's terms are a sign that
things are called what readers call them.
"""

import ast
import io
import re
import tokenize
from typing import NamedTuple

from tests.builders.house import tree

DIALECT = re.compile(
    r"\b(told|tells|beside|anew|stands|what is|whoever|lest|amid)\b", re.IGNORECASE
)
TERMS = re.compile(
    r"\b(timeouts?|stale|retr(?:y|ies)|inventory|exposure|reconcil\w*|throttl\w*|latenc\w*"
    r"|rate limits?|in flight)\b",
    re.IGNORECASE,
)
DIALECT_MAX, TERMS_MIN = 6, 40
"""In ten thousand words."""

SHOWN = 10


class Count(NamedTuple):
    file: str
    words: int
    dialect: int
    terms: int


def prose(path):
    """What a person reads of a file: a page, or comments, docstrings and texts of a module."""
    if path.suffix == ".md":
        return tree.text(path)
    tokens = tokenize.generate_tokens(io.StringIO(tree.text(path)).readline)
    found = [token.string for token in tokens if token.type == tokenize.COMMENT]
    for node in ast.walk(tree.tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            found.append(node.value)
    return "\n".join(found)


def counted(path):
    text = re.sub(r"\s+", " ", prose(path))
    return Count(
        tree.shown(path), len(text.split()), len(DIALECT.findall(text)), len(TERMS.findall(text))
    )


def test_prose_is_in_plain_english_and_in_the_terms_of_the_field():
    pages = [tree.ROOT / "README.md", *sorted((tree.ROOT / "docs").rglob("*.md"))]
    files = tree.python_files(*tree.SHIPPED, "bench", "deploy")
    counts = [counted(path) for path in (*files, *pages)]
    words = sum(each.words for each in counts)
    dialect = sum(each.dialect for each in counts) * 10_000 / words
    terms = sum(each.terms for each in counts) * 10_000 / words
    worst = sorted(counts, key=lambda each: -each.dialect)[:SHOWN]
    assert dialect <= DIALECT_MAX, worst
    assert terms >= TERMS_MIN, sorted(counts, key=lambda each: each.terms - each.words / 250)[
        :SHOWN
    ]


def test_dialect_and_terms_are_counted_in_prose_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Whoever is told of a stale book waits; a retry is in flight.\n")
    assert len(DIALECT.findall(prose(page))) == 2
    assert len(TERMS.findall(prose(page))) == 3
