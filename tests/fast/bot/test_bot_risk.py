"""The exact worst case against brute force, and cutting quotes to limits."""

import itertools
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.risk.exposure import (
    Exposure,
    OpenExposure,
    RungTerms,
    bounds_of,
    event_limit_cents,
    live_of,
    loss_cents,
    series_loss_cents,
)
from bot.core.risk.limits import limits_in_force
from bot.core.risk.trim import QuoteTrimmer, Trim, TrimReason
from bot.core.settings import RiskSettings
from bot.strategy.api import Quote, Resting
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Price, Qty, Side
from venue.wire.names import MarketId

RATES = ["0", "0.0007", "0.0175", "0.07", "0.5", "1"]


def ids(count: int) -> list[MarketId]:
    return [MarketId(f"m{index}") for index in range(count)]


def terms(rates: list[str]) -> list[RungTerms]:
    pairs = zip(ids(len(rates)), rates, strict=True)
    return [RungTerms.at_rates(key, FeeRate.parse("0"), FeeRate.parse(rate)) for key, rate in pairs]


def limits(event: int = 10**9, position: int = 10**6, order: int = 10**6) -> RiskSettings:
    return RiskSettings(
        event_loss_cents=Cents(event),
        series_loss_cents=Cents(10**9),
        rung_position_qty=Qty(position),
        order_qty=Qty(order),
    )


def bid(price: int, qty: int) -> Quote:
    return Quote(BookSide.BID, Price(price), Qty(qty))


def ask(price: int, qty: int) -> Quote:
    return Quote(BookSide.ASK, Price(price), Qty(qty))


def brute_force(
    rates: list[str], cash: int, holdings: list[tuple[int, int]], lives: list[OpenExposure]
) -> list[int]:
    """The worst end in each outcome over every combination of fills, by keeping accounts."""
    count = len(rates)
    worst = []
    for bucket in range(count + 1):
        ends = []
        for fills in itertools.product(*(range(live.qty_max + 1) for live in lives)):
            money, shares = cash, [list(pair) for pair in holdings]
            for live, filled in zip(lives, fills, strict=True):
                rung = int(live.market_id[1:])
                sign = 1 if live.side is Side.BUY else -1
                exact = Fraction(rates[rung]) * live.price * (100 - live.price) / 100
                money -= filled * (sign * live.price + ceil(exact))
                shares[rung][live.outcome is Outcome.NO] += sign * filled
            paid = [shares[i][0] if i < bucket else shares[i][1] for i in range(count)]
            ends.append(money + 100 * sum(paid))
        worst.append(min(ends))
    return worst


rung_counts = st.integers(1, 3)


@st.composite
def cases(
    draw: st.DrawFn,
) -> tuple[list[str], int, list[tuple[int, int]], list[OpenExposure]]:
    count = draw(rung_counts)
    rates = draw(st.lists(st.sampled_from(RATES), min_size=count, max_size=count))
    held = st.tuples(st.integers(0, 4), st.integers(0, 4))
    holdings = draw(st.lists(held, min_size=count, max_size=count))
    live = st.builds(
        OpenExposure,
        st.sampled_from(ids(count)),
        st.sampled_from(list(Outcome)),
        st.sampled_from(list(Side)),
        st.integers(1, 99).map(Price),
        st.integers(0, 3).map(Qty),
    )
    lives = draw(st.lists(live, max_size=3))
    return rates, draw(st.integers(-500, 500)), holdings, lives


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(cases())
def test_the_worst_case_equals_brute_force_over_every_partial_fill(
    case: tuple[list[str], int, list[tuple[int, int]], list[OpenExposure]],
) -> None:
    rates, cash, holdings, lives = case
    exposure = Exposure(terms(rates), Cents(cash), holdings, lives)
    expected = brute_force(rates, cash, holdings, lives)
    assert exposure.worst_by_outcome() == expected
    assert exposure.worst_cents == min(expected)
    assert list(exposure.outcome_cents) == brute_force(rates, cash, holdings, [])


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(cases(), st.integers(0, 600), st.data())
def test_the_room_is_the_largest_size_that_stays_within_the_limit(
    case: tuple[list[str], int, list[tuple[int, int]], list[OpenExposure]],
    limit: int,
    data: st.DataObject,
) -> None:
    rates, cash, holdings, lives = case
    candidate = data.draw(
        st.builds(
            OpenExposure,
            st.sampled_from(ids(len(rates))),
            st.sampled_from(list(Outcome)),
            st.sampled_from(list(Side)),
            st.integers(1, 99).map(Price),
            st.just(Qty(12)),
        )
    )
    exposure = Exposure(terms(rates), Cents(cash), holdings, lives)
    bounds = bounds_of(limits_in_force(limits()), Cents(limit))
    room = max(0, min(12, exposure.rooms(candidate, bounds).loss_cents))

    def end(qty: int) -> list[int]:
        sized = OpenExposure(
            candidate.market_id, candidate.outcome, candidate.side, candidate.price, qty
        )
        return Exposure(terms(rates), cash, holdings, [*lives, sized]).worst_by_outcome()

    # An outcome beyond the limit already must not get worse.
    floors = [min(-limit, now) for now in end(0)]
    fitting = [q for q in range(13) if all(a >= b for a, b in zip(end(q), floors, strict=True))]
    assert room == max(fitting)


def test_a_purchase_loses_its_price_and_fee_where_the_rung_fails() -> None:
    rung = OpenExposure(MarketId("m1"), Outcome.YES, Side.BUY, Price(40), Qty(10))
    exposure = Exposure(terms(["0.0175"] * 3), Cents(0), [(0, 0)] * 3, [rung])
    assert tuple(exposure.worst_by_outcome()) == (-410, -410, 0, 0)


@pytest.mark.parametrize("rate", RATES)
def test_both_routes_of_an_ask_come_to_the_same_at_every_price(rate: str) -> None:
    for price in range(1, 100):
        by_sale = OpenExposure(MarketId("m0"), Outcome.YES, Side.SELL, Price(price), Qty(3))
        by_purchase = OpenExposure(MarketId("m0"), Outcome.NO, Side.BUY, Price(100 - price), Qty(3))
        ends = [
            tuple(Exposure(terms([rate]), Cents(0), [(5, 0)], [live]).worst_by_outcome())
            for live in (by_sale, by_purchase)
        ]
        assert ends[0] == ends[1]


def test_buckets_hedge_across_rungs_only_where_they_do() -> None:
    spread = Exposure(terms(["0"] * 2), Cents(0), [(10, 0), (0, 10)], [])
    assert spread.outcome_cents == (1_000, 2_000, 1_000)
    strangle = Exposure(terms(["0"] * 2), Cents(0), [(0, 10), (10, 0)], [])
    assert strangle.outcome_cents == (1_000, 0, 1_000)


def test_several_rungs_filling_at_once_count_together() -> None:
    lives = [live_of(key, bid(50, 10)) for key in ids(6)]
    exposure = Exposure(terms(["0"] * 6), Cents(0), [(0, 0)] * 6, lives)
    assert exposure.worst_cents == -3_000


@settings(deadline=None)
@given(cases())
def test_an_order_taken_out_leaves_what_was_before_it(
    case: tuple[list[str], int, list[tuple[int, int]], list[OpenExposure]],
) -> None:
    rates, cash, holdings, lives = case
    exposure = Exposure(terms(rates), Cents(cash), holdings, lives)
    extra = OpenExposure(MarketId("m0"), Outcome.NO, Side.BUY, Price(33), Qty(7))
    before = tuple(exposure.worst_by_outcome()), exposure.gross_qty
    exposure.add_order(extra)
    assert tuple(exposure.worst_by_outcome())[-1] < before[0][-1]
    left = exposure.without(extra)
    assert (tuple(left.worst_by_outcome()), left.gross_qty) == before


def test_an_order_on_a_strange_market_and_uneven_input_are_refused() -> None:
    with pytest.raises(KeyError):
        Exposure(terms(["0"]), Cents(0), [(0, 0)], [live_of(MarketId("m7"), bid(50, 1))])
    with pytest.raises(ValueError, match="2 rungs with 1 holdings"):
        Exposure(terms(["0"] * 2), Cents(0), [(0, 0)])


@pytest.mark.parametrize(
    ("holding", "live", "side", "room"),
    [
        ((0, 0), None, BookSide.BID, 20),
        ((15, 0), None, BookSide.BID, 5),
        ((15, 10), None, BookSide.BID, 15),
        ((15, 0), bid(40, 4), BookSide.BID, 1),
        ((15, 0), ask(60, 4), BookSide.BID, 5),
        ((15, 0), None, BookSide.ASK, 35),
        ((50, 0), None, BookSide.BID, 0),
        ((50, 0), None, BookSide.ASK, 70),
        ((0, 20), None, BookSide.ASK, 0),
    ],
)
def test_position_room_counts_holdings_and_live_orders_on_the_same_side(
    holding: tuple[int, int], live: Quote | None, side: BookSide, room: int
) -> None:
    key = MarketId("m0")
    lives = [] if live is None else [live_of(key, live)]
    exposure = Exposure(terms(["0"]), Cents(0), [holding], lives)
    candidate = live_of(key, Quote(side, Price(50), Qty(1_000)))
    bounds = bounds_of(limits_in_force(limits(position=20)), Cents(0))
    assert max(0, exposure.rooms(candidate, bounds).position_qty) == room


def test_the_reach_of_a_rung_looks_both_ways() -> None:
    lives = [live_of(MarketId("m0"), bid(40, 4)), live_of(MarketId("m0"), ask(60, 30))]
    exposure = Exposure(terms(["0"]), Cents(0), [(10, 0)], lives)
    assert exposure.gross_qty == 20


# --- cutting --------------------------------------------------------------------------------------


def cut(
    quotes: Resting, held: Exposure, risk: RiskSettings, loss_limit_cents: Cents
) -> tuple[dict[MarketId, tuple[Quote, ...]], list[Trim]]:
    """What a cutter that has seen nothing yet leaves of the quotes, and what it cut."""
    in_force = limits_in_force(risk)
    cutter = QuoteTrimmer(in_force)
    return cutter.trim(quotes, held, bounds_of(in_force, loss_limit_cents)), list(cutter.trims)


def with_quotes(held: Exposure, quotes: Resting) -> Exposure:
    """What is held, and these quotes live."""
    exposure = held.bare()
    for key, wanted in quotes.items():
        for quote in wanted:
            exposure.add_order(live_of(key, quote))
    return exposure


def two_sided(count: int, qty: int) -> dict[MarketId, tuple[Quote, ...]]:
    return {key: (bid(48, qty), bid(47, qty), ask(52, qty), ask(53, qty)) for key in ids(count)}


def flat(count: int) -> Exposure:
    return Exposure(terms(["0.0175"] * count), Cents(0), [(0, 0)] * count)


def test_quotes_within_every_limit_come_back_as_they_are() -> None:
    quotes = two_sided(4, 10)
    assert cut(quotes, flat(4), limits(), Cents(10**9)) == (quotes, [])


def test_cutting_leaves_the_exposure_as_it_is_and_looks_at_no_order_in_it() -> None:
    exposure = flat(1)
    exposure.add_order(live_of(MarketId("m0"), bid(50, 10)))
    quotes = {MarketId("m0"): (bid(48, 10),)}
    assert cut(quotes, exposure, limits(), Cents(490)) == (quotes, [])
    assert exposure.worst_cents == -510


def test_a_quote_above_the_order_size_is_cut_and_says_why() -> None:
    kept, cuts = cut({MarketId("m0"): (bid(48, 30),)}, flat(1), limits(order=20), Cents(10**9))
    assert kept == {MarketId("m0"): (bid(48, 20),)}
    assert cuts == [
        Trim(MarketId("m0"), BookSide.BID, Price(48), Qty(30), Qty(20), TrimReason.ORDER_QTY)
    ]


def test_levels_share_the_room_of_their_rung_best_first() -> None:
    quotes = {MarketId("m0"): (bid(47, 10), bid(48, 10), ask(52, 10))}
    kept, cuts = cut(quotes, flat(1), limits(position=15), Cents(10**9))
    assert kept == {MarketId("m0"): (bid(47, 5), bid(48, 10), ask(52, 10))}
    assert [each.reason for each in cuts] == [TrimReason.RUNG_POSITION]


@pytest.mark.parametrize(("holding", "side"), [((90, 0), ask(60, 80)), ((0, 90), bid(40, 80))])
def test_a_quote_that_works_off_a_position_is_never_cut_by_the_position_cap(
    holding: tuple[int, int], side: Quote
) -> None:
    exposure = Exposure(terms(["0"]), Cents(-5_000), [holding])
    quotes = {MarketId("m0"): (side,)}
    kept, cuts = cut(quotes, exposure, limits(position=20), Cents(10**9))
    assert (kept, cuts) == (quotes, [])


def test_a_tight_loss_limit_leaves_some_quote_on_every_rung_and_side() -> None:
    kept, cuts = cut(two_sided(12, 10), flat(12), limits(), Cents(3_000))
    for wanted in kept.values():
        assert {quote.side for quote in wanted} == {BookSide.BID, BookSide.ASK}
    assert {each.reason for each in cuts} == {TrimReason.EVENT_LOSS}


def test_where_a_part_of_the_room_is_less_than_a_share_one_share_stands_while_it_fits() -> None:
    quotes = {key: (bid(50, 3),) for key in ids(3)}
    free = Exposure(terms(["0"] * 3), Cents(0), [(0, 0)] * 3)
    kept, _ = cut(quotes, free, limits(), Cents(110))
    assert [wanted and wanted[0].qty for wanted in kept.values()] == [1, 1, ()]


def test_a_quote_that_stands_whole_after_all_is_not_told_as_cut() -> None:
    quotes = {MarketId("m0"): (bid(2, 1),), MarketId("m1"): (bid(2, 1),)}
    free = Exposure(terms(["0"] * 2), Cents(0), [(0, 0)] * 2)
    kept, cuts = cut(quotes, free, limits(), Cents(3))
    assert kept == {MarketId("m0"): (bid(2, 1),), MarketId("m1"): ()}
    assert [each.market_id for each in cuts] == [MarketId("m1")]


def test_a_quote_is_cut_by_every_outcome_it_loses_in_and_by_no_other() -> None:
    # Outcomes at 1000, 1000, -1000: an ask of the lower rung loses in the last two, a bid of the
    # upper one in the first two.
    exposure = Exposure(terms(["0"] * 2), Cents(-1_000), [(0, 0), (0, 20)])
    quotes = {MarketId("m0"): (ask(60, 8),), MarketId("m1"): (bid(40, 8),)}
    kept, _ = cut(quotes, exposure, limits(), Cents(1_160))
    assert kept == {MarketId("m0"): (ask(60, 4),), MarketId("m1"): (bid(40, 8),)}


def test_an_event_without_room_keeps_only_quotes_that_cannot_deepen_its_loss() -> None:
    exposure = Exposure(terms(["0"]), Cents(-1_000), [(20, 0)])
    quotes = {MarketId("m0"): (bid(40, 10), ask(60, 10))}
    kept, _ = cut(quotes, exposure, limits(), Cents(500))
    assert kept == {MarketId("m0"): (ask(60, 10),)}


@st.composite
def wanted_quotes(draw: st.DrawFn) -> dict[MarketId, tuple[Quote, ...]]:
    out = {}
    for key in ids(draw(st.integers(1, 5))):
        middle = draw(st.integers(3, 96))
        sizes = draw(st.lists(st.integers(1, 60), min_size=4, max_size=4))
        out[key] = (
            bid(middle, sizes[0]),
            ask(middle + 2, sizes[1]),
            ask(middle + 3, sizes[2]),
            bid(middle - 1, sizes[3]),
        )
    return out


@settings(deadline=None)
@given(
    wanted_quotes(),
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), min_size=5, max_size=5),
    st.integers(-8_000, 0),
    st.integers(0, 9_000),
    st.integers(1, 100),
    st.integers(1, 60),
)
def test_what_is_kept_is_within_every_limit_and_every_cut_is_told(
    quotes: dict[MarketId, tuple[Quote, ...]],
    holdings: list[tuple[int, int]],
    cash: int,
    limit: int,
    position: int,
    order: int,
) -> None:
    rungs = terms(["0.07"] * len(quotes))
    held = holdings[: len(quotes)]
    before = Exposure(rungs, Cents(cash), held)
    bounds = limits(position=position, order=order)
    kept, cuts = cut(quotes, Exposure(rungs, Cents(cash), held), bounds, Cents(limit))
    lives = [live_of(key, quote) for key, wanted in kept.items() for quote in wanted]
    after = Exposure(rungs, Cents(cash), held, lives)
    for worst, was in zip(tuple(after.worst_by_outcome()), before.outcome_cents, strict=True):
        assert worst >= min(-limit, was)
    for index, (yes, no) in enumerate(held):
        mine = kept[ids(5)[index]]
        bought, sold = (sum(each.qty for each in mine if each.side is side) for side in BookSide)
        reach = max(abs(yes - no + bought), abs(yes - no - sold))
        assert reach <= max(position, abs(yes - no))
    told = {(each.market_id, each.side, each.price): each for each in cuts}
    for key, wanted in quotes.items():
        sizes = {(quote.side, quote.price): quote.qty for quote in kept[key]}
        for quote in wanted:
            size = sizes.get((quote.side, quote.price), 0)
            assert size <= min(quote.qty, order)
            each = told.get((key, quote.side, quote.price))
            assert (each is None) == (size == quote.qty)
            assert each is None or (each.wanted, each.allowed) == (quote.qty, size)


# --- several events -------------------------------------------------------------------------------


def test_losses_of_events_add_up_and_gains_are_not_set_against_them() -> None:
    assert series_loss_cents([Cents(-300), Cents(200), Cents(-50)]) == 350
    assert (loss_cents(Cents(-3)), loss_cents(Cents(3))) == (3, 0)


@pytest.mark.parametrize(("others", "limit"), [(0, 3_000), (9_000, 1_000), (9_999, 1), (20_000, 0)])
def test_an_event_may_lose_its_own_limit_or_what_the_series_has_left(
    others: int, limit: int
) -> None:
    both = RiskSettings(
        event_loss_cents=Cents(3_000),
        series_loss_cents=Cents(10_000),
        rung_position_qty=Qty(1),
        order_qty=Qty(1),
    )
    assert event_limit_cents(both, Cents(others)) == limit
