"""Claims about recovery: what is replayed is what was live, from any snapshot, in any process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer.testing

from tests.builders.core.histories import History
from tests.builders.venue.journal_files import segment_files
from tests.builders.venue.recovery_histories import carried_out, full_hash
from venue.cli.main import app
from venue.engine.engine import Engine
from venue.engine.messages import AddUser, FillBooked, PlaceOrder, TradePrinted
from venue.storage.record import StateFault
from venue.storage.recovery import compact, fresh, recover, replay, snapshot_of
from venue.storage.statedir import StateDir
from venue.wire.instant import from_ns

ROOT = Path(__file__).parents[3]
FIRST = Path(__file__).parent / "state_v1"
FIRST_ENDS = (216, "d21af9eef810376a8a8d63e2b447c37e597a62f21858909edcf5b645bfd9dc58")
"""A state directory of the first program that kept one, with a snapshot and the whole log; and the
sequence and hash that it had come to there."""

T0 = 1_767_312_245_000_000_000


def run(hash_seed, *arguments):
    """The hashes that the program of histories prints, under a hash seed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.builders.venue.recovery_histories", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


def recovered(path):
    """What a directory recovers to, as one text, and its notices."""
    with StateDir.open(path) as state:
        return full_hash(recover(state)), state.notices


@pytest.fixture
def sealed(tmp_path):
    """A directory with several sealed segments, and the live exchange at its end."""
    with StateDir.open(tmp_path / "state", segment_records=100) as state:
        live = carried_out(state, 5, 450)
    return tmp_path / "state", live


def test_every_beginning_of_a_history_replays_to_what_was_live_under_every_hash_seed(tmp_path):
    path = str(tmp_path / "state")
    live = run("0", path, "31", "250")
    assert len(live) > 250
    for hash_seed in ("0", "1", "2"):
        assert run(hash_seed, "replay", path) == live


def test_a_log_cut_after_any_append_recovers_to_what_was_live_then(tmp_path):
    hashes, ends = {}, []

    def note(exchange):
        hashes[exchange.sequence] = full_hash(exchange)

    path = tmp_path / "state"
    with StateDir.open(path) as state:
        carried_out(state, 8, 60, note)
        ends = [entry.sequence for entry in state.entries(0)]
    file = segment_files(path)[0]
    whole = file.read_bytes()
    seen = set()
    for length in range(len(whole), 0, -173):
        file.write_bytes(whole[:length])
        with StateDir.open(path) as state:
            exchange = recover(state)
        seen.add(exchange.sequence)
        assert exchange.sequence == 0 or full_hash(exchange) == hashes[exchange.sequence]
    assert len(seen) > len(ends) // 3


def test_nothing_on_disk_recovers_to_the_state_before_any_command(tmp_path):
    with StateDir.open(tmp_path / "state") as state:
        assert full_hash(recover(state)) == full_hash(fresh(state.keys.order_id_key))


def test_ids_are_the_same_after_a_restart(tmp_path):
    with StateDir.open(tmp_path / "state") as state:
        live = carried_out(state, 3, 200)
    with StateDir.open(tmp_path / "state") as state:
        again = recover(state)
        sent = [e for e in state.entries(0) if isinstance(e.command, PlaceOrder)]
    compared = 0
    for entry in sent:
        ours, _ = live.apply_command(entry.command, 10**9)
        theirs, _ = again.apply_command(entry.command, 10**9)
        assert ours == theirs
        compared += 1
    assert compared > 50


def test_every_print_has_an_instant_of_its_own_and_its_fills_have_the_same(tmp_path):
    with StateDir.open(tmp_path / "state") as state:
        exchange, prints, fills, batches = fresh(state.keys.order_id_key), [], [], 0
        for number, command in enumerate(History(4, 400)):
            # As in a batch: several commands at one instant.
            _, events = exchange.apply_command(command, T0 + number // 4)
            told = [event for event in events if isinstance(event, TradePrinted)]
            batches += len(told) > 1
            prints += told
            fills += [event for event in events if isinstance(event, FillBooked)]
    assert batches > 5
    stamps = {each.trade_id: each.at_ns for each in prints}
    assert list(stamps.values()) == sorted(set(stamps.values()))
    assert [fill.at_ns for fill in fills] == [stamps[fill.trade_id] for fill in fills]
    assert exchange.printed_ns == prints[-1].at_ns


def test_a_book_is_never_older_than_the_print_that_changed_it(tmp_path):
    with StateDir.open(tmp_path / "state") as state:
        exchange, seen = fresh(state.keys.order_id_key), 0
        for number, command in enumerate(History(4, 400)):
            _, events = exchange.apply_command(command, T0 + number // 4)
            for event in events:
                exchange.views.apply(event)
            told = [event for event in events if isinstance(event, TradePrinted)]
            if told:
                seen += len(told) > 1
                book = exchange.views.market.ladders(told[-1].market_id)
                assert book.ts >= told[-1].at_ns
    assert seen > 5


def test_a_market_is_never_updated_before_its_last_trade(tmp_path):
    with StateDir.open(tmp_path / "state") as state:
        exchange, seen = fresh(state.keys.order_id_key), 0
        for number, command in enumerate(History(4, 400)):
            _, events = exchange.apply_command(command, T0 + number // 4)
            for event in events:
                exchange.views.apply(event)
            told = [event for event in events if isinstance(event, TradePrinted)]
            if told:
                seen += len(told) > 1
                market = exchange.views.catalog.market(told[-1].market_id)
                assert market.updated_at >= from_ns(told[-1].at_ns)
    assert seen > 5


def test_a_snapshot_at_any_point_and_the_tail_come_to_what_the_whole_log_comes_to(tmp_path):
    payloads = {}

    def note(exchange):
        if exchange.sequence % 29 == 0:
            payloads[exchange.sequence] = snapshot_of(exchange)

    path = tmp_path / "state"
    with StateDir.open(path) as state:
        live = full_hash(carried_out(state, 12, 300, note))
        assert len(payloads) > 9
        assert full_hash(recover(state)) == live
        for sequence, payload in payloads.items():
            state.write_snapshot(sequence, payload)
            assert next(state.snapshots(), None) == (sequence, payload)
            assert full_hash(recover(state)) == live
        assert state.notices == []


def test_compacting_again_and_again_changes_nothing_of_what_is_recovered(tmp_path):
    path = tmp_path / "state"
    with StateDir.open(path, segment_records=60) as state:
        done = []

        def note(exchange):
            if exchange.sequence % 150 == 0:
                done.append(compact(path))

        live = full_hash(carried_out(state, 21, 600, note))
    assert [each.replayed for each in done] != []
    assert all(each.replayed > 0 for each in done)
    assert len(list(path.glob("snapshot-*"))) == 2
    assert len(segment_files(path)) < 8
    assert recovered(path) == (live, [])


@pytest.fixture
def compacted(monkeypatch):
    """What `venue compact` prints for a directory."""
    monkeypatch.setattr(os, "nice", lambda _: 0)

    def run_command(path, *options):
        done = typer.testing.CliRunner().invoke(app, ["compact", "--state", str(path), *options])
        assert done.exit_code == 0, done.output
        return done.stdout

    return run_command


def test_compacting_tells_what_it_came_to_and_the_second_time_that_there_is_nothing_to_do(
    sealed, compacted
):
    path, _ = sealed
    done = compact(path)
    assert done.replayed == done.sequence > 300
    with StateDir.open(path) as state:
        exchange = fresh(state.keys.order_id_key)
        replay(exchange, (e for e in state.entries(0) if e.sequence <= done.sequence))
    assert done.state_hash == exchange.engine.state_hash()
    assert compact(path) == type(done)(done.sequence, 0, 0, None, ())
    assert compacted(path).startswith("nothing to do: ")
    assert json.loads(compacted(path, "--json"))["sequence"] == done.sequence


def test_compacting_a_log_with_nothing_sealed_writes_no_snapshot(tmp_path, compacted):
    with StateDir.open(tmp_path / "state") as state:
        carried_out(state, 5, 20)
    assert compact(tmp_path / "state").sequence == 0
    said = "nothing to do: no segment of the log is sealed yet"
    assert compacted(tmp_path / "state") == f"{said}\n"
    assert list((tmp_path / "state").glob("snapshot-*")) == []


def test_a_damaged_sealed_segment_stops_compacting_with_nothing_written_or_removed(sealed):
    path, _ = sealed
    file = segment_files(path)[1]
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    file.write_bytes(damaged)
    before = sorted(each.name for each in path.iterdir())
    with pytest.raises(StateFault, match=file.name):
        compact(path)
    assert sorted(each.name for each in path.iterdir()) == sorted({*before, "compact.lock"})


def test_a_snapshot_that_would_restore_to_another_state_is_not_written(sealed, monkeypatch):
    path, _ = sealed
    real = Engine.from_snapshot

    def forgetful(order_id_key, snapshot):
        engine = real(order_id_key, snapshot)
        engine.apply(AddUser("nobody"), 0)
        return engine

    monkeypatch.setattr(Engine, "from_snapshot", forgetful)
    with pytest.raises(StateFault, match="does not restore"):
        compact(path)
    assert list(path.glob("snapshot-*")) == []
    assert len(segment_files(path)) > 4


# --- snapshots that cannot be used ----------------------------------------------------------------


@pytest.mark.parametrize("payload", [b"", b"\x02rest", b"\x01rest", b"\x01\x80"])
def test_a_payload_that_is_not_known_is_passed_over_while_the_log_suffices(sealed, payload):
    path, live = sealed
    with StateDir.open(path) as state:
        state.write_snapshot(200, payload)
        assert full_hash(recover(state)) == full_hash(live)
        assert "snapshot of sequence 200" in state.notices[0]
        assert "passed over" in state.notices[0]


def test_a_payload_that_is_not_known_is_passed_over_for_an_older_one(sealed):
    path, live = sealed
    compact(path)
    with StateDir.open(path) as state:
        known, _ = next(state.snapshots(), None)
        state.write_snapshot(known + 1, b"\x02rest")
        state.prune()
        assert state.first_sequence() > 1
        assert full_hash(recover(state)) == full_hash(live)
        assert "payload version 2" in state.notices[0]


def test_a_payload_that_is_not_known_is_a_fault_when_the_log_does_not_go_back_far_enough(sealed):
    path, _ = sealed
    with StateDir.open(path) as state:
        state.write_snapshot(250, b"\x02rest")
        state.write_snapshot(300, b"\x02rest")
        state.prune()
        with pytest.raises(StateFault, match=r"no snapshot can be used .*payload version 2"):
            recover(state)


def test_a_damaged_newest_snapshot_is_passed_over_for_the_older_one(sealed):
    path, live = sealed
    compact(path)
    newest = max(path.glob("snapshot-*"))
    damaged = bytearray(newest.read_bytes())
    damaged[100] ^= 4
    newest.write_bytes(damaged)
    told, notices = recovered(path)
    assert told == full_hash(live)
    assert len(notices) == 1


# --- states of earlier programs -------------------------------------------------------------------


@pytest.mark.parametrize("kept", ["snapshot-*", "commands-*", "*"])
def test_a_state_of_the_first_program_opens_to_the_hash_that_it_had_there(tmp_path, kept):
    """From its snapshot and the end of its log, and from the whole log alone."""
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    for file in FIRST.iterdir():
        (path / file.name).write_bytes(file.read_bytes())
        (path / file.name).chmod(0o600)
    (snapshot,) = path.glob("snapshot-*")
    if kept == "commands-*":
        snapshot.unlink()
    elif kept == "snapshot-*":
        for segment in segment_files(path)[:-1]:
            segment.unlink()
    with StateDir.open(path) as state:
        exchange = recover(state)
        assert state.notices == []
    assert (exchange.sequence, exchange.engine.state_hash()) == FIRST_ENDS
    assert exchange.printed_ns > 0
