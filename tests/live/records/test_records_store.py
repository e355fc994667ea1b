"""Claims about the stores: the same in both, whole or not at all, and nothing written twice."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.io.secret import Secret
from bot.records.database import Postgres, Sqlite, StoreFault
from bot.records.rows import (
    AccountRow,
    BalanceRow,
    Batch,
    CursorRow,
    FillRow,
    MarkedRow,
    MarkRow,
    ProfitRow,
    RungRow,
    Settled,
    TraderSample,
    ValuedRow,
    account_of,
)
from bot.records.store import Store
from bot.records.tables import STEPS, migrate, version_of
from tests.builders.house.tree import ROOT
from tests.builders.records.killed import MORE
from tests.builders.records.servers import PASSWORD
from tests.builders.records.site import BOOK
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import FeeUnits, ceil_cents

ACCOUNT = AccountRow(account_of(BOOK, "https://venue.example/v1"), BOOK, "here", 5)
DAY_NS = 86_400 * NS_PER_SECOND


def fill(number: int, at_ns: int = 0, **changed: object) -> FillRow:
    row = {
        "fill_id": f"f{number}", "created_ns": at_ns or number, "market_id": "m-1",
        "ticker": "A-26Q4-1B", "event_ticker": "A-26Q4", "order_id": "17", "trade_id": f"t{number}",
        "outcome": "yes", "side": "buy", "price": 40, "qty": 3, "fee_cents": 1,
        "fee_units": None, "liquidity": "maker",
    }  # fmt: skip
    return FillRow(**(row | changed))


def rung(**changed: object) -> RungRow:
    row = {
        "market_id": "m-1", "ticker": "A-26Q4-1B", "event_ticker": "A-26Q4",
        "maker_fee": "0.0175", "taker_fee": "0.0700", "seen_ns": 7,
    }  # fmt: skip
    return RungRow(**(row | changed))


def whole() -> Batch:
    return Batch(
        ACCOUNT,
        rungs=[rung()],
        fills=[fill(1), fill(2, outcome="no", side="sell", fee_cents=0)],
        valued=[ValuedRow("f1", 3, 41_250, 0, "ladder_joint", "quote bid")],
        marked=[MarkedRow("f1", "fair", 10, 41_500, 13), MarkedRow("f1", "mid", 10, 41_000, 13)],
        balances=[BalanceRow(20, 21, 999_999)],
        settled=[Settled("m-1", "yes", 30)],
    )


CURSOR = CursorRow(ACCOUNT.account, 3, 1, 4_711, 30)
PICTURE = TraderSample(
    (MarkRow("m-1", 40, 41_600, 3, 0), MarkRow("m-2", 40, None, 0, 7)),
    ProfitRow(40, 1, -1_500, 2_000, -3_000, 500, 1, 400, 3_000),
)


def everything(store: Store) -> list[object]:
    number, end = ACCOUNT.account, 10**18
    fills = store.fills(number, 0, end)
    return [
        store.cursor(),
        store.accounts(),
        sorted(store.rungs(number), key=lambda row: row.market_id),
        fills,
        store.valued(number, fills),
        sorted(store.marked(number, fills), key=lambda row: (row.against, row.horizon_s)),
        store.marks(number, 0, end),
        store.balances(number, 0, end),
        store.profits(number, 0, end),
    ]


def test_rows_are_read_back_exactly_as_written(store):
    assert store.write([whole()], CURSOR) == 2
    store.write_sample(ACCOUNT.account, PICTURE)
    fills = [fill(1), fill(2, outcome="no", side="sell", fee_cents=0)]
    assert everything(store) == [
        CURSOR,
        [ACCOUNT],
        [rung(winner="yes", settled_ns=30)],
        fills,
        {"f1": whole().valued[0]},
        whole().marked,
        list(PICTURE.marks),
        whole().balances,
        [PICTURE.profit],
    ]


def test_writing_rows_again_changes_nothing(store):
    store.write([whole()], CURSOR)
    store.write_sample(ACCOUNT.account, PICTURE)
    before = everything(store)
    assert store.write([whole(), whole()], CURSOR) == 0
    store.write_sample(ACCOUNT.account, PICTURE)
    assert everything(store) == before


def test_a_stored_fill_is_never_changed(store):
    store.write([Batch(ACCOUNT, fills=[fill(1)])], None)
    store.write([Batch(ACCOUNT, fills=[fill(1, qty=99, fee_cents=50)])], None)
    assert store.fills(ACCOUNT.account, 0, 10) == [fill(1)]


def test_money_beyond_float_precision_is_stored_exactly(store):
    odd = 2**62 + 1
    store.write([Batch(ACCOUNT, balances=[BalanceRow(1, 2, odd), BalanceRow(3, 4, -odd)])], None)
    assert [row.total_cents for row in store.balances(ACCOUNT.account, 0, 9)] == [odd, -odd]


def test_a_value_of_a_wrong_type_rolls_the_write_back(store):
    with pytest.raises(StoreFault):
        store.write([Batch(ACCOUNT, fills=[fill(1, qty="three")])], CURSOR)
    assert store.fills(ACCOUNT.account, 0, 10) == []
    assert store.cursor() is None, "all or nothing"


def test_fills_of_two_accounts_may_share_an_id(store):
    other = AccountRow(account_of(BOOK, "run ab"), BOOK, "run ab", 6)
    store.write([Batch(ACCOUNT, fills=[fill(1)]), Batch(other, fills=[fill(1, qty=5)])], None)
    assert [row.qty for row in store.fills(other.account, 0, 10)] == [5]
    assert store.accounts() == [other, ACCOUNT]


def test_two_bots_in_one_store_do_not_see_each_other(connect, store):
    store.write([whole()], CURSOR)
    beside = Store(connect, "other")
    assert (beside.cursor(), beside.accounts()) == (None, [])
    beside.close()


def test_the_first_and_last_mark_of_ten_minutes_are_kept(store):
    looks = [MarkRow("m-1", at, at, 0, 0) for at in (5, 9, 7, 600 * NS_PER_SECOND)]
    for look in looks:
        store.write_sample(ACCOUNT.account, TraderSample((look,), None))
    kept = store.marks(ACCOUNT.account, 0, DAY_NS)
    assert [row.at_ns for row in kept] == [5, 9, 600 * NS_PER_SECOND]


@given(st.permutations(range(6)), st.lists(st.integers(1, 5), max_size=4))
@settings(max_examples=25)
def test_unnamed_fees_of_one_trade_add_up_to_one_rounding(tmp_path_factory, order, cuts):
    units = [7_000_000_000, 1, 3_333_333_333, 9_999_999_999, 10_000_000_000, 123]
    path = tmp_path_factory.mktemp("fees") / "records.sqlite3"
    store = Store(lambda: Sqlite(path), BOOK)
    rows = [fill(n, fee_cents=None, fee_units=units[n]) for n in order]
    for some in (rows[: len(cuts)], rows):
        store.write([Batch(ACCOUNT, fills=some)], None)
    kept = store.fills(ACCOUNT.account, 0, 10)
    store.close()
    assert sum(row.fee_cents for row in kept) == ceil_cents(FeeUnits(sum(units)))


def test_rows_beyond_the_retention_are_deleted(store):
    early = Batch(ACCOUNT, fills=[fill(1, 10)], balances=[BalanceRow(10, 11, 5)])
    early.valued = [ValuedRow("f1", 10, 1, 0, "s", "r")]
    early.marked = [MarkedRow("f1", "fair", 1, 1, 11)]
    gone = AccountRow(account_of(BOOK, "run old"), BOOK, "run old", 1)
    store.write([early, Batch(ACCOUNT, fills=[fill(2, DAY_NS)]), Batch(gone)], CURSOR)
    assert store.prune(DAY_NS) == 5
    assert store.fills(ACCOUNT.account, 0, 10**18) == [fill(2, DAY_NS)]
    assert store.accounts() == [ACCOUNT]
    assert store.cursor() == CURSOR


# --- migrations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(len(STEPS)))
def test_an_older_schema_is_migrated_with_its_rows(connect, version):
    database = connect()
    migrate(database, STEPS[:version])
    if version:
        database.run(
            "INSERT INTO accounts (account, book, label, begun_ns) VALUES (1, 'a', 'b', 2)"
        )
    assert migrate(database) == version
    assert version_of(database) == len(STEPS)
    assert len(database.run("SELECT * FROM accounts")) == (1 if version else 0)
    database.close()


def test_a_newer_schema_is_refused(connect):
    Store(connect, BOOK, MORE).close()
    with pytest.raises(StoreFault, match=r"schema 3.*up to 2: run the newer program"):
        Store(connect, BOOK)
    database = connect()
    assert version_of(database) == 3
    database.close()


def test_a_failed_migration_leaves_the_old_schema(connect):
    Store(connect, BOOK).close()
    broken = (*STEPS, (*MORE[-1], "CREATE TABLE nonsense (", "CREATE TABLE never (x BIGINT)"))
    with pytest.raises(StoreFault):
        Store(connect, BOOK, broken)
    database = connect()
    assert version_of(database) == len(STEPS)
    with pytest.raises(StoreFault):
        database.run("SELECT * FROM extra")
    with pytest.raises(StoreFault):
        database.run("SELECT note FROM fills")
    assert migrate(database, MORE) == len(STEPS)
    database.close()


@pytest.mark.parametrize("stop", [0, 1])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_killed_migration_is_repeated_at_the_next_start(kind, stop, tmp_path, request):
    if kind == "sqlite":
        arguments, connect = [kind, str(tmp_path / "r")], lambda: Sqlite(tmp_path / "r")
    else:
        address = request.getfixturevalue("postgres").new_database()
        arguments = [str(address.port), address.database]
        connect = lambda: Postgres(address, Secret(PASSWORD))  # noqa: E731 - one of two
    store = Store(connect, BOOK)
    store.write([whole()], CURSOR)
    before = everything(store)
    store.close()
    done = subprocess.run(
        [sys.executable, "-m", "tests.builders.records.killed", *arguments, str(stop)],
        env=os.environ | {"DOOR": PASSWORD},
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert done.returncode == -9
    again = Store(connect, BOOK)
    assert again.was_version == len(STEPS)
    assert everything(again) == before
    again.close()
    Store(connect, BOOK, MORE).close()


def test_concurrent_migrations_apply_each_step_once(connect):
    from concurrent.futures import ThreadPoolExecutor

    def opened(_: int) -> int:
        store = Store(connect, BOOK)
        store.close()
        return store.was_version

    with ThreadPoolExecutor(4) as pool:
        assert max(pool.map(opened, range(4))) <= len(STEPS)


# --- the SQLite file ------------------------------------------------------------------------------


def test_a_locked_file_is_waited_for(tmp_path):
    path = tmp_path / "records.sqlite3"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE held (row INTEGER)")
    other.execute("BEGIN IMMEDIATE")
    letting_go = threading.Timer(0.2, other.execute, ["COMMIT"])
    letting_go.start()
    Sqlite(path).close()
    letting_go.join()
    other.close()


def test_the_file_is_private_and_no_link_is_followed(tmp_path):
    path = tmp_path / "records.sqlite3"
    Store(lambda: Sqlite(path), BOOK).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(StoreFault, match="link"):
        Sqlite(link)


def test_a_reader_sees_one_snapshot_while_the_writer_goes_on(connect, store):
    reader = Store(connect, BOOK)
    store.write([whole()], CURSOR)
    with reader.reading():
        before = reader.fills(ACCOUNT.account, 0, 10)
        store.write([Batch(ACCOUNT, fills=[fill(3)])], None)
        assert reader.fills(ACCOUNT.account, 0, 10) == before
    assert len(reader.fills(ACCOUNT.account, 0, 10)) == len(before) + 1
    reader.close()


def test_a_file_that_is_no_database_is_a_fault(tmp_path):
    path = tmp_path / "records.sqlite3"
    path.write_bytes(b"something else" * 100)
    with pytest.raises(StoreFault, match="not a database"):
        Sqlite(path)


def test_a_read_only_store_reads_the_log_of_a_killed_writer(tmp_path):
    path = tmp_path / "records.sqlite3"
    writer = Store(lambda: Sqlite(path), BOOK)
    writer.write([whole()], CURSOR)
    assert (tmp_path / "records.sqlite3-wal").stat().st_size > 0
    reader = Store(lambda: Sqlite(path, is_read_only=True), BOOK)
    assert reader.fills(ACCOUNT.account, 0, 10) == writer.fills(ACCOUNT.account, 0, 10)
    with pytest.raises(StoreFault, match="readonly"):
        reader.write([Batch(ACCOUNT, fills=[fill(3)])], None)
    reader.close()
    writer.close()


def test_a_read_only_store_ignores_an_empty_log(tmp_path):
    path = tmp_path / "records.sqlite3"
    writer = Store(lambda: Sqlite(path), BOOK)
    writer.write([whole()], CURSOR)
    fills = writer.fills(ACCOUNT.account, 0, 10)
    writer.close()
    (tmp_path / "records.sqlite3-wal").touch()
    reader = Store(lambda: Sqlite(path, is_read_only=True), BOOK)
    assert reader.fills(ACCOUNT.account, 0, 10) == fills
    names = {each.name for each in tmp_path.iterdir()}
    reader.close()
    assert names == {"records.sqlite3", "records.sqlite3-wal"}


def test_a_log_without_its_index_on_a_read_only_mount_says_what_to_do(tmp_path, monkeypatch):
    path = tmp_path / "records.sqlite3"
    writer = Store(lambda: Sqlite(path), BOOK)
    writer.write([whole()], CURSOR)
    copy = tmp_path / "copy"
    copy.mkdir()
    for each in (path, tmp_path / "records.sqlite3-wal"):
        shutil.copy(each, copy / each.name)
    writer.close()
    monkeypatch.setattr("bot.records.database.is_read_only_mount", lambda _path: True)
    with pytest.raises(StoreFault, match=r"records\.sqlite3-wal: holds the newest rows.*-shm"):
        Store(lambda: Sqlite(copy / "records.sqlite3", is_read_only=True), BOOK)


def test_an_older_schema_in_a_read_only_store_is_a_fault(tmp_path):
    path = tmp_path / "records.sqlite3"
    Store(lambda: Sqlite(path), BOOK, STEPS[:1]).close()
    before = path.read_bytes()
    with pytest.raises(StoreFault, match=f"schema 1, this program reads schema {len(STEPS)}"):
        Store(lambda: Sqlite(path, is_read_only=True), BOOK)
    assert path.read_bytes() == before
