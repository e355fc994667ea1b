"""Claims about what a strategy prints while a command asks it: stdout has the answer alone."""

import json
import subprocess
import sys

import pytest

from tests.builders.house.tree import ROOT
from tests.builders.speaks import SPEAKS

DEMO = (ROOT / "configs/demo.yaml").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A configuration whose strategy speaks, and the journal of a short run of it."""
    at = tmp_path_factory.mktemp("speaks")
    (at / "speaks.py").write_text(SPEAKS)
    head, _, rest = DEMO.partition("strategy:")
    text = f"{head}strategy: {{name: ./speaks.py}}\n\n{rest[rest.index('risk:') :]}"
    text = text.replace("embedded: venue.yaml", f"embedded: {ROOT / 'configs/venue.yaml'}")
    for name, port in (("speaks", 8090), ("other", 8099)):
        (at / f"{name}.yaml").write_text(text.replace("port: 8090", f"port: {port}"))
    assert said(at, "run", "speaks.yaml", "--for", "2s", "--status-port", "0")["exit_code"] == 0
    return at


def said(folder, *words):
    """The one JSON value on stdout of a command that ends well."""
    done = subprocess.run(
        [sys.executable, "-m", "bot", *words, "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode in (0, 4), done.stderr[-2000:]
    assert "loaded" in done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "words",
    [
        ("strategies", "./speaks.py"),
        ("config", "show", "speaks.yaml"),
        ("config", "diff", "speaks.yaml", "other.yaml"),
        ("explain", "speaks.yaml", "--rung", "AURELIA-VAL-26Q4-200B"),
        ("report", "state/speaks", "--quiet"),
        ("simulate", "--strategy", "./speaks.py", "--seed", "0", "--until", "1s", "--quiet"),
        ("record", "speaks.yaml", "--for", "1s"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_what_a_strategy_prints_goes_to_stderr_and_not_into_the_answer(words, folder):
    if "--rung" in words:
        rung = next(each["ticker"] for each in rungs(folder))
        words = (*words[:-1], rung)
    assert said(folder, *words) is not None


def rungs(folder):
    """The rungs that the run traded, as `bot export` tells them."""
    done = subprocess.run(
        [sys.executable, "-m", "bot", "export", "state/speaks", "--csv", "tables"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    head, *rows = (folder / "tables/rungs.csv").read_text().splitlines()
    return [dict(zip(head.split(","), row.split(","), strict=False)) for row in rows]
