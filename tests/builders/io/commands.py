"""Commands of the bot, in this process or one of their own, and copies of the demo's file."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from bot.cli.main import app
from tests.builders.house.tree import ROOT

DEMO = ROOT / "configs/demo.yaml"


def invoke(*words: object, **options) -> Result:
    return CliRunner().invoke(app, [str(each) for each in words], **options)


def json_of(*words: object, code: int = 0) -> Any:
    """What a command of the bot prints as JSON, after it has ended with this exit code."""
    done = invoke(*words, "--json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def finished(*command: object, **options) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end; the first word may be `bot` or `venue`, or options of Python."""
    words = [str(each) for each in command]
    if words[0] in ("bot", "venue"):
        words.insert(0, "-m")
    usual = {"cwd": ROOT, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 90}
    return subprocess.run([sys.executable, *words], text=True, check=False, **{**usual, **options})


def demo_copy(folder: Path, *changes: tuple[str, str], name: str = "demo") -> Path:
    """The demo's file, on the shipped venue, with texts replaced that have to be there."""
    text = DEMO.read_text()
    for before, after in (("embedded: venue", f"embedded: {ROOT}/configs/venue"), *changes):
        assert before in text
        text = text.replace(before, after)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def demo_with_strategy(folder: Path, code: str, name: str, *changes: tuple[str, str]) -> Path:
    """A copy of the demo's file whose strategy is a file of its own with this code."""
    (folder / "mine.py").write_text(code)
    text = DEMO.read_text()
    block = text[text.index("strategy:") : text.index("risk:")]
    strategy = (block, "strategy: {name: ./mine.py}\n\n")
    return demo_copy(folder, strategy, *changes, name=name)
