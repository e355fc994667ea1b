"""Claims about the dataframes: their columns and types, what they hold, and the example in docs."""

import json
import re
from pathlib import Path

import pytest

from bot.lab import frames
from bot.lab.report.sources import ReportFault
from tests.builders.backtest.made import book, configured, trade, written
from tests.builders.io.commands import invoke, json_of
from tests.builders.report.lived import CONFIG

pytest.importorskip("pandas")
pytestmark = pytest.mark.xdist_group("report")
SAID = [name for name in frames.COLUMNS if name != "diagnostics"]
"""The frames that have rows of any run: its strategy says no numbers."""

PAGE = (Path(__file__).resolve().parents[3] / "docs/lab.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def state(run) -> Path:
    return run[0]


@pytest.mark.parametrize("name", frames.COLUMNS)
def test_a_frame_has_the_documented_columns_and_types(state, name):
    frame = getattr(frames, name)(state)
    assert {key: str(kind) for key, kind in frame.dtypes.items()} == frames.COLUMNS[name]
    assert len(frame) > 10 or name not in SAID


@pytest.mark.parametrize("name", frames.COLUMNS)
def test_the_columns_of_a_frame_are_documented(name):
    row = re.search(rf"^\| `{name}` \| [^|]+ \| (.+) \|$", PAGE, re.MULTILINE)
    assert row is not None
    assert re.findall(r"`(\w+)`", row[1]) == list(frames.COLUMNS[name])


def test_the_documented_example_gives_the_mean_of_pnl(state, tmp_path):
    (example,) = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    found: dict[str, object] = {}
    exec(example.replace('"state/demo"', repr(str(state))), found)
    config = tmp_path / "bot.yaml"
    config.write_text(CONFIG)
    pnl = json_of("pnl", config, "--state-dir", state)
    (row,) = [
        each
        for each in pnl["profit"]["total"]["markouts"]
        if (each["against"], each["horizon_s"]) == ("fair", 10)
    ]
    assert found["mean_cents"] == pytest.approx(row["mean_cents"], abs=0.001)
    assert found["shares"].sum() == pnl["profit"]["total"]["qty"]
    assert len(found["film"]) > 3


@pytest.mark.parametrize("name", SAID)
def test_a_frame_of_a_damaged_journal_warns_that_it_ends_there(state, tmp_path, name):
    (journal,) = state.glob("journal-*.log")
    content = bytearray(journal.read_bytes())
    early = len(content) // 10
    content[early : early + 64] = bytes(64)
    (tmp_path / journal.name).write_bytes(content)
    with pytest.warns(frames.CutShortWarning, match=r"damaged at byte \d+; the frame ends there"):
        short = getattr(frames, name)(tmp_path)
    assert len(short) < len(getattr(frames, name)(state))


def test_a_frame_of_a_whole_run_comes_without_a_warning(state, recwarn):
    for name in frames.COLUMNS:
        getattr(frames, name)(state)
    assert not [each for each in recwarn if issubclass(each.category, frames.CutShortWarning)]


@pytest.mark.parametrize("every_s", [float("nan"), float("inf"), -1.0])
def test_an_invalid_sampling_interval_is_refused(state, every_s):
    for frame in (frames.quotes, frames.curve):
        with pytest.raises(ReportFault, match="every_s"):
            frame(state, every_s=every_s)


def test_the_frame_of_a_backtest_has_its_queue_models(tmp_path):
    records = [book(second / 2, [[40, 30]], [[60, 50]]) for second in range(20)]
    tape = written(tmp_path / "tape", [*records, trade(11, 38, 50, "no")])
    result = tmp_path / "result.json"
    config = configured(tmp_path, "fixed_spread")
    done = invoke("backtest", "--data", tape, "--config", config, "--save", result)
    assert done.exit_code == 0, done.output
    bounds = {each["bound"] for each in json.loads(result.read_text())["sessions"]}
    assert set(frames.quotes(result)["bound"]) == bounds
