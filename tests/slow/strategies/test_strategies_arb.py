"""Claims about the strategy that trades contradictions away."""

import itertools
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.strategy.api import EventView, Quotes, RungView, Take, checked
from strategies.arb import Arb, Pair, contradicts, pair_of
from tests.builders.scale import cases
from tests.builders.strategies.scenes import changed, fill, run_of, rung_of, runs
from tests.builders.strategies.views import rung, view
from venue.wire.money import BookSide, FeeRate, Price, Qty, fee_cents

BID, ASK = BookSide.BID, BookSide.ASK
TAKER = FeeRate.parse("0.07")


def make(**params: Any) -> Arb:
    return Arb(Arb.Params.model_validate(params))


def shown(
    index: int, bid: tuple[int, int] | None, ask: tuple[int, int] | None, **fields: Any
) -> RungView:
    """A rung with this touch, (price, size) of either side, and the dear fee."""
    made: RungView = changed(
        rung(index, 50.0, rate=TAKER),
        bids=() if bid is None else ((Price(bid[0]), Qty(bid[1])),),
        asks=() if ask is None else ((Price(ask[0]), Qty(ask[1])),),
        **fields,
    )
    return made


def crossed(low_qty: int = 20, high_qty: int = 30, gap: int = 10, **fields: Any) -> EventView:
    """The lower strike offered at 40, the higher one bid `gap` cents above it."""
    rungs = (shown(0, None, (40, low_qty)), shown(1, (40 + gap, high_qty), None))
    return changed(view(*rungs, seconds=86_400.0), **fields)


def later(event: EventView, now_s: float, **fills: Any) -> EventView:
    """The event again at another time, with fills by rung (`m0=...`)."""
    rungs = tuple(changed(each, fills=fills.get(each.market_id, ())) for each in event.rungs)
    out: EventView = changed(event, rungs=rungs, now_s=now_s)
    return out


def takes(quotes: Quotes) -> list[tuple[str, BookSide, int, int, bool]]:
    return [
        (market_id, take.side, take.price, take.qty, take.whole)
        for market_id, wishes in quotes.items()
        for take in wishes
        if isinstance(take, Take)
    ]


# --- what is one ----------------------------------------------------------------------------------


def test_an_arbitrage_exists_exactly_when_a_higher_strike_is_bid_above_a_lower_ask() -> None:
    for seed in range(cases(20_000, quick=1_000)):
        random = Random(seed)
        rungs = [rung_of(random, index, None) for index in range(random.randint(1, 6))]
        some = any(
            low.asks and high.bids and high.bids[0][0] > low.asks[0][0]
            for low, high in itertools.combinations(rungs, 2)
        )
        assert contradicts(rungs) == some


@given(
    st.integers(1, 98),
    st.integers(1, 60),
    st.integers(1, 60),
    st.integers(0, 90),
    st.integers(0, 90),
    st.data(),
)
def test_the_stated_profit_is_the_worst_case_over_all_outcomes(
    ask: int, low_qty: int, high_qty: int, held_no: int, held_yes: int, data: st.DataObject
) -> None:
    bid = data.draw(st.integers(ask + 1, 99))
    low = shown(0, None, (ask, low_qty), no_qty=held_no)
    high = shown(1, (bid, high_qty), None, yes_qty=held_yes)
    pair = pair_of(low, high, 1_000, None)
    assert pair is not None
    fees = fee_cents(TAKER, pair.qty, Price(ask)) + fee_cents(TAKER, pair.qty, Price(bid))
    left = []
    for low_pays, high_pays in ((0, 0), (1, 0), (1, 1)):
        left.append(pair.qty * (100 * low_pays - ask - 100 * high_pays + bid) - fees)
    assert pair.profit_cents == min(left)


def test_the_size_is_limited_by_both_touches_the_cap_and_the_cash() -> None:
    low, high = shown(0, None, (40, 20)), shown(1, (50, 30), None)
    sizes = [
        pair_of(low, high, cap, cash) for cap, cash in ((50, None), (7, None), (50, 188), (50, 93))
    ]
    # One share of each costs 40 and a fee of 2, and 50 and a fee of 2.
    assert [None if pair is None else pair.qty for pair in sizes] == [20, 7, 2, None]


@pytest.mark.parametrize(
    ("low_qty", "high_qty", "maker", "shares_cents"),
    [
        (20, 30, "0.01", 42 + 53),  # NO of the higher strike comes second, at 51
        (30, 20, "0.01", 43 + 52),
        (20, 30, "0.09", 43 + 54),  # 2.16 and 2.25 of fee: the dearer rate is locked
    ],
)
def test_the_cash_covers_what_the_venue_locks_for_both_legs_with_slippage(
    low_qty: int, high_qty: int, maker: str, shares_cents: int
) -> None:
    rate = FeeRate.parse(maker)
    low = shown(0, None, (40, low_qty), maker_fee_rate=rate)
    high = shown(1, (50, high_qty), None, maker_fee_rate=rate)
    for cash, qty in ((3 * shares_cents, 3), (3 * shares_cents - 1, 2)):
        event = changed(view(low, high, seconds=86_400.0), cash_cents=cash)
        assert [wish[3] for wish in takes(make().quote(event))] == [qty]


def crossed_but(**fields: Any) -> EventView:
    """A crossed pair whose lower rung has these fields."""
    event = crossed()
    lower: EventView = changed(event, rungs=(changed(event.rungs[0], **fields), event.rungs[1]))
    return lower


FAR = crossed(gap=6, seconds_to_resolution=4_000 * 86_400.0)
# Fees of 20 shares: ceil(33.6) at 40 and ceil(34.5) at 44: 3.45 a share; 0.5 more for the leg.
TRADED: dict[str, tuple[dict[str, Any], EventView, bool]] = {
    "less than the fees": ({"leg_risk": 0.6}, crossed(gap=3), False),
    "less than fees and leg risk": ({"leg_risk": 0.6}, crossed(gap=4), False),
    "enough": ({"leg_risk": 0.6}, crossed(gap=5), True),
    "locked cash is charged": ({"kappa_cents": 0.002}, FAR, False),
    "locked cash is free": ({"kappa_cents": 0.0}, FAR, True),
    "no ladder": ({}, crossed(is_ladder=False), False),
    "a halted rung": ({}, crossed_but(quotable=False), False),
    "a stale book": ({}, crossed_but(book_age_s=3.0), False),
    "no asks": ({}, crossed_but(asks=()), False),
}


@pytest.mark.parametrize(("params", "event", "is_traded"), TRADED.values(), ids=TRADED)
def test_a_pair_is_traded_only_when_its_profit_exceeds_fees_leg_risk_and_locked_cash(
    params: dict[str, Any], event: EventView, is_traded: bool
) -> None:
    assert bool(make(**params).quote(event)) == is_traded


def test_a_pair_that_reduces_inventory_locks_no_cash() -> None:
    arb = make()
    pair = pair_of(shown(0, None, (40, 20)), shown(1, (46, 20), None), 50, None)
    assert pair is not None
    held = Pair(
        changed(pair.low, no_qty=20),
        changed(pair.high, yes_qty=20),
        pair.ask,
        pair.bid,
        pair.qty,
        pair.profit_cents,
        pair.locked_cents,
    )
    long_s = 4_000 * 86_400.0
    assert (arb.pays(pair, long_s), arb.pays(held, long_s)) == (False, True)


def test_the_most_profitable_pair_is_traded() -> None:
    event = view(
        shown(0, None, (40, 20)),
        shown(1, (46, 20), (30, 20)),
        shown(2, (50, 20), None),
        seconds=86_400.0,
    )
    assert takes(make().quote(event)) == [("m1", BID, 30, 20, True)]


# --- how it is traded -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low_qty", "high_qty", "first", "second"),
    [
        (20, 30, ("m0", BID, 40, 20, True), ("m1", ASK, 49, 20, False)),
        (30, 20, ("m1", ASK, 50, 20, True), ("m0", BID, 41, 20, False)),
    ],
)
def test_the_thinner_leg_is_taken_first_and_the_other_with_a_tick_of_slippage(
    low_qty: int, high_qty: int, first: Any, second: Any
) -> None:
    arb = make()
    event = crossed(low_qty, high_qty)
    assert takes(arb.quote(event)) == [first]
    assert takes(arb.quote(later(event, 0.1))) == []
    seen = {first[0]: (fill(first[1], first[2], 20),)}
    assert takes(arb.quote(later(event, 0.2, **seen))) == [second]
    assert takes(arb.quote(later(event, 0.3))) == []


def test_the_second_leg_follows_the_fills_of_the_first() -> None:
    arb = make()
    event = crossed()
    arb.quote(event)
    part = arb.quote(later(event, 0.1, m0=(fill(BID, 40, 12),)))
    rest = arb.quote(later(event, 0.2, m0=(fill(BID, 39, 8),)))
    assert [takes(part), takes(rest)] == [
        [("m1", ASK, 49, 12, False)],
        [("m1", ASK, 49, 8, False)],
    ]


def test_the_second_leg_waits_until_its_rung_is_quotable() -> None:
    arb = make()
    event = crossed()
    arb.quote(event)
    filled = later(event, 0.1, m0=(fill(BID, 40, 20),))
    shut = changed(filled, rungs=(filled.rungs[0], changed(filled.rungs[1], quotable=False)))
    assert arb.quote(shut) == {}
    assert takes(arb.quote(later(event, 0.5))) == [("m1", ASK, 49, 20, False)]


def test_fills_on_the_opposite_side_do_not_trigger_the_second_leg() -> None:
    arb = make()
    event = crossed()
    arb.quote(event)
    assert arb.quote(later(event, 0.1, m0=(fill(ASK, 60, 12),))) == {}


def test_the_next_pair_is_traded_only_after_the_pause() -> None:
    arb = make(pause_s=1.0)
    event = crossed()
    first = takes(arb.quote(event))
    assert takes(arb.quote(later(event, 0.1, m0=(fill(BID, 40, 20),))))
    assert arb.quote(later(event, 0.2, m1=(fill(ASK, 50, 20),))) == {}
    assert arb.quote(later(event, 0.9)) == {}
    assert takes(arb.quote(later(event, 1.3))) == first


def test_cash_used_by_a_pair_is_not_spent_again_before_a_new_balance() -> None:
    arb = make(pause_s=0.1)
    event = crossed(cash_cents=3 * (42 + 53))
    assert [wish[3] for wish in takes(arb.quote(event))] == [3]
    assert [wish[3] for wish in takes(arb.quote(later(event, 0.1, m0=(fill(BID, 40, 3),))))] == [3]
    assert takes(arb.quote(later(event, 0.2, m1=(fill(ASK, 50, 3),)))) == []
    assert takes(arb.quote(later(event, 1.0))) == []
    read = changed(event, cash_cents=2 * (42 + 53))
    assert [wish[3] for wish in takes(arb.quote(later(read, 2.0)))] == [2]
    assert takes(arb.quote(later(read, 12.0))) == []  # nothing came of it, and so it took nothing
    assert [wish[3] for wish in takes(arb.quote(later(read, 12.1)))] == [2]


def test_an_unfilled_first_leg_is_retried_after_the_wait() -> None:
    arb = make(wait_s=10.0)
    event = crossed()
    first = takes(arb.quote(event))
    assert arb.quote(later(event, 9.0)) == {}
    assert arb.quote(later(event, 10.0)) == {}
    assert takes(arb.quote(later(event, 10.1))) == first


def test_an_unfilled_second_leg_is_not_repriced() -> None:
    arb = make(wait_s=10.0)
    event = crossed()
    arb.quote(event)
    assert takes(arb.quote(later(event, 0.1, m0=(fill(BID, 40, 20),))))
    quiet = view(shown(0, None, None), shown(1, None, None))
    for now_s in (1.0, 5.0, 10.1, 20.0):
        assert arb.quote(later(quiet, now_s)) == {}


@settings(deadline=None)
@given(runs)
def test_takes_are_valid_and_one_at_a_time_for_any_views(
    run: list[EventView],
) -> None:
    arb = make(min_profit_cents=0, book_age_s=60)
    for event in run:
        quotes = arb.quote(event)
        checked(quotes, event)
        assert sum(len(wishes) for wishes in quotes.values()) <= 1


def test_nothing_is_taken_without_an_arbitrage() -> None:
    for seed in range(300):
        for event in run_of(seed):
            if not contradicts(event.rungs):
                assert make().quote(event) == {}
