"""What follows from names: the ids of companies, events and markets, and the calendar quarter. The
same names give the same UUIDs on every start."""

import datetime
import re
import uuid
from typing import Final

import msgspec

from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import MarketId, ProjectId, Ticker

BINARY_LABEL: Final = "YES"

BINARY_OUTCOME: Final = "Yes"

NAME_PATTERN: Final = r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}"
"""A name, title or category. No control character, for it must fit one line; no half of a surrogate
pair."""

NAME_ACCEPTED: Final = "1 to 200 printable characters"

_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "urn:laddermaker:venue")
_LAST_DAYS: Final = 7
"""With fewer days left than this, the next quarter counts as the one under way."""

_CENTURY: Final = 2000
_STRIKE: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?", re.ASCII)
_QUARTER: Final = re.compile(r"([0-9]{2})Q([1-4])", re.ASCII)


class Quarter(msgspec.Struct, frozen=True):
    """A calendar quarter, UTC: year and number 1..4."""

    year: int
    number: int

    @classmethod
    def under_way(cls, now_ns: int) -> "Quarter":
        """The quarter of an instant, or the next one within its last seven days."""
        moment = datetime.datetime.fromtimestamp(now_ns // NS_PER_SECOND, tz=datetime.UTC)
        moment += datetime.timedelta(days=_LAST_DAYS)
        return cls(moment.year, (moment.month - 1) // 3 + 1)

    @classmethod
    def parse(cls, text: str) -> "Quarter":
        """The quarter of this century that `26Q4` names. Raises ValueError for another shape."""
        match = _QUARTER.fullmatch(text)
        if match is None:
            raise ValueError(f"not a quarter: {text!r} (two digits of the year, Q, 1 to 4)")
        return cls(_CENTURY + int(match[1]), int(match[2]))

    def after(self, quarters: int) -> "Quarter":
        year, index = divmod(self.year * 4 + self.number - 1 + quarters, 4)
        return Quarter(year, index + 1)

    @property
    def begin_ns(self) -> int:
        begin = datetime.datetime(self.year, self.number * 3 - 2, 1, tzinfo=datetime.UTC)
        return int(begin.timestamp()) * NS_PER_SECOND

    @property
    def end_ns(self) -> int:
        return self.after(1).begin_ns

    @property
    def resolves_ns(self) -> int:
        """When an event of it resolves by default: in its last second."""
        return self.end_ns - NS_PER_SECOND

    @property
    def ticker_part(self) -> str:
        return f"{self.year % 100:02d}Q{self.number}"

    def __str__(self) -> str:
        return f"Q{self.number} {self.year}"


def company_id(name: str) -> ProjectId:
    return ProjectId(_uuid("company", name))


def event_id(event_ticker: str) -> str:
    return _uuid("event", event_ticker)


def market_id(ticker: str) -> MarketId:
    return MarketId(_uuid("market", ticker))


def event_ticker(series_ticker: str, quarter: Quarter) -> Ticker:
    return Ticker(f"{series_ticker}-{quarter.ticker_part}")


def strike_of(label: str) -> str | None:
    """The decimal number that a rung's label begins with, 212.5 of 212.5B; None without one."""
    found = _STRIKE.match(label)
    return None if found is None else found[0]


def market_ticker(event: str, label: str) -> Ticker:
    return Ticker(f"{event}-{label}")


def rung_outcome(label: str) -> str:
    return f"above {label}"


def rung_name(company: str, label: str, quarter: Quarter) -> str:
    return f"{company} {rung_outcome(label)}, {quarter}"


def _uuid(kind: str, name: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{kind}:{name}"))
