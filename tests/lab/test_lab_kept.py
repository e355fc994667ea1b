"""Claims about files of what was lived: what is not as it was written counts for nothing."""

from pathlib import Path

from bot.lab.evaluate.life import RunMetrics
from bot.lab.evaluate.results import Kept, Lines

NOTHING = RunMetrics()


def put(path: Path, *keys: str) -> bytes:
    lines = Lines(path, Kept)
    for key in keys:
        lines.put(Kept(key, NOTHING))
    return path.read_bytes()


def test_what_was_kept_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "lives.jsonl"
    put(path, "a", "b")
    again = Lines(path, Kept)
    assert again.kept == {"a": Kept("a", NOTHING), "b": Kept("b", NOTHING)}
    assert (again.damaged, again.damage) == ([], "")


def test_whatever_sign_of_a_line_is_another_one_nothing_else_than_was_kept_is_believed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lives.jsonl"
    whole = put(path, "a", "b")
    begins = whole.index(b"\n") + 1
    for place in range(begins, len(whole) - 1):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        again = Lines(path, Kept)
        assert again.kept.pop("a") == Kept("a", NOTHING)
        assert again.kept in ({}, {"b": Kept("b", NOTHING)})
        assert again.kept or again.damaged[:1] == [2]


def test_a_number_that_became_another_one_is_told_by_its_line_and_not_believed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lives.jsonl"
    path.write_bytes(put(path, "a", "b", "c").replace(b'"net":0', b'"net":9', 2))
    again = Lines(path, Kept)
    assert list(again.kept) == ["c"]
    assert again.damage == "line 1, and 1 more: damaged, and taken for nothing"


def test_a_last_line_that_was_torn_off_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "lives.jsonl"
    path.write_bytes(put(path, "a", "b")[:-5])
    again = Lines(path, Kept)
    assert (list(again.kept), again.damage) == (["a"], "")
