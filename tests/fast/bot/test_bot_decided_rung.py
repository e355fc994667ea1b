"""What the winner of a rung makes certain of the others of its ladder: they are not quoted."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.report import RungReport
from bot.core.settings import PaceSettings
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import EVENT, START_NS, Thin
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Outcome, Qty
from venue.wire.names import MarketId

YES, NO = Outcome.YES, Outcome.NO
OPENING_CENTS = 1_000_000
MIDS = (80, 60, 40, 20)
Winners = tuple[tuple[MarketId, Outcome], ...]


class Paying(Thin):
    """Shares of rungs are held from the start; a rung that resolves pays them."""

    def __init__(self, mids: tuple[int, ...] = MIDS, winners: Winners = ()) -> None:
        strategy = FixedSpread(FixedSpread.Params())
        super().__init__(list(mids), lambda: strategy, PaceSettings(decide_ns=0))
        self.held: dict[tuple[MarketId, Outcome], int] = {}
        self.cash_cents = OPENING_CENTS
        self.winners = winners
        self.won: list[tuple[MarketId, Outcome]] = []

    def start(self) -> None:
        self.give(m.Started("0" * 20, (), winners=self.winners))
        self.give(m.FeedOpened())
        for index in range(len(self.mids)):
            self.show(index)
        self.run(8)

    def hold(self, index: int, outcome: Outcome, shares: int) -> None:
        self.held[self.markets[index].market_id, outcome] = shares

    def state(self, index: int, state: model.MarketState) -> None:
        self.markets[index] = msgspec.structs.replace(self.markets[index], state=state)

    def resolve(self, index: int, winner: Outcome, *, seen: bool = True) -> None:
        """A rung resolves and pays; every list shows it after so long."""
        self.state(index, model.MarketState.RESOLVED)
        market_id = self.markets[index].market_id
        for outcome in Outcome:
            shares = self.held.pop((market_id, outcome), 0)
            self.cash_cents += 100 * shares if outcome is winner else 0
        if seen:
            self.run(120, self.show_all, NS_PER_SECOND)

    def show_all(self) -> None:
        for index in range(len(self.mids)):
            self.show(index)

    def told(self, effect: m.Effect) -> None:
        if isinstance(effect, m.Noted) and effect.name == "winner_told":
            won = Outcome(effect.fields["winner"])
            self.won.append((MarketId(str(effect.fields["market_id"])), won))

    def resting(self) -> set[int]:
        """The rungs on which orders of ours rest."""
        places = {market.market_id: index for index, market in enumerate(self.markets)}
        return {places[each.market_id] for each in self.orders.values()}

    def drawn(self) -> list[RungReport]:
        return list(self.trader.report(self.now_ns).events[0].rungs)

    def _read(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.ReadBalance):
            cents = Cents(self.cash_cents)
            return m.Ok(m.BalanceBody(model.Balance(cents, Cents(0), cents)))
        if isinstance(request, m.ReadPositions):
            tickers = {market.market_id: market.ticker for market in self.markets}
            rows = tuple(
                model.Position(
                    ticker=tickers[market_id],
                    market_id=market_id,
                    event_ticker=EVENT,
                    outcome=model.ShownOutcome(outcome.value),
                    qty=Qty(shares),
                )
                for (market_id, outcome), shares in self.held.items()
            )
            return m.Ok(m.PositionsBody(rows, ""))
        return super()._read(request)


def holding(index: int, outcome: Outcome, shares: int = 5) -> Paying:
    venue = Paying()
    venue.hold(index, outcome, shares)
    venue.start()
    return venue


@pytest.mark.parametrize(
    ("index", "winner", "decided"),
    [(2, YES, {0: "yes", 1: "yes"}), (1, NO, {2: "no", 3: "no"}), (0, YES, {}), (3, NO, {})],
)
@pytest.mark.parametrize("held", [YES, NO])
def test_rungs_that_a_winner_decides_are_quoted_no_more(index, winner, decided, held):
    venue = holding(index, held)
    assert venue.resting() == {0, 1, 2, 3}
    venue.resolve(index, winner)
    assert venue.resting() == {0, 1, 2, 3} - {index} - set(decided)
    for at, rung in enumerate(venue.drawn()):
        if at in decided:
            assert (rung.blocked, rung.fair_cents) == (f"decided {decided[at]}", None)
        elif at != index:
            assert (rung.blocked, rung.fair_cents is None) == ("", False)


def test_orders_on_a_rung_that_is_decided_leave_with_the_read_that_tells_of_it():
    venue = holding(2, YES)
    venue.resolve(2, YES, seen=False)
    for _ in range(1_200):
        venue.run(0.1, venue.show_all, NS_PER_SECOND // 10)
        if venue.won:
            break
    assert venue.won == [(venue.markets[2].market_id, YES)]
    venue.run(0.2)
    assert venue.resting() == {3}


def test_pairs_alone_tell_of_no_winner_and_decide_nothing():
    venue = Paying()
    venue.hold(2, YES, 5)
    venue.hold(2, NO, 5)
    venue.start()
    venue.resolve(2, YES)
    assert (venue.resting(), venue.won) == ({0, 1, 3}, [])


def test_where_nobody_was_paid_nothing_is_decided():
    venue = Paying()
    venue.start()
    venue.resolve(2, YES)
    assert venue.resting() == {0, 1, 3}


def test_a_start_after_the_win_knows_what_an_earlier_run_was_told():
    before = holding(2, YES)
    before.resolve(2, YES)
    venue = Paying(winners=tuple(before.won))
    venue.state(2, model.MarketState.RESOLVED)
    venue.start()
    venue.run(30, venue.show_all, NS_PER_SECOND)
    assert venue.resting() == {3}
    assert [rung.blocked for rung in venue.drawn()][:2] == ["decided yes"] * 2


def test_a_winner_of_an_earlier_run_counts_no_more_where_its_rung_trades():
    venue = Paying(winners=((Thin([50] * 4, lambda: None).markets[2].market_id, YES),))
    venue.start()
    assert venue.resting() == {0, 1, 2, 3}


def test_a_resolution_that_is_taken_back_undecides_the_others():
    told = ((Thin([50] * 4, lambda: None).markets[2].market_id, YES),)
    venue = Paying(winners=told)
    venue.state(2, model.MarketState.RESOLVED)
    venue.start()
    venue.state(2, model.MarketState.ACTIVE)
    venue.run(120, venue.show_all, NS_PER_SECOND)
    assert venue.resting() == {0, 1, 2, 3}


def test_shares_of_a_decided_rung_are_worth_their_payout_and_no_risk_to_be_flattened():
    venue = Paying()
    venue.hold(2, YES, 5)
    venue.hold(0, NO, 30)
    venue.start()
    before = venue.trader.report(venue.now_ns).pnl_cents
    venue.resolve(2, YES)
    # 30 NO at 20 cents are worth nothing now, 5 YES at 40 have paid 100 each.
    after = venue.trader.report(venue.now_ns).pnl_cents
    assert after - before == pytest.approx(-600 + 300, abs=60)
    guard = venue.trader.guard
    assert guard._marks[venue.markets[0].market_id] == 100
    venue.give(m.FlattenRequested("now"))
    venue.run(30, venue.show_all, NS_PER_SECOND)
    assert venue.trader.report(venue.now_ns).phase == "paused"
    assert venue.resting() == set()


def test_a_binary_market_decides_no_other():
    venue = Paying(mids=(50,))
    venue.markets[0] = msgspec.structs.replace(
        venue.markets[0], strike_value=None, strike_unit=None
    )
    venue.hold(0, YES, 5)
    venue.start()
    venue.resolve(0, YES)
    assert venue.drawn()[0].blocked == "market resolved"
    assert venue.now_ns > START_NS


# --- what is certain of a winner ------------------------------------------------------------------


def test_a_winner_is_certain_once_a_list_still_shows_what_else_is_held():
    venue = Paying()
    venue.hold(2, YES, 3)
    venue.hold(3, YES, 3)
    venue.start()
    venue.resolve(2, YES)
    assert venue.won == [(venue.markets[2].market_id, YES)]


def test_of_two_rungs_that_pay_one_after_the_other_both_tell_their_winners():
    venue = Paying()
    venue.hold(2, NO, 3)
    venue.hold(0, YES, 4)
    venue.start()
    venue.resolve(0, YES)
    venue.resolve(2, NO)
    assert dict(venue.won) == {venue.markets[0].market_id: YES, venue.markets[2].market_id: NO}
    assert venue.resting() == {1}
