"""Claims about what is given away: its licence, its names, its wheel and its source archive."""

import hashlib
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.builders.deploy.container import OURS, compose, stages
from tests.builders.house.tree import ROOT

APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
"""SHA-256 of the licence's text, as its owner publishes it."""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAMED = f"{PROJECT['name']}-{PROJECT['version']}"


def built(source: Path, to: Path, *targets: str) -> None:
    words = [f"--target={target}" for target in targets]
    command = [sys.executable, "-m", "hatchling", "build", f"--directory={to}", *words]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """The folder that `make dist` fills."""
    to = tmp_path_factory.mktemp("dist")
    built(ROOT, to, "wheel", "sdist")
    return to


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_the_licence_is_the_text_of_apache_2_and_the_metadata_names_it():
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2
    assert PROJECT["license"] == "Apache-2.0"


def test_image_and_compose_have_the_name_and_version_of_the_package():
    labels = dict(word.split("=", 1) for word in stages()[-1].last("LABEL").words())
    assert {name.rpartition(".")[2]: value for name, value in labels.items()} == {
        "title": PROJECT["name"],
        "version": PROJECT["version"],
        "licenses": PROJECT["license"],
    }
    assert compose()["name"] == PROJECT["name"]
    images = {compose()["services"][name]["image"] for name in OURS}
    assert images == {f"{PROJECT['name']}:{PROJECT['version']}"}


def test_the_wheel_has_the_licence_and_what_a_newcomer_begins_with(dist):
    names = contents(dist / f"{NAMED}-py3-none-any.whl")
    assert f"{NAMED}.dist-info/licenses/LICENSE" in names
    for name in ("bot.yaml", "venue.yaml", "around_fair.py", "tape/tape.jsonl.gz"):
        assert f"bot/starter/{name}" in names


def test_the_source_archive_builds_the_same_wheel(dist, tmp_path):
    with tarfile.open(dist / f"{NAMED}.tar.gz") as file:
        file.extractall(tmp_path, filter="data")
    built(tmp_path / NAMED, tmp_path / "again", "wheel")
    wheel = f"{NAMED}-py3-none-any.whl"
    assert contents(tmp_path / "again" / wheel) == contents(dist / wheel)
