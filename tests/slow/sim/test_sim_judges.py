"""Claims about the judges: what is within the rules passes, and what is beyond them is told."""

from types import SimpleNamespace

import msgspec
import pytest

from bot.core import messages as m
from bot.core.settings import (
    BudgetSettings,
    PaceSettings,
    RiskSettings,
    TraderSettings,
)
from bot.lab.sim.coverage import EventCounts
from bot.lab.sim.exposure_rules import AuditedAccount, Exposure, LedgerLoss
from bot.lab.sim.scenario import MS, SECOND
from bot.lab.sim.traffic_rules import Bucket, Decided, FeedWatch, Rates
from bot.lab.sim.truth import Broken, Fees, Flight, Truth
from bot.lab.sim.venue import SERIES, market_id
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker
from venue.wire.requests import QtyOrder, TimeInForce

RUNGS = [market_id(0, place) for place in range(4)]
OTHERS = [market_id(1, place) for place in range(4)]
RUNG = RUNGS[0]
YES, NO = Outcome.YES, Outcome.NO
BID, ASK = True, False
RISK = RiskSettings(
    event_loss_cents=Cents(9_000),
    series_loss_cents=Cents(9_000),
    rung_position_qty=Qty(10),
    order_qty=Qty(5),
)
LOWER = msgspec.structs.replace(RISK, rung_position_qty=Qty(6))
ENDS_NS = 10_000 * SECOND


def settings(**parts) -> TraderSettings:
    return TraderSettings(series_ticker=SERIES, **{"risk": RISK, **parts})


class Case:
    """A series of two ladders without fees, of which so many YES shares of a rung are held."""

    def __init__(self, held: int = 0, account: AuditedAccount | None = None) -> None:
        self.truth = Truth(held={(RUNG, YES): held})
        self.flight = Flight(self.truth, [*RUNGS, *OTHERS])
        markets = {Ticker("A"): RUNGS, Ticker("B"): OTHERS}
        self.account = account or AuditedAccount(0)
        self.account.available_cents = 100_000
        self.exposure = Exposure(RISK, Fees("0"), self.truth, self.flight, markets, self.account)
        self.made = 0

    def order(self, qty: int, side: Side = Side.BUY, price: int = 50) -> QtyOrder:
        self.made += 1
        name = ClientOrderId(str(self.made))
        return QtyOrder(RUNG, YES, side, Price(price), Qty(qty), TimeInForce.GTC, name)

    def makes(self, qty: int, side: Side = Side.BUY, price: int = 50) -> None:
        """A create leaves, and its limits are judged."""
        before = self.exposure.before(RUNG)
        self.flight.may_land(self.order(qty, side, price))
        self.exposure.within(RUNG, before)


# --- limits ---------------------------------------------------------------------------------------


def test_a_position_may_reach_its_limit_but_not_exceed_it():
    case = Case()
    case.makes(10)
    with pytest.raises(Broken, match=r"B3: position of .* long: 11, limit 10"):
        case.makes(1)


def test_exposure_above_a_lowered_limit_may_shrink_but_not_grow():
    case = Case(held=7)
    case.makes(2)
    case.exposure.risk = LOWER
    case.makes(7, Side.SELL)
    with pytest.raises(Broken, match="B3"):
        case.makes(1)


def test_foreign_fills_count_against_limits_only_once_booked():
    case = Case(held=4)
    case.truth.strange["fill"] = OrderId("1")
    case.truth.filled[OrderId("1")] = 1
    case.makes(7)
    case.truth.bot_knows(SimpleNamespace(filled_qty=lambda _: 1))
    with pytest.raises(Broken, match="B3"):
        case.makes(1)


def test_a_create_in_flight_counts_as_exposure_until_its_rung_resolves():
    case = Case()
    case.makes(1)
    assert (case.flight.count(), len(case.flight.possible(RUNG))) == (1, 1)
    case.truth.resolved[RUNG] = NO
    assert (case.flight.count(), len(case.flight.possible(RUNG))) == (0, 0)


def test_a_spent_loss_budget_may_be_exceeded_by_what_was_live_as_it_was_spent():
    """Ten shares at 50 and a bid for two more at 60: all of it may be lost, and no cent more."""

    def at(cents: float) -> list[SimpleNamespace]:
        fair = SimpleNamespace(value_cents=cents)
        return [SimpleNamespace(rungs=[SimpleNamespace(market_id=RUNG, decided=None, fair=fair)])]

    case = Case(held=10)
    case.truth.cash[Ticker("A")] = -500
    case.flight.may_land(case.order(2, price=60))
    loss = LedgerLoss(case.exposure)
    loss.audit_loss(100, at(50))
    case.truth.cash[Ticker("A")] = -720
    loss.audit_loss(100, at(0))
    assert loss.spent == {100: (620, 620)}
    case.truth.cash[Ticker("A")] = -721
    with pytest.raises(Broken, match=r"B3: the day's budget of 100 cents is exceeded by 621\.00"):
        loss.audit_loss(100, at(0))


def test_all_series_together_stay_within_the_account_loss_limit():
    account = AuditedAccount(600)
    one, other = Case(account=account), Case(account=account)
    one.makes(8)
    other.makes(4)
    with pytest.raises(Broken, match="B3: all series may lose 650 together, at most 600"):
        other.makes(1)


def test_a_series_must_not_cancel_orders_of_another_series():
    account = AuditedAccount(0)
    one, other = Case(account=account), Case(account=account)
    other.truth.names[OrderId("2")] = ClientOrderId("theirs")
    account.leaves_alone(one.exposure, m.CancelResting(OrderId("1")))
    with pytest.raises(Broken, match="B6"):
        account.leaves_alone(one.exposure, m.CancelResting(OrderId("2")))


# --- manners --------------------------------------------------------------------------------------


def test_cancels_of_all_orders_share_one_rate_limit_bucket():
    bucket = Bucket(BudgetSettings(rate_per_second=10, burst=20, reserve=5), EventCounts(), 0)
    bucket.can_be_flat(22, 200 * MS, 0)
    with pytest.raises(Broken, match="B3"):
        bucket.can_be_flat(23, 200 * MS, 0)
    for _ in range(20):
        bucket.on_request(m.ReadBalance(), SECOND)
    with pytest.raises(Broken, match="B5: more than burst"):
        bucket.on_request(m.ReadBalance(), SECOND)


def test_markets_share_the_write_throttle_of_the_account():
    held = Rates(settings(pace=PaceSettings(writes_per_second=1, writes_burst=2)), 0)
    held.on_write(RUNGS[0], 0)
    held.on_write(RUNGS[1], 0)
    with pytest.raises(Broken, match="B5: more writes than the pace of the account"):
        held.on_write(RUNGS[2], SECOND // 2)


def test_an_unset_create_limit_follows_from_the_other_limits():
    held = Rates(settings(risk=msgspec.structs.replace(RISK, resting_orders=1)), 0)
    for _ in range(60):
        held.on_create(0)
    with pytest.raises(Broken, match="B13: 61 creates in a minute, at most 60"):
        held.on_create(0)


# --- the book -------------------------------------------------------------------------------------


def watch() -> FeedWatch:
    """One that has been shown 40 against 60 at once, and twenty ticks deeper."""
    held = FeedWatch()
    held.on_event(m.FeedOpened(), ENDS_NS)
    bids, asks = ((Price(first), Qty(10)) for first in (40, 39)), ((60, 10), (61, 10))
    held.on_event(m.BookUpdate(RUNG, ENDS_NS, tuple(bids), asks), ENDS_NS)
    return held


def test_crossing_depth_is_measured_against_the_best_price_of_others():
    held = watch()
    assert held.reaches(MarketId("unheard of"), BID, 70, ()) < 0
    assert held.reaches(RUNG, BID, 63, ()) == 3
    assert held.reaches(RUNG, BID, 63, (60,)) == 2
    assert held.reaches(RUNG, BID, 63, (60, 61)) < 0
    assert held.reaches(RUNG, ASK, 38, ()) == 2


def test_a_book_is_stale_after_silence_a_malformed_frame_or_a_closed_feed():
    held = watch()
    assert not held.stale(RUNG, ENDS_NS + SECOND // 5)
    assert held.stale(RUNG, ENDS_NS + 6 * SECOND) == "the channel is silent"
    held.on_event(m.MalformedFrame("no JSON", True), ENDS_NS + SECOND // 5)
    assert held.stale(RUNG, ENDS_NS + SECOND // 5) == "its book is in doubt"
    assert not held.stale(RUNG, ENDS_NS + SECOND, 2 * SECOND)
    held.on_event(m.FeedClosed("gone"), ENDS_NS + SECOND // 5)
    assert held.stale(RUNG, ENDS_NS + SECOND) == "the channel is closed"


# --- winners ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "winner", "decided"), [(2, YES, [0, 1]), (1, NO, [2, 3]), (0, YES, []), (3, NO, [])]
)
def test_a_winner_decides_the_implied_rungs_of_its_ladder(place, winner, decided):
    case = Case()
    case.truth.resolved[RUNGS[place]] = winner
    judged = Decided(case.truth, case.exposure)
    assert not any(map(judged.decided_by, (*RUNGS, *OTHERS)))
    fields = {"market_id": RUNGS[place], "winner": winner.value}
    judged.on_note(m.Noted("debug", "winner_told", fields))
    assert [at for at, market in enumerate(RUNGS) if judged.decided_by(market)] == decided
    assert not any(map(judged.decided_by, OTHERS))


def test_a_false_winner_is_detected():
    case = Case()
    with pytest.raises(Broken, match="B9"):
        Decided(case.truth, case.exposure).on_start(((RUNG, YES),))
