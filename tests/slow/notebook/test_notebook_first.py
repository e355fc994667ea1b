"""Claims about the notebooks: every cell runs, in order, and shows something; none is saved run."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

RUN = """\
import ast, json, sys

space = {"__name__": "__main__"}
for number, cell in enumerate(json.load(open(sys.argv[1]))["cells"]):
    if cell["cell_type"] != "code":
        continue
    tree = ast.parse("".join(cell["source"]), f"<cell {number}>")
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"<cell {number}>", "exec"), space)
    if last is not None:
        shown = eval(compile(ast.Expression(last.value), f"<cell {number}>", "eval"), space)
        html = getattr(shown, "_repr_html_", None)
        print(f"cell {number}: {type(shown).__name__}: {len(html() if html else repr(shown))}")
"""
"""Runs the cells in one namespace, as a kernel does, and shows the last value of each."""


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_of_a_notebook_runs_and_shows_what_it_ends_with(path, tmp_path):
    pytest.importorskip("pandas")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(path)],
        cwd=ROOT / "notebooks",
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    trees = [ast.parse("".join(each["source"])) for each in cells(path) if is_code(each)]
    values = [tree for tree in trees if isinstance(tree.body[-1], ast.Expr)]
    shown = [line for line in done.stdout.splitlines() if line.startswith("cell ")]
    assert len(shown) == len(values)
    assert all(int(line.rpartition(" ")[2]) > 0 for line in shown)


def is_code(cell: dict) -> bool:
    return cell["cell_type"] == "code"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_saved_without_outputs(path):
    assert all(not each["outputs"] for each in cells(path) if is_code(each))
    assert all(each["execution_count"] is None for each in cells(path) if is_code(each))
