"""Claims about the systemd units: systemd accepts them, and a stop leaves the bot its time."""

import configparser
import shlex
import shutil
import subprocess

import pytest

from bot.cli.main import COMMANDS
from tests.builders.house.tree import ROOT

UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
PROGRAM = "/opt/laddermaker/.venv/bin/bot"


def parsed(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str
    parser.read(ROOT / f"deploy/systemd/{name}", encoding="utf-8")
    return parser


def test_systemd_accepts_the_units(tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed (Debian package systemd)")
    for unit in UNITS:
        text = unit.read_text(encoding="utf-8")
        (tmp_path / unit.name).write_text(text.replace(PROGRAM, "/bin/true"))
    command = [program, "verify", *(str(tmp_path / unit.name) for unit in UNITS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_command_that_exists_on_the_state_that_it_may_write(unit):
    service = parsed(unit.name)["Service"]
    program, command, config, option, folder = shlex.split(service["ExecStart"])
    assert (program, option, config) == (PROGRAM, "--state-dir", "/etc/laddermaker/%i.yaml")
    assert command in COMMANDS
    assert folder == f"/var/lib/{service['StateDirectory']}"
    assert int(service["TimeoutStopSec"]) >= 20


def test_the_reaper_starts_before_the_bot_and_outlives_its_failure():
    bot, reaper = parsed("laddermaker-bot@.service"), parsed("laddermaker-reaper@.service")
    assert "laddermaker-reaper@%i.service" in bot["Unit"]["After"]
    assert "laddermaker-reaper@%i.service" in bot["Unit"]["Wants"]
    assert reaper["Service"]["Restart"] == "always"
    assert "BindsTo" not in reaper["Unit"]
    assert "PartOf" not in reaper["Unit"]
