"""The limits at their last cent and share: at a glance, in turn, and where a part is shared."""

import pytest

from bot.core.risk import Cut, CutReason, Exposure, Live, RungTerms, cut, fits_surely, live_of
from bot.core.strategy import Quote
from tests.bot.test_bot_risk import ask, bid, flat, ids, limits, terms
from venue.wire.money import Cents, FeeRate, Outcome, Price, Qty, Side
from venue.wire.names import MarketId

M0, M1 = MarketId("m0"), MarketId("m1")


def free(count: int) -> Exposure:
    """Nothing held, and no fees."""
    return Exposure(terms(["0"] * count), Cents(0), [(0, 0)] * count)


# --- at a glance ----------------------------------------------------------------------------------


def test_no_quotes_fit_surely_even_where_nothing_may_be_lost() -> None:
    assert fits_surely({}, free(1), limits(), Cents(0))


@pytest.mark.parametrize(("size", "fits"), [(20, True), (21, False)])
def test_at_a_glance_a_quote_may_be_as_large_as_an_order(size: int, fits: bool) -> None:
    quotes = {M0: (bid(40, size),)}
    assert fits_surely(quotes, free(1), limits(order=20), Cents(10**9)) is fits


@pytest.mark.parametrize(("held", "fits"), [(10, True), (11, False)])
def test_at_a_glance_all_quotes_of_a_rung_count_on_top_of_its_position(
    held: int, fits: bool
) -> None:
    exposure = Exposure(terms(["0"] * 2), Cents(0), [(0, 0), (0, held)])
    quotes = {M0: (bid(40, 1),), M1: (bid(40, 15), ask(60, 15))}
    assert fits_surely(quotes, exposure, limits(position=40), Cents(10**9)) is fits


def test_at_a_glance_every_rung_has_the_whole_position_limit_for_itself() -> None:
    quotes = {key: (bid(40, 20), ask(60, 20)) for key in ids(3)}
    assert fits_surely(quotes, free(3), limits(position=40), Cents(10**9))


@pytest.mark.parametrize(("limit", "fits"), [(9_000, True), (8_999, False)])
def test_at_a_glance_every_wanted_share_may_lose_its_dollar(limit: int, fits: bool) -> None:
    quotes = {M0: (bid(40, 20), ask(60, 10)), M1: (bid(1, 60),)}
    assert fits_surely(quotes, free(2), limits(), Cents(limit)) is fits


def test_at_a_glance_what_is_lost_already_takes_of_the_limit() -> None:
    lost = Exposure(terms(["0"]), Cents(-500), [(0, 0)])
    assert fits_surely({M0: (bid(40, 5),)}, lost, limits(), Cents(1_000))
    assert not fits_surely({M0: (bid(40, 5),)}, lost, limits(), Cents(999))


# --- the terms, and the room ---------------------------------------------------------------------


def test_without_fees_a_bid_may_lose_its_price_and_an_ask_the_rest_of_the_dollar() -> None:
    free_of_fees = RungTerms.of(M0, FeeRate.parse("0"), FeeRate.parse("0"))
    assert free_of_fees.bid_loss_cents == tuple(range(100))
    assert free_of_fees.ask_loss_cents == (0, *range(99, 0, -1))


def test_the_dearer_rate_counts_by_the_fee_of_one_share() -> None:
    for rates in (("0.0175", "0.07"), ("0.07", "0.0175")):
        dear = RungTerms.of(M0, *(FeeRate.parse(rate) for rate in rates))
        assert (dear.bid_loss_cents[50], dear.ask_loss_cents[50]) == (52, 52)
        assert (dear.bid_loss_cents[40], dear.ask_loss_cents[40]) == (42, 62)


def test_the_room_of_a_bid_is_not_narrowed_by_outcomes_in_which_it_gains() -> None:
    # Outcomes at 0, -1000, -1000: a bid of the lowest rung loses in the first alone.
    exposure = Exposure(terms(["0"] * 2), Cents(-1_000), [(0, 10), (0, 0)])
    assert exposure.room(live_of(M0, bid(50, 99)), Cents(1_000)) == 20
    assert exposure.room(live_of(M1, bid(50, 99)), Cents(1_000)) == 0


def test_the_room_of_an_ask_is_not_narrowed_by_outcomes_in_which_it_gains() -> None:
    # Outcomes at -1000, -1000, 0: an ask of the upper rung loses in the last alone.
    exposure = Exposure(terms(["0"] * 2), Cents(-1_000), [(0, 0), (10, 0)])
    assert exposure.room(live_of(M1, ask(50, 99)), Cents(1_000)) == 20
    assert exposure.room(live_of(M0, ask(50, 99)), Cents(1_000)) == 0


# --- adding and removing --------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("side", Side)
def test_an_order_of_every_kind_can_be_taken_out_again(outcome: Outcome, side: Side) -> None:
    exposure = flat(2)
    live = Live(M1, outcome, side, Price(30), Qty(7))
    exposure.add(live)
    assert exposure.largest_position(M1) == 7
    exposure.remove(live)
    assert exposure.worst_outcome_cents == (0, 0, 0)
    assert exposure.largest_position(M1) == 0


# --- sharing a limit ------------------------------------------------------------------------------


def test_a_quote_that_uses_the_limit_up_to_its_last_cent_stands_whole() -> None:
    for quote in (bid(40, 10), ask(60, 10)):
        quotes = {M0: (quote,)}
        assert cut(quotes, free(1), limits(), Cents(400)) == (quotes, [])


@pytest.mark.parametrize("quote", [bid(40, 10), ask(60, 10)])
def test_a_cent_short_of_the_limit_costs_a_whole_eighth(quote: Quote) -> None:
    kept, cuts = cut({M0: (quote,)}, free(1), limits(), Cents(399))
    assert kept == {M0: (Quote(quote.side, quote.price, Qty(8)),)}
    assert cuts == [Cut(M0, quote.side, quote.price, Qty(10), Qty(8), CutReason.EVENT_LOSS)]
    assert type(cuts[0].allowed) is int


def test_an_ask_of_an_upper_rung_is_not_cut_by_the_outcomes_below_it() -> None:
    # Outcomes at -1000, -1000, 1000: a bid of the upper rung loses in the first two, an ask of it
    # in the last alone.
    exposure = Exposure(terms(["0"] * 2), Cents(-1_000), [(0, 0), (20, 0)])
    kept, _ = cut({M1: (bid(40, 8), ask(60, 8))}, exposure, limits(), Cents(1_160))
    assert kept == {M1: (bid(40, 4), ask(60, 8))}


def test_the_one_share_that_stands_after_all_counts_on_its_own_side() -> None:
    exposure = free(3)
    cut({key: (bid(50, 3),) for key in ids(3)}, exposure, limits(), Cents(110))
    assert exposure.worst_outcome_cents == (-100, -50, 0, 0)


def test_one_share_stands_where_exactly_its_loss_is_left_and_none_a_cent_below() -> None:
    assert cut({M0: (bid(50, 9),)}, free(1), limits(), Cents(50))[0] == {M0: (bid(50, 1),)}
    assert cut({M0: (bid(50, 9),)}, free(1), limits(), Cents(49))[0] == {M0: ()}


def test_asks_of_a_rung_are_served_lowest_first_however_they_are_listed() -> None:
    quotes = {M0: (ask(53, 10), ask(52, 10), bid(48, 10))}
    kept, _ = cut(quotes, free(1), limits(position=15), Cents(10**9))
    assert kept == {M0: (ask(53, 5), ask(52, 10), bid(48, 10))}


def test_a_quote_cut_to_the_order_size_and_then_to_the_position_names_the_position() -> None:
    _, cuts = cut({M0: (bid(48, 30),)}, free(1), limits(order=20, position=15), Cents(10**9))
    assert [(each.wanted, each.allowed, each.reason) for each in cuts] == [
        (30, 15, CutReason.RUNG_POSITION)
    ]


def test_a_quote_exactly_at_the_order_size_and_the_position_is_not_cut() -> None:
    quotes = {M0: (bid(48, 20), ask(52, 20))}
    assert cut(quotes, free(1), limits(order=20, position=20), Cents(10**9)) == (quotes, [])


def test_a_second_level_finds_the_room_that_the_first_levels_left() -> None:
    quotes = {M0: (bid(50, 8), bid(40, 8)), M1: (bid(50, 8),)}
    exposure = free(2)
    kept, _ = cut(quotes, exposure, limits(), Cents(960))
    assert kept == {M0: (bid(50, 8), bid(40, 4)), M1: (bid(50, 8),)}
    assert exposure.worst_cents == -960


def test_the_exposure_of_a_wanted_quote_is_that_of_its_yes_route() -> None:
    assert live_of(M0, bid(40, 3)) == Live(M0, Outcome.YES, Side.BUY, Price(40), Qty(3))
    assert live_of(M0, ask(60, 3)) == Live(M0, Outcome.YES, Side.SELL, Price(60), Qty(3))
