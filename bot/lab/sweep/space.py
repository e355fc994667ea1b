"""What a sweep goes over: keys of the configuration, each with the values that it may take.

Values stay texts, as they would stand in the YAML; what a key takes is checked where the file is.
"""

import itertools
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import msgspec

Settings = dict[str, str]
"""Text by key, in the order in which the keys were given."""

POINTS_MAX: Final = 10_000
"""Of one key, and of a whole grid."""

_KEY: Final = re.compile(r"[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+)*", re.ASCII)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?", re.ASCII)
_DIGITS: Final = 6
"""Of a number that is drawn: settings that are written alike are the same settings."""

_WANTED: Final = (
    "wanted: values by comma (1,2,3), LOW:HIGH:STEP (0.5:3:0.5), LOW:HIGH (0.5:3.0), "
    "LOW:HIGH:log, or LOW:HIGH:log:POINTS"
)


class SpaceFault(ValueError):
    """Keys or values that cannot be swept over; the text names the key and what is accepted."""


class Listed(msgspec.Struct, frozen=True):
    """A key that takes one of these values. ordered: numbers that rise, so near ones are alike."""

    key: str
    values: tuple[str, ...]
    ordered: bool

    @property
    def ends(self) -> tuple[str, ...]:
        """Values by which the key can be tried: all of them."""
        return self.values

    def at(self, share: float) -> str:
        """The value at a share of the way, 0 to below 1."""
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]


class Span(msgspec.Struct, frozen=True):
    """A key that takes any number between two, both included. log: equal ratios are equally far.
    whole: whole numbers alone."""

    key: str
    low: float
    high: float
    log: bool
    whole: bool

    @property
    def ends(self) -> tuple[str, ...]:
        """Values by which the key can be tried."""
        return self.text(self.low), self.text(self.high)

    def at(self, share: float) -> str:
        """The value at a share of the way, 0 to 1."""
        if self.log:
            return self.text(self.low * (self.high / self.low) ** share)
        return self.text(self.low + (self.high - self.low) * share)

    def text(self, value: float) -> str:
        """A number as it is written, within the ends."""
        held = min(max(value, self.low), self.high)
        if self.whole:
            return str(round(held))
        written = Decimal(f"{held:.{_DIGITS}g}")
        if not self.low <= written <= self.high:  # rounded beyond an end
            written = Decimal(repr(held))
        return format(written, "f")


Dimension = Listed | Span


def dimension(text: str) -> Dimension:
    """The key and its values that a text such as `risk.order_qty=10:50:10` names. Raises
    SpaceFault."""
    key, equals, said = text.partition("=")
    if not equals or _KEY.fullmatch(key) is None:
        raise SpaceFault(f"--over {text[:80]!r}: KEY=VALUES, such as strategy.params.levels=1,2,3")
    parts = said.split(":")
    if len(parts) > 1 and all(_NUMBER.fullmatch(part) for part in parts[:2]):
        return _ranged(key, said, parts)
    values = tuple(part.strip() for part in said.split(","))
    if not all(values) or len(dict.fromkeys(values)) < len(values):
        raise SpaceFault(f"--over {key}: {said[:80]!r}; {_WANTED}, none empty, none twice")
    return Listed(key, values, _rises(values))


def space(texts: Sequence[str]) -> tuple[Dimension, ...]:
    """All of them. Raises SpaceFault, also for a key that is given twice and for none at all."""
    if not texts:
        raise SpaceFault(f"--over: at least one key is wanted; {_WANTED}")
    found = tuple(dimension(text) for text in texts)
    keys = [each.key for each in found]
    for key in keys:
        if keys.count(key) > 1:
            raise SpaceFault(f"--over {key}: given twice")
        if any(other.startswith(f"{key}.") for other in keys):
            raise SpaceFault(f"--over {key}: another key stands inside of it")
    return found


def points(dimensions: Sequence[Dimension]) -> list[Settings]:
    """Every combination, the last key turning fastest. Raises SpaceFault where there is no end of
    them, or more than POINTS_MAX."""
    rows = []
    for each in dimensions:
        if isinstance(each, Span):
            raise SpaceFault(
                f"--over {each.key}: any number between two has no grid; give a step "
                "(LOW:HIGH:STEP, LOW:HIGH:log:POINTS), or --how random or bayes"
            )
        rows.append([(each.key, value) for value in each.values])
    count = math.prod(len(row) for row in rows)
    if count > POINTS_MAX:
        raise SpaceFault(f"a grid of {count} points; at most {POINTS_MAX}, or --how random")
    return [dict(point) for point in itertools.product(*rows)]


def size_of(dimensions: Sequence[Dimension]) -> int | None:
    """How many combinations there are; None where there is no end of them."""
    if any(isinstance(each, Span) for each in dimensions):
        return None
    return math.prod(len(each.ends) for each in dimensions)


def _rises(values: Sequence[str]) -> bool:
    if not all(_NUMBER.fullmatch(value) for value in values):
        return False
    return all(Decimal(a) < Decimal(b) for a, b in itertools.pairwise(values))


def _ranged(key: str, said: str, parts: Sequence[str]) -> Dimension:
    low, high = Decimal(parts[0]), Decimal(parts[1])
    wrong = SpaceFault(f"--over {key}: {said[:80]!r}; {_WANTED}, LOW below HIGH")
    whole = "." not in parts[0] and "." not in parts[1]
    if low >= high:
        raise wrong
    match parts[2:]:
        case []:
            if whole and high - low < POINTS_MAX:
                return _stepped(key, low, high, Decimal(1))
            return Span(key, float(low), float(high), log=False, whole=whole)
        case ["log", *count] if len(count) <= 1:
            if low <= 0:
                raise SpaceFault(f"--over {key}: {said[:80]!r}; a log range begins above 0")
            span = Span(key, float(low), float(high), log=True, whole=whole)
            if not count:
                return span
            if not count[0].isdecimal() or not 2 <= int(count[0]) <= POINTS_MAX:
                raise wrong
            last = int(count[0]) - 1
            values = dict.fromkeys(span.at(place / last) for place in range(last + 1))
            return Listed(key, tuple(values), ordered=True)
        case [step] if _NUMBER.fullmatch(step) and Decimal(step) > 0:
            return _stepped(key, low, high, Decimal(step))
        case _:
            raise wrong


def _stepped(key: str, low: Decimal, high: Decimal, step: Decimal) -> Listed:
    count = int((high - low) / step) + 1
    if count > POINTS_MAX:
        raise SpaceFault(f"--over {key}: {count} values; at most {POINTS_MAX}")
    values = tuple(format(low + place * step, "f") for place in range(count))
    return Listed(key, values, ordered=True)
