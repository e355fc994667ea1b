"""Claims about reading the page of survivors, and about the names and places of what is mutated."""

import ast
import re
from dataclasses import replace

import pytest

from tests.mutation.__main__ import EVERYWHERE, REASONS, is_well, reasons_of, report, row_of
from tests.mutation.mutants import (
    ROOT,
    Mutant,
    Verdict,
    exit_codes,
    function_name,
    kind_of,
    selection_of,
)
from tests.mutation.parts import PARTS

PAGE = """
# Mutation testing
## `a/b.py`
| function | instead | why |
|---|---|---|
| `cut` | `x = 1 \\| 2` | the same |
| `Exposure.add` | `y = None` |  |
"""


def mutant(function, change):
    return Mutant(f"a.b.x_{function}__mutmut_1", function, change, f"-before\n+{change}")


def test_a_row_with_a_reason_explains_a_surviving_mutant():
    assert reasons_of(PAGE) == {"a/b.py": {("cut", "x = 1 | 2")}}


def test_a_printed_row_with_a_reason_is_read_back():
    row = row_of("Exposure.add", "a = b | c or d").removesuffix(" |") + "because |"
    assert reasons_of(f"## `m.py`\n{row}") == {"m.py": {("Exposure.add", "a = b | c or d")}}


def test_a_module_passes_with_nine_of_ten_mutants_killed_and_the_rest_explained():
    known = mutant("cut", "x = 1 | 2")
    reasons = reasons_of(PAGE)
    assert is_well(Verdict("a/b.py", 10, (known,)), reasons)
    assert not is_well(Verdict("a/b.py", 9, (known,)), reasons)
    assert not is_well(Verdict("a/b.py", 10, (mutant("cut", "x = 2"),)), reasons)
    assert not is_well(Verdict("c/d.py", 10, (known,)), reasons)
    assert is_well(Verdict("a/b.py", 0, ()), reasons)


def test_a_report_shows_each_unexplained_survivor_with_its_row():
    known, new = mutant("cut", "x = 1 | 2"), mutant("cut", "x = 2")
    text = report(Verdict("a/b.py", 8, (known, new)), reasons_of(PAGE))
    first, *rest = text.splitlines()
    assert first == "a/b.py: 8 mutants, 6 killed (75.0%), 2 survived, 1 of them without a reason"
    assert [line.strip() for line in rest] == [
        "a.b.x_cut__mutmut_1",
        "-before",
        "+x = 2",
        "| `cut` | `x = 2` |  |",
    ]


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ('raise Fault(f"no {x}")', 'raise Fault(f"XXno {x}XX")', "text"),
        ('assert x is None, "no x"', 'assert x is None, "XXno xXX"', "text"),
        ('raise Fault("no")', "raise Fault(None)", ""),
        ("zip(a, b, strict=True)", "zip(a, b, strict=False)", "strict"),
        ("zip( f(a), b, strict=True )", "zip( f(a), b, )", "strict"),
        ("zip(a, b, strict=True)", "zip(a, None, strict=True)", ""),
        ("a <= b", "a < b", ""),
    ],
)
def test_a_change_of_text_or_strictness_alone_has_its_kind(before, after, kind):
    assert kind_of(before, after) == kind


def test_a_kind_of_mutant_may_have_one_reason_for_all_modules():
    survivor = replace(mutant("cut", "x"), kind="text")
    page = "## `everywhere`\n| `everywhere` | `text` | nobody reads it |"
    assert is_well(Verdict("c/d.py", 10, (survivor,)), reasons_of(page))
    assert not is_well(Verdict("c/d.py", 10, (replace(survivor, kind=""),)), reasons_of(page))


def test_a_function_is_named_as_in_the_source():
    assert function_name("xǁPurseǁspend") == "Purse.spend"
    assert function_name("x__share_room") == "_share_room"
    assert function_name("xǁ_Wishǁ__init__") == "_Wish.__init__"


def test_a_module_without_a_note_has_no_mutants(tmp_path):
    assert exit_codes(tmp_path / "none.meta") == {}


def test_mutated_modules_and_their_tests_exist():
    for part in PARTS:
        assert all((ROOT / module).is_file() for module in part.modules)
        assert selection_of(part)


def test_every_module_of_the_page_is_mutated():
    modules = {module for part in PARTS for module in part.modules}
    assert set(reasons_of(REASONS.read_text(encoding="utf-8"))) <= {EVERYWHERE, *modules}


def functions(module):
    """Every function and method of a module as the page names it."""
    for node in ast.parse((ROOT / module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{node.name}.{inner.name}"


def test_every_function_of_the_page_is_in_its_module():
    reasons = reasons_of(REASONS.read_text(encoding="utf-8"))
    gone = {
        module: missing
        for module, rows in reasons.items()
        if module != EVERYWHERE and (missing := {name for name, _ in rows} - {*functions(module)})
    }
    assert gone == {}


FIGURES = re.compile(
    r"^\| `([a-z_/]+\.py)` \| (\d+) \| (\d+) \((\d+\.\d) %\) \| (\d+) \|", re.MULTILINE
)


def test_the_figures_of_the_page_cover_every_module_and_add_up():
    rows = FIGURES.findall(REASONS.read_text(encoding="utf-8"))
    assert [row[0] for row in rows] == [module for part in PARTS for module in part.modules]
    for module, mutants, killed, percent, survived in rows:
        assert int(mutants) == int(killed) + int(survived), module
        assert percent == f"{100 * int(killed) / int(mutants):.1f}", module
