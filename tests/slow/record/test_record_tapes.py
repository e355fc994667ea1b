"""Claims about recordings of ours as tapes: others' books to the share, no print that we made.

The truth is the engine's: what all users but us had resting at the instant of each frame.
"""

import gzip
import json

import msgspec
import pytest

from bench.simulated_journals import STRATEGY_FAULTS, RecordedWorld, written
from bot.core import messages as m
from bot.io.journal.archive import archive
from bot.io.journal.journal import read_segment, segments
from bot.io.journal.records import Entry
from bot.lab.backtest.tapes import TapeFault, read_tapes, tape_folders, warnings, winners
from bot.lab.exchange.exchange import MAKER
from bot.lab.own_orders import OwnOrders
from bot.lab.sim.phases import run_phases
from bot.lab.sim.scenario import draw, narrowed
from tests.builders.record.made import journal
from tests.builders.records.lived import event, fill, market, market_id
from tests.builders.replay.recorded import SANE
from tests.builders.scale import cases
from tests.mutants.bug import planted
from venue.crowd.tape import BookRecord, closes_ns
from venue.engine import messages as v
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Outcome, Price, Qty, book_side, canonical
from venue.wire.names import OrderId, Ticker

pytestmark = pytest.mark.xdist_group("record")

T0 = 1_800_000_000 * NS_PER_SECOND
WAY_NS = NS_PER_SECOND // 1000
"""A frame made by hand arrives so long after its instant, and never before the one before it."""

Book = dict[tuple[BookSide, Price], int]


class World:
    """A calm simulated life whose every change of a book is written down without us."""

    def __init__(self, folder, seconds: int) -> None:
        odds = narrowed(draw(17, "calm"), without=STRATEGY_FAULTS, until_ns=seconds * NS_PER_SECOND)
        self.truth: dict[tuple[str, int], Book] = {}
        self._orders: dict[str, v.OrderState] = {}
        folder.mkdir()
        with planted((SANE,)):
            self.world = RecordedWorld(odds)
            self.world.exchange.watchers.append(self._watch)
            run_phases(self.world)
        (life,) = self.world.processes
        self.log = life.log
        written(life, folder / "journal-00000001.log")

    def _watch(self, _command, _answer, events, now_ns) -> None:
        for event_ in events:
            if isinstance(event_, v.OrderChanged):
                self._orders[event_.order.order_id] = event_.order
        for event_ in events:
            if isinstance(event_, v.LevelChanged):
                at = event_.market_id, now_ns
                self.truth[at] = self._others(event_.market_id)

    def _others(self, market) -> Book:
        book: Book = {}
        for order in self._orders.values():
            if order.market_id != market or order.user_id == MAKER:
                continue
            if order.status in model.RESTING and order.remaining_qty:
                level = book_side(order.outcome, order.side), canonical(order.outcome, order.price)
                book[level] = book.get(level, 0) + order.remaining_qty
        return book


@pytest.fixture(scope="module")
def recorded_world(tmp_path_factory):
    state = tmp_path_factory.mktemp("tapes") / "state"
    return state, World(state, cases(30, quick=4))


def of(bids, asks) -> Book:
    book: Book = {(BookSide.BID, price): size for price, size in bids}
    return book | {(BookSide.ASK, price): size for price, size in asks}


def test_books_without_our_orders_match_the_resting_orders_of_others(recorded_world):
    _, world = recorded_world
    mine = OwnOrders()
    for each, _, _ in world.log:
        mine.on_message(each)
    ours = 0
    for each, _, _ in world.log:
        if isinstance(each, m.BookUpdate) and (each.market_id, each.ts_ns) in world.truth:
            others = mine.without(each)
            assert not others.missing_qty
            assert of(others.bids, others.asks) == world.truth[each.market_id, each.ts_ns]
            ours += bool(others.own_bids or others.own_asks)
    assert ours > 20


def lines(folder) -> bytes:
    return gzip.decompress((folder / "tape.jsonl.gz").read_bytes())


def test_a_journal_and_its_archive_give_the_same_tape(recorded_world, tmp_path):
    state, world = recorded_world
    (tmp_path / "packed").mkdir()
    for path in segments(state):
        copy = tmp_path / "packed" / path.name
        copy.write_bytes(path.read_bytes())
        archive(copy)
    made = [tape_folders(each)[0] for each in (state, tmp_path / "packed")]
    assert len({lines(each) for each in made}) == 1
    assert len({(each / "catalog.json").read_bytes() for each in made}) == 1
    assert len({warnings(each) for each in made}) == 1
    tapes = list(read_tapes(made[0]))
    rungs = [len(each) for each in world.world.exchange.markets.values()]
    assert [len(tape.rungs) for tape in tapes] == rungs[: len(tapes)]


def test_the_tape_of_a_journal_shows_the_books_of_others(recorded_world):
    state, world = recorded_world
    (folder,) = tape_folders(state)
    tickers = {}
    for tickers_of, markets in world.world.exchange.markets.items():
        for number, market_ in enumerate(markets):
            tickers[f"{tickers_of}-{100 + 25 * number}B"] = market_
    checked = 0
    for tape in read_tapes(folder):
        for record in tape.records:
            if isinstance(record, BookRecord):
                asks = [(canonical(Outcome.NO, Price(price)), qty) for price, qty in record.no]
                truth = world.truth.get((tickers[record.ticker], record.ts))
                if truth is not None:
                    assert of(record.yes, asks) == truth
                    checked += 1
    assert checked > 20


# --- by hand --------------------------------------------------------------------------------------


def replied(body: m.Body) -> m.Response:
    return m.Response(m.RequestId(1), m.Ok(body))


def order(rests: int, at_s: float, price: int = 40, status: str = "open", qty: int = 10):
    at = instant.from_ns(T0 + round(at_s * NS_PER_SECOND))
    return model.Order(
        order_id=OrderId("71"), ticker=Ticker("x"), market_id=market_id(1),
        event_ticker=Ticker("y"), outcome=model.ShownOutcome.YES, side=model.ShownSide.BUY,
        price=Price(price), qty=Qty(qty), remaining_qty=Qty(rests), filled_qty=Qty(qty - rests),
        status=model.OrderStatus(status), time_in_force=model.ShownTimeInForce.GTC,
        created_at=instant.from_ns(T0), updated_at=at,
    )  # fmt: skip


def frame(at_s: float, size: int, price: int = 40, rung: int = 1) -> m.BookUpdate:
    at_ns = T0 + round(at_s * NS_PER_SECOND)
    return m.BookUpdate(market_id(rung), at_ns, ((Price(price), Qty(size)),), ())


TENS = (("10", None), ("20", None))


def by_hand(folder, *messages: m.Event, nonce: str = "a" * 20, strikes=TENS):
    shown = [
        msgspec.structs.replace(market(number), strike_value=strike, strike_unit=unit)
        for number, (strike, unit) in enumerate(strikes, 1)
    ]
    first = [
        m.Started(nonce, (), journal=m.JournalFate.LOST),
        replied(m.SeriesBody((event(*shown),), "")),
    ]
    entries, at_ns = [Entry(T0, each) for each in first], T0
    for each in messages:
        if isinstance(each, m.BookUpdate | m.Trade):
            at_ns = max(at_ns, each.ts_ns + WAY_NS)
        entries.append(Entry(at_ns, each))
    journal(folder, entries)
    return folder


def printed(number: int, at_s: float) -> m.Trade:
    at_ns = T0 + round(at_s * NS_PER_SECOND)
    return m.Trade(market_id(1), at_ns, f"t{number}", Price(40), Qty(3), True)


def test_frames_are_ordered_by_venue_time_and_prints_deduplicated(tmp_path):
    state = by_hand(
        tmp_path / "s", frame(0, 4), frame(3, 5), frame(1, 6, rung=2), printed(5, 2), printed(5, 2),
        frame(2, 7),
    )  # fmt: skip
    (tape,) = read_tapes(tape_folders(state)[0])
    times = [record.ts - T0 for record in tape.records]
    assert times == [each * NS_PER_SECOND for each in (0, 1, 2, 2, 3)]


def test_books_older_than_the_recording_begin_with_it(tmp_path):
    state = by_hand(tmp_path / "s", frame(0, 4), frame(-86_400, 6, rung=2), frame(1, 5))
    (tape,) = read_tapes(tape_folders(state)[0])
    told = [(record.ticker, record.ts - T0) for record in tape.records]
    one, two = market(1).ticker, market(2).ticker
    assert sorted(told) == [(one, 0), (one, NS_PER_SECOND), (two, 0)]


def test_a_tape_begins_by_the_venue_clock(tmp_path):
    state = by_hand(tmp_path / "s", frame(0, 4), frame(-9, 6, rung=2), frame(1, 5))
    ahead_ns = 3_600 * NS_PER_SECOND
    (path,) = segments(state)
    entries = [
        msgspec.structs.replace(each, at_ns=each.at_ns + ahead_ns)
        for each in read_segment(path).entries()
    ]
    journal(tmp_path / "ahead", entries)
    made = [tape_folders(each)[0] for each in (state, tmp_path / "ahead")]
    assert lines(made[0]) == lines(made[1])


def test_a_jump_of_the_venue_clock_keeps_earlier_records(tmp_path):
    jump_s = 3_600
    state = by_hand(tmp_path / "s", *(frame(at_s, 4 + at_s) for at_s in (0, 1, 2, 900 + jump_s)))
    (path,) = segments(state)
    *before, last = read_segment(path).entries()
    last = msgspec.structs.replace(last, at_ns=last.at_ns - jump_s * NS_PER_SECOND)
    times = []
    for number, entries in enumerate(([*before], [*before, last])):
        journal(tmp_path / f"jumped{number}", entries)
        (tape,) = read_tapes(tape_folders(tmp_path / f"jumped{number}")[0])
        times.append([(record.ts - T0) // NS_PER_SECOND for record in tape.records])
    assert times == [[0, 1, 2], [0, 1, 2, 900 + jump_s]]


def test_a_tape_omits_prints_of_our_takes_and_keeps_prints_that_filled_us(tmp_path):
    made = fill(1, T0)
    made = msgspec.structs.replace(made, liquidity=model.Liquidity.TAKER)
    came = fill(2, T0)
    state = by_hand(
        tmp_path / "s", printed(1, 1), printed(2, 2), printed(3, 3),
        replied(m.FillsBody((came, made), "")),
    )  # fmt: skip
    (folder,) = tape_folders(state)
    (tape,) = read_tapes(folder)
    assert [record.ts - T0 for record in tape.records] == [2e9, 3e9]
    told = "\n".join(warnings(folder))
    assert "1 prints that we made as taker were left out" in told
    assert "1 prints came to orders of ours" in told


def test_a_tape_omits_crossed_books_with_a_warning(tmp_path):
    crossed = m.BookUpdate(
        market_id(1), T0 + NS_PER_SECOND, ((Price(60), Qty(5)),), ((Price(59), Qty(5)),)
    )
    (folder,) = tape_folders(by_hand(tmp_path / "s", frame(0, 4), crossed, frame(2, 5)))
    (tape,) = read_tapes(folder)
    assert [record.ts - T0 for record in tape.records] == [0, 2 * NS_PER_SECOND]
    assert any("1 crossed books were left out" in text for text in warnings(folder))


def test_a_tape_contains_only_the_newest_run(tmp_path):
    state = by_hand(tmp_path / "s", frame(1, 5))
    (first,) = segments(state)
    by_hand(tmp_path / "t", frame(5, 6), nonce="b" * 20)
    (state / "journal-00000002.log").write_bytes(segments(tmp_path / "t")[0].read_bytes())
    (tape,) = read_tapes(tape_folders(state)[0])
    assert len(tape.records) == 1
    assert tape.name == "run-bbbbbbbbbb"
    assert first.exists()


def test_a_tape_contains_the_resolution_time_and_the_known_winners(tmp_path):
    ended = [
        m.Noted("info", "rung_settled", {"market_id": market_id(number), "winner": winner})
        for number, winner in ((1, "yes"), (2, "no"))
    ]
    known = by_hand(tmp_path / "known", frame(1, 5), *ended)
    (folder,) = tape_folders(known)
    (tape,) = read_tapes(folder)
    assert tape.resolution_ns == instant.to_ns("2026-12-31T00:00:00Z")
    assert closes_ns(msgspec.structs.replace(tape, end_ts=T0 - 10**17)) == tape.resolution_ns
    assert closes_ns(tape) > tape.end_ts
    assert [winner.value for winner in winners(tape, folder).values()] == ["yes", "no"]
    half = by_hand(tmp_path / "half", frame(1, 5), ended[1])
    (folder,) = tape_folders(half)
    assert [w.value for w in winners(next(iter(read_tapes(folder))), folder).values()] == ["no"]
    unknown = by_hand(tmp_path / "unknown", frame(1, 5))
    (folder,) = tape_folders(unknown)
    assert winners(next(iter(read_tapes(folder))), folder) is None


def test_a_journal_without_frames_gives_no_tape(tmp_path):
    with pytest.raises(TapeFault, match="no frame of a listed rung"):
        tape_folders(by_hand(tmp_path / "s"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(TapeFault, match="nor a journal"):
        tape_folders(tmp_path / "empty")


def test_the_catalogue_of_a_tape_lists_a_rung_for_each_market(tmp_path):
    (folder,) = tape_folders(by_hand(tmp_path / "s", frame(1, 5)))
    told = json.loads((folder / "catalog.json").read_bytes())
    assert [rung["ticker"] for rung in told["events"][0]["rungs"]] == [
        market(1).ticker,
        market(2).ticker,
    ]


def test_strikes_of_several_units_are_converted_to_one(tmp_path):
    strikes = [("1.5", "USD billions"), ("500", "USD millions")]
    (folder,) = tape_folders(by_hand(tmp_path / "s", frame(1, 5), strikes=strikes))
    (tape,) = read_tapes(folder)
    assert tape.strike_unit == "USD millions"
    assert [rung.strike for rung in tape.rungs] == ["500", "1500.0"]
