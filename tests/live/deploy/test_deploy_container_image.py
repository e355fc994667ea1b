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


def test_hadolint_finds_nothing_in_the_dockerfile():
    done = subprocess.run(
        [tool("hadolint"), "--no-color", "Dockerfile"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "hadolint ignore" not in TEXT


def test_the_base_image_is_pinned_once():
    outside = [stage.base for stage in stages() if stage.base not in {s.name for s in stages()}]
    assert len(outside) == 1
    assert re.fullmatch(r"python:3\.11\.\d+-slim-bookworm", outside[0])


def test_the_dockerfile_has_no_address_and_no_secret():
    assert "http" not in TEXT
    assert re.findall(r"(?i)\b(?:password|token|api_?key)\b\s*=", TEXT) == []


def test_every_installation_checks_hashes_or_fetches_nothing():
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


def test_the_container_runs_as_a_numeric_user_that_is_not_root():
    user = LAST.last("USER")
    assert user is not None
    assert all(int(part) >= 10_000 for part in user.text.split(":"))


def test_process_1_is_the_bot_with_a_valid_command():
    entrypoint, command = LAST.last("ENTRYPOINT"), LAST.last("CMD")
    assert entrypoint is not None and command is not None
    assert exec_form(entrypoint) == ["bot"]
    told = understood("bot", exec_form(command))
    volume = LAST.last("VOLUME")
    assert volume is not None
    assert str(told["state_dir"]).startswith(f"{volume.text}/")


def test_the_health_check_of_the_image_is_our_program():
    check = LAST.last("HEALTHCHECK")
    assert check is not None
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert exec_form(check)[0] in scripts


def test_the_documented_stop_timeout_is_longer_than_a_drain():
    said = re.search(r"docker stop --time (\d+)", TEXT)
    assert said is not None
    assert int(said[1]) * NS_PER_SECOND >= DRAIN_NS + 5 * NS_PER_SECOND


IN_CONTEXT = ("bot/io/status/status.py", "configs/demo.yaml", "requirements.lock")
NOT_IN_CONTEXT = (
    *(".git/config", "bot/__pycache__/cli.cpython-311.pyc", "bot/io/maker.key"),
    *("configs/venue-keys.json", "deploy/secrets/maker.key", "state/venue-keys.json"),
    *("tests/builders/servers.py", ".venv/bin/python"),
)


@pytest.mark.parametrize("path", (*IN_CONTEXT, "deploy/image/build.lock", *NOT_IN_CONTEXT))
def test_the_build_context_has_sources_but_no_secrets_state_or_tests(path):
    assert is_shown(PATTERNS, PurePosixPath(path)) is (path not in NOT_IN_CONTEXT)


def test_every_copied_file_is_in_the_build_context():
    copies = [s for stage in stages() for s in stage.steps if s.name == "COPY" and not s.flags]
    sources = [source for step in copies for source in step.words()[:-1]]
    assert "bot" in sources
    assert [source for source in sources if not shown_files(ROOT, PATTERNS, source)] == []


def test_the_build_context_has_the_whole_package():
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
def test_an_unknown_dockerfile_step_is_refused_with_its_line(tmp_path, text):
    path = tmp_path / "Dockerfile"
    path.write_text(text)
    with pytest.raises(DockerfileFault, match=r"line \d"):
        read(path)


def test_a_dockerfile_step_is_read_with_flags_and_joined_lines(tmp_path):
    path = tmp_path / "Dockerfile"
    path.write_text(
        "FROM a AS b\nENV X=1 Y=$X/2\nRUN --mount=type=secret,id=pip one \\\n  && two\n"
    )
    (stage,) = read(path)
    assert (stage.name, stage.base) == ("b", "a")
    assert stage.environment({}) == {"X": "1", "Y": "1/2"}
    assert stage.steps[1].text == "one && two"
    assert stage.steps[1].flag("mount") == "type=secret,id=pip"
