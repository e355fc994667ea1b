"""Claims about the figures of one setting over its lives."""

from bot.lab.evaluate.compare import compare
from bot.lab.evaluate.entries import Contender
from bot.lab.evaluate.page import markdown, page
from bot.lab.evaluate.results import RunStore, tasks_of
from bot.lab.evaluate.run import RunMetrics
from bot.lab.evaluate.scenarios import Scenario
from tests.builders.house.tree import ROOT

IDLE = Contender("idle", "fixed_spread", {"half_spread_cents": 49})


def test_requests_per_fill_are_undefined_without_fills() -> None:
    lives, seeds = RunStore(None, RunMetrics), range(1, 3)
    for key in tasks_of((IDLE,), (Scenario(),), seeds):
        lives.put(key, RunMetrics(requests=40))
    found = compare(lives, (IDLE,), (Scenario(),), seeds, None, ROOT)
    assert found.lines[0].chosen.requests_per_fill is None
    assert "| 0 |  | 0.0 | 0.0% |" in markdown(found)


def test_one_run_has_no_deviation_and_no_error() -> None:
    lives = RunStore(None, RunMetrics)
    for key, net in zip(tasks_of((IDLE,), (Scenario(),), range(1, 3)), (100, 300), strict=True):
        lives.put(key, RunMetrics(net=net, spread=float(net)))
    one, two = (compare(lives, (IDLE,), (Scenario(),), range(1, 1 + n), None, ROOT) for n in (1, 2))
    assert "| idle |  | 1.00 |  |  | 1.00 |  | 1.0 |" in markdown(one)
    assert "| idle |  | 2.00 | 1.41 | 1.41 | 2.00 ± 1.00 | 1.41 | 1.1 |" in markdown(two)


def test_entries_with_one_setting_each_are_not_reported_as_chosen() -> None:
    lives, seeds = RunStore(None, RunMetrics), range(1, 3)
    pair = (IDLE, Contender("near", "fixed_spread", {"half_spread_cents": 1}, "lot_qty", (5, 10)))
    for key in tasks_of(pair, (Scenario(),), seeds):
        lives.put(key, RunMetrics())
    alone = compare(lives, (IDLE,), (Scenario(),), seeds, None, ROOT)
    both = compare(lives, pair, (Scenario(),), seeds, None, ROOT)
    assert "one setting of each entry, so that none was chosen" in markdown(alone)
    assert "chosen on the very seeds reported" in markdown(both)


def test_an_entry_without_a_rival_has_no_comparison_table() -> None:
    lives, seeds = RunStore(None, RunMetrics), range(1, 3)
    worlds = tuple(Scenario(theme=True, fees=fees) for fees in (1, 2, 3))
    for key in tasks_of((IDLE,), worlds, seeds):
        lives.put(key, RunMetrics())
    found = compare(lives, (IDLE,), worlds, seeds, None, ROOT)
    assert "against each other" not in markdown(found)
    assert "gains at equal sd" not in markdown(found)
    assert "Gains:" not in page(found)


def test_markouts_are_weighted_by_shares_and_absent_without_fills() -> None:
    lives = RunStore(None, RunMetrics)
    marked = ((4, {"fair_10s": -1.5}), (12, {"fair_10s": 0.5}), (0, {}))
    tasks = tasks_of((IDLE,), (Scenario(),), range(1, 4))
    for key, (qty, markouts) in zip(tasks, marked, strict=True):
        lives.put(key, RunMetrics(filled_qty=qty, markouts=markouts))
    found = compare(lives, (IDLE,), (Scenario(),), range(1, 4), None, ROOT)
    assert found.lines[0].chosen.markouts == {"fair_10s": 0.0}
    none = compare(lives, (IDLE,), (Scenario(),), range(3, 4), None, ROOT)
    assert none.lines[0].chosen.markouts == {}
