"""Claims about what a change of the file means: a new configuration, a refusal, or nothing."""

import os
import shlex

import pytest
from typer.testing import CliRunner

from bot.cli.main import app
from bot.core import messages as m
from bot.io.journal.records import Entry, framed
from tests.builders.config.live import Bot

GOOD = """\
series: AURELIA-VAL
venue:
  base_url: https://venue.example/v1
  key_file: maker.key
strategy:
  name: fixed_spread
  params:
    half_spread_cents: 1
    lot_qty: 10
    max_position_qty: 1000
risk:
  event_loss_cents: 100000
  series_loss_cents: 200000
  rung_position_qty: 1000
  order_qty: 100
throttle:
  place_horizon_ms: 1000
"""


@pytest.fixture
def bot(tmp_path):
    return Bot(tmp_path, GOOD)


def why(event: m.Event | None) -> str:
    assert isinstance(event, m.ConfigRefused)
    return event.why


def test_a_change_of_live_keys_carries_the_configuration_and_the_differences(bot):
    event = bot.change("order_qty: 100", "order_qty: 90")
    assert isinstance(event, m.Reconfigured)
    assert event.changed == ("risk.order_qty: 100 -> 90",)
    assert event.configured.settings.risk.order_qty == 90
    assert event.configured.strategy.name == "fixed_spread"
    assert bot.trader.reconfiguration.configured == event.configured


def test_a_limit_raised_more_than_tenfold_must_be_confirmed(tmp_path):
    bot = Bot(tmp_path, GOOD.replace("order_qty: 100", "order_qty: 10"))
    raised = GOOD.replace("order_qty: 100", "order_qty: 101")
    said = why(bot.change("", "", raised))
    assert said.startswith(f"{bot.path}:15: risk.order_qty: 10 -> 101; more than ten times")
    assert "bot config confirm CONFIG --yes" in said
    assert bot.trader.reconfiguration.configured.settings.risk.order_qty == 10
    bot.path.write_text(raised)
    asked = ["config", "confirm", str(bot.path), "--state-dir", str(tmp_path)]
    assert CliRunner().invoke(app, asked).exit_code == 2, "not without --yes"
    assert CliRunner().invoke(app, [*asked, "--yes"]).exit_code == 0
    assert isinstance(bot.change("", "", raised), m.Reconfigured)
    assert isinstance(bot.change("order_qty: 100", "order_qty: 1", GOOD), m.Reconfigured)


def test_a_confirmation_counts_for_a_run_with_the_same_set(tmp_path):
    sets = ("risk.series_loss_cents=30001", "risk.event_loss_cents=20000")
    bot = Bot(tmp_path, GOOD.replace("order_qty: 100", "order_qty: 10"), sets)
    raised = GOOD.replace("order_qty: 100", "order_qty: 101")
    bot.path.write_text(raised)
    command = why(bot.change("", "", raised)).partition("bot config confirm CONFIG ")[2]
    options = shlex.split(command.partition(" has it")[0])
    assert options == ["--yes", "--set", sets[0], "--set", sets[1]]
    asked = ["config", "confirm", str(bot.path), "--state-dir", str(tmp_path)]
    assert CliRunner().invoke(app, [*asked, "--yes"]).exit_code == 0
    assert "more than ten times" in why(bot.change("", "", raised))
    assert CliRunner().invoke(app, [*asked, *options]).exit_code == 0
    assert isinstance(bot.change("", "", raised), m.Reconfigured)


def test_another_strategy_by_name_is_a_live_change(bot):
    text = GOOD.replace("    half_spread_cents: 1\n    lot_qty: 10\n", "").replace(
        "    max_position_qty: 1000\n", ""
    )
    event = bot.change("name: fixed_spread\n  params:", "name: ladder_joint", text)
    assert isinstance(event, m.Reconfigured)
    assert "strategy.name: fixed_spread -> ladder_joint" in event.changed
    assert bot.trader.reconfiguration.report().applied == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [("risk:", "# careful\nrisk:"), ("throttle:\n", "throttle:\n  dwell_ms: 500\n")],
    ids=["a comment", "a default"],
)
def test_a_comment_or_a_written_default_is_no_change(bot, old, new):
    assert bot.change(old, new) is None


def test_a_refused_change_is_over_once_the_file_is_restored(bot):
    for old, new in (("order_qty: 100", "order_qty: 0"), ("name: fixed_spread", "name: nobody")):
        assert isinstance(bot.change(old, new), m.ConfigRefused)
        assert bot.trader.report(2).config.fault
        before = bot.trader.reconfiguration.configured
        assert isinstance(bot.change(old, old), m.Reconfigured)
        assert bot.trader.report(2).config.fault == ""
        assert bot.trader.reconfiguration.configured == before
        assert bot.change(old, old) is None


def test_a_refusal_names_file_line_key_value_and_range(bot):
    said = why(bot.change("order_qty: 100", "order_qty: 12.5"))
    assert said == (
        f"{bot.path}:15: risk.order_qty: '12.5'; accepted: a whole number, at least 1, at most "
        "1000000"
    )


def test_a_change_that_takes_a_restart_is_refused_with_all_live_keys(bot):
    before = bot.trader.reconfiguration.configured
    text = GOOD.replace("order_qty: 100", "order_qty: 90")
    said = why(bot.change("throttle:\n", "budget:\n  burst: 300\nthrottle:\n", text))
    assert said == (
        f"{bot.path}:17: budget.burst: 400 -> 300; takes a restart | nothing of the file was "
        "applied"
    )
    assert bot.trader.reconfiguration.configured == before


def test_the_file_of_a_key_is_not_shown_in_a_refusal(bot):
    said = why(bot.change("maker.key", "/keys/lm_0123456789abcdef"))
    assert "venue.key_file: (not shown) -> (not shown); takes a restart" in said
    assert "lm_0123456789abcdef" not in said


def test_a_parameter_that_may_be_a_secret_is_not_shown(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from bot.strategy.api import Strategy\n"
        "class Mine(Strategy):\n"
        "    class Params(Strategy.Params):\n"
        "        api_token: str = 'none'\n"
        "    def quote(self, view):\n"
        "        return {}\n"
    )
    b, e = GOOD.index("  name: fixed"), GOOD.index("risk:")
    text = f"{GOOD[:b]}  name: ./mine.py:Mine\n  params:\n    api_token: one\n{GOOD[e:]}"
    event = Bot(tmp_path, text).change("api_token: one", "api_token: hunter2")
    assert isinstance(event, m.Reconfigured)
    assert event.changed == ("strategy.params.api_token: (not shown) -> (not shown)",)


def test_a_strategy_that_raises_when_it_is_made_is_refused_with_its_line(tmp_path, bot):
    (tmp_path / "bad.py").write_text(
        "from bot.strategy.api import Strategy\n"
        "class Bad(Strategy):\n"
        "    def __init__(self, params):\n"
        "        raise OSError('no model')\n"
    )
    b, e = GOOD.index("  name: fixed"), GOOD.index("risk:")
    text = f"{GOOD[:b]}  name: ./bad.py:Bad\n{GOOD[e:]}"
    said = why(bot.change("order_qty: 100", "order_qty: 90", text))
    assert said == f"{bot.path}:6: strategy.name: cannot be made: bad.py:4: OSError: no model"


def test_the_code_of_a_strategy_file_is_loaded_once(tmp_path):
    code = (
        "from bot.strategy.api import Strategy\n"
        "class Mine(Strategy):\n"
        "    class Params(Strategy.Params):\n"
        "        size: int = 1\n"
        "    version = 1\n"
        "    def quote(self, view):\n"
        "        return {}\n"
    )
    (tmp_path / "mine.py").write_text(code)
    b, e = GOOD.index("  name: fixed"), GOOD.index("risk:")
    text = f"{GOOD[:b]}  name: ./mine.py:Mine\n  params:\n    size: 1\n{GOOD[e:]}"
    bot = Bot(tmp_path, text)
    (tmp_path / "mine.py").write_text(code.replace("version = 1", "version = 2"))
    assert isinstance(bot.change("size: 1", "size: 2"), m.Reconfigured)
    made = bot.live_strategy()
    assert (made.params.size, made.version) == (2, 1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: fixed_spread", f"name: ./{'a' * 300}.py", "cannot be read: File name too long"),
        ("series: ", 'name: "a\\0b"\nseries: ', "the sign U+0000 has no place in it"),
        ("series: ", '"\\ud800": x\nseries: ', "the sign U+D800 has no place in it"),
        ("series: ", 'name: "\\UFFFFFFFF"\nseries: ', "a number beyond all there are"),
        ("series: ", "notices: [{url_file: ~nosuchuser/x}]\nseries: ", "takes a restart"),
    ],
)
def test_an_impossible_file_name_is_refused_and_the_bot_goes_on(bot, old, new, said):
    assert said in why(bot.change(old, new))


def test_a_refusal_can_be_journaled_whatever_the_folder_is_called(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    bot = Bot(folder, GOOD)
    for raw in (None, b"series: [", GOOD.replace("fixed_spread", "nosuch").encode()):
        refused = bot.live.check(raw)
        assert "caf?/bot.yaml:" in why(refused)
        assert framed(Entry(1, refused))


def test_a_deleted_file_is_refused(bot):
    assert why(bot.live.check(None)) == f"{bot.path}:1: cannot be read: is it there?"


def test_each_change_is_compared_with_the_configuration_in_force(bot):
    bot.change("order_qty: 100", "order_qty: 90")
    event = bot.change("order_qty: 100", "order_qty: 80")
    assert isinstance(event, m.Reconfigured)
    assert event.changed == ("risk.order_qty: 90 -> 80",)
    assert event.number == 2
    assert bot.live.check(GOOD.encode()).changed == ("risk.order_qty: 80 -> 100",)
