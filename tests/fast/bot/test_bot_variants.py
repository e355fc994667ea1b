"""Claims about variants: which setting quotes a rung, what it says, and what is compared."""

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.settings import PaceSettings
from bot.lab.variant_comparison import ComparedFill, compare_variant
from bot.strategy.api import EventView, NonsenseQuotes, Quote, Quotes, RungView, Strategy
from bot.strategy.api import StrategyAnswer as Answer
from bot.strategy.variants import Split, Variant, VariedStrategy
from tests.builders.bot.thin import EVENT, FixedQuotes, Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId, Ticker

SECOND = NS_PER_SECOND
TICKERS = ("KX-1-10B", "KX-1-20B", "KX-1-30B", "KX-1-40B")


class At(Strategy):
    """A bid at one price on every rung, what it remembers, and a number of its own."""

    def __init__(self, price: int, name: str = "at", **said: object) -> None:
        super().__init__(price)
        self.name = name  # type: ignore[misc]
        self.said = said
        self.seen: list[EventView] = []

    def quote(self, view: EventView) -> Answer:
        self.seen.append(view)
        bid = (Quote(BookSide.BID, Price(self.params), Qty(1)),)
        return Answer({rung.market_id: bid for rung in view.rungs}, **self.said)


def view(at_s: float = 0, **fields: object) -> EventView:
    rungs = [RungView.example(market_id=MarketId(each), ticker=Ticker(each)) for each in TICKERS]
    return EventView.example(*rungs, unix_s=at_s, **fields)


def prices(answer: Answer) -> list[int]:
    return [answer.quotes[MarketId(each)][0].price for each in TICKERS]


def varied(*variants: tuple[Variant, Strategy]) -> VariedStrategy:
    return VariedStrategy(At(50, "base"), variants)


@pytest.mark.parametrize(
    ("variant", "quoted"),
    [
        (Variant("v"), [40, 40, 40, 40]),
        (Variant("v", rungs=("20B",)), [50, 40, 50, 50]),
        (Variant("v", rungs=("KX-1-20B", "3*B")), [50, 40, 40, 50]),
        (Variant("v", events=("KX-?",), rungs=("?0B",)), [40, 40, 40, 40]),
        (Variant("v", events=("KX-2",)), [50, 50, 50, 50]),
    ],
)
def test_a_variant_quotes_the_rungs_that_its_events_and_rungs_name(variant, quoted):
    assert prices(varied((variant, At(40))).quote(view())) == quoted


def test_the_first_variant_that_holds_on_a_rung_quotes_it():
    strategy = varied((Variant("a", rungs=("20B",)), At(41)), (Variant("b"), At(42)))
    answer = strategy.quote(view())
    assert prices(answer) == [42, 41, 42, 42]
    assert [answer.quoted_by[MarketId(each)] for each in TICKERS] == ["b", "a", "b", "b"]


def test_every_setting_sees_the_whole_event():
    tails = At(40)
    varied((Variant("v", rungs=("10B",)), tails)).quote(view())
    assert [rung.ticker for rung in tails.seen[0].rungs] == list(TICKERS)


def test_a_variant_of_another_event_is_not_asked():
    other = At(40)
    varied((Variant("v", events=("KX-9",)), other)).quote(view())
    assert other.seen == []


def test_a_market_that_no_setting_knows_is_a_fault():
    class Lost(Strategy):
        def quote(self, view: EventView) -> Quotes:
            return None  # type: ignore[return-value]

    with pytest.raises(NonsenseQuotes, match="wanted a mapping"):
        varied((Variant("v"), Lost(None))).quote(view())


@given(st.sampled_from([Split.TIME, Split.RUNGS]), st.integers(0, 10**6), st.integers(0, 10**6))
def test_each_setting_has_each_rung_for_one_block_of_each_pair(split, seed, pair):
    variant = Variant("v", split=split, block_ns=10 * SECOND, seed=seed)
    first, second = (
        [
            variant.holds(Ticker("KX-1"), place, (2 * pair + half) * 10 * SECOND)
            for place in range(4)
        ]
        for half in range(2)
    )
    assert first == [not each for each in second]


def test_a_split_by_rungs_gives_a_variant_every_other_rung_it_covers():
    variant = Variant("v", rungs=("10B", "20B", "40B"), split=Split.RUNGS, block_ns=10 * SECOND)
    got = prices(varied((variant, At(40))).quote(view()))
    assert got[2] == 50
    assert [got[0], got[1], got[3]] in ([40, 50, 40], [50, 40, 50])


def test_which_setting_comes_first_differs_between_pairs_events_and_seeds():
    def drawn(event: str, seed: int) -> list[bool]:
        variant = Variant("v", split=Split.TIME, block_ns=SECOND, seed=seed)
        return [variant.holds(Ticker(event), 0, 2 * pair * SECOND) for pair in range(200)]

    rows = [drawn("KX-1", 0), drawn("KX-2", 0), drawn("KX-1", 1)]
    for row in rows:
        assert 70 < sum(row) < 130
    for one, other in itertools.combinations(rows, 2):
        assert 70 < sum(a is b for a, b in zip(one, other, strict=True)) < 130


def test_the_answer_asks_again_when_the_block_ends():
    variant = Variant("v", split=Split.TIME, block_ns=10 * SECOND)
    assert varied((variant, At(40))).quote(view(1_000_003)).again_s == pytest.approx(7)


def test_the_answer_asks_again_as_soon_as_a_setting_wants():
    variant = Variant("v", split=Split.TIME, block_ns=10 * SECOND)
    assert varied((variant, At(40, again_s=2.0))).quote(view(1_000_003)).again_s == 2.0


def test_memories_and_diagnostics_are_kept_apart():
    strategy = VariedStrategy(
        At(50, memory={"n": 1}, diagnostics={"d": 1.0}),
        [(Variant("v"), At(40, memory={"n": 2}, diagnostics={"d": 2.0}))],
    )
    answer = strategy.quote(view())
    assert answer.memory == {"n": 1, "v:n": 2}
    assert answer.diagnostics == {"d": 1.0, "v:d": 2.0}


def test_each_setting_has_its_own_memory_again():
    base, variant = At(50), At(40)
    VariedStrategy(base, [(Variant("v"), variant)]).quote(view(memory={"n": 1, "v:n": 2}))
    assert base.seen[0].memory == {"n": 1}
    assert variant.seen[0].memory == {"n": 2}


def test_a_setting_that_says_no_memory_keeps_the_one_it_had():
    strategy = VariedStrategy(At(50, memory={"n": 5}), [(Variant("v"), At(40))])
    assert strategy.quote(view(memory={"n": 1, "v:n": 2})).memory == {"n": 5, "v:n": 2}


# --- in the trader --------------------------------------------------------------------------------


class Wide(FixedQuotes):
    bid, ask = 40, 60


def split_by_time() -> VariedStrategy:
    variant = Variant("wide", split=Split.TIME, block_ns=10 * SECOND)
    return VariedStrategy(FixedQuotes(), [(variant, Wide())])


def test_a_quiet_book_is_quoted_by_the_other_setting_once_the_block_ends():
    venue = Thin([50], split_by_time, PaceSettings(decide_ns=0, dwell_ns=0))
    venue.start()
    seen = set()
    for _ in range(20):
        venue.run(1)
        seen.add(tuple(sorted(order.price for order in venue.orders.values())))
    assert {(45, 45), (40, 40)} <= seen


def test_orders_are_attributed_to_the_setting_that_priced_them():
    venue = Thin(
        [50, 50],
        lambda: VariedStrategy(FixedQuotes(), [(Variant("wide", rungs=("110B",)), Wide())]),
        PaceSettings(decide_ns=0),
    )
    venue.start()
    rungs = venue.trader.plan(venue.now_ns).events[0].rungs
    assert [rung.quoted_by for rung in rungs] == ["FixedQuotes", "wide"]


@pytest.mark.parametrize("again_s", [0, -1, float("nan"), float("inf"), "2"])
def test_a_time_to_be_asked_again_that_is_none_pulls_the_event(again_s):
    venue = Thin([50], lambda: At(45, again_s=again_s))
    venue.start()
    assert "again_s" in venue.trader.report(venue.now_ns).events[0].strategy_fault


def test_a_strategy_is_asked_again_when_it_wants_to_be():
    strategy = At(45, again_s=0.5)
    venue = Thin([50], lambda: strategy, PaceSettings(decide_ns=0))
    venue.start()
    before = len(strategy.seen)
    venue.run(10)
    assert len(strategy.seen) - before >= 19


def test_an_old_choice_of_a_strategy_has_no_variants():
    old = b'{"name": "fixed_spread", "params_json": "{}"}'
    assert msgspec.json.decode(old, type=m.StrategyChoice).variants == ()


# --- compared -------------------------------------------------------------------------------------

WIDE = Variant("wide", split=Split.TIME, block_ns=10 * SECOND)


def fill(setting: str, at_s: float, worth: float, event: str = EVENT) -> ComparedFill:
    cents = dict.fromkeys((1, 10, 60, 300), worth)
    rung = Ticker(f"{event}-10B")
    return ComparedFill(Ticker(event), rung, setting, round(at_s * SECOND), 2, cents)


def test_the_difference_is_the_mean_of_the_pairs_that_the_bot_traded_through():
    fills = [fill("wide", 1, 3.0), fill("base", 12, 1.0), fill("wide", 65, 2.0)]
    found = compare_variant(WIDE, "base", fills)
    assert found is not None
    assert found.pairs == 4  # one of them in the middle without a fill
    contrast = found.worth[10]
    per_hour = 3_600 / 10 / 4
    assert contrast.variant == pytest.approx(5.0 * per_hour)
    assert contrast.base == pytest.approx(1.0 * per_hour)
    assert contrast.difference.value == pytest.approx(4.0 * per_hour)
    assert found.qty.difference.value == pytest.approx(2 * per_hour)


def test_fewer_than_five_pairs_give_no_interval():
    found = compare_variant(WIDE, "base", [fill("wide", 1, 3.0)])
    assert found is not None
    assert found.worth[1].difference.least is None


def test_the_interval_holds_the_true_difference():
    fills = [
        fill(setting, 20 * pair + 10 * half, worth + (pair * 7 % 5 - 2))
        for pair in range(200)
        for half, (setting, worth) in enumerate([("wide", 1.0), ("base", 0.5)])
    ]
    found = compare_variant(WIDE, "base", fills)
    assert found is not None
    gap = found.worth[60].difference
    assert gap.low <= 0.5 * 360 <= gap.high


def test_pairs_with_a_fill_whose_value_is_not_known_are_left_out_of_that_horizon():
    late = fill("base", 25, 9.0)._replace(worth_cents={1: 9.0})
    found = compare_variant(WIDE, "base", [fill("wide", 1, 3.0), late])
    assert found is not None
    assert (found.worth[1].pairs, found.worth[300].pairs) == (2, 1)
    assert found.worth[300].base == 0


def test_fills_of_other_settings_and_other_rungs_do_not_count():
    narrow = msgspec.structs.replace(WIDE, rungs=("10B",))
    others = [fill("exit", 3, 99.0), fill("base", 4, 99.0)._replace(rung=Ticker(f"{EVENT}-20B"))]
    found = compare_variant(narrow, "base", [fill("wide", 1, 3.0), *others])
    assert found is not None
    assert found.fills == (1, 0)


def test_a_variant_without_a_split_or_a_fill_has_no_comparison():
    assert compare_variant(Variant("wide"), "base", [fill("wide", 1, 3.0)]) is None
    assert compare_variant(WIDE, "base", [fill("exit", 1, 3.0)]) is None
