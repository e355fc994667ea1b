"""A run as pandas dataframes, for notebooks: quotes, curve, fills, markouts and diagnostics.

Each function takes a state directory (of which it shows the newest run), a segment, a file of
`bot backtest --save`, or the sessions of a backtest. `COLUMNS` has columns and types: `_cents`
canonical YES cents, `_ns` nanoseconds since 1970, `_qty` shares, `net_` YES shares less NO shares.
A frame that ends before its run comes with a `CutShortWarning`.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from bot.lab.export import LibraryFault, columns_of
from bot.lab.report.session import Session, SessionFill
from bot.lab.report.sources import ReportFault, sessions_of

if TYPE_CHECKING:
    from pandas import DataFrame


columns = partial(columns_of, usual="string")

COLUMNS: Final[dict[str, dict[str, str]]] = {
    "quotes": columns(
        "session bound at_ns:int64 phase ticker side others_cents:Int64 wanted_cents:Int64 "
        "resting_cents:Int64 resting_qty:int64 on_target:bool"
    ),
    "curve": columns(
        "session bound at_ns:int64 phase ticker strike fair_cents:float64 sd_cents:float64 "
        "bid_cents:Int64 ask_cents:Int64 net_qty:int64"
    ),
    "fills": columns(
        "session bound at_ns:int64 created_ns:int64 fill_id order_id ticker side price_cents:int64 "
        "qty:int64 fee_cents:int64 maker:bool fair_cents:float64 level:int64 strategy reason"
    ),
    "markouts": columns(
        "session bound fill_id at_ns:int64 ticker side qty:int64 against horizon_s:int64 "
        "value_cents:float64 markout_cents:float64"
    ),
    "diagnostics": columns("session bound at_ns:int64 event_ticker name value:float64"),
}
"""Columns in order, with pandas types; `Int64` and `string` may be missing, `float64` then is NaN.
"""

_REMEMBERED: Final = 4
_EVERY_S: Final = 1.0

Place = str | Path
Source = Place | Sequence[Session]
Row = dict[str, Any]


class CutShortWarning(UserWarning):
    """The frame ends before its run did."""


def pandas_library() -> Any:
    """pandas. Raises LibraryFault where it is not installed."""
    try:
        import pandas
    except ImportError:
        raise LibraryFault("pandas is not installed: pip install laddermaker[lab]") from None
    return pandas


def quotes(
    source: Source,
    *,
    every_s: float = _EVERY_S,
    config: Place | None = None,
    time_index: bool = False,
) -> "DataFrame":
    """A row for each rung and side every `every_s` seconds (of a backtest: at the moments that it
    keeps). on_target: True if all that was wanted rested.

    config: the file of the run, for a strategy in its folder. time_index: True for a DatetimeIndex
    of UTC, from `at_ns`, instead of row numbers. Raises JournalFault, ReportFault and LibraryFault.
    """
    return _framed("quotes", _sessions(source, every_s, config), _quotes, time_index)


def curve(
    source: Source,
    *,
    every_s: float = _EVERY_S,
    config: Place | None = None,
    time_index: bool = False,
) -> "DataFrame":
    """A row for each rung every `every_s` seconds. Arguments and faults as of `quotes`."""
    return _framed("curve", _sessions(source, every_s, config), _curve, time_index)


def fills(source: Source, *, config: Place | None = None, time_index: bool = False) -> "DataFrame":
    """A row for each booked fill; `at_ns` is when it could first be known, `created_ns` the venue's
    time. Arguments and faults as of `quotes`."""
    return _framed("fills", _sessions(source, _EVERY_S, config), _fills, time_index)


def markouts(
    source: Source, *, config: Place | None = None, time_index: bool = False
) -> "DataFrame":
    """A row for each fill, horizon and reference (`fair`, or the others' `mid`): cents a share that
    it moved in the fill's favour. Arguments and faults as of `quotes`."""
    return _framed("markouts", _sessions(source, _EVERY_S, config), _markouts, time_index)


def diagnostics(
    source: Source,
    *,
    every_s: float = _EVERY_S,
    config: Place | None = None,
    time_index: bool = False,
) -> "DataFrame":
    """A row for each event and named number of its strategy every `every_s` seconds. Arguments and
    faults as of `quotes`."""
    return _framed("diagnostics", _sessions(source, every_s, config), _diagnostics, time_index)


def _quotes(session: Session) -> Iterator[Row]:
    for moment in session.moments:
        for each in moment.levels:
            level = structs.asdict(each)
            for side in ("bid", "ask"):
                yield _named(session, each.rung) | {
                    "at_ns": moment.at_ns,
                    "phase": moment.phase,
                    "side": side,
                    "others_cents": level[side],
                    "wanted_cents": level[f"want_{side}"],
                    "resting_cents": level[f"own_{side}"],
                    "resting_qty": level[f"own_{side}_qty"],
                    "on_target": level[f"{side}_on_target"],
                }


def _curve(session: Session) -> Iterator[Row]:
    for moment in session.moments:
        for each in moment.levels:
            row = _named(session, each.rung) | structs.asdict(each)
            row |= {"at_ns": moment.at_ns, "phase": moment.phase}
            row |= {"bid_cents": each.bid, "ask_cents": each.ask}
            yield row | {"strike": session.rungs[each.rung].strike}


def _fill(session: Session, fill: SessionFill) -> Row:
    row = _named(session, fill.rung) | structs.asdict(fill)
    row |= {"side": fill.side.value, "price_cents": fill.price}
    return row | {"fair_cents": fill.fair_millicents / 1000}


def _fills(session: Session) -> Iterator[Row]:
    return (_fill(session, fill) for fill in session.fills)


def _markouts(session: Session) -> Iterator[Row]:
    for fill in session.fills:
        for value in fill.values:
            row = _fill(session, fill) | structs.asdict(value)
            row["value_cents"] = value.value_millicents / 1000
            yield row | {"markout_cents": fill.markout_cents(value)}


def _named(session: Session, rung: int) -> Row:
    return {"session": session.name, "bound": session.bound, "ticker": session.rungs[rung].ticker}


def _diagnostics(session: Session) -> Iterator[Row]:
    for moment in session.moments:
        for event, name, value in moment.diagnostics:
            yield {
                "session": session.name,
                "bound": session.bound,
                "at_ns": moment.at_ns,
                "event_ticker": event,
                "name": name,
                "value": value,
            }


def _framed(
    name: str,
    sessions: Sequence[Session],
    rows: Callable[[Session], Iterator[Row]],
    time_index: bool,
) -> "DataFrame":
    found = frame_of(COLUMNS[name], (row for session in sessions for row in rows(session)))
    return timed(found) if time_index else found


def frame_of(columns: dict[str, str], rows: Iterable[Row]) -> "DataFrame":
    """A frame of these columns and pandas types. Raises LibraryFault."""
    pandas = pandas_library()
    every = list(rows)
    frame: DataFrame = pandas.DataFrame(
        {
            key: pandas.Series([row[key] for row in every], dtype=kind)
            for key, kind in columns.items()
        }
    )
    return frame


def timed(frame: "DataFrame") -> "DataFrame":
    """The frame with `at_ns` as a DatetimeIndex of UTC that is named `time`."""
    pandas = pandas_library()
    times = pandas.to_datetime(frame["at_ns"], unit="ns", utc=True)
    return frame.drop(columns="at_ns").set_index(pandas.DatetimeIndex(times, name="time"))


def _sessions(source: Source, every_s: float, config: Place | None) -> Sequence[Session]:
    pandas_library()
    if not 0 <= every_s < math.inf:
        raise ReportFault(f"every_s: {every_s}; accepted is a number of seconds, 0 or more")
    if isinstance(source, str | Path):
        path = Path(source)
        folder = Path() if config is None else Path(config).parent
        found: Sequence[Session] = _remembered(path, _stamp(path), every_s, folder)
    else:
        found = source
    # Once for several readings of one backtest, at the line of the notebook.
    for why in dict.fromkeys(each.damage for each in found if each.damage):
        warnings.warn(f"{why}; the frame ends there", CutShortWarning, stacklevel=3)
    return found


def _stamp(path: Path) -> tuple[tuple[str, int, int], ...]:
    files = sorted(path.glob("journal-*")) if path.is_dir() else [path] if path.exists() else []
    return tuple((file.name, (at := file.stat()).st_size, at.st_mtime_ns) for file in files)


@lru_cache(maxsize=_REMEMBERED)
def _remembered(path: Path, _stamped: object, every_s: float, folder: Path) -> list[Session]:
    from bot.config.strategies import Makers

    return sessions_of(path, Makers(folder), every_s=every_s)
