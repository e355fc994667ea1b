"""The joint ladder: joint skew, whole-cent prices, order across rungs."""

import random
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.strategy.api import (
    ComingDate,
    EventView,
    Intensity,
    OwnFill,
    Quotes,
    RungView,
)
from bot.strategy.pricing.skew import Rule
from strategies.ladder_joint import LadderJoint
from tests.builders.scale import cases
from tests.builders.strategies.views import ladder, prices, rung, view, views
from venue.wire.money import BookSide, FeeRate, Price, Qty
from venue.wire.names import MarketId

BID, ASK = BookSide.BID, BookSide.ASK
SIDES = (BID, ASK)


def make(**params: float | str) -> LadderJoint:
    return LadderJoint(LadderJoint.Params.model_validate(params))


def plain(**params: float | str) -> LadderJoint:
    """Without costs other than fees and skew; rungs near the edges quoted like all others."""
    return make(adverse_probit=0, staleness_s=0, kappa_cents_per_day=0, edge_cents=0, **params)


curves = st.lists(st.floats(0.005, 0.995), min_size=1, max_size=12).map(
    lambda chances: sorted(chances, reverse=True)
)


# --- the price ------------------------------------------------------------------------------------


def test_a_lone_even_rung_is_quoted_as_worked_out_by_hand() -> None:
    # c = 2 / (0.8 * 10 * 2.5) = 0.1 a share, and half of what a lot moves the value by is its own
    # skew. Worth to a bid of 10: 49.5, best 1/0.6 behind: 47.83; exp(-0.6 * 2) * 1.5 = 0.452 at 48
    # beats exp(-0.6 * 3) * 2.5 = 0.413 at 47.
    # The second level, of 15, is worth 50 - 0.1 * 17.5 = 48.25 to a bid: 0.207 at 47, 0.204 at 46.
    # The third, of 22, is worth 50 - 0.1 * 36 = 46.4: 0.0697 at 45, 0.0656 at 44.
    quotes = plain().quote(view(rung(0, 50.0)))
    assert [(q.side, q.price, q.qty) for q in quotes["m0"]] == [
        (BID, 48, 10),
        (BID, 47, 15),
        (BID, 45, 22),
        (ASK, 52, 10),
        (ASK, 53, 15),
        (ASK, 55, 22),
    ]


@pytest.mark.parametrize("rate", ["0.0005", "0.0001", "0.00000001"])
def test_a_tiny_fee_does_not_enlarge_lots_or_widen_quotes(
    rate: str,
) -> None:
    quotes = plain().quote(view(rung(0, 50.0, rate=FeeRate.parse(rate))))["m0"]
    assert max(q.price for q in quotes if q.side is BID) >= 43
    assert all(q.qty <= 100 * 1.5**2 for q in quotes)


def test_a_level_whose_price_is_taken_moves_a_tick_behind() -> None:
    # c = 2 / (0.8 * 10 * 7) = 0.0357. Worth to the bid of 10: 49.82, to that of 15: 49.375, which
    # would rather stand at 48 as well. The third stands behind both.
    quotes = plain(q_half_lots=7).quote(view(rung(0, 50.0)))
    assert prices(quotes, 0, BID) == [48, 47, 46]
    assert prices(quotes, 0, ASK) == [52, 53, 54]


def test_the_maker_fee_widens_the_quotes() -> None:
    # 0.07 at 48 cents: 10 shares pay ceil(17.47) = 18 cents, 1.8 a share: the best price moves
    # from 47.83 to 46.03, and 46 gains more than 47.
    quotes = plain().quote(view(rung(0, 50.0, rate=FeeRate.parse("0.07"))))
    assert prices(quotes, 0, BID)[0] == 46
    assert prices(quotes, 0, ASK)[0] == 54


def test_each_cost_widens_the_quotes() -> None:
    def width(strategy: LadderJoint, sd: float = 0.0, seconds: float = 90 * 86_400.0) -> int:
        quotes = strategy.quote(view(rung(0, 50.0, sd=sd), seconds=seconds))
        return prices(quotes, 0, ASK)[0] - prices(quotes, 0, BID)[0]

    bare = width(plain())
    assert width(plain(doubt_part=0.5), sd=4.0) > width(plain(), sd=4.0)
    assert width(make(adverse_probit=0.2, staleness_s=0)) > bare
    assert width(make(adverse_probit=0, staleness_s=60), seconds=3_600.0) > bare


@pytest.mark.parametrize(("sd", "size"), [(0.0, 10), (1.5, 5), (4.5, 1), (50.0, 1)])
def test_an_uncertain_fair_value_is_quoted_in_smaller_size(sd: float, size: int) -> None:
    quotes = make(levels=1).quote(view(rung(0, 50.0, sd=sd)))
    assert {quote.qty for quote in quotes["m0"]} == {size}


# --- skew -----------------------------------------------------------------------------------------


def test_q_half_lots_of_inventory_skew_a_rung_by_about_the_half_spread() -> None:
    values = [80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0]

    def middle(net: int) -> float:
        rungs = [rung(i, v, net=net if i == 3 else 0) for i, v in enumerate(values)]
        quotes = plain(q_half_lots=7, skew_half_spread_cents=4, levels=1).quote(view(*rungs))
        return (prices(quotes, 3, BID)[0] + prices(quotes, 3, ASK)[0]) / 2

    assert middle(0) - middle(70) == pytest.approx(4.0, abs=1.0)


def drawn(rng: random.Random, count: int) -> list[RungView]:
    """Rungs of a ladder with books and holdings of any kind."""
    fairs = sorted((rng.uniform(0.5, 99.5) for _ in range(count)), reverse=True)
    rungs = []
    for index, fair in enumerate(fairs):
        bid = rng.choice([None, rng.randint(1, 98)])
        ask = rng.choice([None, rng.randint(1 if bid is None else bid + 1, 99)])
        rate = FeeRate.parse(rng.choice(["0", "0.0175", "0.07"]))
        net = rng.randint(-300, 300) if rng.random() < 0.7 else 0
        sd = rng.choice([0.2, 1.0, 3.0])
        rungs.append(rung(index, fair, sd=sd, bid=bid, ask=ask, net=net, rate=rate))
    return rungs


def with_net(of: RungView, net: int) -> RungView:
    return replaced(of, yes_qty=Qty(max(0, net)), no_qty=Qty(max(0, -net)))


def replaced(of: RungView, **changes: object) -> RungView:
    return RungView(**{name: getattr(of, name) for name in of.__struct_fields__} | changes)


@pytest.mark.parametrize("rule", Rule)
def test_more_yes_inventory_on_any_rung_raises_no_price_of_any_rung(rule: Rule) -> None:
    """What holds exactly: level by level, no price rises; no bid appears, and no ask is left out.
    A far quote counts as no quote: it stands at the last price wherever nothing better does."""
    rng = random.Random(f"more yes {rule}")
    left = cases(1_000_000, quick=2_000) // len(Rule) + 1
    while left > 0:
        strategy = make(rule=rule, far_qty=0, alpha=rng.choice([1.0, 0.5]))
        rungs = drawn(rng, rng.randint(1, 8))
        limit = rng.choice([None, 3_000, 20_000])
        before = strategy.quote(view(*rungs, limit=limit))
        for _ in range(20):
            at = rng.randrange(len(rungs))
            rungs[at] = with_net(rungs[at], rungs[at].net_qty + rng.randint(1, 80))
            after = strategy.quote(view(*rungs, limit=limit))
            for index in range(len(rungs)):
                low, high = prices(after, index, BID), prices(before, index, BID)
                assert len(low) <= len(high)
                assert all(new <= old for new, old in zip(low, high, strict=False))
                low, high = prices(after, index, ASK), prices(before, index, ASK)
                assert len(low) >= len(high)
                assert all(new <= old for new, old in zip(low, high, strict=False))
            before = after
            left -= 1


@pytest.mark.parametrize("rule", Rule)
def test_past_views_do_not_change_the_quotes_of_a_moved_curve(
    rule: Rule,
) -> None:
    rng = random.Random(f"fresh {rule}")
    strategy = make(rule=rule)
    for _ in range(60):
        seen = view(*drawn(rng, 6), limit=rng.choice([None, 3_000, 20_000]))
        assert strategy.quote(seen) == make(rule=rule).quote(seen)


def test_inventory_on_one_rung_lowers_the_quotes_of_its_neighbours() -> None:
    values = [70.0, 60.0, 50.0, 40.0, 30.0]

    def quoted(net: int) -> list[int]:
        rungs = [rung(i, v, net=net if i == 2 else 0) for i, v in enumerate(values)]
        quotes = plain(levels=1).quote(view(*rungs))
        return [prices(quotes, i, ASK)[0] for i in range(5)]

    flat, long = quoted(0), quoted(300)
    assert long[2] < flat[2]
    assert long[1] < flat[1]
    assert long[3] < flat[3]
    assert flat[2] - long[2] >= flat[0] - long[0]


def test_pairs_of_yes_and_no_do_not_skew() -> None:
    both = rung(0, 50.0)
    paired = replaced(both, yes_qty=500, no_qty=500)
    assert plain().quote(view(paired)) == plain().quote(view(both))


def test_the_second_level_is_priced_as_if_the_first_had_filled() -> None:
    steep = plain(skew_half_spread_cents=20, q_half_lots=1)
    both = steep.quote(view(rung(0, 50.0)))
    # A lot of 15 halves c's meaning per share, so its half spread is scaled to keep c the same.
    after = plain(skew_half_spread_cents=20, q_half_lots=10 / 15, levels=1, lot_qty=15)
    # The skew of what is held is taken to a quarter of a cent, that of the own size is not.
    first = prices(after.quote(view(rung(0, 50.0, net=10))), 0, BID)[0]
    assert prices(both, 0, BID)[1] == pytest.approx(first, abs=1)
    assert prices(both, 0, BID)[0] > first + 10


# --- under a limit of loss ------------------------------------------------------------------------


def test_under_a_tight_loss_limit_quotes_widen_by_what_a_share_could_lose() -> None:
    # A bid could lose nine times what an ask does: 2.7 cents are asked of it, 0.3 of the ask.
    free = plain(levels=1).quote(view(rung(0, 90.0)))
    tight = plain(levels=1, hurdle_cents_per_dollar=3).quote(view(rung(0, 90.0), limit=1_000))
    assert prices(tight, 0, BID)[0] <= prices(free, 0, BID)[0] - 2
    assert prices(tight, 0, ASK) == prices(free, 0, ASK)


def test_under_a_tight_loss_limit_the_side_that_reduces_the_worst_case_is_narrower() -> None:
    # An ask of what is held frees 60 cents a share: 1.8 cents are given to it.
    held = rung(0, 60.0, net=10)
    free = plain(levels=1).quote(view(held))
    tight = plain(levels=1, hurdle_cents_per_dollar=3).quote(view(held, limit=1_000))
    assert prices(tight, 0, ASK)[0] < prices(free, 0, ASK)[0]
    assert prices(tight, 0, BID)[0] < prices(free, 0, BID)[0]


def test_an_ample_loss_limit_or_no_hurdle_does_not_change_the_quotes() -> None:
    held = [rung(i, v, net=n) for i, v, n in ((0, 95.0, 30), (1, 60.0, -5), (2, 20.0, 8))]
    free = make().quote(view(*held))
    assert make().quote(view(*held, limit=1_000_000)) == free
    assert make(hurdle_cents_per_dollar=0).quote(view(*held, limit=1_000)) == free
    assert make().quote(view(*held, limit=1_000)) != free


def curve(*fairs: float | None) -> EventView:
    return view(*(rung(at, fair, sd=0.8) for at, fair in enumerate(fairs)))


HELD = [rung(at, fair, net=net) for at, fair, net in ((0, 95.0, 30), (1, 60.0, -5))]


def steep() -> LadderJoint:
    return plain(skew_half_spread_cents=20, q_half_lots=1)


Change = tuple[Callable[[], LadderJoint], EventView, EventView]
CHANGES: dict[str, Change] = {
    "a tight loss limit": (make, view(*HELD), view(*HELD, limit=1_000)),
    "a moved curve": (make, curve(70.0, 50.0, 30.0), curve(74.0, 53.0, 31.0)),
    "a moved neighbour": (steep, curve(50.0, 50.0), curve(50.0, 1.0)),
    "a lower strike no longer capped": (plain, curve(50.0, 50.8), curve(50.9, 50.8)),
    "a moved book": (
        plain,
        view(rung(0, 50.0, bid=30, ask=60)),
        view(rung(0, 50.0, bid=30, ask=45)),
    ),
    "a missing fair value": (make, curve(70.0, 50.0, 30.0), curve(70.0, None, 30.0)),
    "other rungs": (make, curve(70.0, 50.0), curve(90.0, 70.0, 50.0)),
}


@pytest.mark.parametrize(("fresh", "first", "second"), CHANGES.values(), ids=CHANGES)
def test_a_changed_view_is_quoted_as_by_a_fresh_strategy_and_so_is_the_way_back(
    fresh: Callable[[], LadderJoint], first: EventView, second: EventView
) -> None:
    strategy = fresh()
    for seen in (first, second, first):
        assert strategy.quote(seen) == fresh().quote(seen)


# --- order, legality, both sides ------------------------------------------------------------------


@settings(deadline=None)
@given(views(), st.sampled_from(SIDES), st.integers(0, 2), st.sampled_from(Rule))
def test_no_level_of_a_side_rises_with_the_strike(
    seen: EventView, side: BookSide, level: int, rule: Rule
) -> None:
    # But for the far quotes, which stand at the last price of a side that has nothing else.
    quotes = make(rule=rule, far_qty=0).quote(seen)
    ladder = [prices(quotes, index, side) for index in range(len(seen.rungs))]
    at_level = [side_prices[level] for side_prices in ladder if len(side_prices) > level]
    assert at_level == sorted(at_level, reverse=True)


@settings(deadline=None)
@given(views())
def test_every_rung_is_quoted_on_each_side_with_a_legal_price(seen: EventView) -> None:
    quotes = make().quote(seen)
    asks_left = [each for each in seen.rungs if each.fair_cents is not None]
    for index, each in enumerate(seen.rungs):
        if each.fair_cents is not None:
            assert prices(quotes, index, BID) or each.best_ask == 1
            assert prices(quotes, index, ASK) or each.best_bid == 99
    assert len(quotes) == len(asks_left)


def test_a_side_without_edge_gets_a_small_quote_at_the_last_price() -> None:
    quotes = make(far_qty=2).quote(view(rung(0, 99.4), rung(1, 0.6)))
    assert [(q.price, q.qty) for q in quotes["m0"] if q.side is ASK] == [(99, 2)]
    assert [(q.price, q.qty) for q in quotes["m1"] if q.side is BID] == [(1, 2)]
    bare = make(far_qty=0).quote(view(rung(0, 99.4), rung(1, 0.6)))
    assert (prices(bare, 0, ASK), prices(bare, 1, BID)) == ([], [])


def test_a_crossing_quote_moves_a_tick_behind_the_touch() -> None:
    quotes = plain(levels=1).quote(view(rung(0, 50.0, bid=30, ask=45)))
    assert prices(quotes, 0, BID) == [44]


def test_noise_of_a_hundredth_of_a_cent_does_not_move_a_quote() -> None:
    strategy = make()
    values = [70.0, 50.0, 30.0]
    first = strategy.quote(view(*(rung(i, v, sd=0.8) for i, v in enumerate(values))))
    again = strategy.quote(view(*(rung(i, v + 0.01, sd=0.81) for i, v in enumerate(values))))
    assert again == first


# --- what is learned, and what there is room for --------------------------------------------------


def spread(quotes: Quotes, index: int = 0) -> int:
    return prices(quotes, index, ASK)[0] - prices(quotes, index, BID)[0]


def seen_with(of: EventView, intensity: Intensity | None, cash: int | None = None) -> EventView:
    return EventView(
        of.event_ticker, of.is_ladder, of.seconds_to_resolution, None, of.rungs,
        cash_cents=cash, intensity=intensity,
    )  # fmt: skip


def test_variance_of_coming_dates_counts_as_time_and_ties_up_no_cash() -> None:
    """Such a date skews as that much more time would; the charge for cash is of the real time."""

    def quoted(days: float, worth_days: float = 0.0, kappa: float = 0.0) -> Quotes:
        seen = view(rung(0, 50.0, net=60), seconds=days * 86_400.0)
        if worth_days:
            date = ComingDate("results", 3_600.0, worth_days * 86_400.0)
            seen = msgspec.structs.replace(seen, dates=(date,))
        return make(full_skew_days=60, kappa_cents_per_day=kappa).quote(seen)

    assert quoted(2, 58) == quoted(60) != quoted(2)
    assert quoted(2, 58, kappa=0.5) != quoted(60, kappa=0.5)


def test_a_slower_decay_of_fills_widens_the_quotes() -> None:
    seen = view(rung(0, 50.0))
    slow, fast = (Intensity(0.01, decay, 100) for decay in (0.3, 1.5))
    assert spread(make(q_half_lots=7).quote(seen_with(seen, slow))) > spread(
        make(q_half_lots=7).quote(seen)
    )
    assert spread(make(q_half_lots=7).quote(seen_with(seen, fast))) < spread(
        make(q_half_lots=7).quote(seen)
    )
    deaf = make(q_half_lots=7, learn_intensity=False)
    assert deaf.quote(seen_with(seen, slow)) == make(q_half_lots=7).quote(seen)


def test_an_intensity_without_prints_is_ignored() -> None:
    seen = view(rung(0, 50.0))
    assert make().quote(seen_with(seen, Intensity(0.01, 0.3, 0))) == make().quote(seen)


def test_with_risk_aversion_rarer_fills_skew_the_quotes_more() -> None:
    seen = view(rung(0, 50.0, net=60), seconds=86_400.0)

    def middle(amplitude: float) -> float:
        strategy = plain(risk_aversion_per_cent=1e-4, learn_intensity=False)
        quotes = strategy.quote(seen_with(seen, Intensity(amplitude, 0.6, 100)))
        return (prices(quotes, 0, BID)[0] + prices(quotes, 0, ASK)[0]) / 2

    assert middle(1e-4) < middle(1e-1) <= 50


def test_learned_adverse_selection_replaces_the_assumed_cost() -> None:
    def quoted(of: RungView) -> Quotes:
        return make(q_half_lots=7).quote(view(of))

    bare = rung(0, 50.0)
    toxic = replaced(bare, adverse_ask_cents=3.0)
    harmless = replaced(bare, adverse_bid_cents=0.0)
    ask = prices(quoted(bare), 0, ASK)[0]
    assert prices(quoted(toxic), 0, ASK)[0] == ask + 3
    assert prices(quoted(toxic), 0, BID) == prices(quoted(bare), 0, BID)
    assert prices(quoted(harmless), 0, BID)[0] >= 100 - ask


def test_learned_adverse_selection_is_capped_by_the_informed_share() -> None:
    mad = replaced(rung(0, 50.0), adverse_ask_cents=40.0)
    capped = make(informed_max=0.1)  # 200 * 0.1 / 4 = 5 cents at 50
    free = make(informed_max=0.0)
    assert (
        prices(capped.quote(view(mad)), 0, ASK)[0] - prices(free.quote(view(mad)), 0, ASK)[0] == 5
    )


def test_a_stale_book_is_quoted_a_tick_further_and_resting_orders_may_stay() -> None:
    fresh = rung(0, 50.0, bid=30, ask=45)
    old = replaced(fresh, book_age_s=3.0)
    (first, *_) = plain(levels=1).quote(view(fresh))["m0"]
    (second, *_) = plain(levels=1).quote(view(old))["m0"]
    assert (first.price, second.price, second.limit) == (44, 43, 44)


def test_near_1_and_99_cents_only_the_reducing_side_is_quoted_in_size() -> None:
    seen = view(rung(0, 98.5, net=-7), rung(1, 50.0), rung(2, 1.5, net=25))
    quotes = make(far_qty=0, edge_cents=3).quote(seen)
    assert [(q.side, q.qty) for q in quotes["m0"]] == [(BID, 7)]
    assert {q.side for q in quotes["m1"]} == {BID, ASK}
    assert sum(q.qty for q in quotes["m2"]) == 25
    assert {q.side for q in quotes["m2"]} == {ASK}


def test_scarce_cash_limits_the_sizes_but_not_the_prices() -> None:
    seen = view(rung(0, 50.0))
    rich = make(far_qty=0).quote(seen)
    poor = make(far_qty=0).quote(seen_with(seen, None, cash=600))
    assert prices(poor, 0, BID) == prices(rich, 0, BID)[:2]
    # 600 cents buy 12 shares at 48 and a cent of fee each.
    assert [q.qty for q in poor["m0"] if q.side is BID] == [10, 2]
    assert make(far_qty=0).quote(seen_with(seen, None, cash=0)) == {"m0": ()}


def test_a_lot_whose_fee_is_mostly_rounding_is_enlarged() -> None:
    rate = FeeRate.parse("0.0175")
    quotes = make(lot_qty=2, level_growth=1).quote(view(rung(0, 50.0, rate=rate)))
    assert {quote.qty for quote in quotes["m0"]} == {9}


def test_fees_rounded_per_fill_widen_the_quotes_until_large_fills_are_seen() -> None:
    bare = rung(0, 50.0, rate=FeeRate.parse("0.07"))
    careful = make(fee_basis="fill")
    before = spread(careful.quote(view(bare)))
    assert before >= spread(make().quote(view(bare)))
    fills = tuple(OwnFill(BID, Price(47), Qty(10), 0.1) for _ in range(60))
    careful.quote(view(replaced(bare, fills=fills)))
    assert spread(careful.quote(view(bare))) <= before


def test_the_skew_grows_toward_resolution_when_configured() -> None:
    def bid(days: float, seconds: float) -> int:
        seen = view(rung(0, 50.0, net=100), seconds=seconds)
        return prices(plain(full_skew_days=days).quote(seen), 0, BID)[0]

    assert bid(30, 10 * 86_400.0) < bid(30, 30 * 86_400.0) == bid(0, 10 * 86_400.0)


# --- only what changed ----------------------------------------------------------------------------


def test_the_same_view_returns_the_same_quotes_object() -> None:
    seen = view(*(rung(i, v, sd=0.8) for i, v in enumerate([70.0, 50.0, 30.0])))
    strategy = make()
    assert strategy.quote(seen) is strategy.quote(seen)


def test_an_unmoved_rung_keeps_its_tuple_of_quotes() -> None:
    rungs = [rung(i, v, sd=0.8, bid=5, ask=95) for i, v in enumerate([80.0, 50.0, 20.0])]
    strategy = make()
    before = strategy.quote(view(*rungs))
    rungs[2] = rung(2, 20.4, sd=0.8, bid=5, ask=16)
    after = strategy.quote(view(*rungs))
    assert [after[key] is before[key] for key in ("m0", "m1", "m2")] == [True, True, False]


def test_a_lot_grows_when_rounding_its_fee_would_waste_a_tenth() -> None:
    asked = LadderJoint(LadderJoint.Params(lot_qty=10, levels=1))
    quotes = asked.quote(view(rung(0, 3.0, rate=FeeRate.parse("0.01"))))[MarketId("m0")]
    assert {quote.qty for quote in quotes} == {32}
    assert "rounding a fee" in str(LadderJoint.Params.model_fields["lot_qty"].description)


@pytest.mark.parametrize("rule", Rule)
def test_a_rung_listed_later_gets_the_quotes_of_a_fresh_strategy(rule: Rule) -> None:
    def fresh() -> LadderJoint:
        return LadderJoint(LadderJoint.Params(rule=rule, hurdle_cents_per_dollar=0))

    strategy = fresh()
    before = strategy.quote(ladder(2, [60.0, 40.0], [0, 1]))
    assert strategy.quote(ladder(3, [60.0, 40.0], [0, 1])) == before
    later = ladder(3, [60.0, 40.0], [1, 2])
    assert strategy.quote(later) == fresh().quote(later)


def test_a_higher_taker_fee_reduces_sizes_when_cash_is_scarce() -> None:
    def sized(strategy: LadderJoint, rate: str) -> list[int]:
        even = msgspec.structs.replace(rung(0, 50.0), taker_fee_rate=FeeRate.parse(rate))
        short = msgspec.structs.replace(view(even), cash_cents=960)
        return [quote.qty for quote in strategy.quote(short)[even.market_id]]

    strategy = LadderJoint(LadderJoint.Params(lot_qty=20, levels=1))
    assert sized(strategy, "0") == [20, 20]
    assert sized(strategy, "0.07") == [19, 19]


@pytest.mark.parametrize("cash_cents", [10_000, 19_000, 39_000])
def test_lots_enlarged_for_fees_stay_within_the_cash(cash_cents):
    def cost(cash_cents: int | None, side: BookSide) -> int:
        shown = msgspec.structs.replace(view(seen), cash_cents=cash_cents)
        strategy = LadderJoint(LadderJoint.Params(far_qty=0))
        quotes = [each for each in strategy.quote(shown)[seen.market_id] if each.side is side]
        bids = side is BookSide.BID
        return sum(each.qty * (each.price if bids else 100 - each.price) for each in quotes)

    seen = rung(0, 10.0, rate=FeeRate.parse("0.0007"))
    assert cost(None, BookSide.ASK) > 39_000  # hundreds of shares, where ten were asked for
    for side in BookSide:
        assert 0 < cost(cash_cents, side) <= cash_cents
