"""Quotes trimmed to the limits of their event, to the last share and cent."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.risk.exposure import Exposure, bounds_of, live_of
from bot.core.risk.limits import limits_in_force
from bot.core.risk.trim import QuoteTrimmer, Trim, TrimReason
from bot.strategy.api import Quote
from tests.builders.bot.exposures import (
    FAR,
    FLAT,
    M0,
    M1,
    M2,
    bounds,
    cut,
    flat,
    holding,
    ids,
    limits,
    terms,
    trimmed,
    trimmer,
    with_quotes,
)
from tests.builders.bot.planned import ask, bid
from venue.wire.money import BookSide, Cents, Price, Qty
from venue.wire.names import MarketId

NEAR = {
    TrimReason.EVENT_NET: {"event_net_qty": Qty(12)},
    TrimReason.EVENT_GROSS: {"event_gross_qty": Qty(20)},
    TrimReason.RESTING: {"resting_cents": Cents(900)},
}


def two_sided(count: int, qty: int) -> dict[MarketId, tuple[Quote, ...]]:
    return {key: (bid(48, qty), bid(47, qty), ask(52, qty), ask(53, qty)) for key in ids(count)}


def test_quotes_within_every_limit_are_not_trimmed() -> None:
    quotes = two_sided(4, 10)
    assert cut(quotes, flat(4, "0.0175"), limits(), FAR) == (quotes, [])


def test_trimming_ignores_live_orders_and_changes_no_exposure() -> None:
    exposure = flat(1, "0.0175")
    exposure.add_order(live_of(M0, bid(50, 10)))
    quotes = {M0: (bid(48, 10),)}
    assert cut(quotes, exposure, limits(), Cents(490)) == (quotes, [])
    assert exposure.worst_cents == -510


def test_a_quote_above_the_order_size_is_trimmed_to_it_and_the_trim_says_so():
    kept, trims = cut({M0: (bid(48, 30),)}, flat(1), limits(order=20))
    assert kept == {M0: (bid(48, 20),)}
    assert trims == [Trim(M0, BookSide.BID, Price(48), Qty(30), Qty(20), TrimReason.ORDER_QTY)]


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        ((bid(47), bid(48), ask(52)), (bid(47, 5), bid(48), ask(52))),
        ((ask(53), ask(52), bid(48)), (ask(53, 5), ask(52), bid(48))),
    ],
    ids=["bids", "asks"],
)
def test_levels_share_the_position_limit_of_their_rung_best_price_first(wanted, kept):
    left, trims = cut({M0: wanted}, flat(1), limits(position=15))
    assert left == {M0: kept}
    assert [each.reason for each in trims] == [TrimReason.RUNG_POSITION]


@pytest.mark.parametrize(("held", "quote"), [((90, 0), ask(60, 80)), ((0, 90), bid(40, 80))])
def test_the_position_limit_never_trims_a_quote_that_reduces_a_position(held, quote):
    quotes = {M0: (quote,)}
    assert cut(quotes, holding(-5_000, held), limits(position=20)) == (quotes, [])


def test_a_tight_loss_limit_leaves_a_quote_on_every_rung_and_side() -> None:
    kept, cuts = cut(two_sided(12, 10), flat(12, "0.0175"), limits(), Cents(3_000))
    for wanted in kept.values():
        assert {quote.side for quote in wanted} == {BookSide.BID, BookSide.ASK}
    assert {each.reason for each in cuts} == {TrimReason.EVENT_LOSS}


def test_a_quote_that_is_kept_whole_in_the_end_is_not_reported_as_trimmed():
    kept, trims = cut({M0: (bid(2, 1),), M1: (bid(2, 1),)}, flat(2), limits(), Cents(3))
    assert kept == {M0: (bid(2, 1),), M1: ()}
    assert [each.market_id for each in trims] == [M1]


# Outcomes at 1000, 1000, -1000: an ask of the lower rung loses in the last two, a bid of the upper
# one in the first two. Outcomes at -1000, -1000, 1000: a bid of the upper rung loses in the first
# two, an ask of it in the last alone.
@pytest.mark.parametrize(
    ("held", "wanted", "kept"),
    [
        (
            (FLAT, (0, 20)),
            {M0: (ask(60, 8),), M1: (bid(40, 8),)},
            {M0: (ask(60, 4),), M1: (bid(40, 8),)},
        ),
        ((FLAT, (20, 0)), {M1: (bid(40, 8), ask(60, 8))}, {M1: (bid(40, 4), ask(60, 8))}),
    ],
)
def test_a_quote_is_trimmed_only_by_outcomes_in_which_it_loses(held, wanted, kept):
    assert cut(wanted, holding(-1_000, *held), limits(), Cents(1_160))[0] == kept


def test_past_its_loss_limit_an_event_keeps_only_quotes_that_cannot_deepen_the_loss():
    quotes = {M0: (bid(40, 10), ask(60, 10))}
    kept, _ = cut(quotes, holding(-1_000, (20, 0)), limits(), Cents(500))
    assert kept == {M0: (ask(60, 10),)}


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
def test_trimmed_quotes_are_within_every_limit_and_every_trim_is_reported(
    quotes, holdings, cash, limit, position, order
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
    trims = {(each.market_id, each.side, each.price): each for each in cuts}
    for key, wanted in quotes.items():
        sizes = {(quote.side, quote.price): quote.qty for quote in kept[key]}
        for quote in wanted:
            size = sizes.get((quote.side, quote.price), 0)
            assert size <= min(quote.qty, order)
            each = trims.get((key, quote.side, quote.price))
            assert (each is None) == (size == quote.qty)
            assert each is None or (each.wanted, each.allowed) == (quote.qty, size)


@given(st.sampled_from(sorted(NEAR)), st.integers(1, 4))
def test_quotes_share_what_a_sum_has_left_and_the_trims_name_it(reason, count):
    risk = msgspec.structs.replace(limits(), **NEAR[reason])
    quotes = {key: (bid(48, 10), ask(52, 10)) for key in ids(count)}
    nothing = flat(count)
    kept, cuts = cut(quotes, nothing, risk, FAR)
    of = bounds_of(limits_in_force(risk), FAR)
    assert with_quotes(nothing, kept).is_within_sums(of)
    fits = with_quotes(nothing, quotes).is_within_sums(of)
    assert {each.reason for each in cuts} == (set() if fits else {reason})
    assert all(kept.values())


def test_a_trim_for_the_gross_loss_names_the_gross_limit() -> None:
    risk = msgspec.structs.replace(limits(), event_gross_cents=Cents(400))
    kept, trims = cut({M0: (bid(50, 16),)}, flat(1), risk)
    assert kept == {M0: (bid(50, 8),)}
    assert [each.reason for each in trims] == [TrimReason.EVENT_GROSS]


def test_quotes_are_whole_again_once_the_limit_allows_it() -> None:
    trim, quotes = trimmer(), {M0: (bid(50, 16), ask(60, 16))}
    assert trim.trim(quotes, flat(1), bounds(loss_cents=100)) != quotes
    assert trim.trims
    assert trim.trim(quotes, flat(1), bounds(loss_cents=10_000)) == quotes
    assert trim.trims == ()


def test_an_event_past_its_limit_without_quotes_is_trimmed_to_nothing() -> None:
    lost = Exposure(terms(["0"]), Cents(-500), [FLAT])
    assert cut({M0: ()}, lost, limits(), Cents(100)) == ({M0: ()}, [])
    assert cut({}, lost, limits(), Cents(100)) == ({}, [])


def test_a_trimmed_quote_keeps_its_price_limit() -> None:
    quote = Quote(BookSide.BID, Price(40), Qty(10), Price(42))
    kept, _ = cut({M0: (quote,)}, flat(1), limits(order=4))
    assert kept == {M0: (msgspec.structs.replace(quote, qty=Qty(4)),)}


@pytest.mark.parametrize("quote", [bid(40, 10), ask(60, 10)])
def test_a_quote_may_use_the_loss_limit_to_its_last_cent_and_a_cent_less_costs_an_eighth(quote):
    quotes = {M0: (quote,)}
    assert cut(quotes, flat(1), limits(), Cents(400)) == (quotes, [])
    kept, trims = cut(quotes, flat(1), limits(), Cents(399))
    assert kept == {M0: (Quote(quote.side, quote.price, Qty(8)),)}
    assert trims == [Trim(M0, quote.side, quote.price, Qty(10), Qty(8), TrimReason.EVENT_LOSS)]
    assert type(trims[0].allowed) is int


def test_a_quote_over_the_order_size_and_the_position_limit_names_the_position_limit() -> None:
    _, [trim] = cut({M0: (bid(48, 30),)}, flat(1), limits(order=20, position=15))
    assert (trim.wanted, trim.allowed, trim.reason) == (30, 15, TrimReason.RUNG_POSITION)


def test_a_quote_at_the_order_size_and_the_position_limit_is_not_trimmed() -> None:
    quotes = {M0: (bid(48, 20), ask(52, 20))}
    assert cut(quotes, flat(1), limits(order=20, position=20), FAR) == (quotes, [])


def test_a_second_level_gets_the_room_that_the_first_levels_leave() -> None:
    quotes = {M0: (bid(50, 8), bid(40, 8)), M1: (bid(50, 8),)}
    kept, _ = cut(quotes, flat(2), limits(), Cents(960))
    assert kept == {M0: (bid(50, 8), bid(40, 4)), M1: (bid(50, 8),)}
    assert with_quotes(flat(2), kept).worst_cents == -960


def reasons(cut: QuoteTrimmer) -> dict[MarketId, set[TrimReason]]:
    """Why quotes of each rung were cut."""
    out: dict[MarketId, set[TrimReason]] = {}
    for each in cut.trims:
        out.setdefault(each.market_id, set()).add(each.reason)
    return out


def test_a_trimmer_reports_resting_cents_and_worst_case_with_and_without_trims():
    trim, held = trimmer(), holding(-100, FLAT, FLAT)
    assert (trim.resting_cents, trim.worst_cents, trim.trims) == (0, 0, ())
    trim.trim({M0: (bid(50, 16), ask(60, 10)), M1: (bid(50, 16),)}, held, bounds())
    assert (trim.resting_cents, trim.worst_cents) == (800 + 400 + 800, -100 - 1_600)
    trim.trim({M0: (bid(50, 16),), M1: (bid(50, 16),)}, held, bounds(loss_cents=1_060))
    assert (trim.resting_cents, trim.worst_cents) == (400 + 400, -100 - 800)


def test_a_rung_without_quotes_is_left_out_though_the_other_rungs_are_unchanged() -> None:
    quotes = {M0: (bid(50, 16),), M1: (bid(40, 16),)}
    cut, held = trimmer(), holding(0, FLAT, FLAT)
    assert cut.trim(quotes, held, bounds()) == quotes
    assert cut.trim({M0: quotes[M0]}, held, bounds()) == {M0: quotes[M0]}
    assert cut.resting_cents == 800


@pytest.mark.parametrize(
    ("bound", "then", "kept"),
    [
        ({"loss_cents": 800}, bid(60, 16), bid(60, 12)),
        ({"net_qty": 16}, bid(40, 20), bid(40, 15)),
    ],
    ids=["a dearer price", "more shares for the same loss"],
)
def test_a_second_trim_counts_the_quote_that_is_wanted_now(bound, then, kept):
    trim, held = trimmer(), holding(0, FLAT)
    assert trim.trim({M0: (bid(50, 16),)}, held, bounds(**bound)) == {M0: (bid(50, 16),)}
    assert trim.trim({M0: (then,)}, held, bounds(**bound)) == {M0: (kept,)}


# (held, wanted, bound, kept): what enlarges a position counts, what reduces it does not.
@pytest.mark.parametrize(
    ("held", "wanted", "bound", "kept"),
    [
        (FLAT, (bid(50, 16),), {"net_qty": 16}, (bid(50, 16),)),
        (FLAT, (bid(50, 16),), {"net_qty": 15}, (bid(50, 14),)),
        ((10, 0), (bid(50, 16),), {"net_qty": 18}, (bid(50, 8),)),
        ((0, 10), (ask(50, 16),), {"net_qty": 18}, (ask(50, 8),)),
        ((10, 0), (ask(50, 16),), {"net_qty": 18}, (ask(50, 16),)),
        (FLAT, (bid(40, 32), ask(60, 16)), {"net_qty": 16}, (bid(40, 16), ask(60, 16))),
        ((5, 0), (bid(1, 1),), {"net_qty": 4}, ()),
        ((10, 0), (bid(50, 16),), {"gross_qty": 18}, (bid(50, 8),)),
        ((0, 10), (ask(50, 16),), {"gross_qty": 18}, (ask(50, 8),)),
        ((10, 0), (bid(50, 16), ask(60, 20)), {"gross_qty": 18}, (bid(50, 8), ask(60, 20))),
        ((10, 0), (bid(40, 9), ask(60, 25)), {"gross_qty": 4}, (ask(60, 14),)),
        (FLAT, (bid(50, 10),), {"resting_cents": 500}, (bid(50, 10),)),
        (FLAT, (bid(50, 10),), {"resting_cents": 499}, (bid(50, 8),)),
        (FLAT, (bid(1, 1),), {"net_qty": 0}, ()),
        (FLAT, (bid(1, 1),), {"gross_qty": 0}, ()),
        (FLAT, (bid(1, 1),), {"gross_cents": 0}, ()),
        (FLAT, (bid(1, 1),), {"resting_cents": 0}, ()),
        (FLAT, (bid(1, 1),), {"loss_cents": 0}, ()),
        *(
            ((10, 0), (ask(60, 25),), {"gross_qty": limit}, (ask(60, qty),))
            for limit, qty in [(8, 18), (9, 19), (10, 20), (11, 20), (12, 21)]
        ),
    ],
)
def test_a_quote_is_trimmed_to_what_each_bound_leaves_its_side(held, wanted, bound, kept):
    assert trimmed({M0: wanted}, holding(0, held), bounds(**bound)) == {M0: kept}


def test_a_rung_that_the_loss_limit_leaves_whole_keeps_its_quotes_and_its_reason() -> None:
    # A bid of the lowest rung and an ask of the highest never lose together.
    cut, held = trimmer(order=10), holding(0, FLAT, FLAT)
    quotes = {M0: (bid(50, 16),), M1: (ask(50, 8),)}
    first = cut.trim(quotes, held, bounds(loss_cents=500))
    assert (first[M0], reasons(cut)) == ((bid(50, 10),), {M0: {TrimReason.ORDER_QTY}})
    second = cut.trim({M0: quotes[M0], M1: (ask(20, 8),)}, held, bounds(loss_cents=500))
    assert second[M0] is first[M0]
    assert second[M1] == (ask(20, 6),)
    assert reasons(cut) == {M0: {TrimReason.ORDER_QTY}, M1: {TrimReason.EVENT_LOSS}}


def test_quotes_that_were_wanted_before_are_trimmed_to_the_holdings_of_now() -> None:
    cut = QuoteTrimmer(limits_in_force(limits(position=20)))
    quotes, others, holds = {M0: (bid(50, 16),)}, {M0: (bid(40, 16),)}, holding(0, (12, 0))
    assert cut.trim(quotes, holding(0, FLAT), bounds()) == quotes
    assert cut.trim(others, holds, bounds()) == {M0: (bid(40, 8),)}
    assert cut.trim(quotes, holds, bounds()) == {M0: (bid(50, 8),)}
    assert cut.resting_cents == 400


def test_quotes_that_were_wanted_before_are_trimmed_to_the_bounds_of_now() -> None:
    cut, held = trimmer(), holding(0, FLAT, FLAT)
    quotes = {M0: (bid(50, 16),), M1: (bid(50, 16),)}
    assert cut.trim(quotes, held, bounds(loss_cents=800))[M0] == (bid(50, 8),)
    cut.trim({M0: (bid(49, 16),), M1: (bid(50, 16),)}, held, bounds())
    assert cut.trim(quotes, held, bounds(loss_cents=400))[M0] == (bid(50, 4),)
    assert cut.trim(quotes, held, bounds()) == quotes


@pytest.mark.parametrize(
    "then",
    [
        {M0: (bid(50, 16),), M1: (bid(50, 16),), M2: (bid(49, 4),)},
        {M0: (bid(50, 16),), M1: (bid(50, 16),)},
    ],
)
@pytest.mark.parametrize("of", [bounds(net_qty=31), bounds(loss_cents=1_500)])
def test_quotes_of_other_rungs_still_count_when_one_rung_changes_or_drops_its_quotes(
    then, of
) -> None:
    first = {M0: (bid(50, 16),), M1: (bid(50, 16),), M2: (bid(50, 4),)}
    cut, held = trimmer(), holding(0, FLAT, FLAT, FLAT)
    assert cut.trim(first, held, bounds()) == first
    left = cut.trim(then, held, of)
    assert left == trimmed(then, held, of) != then


@pytest.mark.parametrize("make, prices", [(bid, [50, 40, 30]), (ask, [50, 60, 70])])
def test_three_levels_get_the_loss_limit_from_the_best_price_on(make, prices):
    # 400 and 320 cents leave 120 of the 240 that the third may lose.
    quotes = {M0: tuple(make(price, 8) for price in prices)}
    left = trimmed(quotes, holding(0, FLAT), bounds(loss_cents=840))
    assert left == {
        M0: tuple(make(price, qty) for price, qty in zip(prices, [8, 8, 4], strict=True))
    }


def test_quotes_that_lose_together_share_the_limit_and_leave_what_they_do_not_need() -> None:
    # 1,000 cents for three: 160 suffice for the cheap one, and 420 are left to each of the others.
    quotes = {M0: (bid(90, 16),), M1: (bid(50, 16),), M2: (bid(10, 16),)}
    held = holding(0, FLAT, FLAT, FLAT)
    assert trimmed(quotes, held, bounds(loss_cents=1_000)) == {
        M0: (bid(90, 4),),
        M1: (bid(50, 8),),
        M2: (bid(10, 16),),
    }


def test_a_quote_shares_the_limit_only_with_quotes_that_lose_in_the_same_outcome() -> None:
    # Between the two rungs three lose together, and 333 cents are left to each: three eighths of
    # 800, and half of 640.
    quotes = {M0: (ask(50, 16),), M1: (bid(50, 16), ask(60, 16)), M2: (bid(40, 16),)}
    held = holding(0, FLAT, FLAT, FLAT)
    assert trimmed(quotes, held, bounds(loss_cents=1_000)) == {
        M0: (ask(50, 6),),
        M1: (bid(50, 6), ask(60, 8)),
        M2: (bid(40, 8),),
    }


# With 10 YES: 600 cents are lost in NO; in YES 1000 are left, and an ask at 60 loses 40 a share.
@pytest.mark.parametrize(
    ("cash", "held", "wanted", "limit", "qty"),
    [
        *(
            (-600, (10, 0), ask(60, 40), limit, qty)
            for limit, qty in [(500, 22), (599, 24), (600, 25), (700, 26), (750, 28)]
        ),
        (-500, (10, 0), bid(50, 16), 900, 8),
        (-500, (0, 10), ask(50, 16), 900, 8),
    ],
)
def test_the_gross_loss_counts_what_a_rung_loses_already_and_what_its_position_pays(
    cash, held, wanted, limit, qty
):
    left = trimmed({M0: (wanted,)}, holding(cash, held), bounds(gross_cents=limit))
    assert [each.qty for each in left[M0]] == [qty]


def test_past_a_gross_bound_a_quote_keeps_the_size_that_may_be_sent_alone() -> None:
    both = {M0: (bid(80, 4), ask(84, 4)), M1: (ask(50, 2),)}
    cut = trimmer()
    held = holding(-271, (3, 2), FLAT)  # 71 cents are lost in NO; 3 of the asks lose 19 in YES
    assert cut.trim(both, held, bounds(gross_cents=17)) == {M0: (ask(84, 2),), M1: ()}
    assert reasons(cut) == {M0: {TrimReason.EVENT_GROSS}, M1: {TrimReason.EVENT_GROSS}}


def test_a_quote_that_just_fits_past_a_gross_bound_names_the_order_size_as_its_trim() -> None:
    cut = trimmer(order=5)
    held = {M0: (ask(60, 8),)}
    assert cut.trim(held, holding(0, (3, 0)), bounds(gross_qty=2)) == {M0: (ask(60, 5),)}
    assert reasons(cut) == {M0: {TrimReason.ORDER_QTY}}


def test_one_share_is_kept_if_its_loss_fits_to_the_cent() -> None:
    quotes, held = {M0: (bid(50, 16),), M1: (bid(50, 1),)}, holding(0, FLAT, FLAT)
    first = {M0: (bid(50, 1),)}
    for sums in ({}, {"resting_cents": 100}):
        whole = trimmed(quotes, held, bounds(loss_cents=100, **sums))
        assert whole == {**first, M1: (bid(50, 1),)}
        assert trimmed(quotes, held, bounds(loss_cents=99, **sums)) == {**first, M1: ()}


def test_quotes_kept_already_leave_a_single_share_no_room() -> None:
    quotes = {M0: (bid(10, 8),), M1: (bid(90, 1),)}
    assert trimmed(quotes, holding(0, FLAT, FLAT), bounds(loss_cents=95)) == {
        M0: (bid(10, 4),),
        M1: (),
    }


def test_outcomes_in_which_a_single_share_gains_do_not_bar_it() -> None:
    of = bounds(loss_cents=50)
    # Outcomes at 0, -1000, -1000; and at -1000, -1000, 0.
    bids, asks = {M0: (bid(50, 3),)}, {M1: (ask(50, 3),)}
    assert trimmed(bids, holding(-1_000, (0, 10), FLAT), of) == {M0: (bid(50, 1),)}
    assert trimmed(asks, holding(-1_000, FLAT, (10, 0)), of) == {M1: (ask(50, 1),)}


def test_a_single_share_that_does_not_fit_leaves_room_for_one_that_does() -> None:
    quotes, held = {M0: (bid(50, 1),), M1: (bid(30, 1),)}, holding(0, FLAT, FLAT)
    left = {M0: (), M1: (bid(30, 1),)}
    assert trimmed(quotes, held, bounds(loss_cents=40)) == left
    assert trimmed(quotes, held, bounds(resting_cents=40)) == left


@pytest.mark.parametrize("make", [bid, ask])
def test_single_shares_use_up_the_net_limit_of_their_side_one_by_one(make):
    quotes = {M0: (make(50, 16),), M1: (make(50, 1),), M2: (make(50, 1),)}
    left = {M0: (make(50, 1),), M1: (make(50, 1),), M2: ()}
    assert trimmed(quotes, flat(3), bounds(net_qty=2)) == left


ONE_BID = {M0: (bid(50, 16),)}
"""Of which 800 cents may be lost, and 800 rest."""


def gains(asked: list[tuple[int, int]], **bound: int) -> list[bool]:
    """True for each (loss, resting) limit in cents that would enlarge a bid trimmed to `bound`."""
    trim = trimmer()
    trim.trim(ONE_BID, holding(0, FLAT), bounds(**bound))
    return [trim.gains_by(Cents(loss), Cents(rests)) for loss, rests in asked]


# Of the other limit, no more is needed than the wanted quotes use, or than it was.
@pytest.mark.parametrize(
    ("bound", "asked", "expected"),
    [
        ({"loss_cents": 800, "resting_cents": 800}, [(FAR, FAR)], [False]),
        ({"loss_cents": 400}, [(401, FAR), (400, FAR), (399, FAR)], [True, False, False]),
        ({"resting_cents": 400}, [(FAR, 401), (FAR, 400), (FAR, 399)], [True, False, False]),
        ({"loss_cents": 800, "resting_cents": 400}, [(801, 400), (800, 401)], [False, True]),
        ({"loss_cents": 400, "resting_cents": 800}, [(400, 801), (401, 800)], [False, True]),
        ({"resting_cents": 400}, [(799, 401), (800, 401)], [False, True]),
        ({"loss_cents": 400}, [(401, 799), (401, 800)], [False, True]),
        (
            {"loss_cents": 400, "resting_cents": 600},
            [(401, 599), (401, 600), (399, 601), (400, 601)],
            [False, True, False, True],
        ),
        ({"net_qty": 8, "loss_cents": 800, "resting_cents": 800}, [(FAR, FAR)], [False]),
    ],
)
def test_a_trim_gains_by_a_cent_more_of_the_limit_that_it_is_short_of(bound, asked, expected):
    assert gains(asked, **bound) == expected


def test_a_trimmer_without_a_trim_gains_by_no_limit():
    assert trimmer().gains_by(FAR, FAR) is False


@pytest.mark.parametrize(
    ("name", "whole"), [("net_qty", 16), ("gross_qty", 16), ("gross_cents", 800)]
)
def test_a_higher_loss_limit_is_no_gain_where_another_bound_is_short_too(name, whole) -> None:
    """Otherwise two events may give way to each other for ever."""
    assert gains([(401, FAR)], loss_cents=400, **{name: whole}) == [True]
    assert gains([(401, FAR)], loss_cents=400, **{name: whole - 1}) == [False]
