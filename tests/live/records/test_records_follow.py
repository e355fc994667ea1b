"""Claims about following the journal: all of it once, whatever is restarted, torn or gone."""

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
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND, Instant
from venue.wire.money import Qty
from venue.wire.names import Ticker

BOOK, LABEL = "acme", "https://venue.example/v1"
END = 10**19 // 2


@pytest.fixture
def journal(tmp_path) -> Journalled:
    return Journalled(tmp_path / "state")


@pytest.fixture
def store(connect):
    found = Store(connect, BOOK)
    yield found
    found.close()


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


def kept(store: Store) -> list[str]:
    return [fill.fill_id for row in store.accounts() for fill in store.fills(row.account, 0, END)]


def live(journal: Journalled) -> None:
    journal.started(NOON_NS)
    journal.series(NOON_NS, market(1), market(2))
    journal.balance(NOON_NS, 10_000)
    journal.fills(NOON_NS + 5, fill(1, NOON_NS + 1), fill(2, NOON_NS + 2, rung=2))
    journal.valued(NOON_NS + 5, "f1", 41_000)
    journal.marked(NOON_NS + 10 * NS_PER_SECOND, "f1", 10, 42_000)


def test_what_the_journal_tells_is_kept(store, journal):
    live(journal)
    assert catch_up(store, journal) == 2
    (account,) = store.accounts()
    fills = store.fills(account.account, 0, END)
    assert [row.fill_id for row in fills] == ["f1", "f2"]
    assert store.valued(account.account, fills) == {
        "f1": ValuedRow("f1", NOON_NS + 5, 41_000, 0, "ladder_joint", "quote bid")
    }
    at_ns = NOON_NS + 10 * NS_PER_SECOND
    assert store.marked(account.account, fills) == [MarkedRow("f1", "fair", 10, 42_000, at_ns)]
    (balance,) = store.balances(account.account, 0, END)
    assert (balance.begun_ns, balance.ended_ns - balance.begun_ns) == (NOON_NS, 10**8)
    assert sorted(row.ticker for row in store.rungs(account.account)) == [
        "ACME-VAL-26Q4-10B",
        "ACME-VAL-26Q4-20B",
    ]


def test_a_restart_a_second_look_and_the_same_page_again_write_nothing_twice(store, journal):
    live(journal)
    catch_up(store, journal)
    journal.fills(NOON_NS + 9, fill(1, NOON_NS + 1), fill(2, NOON_NS + 2, rung=2))
    assert catch_up(store, journal) == 0
    journal.segment()
    journal.started(NOON_NS + 20)
    journal.fills(NOON_NS + 21, *(fill(n, NOON_NS + n) for n in (1, 3)))
    assert catch_up(store, journal) == 1
    assert kept(store) == ["f1", "f2", "f3"]


@pytest.mark.parametrize("seed", range(12))
def test_wherever_a_look_is_cut_off_every_fill_is_kept_once(tmp_path, seed):
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
    assert sorted(kept(store)) == sorted(f"f{n}" for n in range(1, number + 1))
    store.close()


def test_a_frame_that_is_only_half_there_is_waited_for(store, journal):
    live(journal)
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:-30])
    catch_up(store, journal)
    (account,) = store.accounts()
    fills = store.fills(account.account, 0, END)
    assert store.marked(account.account, fills) == []
    journal.path.write_bytes(whole)
    catch_up(store, journal)
    assert len(store.marked(account.account, fills)) == 1


def test_damage_and_segments_that_are_gone_are_told_and_what_follows_is_kept(store, journal):
    live(journal)
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


def test_a_lost_state_directory_begins_anew_without_doubling(store, journal, tmp_path):
    live(journal)
    journal.segment()
    journal.noise(NOON_NS, 3)
    catch_up(store, journal)
    fresh = Journalled(tmp_path / "other")
    fresh.started(NOON_NS + 60)
    fresh.series(NOON_NS + 60, market(1))
    fresh.fills(NOON_NS + 61, fill(1, NOON_NS + 1), fill(9, NOON_NS + 9))
    assert catch_up(store, fresh) == 1
    assert kept(store) == ["f1", "f2", "f9"]


def test_a_journal_that_began_anew_is_read_whole_however_long_it_is(store, journal, tmp_path):
    """As where the state directory was lost while the store was away."""
    live(journal)
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
    assert kept(store) == ["f1", "f2", "f8", "f9", "f10"]


def test_each_run_of_an_embedded_venue_has_an_account_of_its_own(store, journal):
    for number, nonce in enumerate(("aa" * 10, "bb" * 10)):
        journal.started(NOON_NS + number, nonce, new_account=True)
        journal.series(NOON_NS + number, market(1))
        journal.fills(NOON_NS + 5, fill(1, NOON_NS + 1, qty=number + 1))
    assert catch_up(store, journal) == 2
    labels = {row.label: store.fills(row.account, 0, END)[0].qty for row in store.accounts()}
    assert labels == {f"run {'aa' * 10}": 1, f"run {'bb' * 10}": 2}


def test_a_fill_without_its_market_or_its_fee_is_of_its_ticker_and_charged_by_the_formula(
    store, journal
):
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
    (row,) = store.fills(store.accounts()[0].account, 0, END)
    # 0.0175 * 3 * 0.4 * 0.6 dollars = 1.26 cents
    assert (row.market_id, row.fee_cents, follower.unreadable) == (market(1).market_id, 2, 0)


@pytest.mark.parametrize(
    "odd",
    [
        {"created_at": Instant("9999-12-31T00:00:00Z")},
        {"created_at": Instant("0001-01-01T00:00:00Z")},
        {"trade_id": "t\0"},
        {"qty": Qty(10**9), "fee_cents": None, "liquidity": model.Liquidity.TAKER},
    ],
)
def test_a_fill_that_no_store_can_hold_is_counted_and_stands_in_the_way_of_none(
    store, journal, odd
):
    journal.started(NOON_NS)
    journal.series(NOON_NS, market(1))
    unkept = msgspec.structs.replace(fill(2, NOON_NS + 2), **odd)
    journal.fills(NOON_NS + 5, fill(1, NOON_NS + 1), unkept, fill(3, NOON_NS + 3))
    follower = follower_of(store, journal.folder, LABEL)
    found = follower.poll()
    store.write(found.batches, found.cursor)
    assert kept(store) == ["f1", "f3"]
    assert follower.unreadable == 1


def test_a_fill_without_a_fee_where_no_rate_can_be_read_stands_in_the_way_of_none(store, journal):
    journal.started(NOON_NS)
    journal.series(NOON_NS, msgspec.structs.replace(market(1), maker_fee_rate="7 %"))
    fills = fill(1, NOON_NS + 1), fill(2, NOON_NS + 2, fee_cents=None), fill(3, NOON_NS + 3)
    journal.fills(NOON_NS + 5, *fills)
    follower = follower_of(store, journal.folder, LABEL)
    found = follower.poll()
    store.write(found.batches, found.cursor)
    assert kept(store) == ["f1", "f3"]
    assert follower.unreadable == 1


def test_a_name_that_no_store_can_hold_stands_in_the_way_of_nothing(store, journal):
    journal.started(NOON_NS)
    odd = msgspec.structs.replace(market(2), ticker=Ticker("A\0"))
    journal.series(NOON_NS, odd, market(1))
    journal.fills(NOON_NS + 5, fill(1, NOON_NS + 1))
    journal.valued(NOON_NS + 6, "f\0", 40_000)
    follower = follower_of(store, journal.folder, LABEL)
    found = follower.poll()
    store.write(found.batches, found.cursor)
    assert kept(store) == ["f1"]
    assert [row.market_id for row in store.rungs(follower.account.account)] == [market(1).market_id]


def test_rungs_of_a_series_beside_it_are_none_of_its_own(store, journal):
    """The series of one process read each other's; only fees of such fills are reckoned by it."""
    journal.started(NOON_NS)
    journal.series(NOON_NS, market(1))
    theirs = msgspec.structs.replace(event(market(2)), series_ticker="OTHER-VAL")
    journal.told(NOON_NS + 1, m.SeriesBody((theirs,), ""))
    journal.fills(NOON_NS + 2, fill(1, NOON_NS + 1, rung=2, fee_cents=None))
    found = follower_of(store, journal.folder, LABEL, "acme-val").poll()
    store.write(found.batches, found.cursor)
    account = store.accounts()[0].account
    assert [rung.market_id for rung in store.rungs(account)] == [market(1).market_id]
    (row,) = store.fills(account, 0, END)
    assert (row.market_id, row.fee_cents) == (market(2).market_id, 2)


def test_rungs_of_a_series_beside_it_that_earlier_programs_kept_as_its_own_are_so_no_more(
    store, journal
):
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
    found = follower_of(store, journal.folder, LABEL, "acme-val").poll()
    store.write(found.batches, found.cursor)
    ours = [market(1).market_id, market(3).market_id]
    assert sorted(rung.market_id for rung in store.rungs(account)) == ours
    assert [row.fee_cents for row in store.fills(account, 0, END)] == [2]


def test_when_a_rung_was_first_seen_resolved_stands_although_it_is_seen_again(store, journal):
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


def test_a_journal_of_another_version_is_told(journal):
    journal.path.write_bytes(b"LMKJ\x7f and more")
    with pytest.raises(JournalFault, match="version 127"):
        Follower(journal.folder, BOOK, LABEL).poll()
