"""Entries and segments of a journal, made by hand or drawn."""

from collections.abc import Iterable
from pathlib import Path

from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.settings import RiskSettings, TraderSettings
from bot.io.journal.records import OPENING, Entry, Head, framed
from venue.wire.money import Cents, Price, Qty
from venue.wire.names import MarketId, Ticker

RUNGS = tuple(MarketId(f"0b2c6a54-7d6e-5c0e-9d37-{number:012d}") for number in range(3))


RISK = RiskSettings(series_loss_cents=Cents(9_000), rung_position_qty=Qty(9), order_qty=Qty(9))
SETTINGS = TraderSettings(series_ticker=Ticker("ACME-VAL"), risk=RISK)


def segment(entries: Iterable[Entry], opening: bytes = OPENING) -> bytes:
    """A whole segment."""
    return opening + framed(Head(0, ())) + b"".join(framed(entry) for entry in entries)


def segment_file(path: Path, entries: Iterable[Entry], opening: bytes = OPENING) -> Path:
    path.write_bytes(segment(entries, opening))
    return path


def damage(path: Path, at: int | None = None) -> None:
    """Flip the bits of one byte of a file, the middle one by default."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 0xFF
    path.write_bytes(data)


def journal(folder: Path, *parts: list[Entry]) -> list[Path]:
    """A state directory with these segments."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"journal-{number:08d}.log" for number in range(1, len(parts) + 1)]
    return [segment_file(*each) for each in zip(paths, parts, strict=True)]


def book(at_ns: int, ts_ns: int, bids, asks, rung: MarketId = RUNGS[0]) -> Entry:
    """A frame of a book."""
    return Entry(at_ns, m.BookUpdate(rung, ts_ns, tuple(bids), tuple(asks)))


def ladder(low: int, high: int, *, best_first: bool):
    """A side of a book as a venue shows it."""
    prices = st.dictionaries(st.integers(low, high), st.integers(1, 10**6), max_size=8)
    return prices.map(
        lambda sizes: tuple(
            (Price(price), Qty(sizes[price])) for price in sorted(sizes, reverse=best_first)
        )
    )


_anything = st.lists(
    st.tuples(st.integers(-300, 300).map(Price), st.integers(-3, 2**62).map(Qty)), max_size=4
).map(tuple)
_bids = st.one_of(ladder(1, 60, best_first=True), _anything)
_asks = st.one_of(ladder(40, 99, best_first=False), _anything)
_times = st.one_of(
    st.integers(0, 2**63 - 1), st.integers(1_800_000_000 * 10**9, 1_800_000_060 * 10**9)
)
_books = st.builds(m.BookUpdate, st.sampled_from(RUNGS), _times, _bids, _asks)
_others = st.one_of(
    st.just(m.Tick()),
    st.builds(m.WakeAt, _times),
    st.builds(m.Trade, st.sampled_from(RUNGS), _times, st.text(max_size=5),
              st.integers(1, 99).map(Price), st.integers(1, 99).map(Qty), st.booleans()),
    st.builds(m.Noted, st.just("info"), st.text(max_size=9),
              st.dictionaries(st.text(max_size=4), st.integers(-9, 9), max_size=2)),
    st.builds(m.StopRequested, st.sampled_from(("BookUpdate", "WakeAt", "x" * 300))),
)  # fmt: skip
ENTRIES = st.lists(st.builds(Entry, _times, st.one_of(_books, _others)), max_size=30)
"""Entries of any kind, times in any order, books that no venue would show among them."""


def steady(count: int) -> list[Entry]:
    """Books of two rungs that change level by level, with beats between them."""
    entries = []
    for number in range(count):
        at_ns = 1_800_000_000 * 10**9 + number * 7_654_321
        bids = [(50 - depth, 10 + (number // 2 + depth) % 7) for depth in range(5)]
        asks = [(52 + depth, 10 + (number // 3 + depth) % 5) for depth in range(5)]
        entries.append(book(at_ns, at_ns - 3_000_000, bids, asks, RUNGS[number % 2]))
        entries.append(Entry(at_ns, m.Tick()))
        entries.append(Entry(at_ns, m.WakeAt(at_ns + 100_000_000)))
    return entries
