"""Claims about telling the winners of resolved rungs from the cash that they paid."""

import itertools
from decimal import Decimal

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.account.portfolio import Portfolio
from bot.core.account.settling import SETTLES_WITHIN_NS, Settling, Waiting, winners_by_cash
from tests.bot.made import EVENT, LAG_NS, MARKET, T0
from tests.bot.test_bot_ledgers import FILL, OTHER, Books
from tests.bot.thin import market
from venue.wire.money import FeeRate, Outcome, Qty
from venue.wire.names import MarketId, Ticker

YES, NO = Outcome.YES, Outcome.NO
FREE = FeeRate.parse("0")


def rung(event: str, strike: int, yes: int, no: int, *, ours: bool = True) -> Waiting:
    """A rung of a ladder that waits for its winner."""
    market = MarketId(f"{event}-{strike}")
    return Waiting(market, Ticker(event), Decimal(strike), yes, no, ours)


def test_a_losing_share_pays_nothing_and_that_tells_who_won() -> None:
    assert winners_by_cash((0,), [rung("A", 1, 10, 0)], {}) == {MarketId("A-1"): NO}


def test_cash_that_fits_two_ways_tells_nothing() -> None:
    waiting = [rung("A", 1, 5, 0), rung("B", 1, 5, 0)]
    assert winners_by_cash((500,), waiting, {}) == {}


def test_a_ladder_cannot_pay_the_higher_rung_and_not_the_lower() -> None:
    waiting = [rung("A", 1, 5, 0), rung("A", 2, 5, 0)]
    assert winners_by_cash((500,), waiting, {}) == {MarketId("A-1"): YES, MarketId("A-2"): NO}


def test_what_a_ladder_has_paid_before_rules_some_ways_out() -> None:
    waiting = [rung("A", 1, 5, 0), rung("B", 1, 5, 0)]
    known = {Ticker("B"): [(Decimal(2), YES)]}
    assert winners_by_cash((500,), waiting, known) == {MarketId("A-1"): NO, MarketId("B-1"): YES}


def test_how_another_series_was_paid_need_not_be_known() -> None:
    waiting = [
        rung("A", 1, 7, 0),
        rung("B", 1, 5, 0, ours=False),
        rung("C", 1, 5, 0, ours=False),
    ]
    found = winners_by_cash((1_200,), waiting, {})
    assert found[MarketId("A-1")] is YES


def test_rungs_of_one_ladder_stand_in_order_whatever_their_strikes_are_written_in() -> None:
    book = Portfolio()
    settling = Settling(book, LAG_NS)
    ids = []
    for index, (strike, unit, qty) in enumerate(
        [("500", "USD millions", 10), ("1", "USD billions", 20), ("2", "USD billions", 5)]
    ):
        listed = msgspec.structs.replace(market(index), strike_value=strike, strike_unit=unit)
        book.list_market(listed.market_id, listed.event_ticker, FREE, FREE)
        book.take_over(listed.market_id, YES, Qty(qty))
        settling.listed(listed, ours=True)
        settling.resolved(listed.market_id, T0)
        ids.append(listed.market_id)
    settling.positions_read({}, T0 + LAG_NS)
    won = settling.winners((1_000,), T0 + 3 * LAG_NS)
    assert won == dict(zip(ids, (YES, NO, NO), strict=True))


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
    found = winners_by_cash((received,), waiting, {})
    if len(fitting) == 1:
        assert paid([found[each.market_id] for each in waiting]) == paid(truth)
    else:
        assert found == {}


def traded_on(books: Books, elsewhere: int, at_ns: int) -> None:
    """A share of another rung bought at 40 for 2 cents of fee, read at an instant."""
    other = msgspec.structs.replace(FILL, fill_id=f"o{elsewhere}", order_id="9", qty=1, fee_cents=2)
    created_at = f"2027-01-01T00:01:{elsewhere:02d}.000000000Z"
    books.fills(at_ns, msgspec.structs.replace(other, market_id=OTHER, created_at=created_at))


def test_a_rung_settles_though_positions_are_only_read_amid_fills_of_other_rungs() -> None:
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.of.settling.resolved(MARKET, T0 + 2 * LAG_NS)
    for each in range(8):
        at_ns = T0 + (4 + each) * LAG_NS
        books.positions({}, at_ns)
        traded_on(books, each, at_ns + LAG_NS // 2)
    late_ns = T0 + SETTLES_WITHIN_NS + 80 * LAG_NS
    books.balance(10_000 - 203 + 500 - 8 * 42, late_ns)
    books.fills(late_ns + 2 * LAG_NS)
    assert "cash_differs" not in books.out.findings
    assert books.of.holdings(MARKET) == (0, 0)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == 500 - 203 - 8 * 42


def test_positions_read_within_a_lag_of_a_resolution_do_not_say_that_it_has_paid() -> None:
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.of.settling.resolved(MARKET, T0 + 2 * LAG_NS)
    books.positions({}, T0 + 3 * LAG_NS)
    traded_on(books, 0, T0 + 3 * LAG_NS + 1)
    books.balance(10_000 - 203 - 42, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    assert books.of.holdings(MARKET) == (5, 0)
