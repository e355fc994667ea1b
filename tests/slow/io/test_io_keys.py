"""Claims about the keys for reads and for standby cancels: where they come from."""

import os
from pathlib import Path

import pytest

from bot.cli.site import temporary_venue
from bot.config import bot_config as configuration
from bot.config.bot_config import ConfigFault, ExternalSettings, finish, read_draft
from bot.config.secrets import KeyPlace
from bot.io.secret import from_environment
from tests.builders.io.commands import demo_copy

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


@pytest.mark.parametrize(
    ("lines", "read_key", "standby_key"),
    [
        ((), None, None),
        (("read_key_file: read.key",), ("read.key", None, None), None),
        (
            ("read_key_file: keys.json", "read_key_name: reader"),
            ("keys.json", "reader", None),
            None,
        ),
        (("read_key_env: READ_KEY",), (None, None, "READ_KEY"), None),
        (("standby_key_file: spare.key",), None, ("spare.key", None, None)),
    ],
)
def test_reads_and_standby_cancels_may_have_keys_of_their_own(
    tmp_path, lines, read_key, standby_key
):
    found = read(tmp_path, *lines)
    assert isinstance(found.venue, ExternalSettings)
    keys = [(read_key, found.venue.read_key), (standby_key, found.venue.standby_key)]
    for wanted, key in keys:
        if wanted is None:
            assert key is None
        else:
            file, name, variable = wanted
            assert key == KeyPlace(None if file is None else tmp_path / file, name, variable)
    assert found.trader.keys.read is (read_key is not None)
    assert found.trader.keys.standby is (standby_key is not None)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("read_key_file: a", "read_key_env: B"), "exactly one of read_key_file"),
        (("read_key_name: reader",), "exactly one of read_key_file"),
        (("read_key_env: B", "read_key_name: reader"), "only with read_key_file"),
        (("read_key_env: lm_sEcReT-1/2",), "never write the key itself"),
        (("standby_key_name: spare",), "only with standby_key_file"),
    ],
)
def test_a_faulty_place_of_a_key_is_refused_and_not_echoed(tmp_path, lines, said):
    with pytest.raises(ConfigFault) as caught:
        read(tmp_path, *lines)
    assert any(said in fault for fault in caught.value.faults)
    assert "sEcReT" not in str(caught.value)


@pytest.mark.parametrize("key", ["read_key_file", "standby_key_file", "read_key_env"])
def test_an_embedded_venue_brings_its_own_key(tmp_path, key):
    path = tmp_path / "bot.yaml"
    text = FILE.format(more=f"  {key}: X").replace("base_url: https://venue.example/v1", "")
    path.write_text(text.replace("key_file: trade.key", "embedded: venue.yaml", 1))
    with pytest.raises(ConfigFault) as caught:
        finish(read_draft(path))
    assert any(f"venue.{key}: not with embedded" in fault for fault in caught.value.faults)


def test_the_embedded_venue_inherits_no_secret_that_the_configuration_names(tmp_path, monkeypatch):
    file = demo_copy(tmp_path)
    file.write_text(f"{file.read_text()}\nnotices:\n  - url_env: HOOK_OF_THIS_TEST\n")
    monkeypatch.setenv("HOOK_OF_THIS_TEST", "https://example.com/secret-of-this-test")
    with temporary_venue(read_draft(file), "check") as embedded:
        assert embedded is not None
        embedded.ready()  # before that the system may not show its environment yet
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        inherited = [Path(f"/proc/{child}/environ").read_bytes() for child in children]
    assert any(b"PATH=" in each for each in inherited)
    assert not any(b"secret-of-this-test" in each for each in inherited)
    assert from_environment("HOOK_OF_THIS_TEST").reveal().endswith("secret-of-this-test")
