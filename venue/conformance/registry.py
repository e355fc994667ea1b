"""What a check is: a function and, in its docstring, the statements that it proves, each as
`Heading | own words`. docs/venue.md is made of them."""

import enum
import inspect
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from venue.conformance.bench import Bench

CheckFunction = Callable[[Bench], None]
Checked = TypeVar("Checked", bound=CheckFunction)


class Needs(enum.Enum):
    KEY = "a key"  # one key of scopes read and trade
    KEYS = "two keys"  # keys of two users
    CONTROL = "the control API"


class Statement(msgspec.Struct, frozen=True):
    heading: str
    words: str


class Check(msgspec.Struct, frozen=True):
    """One check. readings: S-numbers that it rests on; another venue may answer otherwise."""

    name: str
    statements: tuple[Statement, ...]
    needs: Needs
    readings: tuple[str, ...]
    patient: bool
    run: CheckFunction


CHECKS: Final[list[Check]] = []
"""Every check in the order of the suite; filled by importing `venue.conformance.suite`'s files."""


def check(
    *, needs: Needs = Needs.CONTROL, readings: str = "", patient: bool = False
) -> Callable[[Checked], Checked]:
    """Register the decorated function. readings: S-numbers parted by spaces. patient: it waits for
    the directory's refresh, up to a minute, and so runs last."""

    def register(function: Checked) -> Checked:
        name = function.__name__.removeprefix("check_")
        numbers = tuple(readings.split())
        made = statements(inspect.getdoc(function) or "")
        CHECKS.append(Check(name, made, needs, numbers, patient, function))
        return function

    return register


def statements(text: str) -> tuple[Statement, ...]:
    """The statements of a docstring. Raises ValueError for a text without any."""
    found: list[list[str]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if " | " in line:
            found.append(line.split(" | ", 1))
        elif found:
            found[-1][1] += f" {line}"
        else:
            raise ValueError(f"no heading before {line!r}")
    if not found:
        raise ValueError("a check proves at least one statement")
    return tuple(Statement(heading, words.rstrip(".")) for heading, words in found)
