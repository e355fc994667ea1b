"""Claims about the variants of a file: their parameters, their faults, their changes and checks."""

from pathlib import Path

import pytest

from bot.cli.plan_text import plan_text
from bot.config.bot_config import BotConfig, ConfigFault, finish, read_draft
from bot.config.live import LiveConfig
from bot.config.strategies import Makers
from bot.core import messages as m
from bot.core.trader import Trader
from bot.io.client.preflight import variant_findings
from bot.lab.what_if.changes import Trial
from bot.strategy.api import name_of
from bot.strategy.variants import Split, Variant
from tests.builders.bot.thin import EVENT, SERIES, Thin
from tests.builders.io.commands import invoke

TEXT = """\
name: varied
series: ACME-VAL
venue: {embedded: venue.yaml}
risk: {event_loss_cents: 10000, series_loss_cents: 20000, rung_position_qty: 30, order_qty: 10}
strategy:
  name: fixed_spread
  params: {lot_qty: 3, half_spread_cents: 2}
"""


def written(folder: Path, *variants: str) -> Path:
    path = folder / "bot.yaml"
    rows = "".join(f"    - {each}\n" for each in variants)
    path.write_text(TEXT + ("  variants:\n" + rows if rows else ""))
    return path


def loaded(folder: Path, *variants: str, sets: tuple[str, ...] = ()) -> BotConfig:
    return finish(read_draft(written(folder, *variants), sets=sets))


def test_a_variant_of_the_same_strategy_says_what_differs(tmp_path):
    config = loaded(tmp_path, "{name: wide, rungs: [100b], params: {half_spread_cents: 5}}")
    (choice,) = config.choice.variants
    assert choice.variant == Variant("wide", rungs=("100B",))
    assert choice.strategy == "fixed_spread"
    assert '"lot_qty":3' in choice.params_json
    assert '"half_spread_cents":5' in choice.params_json


def test_a_variant_of_another_strategy_takes_its_own_parameters_alone(tmp_path):
    text = "{name: joint, strategy: ladder_joint, events: [ACME-VAL-26Q4], split: time, seed: 4}"
    (choice,) = loaded(tmp_path, text).choice.variants
    assert (choice.variant.split, choice.variant.seed) == (Split.TIME, 4)
    assert '"lot_qty":3' not in choice.params_json


@pytest.mark.parametrize(
    ("variant", "said"),
    [
        ("{name: Wide}", "name: 'Wide'; accepted: small letters, digits, - and _, each name once"),
        ("{name: fixed_spread}", "name: 'fixed_spread'; accepted: small letters"),
        ("{name: exit}", "name: 'exit'; accepted: small letters"),
        ("{name: v, split: halves}", "split: 'halves'; accepted: none or time or rungs"),
        ("{name: v, block_ms: 10}", "block_ms: '10'; accepted: a whole number, at least 1000"),
        ("{name: v, strategy: nonesuch}", "strategy: no strategy 'nonesuch'"),
        ("{name: v, params: {lot: 3}}", "params.lot: no such key; did you mean lot_qty?"),
        ("{name: v, params: {lot_qty: 0}}", "params.lot_qty: '0'"),
    ],
)
def test_a_wrong_variant_is_refused_with_file_line_key_and_value(tmp_path, variant, said):
    with pytest.raises(ConfigFault) as raised:
        loaded(tmp_path, variant)
    (fault,) = raised.value.faults
    assert fault.startswith(f"{tmp_path}/bot.yaml:9: strategy.variants.0.{said}")


def test_two_variants_of_one_name_are_refused(tmp_path):
    with pytest.raises(ConfigFault, match=r"variants\.1\.name: 'v'; accepted: .*each name once"):
        loaded(tmp_path, "{name: v}", "{name: v}")


def test_another_strategy_set_over_the_file_comes_without_its_variants(tmp_path):
    config = loaded(tmp_path, "{name: v}", sets=("strategy.name=ladder_joint",))
    assert config.choice.variants == ()


def test_a_running_bot_takes_variants_over_and_names_every_key_that_changed(tmp_path):
    config = loaded(tmp_path)
    makers = Makers(tmp_path)
    trader = Trader(config.trader, config.make_strategy, remake=makers)
    trader.receive(m.Started("0" * 20, (), True, configured=config.configured), 1)
    live = LiveConfig(config, makers, trader.reconfiguration, lambda e: trader.receive(e, 2))
    event = live.check(written(tmp_path, "{name: v, params: {half_spread_cents: 6}}").read_bytes())
    assert isinstance(event, m.Reconfigured)
    assert "strategy.variants.0.params.half_spread_cents: - -> 6" in event.changed
    trader.receive(event, 2)
    assert trader.reconfiguration.configured.strategy == event.configured.strategy


def test_the_strategy_of_a_journal_is_made_with_its_variants(tmp_path):
    config = loaded(tmp_path, "{name: v, rungs: [110B], params: {half_spread_cents: 6}}")
    venue = Thin([50, 50], Makers(tmp_path)(config.choice))
    venue.start()
    assert [rung.quoted_by for rung in venue.trader.plan(venue.now_ns).events[0].rungs] == [
        name_of(config.make_strategy()),
        "v",
    ]
    assert f"{EVENT}-110B (by v): wants" in plan_text(venue.trader.plan(venue.now_ns))


def test_what_if_begins_with_the_variants_of_the_run(tmp_path):
    config = loaded(tmp_path, "{name: v, rungs: [110B], split: rungs, block_ms: 5000, seed: 2}")
    wanted = Trial(["strategy.params.lot_qty=4"], None, tmp_path).on(config.configured)
    assert wanted.configured.strategy.variants == config.choice.variants
    assert [change.key for change in wanted.changed] == ["strategy.params.lot_qty"]


def test_a_check_counts_the_rungs_of_a_variant_and_warns_of_one_without_any():
    body = Thin([50, 50]).answer(m.ReadSeries(SERIES, "")).body
    variants = [Variant("one", rungs=("110B",)), Variant("none", events=("OTHER*",))]
    one, none = variant_findings(variants, body.events)
    assert (one.found, one.is_warning) == ("one covers 1 of 2 rungs", False)
    assert (none.found, none.is_warning) == ("none covers 0 of 2 rungs", True)


def test_compare_refuses_a_file_without_a_split(tmp_path):
    done = invoke("compare", written(tmp_path, "{name: v}"))
    assert done.exit_code == 2
    assert "strategy.variants: no variant has a split" in done.output


def test_compare_says_that_there_are_no_records(tmp_path):
    path = written(tmp_path, "{name: v, split: time}")
    done = invoke("compare", path, "--state-dir", tmp_path / "state")
    assert done.exit_code == 3
    assert "no records there" in done.output
