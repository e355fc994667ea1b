"""Claims about directories of ours: each level is durable, whoever was killed making one before."""

import os

import pytest

from venue.storage.folder import make_directory


@pytest.mark.parametrize("made", [0, 1, 2, 3])
def test_every_level_is_durable_though_a_maker_before_was_killed_right_behind_one(
    tmp_path, monkeypatch, made
):
    levels = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"]
    synced = set()
    is_killed = made > 0

    def fsync(handle):
        if is_killed and levels[made - 1].exists():
            raise KeyboardInterrupt
        synced.add(os.readlink(f"/proc/self/fd/{handle}"))

    monkeypatch.setattr(os, "fsync", fsync)
    if made:
        with pytest.raises(KeyboardInterrupt):
            make_directory(levels[-1])
        assert [level.exists() for level in levels] == [place < made for place in range(3)]
    is_killed = False
    make_directory(levels[-1])
    assert levels[-1].is_dir()
    assert {str(level.parent) for level in levels} <= synced
