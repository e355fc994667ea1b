"""Claims about `laddermaker.lab.backtest`: it is the command, it sets keys, it makes frames."""

import msgspec
import pytest

from bot.config.bot_config import ConfigFault
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from laddermaker import lab
from tests.builders.backtest.made import book, configured, ns, trade, written
from tests.builders.io.commands import json_of
from venue.wire.instant import from_ns
from venue.wire.money import BookSide, Price, Qty

TRADES = [
    *[book(second / 2, [[40, 30]], [[60, 50]]) for second in range(60)],
    trade(31, 39, 25, "no"),
    trade(32, 62, 25, "yes"),
    book(33, [[40, 30]], [[60, 50]]),
]


class Inside(Strategy):
    """Quotes a cent inside of the touch, from a class that no file names."""

    class Params(Strategy.Params):
        lot_qty: int = 5

    def quote(self, view: EventView) -> Quotes:
        qty = Qty(self.params.lot_qty)
        return {
            rung.market_id: (
                Quote(BookSide.BID, Price(41), qty),
                Quote(BookSide.ASK, Price(59), qty),
            )
            for rung in view.rungs
        }


@pytest.fixture
def data(tmp_path):
    return written(tmp_path / "tape", TRADES)


def command(*options):
    return json_of("backtest", *options)["results"]


def money(results):
    """results: as found, or as the command prints them."""
    keys = ("bound", "net_millicents", "fees_cents", "fills", "requests")
    return [[row[key] for key in keys] for row in msgspec.to_builtins(list(results))]


def test_a_backtest_from_python_equals_the_commands_to_the_cent(tmp_path, data):
    config = configured(tmp_path, "fixed_spread")
    sets = ("--set", "strategy.params.half_spread_cents=9", "--set", "strategy.params.lot_qty=7")
    asked = ("--data", data, "--config", config, "--queue-model", "pessimistic,expected")
    printed = command(*asked, *sets)
    found = lab.backtest(
        "fixed_spread", data, config, queue_models=["pessimistic", "expected"],
        strategy__params__half_spread_cents=9, **{"strategy.params.lot_qty": 7},
    )  # fmt: skip
    assert money(found.results) == money(printed)
    assert sum(each.fills for each in found.results) > 0
    assert money(printed[:1]) != money(command(*asked[:-1], "pessimistic"))


def test_a_class_of_this_process_is_played_as_a_file_with_it_is(tmp_path, data):
    config = configured(tmp_path, "fixed_spread")
    named = f"{Inside.__module__}:Inside"
    asked = ("--data", data, "--config", config, "--set", f"strategy.name={named}")
    asked += ("--queue-model", "pessimistic")
    found = lab.backtest(Inside, data, config, queue_models=["pessimistic"])
    assert money(found.results) == money(command(*asked))
    assert found.results[0].fills > 0


def test_a_class_that_was_defined_again_is_another_strategy(tmp_path, data):
    config = configured(tmp_path, "fixed_spread")

    def made(price: int) -> type[Strategy]:
        class Local(Strategy):
            def quote(self, view: EventView) -> Quotes:
                quote = Quote(BookSide.BID, Price(price), Qty(5))
                return {rung.market_id: (quote,) for rung in view.rungs}

        return Local

    bids = []
    for price in (35, 41):
        found = lab.backtest(made(price), data, config, queue_models=["optimistic"])
        bids.append(set(found.quotes().query("side == 'bid'")["wanted_cents"].dropna()))
    assert bids == [{35}, {41}]


def test_a_class_of_this_process_is_not_played_in_another_one(tmp_path, data):
    class Local(Inside):
        pass

    with pytest.raises(ValueError, match="a class of this process alone"):
        lab.backtest(Local, data, configured(tmp_path, "fixed_spread"), jobs=2)


def test_keywords_that_are_no_keys_are_refused(tmp_path, data):
    config = configured(tmp_path, "fixed_spread")
    with pytest.raises(ValueError, match="levels: neither an option nor a key"):
        lab.backtest(None, data, config, levels=3)
    with pytest.raises(ConfigFault, match=r"^--set strategy\.params\.lots: "):
        lab.backtest(None, data, config, strategy__params__lots=3)
    with pytest.raises(ConfigFault, match=r"--set venue\.embedded: it says where to trade"):
        lab.backtest(None, data, config, venue__embedded="other.yaml")


def test_the_frames_of_a_backtest_have_a_time_index(tmp_path, data):
    pandas = pytest.importorskip("pandas")
    found = lab.backtest(Inside, data, configured(tmp_path, "fixed_spread"))
    fills = found.fills(time_index=True)
    assert isinstance(fills.index, pandas.DatetimeIndex)
    assert str(fills.index.tz) == "UTC"
    assert fills.index[0] == pandas.Timestamp(found.fills()["at_ns"][0], unit="ns", tz="UTC")
    table = found.frame()
    assert list(table["queue_model"]) == ["pessimistic", "expected", "optimistic"]
    assert [round(each) for each in table["net_cents"] * 1000] == [
        each.net_millicents for each in found.results
    ]


def test_a_figure_of_a_backtest_is_drawn_for_a_notebook(tmp_path, data):
    config = configured(tmp_path, "fixed_spread")
    found = lab.backtest(Inside, data, config, queue_models=["pessimistic"])
    assert "<svg" in str(found.plot("inventory"))
    with pytest.raises(ValueError, match="no such figure; there are profit"):
        found.plot("sharpe")


def test_a_backtest_says_when_the_wind_down_halves_sizes(tmp_path, data):
    config = configured(tmp_path, "fixed_spread")
    few = {"queue_models": ["pessimistic"]}
    found = lab.backtest(Inside, data, config, wind_down__halve_ms=3_600_000, **few)
    assert "wind-down: sizes were halved for 0.01 of 0.01 hours" in str(found)
    assert found.frame()["halved_hours"][0] == pytest.approx(found.results[0].hours, rel=0.05)
    assert "wind-down" not in str(lab.backtest(Inside, data, config, **few))


def test_a_backtest_quotes_nothing_around_a_date_of_the_calendar(tmp_path, data):
    config = configured(tmp_path, "fixed_spread")
    trades_at = {"at": from_ns(ns(31)), "name": "results", "before_ms": 5_000, "after_ms": 1_500}

    def filled(*dates):
        found = lab.backtest(Inside, data, config, queue_models=["expected"], calendar=dates)
        return sum(each.fills for each in found.results)

    both = filled()
    assert filled(trades_at | {"event": "KX-2"}) == both
    assert filled(trades_at) == 0
    assert 0 < filled(trades_at | {"after_ms": 500}) < both
