"""Claims about docs/tape.md: what it shows is a tape that is played, told apart and paid out."""

import gzip
import json
import re

import pytest

from bot.lab.backtest.tapes import winners
from tests.builders.backtest.made import configured
from tests.builders.house import tree
from tests.builders.io.commands import json_of
from venue.crowd.tape import TapeFault, read_tape, read_tapes
from venue.wire.money import Outcome

PAGE = tree.text(tree.ROOT / "docs/tape.md")
CATALOG, RECORDS, INDEX = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)


def packed(path, text):
    with gzip.open(path, "wt") as file:
        file.write(text)


@pytest.fixture
def folder(tmp_path):
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "catalog.json").write_text(CATALOG)
    packed(shown / "tape.jsonl.gz", RECORDS)
    packed(shown / "underlying.jsonl.gz", INDEX)
    return shown


def test_the_documented_tape_is_read_with_its_outcomes_and_index(folder):
    tape = read_tape(folder)
    assert (tape.name, tape.series, tape.strike_unit) == ("mine-2026-11", "SPX", "index points")
    assert [rung.strike for rung in tape.rungs] == ["6000", "6050"]
    assert len(tape.records) == 4
    assert [price for _, price in tape.values] == ["6021.37"]
    assert list((winners(tape, folder) or {}).values()) == [Outcome.YES, Outcome.NO]


def test_the_documented_tape_can_be_backtested(folder, tmp_path):
    config = configured(tmp_path, "fixed_spread")
    asked = ("--data", folder, "--config", config, "--queue-model", "pessimistic", "--index")
    (result,) = json_of("backtest", *asked)["results"]
    assert (result["records"], result["whole"], result["settled"]) == (4, True, "outcome")


def top(strike, bid, ask):
    return json.dumps(
        {"ts": 1795194000000000000, "ticker": f"W-1-{strike}", "type": "top"}
        | {"yes_bid": bid, "yes_ask": ask}
    )


@pytest.mark.parametrize("count", [3, 4])
def test_a_tape_of_best_prices_needs_four_brackets(tmp_path, count):
    strikes = [10 * place for place in range(1, count + 1)]
    rungs = [{"ticker": f"W-1-{each}", "strike": str(each)} for each in strikes]
    told = {"tape": "w", "strike_unit": "F", "events": [{"event_ticker": "W-1", "rungs": rungs}]}
    (tmp_path / "catalog.json").write_text(json.dumps(told))
    packed(tmp_path / "tape.jsonl.gz", "\n".join(top(each, 20, None) for each in strikes) + "\n")
    if count == 3:
        with pytest.raises(TapeFault, match="fewer than 4 brackets"):
            list(read_tapes(tmp_path))
        return
    assert [rung.strike for rung in read_tape(tmp_path).rungs] == ["15", "25", "35"]
