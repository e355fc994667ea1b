"""Claims about the deciding code: no clock, no chance, no I/O, no await, no float in the money."""

import ast
import textwrap

import pytest

from tests.builders.house import tree

pytestmark = pytest.mark.xdist_group("house")  # what is parsed is parsed once

BANNED_MODULES = {
    "anyio",
    "asyncio",
    "httpx",
    "io",
    "logging",
    "os",
    "pathlib",
    "random",
    "secrets",
    "select",
    "socket",
    "structlog",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
    "urllib",
    "uuid",
    "uvicorn",
    "websockets",
}
BANNED_CALLS = {"open", "print", "input", "eval", "exec", "hash", "__import__"}
BANNED_CLOCKS = {"now", "utcnow", "today"}
FLOAT_FREE = ("venue/engine", "venue/wire")


def unordered(node):
    """Whether an expression is, as written, a set: its order depends on the hash seed."""
    return isinstance(node, ast.Set | ast.SetComp) or (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("set", "frozenset")
    )


def impurities(module):
    """Everything in a file that a pure function must not do, with its line."""
    found = []
    for node in ast.walk(module):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            names = []
        found += [f"{line}: imports {n}" for n in names if n.split(".")[0] in BANNED_MODULES]
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            found.append(f"{line}: awaits")
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in BANNED_CALLS:
                found.append(f"{line}: calls {node.func.id}")
            if isinstance(node.func, ast.Attribute) and node.func.attr in BANNED_CLOCKS:
                found.append(f"{line}: reads a clock")
        if isinstance(node, ast.Attribute) and node.attr == "random":
            found.append(f"{line}: draws a random number")
        if isinstance(node, ast.For | ast.comprehension) and unordered(node.iter):
            found.append(f"{node.iter.lineno}: goes through a set")
    return found


def floats(module):
    """Every float literal and every use of the name `float`, with its line."""
    return [
        f"{node.lineno}: a float"
        for node in ast.walk(module)
        if (isinstance(node, ast.Name) and node.id == "float")
        or (isinstance(node, ast.Constant) and type(node.value) is float)
    ]


@tree.of_each(tree.python_files(*tree.PURE))
def test_every_file_of_the_deciding_code_is_pure(path):
    assert impurities(tree.tree(path)) == []


@tree.of_each(tree.python_files("strategies"))
def test_a_strategy_is_pure(path):
    assert impurities(tree.tree(path)) == []


@tree.of_each(tree.python_files(*FLOAT_FREE))
def test_the_engine_and_the_wire_use_no_float(path):
    assert floats(tree.tree(path)) == []


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from os import environ",
        "import urllib.request",
        "async def f(): pass",
        "x = datetime.datetime.now()",
        "print('x')",
        "y = hash('x')",
        "z = numpy.random.default_rng()",
        "for item in {1, 2}: pass",
        "w = [item for item in set(things)]",
    ],
)
def test_the_purity_check_finds_each_impurity(source):
    assert impurities(ast.parse(textwrap.dedent(source))) != []


@pytest.mark.parametrize("source", ["x = 0.5", "y = float(1)", "def f(x: float): pass"])
def test_the_float_check_finds_each_float(source):
    assert floats(ast.parse(source)) != []
