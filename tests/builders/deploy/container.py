"""The container's files as the tests read them: Dockerfile, compose, manifests, command lines."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from bot.cli.main import app as bot_app
from deploy.image.dockerfile import Stage, read
from tests.builders.house.tree import ROOT
from venue.cli.main import app as venue_app

DEPLOY = ROOT / "deploy"
BASE = DEPLOY / "kubernetes/base"
SERIES = DEPLOY / "kubernetes/series/aurelia-val"
OURS = ("venue", "bot", "reaper")
Manifest = dict[str, Any]


def tool(name: str) -> str:
    """A program of the development dependencies; without it the test is skipped."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (make setup)")
    return found


def stages() -> tuple[Stage, ...]:
    return read(ROOT / "Dockerfile")


def compose() -> dict[str, Any]:
    """The compose file, its anchors and merges put in."""
    content: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return content


def manifests() -> list[Manifest]:
    names = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
    return [
        each
        for name in names
        for each in yaml.safe_load_all((BASE / name).read_text())
        if each is not None
    ]


def of_kind(kind: str) -> dict[str, Manifest]:
    return {each["metadata"]["name"]: each for each in manifests() if each["kind"] == kind}


def pod(deployment: Manifest) -> dict[str, Any]:
    spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return spec


def seconds(text: str) -> int:
    assert text.endswith("s")
    return int(text[:-1])


def understood(program: str, words: list[str]) -> dict[str, Any]:
    """What a program of ours makes of a command line; raises for a wrong one."""
    group: Any = typer.main.get_command({"bot": bot_app, "venue": venue_app}[program])
    name, *rest = words
    return dict(group.commands[name].make_context(name, rest).params)
