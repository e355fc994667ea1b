"""The stages of a Dockerfile carried out in root file systems, from a clean one of Debian
packages.
"""

import configparser
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from deploy.image.context import read_patterns, shown_files
from deploy.image.dockerfile import Stage, Step
from deploy.image.jail import Mount, build_step

ROOT: Final = Path(__file__).resolve().parent.parent.parent
SUITE: Final = "bookworm"
PACKAGES: Final = "python3,python3-venv,ca-certificates"
_LENT: Final = ("http_proxy", "https_proxy", "no_proxy")
"""Variables that a builder gives to every step, apart from pip's."""


class Trouble(Exception):
    """Something is not as the image promises; the text says what."""


def make_base(base: Path) -> None:
    """A minimal Debian with its interpreter, from wherever this host has its packages.

    Raises Trouble when it cannot be had.
    """
    command = [
        "apt-get",
        "indextargets",
        "--format",
        "$(CODENAME) $(REPO_URI)",
        "Created-By: Packages",
    ]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    mirrors = [uri for suite, _, uri in (row.partition(" ") for row in rows) if suite == SUITE]
    if not mirrors:
        raise Trouble(f"this host's apt knows no archive with {SUITE}")
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(base), mirrors[0]],
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if made.returncode != 0:
        raise Trouble(f"debootstrap ended with {made.returncode}")
    (base / "usr/local/bin/python").symlink_to("/usr/bin/python3")


def build(stage: Stage, root: Path, roots: dict[str, Path], variables: dict[str, str]) -> None:
    """Carry out what a stage says. root: what it begins with. roots: the stages before it, by name.

    Raises Trouble at the first step that fails, with what it wrote.
    """
    folder = "/"
    for step in stage.steps:
        if step.name == "WORKDIR":
            folder = step.text
            (root / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif step.name == "COPY":
            _copy(step, root, folder, roots)
        elif step.name == "RUN":
            with tempfile.TemporaryDirectory(prefix="laddermaker-secret-") as lent:
                code, said = build_step(
                    root,
                    step.text,
                    folder=folder,
                    environment=variables | _lent_variables(),
                    mounts=_secrets(step, Path(lent)),
                )
            if code != 0:
                raise Trouble(f"Dockerfile, line {step.line}: RUN ended with {code}:\n{said}")


def _copy(step: Step, root: Path, folder: str, roots: dict[str, Path]) -> None:
    """Files land in the destination, of a folder its content: what a builder does."""
    *sources, destination = step.words()
    to = (
        root
        / os.path.normpath(f"{folder}/{destination}" if destination[0] != "/" else destination)[1:]
    )
    origin = step.flag("from")
    if origin is not None:
        for source in sources:
            to.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", f"{roots[origin]}{source}", str(to)], check=True)
        return
    patterns = read_patterns(ROOT / ".dockerignore")
    for source in sources:
        files = shown_files(ROOT, patterns, source)
        if not files:
            raise Trouble(f"Dockerfile, line {step.line}: the builder is not shown {source}")
        for path in files:
            inside = path.relative_to(source) if (ROOT / source).is_dir() else Path(path.name)
            (to / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, to / inside)


def _secrets(step: Step, lent: Path) -> tuple[Mount, ...]:
    """The mounts of a RUN: the one secret there is, how this host's pip finds its packages."""
    mounts: list[Mount] = []
    for _, value in step.flags:
        fields = dict(part.partition("=")[::2] for part in value.split(","))
        if fields.get("type") != "secret" or fields.get("id") != "pip":
            raise Trouble(f"Dockerfile, line {step.line}: a mount that is not the secret pip")
        file = lent / "pip.conf"
        with file.open("w", encoding="utf-8") as out:
            _pip_configuration().write(out)
        mounts.append(Mount(file, fields["target"]))
    return tuple(mounts)


def _pip_configuration() -> configparser.RawConfigParser:
    """The host's and the user's configuration of pip as one, the user's going before."""
    merged = configparser.RawConfigParser()
    home = Path.home()
    merged.read(["/etc/pip.conf", home / ".pip/pip.conf", home / ".config/pip/pip.conf"])
    return merged


def _lent_variables() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name.lower() in _LENT or (name.startswith("PIP_") and name != "PIP_CONFIG_FILE")
    }
