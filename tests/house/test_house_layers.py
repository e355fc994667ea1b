"""Claims about who may import whom: the contracts hold, each can fail, a second account agrees."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house import tree

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
    ("venue-layers", "venue/wire/planted_up.py", "import venue.engine.messages"),
    ("bot-layers", "bot/core/planted_up.py", "import bot.io"),
    ("trader-layers", "bot/core/orders/planted_up.py", "import bot.core.market_data.book"),
    ("shell-layers", "bot/io/state/planted_up.py", "import bot.io.run.runner"),
    ("lab-layers", "bot/lab/sim/planted_up.py", "import bot.lab.report.page"),
    ("simulator-layers", "bot/lab/sim/coverage.py", "import bot.lab.sim.world"),
    ("venue-edges", "venue/views/planted_edge.py", "import venue.engine.planted_engine"),
    ("judge", "venue/conformance/planted_types.py", "import venue.wire.model"),
    ("bot-strategy", "bot/strategy/planted_core.py", "import bot.core.messages"),
    ("bot-core", "bot/core/planted_venue.py", "import venue.engine.messages"),
    ("bot-io", "bot/io/planted_venue.py", "import venue.views"),
    ("bot-records", "bot/records/planted_venue.py", "import venue.views"),
    ("strategies", "strategies/planted_order.py", "import bot.core.messages"),
    ("pure", "bot/core/planted_clock.py", "import time"),
]
# What a package may import of ours; a longer name goes before a shorter one.
MAY_IMPORT = {
    "venue.wire": ("venue.wire",),
    "venue.engine": ("venue.engine", "venue.wire"),
    "venue.views": ("venue.views", "venue.engine.messages", "venue.wire"),
    "venue.rest": ("venue.rest", "venue.views", "venue.engine.messages", "venue.wire"),
    "venue.stream": ("venue.stream", "venue.views", "venue.engine.messages", "venue.wire"),
    "venue.storage.recovery": ("venue.storage", "venue.engine", "venue.views", "venue.wire"),
    "venue.storage": ("venue.storage", "venue.engine.messages", "venue.wire"),
    "venue.admin": (
        "venue.admin",
        "venue.rest",
        "venue.views",
        "venue.engine.messages",
        "venue.derived",
        "venue.metrics",
        "venue.rawkeys",
        "venue.wire",
    ),
    "venue.listen": ("venue.stream", "venue.wire"),
    "venue.conformance": ("venue.conformance",),
    "venue.crowd": ("venue.crowd", "venue.seedfile", "venue.engine.messages", "venue.wire"),
    "venue": ("venue",),
    "bot.strategy": ("bot.strategy", "venue.wire"),
    "bot.core": ("bot.core", "bot.strategy", "venue.wire"),
    "bot.io": ("bot.io", "bot.core", "bot.strategy", "venue.wire"),
    "bot.records": ("bot.records", "bot.io", "bot.core", "bot.strategy", "bot.page", "venue.wire"),
    "bot.page": ("bot.page",),
    "bot.lab.paper": ("bot", "venue.engine", "venue.storage", "venue.wire"),
    "bot.lab": ("bot", "venue.engine", "venue.views", "venue.crowd", "venue.wire"),
    "bot": ("bot", "venue.cli.begin", "venue.cli.groups", "venue.wire"),
    "strategies": (
        "bot.strategy.api",
        "bot.strategy.pricing",
        "venue.wire.money",
        "venue.wire.names",
    ),
}


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
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
def copy(tmp_path: Path) -> Path:
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


def rule_of(module: str) -> tuple[str, ...]:
    """The names that a module may import of ours."""
    for package, allowed in MAY_IMPORT.items():
        if module == package or module.startswith(package + "."):
            return allowed
    raise AssertionError(f"no rule for {module}")


def breaches(module: str, names: list[tuple[int, str]]) -> list[str]:
    """Imports of ours that the module's rule does not name."""
    allowed = rule_of(module)
    return [
        f"{module}:{line} imports {name}"
        for line, name in names
        if name.split(".")[0] in tree.SHIPPED
        and not any(name == head or name.startswith(head + ".") for head in allowed)
    ]


@tree.of_each(tree.python_files(*tree.SHIPPED))
def test_a_file_imports_only_what_the_table_of_its_package_allows(path):
    names = tree.imports(path)
    assert not [name for _, name in names if name.startswith(".")], "relative import"
    assert breaches(tree.module_name(path), names) == []


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("venue.wire.codec", "venue.engine.messages.Deposit"),
        ("venue.engine.ledger", "venue.views.market"),
        ("venue.views.market", "venue.engine.engine.Engine"),
        ("venue.rest.trade", "venue.engine.engine.Engine"),
        ("venue.server", "bot.core.messages"),
        ("venue.conformance.judge", "venue.wire.model"),
        ("venue.admin.handlers", "venue.engine.engine"),
        ("bot.core.trader", "bot.io.client.rest"),
        ("bot.core.trader", "venue.engine.messages"),
        ("bot.io.client.rest", "venue.rest.app"),
        ("bot.cli.main", "venue.engine.engine"),
        ("strategies.mine", "bot.core.orders.order"),
        ("strategies.mine", "venue.wire.codec"),
    ],
)
def test_the_second_account_sees_a_forbidden_import_too(module, name):
    assert breaches(module, [(1, name)]) == [f"{module}:1 imports {name}"]
