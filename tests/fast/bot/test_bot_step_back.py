"""A step back is never held back: neither the time between decisions nor the throttle delays it."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.account.reconciler import AccountChange
from bot.core.orders.order import State
from bot.core.planning.actions import AmendAction, CancelAction
from bot.core.planning.queue_value import NOTHING_KNOWN, loses
from bot.core.report import Move, Reaction
from bot.core.settings import PaceSettings
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from tests.builders.bot import made
from tests.builders.bot.planned import ASK, BID, PACES, plan, rests
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Price, Qty, canonical
from venue.wire.requests import Amend

SLOW = PaceSettings(decide_ns=4 * NS_PER_SECOND)
EMPTY = PaceSettings(market_writes_per_second=1, market_writes_burst=1)


class Bids(Strategy):
    """Ten shares bid two cents below the mid of others."""

    def quote(self, view: EventView) -> Quotes:
        return {
            rung.market_id: (Quote(BID, Price((rung.best_bid + rung.best_ask) // 2 - 2), Qty(10)),)
            for rung in view.rungs
            if rung.best_bid and rung.best_ask
        }


def bids() -> Bids:
    return Bids(None)


def quoting(pace: PaceSettings) -> Thin:
    """A bid rests, the book shows it, and the strategy has just been asked."""
    venue = Thin([50], bids, pace)
    venue.start()
    venue.show(0)
    venue.run(6)
    venue.mids[0] = 52
    venue.show(0)
    venue.run(6)
    assert [order.price for order in venue.orders.values()] == [50]
    return venue


def moved_to(venue: Thin, price: int) -> list[tuple[str, int]]:
    """The mid of others moves, and the trader ticks. Each write: its kind, and the canonical price
    of an amend."""
    since = len(venue.sent)
    venue.now_ns += NS_PER_MS
    venue.mids[0] = price
    venue.show(0)
    venue.give(m.Tick())
    return [
        (
            type(request).__name__,
            canonical(venue.trader.desk.owner_of(request.order_id).outcome, request.amend.price)
            if isinstance(request, m.AmendResting)
            else 0,
        )
        for _, request in venue.sent[since:]
        if isinstance(request, m.Create | m.AmendResting | m.CancelResting)
    ]


@pytest.mark.parametrize("pace", [SLOW, EMPTY])
def test_an_order_that_the_market_moves_against_leaves_with_the_next_tick(pace):
    venue = quoting(pace)
    assert moved_to(venue, 50) == [("AmendResting", 48)]
    assert moved_to(venue, 48) == [("AmendResting", 46)]


@pytest.mark.parametrize("pace", [SLOW, EMPTY])
def test_an_order_that_the_market_moves_away_from_waits(pace):
    venue = quoting(pace)
    assert moved_to(venue, 50)
    assert not moved_to(venue, 56)


def test_a_move_against_an_order_that_came_with_our_own_write_is_decided_once_it_is_answered():
    venue = quoting(SLOW)
    held: list[m.Send] = []
    answers_at_once, venue.ask = venue.ask, held.append
    moved_to(venue, 51)
    moved_to(venue, 50)
    venue.ask = answers_at_once
    [amend] = [send for send in held if isinstance(send.request, m.AmendResting)]
    since = len(venue.sent)
    for send in held:
        venue.ask(send)
    venue.show(0)
    venue.give(m.Tick())
    assert [request for _, request in venue.sent[since:] if request != amend.request] == [
        m.AmendResting(amend.request.order_id, Amend(price=Price(48)))
    ]


@pytest.mark.parametrize("fills", [0, 1])
def test_a_fill_of_ours_is_decided_at_once(fills):
    venue = quoting(SLOW)
    market_id, [own] = venue.markets[0].market_id, venue.trader.desk.live_orders
    booked = tuple(made.fill(own, number, 1) for number in range(fills))
    venue.trader.quoting.learn(AccountChange(booked, (market_id,)), venue.now_ns)
    decisions = venue.trader.out.counters.decisions
    venue.give(m.Tick())
    assert venue.trader.out.counters.decisions == decisions + fills


@pytest.mark.parametrize(
    ("mid", "move", "waits_ns"), [(50, Move.ADVERSE, 0), (56, Move.FAVOURABLE, NS_PER_SECOND)]
)
def test_a_reaction_lasts_from_the_frame_that_called_for_it(mid, move, waits_ns):
    venue = quoting(PaceSettings(dwell_ns=NS_PER_SECOND))
    found: list[tuple[Reaction, int]] = []
    receive = venue.trader.receive

    def receiving(event: m.Event, now_ns: int) -> list[m.Effect]:
        effects = receive(event, now_ns)
        found.extend((each, now_ns) for each in venue.trader.reactions.values())
        return effects

    venue.trader.receive = receiving
    frame_ns = venue.now_ns = venue.now_ns + NS_PER_MS
    moved_to(venue, mid)
    venue.run(3)
    [(reaction, left_ns)] = found
    assert reaction == (move, frame_ns + NS_PER_MS)
    assert left_ns >= reaction.since_ns + waits_ns


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(-6, 6), st.sampled_from([1, 20, 200])),
        max_size=12,
    ),
    st.builds(
        PaceSettings,
        decide_ns=st.sampled_from([NS_PER_MS, 50 * NS_PER_MS, NS_PER_SECOND]),
        dwell_ns=st.sampled_from([NS_PER_MS, NS_PER_SECOND]),
        tolerance_ticks=st.integers(0, 2),
        market_writes_burst=st.sampled_from([1, 6]),
        writes_burst=st.sampled_from([1, 300]),
    ),
)
def test_no_order_without_an_edge_rests_after_a_decision_but_where_it_is_wanted(moves, pace):
    venue = Thin([60, 50, 40], pace=pace)
    venue.start()
    for index, by, ms in moves:
        venue.mids[index] = min(max(venue.mids[index] + by, 20), 80)
        venue.show(index)
        venue.give(m.Tick())
        for rung in venue.trader.quoting.ladders[0].rungs:
            for own in venue.trader.desk.live(rung.market_id):
                assert own.state is State.OPEN
                is_wanted = own.yes_price in [quote.price for quote in rung.wanted]
                assert is_wanted or not loses(own.book_side, own.yes_price, rung.fair.value_cents)
        venue.run(ms / 1_000)


FAIR_AT_50 = msgspec.structs.replace(NOTHING_KNOWN, fair_cents=50.0)
PRICES = st.integers(30, 70)
BID_QUOTES = st.dictionaries(PRICES, st.integers(0, 3), max_size=3)


@given(BID_QUOTES, st.lists(PRICES, max_size=4), PACES, st.sampled_from([BID, ASK]))
def test_a_plan_leaves_no_order_bolder_than_its_quotes_allow_or_without_an_edge(
    quotes, prices, pace, side
):
    sign = 1 if side is BID else -1
    wanted = [
        Quote(side, Price(price), Qty(10), Price(price + sign * more))
        for price, more in quotes.items()
    ]
    orders = [rests(price, side=side, number=place) for place, price in enumerate(prices)]
    actions = plan(wanted, orders, pace=pace, worth=FAIR_AT_50).actions
    leaving = {
        action.order: action for action in actions if isinstance(action, AmendAction | CancelAction)
    }
    for own in orders:
        bold = sign * own.yes_price
        limits = [sign * quote.limit for quote in wanted]
        targets = [sign * quote.price for quote in wanted]
        too_bold = bold > max(limits, default=100)
        loses_too = bold > sign * 50 and bold > max(targets, default=-100)
        if too_bold or loses_too:
            assert leaving[own].is_step_back
            assert not (isinstance(leaving[own], AmendAction) and leaving[own].is_improvement)
        elif own in leaving:
            assert not leaving[own].is_step_back
