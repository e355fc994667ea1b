"""Real programs that tests start: where each is, or why a test that needs it is skipped."""

import os
import shutil
from pathlib import Path
from typing import Final, NoReturn

import pytest

PACKAGES: Final = {
    "amtool": "prometheus-alertmanager",
    "chromedriver": "chromium-driver",
    "chromium": "chromium",
    "initdb": "postgresql",
    "postgres": "postgresql",
    "prometheus": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "promtool": "prometheus",
}
"""The Debian package that each program comes in."""

REQUIRED: Final = "LADDERMAKER_SERVERS"
"""Set to `required`, a missing program fails the test: `make test SERVERS=yes` installs them."""


def need(program: str) -> str:
    """The program's path. Without it the test is skipped, or fails where they are required."""
    for folder in (None, *_besides(program)):
        found = shutil.which(program, path=folder)
        if found is not None:
            return found
    missing(
        f"{program} is not installed (Debian package {PACKAGES[program]}; make test SERVERS=yes)"
    )


def missing(why: str) -> NoReturn:
    """Skip the test, or fail it where everything that tests start is required."""
    if os.environ.get(REQUIRED) == "required":
        pytest.fail(why)
    pytest.skip(why)


def _besides(program: str) -> list[str]:
    """Debian keeps PostgreSQL's programs off the path, one folder per version."""
    if PACKAGES[program] != "postgresql":
        return []
    return [str(each) for each in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
