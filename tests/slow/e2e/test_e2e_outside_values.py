"""Values from outside reach a bot in another process: from a file, and from a command."""

import datetime
import json
import time

import httpx
import pytest

from bot.core import messages as m
from bot.io.journal.journal import read_journal, segments
from tests.builders.e2e.runs import start_bot
from tests.builders.io.commands import demo_copy, invoke
from venue.wire.instant import NS_PER_SECOND

pytestmark = pytest.mark.xdist_group("outside_values")
SOURCES = """fair_value:
  sources:
    - {name: model, file: model.json, poll_ms: 100, weight: 0.5, max_deviations: 1000}

status:
  control: true
"""


def stated(dollars: float) -> str:
    at = datetime.datetime.now(datetime.UTC).isoformat()
    row = {"about": "AURELIA-VAL", "dollars": dollars, "sd": 5e9, "at": at}
    return json.dumps({"values": [row]})


def wait_for(page: str, text: str) -> None:
    """Return once the bot's status has this text."""
    end = time.monotonic() + 30
    while text not in httpx.get(f"{page}status.json", trust_env=False).text:
        assert time.monotonic() < end, text
        time.sleep(0.1)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A demo with a source and the operator's value; its folder, and what the commands printed."""
    folder = tmp_path_factory.mktemp("outside")
    config = demo_copy(folder, ("status:\n", SOURCES))
    (folder / "model.json").write_text(stated(205e9))
    state = folder / "state"
    bot = start_bot(
        "run", str(config), "--state-dir", str(state), "--status-port", "0", folder=folder
    )
    printed = {}

    def value(command: str, *words: str) -> str:
        done = invoke("value", command, config, *words, "--state-dir", state)
        assert done.exit_code == 0, done.output
        return done.stdout

    try:
        assert bot.stdout is not None
        page = bot.stdout.readline().decode().removeprefix("status page: ").strip()
        wait_for(page, '"market":2')
        value("set", "AURELIA-VAL", "210B", "--sd", "50B", "--ttl", "1h")
        wait_for(page, '"source":"operator"')
        shown = json.loads(value("show", "--json"))["values"]
        printed["rows"] = {row["source"]: row for row in shown}
        printed["text"] = value("show")
        printed["clear"] = value("clear", "--json")
        (folder / "model.json").write_text("half a fi")
        wait_for(page, "outside_value_unused")
    finally:
        bot.terminate()
        bot.communicate(timeout=30)
    printed["replay"] = invoke("replay", state, "--config", config)
    messages = [entry.message for segment in segments(state) for entry in read_journal(segment)]
    return printed, messages


def test_a_file_and_a_command_state_values_that_the_curve_uses(run):
    printed, _ = run
    model, operator = printed["rows"]["model"], printed["rows"]["operator"]
    assert (model["value"], model["weight"], model["unused"]) == (205e9, 0.5, "")
    assert (operator["value"], operator["sd"], operator["unused"]) == (210e9, 50e9, "")
    assert operator["left_ns"] > 3_500 * NS_PER_SECOND
    assert "operator about AURELIA-VAL: $210B, sd $50B, weight 1" in printed["text"]
    assert json.loads(printed["clear"])["done"] == "clear-value"


def test_the_journal_has_every_value_and_fault(run):
    _, messages = run
    values = [each for each in messages if isinstance(each, m.OutsideValue)]
    assert [(each.source, each.value) for each in values] == [
        ("model", 205e9), ("operator", 210e9),
    ]  # fmt: skip
    assert m.OutsideValueCleared("operator") in messages
    (fault,) = [each for each in messages if isinstance(each, m.OutsideSourceRead)]
    assert "not as docs/operations.md has it" in fault.fault
    assert m.Noted("error", "outside_value_unused", {"text": f"model: {fault.fault}"}) in messages


def test_the_run_replays_with_its_values_to_the_byte(run):
    printed, _ = run
    assert printed["replay"].exit_code == 0, printed["replay"].output
    assert "no difference" in printed["replay"].stdout
