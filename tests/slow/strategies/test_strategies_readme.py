"""The strategy that the guide shows: short, sane, and at home outside the repository."""

import json
import pathlib
import re
from typing import Any

import msgspec
import pytest

from bot.strategy.api import (
    EventView,
    ImpliedView,
    Intensity,
    OwnFill,
    OwnQuote,
    Print,
    RungView,
    checked,
    split,
)
from tests.builders.io.commands import finished
from tests.builders.strategies.views import prices, rung, view
from venue.wire.money import BookSide

ROOT = pathlib.Path(__file__).parents[3]
README = ROOT / "strategies" / "README.md"
LINES_MAX = 40
CONFIG = """\
series: AURELIA-VAL
venue:
  embedded: {venue}
strategy:
  name: {strategy}
  params:
    half_spread_cents: 2
risk:
  event_loss_cents: 20000
  series_loss_cents: 40000
  rung_position_qty: 300
  order_qty: 100
status:
  port: 0
"""


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def shown() -> Any:
    names: dict[str, Any] = {}
    exec(compile(blocks()[0], str(README), "exec"), names)
    return names["STRATEGY"]


@pytest.fixture
def elsewhere(tmp_path: pathlib.Path) -> pathlib.Path:
    """The tutorial strategy, to the letter, in a file outside the repository."""
    path = tmp_path / "mine" / "around_fair.py"
    path.parent.mkdir()
    path.write_text(blocks()[0])
    return path


def test_the_tutorial_strategy_has_at_most_forty_lines():
    assert len(blocks()[0].splitlines()) <= LINES_MAX


def test_the_tutorial_strategy_quotes_as_the_guide_says():
    strategy = shown()
    seen = view(rung(0, 60.0), rung(1, None), rung(2, 20.4, bid=24))
    quotes = checked(strategy(strategy.Params()).quote(seen), seen)
    assert (prices(quotes, 0, BookSide.BID), prices(quotes, 0, BookSide.ASK)) == ([57], [63])
    assert quotes[seen.rungs[1].market_id] == ()
    assert (prices(quotes, 2, BookSide.BID), prices(quotes, 2, BookSide.ASK)) == ([17], [])


def test_the_tutorial_strategy_takes_mispriced_orders():
    strategy = shown()
    seen = view(rung(0, 60.0, ask=52), rung(1, 40.0, ask=33))
    takes = split(strategy(strategy.Params()).quote(seen), seen).takes
    assert [(market, each[0].price) for market, each in takes.items()] == [("m0", 52)]


@pytest.mark.parametrize(("fair", "net"), [(1.0, 300), (99.0, -300)])
def test_the_tutorial_strategy_quotes_validly_under_any_inventory_skew(fair, net):
    strategy = shown()
    seen = view(rung(0, fair, net=net))
    assert checked(strategy(strategy.Params()).quote(seen), seen)[seen.rungs[0].market_id]


def test_the_test_in_the_guide_passes():
    names: dict[str, Any] = {}
    for text in blocks():
        exec(compile(text, str(README), "exec"), names)


def test_the_guide_lists_exactly_the_shipped_strategies():
    shipped = {path.stem for path in README.parent.glob("*.py")} - {"__init__"}
    named = set(re.findall(r"`(\w+)`", README.read_text().split("Shipped:")[1]))
    assert named == shipped


# --- outside the repository -----------------------------------------------------------------------


def test_a_strategy_outside_the_repository_lists_its_parameters(elsewhere):
    done = finished("bot", "strategies", "mine/around_fair.py", "--json", cwd=elsewhere.parents[1])
    assert done.returncode == 0, done.stderr
    told = {each["name"]: each for each in json.loads(done.stdout)["params"]}
    assert told["half_spread_cents"] == {
        "name": "half_spread_cents",
        "default": "3",
        "accepted": "int, >= 1, <= 49",
        "unit": "cents",
        "about": "from the value to a quote",
    }


def test_a_strategy_outside_the_repository_trades_on_the_embedded_venue(elsewhere, tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text(
        CONFIG.format(venue=ROOT / "configs/venue.yaml", strategy="mine/around_fair.py")
    )
    few = ("--for", "2s", "--json", "--state-dir", tmp_path / "s")
    done = finished("bot", "run", config, *few, cwd=tmp_path)
    summary = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert summary["exit_code"] == 0
    assert summary["requests"]["create"] > 0
    assert not [text for text in summary["findings"] if "strategy" in text]


def test_a_strategy_outside_the_repository_survives_the_simulator(elsewhere):
    few = ("--seeds", "0-1", "--until", "4s", "--quiet", "--json")
    mine = ("--strategy", "mine/around_fair.py")
    done = finished("bot", "simulate", *mine, *few, cwd=elsewhere.parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["seeds"] == 2


@pytest.mark.parametrize(
    "seen", [EventView, RungView, ImpliedView, Intensity, Print, OwnFill, OwnQuote]
)
def test_the_guide_names_every_field_that_a_strategy_sees(seen: type[msgspec.Struct]):
    missing = [name for name in seen.__struct_fields__ if f"`{name}`" not in README.read_text()]
    assert missing == []
