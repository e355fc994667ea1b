"""Claims about log lines: text for a person at a terminal, JSON for everything else."""

import io
import json
import logging
import os
import re
import subprocess
import sys

import pytest
import structlog

from bot.io.logs import LogForm, LogTail, SecretRedactor, configure_logs, text_line, time_text
from bot.io.secret import Secret
from tests.builders.e2e.runs import CONFIG
from tests.builders.house.tree import ROOT
from tests.builders.io.commands import demo_copy, finished

LINE = re.compile(r"\d\d:\d\d:\d\d\.\d{3}Z (info|warning|error) +[a-z_]+( |$)")


@pytest.fixture
def terminal():
    """The far end of a terminal, and a stream to it; logging is as before afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    far, near = os.openpty()
    with os.fdopen(far, "rb", buffering=0) as reader, os.fdopen(near, "w") as stream:
        yield reader, stream
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def logged(terminal, form: LogForm = LogForm.AUTO, tail: LogTail | None = None, **fields) -> str:
    reader, stream = terminal
    masker = SecretRedactor()
    masker.learn(Secret("lm_canary_1"))
    configure_logs(masker, stream=stream, tail=tail, form=form)
    structlog.stdlib.get_logger("bot").warning("feed_closed", **fields)
    written: str = reader.read(4_000).decode()
    return written


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("pnl_cents", -705, "pnl=-$7.05"),
        ("age_ms", 55, "age=55 ms"),
        ("took_ns", 2_500_000_000, "took=2.5 s"),
        ("silent_s", 185, "silent=3 min 5 s"),
        ("at_ns", 1_795_974_789_123_000_000, "at=17:53:09.123Z"),
        ("until", "2026-11-29T18:00:00.5Z", "until=18:00:00Z"),
        ("until", "2026-11-30T18:00:00Z", "until=2026-11-30T18:00:00Z"),
        ("works", True, "works=yes"),
        ("fills", 3, "fills=3"),
    ],
)
def test_a_field_is_shown_in_units_of_people(name, value, shown):
    entry = {"timestamp": "2026-11-29T17:53:09.123456Z", "level": "info", "event": "state"}
    assert text_line({**entry, name: value}) == f"17:53:09.123Z info    state {shown}"


@pytest.mark.parametrize(
    ("ns", "text"), [(0, "0 ms"), (-1_500_000_000, "-1.5 s"), (7_260 * 10**9, "2 h 1 min")]
)
def test_a_duration_is_shown_in_its_largest_units(ns, text):
    assert time_text(ns) == text


def test_a_terminal_is_written_lines_for_people(terminal):
    line = logged(terminal, pnl_cents=-705)
    assert LINE.match(line)
    assert line.rstrip().endswith("feed_closed pnl=-$7.05")


def test_a_terminal_is_written_json_where_that_is_asked_for(terminal):
    assert json.loads(logged(terminal, LogForm.JSON, pnl_cents=-705))["pnl_cents"] == -705


def test_lines_for_people_have_neither_keys_nor_terminal_codes(terminal):
    line = logged(terminal, reason="a lm_canary_1\x1b[2J\nb", api_key="anything")
    assert line.count("\n") == 1
    assert not re.search(r"canary|anything|\x1b", line)


def test_the_status_page_has_fields_whatever_the_terminal_is_written(terminal):
    tail = LogTail()
    logged(terminal, tail=tail, pnl_cents=-705)
    (line,) = tail.since(0)
    assert (line.level, line.name, line.text) == ("warning", "feed_closed", "pnl_cents=-705")


def test_anything_but_a_terminal_is_written_json(terminal):
    stream = io.StringIO()
    logged((io.BytesIO(), stream), pnl_cents=-705)
    assert json.loads(stream.getvalue())["pnl_cents"] == -705


def test_a_run_writes_the_lines_that_are_asked_for(tmp_path):
    config = demo_copy(tmp_path)
    words = ("--for", "1s", "--status-port", "0", "--state-dir", tmp_path / "state", "--json")
    done = finished("bot", "run", config, "--logs", "text", *words)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("status page")]
    assert lines
    assert all(LINE.match(line) for line in lines), done.stderr


def test_a_reaper_writes_the_lines_that_are_asked_for(tmp_path):
    config = tmp_path / "bot.yaml"
    for name in ("maker", "reaper"):
        (tmp_path / f"{name}.key").write_text(f"lm_{name}")
        (tmp_path / f"{name}.key").chmod(0o400)
    text = CONFIG.format(
        base_url="http://127.0.0.1:1/v1", key_file=tmp_path / "maker.key", state=tmp_path / "state"
    )
    config.write_text(f"{text}reaper:\n  key_file: {tmp_path / 'reaper.key'}\n")
    command = [sys.executable, "-m", "bot", "reaper", str(config), "--logs", "text"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        process.terminate()
        process.stderr.read()
    assert LINE.match(line), line
