"""Claims about the figures of one setting over its lives."""

import itertools
from collections.abc import Sequence

from bot.lab.evaluate.compare import Comparison, compare
from bot.lab.evaluate.entries import Contender
from bot.lab.evaluate.page import markdown, page
from bot.lab.evaluate.results import RunStore, tasks_of
from bot.lab.evaluate.run import RunMetrics
from bot.lab.evaluate.scenarios import Scenario
from tests.builders.house.tree import ROOT

IDLE = Contender("idle", "fixed_spread", {"half_spread_cents": 49})


def compared(
    runs: Sequence[RunMetrics],
    entries: tuple[Contender, ...] = (IDLE,),
    worlds: tuple[Scenario, ...] = (Scenario(),),
) -> Comparison:
    """A comparison over one seed for each of these runs, the same for every entry and world."""
    store, seeds = RunStore(None, RunMetrics), range(1, 1 + len(runs))
    for key, run in zip(tasks_of(entries, worlds, seeds), itertools.cycle(runs), strict=False):
        store.put(key, run)
    return compare(store, entries, worlds, seeds, None, ROOT)


def test_requests_per_fill_are_undefined_without_fills() -> None:
    found = compared([RunMetrics(requests=40)] * 2)
    assert found.lines[0].chosen.requests_per_fill is None
    assert "| 0 |  | 0.0 | 0.0% |" in markdown(found)


def test_one_run_has_no_deviation_and_no_error() -> None:
    runs = [RunMetrics(net=net, spread=float(net)) for net in (100, 300)]
    assert "| idle |  | 1.00 |  |  | 1.00 |  | 1.0 |" in markdown(compared(runs[:1]))
    two = "| idle |  | 2.00 | 1.41 | 1.41 | 2.00 ± 1.00 | 1.41 | 1.1 |"
    assert two in markdown(compared(runs))


def test_entries_with_one_setting_each_are_not_reported_as_chosen() -> None:
    near = Contender("near", "fixed_spread", {"half_spread_cents": 1}, "lot_qty", (5, 10))
    alone, both = compared([RunMetrics()] * 2), compared([RunMetrics()] * 2, (IDLE, near))
    assert "one setting of each entry, so that none was chosen" in markdown(alone)
    assert "chosen on the very seeds reported" in markdown(both)


def test_an_entry_without_a_rival_has_no_comparison_table() -> None:
    worlds = tuple(Scenario(theme=True, fees=fees) for fees in (1, 2, 3))
    found = compared([RunMetrics()] * 2, worlds=worlds)
    assert "against each other" not in markdown(found)
    assert "gains at equal sd" not in markdown(found)
    assert "Gains:" not in page(found)


def test_markouts_are_weighted_by_shares_and_absent_without_fills() -> None:
    marked = ((4, {"fair_10s": -1.5}), (12, {"fair_10s": 0.5}), (0, {}))
    runs = [RunMetrics(filled_qty=qty, markouts=markouts) for qty, markouts in marked]
    assert compared(runs).lines[0].chosen.markouts == {"fair_10s": 0.0}
    assert compared(runs[2:]).lines[0].chosen.markouts == {}
