"""Claims about a run of a strategy that prints: stdout has the answer alone, no pauses for GC."""

import json

import pytest

from tests.builders.io.commands import demo_with_strategy, finished, invoke
from tests.builders.speaks import SPEAKS

pytestmark = pytest.mark.xdist_group("speaks")
CODE = SPEAKS.replace(
    '        print("asked")\n',
    '        print("asked")\n'
    '        print("frozen:", gc.get_freeze_count(), "not:", len(gc.get_objects()))\n',
).replace("\nfrom", "\nimport gc\nfrom", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A configuration whose strategy prints, the journal of a short run of it, and its stderr."""
    folder = tmp_path_factory.mktemp("speaks")
    for name, port in (("speaks", 8090), ("other", 8099)):
        demo_with_strategy(folder, CODE, name, ("port: 8090", f"port: {port}"))
    words = ("run", "speaks.yaml", "--for", "2s", "--status-port", "0", "--json")
    done = finished("bot", *words, cwd=folder)
    assert done.returncode == 0, done.stderr[-2000:]
    (folder / "run.err").write_text(done.stderr)
    finished("bot", "export", "state/speaks", "--csv", "tables", cwd=folder).check_returncode()
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("strategies", "./speaks.py"),
        ("config", "show", "speaks.yaml"),
        ("config", "diff", "speaks.yaml", "other.yaml"),
        ("explain", "speaks.yaml", "--rung", "AURELIA-VAL-26Q4-200B"),
        ("report", "state/speaks", "--quiet"),
        ("simulate", "--strategy", "./mine.py", "--seed", "0", "--until", "1s", "--quiet"),
        ("record", "speaks.yaml", "--for", "1s"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_the_prints_of_a_strategy_go_to_stderr_and_not_into_the_answer(words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("bot.config.plugins._FROM_FILES", {})  # so that each command loads it
    words = [each.replace("speaks.py", "mine.py") for each in words]
    if "--rung" in words:
        head, first = (folder / "tables/rungs.csv").read_text().splitlines()[:2]
        words[-1] = dict(zip(head.split(","), first.split(","), strict=False))["ticker"]
    done = invoke(*words, "--json")
    assert done.exit_code in (0, 4), done.stderr[-2000:]
    assert "loaded" in done.stderr
    assert json.loads(done.stdout) is not None


def test_the_garbage_collector_walks_over_nothing_that_was_loaded_before_the_run(folder):
    lines = (folder / "run.err").read_text().splitlines()
    line = next(line for line in lines if line.startswith("frozen: "))
    frozen, walked = (int(word) for word in line.split() if word.isdigit())
    assert frozen > 2 * walked
