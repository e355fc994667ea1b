"""Claims about the keys of before: accepted for one version, with a line for each."""

import warnings
from pathlib import Path

import pytest

from bot.config.bot_config import BotConfig, ConfigFault, finish, read_draft
from bot.config.renamed import KeyRenamed, current_key, current_place

NOW = """\
name: before
series: AURELIA-VAL
venue: {embedded: venue.yaml}
strategy: {name: fixed_spread}
risk: {event_loss_cents: 100, series_loss_cents: 200, rung_position_qty: 30, order_qty: 10}
throttle:
  dwell_ms: 700
  orders_per_level_max: 2
staleness:
  feed_silence_ms: 4000
  poll_orders_ms: 3000
  poll_orders_fast_ms: 900
  poll_account_ms: 6000
  empty_book_grace_ms: 50000
  book_ms: 9000
start: {unknown_orders: adopt}
jump_guard: {jump_cents: 7}
wind_down: {halve_ms: 5000}
"""
OLD_NAMES = {
    "throttle": "pace",
    "throttle.orders_per_level_max": "pace.siblings",
    "staleness": "trust",
    "staleness.feed_silence_ms": "trust.heard_ms",
    "staleness.poll_orders_ms": "trust.sweep_ms",
    "staleness.poll_orders_fast_ms": "trust.suspect_sweep_ms",
    "staleness.poll_account_ms": "trust.audit_ms",
    "staleness.empty_book_grace_ms": "trust.emptied_ms",
    "start.unknown_orders": "start.strangers",
    "jump_guard": "news",
    "wind_down": "curfew",
}


def old_text() -> str:
    text = NOW
    for now, old in OLD_NAMES.items():
        text = text.replace(f"{now.rpartition('.')[2]}:", f"{old.rpartition('.')[2]}:")
    return text


def loaded(folder: Path, text: str) -> tuple[BotConfig, list[str]]:
    """A configuration, and what was warned of on the way."""
    path = folder / "before.yaml"
    path.write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        config = finish(read_draft(path))
    assert all(issubclass(each.category, KeyRenamed) for each in caught)
    return config, [f"{each.filename}:{each.lineno}: {each.message}" for each in caught]


def test_a_file_with_old_keys_gives_the_same_settings_with_a_warning_for_each(tmp_path):
    now, silence = loaded(tmp_path, NOW)
    old, lines = loaded(tmp_path, old_text())
    assert silence == []
    assert (old.trader, old.digest) == (now.trader, now.digest)
    assert [row.line for row in old.rows] == [row.line for row in now.rows]
    assert len(lines) == len(OLD_NAMES)
    assert (
        f"{tmp_path}/before.yaml:8: pace.siblings is now throttle.orders_per_level_max; "
        "the old name is accepted in this version only"
    ) in lines
    for current, former in OLD_NAMES.items():
        assert any(f": {former} is now {current};" in line for line in lines)


@pytest.mark.parametrize("more", ["pace: {dwell_ms: 5}\n", "trust: {heard_ms: 5}\n"])
def test_a_key_under_its_old_and_its_new_name_is_refused(tmp_path, more):
    with pytest.raises(ConfigFault, match="which is there too; remove"):
        loaded(tmp_path, NOW + more)


def test_an_old_key_in_an_option_means_the_new_one():
    with pytest.warns(KeyRenamed, match=r"pace\.dwell_ms is now throttle\.dwell_ms"):
        assert current_key("pace.dwell_ms") == "throttle.dwell_ms"
    assert current_place(("notices", 0, "url_env")) == ("notices", 0, "url_env")
