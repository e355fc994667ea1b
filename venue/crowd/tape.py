"""A recorded tape: read, checked, and listed as a catalogue of ours. How its markets ended is never
decoded, so no trader can learn it. Every fault is a TapeFault that names file and line."""

import datetime
import gzip
import itertools
import re
import uuid
import zlib
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec

from venue.engine.messages import Command, ListCompany, ListEvent, ListMarket
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import EventStatus
from venue.wire.money import PAYOUT_CENTS, PRICE_MAX, PRICE_MIN, FeeRate, Outcome
from venue.wire.names import MarketId, ProjectId, Ticker

_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "urn:laddermaker:tape")
_STRIKE: Final = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,8})?", re.ASCII)
_SERIES: Final = re.compile(r"[A-Z0-9]{1,30}", re.ASCII)
_LEAD_IN_BINS: Final = 100
_HOUR_NS: Final = 3600 * NS_PER_SECOND
_BRACKETS_MIN: Final = 4

# 2000 to 2100: seconds, milliseconds and microseconds lie before it, and no int64 beyond it.
_FIRST_NS: Final = 946_684_800 * NS_PER_SECOND
_LAST_NS: Final = 4_102_444_800 * NS_PER_SECOND
# An event that resolves one day may say so by the last instant that a calendar has.
_BEYOND_RESOLUTION_NS: Final = 253_402_300_800 * NS_PER_SECOND

TapeNs = Annotated[int, msgspec.Meta(ge=_FIRST_NS, le=_LAST_NS)]
TapePrice = Annotated[int, msgspec.Meta(ge=PRICE_MIN, le=PRICE_MAX)]
TapeQty = Annotated[int, msgspec.Meta(ge=1)]
TapeLevels = tuple[tuple[TapePrice, TapeQty], ...]


class TapeFault(Exception):
    """A tape cannot be played. `str()` names the file, the line where there is one, and why."""


class BookRecord(msgspec.Struct, frozen=True, tag="book", tag_field="type", gc=False):
    """A whole book after a change: resting bids of each outcome, best first."""

    ts: TapeNs
    ticker: str
    yes: TapeLevels
    no: TapeLevels


class TradeRecord(msgspec.Struct, frozen=True, tag="trade", tag_field="type", gc=False):
    """One execution; price in canonical YES cents, `taker_outcome` is what the taker bought."""

    ts: TapeNs
    ticker: str
    price: TapePrice
    qty: TapeQty
    taker_outcome: Outcome


class TopRecord(msgspec.Struct, frozen=True, tag="top", tag_field="type", gc=False):
    """Best prices in YES cents; None where that side is empty."""

    ts: TapeNs
    ticker: str
    yes_bid: TapePrice | None
    yes_ask: TapePrice | None


Record = BookRecord | TradeRecord | TopRecord


class UnderlyingRecord(msgspec.Struct, frozen=True):
    """One price of what the ladder is about, as decimal text."""

    ts: TapeNs
    symbol: str
    price: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,15}(\.[0-9]{1,12})?$")]


class _CatalogRung(msgspec.Struct, frozen=True):
    ticker: str
    strike: str
    floor: str | None = None
    cap: str | None = None


class _CatalogEvent(msgspec.Struct, frozen=True):
    event_ticker: str
    rungs: Annotated[tuple[_CatalogRung, ...], msgspec.Meta(min_length=1)]
    resolution_ns: int | None = None


class _TapeCatalog(msgspec.Struct, frozen=True):
    tape: str
    strike_unit: str
    events: Annotated[tuple[_CatalogEvent, ...], msgspec.Meta(min_length=1)]


class TapeRung(msgspec.Struct, frozen=True):
    """One market as it is listed here. `strike` None: a single binary market."""

    market_id: MarketId
    label: str
    strike: str | None


class Tape(msgspec.Struct, frozen=True, eq=False):
    """One event of a tape, ready to be played; equal to itself alone.

    sources: recorded tickers, lowest first. Each is a rung of its own, or, where `partition`,
    a bracket: then rung i lies between brackets i and i + 1.
    has_books: whether whole books were recorded, of any part of it: a part of it may hold none.
    records: the event's records, checked, in order of time. Equal sides of books are one object.
    start: the first record after the quiet lead-in; start_ts, end_ts: recorded ns.
    values: recorded ns and price of what the ladder is about; empty where none was recorded.
    resolution_ns: when the event was to resolve, where the catalogue says so.
    """

    name: str
    series: str
    event: str
    strike_unit: str
    sources: tuple[str, ...]
    partition: bool
    has_books: bool
    rungs: tuple[TapeRung, ...]
    records: tuple[Record, ...]
    start: int
    start_ts: int
    end_ts: int
    values: tuple[tuple[int, str], ...]
    resolution_ns: int | None = None

    @property
    def project_id(self) -> ProjectId:
        return ProjectId(_uuid("company", self.name))


_record_decoder: Final["msgspec.json.Decoder[Record]"] = msgspec.json.Decoder(Record)
_underlying_decoder: Final["msgspec.json.Decoder[UnderlyingRecord]"] = msgspec.json.Decoder(
    UnderlyingRecord
)


def closes_ns(tape: Tape) -> int:
    """When a tape's event resolves: as its catalogue says, else the full hour after its last
    record."""
    if tape.resolution_ns is not None and tape.resolution_ns > tape.end_ts:
        return tape.resolution_ns
    return -(-tape.end_ts // _HOUR_NS) * _HOUR_NS


def read_tape(folder: Path, choose_event: str | None = None) -> Tape:
    """Read and check the tape of a folder. choose_event: a recorded event ticker; None is the event
    with the most records. Raises TapeFault."""
    catalog, values, records = _read_records(folder)
    counts = Counter({name: len(found) for name, found in records.items()})
    chosen = choose_event or counts.most_common(1)[0][0]
    if not records.get(chosen):
        known = ", ".join(name for name, count in counts.items() if count)
        path = folder / "tape.jsonl.gz"
        raise TapeFault(f"{path}: no records of event {chosen}; recorded are: {known or 'none'}")
    event = next(event for event in catalog.events if event.event_ticker == chosen)
    return _tape(catalog, event, records[chosen], values, folder)


def read_tapes(folder: Path) -> Iterator[Tape]:
    """Every event of a folder that has records, in the order of the catalogue. Raises TapeFault."""
    catalog, values, records = _read_records(folder)
    for event in catalog.events:
        if records[event.event_ticker]:
            yield _tape(catalog, event, records[event.event_ticker], values, folder)


def _read_records(folder: Path) -> "tuple[_TapeCatalog, _Values, dict[str, list[Record]]]":
    catalog = _read_catalog(folder / "catalog.json")
    path = folder / "tape.jsonl.gz"
    owners = {rung.ticker: event for event in catalog.events for rung in event.rungs}
    records: dict[str, list[Record]] = {event.event_ticker: [] for event in catalog.events}
    share = _SharedSides()
    for number, record in _decoded(path, _record_decoder):
        owner = owners.get(record.ticker)
        if owner is None:
            raise TapeFault(f"{path}:{number}: {record.ticker} does not stand in catalog.json")
        wrong = _impossible(record)
        if wrong is not None:
            raise TapeFault(f"{path}:{number}: {wrong}")
        records[owner.event_ticker].append(share.shared(record))
    if not any(records.values()):
        raise TapeFault(f"{path}: no records")
    return catalog, _read_values(folder / "underlying.jsonl.gz"), records


class _SharedSides:
    """Keeps one object of equal levels and sides: most changes of a book leave one side as it was,
    so a day of books takes less memory than its text."""

    def __init__(self) -> None:
        self._levels: dict[tuple[int, int], tuple[int, int]] = {}
        self._sides: dict[TapeLevels, TapeLevels] = {}

    def shared(self, record: Record) -> Record:
        if not isinstance(record, BookRecord):
            return record
        yes, no = self._side(record.yes), self._side(record.no)
        return BookRecord(record.ts, record.ticker, yes, no)

    def _side(self, side: TapeLevels) -> TapeLevels:
        found = self._sides.get(side)
        if found is None:
            found = tuple([self._levels.setdefault(level, level) for level in side])
            self._sides[found] = found
        return found


def _impossible(record: Record) -> str | None:
    """What no market could have shown; None for nothing. Recorded books may be locked."""
    if isinstance(record, BookRecord):
        for outcome, levels in ((Outcome.YES, record.yes), (Outcome.NO, record.no)):
            prices = [price for price, _ in levels]
            if len(set(prices)) < len(prices):
                return f"{outcome} has a price twice"
        yes, no = (max((price for price, _ in side), default=0) for side in (record.yes, record.no))
        crossed = yes + no > PAYOUT_CENTS
        return f"crossed: bids of {yes} for yes and {no} for no" if crossed else None
    if isinstance(record, TopRecord) and record.yes_bid is not None and record.yes_ask is not None:
        crossed = record.yes_bid > record.yes_ask
        return f"crossed: {record.yes_bid} bid, {record.yes_ask} asked" if crossed else None
    return None


def tape_catalogue(
    tape: Tape, resolution_ns: int, maker_rate: FeeRate, taker_rate: FeeRate
) -> list[Command]:
    """The commands that list a tape's event: company, event, rungs in strike order. resolution_ns:
    when the event is said to resolve, in the future; it names the quarter in the tickers."""
    last = datetime.datetime.fromtimestamp((resolution_ns - 1) // NS_PER_SECOND, tz=datetime.UTC)
    event_ticker = Ticker(f"{tape.series}-{last.year % 100:02d}Q{(last.month - 1) // 3 + 1}")
    title = f"{tape.event}, as recorded"
    commands: list[Command] = [
        ListCompany(tape.project_id, f"Tape {tape.name}", tape.series),
        ListEvent(
            event_ticker=event_ticker,
            series_ticker=Ticker(tape.series),
            project_market_id=_uuid("event", tape.name, tape.event),
            project_id=tape.project_id,
            title=title,
            category="recorded",
            status=EventStatus.OPEN,
            mutually_exclusive=False,
            resolution_date_ns=resolution_ns,
        ),
    ]
    for rung in tape.rungs:
        above = None if rung.strike is None else f"above {rung.strike} {tape.strike_unit}"
        commands.append(
            ListMarket(
                market_id=rung.market_id,
                ticker=Ticker(f"{event_ticker}-{rung.label}"),
                event_ticker=event_ticker,
                name=title if above is None else f"{tape.series} {above}",
                outcome_label="Yes" if above is None else above,
                maker_fee_rate=maker_rate,
                taker_fee_rate=taker_rate,
                strike_value=rung.strike,
                strike_unit=None if rung.strike is None else tape.strike_unit,
            )
        )
    return commands


def _read_catalog(path: Path) -> _TapeCatalog:
    try:
        catalog = msgspec.json.decode(path.read_bytes(), type=_TapeCatalog)
    except OSError as fault:
        raise TapeFault(f"{path}: cannot be read: {fault.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise TapeFault(f"{path}: not a catalog: {fault}") from None
    for event in catalog.events:
        if _SERIES.fullmatch(event.event_ticker.split("-")[0]) is None:
            raise TapeFault(
                f"{path}: {event.event_ticker}: does not begin with a series ticker; accepted: up "
                "to 30 capital letters and digits before the first -"
            )
        for rung in event.rungs:
            if _STRIKE.fullmatch(rung.strike) is None:
                raise TapeFault(
                    f"{path}: {rung.ticker}: {rung.strike!r} is no strike; accepted: a decimal "
                    "number of at least 0, such as 212.5: 15 digits and 8 decimals at most"
                )
        resolution_ns = event.resolution_ns
        if resolution_ns is not None and not _FIRST_NS <= resolution_ns < _BEYOND_RESOLUTION_NS:
            raise TapeFault(
                f"{path}: {event.event_ticker}: resolution_ns {resolution_ns}; accepted: "
                "nanoseconds since 1970, of the years 2000 to 9999"
            )
        strikes = [Decimal(rung.strike) for rung in event.rungs]
        if len(set(strikes)) < len(strikes):
            raise TapeFault(f"{path}: {event.event_ticker}: two rungs of one strike")
    # These names alone tell records apart.
    events = Counter(event.event_ticker for event in catalog.events)
    tickers = Counter(rung.ticker for event in catalog.events for rung in event.rungs)
    for name, count in [*events.items(), *tickers.items()]:
        if count > 1:
            raise TapeFault(f"{path}: {name}: occurs {count} times")
    return catalog


Stamped = TypeVar("Stamped", BookRecord | TradeRecord | TopRecord, UnderlyingRecord)


def _decoded(path: Path, decoder: "msgspec.json.Decoder[Stamped]") -> Iterator[tuple[int, Stamped]]:
    """The number of each line and its record, in order of time. Raises TapeFault."""
    number, last_ts = 0, 0
    try:
        with gzip.open(path) as file:
            for number, line in enumerate(file, 1):
                record = decoder.decode(line)
                if record.ts < last_ts:
                    raise TapeFault(f"{path}:{number}: ts goes back from {last_ts} to {record.ts}")
                last_ts = record.ts
                yield number, record
    except gzip.BadGzipFile as fault:
        raise TapeFault(f"{path}:{number + 1}: not gzip: {fault}") from None
    except (EOFError, zlib.error) as fault:
        raise TapeFault(f"{path}:{number + 1}: damaged: {fault}") from None
    except OSError as fault:
        raise TapeFault(f"{path}: cannot be read: {fault.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise TapeFault(f"{path}:{number}: {fault}") from None


def _tape(
    catalog: _TapeCatalog,
    event: _CatalogEvent,
    records: list[Record],
    values: "_Values",
    folder: Path,
) -> Tape:
    ladder = sorted(event.rungs, key=lambda rung: Decimal(rung.strike))
    kinds = {type(record) for record in records}
    partition = kinds == {TopRecord}
    if TopRecord in kinds and not partition:
        raise TapeFault(f"{folder}: {event.event_ticker}: best prices next to books or executions")
    strikes: list[str | None]
    if partition:
        strikes = [*_boundaries([Decimal(rung.strike) for rung in ladder], folder)]
    elif all(rung.cap is None and rung.floor is None for rung in ladder):
        strikes = [rung.strike for rung in ladder]
    elif len(ladder) == 1:
        # A lone bracket is no rung of a survival ladder: it is a yes or no of its own.
        strikes = [None]
    else:
        raise TapeFault(f"{folder}: {event.event_ticker}: brackets with books cannot be a ladder")
    times = [record.ts for record in records]
    start = _lead_in(times)
    return Tape(
        name=catalog.tape,
        series=event.event_ticker.split("-")[0],
        event=event.event_ticker,
        strike_unit=catalog.strike_unit,
        sources=tuple(rung.ticker for rung in ladder),
        partition=partition,
        has_books=BookRecord in kinds,
        rungs=tuple(_rung(catalog.tape, event.event_ticker, strike) for strike in strikes),
        records=tuple(records),
        start=start,
        start_ts=times[start],
        end_ts=times[-1],
        values=_values_near(values, Decimal(ladder[len(ladder) // 2].strike)),
        resolution_ns=event.resolution_ns,
    )


def _rung(tape: str, event: str, strike: str | None) -> TapeRung:
    label = "YES" if strike is None else strike
    return TapeRung(MarketId(_uuid("market", tape, event, label)), label, strike)


def _boundaries(strikes: list[Decimal], folder: Path) -> Iterator[str]:
    """The strikes between brackets whose middles are given, first and last being open-ended."""
    if len(strikes) < _BRACKETS_MIN:
        raise TapeFault(f"{folder}: a partition of fewer than {_BRACKETS_MIN} brackets")
    middles = strikes[1:-1]
    width = middles[1] - middles[0]
    for below, above in itertools.pairwise(middles):
        if above - below != width:
            raise TapeFault(
                f"{folder}: the middles of brackets {below} and {above} do not lie {width} apart "
                f"as {middles[0]} and {middles[1]} do; accepted are inner brackets of one width"
            )
    half = width / 2
    for boundary in [middles[0] - half, *(middle + half for middle in middles)]:
        yield format(boundary.normalize(), "f")


def _lead_in(times: list[int]) -> int:
    """The first record of the first hundredth of the span with half the mean activity."""
    span = times[-1] - times[0] + 1
    bins = Counter((ts - times[0]) * _LEAD_IN_BINS // span for ts in times)
    lively = min(
        number for number, count in bins.items() if count * 2 * _LEAD_IN_BINS >= len(times)
    )
    return next(
        place for place, ts in enumerate(times) if (ts - times[0]) * _LEAD_IN_BINS // span >= lively
    )


_Values = dict[str, tuple[tuple[int, str], ...]]
"""Recorded ns and price of each symbol."""


def _read_values(path: Path) -> _Values:
    """Empty if the file is missing."""
    found: dict[str, list[tuple[int, str]]] = {}
    if path.exists():
        for _, record in _decoded(path, _underlying_decoder):
            found.setdefault(record.symbol, []).append((record.ts, record.price))
    return {symbol: tuple(rows) for symbol, rows in found.items()}


def _values_near(values: _Values, strike: Decimal) -> tuple[tuple[int, str], ...]:
    """The prices of the symbol whose first price is nearest to a strike."""
    near = min(values, key=lambda symbol: abs(Decimal(values[symbol][0][1]) - strike), default=None)
    return () if near is None else values[near]


def _uuid(*parts: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, ":".join(parts)))
