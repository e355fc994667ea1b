"""Claims about what `make` says of its own work, and of the Python that it finds."""

import shutil
import sys

import pytest

from tests.builders.house.make import lines_made, make
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


def test_make_setup_rejects_an_older_python_before_it_creates_anything(folder):
    python, made = folder / "python3", folder / "made"
    python.write_text(OLD.format(real=sys.executable, made=made), encoding="utf-8")
    python.chmod(0o700)
    done = make("setup", f"PYTHON={python}", folder=folder)
    assert done.returncode == 2
    message = f"needs Python 3.11: {python} is Python 3.9.18; name another with PYTHON=...\n"
    assert done.stderr.startswith(message)
    assert not made.exists()


def test_make_setup_names_a_python_that_is_missing(folder):
    done = make("setup", "PYTHON=nowhere", folder=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("needs Python 3.11: nowhere is not on the path")


def test_make_setup_announces_each_long_step():
    lines = lines_made("--what-if=pyproject.toml", "setup")
    long = [number for number, line in enumerate(lines) if "-m venv" in line or "/pip " in line]
    assert len(long) == 3
    assert all(lines[number - 1].startswith('echo "') for number in long)


def test_make_test_installs_servers_only_when_asked():
    assert "apt-get" not in "\n".join(lines_made("test"))
    asked = "\n".join(lines_made("test", "SERVERS=yes"))
    assert "apt-get" in asked
    assert ("LADDERMAKER_SERVERS=required" in asked) == ("dpkg-query" in asked)


def test_continuous_integration_runs_the_tests_of_the_servers_too():
    assert "make test SERVERS=yes" in (ROOT / ".ci/run").read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["test", "quick"])
def test_a_test_target_says_first_how_long_it_takes(target):
    lines = lines_made(target)
    said = next(number for number, line in enumerate(lines) if "on two cores" in line)
    assert said < next(number for number, line in enumerate(lines) if "/pytest" in line)
