"""Claims about who may import whom: the contracts hold, each can fail, and no imports go round."""

import graphlib
import shutil
import subprocess
import sys
import tomllib

import pytest

from tests.builders.house import tree

pytestmark = pytest.mark.xdist_group("house")  # what is parsed is parsed once

LINT = (
    "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
)
CONTRACTS = tomllib.loads(tree.text(tree.ROOT / "pyproject.toml"))["tool"]["importlinter"][
    "contracts"
]

# One forbidden import per contract: (contract id, file, the import).
PLANTS = [
    ("one-arrow", "venue/engine/planted_arrow.py", "import bot.core.settings"),
    ("public-names", "bot/lab/planted_name.py", "import laddermaker.lab"),
    ("venue-layers", "venue/wire/planted_up.py", "import venue.engine.messages"),
    ("bot-layers", "bot/core/planted_up.py", "import bot.io"),
    ("trader-layers", "bot/core/orders/planted_up.py", "import bot.core.market_data.market_state"),
    ("shell-layers", "bot/io/state/planted_up.py", "import bot.io.run.runner"),
    ("lab-layers", "bot/lab/sim/planted_up.py", "import bot.lab.report.page"),
    ("simulator-layers", "bot/lab/sim/coverage.py", "import bot.lab.sim.world"),
    ("venue-edges", "venue/views/planted_edge.py", "import venue.engine.planted_engine"),
    ("judge", "venue/conformance/planted_types.py", "import venue.wire.model"),
    ("bot-strategy", "bot/strategy/planted_core.py", "import bot.core.messages"),
    ("bot-core", "bot/core/planted_venue.py", "import venue.engine.messages"),
    ("wire-format", "bot/core/planted_bytes.py", "import venue.wire.codec"),
    ("adapter-seam", "bot/io/run/planted_client.py", "import bot.io.client.rest"),
    ("bot-io", "bot/io/planted_venue.py", "import venue.views"),
    ("bot-records", "bot/records/planted_venue.py", "import venue.views"),
    ("strategies", "strategies/planted_order.py", "import bot.core.messages"),
    ("pure", "bot/core/planted_clock.py", "import time"),
]
FLOORS_MAX = 9


def lint(folder):
    """import-linter over the tree in `folder`, by the contracts of its pyproject.toml."""
    return subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def copy(tmp_path):
    """A copy of what is shipped, with its contracts."""
    unwanted = shutil.ignore_patterns("__pycache__")
    for folder in tree.SHIPPED:
        shutil.copytree(tree.ROOT / folder, tmp_path / folder, ignore=unwanted)
    shutil.copy(tree.ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_import_contract_holds():
    done = lint(tree.ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in done.stdout


def test_every_import_contract_breaks_when_its_forbidden_import_is_planted(copy):
    (copy / "venue/engine/planted_engine.py").write_text('"""A module to import."""\n')
    for _, file, line in PLANTS:
        (copy / file).write_text(f'"""A planted import."""\n\n{line}\n')
    done = lint(copy)
    assert done.returncode != 0
    for contract in CONTRACTS:
        assert f"{contract['name']} BROKEN" in done.stdout, done.stdout


def test_there_is_a_planted_import_for_every_contract():
    assert sorted(name for name, _, _ in PLANTS) == sorted(c["id"] for c in CONTRACTS)


def test_the_trader_has_at_most_nine_layers():
    (layers,) = [c["layers"] for c in CONTRACTS if c["id"] == "trader-layers"]
    assert len(layers) <= FLOORS_MAX


def cycle_of(imported):
    """Modules of which each imports the one before it, the first one the last; empty if none."""
    try:
        graphlib.TopologicalSorter(imported).prepare()
    except graphlib.CycleError as found:
        return list(found.args[1])
    return []


def test_imports_have_no_cycle():
    files = {tree.module_name(path): path for path in tree.python_files(*tree.SHIPPED)}
    imported = {
        module: {
            name if name in files else name.rpartition(".")[0] for _, name in tree.imports(path)
        }
        for module, path in files.items()
    }
    assert cycle_of({module: names & set(files) for module, names in imported.items()}) == []


def test_the_cycle_check_finds_a_cycle():
    assert cycle_of({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})


def test_only_tests_import_tests():
    files = tree.python_files(*tree.SHIPPED, "bench", "deploy")
    assert [
        f"{path}: {name}"
        for path in files
        for _, name in tree.imports(path)
        if name.partition(".")[0] == "tests"
    ] == []
