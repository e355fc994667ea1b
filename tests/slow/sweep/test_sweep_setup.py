"""A configuration with keys set otherwise is checked as the file is, and lived as it says."""

import pytest

from bot.config.bot_config import ConfigFault
from bot.lab.evaluate.scenarios import Scenario
from bot.lab.sweep.space import SpaceFault, space
from bot.lab.sweep.trials import TrialConfig, TrialFault
from tests.builders.house.tree import ROOT
from tests.builders.sweep.planted import CONFIG, SMALL


@pytest.fixture(scope="module")
def demo():
    return TrialConfig(CONFIG, SMALL)


def test_a_swept_key_changes_the_configuration_of_the_trial(demo):
    setup = demo.with_settings({"risk.order_qty": "42", "strategy.params.levels": "3"})
    assert setup.trader.risk.order_qty == 42
    assert '"levels":3' in setup.choice.params_json
    assert setup.trader.risk.rung_position_qty == demo.base.trader.risk.rung_position_qty


def test_setting_a_key_to_its_present_value_keeps_the_digest(demo):
    assert demo.with_settings({"risk.order_qty": "100"}).digest == demo.base.digest
    assert demo.with_settings({"risk.order_qty": "99"}).digest != demo.base.digest


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"risk.order_qty": "12.5"}, "risk.order_qty: '12.5'; accepted: a whole number"),
        ({"risk.order_qty": "400"}, "is below order_qty; accepted: at least"),
        ({"risk.ordr_qty": "1"}, "did you mean order_qty"),
        ({"strategy.params.levels": "9"}, "strategy.params.levels: '9'"),
        ({"strategy.name": "nobody"}, "no strategy 'nobody'"),
        ({"risk.order_qty.x": "1"}, "order_qty is no block"),
        ({"risk": "1"}, "a block or a list"),
        ({"strategy.params.rule": "no"}, "'no'"),
    ],
)
def test_a_trial_is_validated_like_a_configuration_file(demo, settings, told):
    with pytest.raises(TrialFault) as fault:
        demo.with_settings(settings)
    assert told in str(fault.value)
    assert "yaml:" not in str(fault.value)


def test_a_list_of_the_configuration_cannot_be_swept(tmp_path):
    path = tmp_path / "listed.yaml"
    path.write_text(f"{CONFIG.read_text()}\nnotices: [{{url_env: A, events: [stop]}}]\n")
    listed = TrialConfig(path, SMALL)
    with pytest.raises(TrialFault, match="notices: a list, and lists are not swept over"):
        listed.with_settings({"notices": "1"})


def test_an_invalid_base_configuration_is_rejected(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("series: X\n")
    with pytest.raises(ConfigFault):
        TrialConfig(path, SMALL)


@pytest.mark.parametrize(
    "text",
    ["status.port=1,2", "staleness.lag_ms=100,200", "throttle.decide_ms=50,100", "state.dir=a,b"],
)
def test_a_key_without_effect_in_worlds_is_rejected(demo, text):
    with pytest.raises(SpaceFault, match="nothing that is lived in worlds hangs on it"):
        demo.probe(space([text]), has_runs=True)
    demo.probe(space([text]), has_runs=False)


def test_staleness_can_be_swept_on_tapes():
    TrialConfig(CONFIG, None).probe(space(["staleness.lag_ms=100,200"]), has_runs=True)


def test_a_key_is_rejected_only_if_none_of_its_values_is_valid(demo):
    with pytest.raises(SpaceFault, match="no value is accepted"):
        demo.probe(space(["risk.order_qty=0,-1"]), has_runs=True)
    demo.probe(space(["risk.order_qty=0,10"]), has_runs=True)


def test_the_present_value_and_an_invalid_one_do_not_count_as_without_effect(demo):
    stands = demo.with_settings({}).trader.risk.order_qty
    demo.probe(space([f"risk.order_qty=0,{stands}"]), has_runs=True)


def test_parameters_are_validated_with_the_swept_strategy(demo):
    texts = ["strategy.name=ladder_joint,glft", "strategy.params.risk_aversion=0.01,0.1"]
    demo.probe(space(texts), has_runs=True)


def test_a_world_sets_the_latencies_and_the_configuration_the_limits():
    slow = TrialConfig(ROOT / "configs/demo.yaml", Scenario(latency=10))
    assert (
        slow.base.trader.staleness.lag_ns
        == 10 * TrialConfig(CONFIG, Scenario()).base.trader.staleness.lag_ns
    )
    assert slow.base.trader.risk.event_loss_cents == 20_000
    assert slow.base.trader.news.print_qty == 0
    assert slow.base.trader.curfew.halve_ns == 0
