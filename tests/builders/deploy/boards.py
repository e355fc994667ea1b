"""The four Grafana dashboards, from one line per panel; run as a module it writes the JSON files.

A panel is a title, a kind, a unit and the expressions it draws. `quiet` ones may be without data in
a run in which nothing of their kind happens: refusals, findings, breakers that trip.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

FOLDER = Path(__file__).parents[3] / "deploy/grafana/dashboards"
SOURCE = {"type": "prometheus", "uid": "prometheus"}
COLUMNS = 24
RATE = "$__rate_interval"
Kind = Literal["timeseries", "stat", "bargauge", "table", "state-timeline"]


class Panel(NamedTuple):
    """One panel. expressions: what is drawn and how each is called. wide: columns of 24."""

    title: str
    unit: str
    expressions: Sequence[tuple[str, str]]
    about: str
    kind: Kind = "timeseries"
    wide: int = 8
    quiet: bool = False


class Board(NamedTuple):
    """One dashboard: rows of panels under their titles. by_series: whether one is chosen."""

    uid: str
    title: str
    about: str
    rows: Sequence[tuple[str, Sequence[Panel]]]
    by_series: bool = True


def json_of(board: Board) -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in board.rows:
        panels.append(_row(len(panels) + 1, title, top))
        top += 1
        left, height = 0, 8
        for panel in row:
            if left + panel.wide > COLUMNS:
                left, top = 0, top + height
            panels.append(_panel(len(panels) + 1, panel, left, top, height))
            left += panel.wide
        top += height
    return {
        "uid": board.uid,
        "title": board.title,
        "description": board.about,
        "tags": ["laddermaker"],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "utc",
        "links": [
            {
                "type": "dashboards",
                "tags": ["laddermaker"],
                "title": "laddermaker",
                "asDropdown": False,
                "includeVars": True,
                "keepTime": True,
            }
        ],
        "annotations": {"list": [_alerts_shown()]},
        "templating": {"list": [_series_chosen()] if board.by_series else []},
        "panels": panels,
    }


def _alerts_shown() -> dict[str, Any]:
    return {
        "name": "Alerts",
        "datasource": SOURCE,
        "enable": True,
        "iconColor": "red",
        "expr": 'ALERTS{alertstate="firing"}',
        "titleFormat": "{{alertname}}",
        "textFormat": "{{series}} {{rung}}",
        "step": "15s",
    }


def _series_chosen() -> dict[str, Any]:
    query = "label_values(laddermaker_build_info, series)"
    return {
        "name": "series",
        "label": "Series",
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": "series"},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".+",
        "current": {"text": "All", "value": "$__all"},
    }


def _row(number: int, title: str, top: int) -> dict[str, Any]:
    place = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
    return {
        "id": number,
        "type": "row",
        "title": title,
        "collapsed": False,
        "gridPos": place,
        "panels": [],
    }


def _panel(number: int, panel: Panel, left: int, top: int, height: int) -> dict[str, Any]:
    instant = panel.kind in ("stat", "bargauge", "table")
    targets = [
        {
            "refId": chr(ord("A") + place),
            "datasource": SOURCE,
            "editorMode": "code",
            "expr": expression,
            "legendFormat": name,
            "instant": instant,
            "range": not instant,
            **({"format": "table"} if panel.kind == "table" else {}),
        }
        for place, (expression, name) in enumerate(panel.expressions)
    ]
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "gridPos": {"x": left, "y": top, "w": panel.wide, "h": height},
        "fieldConfig": {"defaults": {"unit": panel.unit, **_looks(panel)}, "overrides": []},
        "options": _options(panel),
        "targets": targets,
    }


def _looks(panel: Panel) -> dict[str, Any]:
    if panel.kind == "timeseries":
        return {
            "custom": {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 8, "spanNulls": False}
        }
    if panel.unit == "percentunit":
        steps = [{"color": "green", "value": None}, {"color": "orange", "value": 0.8}]
        return {
            "min": 0,
            "max": 1,
            "thresholds": {"mode": "absolute", "steps": [*steps, {"color": "red", "value": 1}]},
        }
    return {}


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "timeseries":
        return {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    if panel.kind in ("stat", "bargauge"):
        calculated = {"calcs": ["lastNotNull"], "fields": "", "values": False}
        return {"reduceOptions": calculated, "orientation": "auto", "textMode": "auto"}
    if panel.kind == "state-timeline":
        return {"showValue": "never", "mergeValues": True, "rowHeight": 0.9}
    return {"showHeader": True}


def text_of(board: Board) -> str:
    return json.dumps(json_of(board), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    from tests.builders.deploy.four_boards import BOARDS

    for each in BOARDS:
        (FOLDER / f"{each.uid}.json").write_text(text_of(each), encoding="utf-8")
