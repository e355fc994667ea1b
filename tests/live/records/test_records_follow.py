"""Claims about following the journal: every entry once, over restarts, torn tails and gaps."""

import random

import msgspec
import pytest

from bot.core import messages as m
from bot.io.journal.records import JournalFault
from bot.records.follow import Follower
from bot.records.recorder import follower_of
from bot.records.rows import MarkedRow, MarkRow, TraderSample, ValuedRow
from bot.records.store import Store
from tests.builders.records.lived import NOON_NS, Journalled, event, fill, market
from tests.builders.records.site import BOOK, END_NS, recorded_fills
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND, Instant
from venue.wire.money import Qty
from venue.wire.names import Ticker

LABEL = "https://venue.example/v1"


@pytest.fixture
def journal(tmp_path) -> Journalled:
    return Journalled(tmp_path / "state")


def catch_up(store: Store, journal: Journalled) -> int:
    """Follow the journal to its end with a follower that knows only the store; the new fills."""
    follower = follower_of(store, journal.folder, LABEL)
    fresh = 0
    for _ in range(50):
        found = follower.poll()
        fresh += store.write(found.batches, found.cursor)
        if not found.behind:
            return fresh
    return fresh


def follow(store: Store, journal: Journalled, series: str = "") -> Follower:
    """Record what one poll of the journal finds."""
    follower = follower_of(store, journal.folder, LABEL, series)
    found = follower.poll()
    store.write(found.batches, found.cursor)
    return follower


def run_with_two_fills(journal: Journalled) -> None:
    journal.started(NOON_NS)
    journal.series(NOON_NS, market(1), market(2))
    journal.balance(NOON_NS, 10_000)
    journal.fills(NOON_NS + 5, fill(1, NOON_NS + 1), fill(2, NOON_NS + 2, rung=2))
    journal.valued(NOON_NS + 5, "f1", 41_000)
    journal.marked(NOON_NS + 10 * NS_PER_SECOND, "f1", 10, 42_000)


def test_fills_values_markouts_and_balances_of_the_journal_are_recorded(store, journal):
    run_with_two_fills(journal)
    assert catch_up(store, journal) == 2
    (account,) = store.accounts()
    fills = store.fills(account.account, 0, END_NS)
    assert [row.fill_id for row in fills] == ["f1", "f2"]
    assert store.valued(account.account, fills) == {
        "f1": ValuedRow("f1", NOON_NS + 5, 41_000, 0, "ladder_joint", "quote bid")
    }
    at_ns = NOON_NS + 10 * NS_PER_SECOND
    assert store.marked(account.account, fills) == [MarkedRow("f1", "fair", 10, 42_000, at_ns)]
    (balance,) = store.balances(account.account, 0, END_NS)
    assert (balance.begun_ns, balance.ended_ns - balance.begun_ns) == (NOON_NS, 10**8)
    assert sorted(row.ticker for row in store.rungs(account.account)) == [
        "ACME-VAL-26Q4-10B",
        "ACME-VAL-26Q4-20B",
    ]


def test_restarts_and_repeated_pages_record_no_fill_twice(store, journal):
    run_with_two_fills(journal)
    catch_up(store, journal)
    journal.fills(NOON_NS + 9, fill(1, NOON_NS + 1), fill(2, NOON_NS + 2, rung=2))
    assert catch_up(store, journal) == 0
    journal.segment()
    journal.started(NOON_NS + 20)
    journal.fills(NOON_NS + 21, *(fill(n, NOON_NS + n) for n in (1, 3)))
    assert catch_up(store, journal) == 1
    assert recorded_fills(store) == ["f1", "f2", "f3"]


@pytest.mark.parametrize("seed", range(12))
def test_every_fill_is_recorded_once_wherever_a_poll_is_interrupted(tmp_path, seed):
    from bot.records.database import Sqlite

    draw = random.Random(seed)
    journal = Journalled(tmp_path / "state")
    journal.started(NOON_NS)
    journal.series(NOON_NS, market(1))
    store = Store(lambda: Sqlite(tmp_path / "r"), BOOK)
    follower = follower_of(store, journal.folder, LABEL)
    number = 0
    for step in range(60):
        at_ns = NOON_NS + step * NS_PER_SECOND
        if draw.random() < 0.5:
            number += 1
        shown = range(max(1, number - draw.randrange(6)), number + 1)
        journal.fills(at_ns, *(fill(n, NOON_NS + n) for n in shown))
        journal.noise(at_ns, draw.randrange(4))
        if draw.random() < 0.1:
            journal.segment()
        if draw.random() < 0.1:
            journal.started(at_ns, f"{step:020d}")
        match draw.randrange(4):
            case 0:
                found = follower.poll()
                store.write(found.batches, found.cursor)
            case 1:
                # The store refused, or the process died: what was found is gone.
                follower.poll()
                follower = follower_of(store, journal.folder, LABEL)
    catch_up(store, journal)
    assert sorted(recorded_fills(store)) == sorted(f"f{n}" for n in range(1, number + 1))
    store.close()


def test_a_half_written_entry_is_waited_for(store, journal):
    run_with_two_fills(journal)
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:-30])
    catch_up(store, journal)
    (account,) = store.accounts()
    fills = store.fills(account.account, 0, END_NS)
    assert store.marked(account.account, fills) == []
    journal.path.write_bytes(whole)
    catch_up(store, journal)
    assert len(store.marked(account.account, fills)) == 1


def test_damage_and_missing_segments_are_reported_as_gaps(store, journal):
    run_with_two_fills(journal)
    follower = Follower(journal.folder, BOOK, LABEL)
    assert not follower.poll().gap
    journal.fills(NOON_NS + 30, fill(3, NOON_NS + 3))
    damaged = bytearray(journal.path.read_bytes())
    damaged[-20] ^= 0xFF
    journal.path.write_bytes(damaged)
    journal.segment()
    journal.fills(NOON_NS + 40, fill(4, NOON_NS + 4))
    found = follower.poll()
    assert found.gap
    assert [row.fill_id for batch in found.batches for row in batch.fills] == ["f4"]
    journal.segment()
    gone = journal.path
    journal.segment()
    journal.fills(NOON_NS + 50, fill(5, NOON_NS + 5))
    gone.unlink()
    (journal.folder / "journal-00000002.log").unlink()
    found = follower.poll()
    assert found.gap
    assert [row.fill_id for batch in found.batches for row in batch.fills] == ["f5"]


def test_a_new_journal_after_a_lost_one_duplicates_no_fill(store, journal, tmp_path):
    run_with_two_fills(journal)
    journal.segment()
    journal.noise(NOON_NS, 3)
    catch_up(store, journal)
    fresh = Journalled(tmp_path / "other")
    fresh.started(NOON_NS + 60)
    fresh.series(NOON_NS + 60, market(1))
    fresh.fills(NOON_NS + 61, fill(1, NOON_NS + 1), fill(9, NOON_NS + 9))
    assert catch_up(store, fresh) == 1
    assert recorded_fills(store) == ["f1", "f2", "f9"]


def test_a_new_journal_of_several_segments_is_read_as_a_whole(store, journal, tmp_path):
    """As where the state directory was lost while the store was away."""
    run_with_two_fills(journal)
    journal.segment()
    journal.noise(NOON_NS, 3)
    catch_up(store, journal)
    fresh = Journalled(tmp_path / "other")
    fresh.started(NOON_NS + 60)
    fresh.series(NOON_NS + 60, market(1))
    fresh.fills(NOON_NS + 61, fill(8, NOON_NS + 8))
    for number in (1, 2):
        fresh.segment(NOON_NS + 70 * number)
        fresh.fills(NOON_NS + 71 * number, fill(8 + number, NOON_NS + 8 + number))
    assert catch_up(store, fresh) == 3
    assert recorded_fills(store) == ["f1", "f2", "f8", "f9", "f10"]


def test_each_run_on_an_embedded_venue_has_its_own_account(store, journal):
    for number, nonce in enumerate(("aa" * 10, "bb" * 10)):
        journal.started(NOON_NS + number, nonce, new_account=True)
        journal.series(NOON_NS + number, market(1))
        journal.fills(NOON_NS + 5, fill(1, NOON_NS + 1, qty=number + 1))
    assert catch_up(store, journal) == 2
    labels = {row.label: store.fills(row.account, 0, END_NS)[0].qty for row in store.accounts()}
    assert labels == {f"run {'aa' * 10}": 1, f"run {'bb' * 10}": 2}


def test_a_fill_without_market_or_fee_is_completed_by_ticker_and_formula(store, journal):
    journal.started(NOON_NS)
    bare = msgspec.structs.replace(fill(1, NOON_NS + 1, fee_cents=None), market_id="")
    journal.fills(NOON_NS, bare)
    follower = follower_of(store, journal.folder, LABEL)
    found = follower.poll()
    assert (found.batches[0].fills, follower.unreadable) == ([], 1)
    journal.series(NOON_NS + 1, market(1))
    journal.fills(NOON_NS + 2, bare)
    found = follower.poll()
    store.write(found.batches, found.cursor)
    (row,) = store.fills(store.accounts()[0].account, 0, END_NS)
    # 0.0175 * 3 * 0.4 * 0.6 dollars = 1.26 cents
    assert (row.market_id, row.fee_cents, follower.unreadable) == (market(1).market_id, 2, 0)


@pytest.mark.parametrize(
    ("odd", "rate"),
    [
        ({"created_at": Instant("9999-12-31T00:00:00Z")}, "0.0175"),
        ({"created_at": Instant("0001-01-01T00:00:00Z")}, "0.0175"),
        ({"trade_id": "t\0"}, "0.0175"),
        ({"qty": Qty(10**9), "fee_cents": None, "liquidity": model.Liquidity.TAKER}, "0.0175"),
        ({"fee_cents": None}, "7 %"),
    ],
)
def test_a_fill_that_cannot_be_stored_is_counted_and_skipped(store, journal, odd, rate):
    journal.started(NOON_NS)
    journal.series(NOON_NS, msgspec.structs.replace(market(1), maker_fee_rate=rate))
    unkept = msgspec.structs.replace(fill(2, NOON_NS + 2), **odd)
    journal.fills(NOON_NS + 5, fill(1, NOON_NS + 1), unkept, fill(3, NOON_NS + 3))
    follower = follow(store, journal)
    assert recorded_fills(store) == ["f1", "f3"]
    assert follower.unreadable == 1


def test_a_name_that_cannot_be_stored_is_skipped(store, journal):
    journal.started(NOON_NS)
    odd = msgspec.structs.replace(market(2), ticker=Ticker("A\0"))
    journal.series(NOON_NS, odd, market(1))
    journal.fills(NOON_NS + 5, fill(1, NOON_NS + 1))
    journal.valued(NOON_NS + 6, "f\0", 40_000)
    follower = follow(store, journal)
    assert recorded_fills(store) == ["f1"]
    assert [row.market_id for row in store.rungs(follower.account.account)] == [market(1).market_id]


def test_rungs_of_another_series_are_not_recorded(store, journal):
    """The series of one process read each other's; only fees of such fills are reckoned by it."""
    journal.started(NOON_NS)
    journal.series(NOON_NS, market(1))
    theirs = msgspec.structs.replace(event(market(2)), series_ticker="OTHER-VAL")
    journal.told(NOON_NS + 1, m.SeriesBody((theirs,), ""))
    journal.fills(NOON_NS + 2, fill(1, NOON_NS + 1, rung=2, fee_cents=None))
    follow(store, journal, "acme-val")
    account = store.accounts()[0].account
    assert [rung.market_id for rung in store.rungs(account)] == [market(1).market_id]
    (row,) = store.fills(account, 0, END_NS)
    assert (row.market_id, row.fee_cents) == (market(2).market_id, 2)


def test_rungs_of_another_series_recorded_by_an_earlier_program_are_removed(store, journal):
    """But one of which the bot's own trader told what it held was its own once."""
    journal.started(NOON_NS)
    journal.series(NOON_NS, market(1), market(2), market(3))
    # As the programs did that knew of no series of the bot's own.
    catch_up(store, journal)
    account = store.accounts()[0].account
    held = MarkRow(market(3).market_id, NOON_NS, None, 1, 0)
    store.write_sample(account, TraderSample((held,), None))
    theirs = msgspec.structs.replace(event(market(2), market(3)), series_ticker="OTHER-VAL")
    journal.told(NOON_NS + 1, m.SeriesBody((theirs,), ""))
    journal.fills(NOON_NS + 2, fill(1, NOON_NS + 1, rung=2, fee_cents=None))
    follow(store, journal, "acme-val")
    ours = [market(1).market_id, market(3).market_id]
    assert sorted(rung.market_id for rung in store.rungs(account)) == ours
    assert [row.fee_cents for row in store.fills(account, 0, END_NS)] == [2]


def test_the_first_time_a_rung_was_seen_resolved_is_kept(store, journal):
    journal.started(NOON_NS)
    journal.series(NOON_NS, market(1))
    journal.series(NOON_NS + 10, market(1, "resolved"))
    paid = {"market_id": str(market(1).market_id), "winner": "no"}
    journal.add(NOON_NS + 12, m.Noted("info", "rung_settled", paid))
    catch_up(store, journal)
    journal.segment()
    journal.started(NOON_NS + 99)
    journal.series(NOON_NS + 99, market(1, "resolved"))
    catch_up(store, journal)
    (row,) = store.rungs(store.accounts()[0].account)
    assert (row.winner, row.settled_ns, row.paid_ns) == ("no", NOON_NS + 12, NOON_NS + 10)


def test_a_long_journal_is_read_in_pieces(journal, monkeypatch):
    monkeypatch.setattr("bot.records.follow.BYTES_AT_ONCE", 2_000)
    journal.started(NOON_NS)
    journal.noise(NOON_NS, 300)
    follower = Follower(journal.folder, BOOK, LABEL)
    behind = [follower.poll().behind for _ in range(30)]
    assert behind[0] > behind[1] > 0
    assert behind[-1] == 0


def test_a_journal_of_another_version_is_a_fault(journal):
    journal.path.write_bytes(b"LMKJ\x7f and more")
    with pytest.raises(JournalFault, match="version 127"):
        Follower(journal.folder, BOOK, LABEL).poll()
