"""Which seeds may be looked at when: blocks, and the log of every opening of the holdout."""

from pathlib import Path
from typing import Final

from bot.lab.digits import is_whole

HOLDOUT: Final = range(9001, 10_000)

_HEAD: Final = (
    "# Openings of the holdout\n\n"
    "Seeds 9001-9999 are looked at once per release. `bot evaluate --holdout` adds a line here\n"
    "before it lives through the first of them.\n\n"
    "| date (UTC) | seeds | strategies | worlds | code |\n|---|---|---|---|---|\n"
)


class SeedFault(Exception):
    """Seeds that cannot be lived through; the text says why."""


def seeds_named(text: str) -> range:
    """The seeds of a text such as `1-999` or `7`. Raises SeedFault when it is none."""
    first, dash, last = text.strip().partition("-")
    ends = (first, last) if dash else (first, first)
    if not all(map(is_whole, ends)):
        raise SeedFault(f"seeds {text!r}: two numbers, the smaller first, such as 1-999")
    low, high = int(ends[0]), int(ends[1])
    if not 1 <= low <= high:
        raise SeedFault(f"seeds {text!r}: two numbers from 1 on, the smaller first, such as 1-999")
    return range(low, high + 1)


def is_held_out(seeds: range) -> bool:
    """Whether any of them is of the holdout."""
    return seeds.start < HOLDOUT.stop and seeds.stop > HOLDOUT.start


def admit(seeds: range, *, holdout: bool) -> None:
    """Let seeds be lived through. Raises SeedFault for those of the holdout without the flag."""
    if is_held_out(seeds) and not holdout:
        raise SeedFault(
            f"seeds {seeds.start}-{seeds.stop - 1}: 9001-9999 are the holdout, looked at once per "
            "release; --holdout opens it and logs that"
        )


def apart(tuned: range, reported: range) -> None:
    """Raises SeedFault where settings would be chosen on seeds that are reported."""
    if tuned.start < reported.stop and reported.start < tuned.stop:
        raise SeedFault(
            f"--tune {tuned.start}-{tuned.stop - 1} shares seeds with --seeds "
            f"{reported.start}-{reported.stop - 1}: what is chosen on a seed says nothing there; "
            "take others, or leave --tune out and have that said"
        )


def log_opening(
    path: Path, date: str, seeds: range, strategies: str, worlds: str, code: str
) -> None:
    """Add a line to the log of openings, which begins with a heading. Raises SeedFault where it
    cannot be written."""
    line = f"| {date} | {seeds.start}-{seeds.stop - 1} | {strategies} | {worlds} | {code} |\n"
    try:
        head = "" if path.exists() else _HEAD
        with path.open("a", encoding="utf-8") as log:
            log.write(head + line)
    except OSError as fault:
        raise SeedFault(
            f"--holdout: {path}, where each opening is logged, cannot be written from here: "
            f"{fault.strerror}; nothing was opened"
        ) from None
