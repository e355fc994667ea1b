"""Claims about where a key comes from: a file, a file of keys by name, the environment."""

import json
import os
from pathlib import Path

import pytest

from bot.io.secret import SecretFault, from_environment, from_file, is_open_to_others


def key_file(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    path = folder / "maker.key"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_key_is_read_from_a_file_of_its_own_or_by_name_from_a_file_of_keys(tmp_path):
    assert from_file(key_file(tmp_path, b"lm_abc\n")).reveal() == "lm_abc"
    keys = {f"holder-{number}": f"{number:046d}" for number in range(1_000)}
    path = key_file(tmp_path, json.dumps(keys, indent=1).encode())
    assert from_file(path, "holder-999").reveal() == keys["holder-999"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"lm_abc lm_def", "one word"),
        (b"lm_\xff", "one word"),
        (b"lm_a\r\nX-Evil: 1", "one word"),
        (b"x" * 5_000, "too long"),
    ],
)
def test_a_key_file_without_a_single_word_is_refused_and_not_echoed(tmp_path, content, said):
    with pytest.raises(SecretFault, match=said) as caught:
        from_file(key_file(tmp_path, content))
    assert "lm_" not in str(caught.value)


@pytest.mark.parametrize(("mode", "open_"), [(0o600, False), (0o640, True), (0o604, True)])
def test_a_key_file_that_others_may_read_is_detected(tmp_path, mode, open_):
    assert is_open_to_others(key_file(tmp_path, b"lm_abc", mode)) is open_


@pytest.mark.parametrize(
    "content",
    [b"lm_abc", b"[]", b'{"reader": "lm_def"}', b'{"maker": ' + b"[" * 100_000],
    ids=["plain", "list", "other", "deep"],
)
def test_a_file_without_the_named_key_is_refused_and_not_echoed(tmp_path, content):
    with pytest.raises(SecretFault, match="named 'maker'") as caught:
        from_file(key_file(tmp_path, content), "maker")
    assert "lm_" not in str(caught.value)


def test_a_missing_file_of_keys_is_said_to_be_written_by_venue_serve(tmp_path):
    with pytest.raises(SecretFault, match="there is no such file; `venue serve` writes one"):
        from_file(tmp_path / "venue-keys.json", "maker")
    with pytest.raises(SecretFault, match=r"there is no such file$"):
        from_file(tmp_path / "key")


def test_a_key_is_removed_from_the_environment_when_it_is_read(monkeypatch):
    monkeypatch.setenv("MAKER_KEY", "lm_abc")
    assert from_environment("MAKER_KEY").reveal() == "lm_abc"
    assert "MAKER_KEY" not in os.environ


def test_a_key_from_the_environment_can_be_read_again_and_be_renewed(monkeypatch):
    monkeypatch.setenv("SHARED_KEY", "lm_abc")
    assert [from_environment("SHARED_KEY").reveal() for _ in range(2)] == ["lm_abc"] * 2
    monkeypatch.setenv("SHARED_KEY", "lm_def")
    assert from_environment("SHARED_KEY").reveal() == "lm_def"
    with pytest.raises(SecretFault, match="not set"):
        from_environment("NEVER_SET_KEY")
