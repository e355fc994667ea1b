"""Laws of the limits: what never widens a room, and what a fill or a neighbour may do."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.risk.exposure import (
    Bounds,
    Exposure,
    OpenExposure,
    bounds_of,
    event_limit_cents,
    live_of,
)
from bot.core.risk.limits import limits_in_force
from bot.core.risk.trim import QuoteTrimmer, TrimReason
from bot.core.settings import RiskSettings
from bot.strategy.api import Quote
from tests.fast.bot.test_bot_risk import RATES, ask, bid, cut, ids, limits, terms, with_quotes
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Price, Qty, Side, fee_cents
from venue.wire.names import MarketId

M0, M1 = MarketId("m0"), MarketId("m1")
COUNT = 4


@st.composite
def lives(draw: st.DrawFn, largest: int = 20) -> OpenExposure:
    """Any order of an event of four rungs."""
    return OpenExposure(
        draw(st.sampled_from(ids(COUNT))),
        draw(st.sampled_from(list(Outcome))),
        draw(st.sampled_from(list(Side))),
        Price(draw(st.integers(1, 99))),
        Qty(draw(st.integers(1, largest))),
    )


held = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=COUNT, max_size=COUNT)
some_rates = st.lists(st.sampled_from(RATES), min_size=COUNT, max_size=COUNT)
limit = st.integers(0, 6_000)
some_bounds = st.builds(
    Bounds,
    loss_cents=limit,
    position_qty=st.integers(0, 60),
    net_qty=st.integers(0, 90),
    gross_qty=st.integers(0, 200),
    gross_cents=limit,
    resting_cents=limit,
)


@settings(max_examples=150)
@given(some_rates, held, st.lists(lives(), min_size=1, max_size=6), st.data())
def test_a_fill_of_what_is_live_takes_no_bound_further_than_it_was(rates, holdings, orders, data):
    rungs = terms(rates)
    before = Exposure(rungs, Cents(-900), holdings, orders)
    filled, *rest = orders
    part = data.draw(st.integers(1, filled.qty_max))
    rung = int(filled.market_id[1:])
    sign = 1 if filled.side is Side.BUY else -1
    # Selling short of what is held would be a purchase of the other outcome.
    side = 0 if filled.outcome is Outcome.YES else 1
    if sign < 0 and holdings[rung][side] < part:
        return
    after_held = [list(pair) for pair in holdings]
    after_held[rung][side] += sign * part
    rate = FeeRate.parse(rates[rung])
    paid = sign * part * filled.price + fee_cents(rate, Qty(part), filled.price)
    left = OpenExposure(
        filled.market_id, filled.outcome, filled.side, filled.price, Qty(filled.qty_max - part)
    )
    pairs = [(yes, no) for yes, no in after_held]
    after = Exposure(rungs, Cents(-900 - paid), pairs, [left, *rest])
    for was, now in zip(before.worst_by_outcome(), after.worst_by_outcome(), strict=True):
        assert now >= was
    assert after.gross_cents <= before.gross_cents
    assert after.gross_qty <= before.gross_qty
    assert after.net_qty <= before.net_qty
    assert after.resting_cents <= before.resting_cents


@pytest.mark.slow
@settings(max_examples=150)
@given(some_rates, held, st.lists(lives(), max_size=6), lives(largest=60), some_bounds, st.data())
def test_the_room_grows_with_each_bound_and_shrinks_with_each_order(
    rates, holdings, orders, wanted, bounds, data
):
    exposure = Exposure(terms(rates), Cents(-300), holdings, orders)
    room = exposure.largest(wanted, bounds)
    name = data.draw(st.sampled_from(Bounds.__struct_fields__))
    wider = msgspec.structs.replace(bounds, **{name: getattr(bounds, name) + 500})
    assert exposure.largest(wanted, wider) >= room
    exposure.add_order(data.draw(lives()))
    # Beyond a gross bound nothing was admitted, so that there is no order to add.
    assert exposure.largest(wanted, bounds) <= room or not exposure.is_within_sums(bounds)


@settings(max_examples=100)
@given(some_rates, held, st.lists(lives(), max_size=6), lives(largest=60), some_bounds)
def test_what_was_admitted_leaves_every_bound_kept_or_no_further_passed(
    rates, holdings, orders, wanted, bounds
):
    exposure = Exposure(terms(rates), Cents(-300), holdings, orders)
    was = list(exposure.worst_by_outcome()), exposure.gross_qty, exposure.gross_cents
    room = exposure.largest(wanted, bounds)
    if not room:
        return
    exposure.add_order(msgspec.structs.replace(wanted, qty_max=room))
    for now, before in zip(exposure.worst_by_outcome(), was[0], strict=True):
        assert now >= min(-bounds.loss_cents, before)
    assert exposure.gross_qty <= max(bounds.gross_qty, was[1])
    assert exposure.gross_cents <= max(bounds.gross_cents, was[2])
    assert exposure.resting_cents <= bounds.resting_cents


@given(some_rates, held, st.lists(lives(), max_size=6), lives())
def test_the_loss_apart_is_never_below_that_of_the_ladder(rates, holdings, orders, wanted):
    exposure = Exposure(terms(rates), Cents(-300), holdings, orders)
    assert exposure.gross_cents >= -exposure.worst_cents
    exposure.add_order(wanted)
    assert exposure.gross_cents >= -exposure.worst_cents


@given(some_rates, held, st.lists(lives(), max_size=6), st.lists(lives(), max_size=3))
def test_sums_kept_up_order_by_order_are_those_made_from_nothing(rates, holdings, orders, gone):
    kept = Exposure(terms(rates), Cents(-300), holdings, [*orders, *gone])
    for each in gone:
        kept = kept.without(each)
    fresh = Exposure(terms(rates), Cents(-300), holdings, orders)
    for name in ("gross_qty", "gross_cents", "resting_cents", "net_qty"):
        assert getattr(kept, name) == getattr(fresh, name)
    assert kept.worst_by_outcome() == fresh.worst_by_outcome()


def test_a_copy_of_what_is_held_shares_nothing_that_changes() -> None:
    exposure = Exposure(terms(["0"]), Cents(0), [(5, 0)])
    bare = exposure.bare()
    bare.add_order(live_of(M0, bid(40, 10)))
    assert (exposure.worst_cents, exposure.resting_cents, exposure.gross_qty) == (0, 0, 5)
    assert exposure.bare().worst_cents == 0


# --- the sums, at their last share and cent -------------------------------------------------------


def bounds(**near: int) -> Bounds:
    """Bounds that are far away, but for these."""
    far = dict.fromkeys(Bounds.__struct_fields__, 10**9)
    return Bounds(**{**far, **near})


def two(cash: int, *holdings: tuple[int, int]) -> Exposure:
    """Two rungs without fees."""
    return Exposure(terms(["0"] * len(holdings)), Cents(cash), holdings)


def test_net_counts_the_rungs_together_and_each_side_by_itself() -> None:
    exposure = two(0, (10, 0), (0, 4))
    exposure.add_order(live_of(M0, bid(40, 5)))
    exposure.add_order(live_of(M1, ask(40, 20)))
    assert exposure.net_qty == 14  # 6 held, less 20 asked; with the bids alone 11
    assert exposure.largest(live_of(M1, bid(40, 99)), bounds(net_qty=15)) == 4
    assert exposure.largest(live_of(M1, ask(40, 99)), bounds(net_qty=15)) == 1


def test_gross_counts_each_rung_without_its_sign_at_its_largest() -> None:
    exposure = two(0, (10, 0), (0, 4))
    assert exposure.gross_qty == 14
    exposure.add_order(live_of(M0, bid(40, 5)))
    exposure.add_order(live_of(M0, ask(40, 26)))
    assert exposure.gross_qty == 16 + 4
    # A bid of the first rung has room up to what its ask reaches already, and two shares beyond.
    assert exposure.largest(live_of(M0, bid(40, 99)), bounds(gross_qty=22)) == 3
    assert exposure.largest(live_of(M1, bid(40, 99)), bounds(gross_qty=20)) == 8


def test_past_a_gross_bound_what_the_other_side_reaches_leaves_no_room() -> None:
    exposure = two(0, (0, 0))
    exposure.add_order(live_of(M0, ask(60, 8)))
    exposure.add_order(live_of(M0, bid(40, 1)))
    # The asks may be on their way out, or have filled unseen: with the bids alone there is 1 of 2.
    assert exposure.largest(live_of(M0, bid(40, 99)), bounds(gross_qty=2)) == 1
    assert exposure.largest(live_of(M0, bid(40, 99)), bounds(gross_cents=80)) == 1
    assert exposure.largest(live_of(M0, ask(60, 99)), bounds(gross_qty=2)) == 0


def test_past_a_gross_bound_a_position_can_be_worked_off_and_turned_no_further_than_it() -> None:
    exposure = two(0, (0, 10))
    assert exposure.largest(live_of(M0, bid(40, 99)), bounds(gross_qty=2)) == 12
    assert exposure.largest(live_of(M0, ask(60, 99)), bounds(gross_qty=2)) == 0
    # Ten at 90 lose more than the bound in cents allows: no more is bought than is worked off.
    dear = two(-950, (0, 10))
    assert dear.largest(live_of(M0, bid(90, 99)), bounds(gross_cents=900)) == 10
    assert dear.largest(live_of(M0, bid(10, 99)), bounds(gross_cents=900)) == 95


def test_a_loss_apart_is_not_hedged_by_another_rung() -> None:
    # Long the lower rung and short the upper one: the ladder cannot lose, the rungs apart can.
    exposure = two(-1_000, (10, 0), (0, 10))
    assert (exposure.worst_cents, exposure.gross_cents) == (0, 1_000)
    order = live_of(M0, bid(50, 99))
    assert exposure.largest(order, bounds(gross_cents=1_100)) == 2
    assert exposure.largest(order, bounds(gross_cents=1_099)) == 1
    # An ask works the position off: it has room until the other outcome is as bad.
    assert exposure.largest(live_of(M0, ask(50, 99)), bounds(gross_cents=1_000)) == 20


def test_what_rests_counts_both_sides_at_what_they_would_lose() -> None:
    exposure = two(0, (0, 0))
    exposure.add_order(live_of(M0, bid(40, 5)))
    exposure.add_order(live_of(M0, ask(70, 10)))
    assert exposure.resting_cents == 200 + 300
    assert exposure.largest(live_of(M0, bid(50, 99)), bounds(resting_cents=600)) == 2
    assert exposure.largest(live_of(M0, bid(50, 99)), bounds(resting_cents=599)) == 1


def test_a_bound_that_is_passed_already_still_lets_a_position_be_worked_off() -> None:
    exposure = two(-2_000, (40, 0), (0, 0))
    tight = bounds(net_qty=10, gross_qty=10, gross_cents=100, loss_cents=100)
    assert exposure.largest(live_of(M0, ask(50, 99)), tight) > 0
    assert exposure.largest(live_of(M0, bid(50, 99)), tight) == 0


# --- cutting --------------------------------------------------------------------------------------

NEAR = {
    TrimReason.EVENT_NET: {"event_net_qty": Qty(12)},
    TrimReason.EVENT_GROSS: {"event_gross_qty": Qty(20)},
    TrimReason.RESTING: {"resting_cents": Cents(900)},
}


@given(st.sampled_from(sorted(NEAR)), st.integers(1, 4))
def test_wanted_quotes_share_what_a_sum_has_left_and_say_which(reason, count):
    risk = msgspec.structs.replace(limits(), **NEAR[reason])
    quotes = {key: (bid(48, 10), ask(52, 10)) for key in ids(count)}
    nothing = Exposure(terms(["0"] * count), Cents(0), [(0, 0)] * count)
    kept, cuts = cut(quotes, nothing, risk, Cents(10**9))
    of = bounds_of(limits_in_force(risk), Cents(10**9))
    assert with_quotes(nothing, kept).is_within_sums(of)
    fits = with_quotes(nothing, quotes).is_within_sums(of)
    assert {each.reason for each in cuts} == (set() if fits else {reason})
    assert all(kept.values())


def test_quotes_cut_for_the_loss_apart_name_gross() -> None:
    risk = msgspec.structs.replace(limits(), event_gross_cents=Cents(400))
    nothing = Exposure(terms(["0"]), Cents(0), [(0, 0)])
    kept, cuts = cut({M0: (bid(50, 16),)}, nothing, risk, Cents(10**9))
    assert kept == {M0: (bid(50, 8),)}
    assert [each.reason for each in cuts] == [TrimReason.EVENT_GROSS]


@pytest.mark.slow
@settings(max_examples=150)
@given(
    held,
    st.lists(st.lists(lives(), min_size=1, max_size=8), min_size=2, max_size=5),
    some_bounds,
    st.integers(1, 40),
)
def test_a_cutter_that_has_seen_other_quotes_cuts_as_one_that_has_not(
    holdings, rounds, bounds, order_qty
):
    risk = limits_in_force(limits(position=max(1, bounds.position_qty), order=order_qty))
    base = Exposure(terms(["0.0175"] * COUNT), Cents(-500), holdings)
    of = msgspec.structs.replace(bounds, position_qty=risk.rung_position_qty)
    cutter = QuoteTrimmer(risk)
    quotes: dict[MarketId, tuple[Quote, ...]] = {}
    for turn, wishes in enumerate(rounds):
        last, quotes = quotes, {**quotes, **_quotes(wishes)}
        if len(wishes) % 3 == 0:
            quotes.pop(sorted(quotes)[0])
        if len(wishes) % 4 == 0:  # others than `last` were cut meanwhile
            cutter.trim({key: each[1:] for key, each in last.items()}, base, of)
        of = msgspec.structs.replace(of, loss_cents=bounds.loss_cents * (1 + turn % 2))
        fresh = QuoteTrimmer(risk)
        assert cutter.trim(quotes, base, of) == fresh.trim(quotes, base, of)
        assert cutter.trims == fresh.trims or sorted(cutter.trims, key=str) == sorted(
            fresh.trims, key=str
        )
        kept = fresh.trim(quotes, base, of)
        after, before = with_quotes(base, kept), base
        for now, was in zip(after.worst_by_outcome(), before.worst_by_outcome(), strict=True):
            assert now >= min(-of.loss_cents, was)
        assert after.gross_qty <= max(of.gross_qty, before.gross_qty)
        assert after.gross_cents <= max(of.gross_cents, before.gross_cents)
        assert after.net_qty <= max(of.net_qty, before.net_qty)
        assert after.resting_cents <= of.resting_cents
    again = cutter.trim(quotes, base, of)
    assert cutter.trim({key: (*each,) for key, each in quotes.items()}, base, of) is again


def _quotes(wishes: list[OpenExposure]) -> dict[MarketId, tuple[Quote, ...]]:
    """Wishes as quotes, bids below 50 and asks above, each price once."""
    out: dict[MarketId, dict[tuple[BookSide, int], Quote]] = {}
    for wish in wishes:
        buys = wish.side is Side.BUY
        price = max(1, wish.price // 2) if buys else 50 + wish.price // 2
        quote = bid(price, wish.qty_max) if buys else ask(price, wish.qty_max)
        out.setdefault(wish.market_id, {})[quote.side, price] = quote
    return {key: tuple(quotes.values()) for key, quotes in out.items()}


def test_a_rung_whose_cut_stays_the_same_keeps_the_very_same_quotes() -> None:
    risk = limits_in_force(limits())
    nothing = Exposure(terms(["0"] * 2), Cents(0), [(0, 0)] * 2)
    cutter = QuoteTrimmer(risk)
    of = bounds_of(risk, Cents(960))
    quotes = {M0: (bid(50, 16),), M1: (bid(50, 16),)}
    first = cutter.trim(quotes, nothing, of)
    assert first[M0] == (bid(50, 8),)
    second = cutter.trim({M0: quotes[M0], M1: (bid(50, 15),)}, nothing, of)
    assert second[M0] is first[M0]


def test_when_room_comes_back_everything_wanted_stands_again() -> None:
    risk = limits_in_force(limits())
    nothing = Exposure(terms(["0"]), Cents(0), [(0, 0)])
    cutter = QuoteTrimmer(risk)
    quotes = {M0: (bid(50, 16), ask(60, 16))}
    assert cutter.trim(quotes, nothing, bounds_of(risk, Cents(100))) != quotes
    assert cutter.trims
    assert cutter.trim(quotes, nothing, bounds_of(risk, Cents(10_000))) == quotes
    assert cutter.trims == ()


def test_an_event_with_nothing_wanted_and_a_limit_passed_wants_nothing() -> None:
    lost = Exposure(terms(["0"]), Cents(-500), [(0, 0)])
    assert cut({M0: ()}, lost, limits(), Cents(100)) == ({M0: ()}, [])
    assert cut({}, lost, limits(), Cents(100)) == ({}, [])


def test_a_quote_keeps_its_boldest_price_when_it_is_cut() -> None:
    quote = Quote(BookSide.BID, Price(40), Qty(10), Price(42))
    nothing = Exposure(terms(["0"]), Cents(0), [(0, 0)])
    kept, _ = cut({M0: (quote,)}, nothing, limits(order=4), Cents(10**9))
    assert kept == {M0: (Quote(BookSide.BID, Price(40), Qty(4), Price(42)),)}


# --- settings and levels --------------------------------------------------------------------------


def test_limits_of_zero_follow_from_the_others() -> None:
    given_ = RiskSettings(
        event_loss_cents=Cents(3_000),
        series_loss_cents=Cents(9_000),
        rung_position_qty=Qty(100),
        order_qty=Qty(10),
    )
    found = limits_in_force(given_)
    assert (found.event_net_qty, found.event_gross_qty) == (1_000, 2_000)
    assert (found.event_gross_cents, found.resting_cents) == (30_000, 90_000)
    assert found.account_loss_cents == 0
    named = msgspec.structs.replace(
        given_,
        event_net_qty=Qty(1),
        event_gross_qty=Qty(2),
        event_gross_cents=Cents(3),
        resting_cents=Cents(4),
    )
    assert limits_in_force(named) == named


def test_without_a_word_an_event_may_lose_thirty_dollars() -> None:
    said = RiskSettings(series_loss_cents=Cents(9_000), rung_position_qty=Qty(1), order_qty=Qty(1))
    assert said.event_loss_cents == 3_000


def test_an_event_gets_what_events_series_and_account_leave_whichever_is_least() -> None:
    of = RiskSettings(
        event_loss_cents=Cents(3_000),
        series_loss_cents=Cents(10_000),
        account_loss_cents=Cents(12_000),
        rung_position_qty=Qty(1),
        order_qty=Qty(1),
    )
    assert event_limit_cents(of, Cents(0), Cents(0)) == 3_000
    assert event_limit_cents(of, Cents(0), Cents(11_000)) == 1_000
    assert event_limit_cents(of, Cents(500), Cents(11_000)) == 500
    assert event_limit_cents(of, Cents(8_000), Cents(0)) == 2_000
    assert event_limit_cents(of, Cents(0), Cents(50_000)) == 0
    alone = msgspec.structs.replace(of, account_loss_cents=Cents(0))
    assert event_limit_cents(alone, Cents(0), Cents(50_000)) == 3_000


def test_what_other_events_have_resting_takes_of_the_limit_of_the_series() -> None:
    found = limits_in_force(msgspec.structs.replace(limits(), resting_cents=Cents(1_000)))
    assert bounds_of(found, Cents(1), Cents(300)).resting_cents == 700
    assert bounds_of(found, Cents(1), Cents(1_300)).resting_cents == 0


@settings(deadline=None)
@given(
    held,
    some_rates,
    st.integers(-9_000, 0),
    st.tuples(*[st.integers(1, 99)] * (2 * COUNT)),
    st.tuples(*[st.integers(1, 40)] * (2 * COUNT)),
    st.builds(
        Bounds,
        loss_cents=st.integers(0, 9_000).map(Cents),
        position_qty=st.integers(1, 200).map(Qty),
        net_qty=st.integers(1, 400).map(Qty),
        gross_qty=st.integers(1, 400).map(Qty),
        gross_cents=st.integers(1, 9_000).map(Cents),
        resting_cents=st.integers(1, 9_000).map(Cents),
    ),
)
def test_what_is_left_to_be_wanted_may_be_sent_however_far_past_a_bound_what_is_held_is(
    holdings: list[tuple[int, int]],
    rates: list[str],
    cash: int,
    prices: tuple[int, ...],
    sizes: tuple[int, ...],
    bounds: Bounds,
) -> None:
    quotes = {
        key: (bid(prices[2 * rung], sizes[2 * rung]), ask(prices[2 * rung + 1], sizes[rung]))
        for rung, key in enumerate(ids(COUNT))
    }
    exposure = Exposure(terms(rates), Cents(cash), holdings)
    in_force = limits_in_force(limits(position=bounds.position_qty))
    wanted = QuoteTrimmer(in_force).trim(quotes, exposure, bounds)
    for key, mine in wanted.items():
        for quote in mine:
            live = live_of(key, quote)
            assert exposure.largest(live, bounds) == quote.qty
            exposure.add_order(live)
