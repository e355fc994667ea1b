"""Claims about a session that is traded once more: same world, our own answers, two accounts."""

from pathlib import Path

import msgspec
import pytest

from bot.config.strategies import Makers
from bot.core import messages as m
from bot.core.report import Phase
from bot.io.journal.journal import read_journal
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.journal_market import read_market
from bot.lab.session import placed_entries
from bot.lab.what_if.changes import Trial
from bot.lab.what_if.run import Setup, WhatIfMarket, WhatIfRun
from tests.builders.record.made import segment_file
from tests.builders.what_if.made import (
    MARKET,
    arriving,
    book,
    calm,
    fill,
    ns,
    order,
    replied,
    run_of,
    trade,
)
from venue.engine import messages as v
from venue.wire import model
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_MS
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder, TimeInForce

PROMPT = Terms(read_lag_ns=NS_PER_MS)


@pytest.fixture(scope="module")
def state(tmp_path_factory) -> Path:
    return calm(tmp_path_factory.mktemp("instead") / "state")


def played(path: Path, *sets: str, reading=QueueModel.PESSIMISTIC):
    """A session of a state directory with keys that are set: the play, and what it came to."""
    run = run_of(path)
    had = run.started.configured
    configured = Trial(sets, None, Path()).on(had).configured if sets else had
    market = read_market(placed_entries(run.paths))
    play = WhatIfRun(market, run.started, Setup(configured, Makers(Path())), PROMPT, reading)
    return play, play.run()


@pytest.fixture(scope="module")
def same(state):
    return played(state)[1]


def test_a_what_if_run_is_deterministic(state, same):
    assert played(state)[1] == same


def test_an_unchanged_session_sends_about_as_many_creates_as_the_real_one(state, same):
    entries = list(read_journal(run_of(state).paths[0]))
    sent = [each.message.request for each in entries if isinstance(each.message, m.Send)]
    creates = sum(isinstance(request, m.Create) for request in sent)
    assert same.requests["create"] == pytest.approx(creates, rel=0.2)
    assert all(quote.present > 0.2 for quote in same.quotes)


ONE_LEVEL = "strategy.params.levels=1"


def test_a_changed_setting_changes_the_resting_orders(state, same):
    _, other = played(state, ONE_LEVEL)
    for before, after in zip(same.quotes, other.quotes, strict=True):
        assert (after.ticker, after.side) == (before.ticker, before.side)
        assert after.qty < before.qty
    assert other.requests["create"] < same.requests["create"]
    assert other.worst_case_max_cents < same.worst_case_max_cents


def test_the_fills_of_a_what_if_run_reconcile_with_the_venue_ledger(state):
    play, _ = played(state, reading=QueueModel.EXPECTED)
    play.venue.account.prove(play.venue.gain_cents)


def with_event(path: Path, at: float, event: m.Event, into: Path) -> Path:
    """The journal of a state directory with one more event at a part of its way."""
    (segment,) = run_of(path).paths
    entries = list(read_journal(segment))
    place = next(
        n
        for n in range(round(at * len(entries)), len(entries))
        if isinstance(entries[n].message, m.Tick)
    )
    entries.insert(place, msgspec.structs.replace(entries[place], message=event))
    return segment_file(into, entries)


def test_operator_requests_of_the_session_are_repeated(state, same, tmp_path):
    path = with_event(state, 0.3, m.PauseRequested("a person"), tmp_path / "run.log")
    _, paused = played(path)
    assert paused.present < same.present * 0.8
    stopped = with_event(state, 0.3, m.StopRequested("a person"), tmp_path / "stopped.log")
    play, _ = played(stopped)
    assert play.trader.phase is Phase.STOPPED


def test_a_reconfiguration_of_the_session_is_repeated(state, same, tmp_path):
    had = run_of(state).started.configured
    smaller = Trial([ONE_LEVEL], None, Path()).on(had).configured
    told = m.Reconfigured(1, smaller, ("strategy.params.levels: 2 -> 1",))
    path = with_event(state, 0.1, told, tmp_path / "run.log")
    _, small = played(path)
    assert small.requests["create"] < same.requests["create"]


# --- the venue ------------------------------------------------------------------------------------


def market_of(session, reading=QueueModel.PESSIMISTIC):
    """The venue, and the session played into it."""
    venue = WhatIfMarket(
        session, msgspec.structs.replace(PROMPT, cash_cents=session.cash_cents), reading
    )
    for each in session.history:
        venue.play(each, each.seen.ts_ns)
    return venue


def test_a_print_that_filled_us_fills_others_when_we_have_no_order_there(session_of):
    session = session_of(
        (0.2, *replied(m.OrderBody(order("1", 40, 10, 0.1)))),
        arriving(book(0.5, [(40, 16), (39, 9)], [(60, 5)])),
        arriving(trade("a", 1, 40, 4, bought_yes=False)),
        (3, *replied(m.FillsBody((fill("1", 40, 4, 1, trade="a"),), ""))),
    )
    venue = market_of(session)
    assert venue.account.fills == []
    frame = venue.exchange.book_update(MARKET, ns(2))
    assert frame.bids == ((40, 2), (39, 9))


def test_a_crossing_order_in_a_halted_market_is_rejected(session_of):
    session = session_of(arriving(book(0.5, [(40, 16)], [(60, 5)])))
    venue = market_of(session)
    venue.exchange.execute(v.HaltMarket(MARKET), ns(1))
    name = ClientOrderId("o1")
    order = QtyOrder(MARKET, Outcome.YES, Side.BUY, Price(60), Qty(5), TimeInForce.GTC, name)
    create = m.Create(order, False)
    answer, *_ = venue.exchange.answer_request(
        m.Send(m.RequestId(1), create, "asked for", m.Key.TRADE), ns(2)
    )
    assert answer.code == Code.MARKET_HALTED
    assert venue.exchange.book_update(MARKET, ns(2)).asks == ((60, 5),)


@pytest.mark.parametrize("held", [30, 1_000_000, 1_000_001, 2_500_000])
def test_a_what_if_run_starts_with_the_inventory_and_cash_of_the_session(session_of, held):
    position = model.Position(
        ticker="ACME-VAL-27Q1-100B",
        market_id=MARKET,
        outcome=model.ShownOutcome.NO,
        qty=Qty(held),
    )
    balance = model.Balance(Cents(70_000), Cents(5_000), Cents(75_000))
    session = session_of(
        (0.1, *replied(m.BalanceBody(balance))),
        (0.1, *replied(m.PositionsBody((position,), ""))),
        arriving(book(0.5, [(40, 16)], [(60, 5)])),
    )
    venue = market_of(session)
    assert venue.exchange.engine.balance("maker") == (75_000, 0)
    assert venue.account.shares == {(MARKET, Outcome.NO): held}
    assert venue.gain_cents == venue.account.cash_cents == 0
    assert venue.frames(ns(1))[-1].bids == ((40, 16),)
    assert BookSide.BID is BookSide.ASK.other
