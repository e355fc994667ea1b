"""Claims about a SIGTERM to process 1 of a container, which the system does not end by it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders.house.tree import ROOT

ALONE = ["unshare", "--pid", "--fork", "--kill-child"]
if os.geteuid():
    ALONE[1:1] = ["--user", "--map-root-user"]


def has_pid_namespaces() -> bool:
    try:
        return not subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode
    except FileNotFoundError:
        return False


pytestmark = pytest.mark.skipif(
    not has_pid_namespaces(), reason="no name space of its own to be had"
)


@contextmanager
def process_one(*words: str) -> "Iterator[tuple[subprocess.Popen[str], int]]":
    """A program as process 1 of a name space of its own: who started it, and its own number."""
    command = [*ALONE, sys.executable, "-m", *words]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        try:
            children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
            until_s = time.monotonic() + 5
            while not (found := children.read_text().split()) and time.monotonic() < until_s:
                time.sleep(0.01)
            yield parent, int(found[0])
        finally:
            parent.kill()


def exit_code_after_sigterm(parent: "subprocess.Popen[str]", number: int) -> int:
    """The exit code after a SIGTERM every few milliseconds, from the first that is heard on."""
    until_s = time.monotonic() + 30
    while parent.poll() is None and time.monotonic() < until_s:
        try:
            os.kill(number, signal.SIGTERM)
        except ProcessLookupError:
            break
        time.sleep(0.02)
    return parent.wait(10)


@pytest.mark.parametrize(
    "words",
    [
        ("bot", "run", "configs/demo.yaml", "--for", "2s", "--status-port", "0", "--state-dir"),
        ("venue", "serve", "--port", "0", "--no-crowd", "--keys-file"),
    ],
    ids=lambda words: words[0],
)
def test_sigterm_ends_process_1_while_it_loads(tmp_path, words):
    with process_one(*words, str(tmp_path / "own")) as (parent, number):
        assert exit_code_after_sigterm(parent, number) == 143


def test_sigterm_ends_process_1_before_the_venue_has_answered(tmp_path):
    config = tmp_path / "away.yaml"
    away = "venue:\n  base_url: http://127.0.0.1:9/v1\n  key_file: key\n"
    demo = (ROOT / "configs/demo.yaml").read_text()
    config.write_text(demo.replace("venue:\n  embedded: venue.yaml", away))
    (tmp_path / "key").write_text("a-key\n")
    (tmp_path / "key").chmod(0o600)
    words = ("bot", "run", str(config), "--status-port", "0", "--state-dir", str(tmp_path / "own"))
    with process_one(*words) as (parent, number):
        assert parent.stdout is not None
        assert parent.stdout.readline().startswith("status page: ")
        os.kill(number, signal.SIGTERM)
        assert parent.wait(10) == 143
