"""The sources of values from outside that a configuration names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bot.config.secrets import SHORT_NAME, Wrong, check_address, file_in
from bot.config.sections import OutsideSourcePart
from bot.core.settings import OPERATOR, OutsideSource
from bot.io.outside_values import PolledSource
from venue.wire.instant import NS_PER_MS

SOURCES_MAX: Final = 16


def settings_of(parts: Sequence[OutsideSourcePart]) -> tuple[OutsideSource, ...]:
    """How far each source is believed, for the trader."""
    return tuple(
        OutsideSource(
            name=part.name,
            weight=part.weight,
            max_age_ns=part.max_age_ms * NS_PER_MS,
            max_deviations=part.max_deviations,
        )
        for part in parts
    )


def polled_sources(parts: Sequence[OutsideSourcePart], folder: Path) -> tuple[PolledSource, ...]:
    """Where those are that are polled; files are taken from this folder."""
    return tuple(
        PolledSource(
            name=part.name,
            file=None if part.file is None else file_in(folder, part.file),
            url=part.url,
            poll_ns=part.poll_ms * NS_PER_MS,
        )
        for part in parts
        if part.name != OPERATOR
    )


def check_sources(parts: Sequence[OutsideSourcePart], wrong: Wrong) -> None:
    """The checks over several keys of a source."""
    place = ("fair_value", "sources")
    if len(parts) > SOURCES_MAX:
        wrong((*place, SOURCES_MAX), f"{len(parts)} sources; accepted: at most {SOURCES_MAX}")
    names = [part.name for part in parts]
    for number, part in enumerate(parts):
        at = (*place, number)
        if SHORT_NAME.fullmatch(part.name) is None:
            accepted = "small letters, digits, - and _"
            wrong((*at, "name"), f"{part.name[:60]!r}; accepted: {accepted}")
        elif part.name in names[:number]:
            wrong((*at, "name"), f"{part.name!r} twice; accepted: a name of its own")
        if part.name == OPERATOR:
            for key in ("file", "url"):
                if getattr(part, key) is not None:
                    wrong((*at, key), f"not with {OPERATOR}, whose values `bot value set` states")
        elif (part.file is None) == (part.url is None):
            wrong((*at, "file"), "exactly one of file and url is wanted")
        if part.url is not None:
            check_address((*at, "url"), part.url, ("http", "https"), wrong)
