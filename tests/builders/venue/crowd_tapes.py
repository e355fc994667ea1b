"""Small tapes written for tests, and where the recorded ones lie."""

import gzip
import json
import os
from pathlib import Path

import pytest

from tests.builders.venue.crowd_simulation import START_NS, Simulation
from venue.crowd.run import CrowdPlan
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import read_tape, tape_catalogue
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import FeeRate

RESOLUTION_NS = START_NS + 60 * 86_400 * NS_PER_SECOND
T0 = 1_700_000_000 * NS_PER_SECOND
RATES = (FeeRate.parse("0.0100"), FeeRate.parse("0.0175"))


def rung(ticker, strike, **more):
    return {"ticker": ticker, "strike": strike, "outcome": "yes", **more}


def book(at_s, ticker, yes, no):
    return {"ts": T0 + int(at_s * NS_PER_SECOND), "ticker": ticker, "type": "book"} | {
        "yes": yes,
        "no": no,
    }


def trade(at_s, ticker, price, qty, taker_outcome):
    return {"ts": T0 + int(at_s * NS_PER_SECOND), "ticker": ticker, "type": "trade"} | {
        "price": price,
        "qty": qty,
        "taker_outcome": taker_outcome,
    }


def top(at_s, ticker, bid, ask):
    return {"ts": T0 + int(at_s * NS_PER_SECOND), "ticker": ticker, "type": "top"} | {
        "yes_bid": bid,
        "yes_ask": ask,
        "yes_bid_size": None,
        "yes_ask_size": None,
    }


def price(at_s, value, symbol="IDX"):
    return {"ts": T0 + int(at_s * NS_PER_SECOND), "symbol": symbol, "price": value}


def write(folder: Path, events, records, values=None, unit="index points"):
    """Write a tape; `events` maps event tickers to rungs."""
    catalog = {
        "tape": folder.name,
        "strike_unit": unit,
        "events": [{"event_ticker": name, "rungs": rungs} for name, rungs in events.items()],
    }
    (folder / "catalog.json").write_text(json.dumps(catalog))
    _lines(folder / "tape.jsonl.gz", records)
    if values is not None:
        _lines(folder / "underlying.jsonl.gz", values)
    return folder


def _lines(path, rows):
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def listed(tape):
    return tape_catalogue(tape, RESOLUTION_NS, *RATES)


def follow(folder, event=None, **told):
    """A simulation in which the crowd follows the tape of a folder."""
    tape = read_tape(folder, event)
    return Simulation(CrowdPlan(CrowdSettings(**told), tuple(listed(tape)), tape))


def recorded(name):
    """The folder of a recorded tape; skips the test where it is not at hand."""
    root = Path(__file__).resolve().parents[3]
    base = Path(os.environ.get("LADDERMAKER_DATA", root.parent / "shared" / "data"))
    if not (base / name / "catalog.json").exists():
        pytest.skip(f"no recorded tape {name}: set LADDERMAKER_DATA to the folder of the tapes")
    return base / name
