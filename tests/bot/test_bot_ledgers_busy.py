"""Claims about cash that is compared, and settles rungs, on a market whose fills never pause."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from bot.core.account.settling import SETTLES_WITHIN_NS
from bot.core.account.trail import READS_MAX, CashTrail
from bot.core.orders.order import State
from tests.bot import made
from tests.bot.made import LAG_NS, T0
from tests.bot.test_bot_ledgers import FILL, OTHER, Books
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Outcome


class Busy:
    """Books on which a share is bought at 40 twice in each lag, and walks of the fills that show
    every one of them. Fees are 0 to 40 cents. untold_cents: what the venue charges beyond them."""

    def __init__(self, untold_cents: int = 0) -> None:
        self.books = Books().opened()
        self._untold_cents = untold_cents
        self._fills: list[tuple[int, model.Fill]] = []
        self.at_ns = T0 + 5 * LAG_NS

    def read(self, lag_ns: int, paid_in_cents: int = 0) -> None:
        """Read the balance as it was so long ago, and the fills a lag and a half later."""
        self.go(LAG_NS // 2)
        shown = [fill for at_ns, fill in self._fills if at_ns <= self.at_ns - lag_ns]
        paid = sum(40 * fill.qty + fill.fee_cents + self._untold_cents for fill in shown)
        self.books.balance(10_000 + paid_in_cents - paid, self.at_ns)
        for _ in range(3):
            self.go(LAG_NS // 2)
        self.books.fills(self.at_ns, *(fill for _, fill in self._fills))

    def go(self, ns: int) -> None:
        """Let so much time pass, with a fill in its middle."""
        number = len(self._fills) + 1
        fill = made.fill(made.own(State.OPEN), number, 1, fee_cents=7 * number % 41)
        self._fills.append((self.at_ns + ns // 2, fill))
        self.at_ns += ns


@given(lags=st.lists(st.integers(0, LAG_NS), min_size=9, max_size=14))
def test_reads_among_fills_that_the_fills_explain_are_no_difference(lags):
    busy = Busy()
    for lag_ns in lags:
        busy.read(lag_ns)
        assert busy.books.of.difference_cents == 0
    assert busy.books.out.findings == {}


@given(
    lags=st.lists(st.integers(0, LAG_NS), min_size=12, max_size=12),
    cents=st.sampled_from([-700, -1, 1, 25_000]),
)
def test_cash_that_nobody_explains_is_found_to_the_cent_though_fills_never_pause(lags, cents):
    busy = Busy()
    for lag_ns in lags[:3]:
        busy.read(lag_ns)
    for lag_ns in lags[3:]:
        busy.read(lag_ns, cents)
    assert busy.books.of.difference_cents == cents
    assert list(busy.books.out.findings) == ["cash_differs"]


def test_a_difference_found_among_fills_is_cleared_among_fills():
    busy = Busy()
    for _ in range(4):
        busy.read(0, 500)
    assert busy.books.of.difference_cents == 500
    for _ in range(4):
        busy.read(0)
    assert busy.books.out.findings == {}


def test_a_venue_that_charges_more_than_it_says_is_found_though_the_difference_always_grows():
    busy = Busy(untold_cents=2)
    busy.read(0)  # before the first fill
    for _ in range(READS_MAX):
        assert busy.books.out.findings == {}
        busy.read(0)
    assert list(busy.books.out.findings) == ["cash_differs"]


def with_a_rung_that_paid(busy: Busy) -> None:
    """Five YES of OTHER, bought at 40 with a fee of 3, have resolved and are seen gone."""
    fill = made.fill(made.own(State.OPEN, number=59), 59, 5, fee_cents=3)
    bought = msgspec.structs.replace(fill, market_id=OTHER)
    busy.books.fills(busy.at_ns, bought)
    busy.books.of.settling.resolved(OTHER, busy.at_ns)
    busy.go(2 * LAG_NS)
    busy.books.of.settling.resolved_read({}, busy.at_ns, busy.at_ns)
    busy.go(2 * LAG_NS)


@given(
    lags=st.lists(st.integers(0, LAG_NS), min_size=12, max_size=12), paid=st.sampled_from([0, 500])
)
def test_a_rung_settles_by_what_it_was_paid_though_fills_never_pause(lags, paid):
    busy = Busy()
    for lag_ns in lags[:2]:
        busy.read(lag_ns)
    with_a_rung_that_paid(busy)
    for lag_ns in lags[2:]:
        busy.read(lag_ns, paid - 203)
    winner = Outcome.YES if paid else Outcome.NO
    assert busy.books.of.book.winner(OTHER) is winner
    assert busy.books.of.difference_cents == 0
    assert busy.books.out.findings == {}


def test_reads_of_before_a_rung_paid_settle_nothing_together_with_those_after():
    trail = CashTrail()
    trail.booked(-500, 100)
    # 0 is what was beyond the books before. From the payout on it is 500, and a fill
    # as large may hide that.
    assert [trail.agreed(0, at_ns, 10, 130) for at_ns in (111, 121, 130)] == [None] * 3
    trail.booked(-500, 140)
    assert trail.agreed(500, 141, 10, 130) is None
    assert trail.agreed(500, 142, 10, 130) is None
    assert trail.agreed(500, 160, 10, 130) == 500


def test_two_payouts_that_reads_among_fills_cannot_tell_apart_settle_nothing():
    trail = CashTrail()
    for at_ns in range(100, 200):
        trail.booked(-500, at_ns)
        assert trail.agreed(500, at_ns, 10, 0) is None


def test_cash_that_no_winner_explains_is_told_though_fills_never_pause():
    busy = Busy()
    with_a_rung_that_paid(busy)
    busy.go(SETTLES_WITHIN_NS)
    for _ in range(4):
        busy.read(0, 77 - 203)
    assert busy.books.of.book.winner(OTHER) is None
    assert busy.books.of.difference_cents == 77
    assert list(busy.books.out.findings) == ["cash_differs"]


def test_more_fills_than_are_remembered_leave_a_read_among_them_undecided():
    trail = CashTrail()
    for at_ns in range(1_001):
        trail.booked(-40, at_ns)
    assert trail.amid(7, 0, 10, 10) is None
    assert trail.amid(0, 0, 11, 10) == 0


def test_while_cash_differs_every_fill_is_read_again_after_ever_longer_times():
    books = Books().opened()
    wanted_s = []
    for at_s in range(200):
        at_ns = T0 + at_s * NS_PER_SECOND
        books.balance(9_969 if at_s else 10_000, at_ns)
        books.fills(at_ns + LAG_NS)
        if books.of.booking.history_wanted:
            wanted_s.append(at_s)
    assert wanted_s == [1, 11, 21, 41, 81, 161]


def test_a_fill_that_is_listed_late_and_deep_ends_the_difference_of_cash_that_it_made():
    books = Books().opened()
    known = made.fill(made.own(State.OPEN, number=2), 2, 1)
    for at_s in range(1, 60):
        at_ns = T0 + at_s * NS_PER_SECOND
        books.balance(9_757, at_ns)
        # It is on no page but when the walk goes beyond what is known.
        deep = at_s > 30 and not books.may_end(known)
        books.fills(at_ns + LAG_NS, *((FILL, known) if deep else (known,)))
    assert not books.out.findings
