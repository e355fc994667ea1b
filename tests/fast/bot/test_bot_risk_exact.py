"""The limits at their last cent and share: in turn, and where a part is shared."""

import pytest

from bot.core.risk.exposure import Exposure, OpenExposure, RungTerms, bounds_of, live_of
from bot.core.risk.limits import limits_in_force
from bot.core.risk.trim import Trim, TrimReason
from bot.strategy.api import Quote
from tests.fast.bot.test_bot_risk import ask, bid, cut, flat, ids, limits, terms, with_quotes
from venue.wire.money import Cents, FeeRate, Outcome, Price, Qty, Side
from venue.wire.names import MarketId

M0, M1 = MarketId("m0"), MarketId("m1")


def free(count: int) -> Exposure:
    """Nothing held, and no fees."""
    return Exposure(terms(["0"] * count), Cents(0), [(0, 0)] * count)


# --- the terms, and the room ---------------------------------------------------------------------


def test_without_fees_a_bid_may_lose_its_price_and_an_ask_the_rest_of_the_dollar() -> None:
    free_of_fees = RungTerms.at_rates(M0, FeeRate.parse("0"), FeeRate.parse("0"))
    assert free_of_fees.bid_loss_cents == tuple(range(100))
    assert free_of_fees.ask_loss_cents == (0, *range(99, 0, -1))


def test_the_dearer_rate_counts_by_the_fee_of_one_share() -> None:
    for rates in (("0.0175", "0.07"), ("0.07", "0.0175")):
        dear = RungTerms.at_rates(M0, *(FeeRate.parse(rate) for rate in rates))
        assert (dear.bid_loss_cents[50], dear.ask_loss_cents[50]) == (52, 52)
        assert (dear.bid_loss_cents[40], dear.ask_loss_cents[40]) == (42, 62)


def loss_room(exposure: Exposure, live: OpenExposure) -> int:
    """What a loss limit of ten dollars leaves."""
    return exposure.rooms(live, bounds_of(limits_in_force(limits()), Cents(1_000))).loss_cents


def test_the_room_of_a_bid_is_not_narrowed_by_outcomes_in_which_it_gains() -> None:
    # Outcomes at 0, -1000, -1000: a bid of the lowest rung loses in the first alone.
    exposure = Exposure(terms(["0"] * 2), Cents(-1_000), [(0, 10), (0, 0)])
    assert loss_room(exposure, live_of(M0, bid(50, 99))) == 20
    assert loss_room(exposure, live_of(M1, bid(50, 99))) == 0


def test_the_room_of_an_ask_is_not_narrowed_by_outcomes_in_which_it_gains() -> None:
    # Outcomes at -1000, -1000, 0: an ask of the upper rung loses in the last alone.
    exposure = Exposure(terms(["0"] * 2), Cents(-1_000), [(0, 0), (10, 0)])
    assert loss_room(exposure, live_of(M1, ask(50, 99))) == 20
    assert loss_room(exposure, live_of(M0, ask(50, 99))) == 0


# --- adding and removing --------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("side", Side)
def test_an_order_of_every_kind_can_be_taken_out_again(outcome: Outcome, side: Side) -> None:
    exposure = flat(2)
    live = OpenExposure(M1, outcome, side, Price(30), Qty(7))
    exposure.add_order(live)
    assert exposure.gross_qty == 7
    left = exposure.without(live)
    assert left.worst_by_outcome() == [0, 0, 0]
    assert (left.gross_qty, exposure.gross_qty) == (0, 7)


# --- sharing a limit ------------------------------------------------------------------------------


def test_a_quote_that_uses_the_limit_up_to_its_last_cent_stands_whole() -> None:
    for quote in (bid(40, 10), ask(60, 10)):
        quotes = {M0: (quote,)}
        assert cut(quotes, free(1), limits(), Cents(400)) == (quotes, [])


@pytest.mark.parametrize("quote", [bid(40, 10), ask(60, 10)])
def test_a_cent_short_of_the_limit_costs_a_whole_eighth(quote: Quote) -> None:
    kept, cuts = cut({M0: (quote,)}, free(1), limits(), Cents(399))
    assert kept == {M0: (Quote(quote.side, quote.price, Qty(8)),)}
    assert cuts == [Trim(M0, quote.side, quote.price, Qty(10), Qty(8), TrimReason.EVENT_LOSS)]
    assert type(cuts[0].allowed) is int


def test_an_ask_of_an_upper_rung_is_not_cut_by_the_outcomes_below_it() -> None:
    # Outcomes at -1000, -1000, 1000: a bid of the upper rung loses in the first two, an ask of it
    # in the last alone.
    exposure = Exposure(terms(["0"] * 2), Cents(-1_000), [(0, 0), (20, 0)])
    kept, _ = cut({M1: (bid(40, 8), ask(60, 8))}, exposure, limits(), Cents(1_160))
    assert kept == {M1: (bid(40, 4), ask(60, 8))}


def test_the_one_share_that_stands_after_all_counts_on_its_own_side() -> None:
    kept, _ = cut({key: (bid(50, 3),) for key in ids(3)}, free(3), limits(), Cents(110))
    assert with_quotes(free(3), kept).worst_by_outcome() == [-100, -50, 0, 0]


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
        (30, 15, TrimReason.RUNG_POSITION)
    ]


def test_a_quote_exactly_at_the_order_size_and_the_position_is_not_cut() -> None:
    quotes = {M0: (bid(48, 20), ask(52, 20))}
    assert cut(quotes, free(1), limits(order=20, position=20), Cents(10**9)) == (quotes, [])


def test_a_second_level_finds_the_room_that_the_first_levels_left() -> None:
    quotes = {M0: (bid(50, 8), bid(40, 8)), M1: (bid(50, 8),)}
    kept, _ = cut(quotes, free(2), limits(), Cents(960))
    assert kept == {M0: (bid(50, 8), bid(40, 4)), M1: (bid(50, 8),)}
    assert with_quotes(free(2), kept).worst_cents == -960


def test_the_exposure_of_a_wanted_quote_is_that_of_its_yes_route() -> None:
    assert live_of(M0, bid(40, 3)) == OpenExposure(M0, Outcome.YES, Side.BUY, Price(40), Qty(3))
    assert live_of(M0, ask(60, 3)) == OpenExposure(M0, Outcome.YES, Side.SELL, Price(60), Qty(3))
