"""Claims about a changed configuration: checked like a file, otherwise that of the session."""

import json
from pathlib import Path

import msgspec
import pytest

from bot.config.bot_config import ConfigFault, finish, read_draft
from bot.core import messages as m
from bot.lab.what_if.changes import Trial

CONFIG = """
series: ACME-VAL
venue:
  embedded: venue.yaml
strategy:
  name: ladder_joint
  params:
    levels: 2
    lot_qty: 10
    alpha: 0.25
risk:
  series_loss_cents: 40000
  rung_position_qty: 300
  order_qty: 100
throttle:
  dwell_ms: 500
"""


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "bot.yaml"
    path.write_text(CONFIG)
    return path


def configuration_of(path: Path) -> m.Configuration:
    return finish(read_draft(path)).configured


def trial_on(then: m.Configuration, *sets: str, file: Path | None = None):
    return Trial(sets, file, Path()).on(then)


def faults(then: m.Configuration, *sets: str) -> tuple[str, ...]:
    with pytest.raises(ConfigFault) as raised:
        trial_on(then, *sets)
    return raised.value.faults


def test_a_key_set_by_option_has_no_line(file):
    (change,) = trial_on(configuration_of(file), "throttle.dwell_ms=200").changed
    assert (change.key, change.line) == ("throttle.dwell_ms", None)


def test_a_key_changed_by_a_file_has_its_line(file, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(CONFIG.replace("levels: 2", "levels: 3"))
    (change,) = trial_on(configuration_of(file), file=other).changed
    line = 1 + CONFIG.split("\n").index("    levels: 2")
    assert (change.key, change.line) == ("strategy.params.levels", line)


def test_only_the_set_keys_change(file):
    then = configuration_of(file)
    wanted = trial_on(
        then, "strategy.params.levels=3", "throttle.dwell_ms=200", "risk.order_qty=50"
    )
    params = json.loads(wanted.configured.strategy.params_json)
    assert params == json.loads(then.strategy.params_json) | {"levels": 3}
    settings = msgspec.to_builtins(wanted.configured.settings)
    before = msgspec.to_builtins(then.settings)
    before["pace"]["dwell_ns"] = 200_000_000
    before["risk"]["order_qty"] = 50
    assert settings == before
    assert [str(change) for change in wanted.changed] == [
        "strategy.params.levels: 2 -> 3",
        "risk.order_qty: 100 -> 50",
        "throttle.dwell_ms: 500 -> 200",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("strategy.params.levls=3", "strategy.params.levls: no such key; did you mean levels?"),
        ("throttle.dwel_ms=3", "throttle.dwel_ms: no such key; did you mean dwell_ms?"),
        ("throtle.dwell_ms=3", "throtle: no such key; did you mean throttle?"),
        ("throttle.dwell_ms=0", "throttle.dwell_ms: '0'; accepted: a whole number, at least 1"),
        ("strategy.params.levels=two", "strategy.params.levels: 'two'; accepted: a whole number"),
        ("strategy.name=ladder_jint", "strategy.name: "),
        ("risk.rung_position_qty=50", "is below order_qty; accepted: at least"),
        ("status.port=0", "status.port: it changes nothing of a session that is over"),
        ("strategy.budget_ms=5", "nobody measures a strategy's time here"),
        ("throttle=fast", "throttle: a key inside of it is wanted"),
        ("dwell", "'dwell': KEY=VALUE"),
        ("throttle.dwell_ms=[1", "throttle.dwell_ms: not YAML"),
    ],
)
def test_an_invalid_key_or_value_is_reported_as_for_a_file(file, text, said):
    (fault,) = faults(configuration_of(file), text)
    assert fault.startswith("--set ")
    assert said in fault


def test_the_calendar_of_a_run_is_kept_or_set_as_a_whole(file):
    dates = "\ncalendar:\n  - {at: 2027-01-28T21:00:00Z, name: results, event: acme-val-27q1,\n"
    dates += "     state: active, width_pct: 150, variance_hours: 9}\n"
    file.write_text(CONFIG + dates)
    then = configuration_of(file)
    kept = trial_on(then, "throttle.dwell_ms=200")
    assert kept.configured.settings.calendar == then.settings.calendar
    assert [change.key for change in kept.changed] == ["throttle.dwell_ms"]
    later = trial_on(then, "calendar=[{at: 2027-01-28T22:00:00Z, name: call}]")
    (entry,) = later.configured.settings.calendar
    assert (entry.name, entry.event_ticker) == ("call", None)
    assert trial_on(then, "calendar=[]").configured.settings.calendar == ()
    (fault,) = faults(then, "calendar=[{at: noon, name: call}]")
    assert fault.startswith("--set calendar.0.at: 'noon'; accepted: an instant of RFC 3339")


def test_all_invalid_keys_are_reported_at_once(file):
    assert (
        len(faults(configuration_of(file), "throttle.dwell_ms=0", "strategy.params.levels=0")) == 2
    )
    assert len(faults(configuration_of(file), "throttle.dwell_ms=1", "throttle.dwell_ms=2")) == 1


def test_another_strategy_starts_from_its_own_default_parameters(file):
    wanted = trial_on(configuration_of(file), "strategy.name=glft")
    assert wanted.configured.strategy.name == "glft"
    assert "alpha" not in json.loads(wanted.configured.strategy.params_json)


def test_a_file_replaces_the_whole_configuration_of_the_session(file, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(CONFIG.replace("levels: 2", "levels: 4"))
    wanted = trial_on(configuration_of(file), "throttle.dwell_ms=200", file=other)
    assert [str(change) for change in wanted.changed] == [
        "strategy.params.levels: 2 -> 4",
        "throttle.dwell_ms: 500 -> 200",
    ]


def test_a_file_of_another_series_is_rejected(file, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(CONFIG.replace("ACME-VAL", "OTHER-VAL"))
    with pytest.raises(ConfigFault, match="the session traded ACME-VAL"):
        trial_on(configuration_of(file), file=other)


def test_a_fault_of_the_file_is_reported_with_its_line(file, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(CONFIG.replace("levels: 2", "levls: 2"))
    with pytest.raises(ConfigFault, match=r"other\.yaml:8: strategy\.params\.levls: no such key"):
        trial_on(configuration_of(file), file=other)
