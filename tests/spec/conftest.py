"""A real venue process on loopback, once per session, and the callers that judge it."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spec.api import Caller, Listener

HERE = Path(__file__).parent
SCRATCH_RUNGS = 400


class Site:
    """Where a venue answers and the keys to it."""

    def __init__(self, base_url: str, stream_url: str, keys: dict[str, str]) -> None:
        self.base_url = base_url
        self.stream_url = stream_url
        self.keys = keys


def start_site(config: Path, folder: Path) -> tuple[subprocess.Popen[str], Site]:
    """A venue process without a crowd, and where it answers. It ends when its stdin is closed."""
    command = [sys.executable, "-m", "venue", "serve", "--config", str(config), "--port", "0"]
    command += ["--keys-file", str(folder / "keys.json"), "--no-crowd", "--json"]
    process = subprocess.Popen(
        [*command, "--exit-with-stdin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        stop_site(process, code=None)
        raise AssertionError("the venue did not become ready; its last words are on stderr")
    ready = json.loads(line)
    assert ready["ready"] is True
    keys = json.loads(Path(ready["keys_file"]).read_text())
    return process, Site(ready["base_url"], ready["stream_url"], keys)


def stop_site(process: subprocess.Popen[str], code: int | None = 0) -> None:
    """End the venue by closing its stdin; it must end with `code`, None being any."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    ended = process.wait(timeout=10)
    process.stdout.close()
    assert code is None or ended == code


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The venue that the whole session judges."""
    folder = tmp_path_factory.mktemp("spec")
    rungs = ", ".join(f"{{label: {n}B, strike_value: {n}}}" for n in range(1, SCRATCH_RUNGS + 1))
    config = folder / "venue.yaml"
    template = (HERE / "venue.yaml").read_text(encoding="utf-8")
    config.write_text(template.replace("SCRATCH_RUNGS", f"[{rungs}]"), encoding="utf-8")
    process, site = start_site(config, folder)
    yield site
    stop_site(process)


@pytest.fixture(scope="session")
def caller(site: Site) -> Iterator[Callable[[str], Caller]]:
    """The caller with the key of a name; one per name."""
    made: dict[str, Caller] = {}

    def by_name(name: str) -> Caller:
        if name not in made:
            made[name] = Caller(site.base_url, {"X-API-KEY": site.keys[name]})
        return made[name]

    yield by_name
    for each in made.values():
        each.close()


@pytest.fixture(scope="session")
def anna(caller: Callable[[str], Caller]) -> Caller:
    """A user with all scopes."""
    return caller("anna")


@pytest.fixture(scope="session")
def bruno(caller: Callable[[str], Caller]) -> Caller:
    """Another user with all scopes."""
    return caller("bruno")


@pytest.fixture(scope="session")
def clara(caller: Callable[[str], Caller]) -> Caller:
    """A third user with all scopes."""
    return caller("clara")


@pytest.fixture(scope="session")
def ladder(anna: Caller) -> dict[str, Any]:
    """An open event whose markets the tests look at and do not trade on."""
    event: dict[str, Any] = anna.get("/events/LINDEN-VAL")["events"][0]
    return event


@pytest.fixture(scope="session")
def _unused(anna: Caller) -> Iterator[dict[str, Any]]:
    return iter(anna.get("/events/SCRATCH-VAL")["events"][0]["markets"])


@pytest.fixture
def market(_unused: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """A market that nobody has traded on yet."""
    return next(_unused)


@pytest.fixture
def markets(_unused: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Three such markets."""
    return list(itertools.islice(_unused, 3))


@pytest.fixture
def listener(site: Site) -> Iterator[Listener]:
    """A fresh connection to the channel."""
    made = Listener(site.stream_url)
    yield made
    made.close()
