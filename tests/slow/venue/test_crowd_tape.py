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
from venue.crowd.tape import TapeFault, decode_record, read_tape
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


def test_tickers_nest_and_ids_are_uuids(tmp_path):
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


def test_how_it_ended_is_nowhere_in_what_is_listed_or_kept(tmp_path):
    secret = {"KX-26JAN02": [{"ticker": "A", "strike": "9", "outcome": "no-such-outcome-word"}]}
    tape = read_tape(write(tmp_path, secret, [trade(0, "A", 90, 1, "yes")]))
    assert b"no-such-outcome-word" not in msgspec.json.encode([listed(tape), tape])


def test_a_lone_bracket_is_a_binary_market(tmp_path):
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


def test_brackets_of_several_widths_are_refused_for_their_middles_say_no_bounds(tmp_path):
    events = {"HIGH-25DEC20": [*BRACKETS["HIGH-25DEC20"], rung("B44.5", "44.5")]}
    said = fault_of(write(tmp_path, events, [*BRACKET_TOPS, top(0, "B44.5", 10, 30)]))
    assert "the middles of brackets 40.5 and 42 do not lie 2.0 apart as 36.5 and 38.5 do" in said


def test_the_busiest_event_is_chosen_unless_one_is_named(tmp_path):
    events = {"KX-A": [rung("A", "1")], "KX-B": [rung("B", "2")]}
    records = [trade(0, "A", 50, 1, "yes"), *(trade(at, "B", 50, 1, "no") for at in (1, 2))]
    folder = write(tmp_path, events, records)
    assert read_tape(folder).event == "KX-B"
    chosen = read_tape(folder, "KX-A")
    assert [decode_record(line).ticker for line in chosen.lines] == ["A"]


def test_a_quiet_lead_in_is_skipped(tmp_path):
    records = [trade(0, "A", 50, 1, "yes"), trade(5000, "A", 51, 1, "yes")]
    records += [trade(8000 + at, "A", 50, 1, "no") for at in range(0, 2000, 10)]
    tape = read_tape(write(tmp_path, LADDER, records))
    assert tape.start == 2


def test_a_steady_tape_starts_at_its_first_record(tmp_path):
    records = [trade(at, "A", 50, 1, "no") for at in range(500)]
    assert read_tape(write(tmp_path, LADDER, records)).start == 0


def test_the_symbol_nearest_to_the_strikes_is_the_value(tmp_path):
    values = [price(0, "14.7", "VIX"), price(1, "10.1", "IDX"), price(2, "10.2", "IDX")]
    tape = read_tape(write(tmp_path, LADDER, [trade(0, "A", 50, 1, "no")], values))
    assert [value for _, value in tape.values] == ["10.1", "10.2"]


def fault_of(folder, event=None):
    with pytest.raises(TapeFault) as caught:
        read_tape(folder, event)
    return str(caught.value)


def test_a_missing_folder_is_named(tmp_path):
    assert str(tmp_path / "gone" / "catalog.json") in fault_of(tmp_path / "gone")


def test_a_missing_tape_file_is_named(tmp_path):
    folder = write(tmp_path, LADDER, [trade(0, "A", 50, 1, "no")])
    (folder / "tape.jsonl.gz").unlink()
    assert f"{folder / 'tape.jsonl.gz'}: cannot be read" in fault_of(folder)


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
def test_a_bad_line_is_named_by_number(tmp_path, line, said):
    folder = write(tmp_path, LADDER, [])
    rows = TRADE + b"\n" + line + b"\n" + TRADE + b"\n"
    for name, ns in ((b"T0", 1_700_000_000 * 10**9), (b"T1", 1_700_000_001 * 10**9)):
        rows = rows.replace(name, str(ns).encode())
    (folder / "tape.jsonl.gz").write_bytes(gzip.compress(rows))
    told = fault_of(folder)
    assert "tape.jsonl.gz:2" in told
    assert said in told


def test_a_locked_book_and_locked_best_prices_are_no_fault(tmp_path):
    locked = [book(0, "A", [[60, 5]], [[40, 5]])]
    assert len(read_tape(write(tmp_path, LADDER, locked)).lines) == 1
    locked = [*BRACKET_TOPS, top(1, "B36.5", 50, 50)]
    assert len(read_tape(write(tmp_path, BRACKETS, locked)).lines) == len(locked)


def test_a_file_cut_short_is_named_by_line(tmp_path):
    folder = write(tmp_path, LADDER, [trade(at, "A", 50, at + 1, "no") for at in range(5000)])
    path = folder / "tape.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-2000])
    assert "damaged" in fault_of(folder)


def test_a_file_that_is_not_gzip_is_named(tmp_path):
    folder = write(tmp_path, LADDER, [])
    (folder / "tape.jsonl.gz").write_text("{}\n")
    assert "tape.jsonl.gz:1: not gzip" in fault_of(folder)


def test_a_damaged_underlying_is_named(tmp_path):
    folder = write(tmp_path, LADDER, [trade(0, "A", 50, 1, "no")], [price(0, "-3")])
    assert "underlying.jsonl.gz:1: " in fault_of(folder)


@pytest.mark.parametrize(
    "catalog",
    [
        "{",
        "{}",
        json.dumps({"tape": "x", "strike_unit": "u", "events": []}),
        json.dumps(
            {
                "tape": "x",
                "strike_unit": "u",
                "events": [{"event_ticker": "K-1", "rungs": [rung("A", "-5")]}],
            }
        ),
        json.dumps(
            {
                "tape": "x",
                "strike_unit": "u",
                "events": [{"event_ticker": "k x", "rungs": [rung("A", "5")]}],
            }
        ),
    ],
)
def test_a_bad_catalog_is_named(tmp_path, catalog):
    (tmp_path / "catalog.json").write_text(catalog)
    assert "catalog.json: " in fault_of(tmp_path)


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([("K-1", [rung("A", "5")]), ("K-1", [rung("B", "6")])], "K-1: occurs 2 times"),
        ([("K-1", [rung("A", "5")]), ("K-2", [rung("A", "5")])], "A: occurs 2 times"),
        ([("K-1", [rung("A", "5"), rung("A", "6")])], "A: occurs 2 times"),
        ([("K-1", [rung("A", "5"), rung("B", "5.0")])], "K-1: two rungs of one strike"),
    ],
)
def test_events_rungs_and_strikes_that_cannot_be_told_apart_are_named(tmp_path, events, said):
    rows = [{"event_ticker": name, "rungs": rungs} for name, rungs in events]
    catalog = {"tape": "x", "strike_unit": "u", "events": rows}
    (tmp_path / "catalog.json").write_text(json.dumps(catalog))
    assert fault_of(tmp_path) == f"{tmp_path / 'catalog.json'}: {said}"


# The second is the first instant of the year 10000.
@pytest.mark.parametrize("at_ns", [10**25, 253_402_300_800 * 10**9])
def test_a_resolution_that_no_calendar_has_is_named(tmp_path, at_ns):
    event = {"event_ticker": "K-1", "rungs": [rung("A", "5")], "resolution_ns": at_ns}
    catalog = {"tape": "x", "strike_unit": "u", "events": [event]}
    (tmp_path / "catalog.json").write_text(json.dumps(catalog))
    assert f"catalog.json: K-1: resolution_ns {at_ns}" in fault_of(tmp_path)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"event_ticker": "k-1", "rungs": [rung("A", "5")]}, "up to 30 capital letters and digits"),
        ({"event_ticker": "K-1", "rungs": [rung("A", "-5")]}, "a decimal number of at least 0"),
        (
            {"event_ticker": "K-1", "rungs": [rung("A", "5")], "resolution_ns": 12},
            "nanoseconds since 1970",
        ),
    ],
)
def test_what_a_catalog_may_say_is_told_beside_what_it_says(tmp_path, event, said):
    catalog = {"tape": "x", "strike_unit": "u", "events": [event]}
    (tmp_path / "catalog.json").write_text(json.dumps(catalog))
    assert f"; accepted: {said}" in fault_of(tmp_path)


def test_an_unknown_event_is_told_with_the_recorded_ones(tmp_path):
    folder = write(tmp_path, LADDER, [trade(0, "A", 50, 1, "no")])
    assert "KX-26JAN02" in fault_of(folder, "KX-26JAN03")


def test_an_empty_tape_is_a_fault(tmp_path):
    assert "no records" in fault_of(write(tmp_path, LADDER, []))


def test_brackets_with_books_are_a_fault(tmp_path):
    events = {"IN-X": [rung("A", "1", floor="0", cap="2"), rung("B", "3", floor="2", cap="4")]}
    assert "brackets" in fault_of(write(tmp_path, events, [book(0, "A", [], [])]))


def test_too_few_brackets_are_a_fault(tmp_path):
    assert "fewer than 4" in fault_of(write(tmp_path, LADDER, [top(0, "A", 1, 2)]))


def test_best_prices_beside_executions_are_a_fault(tmp_path):
    records = [top(0, "A", 1, 2), trade(1, "A", 50, 1, "no")]
    assert "beside" in fault_of(write(tmp_path, LADDER, records))


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
    assert (tape.event, len(tape.rungs), len(tape.lines)) == (event, rungs, lines)
