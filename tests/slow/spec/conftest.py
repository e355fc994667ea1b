"""A real venue process, once per session, and the bench on which it is judged."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.spec.site import Site
from venue.conformance.bench import Bench
from venue.conformance.operator import Operator

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A venue without a crowd, its control API on a unix socket. It ends with its stdin."""
    folder = tmp_path_factory.mktemp("spec")
    folder.chmod(0o700)
    control, token_file = f"unix:{folder / 'control'}", folder / "token"
    command = [sys.executable, "-m", "venue", "serve", "--config", str(HERE / "venue.yaml")]
    command += ["--port", "0", "--keys-file", str(folder / "keys.json"), "--no-crowd", "--json"]
    command += ["--control", control, "--control-token-file", str(token_file)]
    process = subprocess.Popen(
        [*command, "--exit-with-stdin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, "the venue did not become ready; its last words are on stderr"
        yield Site(json.loads(line), control, token_file)
    finally:
        process.stdin.close()
        ended = process.wait(timeout=20)
        process.stdout.close()
    assert ended == 0


@pytest.fixture(scope="session")
def bench(site: Site) -> Iterator[Bench]:
    """The world in which the session's checks run."""
    operator = Operator(site.control, site.token_file.read_text(encoding="utf-8").strip())
    made = Bench(site.base_url, site.stream_url, operator, [])
    # Made first, so that the directory has them when the patient checks come.
    _ = made.handles
    yield made
    made.close()
