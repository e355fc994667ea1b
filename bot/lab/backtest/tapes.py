"""The tapes of a folder, how their rungs ended, and tapes made from a journal of ours.

How a rung ended is read here and never reaches a trader. A journal's tape is the market
without us of its newest run. A book that was there when the recording began is there from then on,
so that all rungs begin together. The catalogue's `warnings` hold what a reader has to know.
"""

import functools
import gzip
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.core import messages as m
from bot.io.journal.journal import segments
from bot.io.journal.records import JournalFault
from bot.lab.backtest.compact_tape import tapes_kept
from bot.lab.calibrate import ends
from bot.lab.journal_market import GIVEN_BACK_NS, JournalMarket, MarketEvent, read_market
from bot.lab.session import Placed, beside_of, placed_entries, runs
from venue.crowd.tape import BookRecord, TradeRecord
from venue.crowd.tape import Tape as Tape
from venue.crowd.tape import TapeFault as TapeFault
from venue.crowd.tape import read_tapes as tapes_of
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Outcome, canonical
from venue.wire.names import MarketId
from venue.wire.strike import dollars_per_unit

_CATALOG: Final = "catalog.json"
_MADE: Final[dict[Path, tuple[Path, tempfile.TemporaryDirectory[str]]]] = {}
"""By the folder of each tape that was made here: its source, and the folder to delete."""


def tape_folders(folder: Path) -> tuple[Path, ...]:
    """The folder itself if it is a tape, else the tapes in it, by name. A journal becomes a tape
    that is deleted when this process ends. Raises TapeFault when there are none."""
    try:
        if (folder / _CATALOG).exists():
            return (folder,)
        own = folder.is_dir() and bool(segments(folder))
        found = () if own else tuple(sorted(path.parent for path in folder.glob(f"*/{_CATALOG}")))
    except OSError as fault:  # such as in the folder of another user
        raise TapeFault(f"{folder}: {fault.strerror}") from None
    if own:
        return (_made_of(folder.resolve()),)
    if not found:
        raise TapeFault(
            f"{folder}: no tape here: neither a {_CATALOG} nor folders with one, nor a journal"
        )
    return found


def read_tapes(folder: Path) -> Iterator[Tape]:
    """Every event of a folder that has records. Raises TapeFault, which names the journal of a tape
    made here."""
    try:
        yield from tapes_kept(folder, tapes_of)
    except TapeFault as fault:
        if folder not in _MADE:
            raise
        source, _ = _MADE[folder]
        text = str(fault).removeprefix(f"{folder}/").removeprefix(f"{folder}: ")
        raise TapeFault(f"{source}: as a tape: {text}") from None


@functools.cache
def _made_of(folder: Path) -> Path:
    scratch = tempfile.TemporaryDirectory(prefix="bot-tape-")
    into = Path(scratch.name) / folder.name
    _MADE[into] = folder, scratch
    write_tape(folder, into)
    return into


def tidy() -> None:
    """Clear away every tape that was made, as this process is about to end without a last word."""
    while _MADE:
        _MADE.popitem()[1][1].cleanup()


def warnings(folder: Path) -> tuple[str, ...]:
    """What a reader of a tape made from a journal has to know. Raises TapeFault."""
    if folder not in _MADE:
        return ()
    catalog: dict[str, Any] = msgspec.json.decode((folder / _CATALOG).read_bytes())
    return tuple(f"{catalog['tape']}: {text}" for text in catalog["warnings"])


def winners(tape: Tape, folder: Path) -> dict[MarketId, Outcome] | None:
    """What the rungs paid; None if the tape knows it of none. Of brackets, a rung between two pays
    YES if one above it did. Raises TapeFault."""
    try:
        won = ends(folder).get(tape.event, {})
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise TapeFault(f"{folder / _CATALOG}: {fault}") from None
    found: dict[MarketId, Outcome] = {}
    for place, rung in enumerate(tape.rungs):
        above = tape.sources[place + 1 :] if tape.partition else tape.sources[place : place + 1]
        paid = [won.get(source) for source in above]
        if True in paid:
            found[rung.market_id] = Outcome.YES
        elif None not in paid:
            found[rung.market_id] = Outcome.NO
    return found or None


_BEGINNING_NS: Final = 600 * NS_PER_SECOND


def write_tape(folder: Path, into: Path, level: int = 1) -> tuple[str, ...]:
    """Write the newest run of a state directory as a tape's folder; the same journal gives the same
    bytes. level: of gzip, 1 to 9. Returns what a reader has to know. Raises OSError if the folder
    is there, TapeFault when the journal cannot be read or has no frame of a listed rung."""
    warnings: list[str] = []
    try:
        run = next(runs(folder), None)
        paths = segments(folder) if run is None else run.paths
        entries = placed_entries(paths, from_the_start=run is not None)
        others = () if run is None else beside_of(run)
        market = read_market(_up_to_damage(entries, warnings), others)
    except JournalFault as fault:
        raise TapeFault(str(fault)) from None
    if not market.history:
        raise TapeFault(f"{folder}: no frame of a listed rung was recorded in its newest run")
    into.mkdir(parents=True)
    begun_ns = _begun_ns(market)
    with (
        (into / "tape.jsonl.gz").open("wb") as file,
        gzip.GzipFile("", "wb", level, file, mtime=0) as packed,
    ):
        # Of one instant of the venue what came first goes first.
        for each in sorted(
            market.history, key=lambda each: (max(each.seen.ts_ns, begun_ns), each.arrived_ns)
        ):
            packed.write(msgspec.json.encode(_record(market, each, begun_ns)) + b"\n")
    strikes = [each for each in market.markets.values() if each.strike_value]
    # A tape has one unit: the smallest, so that no strike gets more places than it had.
    units = {each.strike_unit or "" for each in strikes}
    unit = min(units, key=lambda text: (dollars_per_unit(text), text), default="")
    catalog = {
        "tape": f"run-{market.nonce[:10]}" if market.nonce else folder.resolve().name,
        "strike_unit": unit,
        "events": [
            {
                "event_ticker": event.event_ticker,
                "resolution_ns": instant.to_ns(event.resolution_date),
                "rungs": [
                    _rung(market, each, unit)
                    for each in market.markets.values()
                    if each.event_ticker == event.event_ticker
                ],
            }
            for event in market.events.values()
        ],
        "warnings": (said := (*warnings, *_warnings(market))),
    }
    (into / "catalog.json").write_bytes(msgspec.json.encode(catalog))
    return said


def _up_to_damage(entries: Iterator[Placed], warnings: list[str]) -> Iterator[Placed]:
    try:
        yield from entries
    except JournalFault as fault:
        warnings.append(str(fault))


def _begun_ns(market: JournalMarket) -> int:
    """When the first frame left the venue, by its clock. The one-percent quantile of the early
    delays is the latency plus the clock offset; the venue's clock may be set differently later."""
    first_ns = min(each.arrived_ns for each in market.history)
    early = [each for each in market.history if each.arrived_ns <= first_ns + _BEGINNING_NS]
    delays = sorted(each.arrived_ns - each.seen.ts_ns for each in early)
    return first_ns - delays[len(delays) // 100]


def _record(market: JournalMarket, each: MarketEvent, begun_ns: int) -> BookRecord | TradeRecord:
    seen, at_ns = each.seen, max(each.seen.ts_ns, begun_ns)
    ticker = market.markets[seen.market_id].ticker
    if isinstance(seen, m.Trade):
        bought = Outcome.YES if seen.taker_bought_yes else Outcome.NO
        return TradeRecord(at_ns, ticker, seen.price, seen.size, bought)
    no = tuple((canonical(Outcome.NO, price), qty) for price, qty in seen.asks)
    return BookRecord(at_ns, ticker, seen.bids, no)


def _rung(market: JournalMarket, rung: model.Market, unit: str) -> dict[str, Any]:
    """A rung of the catalogue, its strike in a unit no larger than its own. A single binary market
    becomes a bracket that is alone."""
    strike = rung.strike_value
    winner = market.winners.get(rung.market_id) or None
    row = {"ticker": rung.ticker, "strike": strike or "0", "outcome": winner}
    if not strike:
        return row | {"floor": "0", "cap": "0"}
    times = dollars_per_unit(rung.strike_unit) // dollars_per_unit(unit)
    return row if times == 1 else row | {"strike": f"{Decimal(strike) * times:f}"}


def _warnings(market: JournalMarket) -> Iterator[str]:
    run = f"run {market.nonce}" if market.nonce else "a run whose beginning is no longer kept"
    prints = sum(isinstance(each.seen, m.Trade) for each in market.history)
    yield f"{run}: {market.books} books, {prints + market.taken_prints} prints"
    if market.own_books:
        yield f"our own orders were taken off {market.own_books} books"
    if market.unfit_books:
        yield f"{market.unfit_books} books showed less than our own orders: nothing was left there"
    if market.crossed_books:
        yield f"{market.crossed_books} crossed books were left out"
    if market.taken_prints:
        yield (
            f"{market.taken_prints} prints that we made as taker were left out; what they took "
            f"stays for {GIVEN_BACK_NS // NS_PER_SECOND} s at most"
        )
    if met := sum(each.filled_us for each in market.history):
        yield f"{met} prints came to orders of ours; they stay in it"
