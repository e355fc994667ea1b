"""Claims about `bot config`: what it shows, what it compares, and its exit codes."""

import json
from pathlib import Path

from typer.testing import CliRunner

from bot.cli.main import app
from bot.config.schema import schema

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "configs" / "demo.yaml"


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["config", *arguments])


def edited(folder: Path, old: str, new: str) -> Path:
    path = folder / "demo.yaml"
    assert old in DEMO.read_text()
    path.write_text(DEMO.read_text().replace(old, new, 1))
    return path


def test_every_key_is_shown_with_its_value_its_origin_and_when_it_applies():
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


def test_the_table_for_a_person_can_be_cut_to_what_the_file_says():
    lines = invoke("show", str(DEMO), "--given").stdout.splitlines()
    assert "staleness." not in "".join(lines)
    [line] = [line for line in lines if line.startswith("throttle.decide_ms ")]
    assert line.split() == ["throttle.decide_ms", "50", "line", line.split()[3], "live"]


def test_a_file_with_faults_ends_with_2_and_all_of_them(tmp_path):
    done = invoke("show", str(edited(tmp_path, "order_qty: 100", "order_qty: 0\n  oops: 1")))
    assert done.exit_code == 2
    assert "risk.order_qty: '0'" in done.stderr
    assert "risk.oops: no such key" in done.stderr


def test_the_schema_is_printed():
    assert json.loads(invoke("schema").stdout) == schema()


def test_files_that_differ_in_comments_alone_have_no_difference(tmp_path):
    done = invoke("diff", str(DEMO), str(edited(tmp_path, "series:", "# a word\nseries:")))
    assert (done.exit_code, done.stdout) == (0, "")


def test_a_difference_that_a_running_bot_takes_over_ends_with_0(tmp_path):
    done = invoke("diff", str(DEMO), str(edited(tmp_path, "decide_ms: 50", "decide_ms: 60")))
    assert (done.exit_code, done.stdout) == (0, "throttle.decide_ms: 50 -> 60  (live)\n")


def test_a_difference_that_takes_a_restart_ends_with_4(tmp_path):
    done = invoke("diff", str(DEMO), str(edited(tmp_path, "port: 8090", "port: 0")), "--json")
    assert done.exit_code == 4
    told = json.loads(done.stdout)
    assert told["live"] is False
    [change] = told["changes"]
    assert (change["key"], change["old"], change["new"]) == ("status.port", "8090", "0")
