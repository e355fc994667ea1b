"""The deployed files as the tests read them: rules, dashboards, and every expression of either."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.builders.house.tree import ROOT

PROMETHEUS = ROOT / "deploy/prometheus"
ALERTMANAGER = ROOT / "deploy/alertmanager/alertmanager.yml"
GRAFANA = ROOT / "deploy/grafana"
RUNBOOKS = ROOT / "docs/runbooks"
RULE_TESTS = PROMETHEUS / "rules/tests"


class Alert(NamedTuple):
    name: str
    expr: str
    labels: dict[str, str]
    annotations: dict[str, str]


class Shown(NamedTuple):
    """One expression of a panel, its variables put in. quiet: whether it may be without data."""

    where: str
    expr: str


def rules(file: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load((PROMETHEUS / "rules" / file).read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> list[Alert]:
    return [
        Alert(rule["alert"], rule["expr"], rule["labels"], rule["annotations"])
        for rule in rules("alerts.yaml")
    ]


def boards() -> dict[str, dict[str, Any]]:
    paths = sorted((GRAFANA / "dashboards").glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def shown() -> Iterator[Shown]:
    """Every expression of every panel, as Grafana would send it."""
    for name, board in boards().items():
        for panel in panels(board):
            for target in panel["targets"]:
                expr = target["expr"].replace("$__rate_interval", "20s").replace("$series", ".+")
                yield Shown(f"{name}: {panel['title']}: {target['legendFormat']}", expr)


def pages() -> dict[str, Path]:
    """The runbook pages by the alert that each is about."""
    return {path.stem: path for path in RUNBOOKS.glob("*.md") if path.stem != "README"}
