"""Claims about `bot run` with several configurations: one process, one account, one page."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.builders.e2e.runs import (
    BOT,
    CONFIG,
    ROOT,
    Venue,
    running_venue,
    start_bot,
    summary_once_two_sided,
)


def config(venue: Venue, folder: Path, name: str, series: str, **changes: str) -> Path:
    """A configuration of its own state directory. changes: texts to put in place of others."""
    key_file = folder / "maker.key"
    if not key_file.exists():
        key_file.write_text(venue.keys["maker"])
        key_file.chmod(0o400)
    text = CONFIG.format(base_url=venue.base_url, key_file=key_file, state=folder / name)
    text = text.replace("series: AURELIA-VAL", f"series: {series}")
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def test_two_series_are_quoted_balanced_and_taken_away_by_one_process(tmp_path):
    with running_venue(tmp_path, seed=3) as venue:
        first = config(venue, tmp_path, "aurelia", "AURELIA-VAL")
        second = config(venue, tmp_path, "quillon", "QUILLON-VAL")
        bot = start_bot("run", str(first), str(second), "--json", folder=tmp_path)
        summary = summary_once_two_sided(bot, tmp_path, times=2)
        assert bot.returncode == 0, (tmp_path / "bot.err").read_text()[-2000:]
        assert set(summary["series"]) == {"AURELIA-VAL", "QUILLON-VAL"}
        for each in summary["series"].values():
            assert each["first_two_sided_s"] is not None
            assert each["ledger_difference_cents"] == 0
            assert each["findings"] == []
            assert each["resting_after"] == each["unknown_open"] == each["rate_limited"] == 0
        earned = sum(each["pnl_cents"] for each in summary["series"].values())
        assert isinstance(earned, int)
        assert venue.orders("resting") == []
        assert (tmp_path / "aurelia").is_dir()
        assert (tmp_path / "quillon").is_dir()


@pytest.mark.parametrize(
    ("series", "changes", "said"),
    [
        ("AURELIA-VAL", {}, "series: AURELIA-VAL"),
        ("QUILLON-VAL", {"127.0.0.1": "127.0.0.2"}, "not the venue and the key"),
        ("QUILLON-VAL", {"maker.key": "other.key"}, "not the venue and the key"),
    ],
)
def test_what_cannot_go_together_is_refused_before_anything_begins(tmp_path, series, changes, said):
    venue = Venue("http://127.0.0.1:9/v1", {"maker": "k" * 40})
    (tmp_path / "other.key").write_text("o" * 40)
    (tmp_path / "other.key").chmod(0o400)
    first = config(venue, tmp_path, "first", "AURELIA-VAL")
    second = config(venue, tmp_path, "second", series, **changes)
    run = subprocess.run(
        [*BOT, "run", str(first), str(second), "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 2, run.stderr
    assert said in run.stderr
    assert not json.loads(run.stdout or "null")
