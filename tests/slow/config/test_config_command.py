"""Claims about `bot config`: what it shows, what it compares, and its exit codes."""

import json
from pathlib import Path

import pytest

from bot.config.schema import schema
from tests.builders.io import commands
from tests.builders.io.commands import DEMO, demo_copy


def invoke(*words: object):
    return commands.invoke("config", *words)


def edited(folder: Path, *change: str) -> Path:
    """The demo's file with a text replaced."""
    return demo_copy(folder, change)


def test_config_show_lists_each_key_with_value_origin_and_when_it_applies():
    shown = json.loads(invoke("show", str(DEMO), "--json").stdout)
    rows = {row["key"]: row for row in shown["keys"]}
    assert rows["risk.order_qty"] == {
        "key": "risk.order_qty",
        "value": "100",
        "from": "file",
        "line": 1 + DEMO.read_text().splitlines().index(
            "  order_qty: 100                  # one order"
        ),
        "applies": "live",
    }  # fmt: skip
    assert rows["staleness.book_ms"]["from"] == "default"
    assert rows["staleness.book_ms"]["applies"] == "restart"
    assert rows["strategy.params.q_half_lots"]["value"] == "2.5"
    assert (shown["name"], len(shown["digest"])) == ("demo", 16)


def test_config_show_given_lists_only_the_keys_of_the_file():
    lines = invoke("show", str(DEMO), "--given").stdout.splitlines()
    assert "staleness." not in "".join(lines)
    [line] = [line for line in lines if line.startswith("throttle.decide_ms ")]
    assert line.split() == ["throttle.decide_ms", "50", "line", line.split()[3], "live"]


def test_config_schema_prints_the_schema():
    assert json.loads(invoke("schema").stdout) == schema()


@pytest.mark.parametrize(
    ("old", "new", "code", "shown"),
    [
        ("series:", "# a word\nseries:", 0, ""),
        ("decide_ms: 50", "decide_ms: 60", 0, "throttle.decide_ms: 50 -> 60  (live)\n"),
        ("port: 8090", "port: 0", 4, "status.port: 8090 -> 0  (restart)\n"),
    ],
    ids=["a comment", "a live key", "a key that takes a restart"],
)
def test_a_diff_ends_with_4_if_a_change_takes_a_restart(tmp_path, old, new, code, shown):
    before = demo_copy(tmp_path, name="before")
    done = invoke("diff", before, edited(tmp_path, old, new))
    assert (done.exit_code, done.stdout) == (code, shown)
    changes = json.loads(invoke("diff", before, edited(tmp_path, old, new), "--json").stdout)
    assert changes["live"] is (code == 0)
