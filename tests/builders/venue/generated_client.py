"""A client in Python as openapi-python-client makes it from the venue's description."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.builders.house.tree import ROOT
from tests.builders.servers import REQUIRED
from venue.rest import openapi

BIN = ROOT / ".venv-client/bin"
PACKAGE = "generated"


def generate(folder: Path) -> str:
    """Make the package `generated` in a folder; what the generator said. Without the generator the
    test is skipped, or fails where all that tests start is required."""
    if not (BIN / "openapi-python-client").exists():
        why = "no openapi-python-client: `make test` installs it in .venv-client"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(why)
        pytest.skip(why)
    description = folder / "openapi.yaml"
    description.write_bytes(openapi.document())
    options = ("--meta", "none", "--path", str(description), "--output-path", str(folder / PACKAGE))
    done = subprocess.run(
        [str(BIN / "openapi-python-client"), "generate", *options],
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout + done.stderr


def use(folder: Path, base_url: str, key: str) -> Any:
    """What the generated client read in a session with a venue."""
    done = subprocess.run(
        [str(BIN / "python"), str(ROOT / "tests/client/use.py"), base_url, key],
        env={**os.environ, "PYTHONPATH": str(folder), "NO_PROXY": "*"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
