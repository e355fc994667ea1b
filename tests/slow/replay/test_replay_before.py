"""Claims about a demo run of 18 s that was recorded before the packages and fields were renamed."""

import gzip
import json
from pathlib import Path

from typer.testing import CliRunner

from bot.cli.main import app

JOURNAL = Path(__file__).parents[1] / "io/corpus/v7-demo/journal-00000001.log.gz"


def test_a_run_recorded_before_the_renames_replays_without_differences(tmp_path):
    (tmp_path / JOURNAL.stem).write_bytes(gzip.decompress(JOURNAL.read_bytes()))
    done = CliRunner().invoke(app, ["replay", str(tmp_path / JOURNAL.stem), "--no-notes", "--json"])
    assert done.exit_code == 0, done.output
    replayed = json.loads(done.stdout)
    assert replayed["difference"] is None
    assert replayed["ended"]
    assert replayed["effects"] > 200
