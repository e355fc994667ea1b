"""Tapes as they are read and listed."""

import gzip
import json

import msgspec
import pytest

from tests.builders.venue.crowd_tapes import (
    RESOLUTION_NS,
    book,
    listed,
    price,
    recorded,
    rung,
    top,
    trade,
    write,
)
from venue.crowd.tape import TapeFault, read_tape
from venue.engine import messages as m
from venue.wire.names import is_market_path, is_uuid

LADDER = {"KX-26JAN02": [rung("A", "9.5"), rung("B", "10.25"), rung("C", "100")]}
BRACKETS = {
    "HIGH-25DEC20": [
        rung("T36", "36", pays="high below 36"),
        rung("B36.5", "36.5"),
        rung("B38.5", "38.5"),
        rung("B40.5", "40.5"),
        rung("T42", "42"),
    ]
}
BRACKET_TOPS = [top(0, t, 10, 30) for t in ("T36", "B36.5", "B38.5", "B40.5", "T42")]


def test_a_ladder_is_listed_in_the_order_of_its_strikes(tmp_path):
    shuffled = {"KX-26JAN02": LADDER["KX-26JAN02"][::-1]}
    tape = read_tape(write(tmp_path, shuffled, [trade(0, "A", 90, 1, "yes")]))
    markets = [command for command in listed(tape) if isinstance(command, m.ListMarket)]
    assert [market.strike_value for market in markets] == ["9.5", "10.25", "100"]
    assert [market.ticker for market in markets] == ["KX-27Q1-9.5", "KX-27Q1-10.25", "KX-27Q1-100"]
    assert {market.strike_unit for market in markets} == {"index points"}
    assert tape.sources == ("A", "B", "C")


def test_listed_tickers_nest_and_ids_are_uuids(tmp_path):
    commands = listed(read_tape(write(tmp_path, LADDER, [trade(0, "A", 90, 1, "yes")])))
    company, event, *markets = commands
    assert event.series_ticker == company.symbol == "KX"
    assert event.event_ticker.startswith(f"{event.series_ticker}-")
    for market in markets:
        assert market.ticker.startswith(f"{event.event_ticker}-")
        assert is_market_path(market.ticker)
        assert is_uuid(market.market_id)
    assert event.resolution_date_ns == RESOLUTION_NS
    assert event.project_id == company.project_id


def test_a_read_tape_does_not_hold_its_outcome(tmp_path):
    secret = {"KX-26JAN02": [{"ticker": "A", "strike": "9", "outcome": "no-such-outcome-word"}]}
    tape = read_tape(write(tmp_path, secret, [trade(0, "A", 90, 1, "yes")]))
    assert b"no-such-outcome-word" not in msgspec.json.encode([listed(tape), tape])


def test_a_single_bracket_is_a_binary_market(tmp_path):
    events = {"IN-23APR10": [rung("A", "4075", floor="4050", cap="4100")]}
    tape = read_tape(write(tmp_path, events, [book(0, "A", [[40, 1]], [])]))
    market = listed(tape)[-1]
    assert market.ticker == "IN-27Q1-YES"
    assert market.strike_value is None
    assert market.strike_unit is None


def test_brackets_become_a_survival_ladder_with_strikes_between_them(tmp_path):
    tape = read_tape(write(tmp_path, BRACKETS, BRACKET_TOPS, unit="degrees"))
    assert tape.partition
    assert [found.strike for found in tape.rungs] == ["35.5", "37.5", "39.5", "41.5"]


def test_brackets_of_several_widths_are_a_fault(tmp_path):
    events = {"HIGH-25DEC20": [*BRACKETS["HIGH-25DEC20"], rung("B44.5", "44.5")]}
    said = fault_of(write(tmp_path, events, [*BRACKET_TOPS, top(0, "B44.5", 10, 30)]))
    assert "the middles of brackets 40.5 and 42 do not lie 2.0 apart as 36.5 and 38.5 do" in said


def test_the_busiest_event_is_chosen_unless_one_is_named(tmp_path):
    events = {"KX-A": [rung("A", "1")], "KX-B": [rung("B", "2")]}
    records = [trade(0, "A", 50, 1, "yes"), *(trade(at, "B", 50, 1, "no") for at in (1, 2))]
    folder = write(tmp_path, events, records)
    assert read_tape(folder).event == "KX-B"
    chosen = read_tape(folder, "KX-A")
    assert [record.ticker for record in chosen.records] == ["A"]


def test_a_quiet_lead_in_is_skipped(tmp_path):
    records = [trade(0, "A", 50, 1, "yes"), trade(5000, "A", 51, 1, "yes")]
    records += [trade(8000 + at, "A", 50, 1, "no") for at in range(0, 2000, 10)]
    tape = read_tape(write(tmp_path, LADDER, records))
    assert tape.start == 2


def test_a_steady_tape_starts_at_its_first_record(tmp_path):
    records = [trade(at, "A", 50, 1, "no") for at in range(500)]
    assert read_tape(write(tmp_path, LADDER, records)).start == 0


def test_the_underlying_is_the_symbol_nearest_to_the_strikes(tmp_path):
    values = [price(0, "14.7", "VIX"), price(1, "10.1", "IDX"), price(2, "10.2", "IDX")]
    tape = read_tape(write(tmp_path, LADDER, [trade(0, "A", 50, 1, "no")], values))
    assert [value for _, value in tape.values] == ["10.1", "10.2"]


def fault_of(folder, event=None):
    with pytest.raises(TapeFault) as caught:
        read_tape(folder, event)
    return str(caught.value)


def catalog_fault_of(folder, events):
    """The fault of a catalog with these events."""
    rows = {"tape": "x", "strike_unit": "u", "events": events}
    (folder / "catalog.json").write_text(json.dumps(rows))
    return fault_of(folder)


def test_a_missing_folder_is_named(tmp_path):
    assert str(tmp_path / "gone" / "catalog.json") in fault_of(tmp_path / "gone")


TRADE = b'{"ts":T1,"ticker":"A","type":"trade","price":9,"qty":1,"taker_outcome":"no"}'
BOOK = b'{"ts":T1,"ticker":"A","type":"book","yes":%s,"no":%s}'
TOP = b'{"ts":T1,"ticker":"A","type":"top","yes_bid":%s,"yes_ask":%s}'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"ts":T1,"ticker":"A","type":"trade"', "tape.jsonl.gz:2: "),
        (b'{"ts":T1,"ticker":"A","type":"moon"}', "moon"),
        (TRADE.replace(b'"price":9', b'"price":0'), "price"),
        (TRADE.replace(b'"qty":1', b'"qty":0'), "qty"),
        (TRADE.replace(b'"no"', b'"up"'), "up"),
        (TRADE.replace(b'"price":9', b'"price":9.5'), "price"),
        (TRADE.replace(b"T1", b"T0"), "back"),
        (TRADE.replace(b'"A"', b'"Z"'), "Z"),
        (TRADE.replace(b"T1", b"1700000000001"), "ts"),  # milliseconds
        (TRADE.replace(b"T1", b"9223372036854775807"), "ts"),
        (BOOK % (b"[[60,5]]", b"[[41,5]]"), "crossed: bids of 60 for yes and 41 for no"),
        (BOOK % (b"[[60,5],[60,7]]", b"[]"), "yes has a price twice"),
        (BOOK % (b"[]", b"[[9,5],[8,5],[9,5]]"), "no has a price twice"),
        (TOP % (b"51", b"50"), "crossed: 51 bid, 50 asked"),
        (b"\xff\xfe", "tape.jsonl.gz:2: "),
        (b"", "tape.jsonl.gz:2: "),
    ],
)
def test_a_bad_line_of_a_tape_is_named_by_its_number(tmp_path, line, said):
    folder = write(tmp_path, LADDER, [])
    rows = TRADE + b"\n" + line + b"\n" + TRADE + b"\n"
    for name, ns in ((b"T0", 1_700_000_000 * 10**9), (b"T1", 1_700_000_001 * 10**9)):
        rows = rows.replace(name, str(ns).encode())
    (folder / "tape.jsonl.gz").write_bytes(gzip.compress(rows))
    fault = fault_of(folder)
    assert "tape.jsonl.gz:2" in fault
    assert said in fault


def test_a_locked_book_and_locked_best_prices_are_accepted(tmp_path):
    locked = [book(0, "A", [[60, 5]], [[40, 5]])]
    assert len(read_tape(write(tmp_path, LADDER, locked)).records) == 1
    locked = [*BRACKET_TOPS, top(1, "B36.5", 50, 50)]
    assert len(read_tape(write(tmp_path, BRACKETS, locked)).records) == len(locked)


def test_a_missing_or_damaged_file_is_named(tmp_path):
    records = [trade(at, "A", 50, at + 1, "no") for at in range(5000)]
    folder = write(tmp_path, LADDER, records, [price(0, "-3")])
    path = folder / "tape.jsonl.gz"
    assert "underlying.jsonl.gz:1: " in fault_of(folder)
    path.write_bytes(path.read_bytes()[:-2000])
    assert "damaged" in fault_of(folder)
    path.write_text("{}\n")
    assert "tape.jsonl.gz:1: not gzip" in fault_of(folder)
    path.unlink()
    assert f"{path}: cannot be read" in fault_of(folder)


@pytest.mark.parametrize("catalog", ["{", "{}"])
def test_a_catalog_that_cannot_be_parsed_is_named(tmp_path, catalog):
    (tmp_path / "catalog.json").write_text(catalog)
    assert "catalog.json: " in fault_of(tmp_path)


def row(name="K-1", *rungs, **more):
    """An event of a catalog; one rung at 5 unless rungs are given."""
    return {"event_ticker": name, "rungs": list(rungs or [rung("A", "5")]), **more}


YEAR_10000_NS = 253_402_300_800 * 10**9


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        ([], ""),
        ([row(), row("K-1", rung("B", "6"))], "K-1: occurs 2 times"),
        ([row(), row("K-2")], "A: occurs 2 times"),
        ([row("K-1", rung("A", "5"), rung("A", "6"))], "A: occurs 2 times"),
        ([row("K-1", rung("A", "5"), rung("B", "5.0"))], "K-1: two rungs of one strike"),
        ([row(resolution_ns=10**25)], f"K-1: resolution_ns {10**25}"),
        ([row(resolution_ns=YEAR_10000_NS)], f"K-1: resolution_ns {YEAR_10000_NS}"),
        ([row("k-1")], "; accepted: up to 30 capital letters and digits"),
        ([row("K-1", rung("A", "-5"))], "; accepted: a decimal number of at least 0"),
        ([row(resolution_ns=12)], "; accepted: nanoseconds since 1970"),
    ],
)
def test_a_bad_catalog_is_named_with_its_fault(tmp_path, events, fault):
    said = catalog_fault_of(tmp_path, events)
    assert said.startswith(f"{tmp_path / 'catalog.json'}: ")
    assert fault in said


def test_an_unknown_event_is_a_fault_that_lists_the_recorded_ones(tmp_path):
    folder = write(tmp_path, LADDER, [trade(0, "A", 50, 1, "no")])
    assert "KX-26JAN02" in fault_of(folder, "KX-26JAN03")


TWO_BRACKETS = {"IN-X": [rung("A", "1", floor="0", cap="2"), rung("B", "3", floor="2", cap="4")]}


@pytest.mark.parametrize(
    ("events", "records", "fault"),
    [
        (LADDER, [], "no records"),
        (TWO_BRACKETS, [book(0, "A", [], [])], "brackets"),
        (LADDER, [top(0, "A", 1, 2)], "fewer than 4"),
        (LADDER, [top(0, "A", 1, 2), trade(1, "A", 50, 1, "no")], "next to"),
    ],
    ids=["empty", "brackets with books", "too few brackets", "best prices and trades"],
)
def test_a_tape_that_cannot_be_followed_is_a_fault(tmp_path, events, records, fault):
    assert fault in fault_of(write(tmp_path, events, records))


@pytest.mark.parametrize(
    ("name", "event", "rungs", "lines"),
    [
        ("inxd-23apr13", "INXD-23APR13", 1, 25_382),
        ("kxhighny-25dec20", "KXHIGHNY-25DEC20", 5, 61_169),
        ("kxinxu-2026-01", "KXINXU-26JAN14H1600", 6, 1_665),
    ],
)
def test_recorded_tapes_are_read(name, event, rungs, lines):
    tape = read_tape(recorded(name))
    assert (tape.event, len(tape.rungs), len(tape.records)) == (event, rungs, lines)
