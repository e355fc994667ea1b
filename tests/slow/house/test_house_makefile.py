"""Claims about what `make` says of its own work, and of the Python that it finds."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.builders.house.tree import ROOT

OLD = """#!/bin/sh
case "$1" in
--version) echo "Python 3.9.18" ;;
-c) exec {real} -c "import sys; sys.version_info = (3, 9, 18, 'final', 0)
$2" ;;
*) touch "{made}" ;;
esac
"""


@pytest.fixture
def folder(tmp_path):
    """What the set-up hangs on, and nothing that is set up."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def set_up(folder, python):
    """`make setup` with a Python, as from no other make."""
    env = {name: text for name, text in os.environ.items() if not name.startswith(("MAKE", "MFL"))}
    command = ["make", "setup", f"PYTHON={python}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env)


def test_make_setup_rejects_an_older_python_before_it_creates_anything(folder):
    python, made = folder / "python3", folder / "made"
    python.write_text(OLD.format(real=sys.executable, made=made), encoding="utf-8")
    python.chmod(0o700)
    done = set_up(folder, str(python))
    assert done.returncode == 2
    message = f"needs Python 3.11: {python} is Python 3.9.18; name another with PYTHON=...\n"
    assert done.stderr.startswith(message)
    assert not made.exists()


def test_make_setup_names_a_python_that_is_missing(folder):
    done = set_up(folder, "nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith("needs Python 3.11: nowhere is not on the path")


def test_make_setup_announces_each_long_step():
    done = subprocess.run(
        ["make", "--dry-run", "--what-if=pyproject.toml", "setup"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    long = [number for number, line in enumerate(lines) if "-m venv" in line or "/pip " in line]
    assert len(long) == 3
    assert all(lines[number - 1].startswith('echo "') for number in long)


def commands_of(target, *words):
    """What `make` would run, without running it."""
    done = subprocess.run(
        ["make", "--dry-run", target, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_make_test_installs_servers_only_when_asked():
    assert "apt-get" not in commands_of("test")
    asked = commands_of("test", "SERVERS=yes")
    assert "apt-get" in asked
    assert ("LADDERMAKER_SERVERS=required" in asked) == ("dpkg-query" in asked)


def test_continuous_integration_runs_the_tests_of_the_servers_too():
    assert "make test SERVERS=yes" in (ROOT / ".ci/run").read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["test", "quick"])
def test_a_test_target_says_first_how_long_it_takes(target):
    lines = commands_of(target).splitlines()
    said = next(number for number, line in enumerate(lines) if "on two cores" in line)
    assert said < next(number for number, line in enumerate(lines) if "/pytest" in line)
