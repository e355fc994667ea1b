"""`make` as from a shell, also where a make with words of its own runs the tests."""

import os
import subprocess
from pathlib import Path

from tests.builders.house.tree import ROOT

_OF_AN_OUTER_MAKE = ("MAKE", "MFLAGS", "SERVERS")


def make(*words: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run `make` with these words, whatever an outer make has put into the environment."""
    env = {
        name: text for name, text in os.environ.items() if not name.startswith(_OF_AN_OUTER_MAKE)
    }
    return subprocess.run(["make", *words], cwd=folder, capture_output=True, text=True, env=env)


def lines_made(*words: str) -> list[str]:
    """The commands that `make` would run, without running them."""
    done = make("--dry-run", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
