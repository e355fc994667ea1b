"""Claims about what a strategy returns with its quotes: diagnostics, and a memory it has again."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bot.core import messages as m
from bot.core.settings import PaceSettings
from bot.strategy.api import (
    DIAGNOSTICS_MAX,
    MEMORY_MAX,
    EventView,
    NonsenseQuotes,
    Quotes,
    RungView,
    Strategy,
    StrategyAnswer,
    checked_output,
    split,
)
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import EVENT, Thin
from venue.wire.money import Price, Qty


class Counting(FixedSpread):
    """Counts its calls in its memory alone, and says the count."""

    name = "counting"

    def quote(self, view: EventView) -> StrategyAnswer:
        count = int(view.memory.get("calls", 0)) + 1
        return StrategyAnswer(super().quote(view), {"calls": count}, {"calls": count, "was": "ok"})


class Noting(Thin):
    """A venue that keeps what was noted of strategies."""

    def __init__(self, make: Callable[[], Strategy]) -> None:
        super().__init__([60, 40], make, PaceSettings(decide_ns=0))
        self.noted: list[tuple[str, dict[str, Any]]] = []

    def on_effect(self, effect: m.Effect) -> None:
        if isinstance(effect, m.Noted) and effect.name.startswith("strategy_"):
            values = json.loads(str(effect.fields.get("values", "{}")))
            self.noted.append((effect.name, values))

    def values(self, name: str) -> list[dict[str, Any]]:
        return [values for noted, values in self.noted if noted == name]


def counting() -> Counting:
    return Counting(Counting.Params())


def begun(make: Callable[[], Strategy], *memories: m.StrategyMemory) -> Noting:
    thin = Noting(make)
    thin.begin(3, m.Started("0" * 20, (), new_account=True, memories=memories))
    for _ in range(3):
        thin.mids[0] += 1
        thin.show(0)
        thin.run(1)
    return thin


def test_a_strategy_has_its_memory_again_in_the_next_view():
    thin = begun(counting)
    calls = [each["calls"] for each in thin.values("strategy_memory")]
    assert calls == list(range(1, thin.rung(0).ladder.health.calls + 1))
    assert len(calls) > 2


def test_a_strategy_begins_with_the_memory_of_an_earlier_run():
    thin = begun(counting, m.StrategyMemory(EVENT, "counting", '{"calls":1000}'))
    assert thin.values("strategy_memory")[0] == {"calls": 1001, "was": "ok"}


def test_the_memory_of_another_strategy_is_not_handed_back():
    thin = begun(counting, m.StrategyMemory(EVENT, "other", '{"calls":1000}'))
    assert thin.values("strategy_memory")[0]["calls"] == 1


def test_a_view_cannot_be_used_to_change_the_memory():
    class Careless(FixedSpread):
        def quote(self, view: EventView) -> StrategyAnswer:
            seen.append(dict(view.memory))
            view.memory["planted"] = 1  # type: ignore[index]
            return StrategyAnswer(super().quote(view), memory={"kept": 1} if not seen[1:] else None)

    seen: list[dict[str, Any]] = []
    begun(lambda: Careless(Careless.Params()))
    assert seen[0] == {}
    assert len(seen) > 2
    assert all(each == {"kept": 1} for each in seen[1:])


def test_diagnostics_are_reported_and_journalled_when_they_change():
    class Steady(FixedSpread):
        def quote(self, view: EventView) -> StrategyAnswer:
            return StrategyAnswer(super().quote(view), {"fixed": 1, "skew:a": np.float64(-0.5)})

    thin = begun(lambda: Steady(Steady.Params()))
    assert thin.values("strategy_diagnostics") == [{"fixed": 1.0, "skew:a": -0.5}]
    (event,) = thin.trader.report(thin.now_ns).events
    assert event.diagnostics == {"fixed": 1.0, "skew:a": -0.5}


def test_a_strategy_with_quotes_alone_leaves_no_note():
    assert begun(lambda: FixedSpread(FixedSpread.Params())).noted == []


def test_nonsense_beside_quotes_pulls_the_event_and_keeps_the_memory():
    class Later(Counting):
        def quote(self, view: EventView) -> StrategyAnswer:
            answer = super().quote(view)
            if view.memory.get("calls") == 2:
                return StrategyAnswer(answer.quotes, {"edge": math.nan}, {"calls": 999})
            return answer

    thin = begun(lambda: Later(Later.Params()))
    assert thin.rung(0).ladder.health.fault.startswith(
        "counting: NonsenseQuotes: diagnostics: edge nan; wanted a finite number"
    )
    assert [each["calls"] for each in thin.values("strategy_memory")] == [1, 2]
    assert thin.rung(0).wanted == ()


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (StrategyAnswer({}, {"a": math.inf}), "diagnostics: a inf; wanted a finite number"),
        (StrategyAnswer({}, {"a": "x"}), "diagnostics: a 'x'; wanted a finite number"),
        (StrategyAnswer({}, {"a": 10**400}), "wanted a finite number"),
        (StrategyAnswer({}, {"": 1.0}), "diagnostics: name ''; wanted 1 to 64 letters"),
        (StrategyAnswer({}, {"a b": 1.0}), "diagnostics: name 'a b'"),
        (StrategyAnswer({}, {3: 1.0}), "diagnostics: name '3'"),
        (StrategyAnswer({}, [1.0]), "diagnostics: wanted a mapping of names, got list"),
        (
            StrategyAnswer({}, {str(each): 1.0 for each in range(DIAGNOSTICS_MAX + 1)}),
            "diagnostics: 65 names; wanted 64 at most",
        ),
        (StrategyAnswer({}, {}, {"a": math.nan}), "memory: a nan; wanted a finite number"),
        (StrategyAnswer({}, {}, {"a": "x" * 101}), "memory: a 'xxx"),
        (StrategyAnswer({}, {}, {"a": [1]}), r"memory: a \[1\]; wanted a finite number, True"),
        (StrategyAnswer({}, {}, {"a": None}), "memory: a None"),
        (StrategyAnswer({}, {}, {"a": 2**63}), "memory: a 9223"),
        (
            StrategyAnswer({}, {}, {str(each): 1 for each in range(MEMORY_MAX + 1)}),
            "memory: 65 names; wanted 64 at most",
        ),
    ],
)
def test_what_is_no_name_and_value_is_refused(answer, fault):
    with pytest.raises(NonsenseQuotes, match=fault):
        checked_output(answer)


def test_numbers_of_numpy_are_taken_as_plain_ones():
    memory = {"count": np.int64(3), "ewma": np.float32(0.5), "on": True, "at": "b"}
    checked = checked_output(StrategyAnswer({}, {"n": np.int64(3)}, memory))
    assert checked.diagnostics == {"n": 3.0}
    assert checked.memory == {"count": 3, "ewma": 0.5, "on": True, "at": "b"}
    assert [type(each) for each in checked.memory.values()] == [int, float, bool, str]


def test_an_example_view_is_quoted_as_a_market_is():
    rung = RungView.example("KX-1-T50", bids=((Price(30), Qty(20)),), yes_qty=Qty(5))
    assert (rung.fair_cents, rung.microprice_cents) == (45.0, 35.0)
    assert (rung.net_qty, rung.best_bid, rung.best_ask) == (5, 30, 60)
    view = EventView.example(rung, RungView.example("KX-1-T60", strike=60.0), now_s=7.0)
    answer: Quotes = FixedSpread(FixedSpread.Params()).quote(view)
    assert split(answer, view).resting.keys() == {each.market_id for each in view.rungs}
    assert EventView.example().rungs == (RungView.example(),)
    with pytest.raises(TypeError, match="no_such_field"):
        EventView.example(no_such_field=1)


def test_an_example_view_of_an_empty_book_has_no_fair_value():
    rung = RungView.example(bids=())
    assert (rung.fair_cents, rung.microprice_cents, rung.best_bid) == (None, None, None)
