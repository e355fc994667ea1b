"""Claims that the commands of README and of docs/commands.md, which are the examples in the help of
every command, work as they are printed.

All of them run in one folder, one after the other, as a newcomer would type them: a venue with a
crowd, a bot on it, and the demo with an embedded venue of its own.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders.e2e.runs import ROOT
from tests.builders.house.commands_page import HEAD, examples
from tests.builders.house.make import lines_made

pytestmark = pytest.mark.xdist_group("examples")

READY_S = 60
TAPES = ROOT.parent / "shared/data"
"""Recorded tapes, where there are any."""


EXAMPLES = examples()

ALONE = [
    *(
        "bot init",
        "bot new-strategy",
        "bot version",
        "bot completion",
        "bot strategies",
        "bot simulate",
        "bot evaluate",
    ),
    *("bot sweep", "bot worst-case", "bot config show", "bot config schema", "bot config diff"),
    *(
        "bot run",
        "bot budget",
        "bot incident",
        "bot replay",
        "bot explain",
        "bot pnl",
        "bot report",
        "bot statement",
    ),
    *("bot export", "bot what-if", "bot plan", "bot config confirm", "bot reset", "bot record"),
    *("bot backtest", "bot calibrate", "venue version", "venue asyncapi"),
]
"""Those that need no venue but the embedded one; those behind `bot run` read what it left."""

ON_A_VENUE = [
    *(
        "bot check",
        "bot status",
        "bot pause",
        "bot resume",
        "bot flatten",
        "bot reduce",
        "venue status",
    ),
    *("venue hash", "venue company list", "venue company add", "venue company value"),
    *("venue event add", "venue market add", "venue market halt", "venue market resume"),
    "venue listing add",
    *("venue event status", "venue market resolve", "venue user list", "venue user add"),
    *("venue user deposit", "venue user withdraw", "venue key create", "venue key list"),
    *("venue token create", "venue company rename", "venue company archive", "venue lag set"),
    *("venue fault add", "venue fault list", "venue fault clear", "bot cancel-all"),
    *("venue state", "bot value set", "bot value clear", "bot value show"),
]
"""Those of a running bot, and of the operator of a running venue."""

DIFFERS = 4
"""How `bot config diff` of two files that differ ends."""

APART = [
    *("venue serve", "venue compact", "venue check", "venue key revoke", "bot reaper", "bot exit"),
    "bot compare",
]
"""Those with a claim of their own."""


def test_every_command_has_its_example_tested() -> None:
    assert sorted([*ALONE, *ON_A_VENUE, *APART]) == sorted(EXAMPLES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a newcomer has: the shipped configurations, and a folder of tapes."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(ROOT / "configs", folder / "configs")
    listings = {"companies": [{"name": "Birch Works", "symbol": "BIRCH"}]}
    (folder / "listings.json").write_text(json.dumps(listings))
    if TAPES.is_dir():
        (folder / "tapes").symlink_to(TAPES)
    return folder


def started(folder: Path, line: str, printed: Path) -> subprocess.Popen[bytes]:
    """Start a line as a shell would, with the commands of this environment found by name."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with printed.open("wb") as file:
        return subprocess.Popen(
            ["bash", "-c", line],
            cwd=folder,
            env={**os.environ, "PATH": path, "HOME": str(folder), "PYTHONPATH": str(ROOT)},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def works(folder: Path, line: str, tmp_path: Path, ends: int = 0) -> None:
    """Run a line to its end. Raises AssertionError with what it printed if it does not end well."""
    printed = tmp_path / "printed"
    code = started(folder, line, printed).wait(240)
    assert code == ends, f"{line}\n{printed.read_text()[-2000:]}"


@contextmanager
def running(folder: Path, line: str, ready: str) -> Iterator[None]:
    """A line that goes on until it is told to stop. ready: what it prints once it runs."""
    printed = folder / f"{line.split()[0]}-{line.split()[1]}.log"
    process = started(folder, f"exec {line}", printed)
    try:
        give_up_s = time.monotonic() + READY_S
        while ready not in printed.read_text():
            assert process.poll() is None, f"{line} ended\n{printed.read_text()}"
            assert time.monotonic() < give_up_s, f"{line} is not ready\n{printed.read_text()}"
            time.sleep(0.1)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
    assert code == 0, f"{line}\n{printed.read_text()[-2000:]}"


def printed_lines(text: str, heading: str) -> list[str]:
    """The commands of the first block after a heading, their comments left out."""
    block = text.partition(heading)[2].split("```")[1]
    lines = (line.partition(" #")[0].strip() for line in block.strip().splitlines())
    return [line for line in lines if line]


def test_the_first_commands_of_the_readme_work_as_printed_in_their_order(tmp_path):
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    run, activate, *others = printed_lines(readme, "## First steps")
    assert (run, activate) == ("make run", "source .venv/bin/activate")
    with running(tmp_path, lines_made("run")[-1].removeprefix(".venv/bin/"), "two_sided"):
        for line in others:
            works(tmp_path, line, tmp_path)
    assert (tmp_path / "mine/report.html").stat().st_size > 0
    of_the_run, longer = printed_lines(readme, "## Next")[:2], printed_lines(readme, "## Next")[2:]
    for line in of_the_run:
        works(tmp_path, line, tmp_path)
    # These take minutes; tests/slow/sim and tests/slow/lab run smaller ones.
    assert [line.split()[1] for line in longer] == ["simulate", "evaluate"]


def test_the_commands_around_a_venue_of_its_own_work_as_printed(tmp_path):
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    serve, *others = printed_lines(HEAD, "# Commands")
    with running(tmp_path, serve, "venue ready"):
        for line in others:
            with running(tmp_path, line, "key_tried" if "reaper" in line else "two_sided"):
                pass


@pytest.mark.parametrize("name", ALONE)
def test_an_example_that_needs_no_running_venue_works_as_printed(folder, tmp_path, name):
    if "tapes" in EXAMPLES[name] and not TAPES.is_dir():
        pytest.skip("no recorded tapes here")
    (folder / ".local/share/bash-completion/completions").mkdir(parents=True, exist_ok=True)
    works(folder, EXAMPLES[name], tmp_path, DIFFERS if name == "bot config diff" else 0)


def test_the_examples_of_check_and_compact_work_on_a_venue_without_a_crowd(tmp_path):
    """Of the statements that `venue check` judges, some: tests/spec holds all of them."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    with running(tmp_path, f"{EXAMPLES['venue serve']} --no-crowd", "operator's interface"):
        works(tmp_path, f"{EXAMPLES['venue check']} --only a_budget", tmp_path)
    works(tmp_path, EXAMPLES["venue compact"], tmp_path)


@pytest.fixture(scope="module")
def desk(folder: Path) -> Iterator[Path]:
    """The folder with a venue, and a bot that quotes on it."""
    with (
        running(folder, EXAMPLES["venue serve"], "operator's interface"),
        running(folder, "bot run configs/paper.yaml", "two_sided_everywhere"),
    ):
        yield folder


@pytest.mark.parametrize("name", ON_A_VENUE)
def test_an_example_on_a_running_venue_works_as_printed(desk, tmp_path, name):
    works(desk, EXAMPLES[name], tmp_path)


def test_the_example_of_the_reaper_runs_until_it_is_stopped(desk):
    with running(desk, EXAMPLES["bot reaper"], "watching"):
        pass


def test_the_example_of_an_exit_works_with_an_event_of_today(desk, tmp_path):
    listed = "bot status configs/paper.yaml --json | grep -o 'AURELIA-VAL-[0-9]*Q[0-9]' | head -1"
    works(desk, EXAMPLES["bot exit"].replace("AURELIA-VAL-26Q4", f"$({listed})"), tmp_path)


def test_the_example_of_a_revoked_key_works_with_the_id_of_a_key(desk, tmp_path):
    listed = 'venue key list --user anna --json | grep -o \'"key_id": *"[0-9a-f]*\' | tail -c 17'
    line = EXAMPLES["venue key revoke"].replace("0123456789abcdef", f"$({listed})")
    works(desk, line, tmp_path)
