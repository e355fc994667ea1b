"""Claims about the wheel in an empty environment: what a newcomer without the repository has."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.house.tree import ROOT
from tests.builders.servers import missing

pytestmark = pytest.mark.xdist_group("wheel")


class Installed:
    """The wheel in a virtual environment of its own, and a folder without anything else."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.folder = folder / "venv/bin", folder / "empty"
        self.folder.mkdir()
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        command = [sys.executable, "-m", "hatchling", "build", f"--directory={folder / 'dist'}"]
        subprocess.run([*command, "--target=wheel"], cwd=ROOT, check=True, capture_output=True)
        [wheel] = (folder / "dist").glob("*.whl")
        locked = self.run("pip", "install", "--require-hashes", "-r", ROOT / "requirements.lock")
        if locked.returncode:
            missing(f"pip cannot install the locked packages: {locked.stderr[-300:]}")
        assert self.run("pip", "install", "--no-deps", wheel).returncode == 0

    def run(self, program: str, *words: object) -> "subprocess.CompletedProcess[str]":
        """A program of the environment, in the folder; nothing of ours is on Python's path."""
        variables = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [str(self.bin / program), *map(str, words)],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Installed:
    made = Installed(tmp_path_factory.mktemp("wheel"))
    assert made.run("bot", "init", "mine").returncode == 0
    return made


def test_the_bot_quotes_and_ends_flat_from_an_empty_folder(installed):
    done = installed.run("bot", "run", "mine/bot.yaml", "--for", "3s", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["requests"]["create"] > 0
    assert summary["resting_after"] == 0


def test_the_shipped_tape_is_backtested_and_reported(installed):
    words = ("--data", "mine/tape", "--config", "mine/bot.yaml", "--save", "result.json")
    words += ("--queue-model", "expected")
    done = installed.run("bot", "backtest", *words)
    assert done.returncode == 0, done.stderr
    done = installed.run("bot", "report", "result.json", "--html", "report.html")
    assert done.returncode == 0, done.stderr
    assert (installed.folder / "report.html").stat().st_size > 0


def test_the_embedded_venue_follows_the_shipped_tape(installed):
    done = installed.run("bot", "run", "mine/bot.yaml", "--tape", "mine/tape", "--for", "2s")
    assert done.returncode == 0, done.stderr
