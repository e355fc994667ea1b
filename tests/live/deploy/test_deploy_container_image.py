"""Claims about the image: what the Dockerfile promises, what its builder sees, and who reads it."""

import re
import subprocess
import tomllib
from pathlib import PurePosixPath

import pytest

from bot.io.run.runner import DRAIN_NS
from deploy.image.context import is_shown, read_patterns, shown_files
from deploy.image.dockerfile import DockerfileFault, exec_form, read
from tests.builders.deploy.container import stages, tool, understood
from tests.builders.house.tree import ROOT
from venue.wire.instant import NS_PER_SECOND

PATTERNS = read_patterns(ROOT / ".dockerignore")
TEXT = (ROOT / "Dockerfile").read_text()
LAST = stages()[-1]


def test_hadolint_finds_nothing_and_nothing_is_waived():
    done = subprocess.run(
        [tool("hadolint"), "--no-color", "Dockerfile"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "hadolint ignore" not in TEXT


def test_hadolint_would_find_something():
    done = subprocess.run(
        [tool("hadolint"), "-"], input="FROM python\nCMD bot run\n", capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "DL3025" in done.stdout


def test_the_base_is_named_to_its_patch_release_once():
    outside = [stage.base for stage in stages() if stage.base not in {s.name for s in stages()}]
    assert len(outside) == 1
    assert re.fullmatch(r"python:3\.11\.\d+-slim-bookworm", outside[0])


def test_no_address_and_no_secret_stands_in_it():
    assert "http" not in TEXT
    assert re.findall(r"(?i)\b(?:password|token|api_?key)\b\s*=", TEXT) == []


def test_every_installation_is_checked_by_hash_or_finds_nothing_to_fetch():
    installs = [
        line
        for step in (step for stage in stages() for step in stage.steps if step.name == "RUN")
        for line in step.text.split("&&")
        if "pip install" in line or "pip wheel" in line
    ]
    assert len(installs) == 4
    for line in installs:
        assert "--require-hashes" in line or "--no-deps" in line
        assert "--require-hashes" in line or "--no-index" in line or "--no-build-isolation" in line


def test_it_runs_as_a_number_that_is_not_root():
    user = LAST.last("USER")
    assert user is not None
    assert all(int(part) >= 10_000 for part in user.text.split(":"))


def test_process_1_is_the_bot_itself_and_its_command_line_is_understood():
    entrypoint, command = LAST.last("ENTRYPOINT"), LAST.last("CMD")
    assert entrypoint is not None and command is not None
    assert exec_form(entrypoint) == ["bot"]
    told = understood("bot", exec_form(command))
    volume = LAST.last("VOLUME")
    assert volume is not None
    assert str(told["state_dir"]).startswith(f"{volume.text}/")


def test_the_health_check_is_a_program_of_ours():
    check = LAST.last("HEALTHCHECK")
    assert check is not None
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert exec_form(check)[0] in scripts


def test_the_comment_gives_more_than_a_drain_takes():
    said = re.search(r"docker stop --time (\d+)", TEXT)
    assert said is not None
    assert int(said[1]) * NS_PER_SECOND >= DRAIN_NS + 5 * NS_PER_SECOND


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "bot/__pycache__/cli.cpython-311.pyc",
        "bot/io/maker.key",
        "configs/venue-keys.json",
        "deploy/secrets/maker.key",
        "state/venue-keys.json",
        "tests/builders/servers.py",
        ".venv/bin/python",
    ],
)
def test_the_builder_is_not_shown(path):
    assert not is_shown(PATTERNS, PurePosixPath(path))


@pytest.mark.parametrize(
    "path",
    [
        "bot/io/status/status.py",
        "configs/demo.yaml",
        "requirements.lock",
        "deploy/image/build.lock",
    ],
)
def test_the_builder_is_shown(path):
    assert is_shown(PATTERNS, PurePosixPath(path))


def test_whatever_is_copied_is_there_to_be_copied():
    copies = [s for stage in stages() for s in stage.steps if s.name == "COPY" and not s.flags]
    sources = [source for step in copies for source in step.words()[:-1]]
    assert "bot" in sources
    assert [source for source in sources if not shown_files(ROOT, PATTERNS, source)] == []


def test_a_package_is_shown_whole():
    shown = {str(path) for path in shown_files(ROOT, PATTERNS, "bot")}
    there = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "bot").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shown == there


@pytest.mark.parametrize(
    "text",
    [
        "FROM python\nADD a b\n",
        "FROM python\nCOPY --chown=1 a b\n",
        "RUN true\n",
        "FROM python\nRUN true \\\n",
        "FROM a b c d\n",
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(tmp_path, text):
    path = tmp_path / "Dockerfile"
    path.write_text(text)
    with pytest.raises(DockerfileFault, match=r"line \d"):
        read(path)


def test_a_step_is_read_with_its_flags_and_its_joined_lines(tmp_path):
    path = tmp_path / "Dockerfile"
    path.write_text(
        "FROM a AS b\nENV X=1 Y=$X/2\nRUN --mount=type=secret,id=pip one \\\n  && two\n"
    )
    (stage,) = read(path)
    assert (stage.name, stage.base) == ("b", "a")
    assert stage.environment({}) == {"X": "1", "Y": "1/2"}
    assert stage.steps[1].text == "one && two"
    assert stage.steps[1].flag("mount") == "type=secret,id=pip"
