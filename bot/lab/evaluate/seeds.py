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
    """These seeds cannot be run; the text says why."""


def seeds_named(text: str) -> range:
    """The seeds of a text such as `1-999` or `7`. Raises SeedFault when it is none."""
    first, dash, last = text.strip().partition("-")
    ends = (first, last) if dash else (first, first)
    if not (all(map(is_whole, ends)) and 1 <= int(ends[0]) <= int(ends[1])):
        raise SeedFault(f"seeds {text!r}: two numbers from 1 on, the smaller first, such as 1-999")
    return range(int(ends[0]), int(ends[1]) + 1)


def is_held_out(seeds: range) -> bool:
    """True where any of them is of the holdout."""
    return seeds.start < HOLDOUT.stop and seeds.stop > HOLDOUT.start


def span(seeds: range) -> str:
    """As `seeds_named` takes them."""
    return f"{seeds.start}-{seeds.stop - 1}"


def blocks_named(seeds: str, tune: str, *, holdout: bool) -> tuple[range, range | None]:
    """The seeds that are reported and those that settings are chosen on. Raises SeedFault for those
    of the holdout without its flag, and where both share a seed."""
    reported = seeds_named(seeds)
    tuned = seeds_named(tune) if tune else None
    for block in (reported, tuned):
        if block is not None and is_held_out(block) and not holdout:
            raise SeedFault(
                f"seeds {span(block)}: 9001-9999 are the holdout, looked at once per release; "
                "--holdout opens it and logs that"
            )
    if tuned is not None and tuned.start < reported.stop and reported.start < tuned.stop:
        raise SeedFault(
            f"--tune {span(tuned)} shares seeds with --seeds {span(reported)}: what is chosen on a "
            "seed says nothing there; take others, or leave --tune out and have that said"
        )
    return reported, tuned


def log_opening(
    path: Path, date: str, seeds: range, strategies: str, worlds: str, code: str
) -> None:
    """Add a line to the log of openings. Raises SeedFault where it cannot be written."""
    line = f"| {date} | {span(seeds)} | {strategies} | {worlds} | {code} |\n"
    try:
        head = "" if path.exists() else _HEAD
        with path.open("a", encoding="utf-8") as log:
            log.write(head + line)
    except OSError as fault:
        raise SeedFault(
            f"--holdout: {path}, where each opening is logged, cannot be written from here: "
            f"{fault.strerror}; nothing was opened"
        ) from None
