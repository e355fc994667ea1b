"""Claims about telling the winners of resolved rungs from the cash that they paid."""

import itertools
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.settling import Waiting, winners_by_cash
from venue.wire.money import Outcome
from venue.wire.names import MarketId, Ticker

YES, NO = Outcome.YES, Outcome.NO


def rung(event: str, strike: int, yes: int, no: int, *, ours: bool = True) -> Waiting:
    """A rung of a ladder that waits for its winner."""
    market = MarketId(f"{event}-{strike}")
    return Waiting(market, Ticker(event), Decimal(strike), yes, no, ours)


def test_a_losing_share_pays_nothing_and_that_tells_who_won() -> None:
    assert winners_by_cash(0, [rung("A", 1, 10, 0)], {}) == {MarketId("A-1"): NO}


def test_cash_that_fits_two_ways_tells_nothing() -> None:
    waiting = [rung("A", 1, 5, 0), rung("B", 1, 5, 0)]
    assert winners_by_cash(500, waiting, {}) == {}


def test_a_ladder_cannot_pay_the_higher_rung_and_not_the_lower() -> None:
    waiting = [rung("A", 1, 5, 0), rung("A", 2, 5, 0)]
    assert winners_by_cash(500, waiting, {}) == {MarketId("A-1"): YES, MarketId("A-2"): NO}


def test_what_a_ladder_has_paid_before_rules_some_ways_out() -> None:
    waiting = [rung("A", 1, 5, 0), rung("B", 1, 5, 0)]
    known = {Ticker("B"): [(Decimal(2), YES)]}
    assert winners_by_cash(500, waiting, known) == {MarketId("A-1"): NO, MarketId("B-1"): YES}


def test_how_another_series_was_paid_need_not_be_known() -> None:
    waiting = [
        rung("A", 1, 7, 0),
        rung("B", 1, 5, 0, ours=False),
        rung("C", 1, 5, 0, ours=False),
    ]
    found = winners_by_cash(1_200, waiting, {})
    assert found is not None
    assert found[MarketId("A-1")] is YES


ladders = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=3),
    min_size=1,
    max_size=3,
)


@settings(max_examples=60)
@given(ladders, st.data())
def test_it_says_what_every_way_that_fits_says_and_nothing_where_two_pay_ours_differently(
    held: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    rungs = [
        [rung(f"E{e}", place, yes, no) for place, (yes, no) in enumerate(each)]
        for e, each in enumerate(held)
    ]
    waiting = [each for ladder in rungs for each in ladder]
    cuts = [range(len(ladder) + 1) for ladder in rungs]

    def way(cut: tuple[int, ...]) -> list[Outcome]:
        pairs = zip(rungs, cut, strict=True)
        return [YES if p < c else NO for ladder, c in pairs for p in range(len(ladder))]

    def paid(winners: list[Outcome]) -> tuple[int, ...]:
        return tuple(each.pays(won) for each, won in zip(waiting, winners, strict=True))

    truth = way(tuple(data.draw(st.sampled_from(list(each))) for each in cuts))
    received = sum(paid(truth))
    fitting = {
        paid(way(cut)) for cut in itertools.product(*cuts) if sum(paid(way(cut))) == received
    }
    found = winners_by_cash(received, waiting, {})
    if len(fitting) == 1:
        assert found is not None
        assert paid([found[each.market_id] for each in waiting]) == paid(truth)
    else:
        assert found == {}
