"""Claims about the embedded venue in place of a tape: its queue is true, its flow is the same."""

import pytest

from bench.brackets import CROWDS, Fate, Session, bracketed, played
from bench.crowded import RESOLUTION_NS, CrowdedMarket, Recorder, beats, clock, recorded
from bot.config.bot_config import finish, read_draft
from bot.core import messages as m
from bot.lab.backtest.run import Backtest
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from tests.builders.backtest.made import configured
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import BookRecord, decode_record
from venue.wire import codec
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder, TimeInForce

pytestmark = pytest.mark.xdist_group("crowded")

TERMS = Terms(cash_cents=Cents(10**9))
BUSY = CrowdSettings(seed=3, noise_takes_per_rung_per_minute=60, makers=4)


@pytest.fixture(scope="module")
def session():
    """Six minutes among ten makers a rung, with our orders."""
    return Session(CROWDS["ten makers a rung"], 5, 360)


def test_a_crowd_is_recorded_the_same_each_time_and_tells_prints_and_books():
    ticking = clock(3, 30)
    tape = recorded(ticking, BUSY, TERMS)
    assert tape.lines == recorded(ticking, BUSY, TERMS).lines
    kinds = {type(decode_record(line)).__name__ for line in tape.lines}
    assert kinds == {"BookRecord", "TradeRecord"}


def test_an_order_of_ours_that_nobody_meets_leaves_the_flow_and_the_recording_as_they_are():
    ticking = clock(3, 30)
    venue = CrowdedMarket(ticking, BUSY, TERMS)
    recorder = Recorder(venue, ticking)
    order = QtyOrder(
        venue.markets[0],
        Outcome.YES,
        Side.BUY,
        Price(1),
        Qty(5),
        TimeInForce.GTC,
        ClientOrderId("far"),
    )
    request = m.Create(order, codec.encode_new_order(order), False)
    for place, record in enumerate(beats(ticking)):
        if place == 200:
            venue.exchange.answer_request(
                m.Send(m.RequestId(1), request, "", m.Key.TRADE), record.ts
            )
        venue.play(record)
    assert venue.exchange.book_update(venue.markets[0], 0).bids[-1] == (1, 5)
    assert recorder.tape.lines == recorded(ticking, BUSY, TERMS).lines


def test_every_change_of_a_recording_has_an_instant_of_its_own():
    tape = recorded(clock(3, 30), BUSY, TERMS)
    books = [decode_record(line) for line in tape.lines]
    times = [(book.ts, book.ticker) for book in books if isinstance(book, BookRecord)]
    assert len(times) == len(set(times))


def test_a_book_on_the_channel_is_not_older_than_the_prints_that_it_has_in_it():
    ticking = clock(3, 30)
    venue = CrowdedMarket(ticking, BUSY, TERMS)
    prints = 0
    for record in beats(ticking):
        venue.play(record)
        newest: dict[str, int] = {}
        for event in venue.frames(record.ts):
            if isinstance(event, m.Trade):
                newest[event.market_id] = max(newest.get(event.market_id, 0), event.ts_ns)
                prints += 1
            elif isinstance(event, m.BookUpdate):
                assert event.ts_ns >= newest.get(event.market_id, 0)
    assert prints > 10


def test_the_truth_lies_between_the_bounds_for_orders_on_the_feed_that_they_stood_in(session):
    averse, kind = (
        played(session.tape, session.probes, reading)
        for reading in (QueueModel.PESSIMISTIC, QueueModel.OPTIMISTIC)
    )
    rows = list(zip(session.fates, averse, kind, strict=True))
    assert sum(true.filled > 0 for true, _, _ in rows) > 10
    assert all(bracketed(*row) for row in rows)


def test_the_likely_reading_lies_between_the_bounds_too(session):
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
def test_bracketed_means_shares_and_the_first_fill(true, within):
    assert bracketed(true, pessimistic=Fate(2, 30), optimistic=Fate(8, 10)) is within


def test_the_whole_trader_plays_against_a_crowd_and_both_accounts_meet(tmp_path):
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
