"""A new error code, metric, key, alert and command each have one home, and the pages follow.

Each is added to a copy of the project as docs/architecture.md, Where a new line belongs, says. The
tests that compare tables with pages then pass there: no other file has to change.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders.house import tree

pytestmark = pytest.mark.xdist_group("new_line")

COMPARED = (
    "tests/slow/config/test_config_pages.py",
    "tests/live/deploy/test_deploy_prometheus.py",
    "tests/slow/house/test_house_citations.py",
    "tests/slow/house/test_house_operations.py",
    "tests/slow/house/test_house_pages.py",
    "tests/slow/spec/test_spec_page.py",
    "tests/slow/venue/test_http_openapi.py",
    "tests/fast/wire/test_wire_errors.py",
)

METRIC = """    gauge("tea", "Cups of tea left.", lambda r: 1.0),
"""
KEY = """    tea_cups: int = key(_THROTTLE.tea_cups, "cups of tea for each decision", ge=0)
"""
FIELD = """    tea_cups: int = 1
    \"\"\"Cups of tea for each decision.\"\"\"
"""
RUNBOOK_PATH = "docs/runbooks/" + "TeaOut.md"  # in two parts: the page is not in this tree
ALERT = """      - alert: TeaOut
        expr: >-
          laddermaker_tea == 0
        for: 1m
        labels: {severity: ticket}
        annotations:
          summary: "{{ $labels.series }} has no tea"
          description: >-
            No cup is left.
          runbook_url: "{{ $externalLabels.runbooks }}/TeaOut.md"

"""
ALERT_TEST = """  - name: TeaOut
    interval: 15s
    external_labels: {runbooks: 'https://runbooks.example/laddermaker'}
    input_series:
      - series: 'laddermaker_tea{instance="127.0.0.1:8090",job="bot",series="ACME-VAL"}'
        values: '1x4 0x10'
    alert_rule_test:
      - {eval_time: 60s, alertname: TeaOut, exp_alerts: []}
      - eval_time: 180s
        alertname: TeaOut
        exp_alerts:
          - exp_labels:
              instance: '127.0.0.1:8090'
              job: 'bot'
              series: 'ACME-VAL'
              severity: 'ticket'
            exp_annotations:
              summary: 'ACME-VAL has no tea'
              description: 'No cup is left.'
              runbook_url: 'https://runbooks.example/laddermaker/TeaOut.md'

"""
RUNBOOK = """# TeaOut

No cup of tea is left. Severity `ticket`, after 1m.

## What it means

The last cup is gone.

## What to look at

- `laddermaker_tea` of the series.

## What to do

1. Make some more.
"""
COMMAND = '''"""`bot tea`."""

import typer


def tea() -> None:
    """It says how many cups are left.

    Example: bot tea
    """
    typer.echo("one cup")
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    root = tmp_path_factory.mktemp("new_line") / "project"

    def unwanted(folder, names):
        made = ("state", "dist") if Path(folder) == tree.ROOT else ()
        return [name for name in names if name in (*made, "__pycache__") or name.startswith(".")]

    shutil.copytree(tree.ROOT, root, ignore=unwanted)
    return root


def python(root, *arguments):
    """Python in the copy, whose modules are found before the installed ones."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def put(file, line, *, before):
    """Add a line in front of the first place where a text begins."""
    text = file.read_text()
    assert before in text, f"{file}: no {before!r}"
    file.write_text(text.replace(before, line + before, 1))


def add_code(root):
    errors = root / "venue/wire/errors.py"
    put(errors, '    TEA_IS_OUT = "tea_is_out"\n', before='    INVALID_REQUEST = "')
    put(
        errors,
        "    Code.TEA_IS_OUT: _state(422, Advice.GIVE_UP),\n",
        before="    Code.INVALID_REQUEST: ",
    )
    judged = root / "venue/conformance/codes.txt"
    routes = root / "venue/rest/openapi_operations.py"
    put(routes, "    Code.TEA_IS_OUT,\n", before="    Code.INVALID_QTY,")
    put(judged, "422 tea_is_out decided unprovoked\n", before="422 invalid_request ")


def add_metric_and_alert(root):
    put(root / "bot/io/metrics/table.py", METRIC, before='    gauge(\n        "paper",')
    rules = root / "deploy/prometheus/rules"
    put(rules / "alerts.yaml", ALERT, before="      - alert: BotRestarting")
    put(rules / "tests/alerts.yaml", ALERT_TEST, before="  - name: BotRestarting")
    (root / RUNBOOK_PATH).write_text(RUNBOOK)
    row = "| [TeaOut](TeaOut.md) | ticket | No cup of tea is left. |\n"
    put(root / "docs/runbooks/README.md", row, before="| [BudgetStarved]")


def add_key(root):
    put(root / "bot/config/sections.py", KEY, before="    dwell_ms: Milliseconds")
    put(root / "bot/core/settings.py", FIELD, before="    dwell_ns: int")


def add_command(root):
    (root / "bot/cli/tea.py").write_text(COMMAND)
    row = '        Row("tea", "Show how many cups of tea are left."),\n'
    put(root / "bot/cli/main.py", row, before='        Row("version",')
    page = root / "docs/operations.md"
    put(page, "| `tea` | shown | | | |\n", before="| `version`")


ADDED: tuple[Callable[[Path], None], ...] = (add_code, add_metric_and_alert, add_key, add_command)


def test_a_new_code_metric_key_alert_and_command_need_only_their_documented_places(copy):
    for add in ADDED:
        add(copy)
    made = python(copy, "-m", "tests.pages")
    assert made.returncode == 0, made.stderr
    done = python(copy, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *COMPARED)
    assert done.returncode == 0, done.stdout[-4000:]
