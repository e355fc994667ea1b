"""Claims about `--set KEY=VALUE`: what it sets, that it stays set, and what it refuses."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.main import app
from bot.config.bot_config import BotConfig, ConfigFault, finish, read_draft
from bot.config.overrides import override_text
from bot.core import messages as m
from tests.builders.config.live import Bot

DEMO = Path("configs/demo.yaml")


def set_on(path: Path, *sets: str) -> BotConfig:
    return finish(read_draft(path, sets=sets))


def test_a_key_is_set_over_the_file_and_checked_as_the_file_is():
    config = set_on(DEMO, "risk.order_qty=7", "strategy.params.levels=2")
    assert config.trader.risk.order_qty == 7
    assert json.loads(config.choice.params_json)["levels"] == 2
    assert config.digest != finish(read_draft(DEMO)).digest
    with pytest.raises(ConfigFault, match=r"^--set risk\.order_qty: 'many'; accepted: a whole"):
        set_on(DEMO, "risk.order_qty=many")


def test_another_strategy_takes_none_of_the_parameters_of_the_file():
    config = set_on(DEMO, "strategy.name=fixed_spread", "strategy.params.lot_qty=3")
    assert config.strategy_name == "fixed_spread"
    assert json.loads(config.choice.params_json)["lot_qty"] == 3


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("status.port=0", "--set status.port: it says where to trade, not how"),
        ("risk.order_qty", "KEY=VALUE, such as"),
        ("risk=1", "--set risk: a key inside of it is wanted"),
        ("risk.ordr_qty=1", "--set risk.ordr_qty: "),
        ("strategy.params.levls=1", "--set strategy.params.levls: "),
    ],
)
def test_what_is_no_key_of_trading_is_refused(text, fault):
    done = CliRunner().invoke(app, ["run", str(DEMO), "--set", text])
    assert done.exit_code == 2
    assert fault in done.stderr


def test_a_value_of_python_is_written_as_the_option_reads_it():
    assert override_text("risk__order_qty", 5) == "risk.order_qty=5"
    assert override_text("strategy.params.on", True) == "strategy.params.on=true"
    sets = [override_text("strategy.params.alpha", 0.5), override_text("risk__order_qty", 9)]
    config = set_on(DEMO, *sets)
    assert json.loads(config.choice.params_json)["alpha"] == 0.5
    assert config.trader.risk.order_qty == 9


def test_a_key_stays_set_when_the_file_of_a_running_bot_changes(tmp_path):
    text = DEMO.read_text().replace("venue.yaml", str(DEMO.parent.absolute() / "venue.yaml"))
    bot = Bot(tmp_path, text, sets=("risk.order_qty=7",))
    assert bot.change("", "") is None
    changed = bot.change("levels: 2", "levels: 3")
    assert isinstance(changed, m.Reconfigured)
    assert changed.configured.settings.risk.order_qty == 7
    assert len(changed.changed) == 1
