"""Claims about whole runs with real processes: a recorded tape, and starts that cannot trade."""

import os
from pathlib import Path

import pytest

from tests.builders.e2e.runs import (
    ROOT,
    assert_clean,
    config_for,
    running_venue,
    start_bot,
    summary_once_two_sided,
)
from tests.builders.io.commands import demo_copy, finished

DATA = Path(os.environ.get("LADDERMAKER_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.parametrize("tape", ["kxinxu-2026-01", "inxd-23apr10"])
def test_the_demo_follows_a_recorded_tape(tmp_path, tape):
    if not (DATA / tape).is_dir():
        pytest.skip(f"no recorded tapes at {DATA}: set LADDERMAKER_DATA")
    # A jump of the tape is news, and may pull all quotes for as long as the run lasts.
    config = demo_copy(tmp_path, ("  print_qty: 0", "  jump_cents: 0\n  print_qty: 0"))
    words = ("run", config, "--tape", DATA / tape, "--json", "--status-port", "0", "--state-dir")
    process = start_bot(*map(str, words), str(tmp_path / "state"), folder=tmp_path)
    summary = summary_once_two_sided(process, tmp_path)
    assert process.returncode == 0, (tmp_path / "bot.err").read_text()[-2000:]
    assert_clean(summary)
    assert summary["requests"]["create"] > 0
    assert summary["first_two_sided_s"] is not None


def test_a_run_that_cannot_trade_ends_with_3_and_says_what_to_do(tmp_path):
    def run_says(advice: str) -> None:
        done = finished("bot", "run", config, "--for", "5s", "--json")
        assert done.returncode == 3, done.stderr
        assert advice in done.stderr

    with running_venue(tmp_path, seed=22) as venue:
        config = config_for(venue, tmp_path)
        key_file = tmp_path / "maker.key"
        key_file.chmod(0o600)
        for key, advice in (
            (venue.keys["reader"], "give the key the scope trade"),
            (venue.keys["trader"], "give the key the scope read"),
            ("nobody-knows-this", "make a new one"),
        ):
            key_file.write_text(key)
            run_says(advice)
        key_file.write_text(venue.keys["maker"])
        config.write_text(config.read_text().replace("AURELIA-VAL", "NOWHERE-VAL"))
        run_says("NOWHERE-VAL has no rungs there")
    run_says("see whether the venue runs")
