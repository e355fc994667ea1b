"""Claims about the tests themselves: none imports another or a private name of the product."""

import ast
import re

import pytest

from tests.builders.house import tree

pytestmark = pytest.mark.xdist_group("house")  # what is parsed is parsed once

TESTS = tree.python_files("tests/fast", "tests/slow", "tests/live")
BUILDERS = tree.python_files("tests/builders")
PRIVATE = re.compile(rf"^({'|'.join(tree.SHIPPED)})\.(\w+\.)*_[a-zA-Z]")


def private_names(path):
    """Imports of private names of the product, and uses of one by an imported name."""
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree.tree(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in tree.SHIPPED
        for alias in node.names
    }
    used = [
        f"{node.lineno}: {node.value.id}.{node.attr}"
        for node in ast.walk(tree.tree(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in imported
        and re.match(r"_[a-zA-Z]", node.attr)
    ]
    return used + [f"{line}: {name}" for line, name in tree.imports(path) if PRIVATE.match(name)]


@tree.of_each(TESTS)
def test_no_test_module_imports_another(path):
    assert [name for _, name in tree.imports(path) if re.search(r"(^|\.)test_", name)] == []


@tree.of_each([*TESTS, *BUILDERS])
def test_no_test_uses_a_private_name_that_it_imports(path):
    assert private_names(path) == []
