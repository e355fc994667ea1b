"""Claims about commands with an adapter of an installed package, each in a process of its own."""

import json
import os

import pytest

from bot.io.journal.records import Entry
from tests.builders.adapters.packages import config_of, install
from tests.builders.io.commands import finished
from tests.builders.io.samples import create, sent
from tests.builders.record.made import journal

WITHOUT_IDS = """
from bot.core.messages import VenueCapabilities
from bot.io.client.native import NativeAdapter


class Elsewhere(NativeAdapter):
    capabilities = VenueCapabilities(idempotent_ids=False)
"""


@pytest.fixture
def bot(tmp_path):
    """Runs a command on a configuration whose adapter is this module's `Elsewhere`."""
    state, key = tmp_path / "state", tmp_path / "key"
    key.write_text("k" * 20)
    key.chmod(0o600)
    venue = f"base_url: http://127.0.0.1:9/v3\n  key_file: {key}"
    config = config_of(tmp_path, "elsewhere", venue, f"state:\n  dir: {state}\n")
    packages = tmp_path / "packages"

    def run(module: str, *words: str):
        install(packages, "elsewhere", "elsewhere", module, "Elsewhere")
        environment = {**os.environ, "PYTHONPATH": str(packages)}
        return finished("bot", words[0], config, *words[1:], env=environment)

    run.state = state
    return run


def test_a_start_at_a_venue_without_idempotent_ids_is_refused_before_any_request(bot):
    done = bot(WITHOUT_IDS, "run", "--for", "1s", "--status-port", "0")
    assert done.returncode == 3, done.stderr
    assert "a create without an answer could rest twice" in done.stderr
    assert "bot run --paper" in done.stderr


def test_a_check_says_that_a_venue_cannot_be_traded(bot):
    done = bot(WITHOUT_IDS, "check", "--json")
    assert done.returncode == 3, done.stderr
    findings = {each["name"]: each for each in json.loads(done.stdout)["findings"]}
    assert "could rest twice" in findings["capabilities"]["advice"]


def test_a_start_whose_adapter_cannot_be_made_says_that_orders_may_rest(bot):
    journal(bot.state, [Entry(5, sent(create()))])
    bot.state.chmod(0o700)
    done = bot("raise RuntimeError('broken')\n", "run", "--for", "1s")
    assert done.returncode == 4, done.stderr
    assert "venue.adapter: elsewhere of the package elsewhere" in done.stderr
    assert "RuntimeError: broken" in done.stderr
    assert "so nothing was cancelled: 1 create without an answer" in done.stderr


def test_cancel_all_names_an_adapter_that_cannot_be_made(bot):
    done = bot("raise RuntimeError('broken')\n", "cancel-all")
    assert done.returncode == 3, done.stderr
    assert "venue.adapter: elsewhere of the package elsewhere" in done.stderr
    assert "RuntimeError: broken" in done.stderr
