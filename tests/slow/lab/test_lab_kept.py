"""Claims about files of results: a line that cannot be read counts for nothing."""

from pathlib import Path

from bot.lab.evaluate.results import RunStore
from bot.lab.evaluate.run import RunMetrics

NOTHING = RunMetrics()


def put(path: Path, *keys: str) -> bytes:
    store = RunStore(path, RunMetrics)
    for key in keys:
        store.put(key, NOTHING)
    return path.read_bytes()


def test_saved_results_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "lives.jsonl"
    put(path, "a", "b")
    assert RunStore(path, RunMetrics).results == {"a": NOTHING, "b": NOTHING}


def test_truncated_or_unreadable_result_lines_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "lives.jsonl"
    path.write_bytes(put(path, "a", "b", "c").replace(b'{"key":"b"', b'{"key":"\xff"')[:-5])
    assert list(RunStore(path, RunMetrics).results) == ["a"]
    put(path, "d")
    assert list(RunStore(path, RunMetrics).results) == ["a", "d"]
