"""Rungs decided by the winner of another rung of their ladder are not quoted."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.distribution import decided
from bot.core.quoting.event_quoter import EventQuoter
from bot.core.report import EventReport, RungReport
from bot.core.settings import PaceSettings
from tests.builders.bot.thin import EVENT, START_NS, Thin
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Outcome, Price, Qty
from venue.wire.names import MarketId

YES, NO = Outcome.YES, Outcome.NO
OPENING_CENTS = 1_000_000
MIDS = (80, 60, 40, 20)
Winners = tuple[tuple[MarketId, Outcome], ...]


class Paying(Thin):
    """Shares of rungs are held from the start; a rung that resolves pays them."""

    def __init__(self, mids: tuple[int, ...] = MIDS, winners: Winners = ()) -> None:
        super().__init__(list(mids), pace=PaceSettings(decide_ns=0))
        self.held: dict[tuple[MarketId, Outcome], int] = {}
        self.cash_cents = OPENING_CENTS
        self.winners = winners
        self.won: list[tuple[MarketId, Outcome]] = []

    def start(self) -> None:
        self.begin(8, m.Started("0" * 20, (), winners=self.winners))

    def hold(self, index: int, outcome: Outcome, shares: int) -> None:
        self.held[self.markets[index].market_id, outcome] = shares

    def state(self, index: int, state: model.MarketState) -> None:
        self.markets[index] = msgspec.structs.replace(self.markets[index], state=state)

    def resolve(self, index: int, winner: Outcome, *, seen: bool = True) -> None:
        """A rung resolves and pays; with `seen`, every list shows it."""
        self.state(index, model.MarketState.RESOLVED)
        market_id = self.markets[index].market_id
        for outcome in Outcome:
            shares = self.held.pop((market_id, outcome), 0)
            self.cash_cents += 100 * shares if outcome is winner else 0
        if seen:
            self.run(120, self.show_all, NS_PER_SECOND)

    def on_effect(self, effect: m.Effect) -> None:
        if isinstance(effect, m.Noted) and effect.name == "winner_told":
            won = Outcome(effect.fields["winner"])
            self.won.append((MarketId(str(effect.fields["market_id"])), won))

    def resting(self) -> set[int]:
        """The rungs on which orders of ours rest."""
        places = {market.market_id: index for index, market in enumerate(self.markets)}
        return {places[each.market_id] for each in self.orders.values()}

    def rungs(self) -> list[RungReport]:
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
def test_rungs_decided_by_the_winner_of_another_are_not_quoted(index, winner, decided, held):
    venue = holding(index, held)
    assert venue.resting() == {0, 1, 2, 3}
    venue.resolve(index, winner)
    assert venue.resting() == {0, 1, 2, 3} - {index} - set(decided)
    for at, rung in enumerate(venue.rungs()):
        if at in decided:
            assert (rung.blocked, rung.fair_cents) == (f"decided {decided[at]}", None)
        elif at != index:
            assert (rung.blocked, rung.fair_cents is None) == ("", False)


def test_orders_on_a_decided_rung_are_cancelled_with_the_read_that_decides_it():
    venue = holding(2, YES)
    venue.resolve(2, YES, seen=False)
    for _ in range(1_200):
        venue.run(0.1, venue.show_all, NS_PER_SECOND // 10)
        if venue.won:
            break
    assert venue.won == [(venue.markets[2].market_id, YES)]
    venue.run(0.2)
    assert venue.resting() == {3}


def test_a_payout_of_pairs_shows_no_winner():
    venue = Paying()
    venue.hold(2, YES, 5)
    venue.hold(2, NO, 5)
    venue.start()
    venue.resolve(2, YES)
    assert (venue.resting(), venue.won) == ({0, 1, 3}, [])


def test_a_resolution_without_a_payout_decides_no_other_rung():
    venue = Paying()
    venue.start()
    venue.resolve(2, YES)
    assert venue.resting() == {0, 1, 3}


def test_a_start_knows_the_winners_of_an_earlier_run():
    before = holding(2, YES)
    before.resolve(2, YES)
    venue = Paying(winners=tuple(before.won))
    venue.state(2, model.MarketState.RESOLVED)
    venue.start()
    venue.run(30, venue.show_all, NS_PER_SECOND)
    assert venue.resting() == {3}
    assert [rung.blocked for rung in venue.rungs()][:2] == ["decided yes"] * 2


def test_a_winner_of_an_earlier_run_is_ignored_if_its_rung_trades():
    venue = Paying(winners=((Thin([50] * 4, lambda: None).markets[2].market_id, YES),))
    venue.start()
    assert venue.resting() == {0, 1, 2, 3}


def test_a_resolution_that_is_taken_back_lets_the_other_rungs_be_quoted():
    winners = ((Thin([50] * 4, lambda: None).markets[2].market_id, YES),)
    venue = Paying(winners=winners)
    venue.state(2, model.MarketState.RESOLVED)
    venue.start()
    venue.state(2, model.MarketState.ACTIVE)
    venue.run(120, venue.show_all, NS_PER_SECOND)
    assert venue.resting() == {0, 1, 2, 3}


def test_shares_of_a_decided_rung_are_worth_their_payout_and_need_no_flattening():
    venue = Paying()
    venue.hold(2, YES, 5)
    venue.hold(0, NO, 30)
    venue.start()
    before = venue.trader.report(venue.now_ns).pnl_cents
    venue.resolve(2, YES)
    # 30 NO at 20 cents are worth nothing now, 5 YES at 40 have paid 100 each.
    after = venue.trader.report(venue.now_ns).pnl_cents
    assert after - before == pytest.approx(-600 + 300, abs=60)
    venue.give(m.FlattenRequested("now"))
    venue.run(30, venue.show_all, NS_PER_SECOND)
    assert venue.trader.report(venue.now_ns).phase == "paused"
    assert venue.resting() == set()


def test_a_resolved_binary_market_is_blocked():
    venue = Paying(mids=(50,))
    venue.markets[0] = msgspec.structs.replace(
        venue.markets[0], strike_value=None, strike_unit=None
    )
    venue.hold(0, YES, 5)
    venue.start()
    venue.resolve(0, YES)
    assert venue.rungs()[0].blocked == "market resolved"
    assert venue.now_ns > START_NS


def test_two_rungs_that_resolve_one_after_the_other_both_show_their_winners():
    venue = Paying()
    venue.hold(2, NO, 3)
    venue.hold(0, YES, 4)
    venue.start()
    venue.resolve(0, YES)
    venue.resolve(2, NO)
    assert dict(venue.won) == {venue.markets[0].market_id: YES, venue.markets[2].market_id: NO}
    assert venue.resting() == {1}


def traded(*mids: int) -> Thin:
    """A ladder whose lowest rung has traded where its book lies."""
    thin = Thin(list(mids), pace=PaceSettings(decide_ns=0))
    thin.start()
    thin.run(3)
    for number in range(5):
        market_id = thin.markets[0].market_id
        print_ = m.Trade(market_id, thin.now_ns, str(number), Price(mids[0]), Qty(50), True)
        thin.give(print_)
        thin.run(1)
    return thin


def resolve(thin: Thin, index: int) -> None:
    thin.markets[index] = msgspec.structs.replace(
        thin.markets[index], state=model.MarketState.RESOLVED
    )
    thin.run(65)


def move(thin: Thin, *mids: int) -> None:
    thin.mids[1:] = mids
    for _ in range(20):
        for index in range(1, len(thin.mids)):
            thin.show(index)
        thin.run(1)


def ladder(thin: Thin) -> EventQuoter:
    return thin.trader.quoting.ladders[0]


def event_report(thin: Thin) -> EventReport:
    return thin.trader.report(thin.now_ns).events[0]


def test_the_last_book_and_trades_of_a_resolved_rung_do_not_move_the_rungs_above():
    thin = traded(60, 50, 40, 30)
    resolve(thin, 0)
    move(thin, 88, 68, 44)
    assert "arbitrage" not in [alarm.kind for alarm in event_report(thin).alarms]
    fairs = [rung.fair_cents for rung in event_report(thin).rungs]
    assert fairs[1:] == [pytest.approx(at, abs=3) for at in (88, 68, 44)]


def test_a_rung_shows_no_fair_value_while_it_is_resolved():
    thin = traded(60, 50, 40)
    assert event_report(thin).rungs[0].fair_cents is not None
    resolve(thin, 0)
    shown = event_report(thin).rungs[0]
    assert (shown.state, shown.fair_cents, shown.fair_sd_cents) == ("resolved", None, None)
    thin.markets[0] = msgspec.structs.replace(thin.markets[0], state=model.MarketState.ACTIVE)
    thin.run(65)
    assert event_report(thin).rungs[0].fair_cents == pytest.approx(60, abs=2)


def test_trades_count_only_on_rungs_that_still_trade(monkeypatch):
    thin = traded(60, 50, 40)
    counts: list[int] = []
    monkeypatch.setattr(
        type(ladder(thin).flow),
        "on_decision",
        lambda _self, fairs, _now_ns: counts.append(
            sum(fair is not None for fair in fairs.values())
        ),
    )
    move(thin, 51, 41)
    resolve(thin, 0)
    move(thin, 52, 42)
    assert (counts[0], counts[-1]) == (3, 2)


@pytest.mark.parametrize(
    ("won", "values"),
    [
        ((None, None, None), [90.0, 50.0, 20.0]),
        ((YES, None, None), [100.0, 50.0, 20.0]),
        ((None, YES, None), [100.0, 100.0, 20.0]),
        ((None, None, NO), [90.0, 50.0, 0.0]),
        ((YES, NO, None), [100.0, 0.0, 0.0]),
    ],
)
def test_a_winner_bounds_the_values_of_the_rungs_on_its_side(won, values):
    assert decided([90.0, 50.0, 20.0], won) == values


def test_an_outcome_that_a_winner_rules_out_has_probability_zero():
    thin = traded(60, 50, 40, 30)
    resolve(thin, 0)
    move(thin, 88, 68, 44)
    lowest = thin.markets[0].market_id
    implied = ladder(thin).implied(lambda market_id: YES if market_id == lowest else None)
    assert implied is not None
    assert implied.chances[0] == 0
    assert sum(implied.chances) == pytest.approx(1)
    assert implied.chances[1] == pytest.approx(0.12, abs=0.03)


def test_without_a_certain_winner_the_other_rungs_imply_the_probabilities():
    thin = traded(60, 50, 40, 30)
    resolve(thin, 0)
    move(thin, 88, 68, 44)
    implied = event_report(thin).implied
    assert implied is not None
    assert 0 < implied.chances[0] < 0.12


def test_a_read_with_an_unreadable_fee_rate_changes_nothing():
    thin = traded(80, 60, 40, 20)
    assert thin.trader.report(thin.now_ns).events[0].implied is not None
    first, last = thin.markets[0], thin.markets[-1]
    thin.markets[0] = msgspec.structs.replace(first, strike_value=None)
    thin.markets[-1] = msgspec.structs.replace(last, maker_fee_rate="a lot")
    thin.run(70)
    assert "event_unreadable" in thin.trader.out.findings
    assert thin.trader.report(thin.now_ns).events[0].implied is not None
