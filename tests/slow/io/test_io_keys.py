"""Claims about keys beside the first in a configuration: where they come from, what is refused."""

import json
from pathlib import Path

import pytest

from bot.cli.site import temporary_venue
from bot.config import bot_config as configuration
from bot.config.bot_config import ConfigFault, ExternalSettings, finish, read_draft
from bot.config.secrets import KeyPlace
from bot.io.secret import from_environment, from_file
from tests.builders.house.tree import ROOT

FILE = """
series: ACME-VAL
venue:
  base_url: https://venue.example/v1
  key_file: trade.key
{more}
strategy:
  name: fixed_spread
risk:
  event_loss_cents: 1000
  series_loss_cents: 1000
  rung_position_qty: 10
  order_qty: 10
"""


def read(folder: Path, *lines: str) -> configuration.BotConfig:
    """A configuration with these lines in its part about the venue."""
    path = folder / "bot.yaml"
    path.write_text(FILE.format(more="\n".join(f"  {line}" for line in lines)))
    return finish(read_draft(path))


def venue(folder: Path, *lines: str) -> ExternalSettings:
    found = read(folder, *lines).venue
    assert isinstance(found, ExternalSettings)
    return found


def test_without_more_keys_one_serves_for_all(tmp_path):
    found = read(tmp_path)
    assert (found.trader.keys.read, found.trader.keys.standby) == (False, False)
    assert venue(tmp_path).read_key is None
    assert venue(tmp_path).standby_key is None


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (("read_key_file: read.key",), KeyPlace(Path("read.key"), None, None)),
        (
            ("read_key_file: keys.json", "read_key_name: reader"),
            KeyPlace(Path("keys.json"), "reader", None),
        ),
        (("read_key_env: READ_KEY",), KeyPlace(None, None, "READ_KEY")),
    ],
)
def test_reads_may_have_a_key_from_a_file_or_a_variable(tmp_path, lines, place):
    found = read(tmp_path, *lines)
    assert found.trader.keys.read
    assert isinstance(found.venue, ExternalSettings)
    read_key = found.venue.read_key
    assert read_key is not None
    file = None if place.key_file is None else tmp_path / place.key_file
    assert read_key == KeyPlace(file, place.key_name, place.key_env)


def test_a_spare_key_may_take_the_cancels_over(tmp_path):
    found = read(tmp_path, "standby_key_file: spare.key")
    assert found.trader.keys.standby
    assert isinstance(found.venue, ExternalSettings)
    assert found.venue.standby_key == KeyPlace(tmp_path / "spare.key", None, None)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("read_key_file: a", "read_key_env: B"), "exactly one of read_key_file"),
        (("read_key_name: reader",), "exactly one of read_key_file"),
        (("read_key_env: B", "read_key_name: reader"), "only with read_key_file"),
        (("read_key_env: lm_sEcReT-1/2",), "never write the key itself"),
        (("standby_key_name: spare",), "only with standby_key_file"),
    ],
)
def test_a_key_that_cannot_be_found_that_way_is_refused_and_not_echoed(tmp_path, lines, told):
    with pytest.raises(ConfigFault) as caught:
        read(tmp_path, *lines)
    assert any(told in fault for fault in caught.value.faults)
    assert "sEcReT" not in str(caught.value)


def test_a_key_is_found_among_those_of_many_account_holders(tmp_path):
    keys = {f"holder-{number}": f"{number:046d}" for number in range(1_000)}
    (tmp_path / "keys.json").write_text(json.dumps(keys, indent=1))
    assert from_file(tmp_path / "keys.json", "holder-999").reveal() == keys["holder-999"]


@pytest.mark.parametrize("key", ["read_key_file", "standby_key_file", "read_key_env"])
def test_an_embedded_venue_brings_its_own_key(tmp_path, key):
    path = tmp_path / "bot.yaml"
    text = FILE.format(more=f"  {key}: X").replace("base_url: https://venue.example/v1", "")
    path.write_text(text.replace("key_file: trade.key", "embedded: venue.yaml", 1))
    with pytest.raises(ConfigFault) as caught:
        finish(read_draft(path))
    assert any(f"venue.{key}: not with embedded" in fault for fault in caught.value.faults)


def test_the_embedded_venue_inherits_no_secret_that_the_configuration_names(tmp_path, monkeypatch):
    file = tmp_path / "demo.yaml"
    demo = (ROOT / "configs/demo.yaml").read_text()
    own = demo.replace("embedded: venue.yaml", f"embedded: {ROOT / 'configs/venue.yaml'}")
    file.write_text(f"{own}\nnotices:\n  - url_env: HOOK_OF_THIS_TEST\n")
    monkeypatch.setenv("HOOK_OF_THIS_TEST", "https://example.com/secret-of-this-test")
    with temporary_venue(read_draft(file), "check") as embedded:
        assert embedded is not None
        embedded.ready()  # before that the system may not show it yet
        inherited = Path(f"/proc/{embedded._process.pid}/environ").read_bytes()
    assert b"PATH=" in inherited
    assert b"secret-of-this-test" not in inherited
    assert from_environment("HOOK_OF_THIS_TEST").reveal().endswith("secret-of-this-test")
