"""Claims about what `make` says of its own work."""

import subprocess

from tests.house.tree import ROOT


def test_each_step_of_the_set_up_that_takes_long_is_told_before_it():
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
