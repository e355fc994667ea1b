"""Claims about `bot export`: its tables hold what the journal does, read by hand."""

import csv
import errno
import json
import os
from pathlib import Path

import msgspec
import pytest

from bench.simulated_journals import brutal
from bot.core import messages as m
from bot.lab.backtest.tapes import read_tapes, tape_folders
from bot.lab.export import tell
from bot.lab.progress import EVERY
from bot.lab.session import segments_meant
from tests.builders.explain import raw
from tests.builders.explain.raw import Row
from tests.builders.io.commands import invoke, json_of
from tests.builders.records import lived
from tests.builders.records.lived import NOON_NS, Journalled, market
from tests.builders.replay.recorded import recorded
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND, Instant

TABLES = ("books", "prints", "requests", "fills")


class Exported:
    """A state directory, its entries read by hand, and its tables."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        recorded(brutal(16, 6 * NS_PER_SECOND), self.state)
        self.rows = raw.rows(self.state)
        self.told = json_of("export", self.state, "--csv", folder / "tables")
        self.tables = {name: table(folder / "tables", name) for name in TABLES}

    def of(self, kind: str) -> list[Row]:
        return [row for row in self.rows if row.kind == kind]

    def shown(self, kind: str) -> list[tuple[int, dict]]:
        """The bodies of a kind that answers had, with when they arrived."""
        bodies = [
            (row.at_ns, row.said["answer"].get("body", {"type": ""})) for row in self.of("Response")
        ]
        return [each for each in bodies if each[1]["type"] == kind]


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Exported:
    return Exported(tmp_path_factory.mktemp("export"))


def test_export_reports_the_rows_of_each_table(exported):
    told = exported.told
    assert {name: told[name] for name in TABLES} == {
        name: len(rows) for name, rows in exported.tables.items()
    }
    assert min(told[name] for name in TABLES) > 0
    assert told["damage"] == []


def test_export_as_a_tape_writes_what_a_backtest_of_the_journal_plays(exported, tmp_path):
    kept, (made,) = tmp_path / "kept", tape_folders(exported.state)
    told = json_of("export", exported.state, "--tape", kept)
    ours, theirs = ([*map(msgspec.structs.astuple, read_tapes(each))] for each in (kept, made))
    assert ours == theirs
    notes = json.loads((kept / "catalog.json").read_text())["warnings"]
    assert told == {"tape": notes}


def test_export_as_a_tape_refuses_a_folder_that_exists(exported, tmp_path):
    done = invoke("export", exported.state, "--tape", tmp_path)
    assert (done.exit_code, done.stderr) == (2, f"{tmp_path}: File exists\n")


def test_every_book_frame_and_book_read_is_a_row(exported):
    rows = exported.tables["books"]
    frames = [row for row in rows if row["source"] == "channel"]
    seen = exported.of("BookUpdate")
    assert len(frames) == len(seen)
    for frame, row in zip(frames, seen, strict=True):
        bids = [f"{price}x{size}" for price, size in row.said["bids"]]
        assert (frame["at_ns"], frame["ts_ns"]) == (str(row.at_ns), str(row.said["ts_ns"]))
        assert (frame["market_id"], frame["bids"]) == (row.said["market_id"], " ".join(bids))
        assert frame["bid"] == (str(row.said["bids"][0][0]) if bids else "")
        assert frame["ticker"]
    assert len(rows) - len(frames) == len(exported.shown("BookBody"))


def test_every_print_is_a_row(exported):
    for row, seen in zip(exported.tables["prints"], exported.of("Trade"), strict=True):
        said = seen.said
        assert (row["trade_id"], row["at_ns"]) == (said["trade_id"], str(seen.at_ns))
        assert (row["price"], row["qty"]) == (str(said["price"]), str(said["size"]))
        assert row["taker_bought_yes"] == str(int(said["taker_bought_yes"]))


def test_every_request_is_one_row_with_its_response(exported):
    rows = exported.tables["requests"]
    runs = {row.segment: row.said["boot_nonce"] for row in exported.of("Started")}
    sends = {(runs[row.segment], str(row.said["request_id"])): row for row in exported.of("Send")}
    assert len(rows) == len(sends)
    answers = {
        (runs[row.segment], str(row.said["request_id"])): row for row in exported.of("Response")
    }
    for row in rows:
        key = (row["run"], row["request_id"])
        sent = sends[key].said
        assert row["request"] == sent["request"]["type"]
        assert row["why"] == sent["why"]
        if row["answer"] == "none":
            assert row["answered_ns"] == ""
            continue
        assert row["answered_ns"] == str(answers[key].at_ns)
        assert row["answer"] == answers[key].said["answer"]["type"].lower()
        if row["answer"] == "refused":
            assert row["code"] == answers[key].said["answer"]["code"]
        if row["request"] == "Create":
            order = sent["request"]["order"]
            assert row["price"] == str(raw.canonical(order["outcome"], order["price"]))
            assert row["side"] == raw.side(order["outcome"], order["side"])
            assert (row["qty"], row["market_id"]) == (str(order["qty"]), order["market_id"])


def test_a_cancel_row_contains_the_market_of_its_order(exported):
    cancels = [row for row in exported.tables["requests"] if row["request"] == "CancelResting"]
    assert cancels
    assert all(row["market_id"] and row["ticker"] and row["side"] for row in cancels)


def test_a_repeatedly_read_fill_is_one_row(exported):
    first: dict[str, tuple[int, dict]] = {}
    for at_ns, body in exported.shown("FillsBody"):
        for fill in body["fills"]:
            first.setdefault(fill["fill_id"], (at_ns, fill))
    rows = exported.tables["fills"]
    assert sorted(row["fill_id"] for row in rows) == sorted(first)
    for row in rows:
        at_ns, fill = first[row["fill_id"]]
        assert row["at_ns"] == str(at_ns)
        assert row["created_ns"] == str(instant.to_ns(fill["created_at"]))
        assert row["price"] == str(raw.canonical(fill["outcome"], fill["outcome_price"]))
        assert row["side"] == raw.side(fill["outcome"], fill["side"])
        assert row["qty"] == str(fill["qty"])


def test_unreadable_times_are_exported_as_empty(tmp_path):
    journal = Journalled(tmp_path / "state")
    journal.started(NOON_NS)
    never = Instant("soon")
    dateless = msgspec.structs.replace(lived.event(market(1)), resolution_date=never)
    journal.told(NOON_NS, m.SeriesBody((dateless,), ""))
    rung = market(1)
    book = model.Orderbook(rung.ticker, rung.market_id, never, (), ())
    journal.told(NOON_NS + 1, m.BookBody(book))
    journal.add(NOON_NS + 1, m.BookUpdate(rung.market_id, NOON_NS + 1, (), ()))
    odd = msgspec.structs.replace(lived.fill(1, NOON_NS), created_at=never)
    journal.fills(NOON_NS + 2, odd, lived.fill(2, NOON_NS + 2))
    found = invoke("export", journal.folder, "--csv", tmp_path / "tables")
    assert found.exit_code == 0, found.output
    fills = [(row["fill_id"], row["created_ns"]) for row in table(tmp_path / "tables", "fills")]
    assert fills == [("f1", ""), ("f2", str(NOON_NS + 2))]
    assert [row["source"] for row in table(tmp_path / "tables", "books")] == ["channel"]
    rungs = [(row["ticker"], row["resolution_ns"]) for row in table(tmp_path / "tables", "rungs")]
    assert rungs == [(market(1).ticker, "")]


def test_export_reports_progress_over_both_passes(exported):
    told: list[int] = []
    tell(segments_meant(exported.state), lambda _name, _row: None, told.append)
    entries = len(exported.rows)
    assert told == list(range(EVERY, 2 * entries + 1, EVERY))
    assert told[-1] > entries


def test_a_damaged_journal_exits_with_3_and_exports_the_entries_before_the_damage(
    exported, tmp_path
):
    newest = max(exported.state.glob("journal-*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / newest.name).write_bytes(data)
    done = invoke("export", tmp_path / newest.name, "--csv", tmp_path / "tables")
    assert done.exit_code == 3
    assert "journal damaged at byte" in done.stderr
    assert 0 < len(table(tmp_path / "tables", "books")) < len(exported.tables["books"])


def test_a_failed_export_leaves_no_partial_file(exported, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    assert invoke("export", tmp_path / "empty", "--csv", tmp_path / "out").exit_code == 3
    assert invoke("export", tmp_path / "none", "--csv", tmp_path / "out").exit_code == 3
    assert invoke("export", tmp_path / "file", "--csv", tmp_path / "out").exit_code == 3
    assert invoke("export", exported.state, "--csv", tmp_path / "file").exit_code == 2
    assert list(tmp_path.rglob("*.part")) == []


def test_export_names_the_folder_when_the_disk_is_full(monkeypatch, tmp_path):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("bot.cli.export.segments_meant", lambda journal: [journal])
    monkeypatch.setattr("bot.cli.export.exported", full)
    folder = tmp_path / "tables"
    ended = invoke("export", tmp_path, "--csv", folder)
    assert ended.exit_code == 2
    assert ended.stderr == f"{folder}: No space left on device\n"


@pytest.mark.parametrize("content", [b"", b"series: ACME-VAL\n"])
def test_a_file_that_is_not_a_journal_exits_with_3(tmp_path, content):
    path = tmp_path / "mine.txt"
    path.write_bytes(content)
    done = invoke("export", path, "--csv", tmp_path / "tables")
    assert done.exit_code == 3
    assert done.stderr.startswith(f"{path}: not a journal; wanted is the state directory of a run")
    assert not (tmp_path / "tables").exists()
