"""Claims about the embedded venue in place of a tape: its queue is true, its flow is the same."""

import pytest

from bench.brackets import CROWDS, Fate, Session, bracketed, played
from bench.crowded import RESOLUTION_NS, CrowdedMarket, Recorder, clock, recorded
from bot.config.bot_config import finish, read_draft
from bot.core import messages as m
from bot.lab.backtest.run import Backtest
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.exchange import buy_order
from bot.lab.exchange.queue_model import QueueModel
from tests.builders.backtest.made import configured
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import BookRecord
from venue.wire.money import Cents, Outcome
from venue.wire.requests import TimeInForce

pytestmark = pytest.mark.xdist_group("crowded")

TERMS = Terms(cash_cents=Cents(10**9))
BUSY = CrowdSettings(seed=3, noise_takes_per_rung_per_minute=60, makers=4)


@pytest.fixture(scope="module")
def session():
    """Six minutes among ten makers a rung, with our orders."""
    return Session(CROWDS["ten makers a rung"], 5, 360)


def test_a_recorded_crowd_is_deterministic_and_has_prints_and_books():
    ticking = clock(3, 30)
    tape = recorded(ticking, BUSY, TERMS)
    assert tape.records == recorded(ticking, BUSY, TERMS).records
    kinds = {type(record).__name__ for record in tape.records}
    assert kinds == {"BookRecord", "TradeRecord"}


def test_our_unfilled_order_does_not_change_the_flow_or_the_recording():
    ticking = clock(3, 30)
    venue = CrowdedMarket(ticking, BUSY, TERMS)
    recorder = Recorder(venue, ticking)
    order = buy_order(venue.markets[0], Outcome.YES, 1, 5, TimeInForce.GTC, "far")
    request = m.Create(order, False)
    for place, record in enumerate(ticking.records):
        if place == 200:
            venue.exchange.answer_request(
                m.Send(m.RequestId(1), request, "", m.Key.TRADE), record.ts
            )
        venue.play(place)
    assert venue.exchange.book_update(venue.markets[0], 0).bids[-1] == (1, 5)
    assert recorder.tape.records == recorded(ticking, BUSY, TERMS).records


def test_every_recorded_book_change_has_its_own_timestamp():
    tape = recorded(clock(3, 30), BUSY, TERMS)
    times = [(book.ts, book.ticker) for book in tape.records if isinstance(book, BookRecord)]
    assert len(times) == len(set(times))


def test_a_book_frame_is_not_older_than_the_prints_it_contains():
    ticking = clock(3, 30)
    venue = CrowdedMarket(ticking, BUSY, TERMS)
    prints = 0
    for place, record in enumerate(ticking.records):
        venue.play(place)
        newest: dict[str, int] = {}
        for event in venue.frames(record.ts):
            if isinstance(event, m.Trade):
                newest[event.market_id] = max(newest.get(event.market_id, 0), event.ts_ns)
                prints += 1
            elif isinstance(event, m.BookUpdate):
                assert event.ts_ns >= newest.get(event.market_id, 0)
    assert prints > 10


def test_true_fills_lie_between_the_pessimistic_and_optimistic_fills(session):
    averse, kind = (
        played(session.tape, session.probes, reading)
        for reading in (QueueModel.PESSIMISTIC, QueueModel.OPTIMISTIC)
    )
    rows = list(zip(session.fates, averse, kind, strict=True))
    assert sum(true.filled > 0 for true, _, _ in rows) > 10
    assert all(bracketed(*row) for row in rows)


def test_expected_fills_lie_between_the_pessimistic_and_optimistic_fills(session):
    averse, likely, kind = (played(session.tape, session.probes, reading) for reading in QueueModel)
    assert all(bracketed(*row) for row in zip(likely, averse, kind, strict=True))


@pytest.mark.parametrize(
    ("true", "within"),
    [
        (Fate(5, 20), True),
        (Fate(2, 30), True),
        (Fate(1, 30), False),
        (Fate(9, 20), False),
        (Fate(5, 9), False),
        (Fate(5, 31), False),
    ],
)
def test_bracketed_compares_shares_and_the_time_of_the_first_fill(true, within):
    assert bracketed(true, pessimistic=Fate(2, 30), optimistic=Fate(8, 10)) is within


def test_a_backtest_against_a_crowd_reconciles_with_the_venue(tmp_path):
    ticking = clock(3, 30)
    config = finish(read_draft(configured(tmp_path, "fixed_spread")))
    venue = CrowdedMarket(ticking, BUSY, TERMS)
    run = Backtest(
        ticking,
        config.trader,
        config.make_strategy,
        QueueModel.PESSIMISTIC,
        TERMS,
        RESOLUTION_NS,
        venue,
    ).run()
    assert run.venue.account.fills
    assert run.result(None).bound == "pessimistic"  # raises unless both accounts meet
