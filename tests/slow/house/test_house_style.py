"""Claims about form: excepts, words, paths, and numbers that have one home."""

import ast
import re
from collections import defaultdict

import pytest

from tests.builders.house import tree

pytestmark = pytest.mark.xdist_group("house")  # what is parsed is parsed once

EVERYTHING = ("bot", "laddermaker", "strategies", "venue", "tests", "bench")
SHIPPED_FILES = tree.python_files(*tree.SHIPPED)
ALL_FILES = tree.python_files(*EVERYTHING)


@tree.of_each(SHIPPED_FILES)
def test_a_child_process_imports_no_module_of_the_working_directory(path):
    assert 'sys.executable, "-m"' not in tree.text(path), "-P before -m"


@tree.of_each(ALL_FILES)
def test_every_file_opens_with_a_docstring(path):
    if tree.text(path).strip():
        duty = ast.get_docstring(tree.tree(path))
        assert duty, "no docstring"
        assert len(duty.splitlines()[0]) >= 10


def test_a_class_name_is_used_at_most_twice():
    homes: dict[str, list[str]] = {}
    for path in SHIPPED_FILES:
        for node in ast.walk(tree.tree(path)):
            # Every strategy has its parameters in a class `Params` within it.
            if isinstance(node, ast.ClassDef) and node.name != "Params":
                homes.setdefault(node.name.lstrip("_"), []).append(tree.shown(path))
    assert {name: paths for name, paths in homes.items() if len(paths) > 2} == {}


USUAL = {"run", "close"}


def families(classes):
    """For each class one name that it shares with all that it is related to by bases."""
    head = {name: name for name in classes}

    def root(name):
        while head[name] != name:
            name = head[name]
        return name

    for name, bases in classes.items():
        for base in bases & set(classes):
            head[root(name)] = root(base)
    return {name: root(name) for name in classes}


def test_a_method_name_is_used_by_at_most_five_unrelated_classes():
    found = [
        node
        for path in SHIPPED_FILES
        for node in ast.walk(tree.tree(path))
        if isinstance(node, ast.ClassDef)
    ]
    bases = {each.name: {ast.unparse(base) for base in each.bases} for each in found}
    related, users = families(bases), defaultdict(set)
    for each in found:
        for node in each.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                users[node.name].add(related[each.name])
    usual = {name for name in users if name in USUAL or name.startswith("__")}
    assert {n: sorted(them) for n, them in users.items() if len(them) > 5 and n not in usual} == {}


def unexcused(path):
    """Lines of broad excepts that carry no noqa or no word of why."""
    lines = tree.text(path).splitlines()
    found = []
    for node in ast.walk(tree.tree(path)):
        if not isinstance(node, ast.ExceptHandler):
            continue
        kinds = "" if node.type is None else ast.unparse(node.type)
        if node.type is not None and not re.search(r"\b(Base)?Exception\b", kinds):
            continue
        line = lines[node.lineno - 1]
        why = line.partition("BLE001")[2].strip(" -:#")
        beside = [lines[node.lineno - 2].strip(), lines[node.lineno].strip()]
        if "noqa" not in line or not (why or any(b.startswith("#") for b in beside)):
            found.append(node.lineno)
    return found


@tree.of_each(SHIPPED_FILES)
def test_a_broad_except_is_excused_and_explained(path):
    assert unexcused(path) == []


def hits(pattern, path, flags=re.NOFLAG):
    """Lines of a file that match a pattern."""
    return [
        f"{number}: {line.strip()[:80]}"
        for number, line in enumerate(tree.text(path).splitlines(), 1)
        if re.search(pattern, line, flags)
    ]


# Written in two halves so that this file does not find itself.
UNFINISHED = r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b"
MACHINE_PATH = r"(?<![\w.}-])/(wo" r"rk|ro" r"ot|ho" r"me|Us" r"ers)/|/t" r"mp/\w+_"
INDEX_ADDRESS = r"https?://\S*(py" r"pi|/sim" r"ple\b)|^\s*--(extra-)?index-" r"url\b"


@tree.of_each(tree.text_files())
def test_no_file_holds_an_unfinished_mark_a_machine_path_or_an_index_address(path):
    assert hits(UNFINISHED, path) == []
    assert hits(MACHINE_PATH, path) == []
    assert hits(INDEX_ADDRESS, path, re.IGNORECASE) == []


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (UNFINISHED, "# TO" + "DO: later"),
        (MACHINE_PATH, "path = '/ho" + "me/someone/x'"),
        (INDEX_ADDRESS, "--index-" + "url x"),
        (INDEX_ADDRESS, "https://example/sim" + "ple/"),
    ],
)
def test_the_text_checks_find_what_they_look_for(pattern, line):
    assert re.search(pattern, line)


def mirrored(module):
    """Lines with a literal `100 -`: the mirror has its one home in wire/money."""
    return [
        node.lineno
        for node in ast.walk(module)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and isinstance(node.left, ast.Constant)
        and type(node.left.value) is int
        and node.left.value == 100
    ]


@tree.of_each(SHIPPED_FILES)
def test_the_complement_of_a_price_is_computed_in_one_place(path):
    assert mirrored(tree.tree(path)) == []


def test_the_complement_check_finds_a_copy():
    assert mirrored(ast.parse("other = 100 - price")) == [1]


# Published numbers distinctive enough to be known by sight, and where they must not be retyped.
PUBLISHED = {
    250: ("venue/engine", "venue/rest", "venue/views", "venue/stream"),
    1_000_000: ("venue/engine", "venue/rest", "venue/stream"),
    100_000_000: ("bot", "venue/engine", "venue/rest", "venue/views", "venue/stream"),
    16_384: ("bot", "venue/engine", "venue/rest", "venue/views", "venue/stream"),
}


@pytest.mark.parametrize(("number", "folders"), PUBLISHED.items())
def test_a_published_number_is_written_once(number, folders):
    retyped = [
        f"{tree.shown(path)}:{node.lineno}"
        for path in tree.python_files(*folders)
        for node in ast.walk(tree.tree(path))
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value == number
    ]
    assert retyped == []


@pytest.mark.parametrize("package", ["bench", "bot", "venue"])
def test_a_program_can_be_started_by_its_name(package):
    assert (tree.ROOT / package / "__main__.py").is_file()
