"""Claims about our books against the venue's: fills booked once, and what a read may say."""

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.account.ledgers import Ledgers
from bot.core.desk.desk import Desk
from bot.core.desk.outbox import Outbox
from bot.core.orders.order import State
from bot.core.settings import BudgetSettings, TrustSettings
from tests.bot import made
from tests.bot.made import EVENT, LAG_NS, MARKET, T0
from venue.wire import model
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Qty, Side
from venue.wire.names import MarketId, Ticker

OTHER = MarketId("aaaaaaaa-0000-4000-8000-000000000002")
RATE = FeeRate.parse("0.0700")


class Books:
    """Ledgers over an empty desk, opened with 10,000 cents and nothing held."""

    def __init__(self) -> None:
        self.out = Outbox(BudgetSettings())
        self.desk = Desk(TrustSettings(read_lag_ns=LAG_NS), self.out)
        self.of = Ledgers(TrustSettings(read_lag_ns=LAG_NS), self.desk, self.out)
        for number, market_id in enumerate((MARKET, OTHER)):
            self.of.list_market(market(market_id, number), RATE, RATE)

    def opened(self, cents: int = 10_000) -> "Books":
        """The books, opened."""
        self.balance(cents, T0)
        self.positions({}, T0)
        self.of.open_books()
        return self

    def balance(self, cents: int, at_ns: int) -> None:
        """A balance read at an instant."""
        shown = model.Balance(Cents(cents), Cents(0), Cents(cents))
        self.of.balance_read(shown, at_ns, at_ns)

    def positions(self, held: dict[Outcome, int], at_ns: int) -> None:
        """The positions read at an instant."""
        rows = [
            model.Position(
                ticker=Ticker("x"),
                market_id=MARKET,
                outcome=model.ShownOutcome(outcome.value),
                qty=Qty(qty),
            )
            for outcome, qty in held.items()
        ]
        self.of.positions_read(rows, at_ns, at_ns)

    def fills(self, at_ns: int, *fills: model.Fill) -> list[MarketId]:
        """A walk of the fills, newest first and of one page, begun and ended at an instant."""
        kept, _ = self.of.booking.page(tuple(reversed(fills)), at_ns)
        return self.of.fills_read(kept, at_ns, at_ns, [])

    def may_end(self, *fills: model.Fill) -> bool:
        """Whether a walk may end with a page of these, newest first."""
        _, may_end = self.of.booking.page(tuple(reversed(fills)), T0)
        return may_end


def market(market_id: MarketId, number: int) -> model.Market:
    """A rung."""
    return model.Market(
        ticker=Ticker(f"{EVENT}-{100 + number}B"),
        market_id=market_id,
        event_ticker=EVENT,
        project_market_id="",
        name="",
        outcome_label="",
        state=model.MarketState.ACTIVE,
        min_price=1,
        max_price=99,
        tick_size=1,
        maker_fee_rate="0.0700",
        taker_fee_rate="0.0700",
        open_interest=Qty(0),
        created_at=made.INSTANT,
        updated_at=made.INSTANT,
    )


FILL = made.fill(made.own(State.OPEN), 1, 5, fee_cents=3)  # five YES at 40


def test_a_fill_seen_in_two_walks_is_booked_once():
    books = Books().opened()
    assert books.fills(T0 + LAG_NS, FILL) == [MARKET]
    assert books.fills(T0 + 2 * LAG_NS, FILL) == []
    assert books.of.holdings(MARKET) == (5, 0)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == -203


def test_what_an_order_has_filled_beyond_its_booked_fills_counts_at_its_limit_and_fee():
    books = Books().opened()
    own = made.own(State.OPEN)
    own.fills_shown(made.shown(own, filled=4))
    books.desk.add(own)
    assert books.of.holdings(MARKET) == (4, 0)
    # 4 x 40, and 4 x ceil(0.07 x 0.4 x 0.6 dollars) = 4 x 2 cents
    assert books.of.event_cash_cents(EVENT, [MARKET]) == -168


def test_a_fill_that_is_booked_is_not_counted_beside_its_order():
    books = Books().opened()
    own = made.own(State.OPEN)
    own.fills_shown(made.shown(own, filled=5))
    books.desk.add(own)
    books.fills(T0 + LAG_NS, FILL)
    assert books.of.holdings(MARKET) == (5, 0)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == -203


def test_a_sale_not_booked_yet_takes_its_shares_out():
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    sale = made.own(State.OPEN, side=Side.SELL, price=60, number=2)
    sale.fills_shown(made.shown(sale, filled=2))
    books.desk.add(sale)
    assert books.of.holdings(MARKET) == (3, 0)


def test_a_balance_is_compared_only_after_a_later_walk_of_the_fills():
    books = Books().opened()
    books.fills(T0 + 2 * LAG_NS)
    books.balance(9_000, T0 + 5 * LAG_NS)
    books.fills(T0 + 6 * LAG_NS - 1)
    assert "cash_differs" not in books.out.findings
    books.fills(T0 + 6 * LAG_NS)
    assert books.of.difference_cents == -1_000
    told = "the venue has 1000 cents less than our fills come to"
    assert books.out.findings["cash_differs"] == told


def test_cash_that_came_from_elsewhere_is_told_as_more():
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.balance(10_000 - 203 + 2_345, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    told = "the venue has 2345 cents more than our fills come to"
    assert books.out.findings["cash_differs"] == told


def test_a_balance_around_which_a_fill_was_booked_says_nothing():
    books = Books().opened()
    books.fills(T0 + 5 * LAG_NS, FILL)
    books.balance(10_000, T0 + 6 * LAG_NS)
    books.fills(T0 + 8 * LAG_NS)
    assert "cash_differs" not in books.out.findings


def test_balances_read_oftener_than_reads_lag_are_compared_all_the_same():
    books = Books().opened()
    for step in range(1, 20):
        at_ns = T0 + 5 * LAG_NS + step * LAG_NS // 4
        books.balance(10_000, at_ns)
        books.fills(at_ns)
    assert books.of.compared_since(T0 + 3 * LAG_NS)


def test_a_difference_that_goes_away_is_cleared():
    books = Books().opened()
    books.balance(9_000, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    books.balance(10_000, T0 + 8 * LAG_NS)
    books.fills(T0 + 10 * LAG_NS)
    assert books.out.findings == {}
    assert books.of.difference_cents == 0


def test_shares_that_differed_agree_by_the_first_list_that_shows_what_is_booked():
    """Found by seed 155 of the simulation: nothing was quoted until a list was seconds old."""
    books = Books().opened()
    books.fills(T0 + 4 * LAG_NS)  # the list of the opening is compared
    books.positions({Outcome.YES: 5}, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    assert "position_differs" in books.out.findings
    assert not books.of.may_agree
    books.fills(T0 + 8 * LAG_NS, FILL)
    assert books.of.may_agree
    books.positions({}, T0 + 8 * LAG_NS)
    assert "position_differs" in books.out.findings
    books.positions({Outcome.YES: 5}, T0 + 8 * LAG_NS)
    assert books.out.findings == {}
    assert not books.of.may_agree


def test_a_position_that_the_fills_do_not_explain_is_a_finding():
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.positions({Outcome.YES: 6}, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    assert "position_differs" in books.out.findings


def test_a_position_that_the_fills_explain_is_none():
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.positions({Outcome.YES: 5}, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    assert books.out.findings == {}


@pytest.mark.parametrize(
    ("shown", "differs"),
    [(3, True), (4, True), (5, False), (6, False), (9, False), (10, True)],
)
def test_a_position_read_among_fills_differs_where_no_choice_of_them_explains_it(shown, differs):
    books = Books().opened()
    own = made.own(State.OPEN)
    sale = made.own(State.OPEN, side=Side.SELL, price=60, number=2)
    early = made.fill(own, 1, 6)
    amid = (made.fill(own, 2, 3), made.fill(sale, 3, 1))
    books.fills(T0 + LAG_NS, early)
    books.positions({Outcome.YES: shown}, T0 + 5 * LAG_NS)
    books.fills(T0 + 5 * LAG_NS, early, *amid)  # six, and three that came and one that went
    books.fills(T0 + 6 * LAG_NS, early, *amid)
    assert ("position_differs" in books.out.findings) == differs
    assert books.of.booking.history_wanted == differs


def test_on_a_market_that_never_pauses_shares_that_no_fill_explains_are_found():
    books = Books().opened()
    own = made.own(State.OPEN)
    fills: list[model.Fill] = []
    for number in range(1, 20):
        at_ns = T0 + number * LAG_NS
        fills.append(made.fill(own, number, 2))
        books.positions({Outcome.YES: 2 * number - 1 + 7}, at_ns)
        books.fills(at_ns + LAG_NS, *fills)
    assert "position_differs" in books.out.findings
    assert books.of.shrink_room(MARKET, BookSide.ASK) > 0


def test_fills_of_one_rung_among_which_a_list_was_read_explain_no_difference_of_another():
    books = Books().opened()
    of_other = msgspec.structs.replace(made.fill(made.own(State.OPEN), 2, 5), market_id=OTHER)
    books.fills(T0 + LAG_NS, FILL)
    books.positions({Outcome.YES: 4}, T0 + 5 * LAG_NS)
    books.fills(T0 + 5 * LAG_NS, FILL, of_other)
    books.fills(T0 + 6 * LAG_NS, FILL, of_other)
    assert books.out.findings["position_differs"] == "ACME-VAL-27Q1-100B yes"


def test_the_first_fill_of_a_rung_among_which_a_list_was_read_asks_for_no_series():
    books = Books().opened()
    books.of.series_read(T0)
    books.positions({}, T0 + 5 * LAG_NS)
    books.fills(T0 + 5 * LAG_NS, FILL)
    books.fills(T0 + 6 * LAG_NS, FILL)
    assert not books.of.series_wanted
    assert books.out.findings == {}


@pytest.mark.parametrize(("qty", "stands"), [(2, False), (7, True)])
def test_on_a_market_that_never_pauses_a_difference_ends_once_fills_could_not_hide_it(qty, stands):
    books = Books().opened()
    own = made.own(State.OPEN)
    late = made.fill(own, 58, 7)
    fills: list[model.Fill] = []
    for number in range(1, 30):
        at_ns = T0 + number * LAG_NS
        fills.append(made.fill(own, number, qty))
        books.positions({Outcome.YES: qty * number + 7}, at_ns)
        books.fills(at_ns + LAG_NS, *fills, *([late] if number >= 10 else []))
        if number == 9:
            assert "position_differs" in books.out.findings
    assert ("position_differs" in books.out.findings) == stands


def test_shares_held_before_the_first_fill_we_know_are_taken_over():
    books = Books()
    books.balance(10_000, T0)
    books.positions({Outcome.NO: 7}, T0)
    assert books.of.open_books() == [MARKET]
    assert books.of.holdings(MARKET) == (0, 7)
    assert books.of.difference_cents == 0


def test_cash_that_one_choice_of_winners_explains_settles_the_rung():
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.of.settling.resolved(MARKET, 0)
    books.positions({}, T0 + 3 * LAG_NS)
    books.fills(T0 + 5 * LAG_NS)
    books.balance(10_000 - 203 + 500, T0 + 7 * LAG_NS)
    books.fills(T0 + 9 * LAG_NS)
    assert books.of.difference_cents == 0
    assert books.of.holdings(MARKET) == (0, 0)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == 297


@pytest.mark.parametrize("stands", [500, 1_000, -50], ids=str)
@pytest.mark.parametrize("pays", [0, 500], ids=str)
def test_cash_that_differed_before_a_rung_resolved_is_no_payout_of_it(stands, pays):
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.balance(10_000 - 203 + stands, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    assert books.of.difference_cents == stands
    later_ns = T0 + 3_600 * LAG_NS
    books.of.settling.resolved(MARKET, later_ns)
    books.positions({}, later_ns + 2 * LAG_NS)
    books.fills(later_ns + 4 * LAG_NS)
    books.balance(10_000 - 203 + stands + pays, later_ns + 6 * LAG_NS)
    books.fills(later_ns + 8 * LAG_NS)
    assert books.of.holdings(MARKET) == (0, 0)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == pays - 203
    assert books.of.difference_cents == stands
    assert "cash_differs" in books.out.findings


def test_a_difference_that_has_passed_by_the_time_of_a_payout_hides_no_winner():
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.balance(10_000 - 203 + 70, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    later_ns = T0 + 3_600 * LAG_NS
    books.of.settling.resolved(MARKET, later_ns)
    books.positions({}, later_ns + 2 * LAG_NS)
    books.fills(later_ns + 4 * LAG_NS)
    books.balance(10_000 - 203 + 500, later_ns + 6 * LAG_NS)
    books.fills(later_ns + 8 * LAG_NS)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == 297
    assert books.of.difference_cents == 0


def test_cash_that_comes_just_before_its_rung_is_seen_resolved_is_the_payout_of_it():
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.balance(10_000 - 203 + 500, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    assert books.of.difference_cents == 500
    books.of.settling.resolved(MARKET, T0 + 8 * LAG_NS)
    books.positions({}, T0 + 9 * LAG_NS)
    books.fills(T0 + 11 * LAG_NS)
    books.balance(10_000 - 203 + 500, T0 + 13 * LAG_NS)
    books.fills(T0 + 15 * LAG_NS)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == 297
    assert books.of.difference_cents == 0


def test_cash_that_nothing_explains_settles_nothing():
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.of.settling.resolved(MARKET, 0)
    books.positions({}, T0 + 3 * LAG_NS)
    books.fills(T0 + 5 * LAG_NS)
    books.balance(10_000 - 203 + 499, T0 + 70 * LAG_NS)
    books.fills(T0 + 72 * LAG_NS)
    assert books.of.difference_cents == 499
    assert "cash_differs" in books.out.findings


def test_pages_end_where_the_oldest_fill_is_booked_but_not_before_the_books_are_open():
    books = Books()
    books.fills(T0, FILL)
    assert not books.may_end(FILL)
    books.opened()
    assert books.may_end(FILL)
    assert not books.may_end(made.fill(made.own(State.OPEN), 2, 1))


# --- late fills, in every order of arrival --------------------------------------------------------

STEP = LAG_NS // 4


@settings(max_examples=200, deadline=None)
@given(
    fills=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 4)), max_size=8),
    reads=st.lists(
        st.tuples(
            st.integers(1, 80),
            st.sampled_from(["balance", "positions", "fills"]),
            st.integers(0, 4),
            st.integers(0, 3),
        ),
        min_size=5,
        max_size=60,
    ),
    wrong_cents=st.sampled_from([0, 0, 1, -1]),
)
def test_reads_that_lag_up_to_a_lag_differ_only_when_the_cash_does(fills, reads, wrong_cents):
    """Each fill shows in each read from its own time plus that read's lag on; a balance that is a
    cent off is told, and nothing else is."""
    books = Books().opened()
    own = made.own(State.OPEN)
    made_at = {
        number: (T0 + 4 * LAG_NS + at * STEP, made.fill(own, number, 1, fee_cents=fee))
        for number, (at, fee) in enumerate(sorted(fills), 1)
    }
    compared = False
    # Reads to follow the drawn ones, late enough to be compared for sure.
    tail = [(90, "fills", 4, 0), (100, "balance", 4, 0), (100, "positions", 4, 0)]
    tail.append((106, "fills", 0, 0))
    for at, kind, lag, took in sorted(reads) + tail:
        begun_ns = T0 + 4 * LAG_NS + at * STEP
        ended_ns = begun_ns + took * STEP // 4
        seen = [fill for made_ns, fill in made_at.values() if made_ns <= begun_ns - lag * STEP]
        cash = 10_000 - sum(40 * fill.qty + fill.fee_cents for fill in seen)
        if kind == "balance":
            shown = model.Balance(Cents(0), Cents(0), Cents(cash + wrong_cents))
            books.of.balance_read(shown, begun_ns, ended_ns)
        elif kind == "positions":
            held = {Outcome.YES: sum(fill.qty for fill in seen)} if seen else {}
            books.positions(held, begun_ns)
        else:
            kept, _ = books.of.booking.page(tuple(reversed(seen)), ended_ns)
            books.of.fills_read(kept, begun_ns, ended_ns, [])
        compared |= bool(books.of.difference_cents)
        assert "position_differs" not in books.out.findings
        assert ("cash_differs" in books.out.findings) is bool(books.of.difference_cents)
        assert books.of.difference_cents in (0, wrong_cents)
    assert compared is (wrong_cents != 0)


def test_a_venue_that_rounds_each_fee_up_is_a_difference_that_stays_and_stops_nothing():
    """S16: fees are not shown, and charged per fill instead of per order."""
    books = Books().opened()
    unpriced = [
        msgspec.structs.replace(made.fill(made.own(State.OPEN), number, 1), fee_cents=None)
        for number in range(1, 5)
    ]
    books.fills(T0 + LAG_NS, *unpriced)
    # One fee is 0.07 x 0.4 x 0.6 dollars, 1.68 cents: ceiled, four times 2; the sum ceiled is 7.
    for compared in (1, 2):
        books.balance(10_000 - 4 * 40 - 4 * 2, T0 + 5 * compared * LAG_NS)
        books.fills(T0 + (5 * compared + 2) * LAG_NS)
        assert books.of.difference_cents == -1
        assert list(books.out.findings) == ["cash_differs"]


def test_a_list_that_drops_and_repeats_rows_leaves_the_books_right_once_it_shows_all():
    """Row 54: a fifth of the rows dropped, a fifth shown twice, in every read."""
    rng = random.Random(54)
    books = Books().opened()
    all_fills = [made.fill(made.own(State.OPEN), number, number % 3 + 1) for number in range(1, 40)]
    for walk in range(20):
        shown = [each for each in all_fills[: 2 * walk + 2] if rng.random() > 0.2]
        shown += [each for each in shown if rng.random() < 0.2]
        books.fills(T0 + (walk + 1) * LAG_NS, *shown)
    books.fills(T0 + 30 * LAG_NS, *all_fills)
    shares = sum(fill.qty for fill in all_fills)
    assert books.of.holdings(MARKET) == (shares, 0)
    assert books.of.event_cash_cents(EVENT, [MARKET]) == -40 * shares


# --- what may still be traded while positions differ ----------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs", "bid_room", "ask_room"),
    [
        ((5, 0), {Outcome.YES: 3}, 0, 3),
        ((5, 0), {Outcome.YES: 8}, 0, 5),
        ((5, 0), {Outcome.NO: 2}, 0, 0),
        ((5, 0), {}, 0, 0),
        ((5, 0), {Outcome.YES: 9, Outcome.NO: 7}, 0, 2),
        ((0, 5), {Outcome.NO: 4}, 4, 0),
    ],
)
def test_while_positions_differ_only_what_both_sides_of_the_books_hold_may_be_cut(
    ours, theirs, bid_room, ask_room
):
    books = Books().opened()
    for outcome, qty in zip((Outcome.YES, Outcome.NO), ours, strict=True):
        if qty:
            books.fills(T0 + LAG_NS, made.fill(made.own(State.OPEN, outcome=outcome), 1, qty))
    books.of.series_read(T0 + 7 * LAG_NS)
    books.positions(theirs, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    assert "position_differs" in books.out.findings
    assert books.of.shrink_room(MARKET, BookSide.BID) == bid_room
    assert books.of.shrink_room(MARKET, BookSide.ASK) == ask_room


def test_once_positions_agree_again_our_own_books_count():
    books = Books().opened()
    books.fills(T0 + LAG_NS, FILL)
    books.positions({Outcome.YES: 2}, T0 + 5 * LAG_NS)
    books.fills(T0 + 7 * LAG_NS)
    books.positions({Outcome.YES: 5}, T0 + 9 * LAG_NS)
    books.fills(T0 + 11 * LAG_NS)
    assert books.out.findings == {}
    assert books.of.shrink_room(MARKET, BookSide.ASK) == 5
