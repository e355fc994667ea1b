"""From what was asked for to the page: sources, groups of sessions side by side, the whole file."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import structs

from bot.core.reconfigure import Remake
from bot.io.journal.journal import number_of
from bot.lab.report import sensitivity
from bot.lab.report.page import Group, events_table, page
from bot.lab.report.relive import NoSource, ReportFault, Told, saved, session_of
from bot.lab.report.sensitivity import Sensitivity
from bot.lab.report.session import Mode, Session
from bot.lab.report.watch import Watch
from bot.page.skeleton import columns, escaped, panel

EVENTS_DRAWN_MAX: Final = 3
"""Events of a backtest that have figures of their own; all of them have their row."""

_SEGMENTS: Final = (".log", ".arc")


def sessions_of(
    source: Path,
    remake: Remake,
    told: Told = lambda _events: None,
    every_s: float | None = None,
) -> list[Session]:
    """The sessions of a state directory, a journal or a backtest's result. every_s: of a journal a
    moment and a picture so often, however many; None: a bounded number of them.

    Raises JournalFault as `session_of` does, and NoSource as `saved` does, or when a result is
    empty.
    """
    try:
        is_folder = source.is_dir()
    except OSError as fault:  # such as in the folder of another user
        raise NoSource(f"{source}: {fault.strerror}") from None
    if is_folder or source.suffix in _SEGMENTS or number_of(source) >= 0:
        watching = Watch if every_s is None else partial(Watch, most=None, every_s=every_s)
        return [session_of(source, remake, watching, told)]
    found = saved(source)
    if not found:
        raise NoSource(f"{source}: a backtest without any result")
    return found


def report(sessions: Sequence[Session], swept: Sensitivity | None = None) -> str:
    """The page of one source. swept: for the figures of sensitivity."""
    title = f"{sessions[0].name}: report"
    if sessions[0].mode is Mode.JOURNAL:
        groups = [Group(each.name, (each.name,), (each,)) for each in sessions]
        return page(title, groups, below=_swept(swept))
    by_event = _by_event(sessions)
    drawn = sorted(by_event, key=lambda name: -sum(len(each.fills) for each in by_event[name]))
    chosen = [name for name in by_event if name in drawn[:EVENTS_DRAWN_MAX]]
    groups = []
    for name in chosen:
        apart = _apart(by_event[name])
        labels = tuple(f"queue {', '.join(each.bound for each in same)}" for same in apart)
        groups.append(Group(name, labels, tuple(same[0] for same in apart)))
    title = f"{', '.join(dict.fromkeys(_tape(each) for each in sessions))}: backtest"
    return page(title, groups, events_table(sessions, len(chosen)), _swept(swept))


def compared(
    first: Sequence[Session], second: Sequence[Session], swept: Sensitivity | None = None
) -> str:
    """The page of two sources side by side. Raises ReportFault when nothing of theirs pairs."""
    groups = [
        Group(name, (f"A: {one.name}", f"B: {other.name}"), (one, other), compared=True)
        for name, one, other in pairs(first, second)
    ]
    title = f"{first[0].name} and {second[0].name}: compared"
    drawn = groups[:EVENTS_DRAWN_MAX]
    left = len(groups) - len(drawn)
    more = f"<p>{left} more pairs are in the JSON alone.</p>" if left else ""
    return page(title, drawn, more, _swept(swept))


def pairs(
    first: Sequence[Session], second: Sequence[Session]
) -> list[tuple[str, Session, Session]]:
    """Sessions that belong beside each other: of backtests those of one event and bound, else the
    two that there are. Raises ReportFault when there are none."""
    if len(first) == len(second) == 1:
        return [("A and B", first[0], second[0])]
    others = {(each.name, each.bound): each for each in second}
    found = [
        (f"{each.name}, queue {each.bound}", each, others[each.name, each.bound])
        for each in first
        if (each.name, each.bound) in others
    ]
    if not found:
        raise ReportFault("--compare: the two have no event under one bound in common")
    return found


def _by_event(sessions: Sequence[Session]) -> dict[str, list[Session]]:
    found: dict[str, list[Session]] = {}
    for each in sessions:
        found.setdefault(each.name, []).append(each)
    return found


def _apart(sessions: Sequence[Session]) -> list[list[Session]]:
    """Sessions of one event; those that came to the very same under several readings together."""
    found: list[list[Session]] = []
    for each in sessions:
        for same in found:
            if structs.replace(each, bound="", result=None) == structs.replace(
                same[0], bound="", result=None
            ):
                same.append(each)
                break
        else:
            found.append([each])
    return found


def _tape(session: Session) -> str:
    return session.name if session.result is None else session.result.tape


def _swept(found: Sensitivity | None) -> str:
    if found is None:
        return ""
    lack = f" {found.left_out} trials lack a case, or {found.number}, and are left out."
    left = lack if found.left_out else ""
    damaged = f" In the file, {found.damage}." if found.damage else ""
    intro = (
        f"{len(found.tried)} trials of {found.source}: the mean of {found.number} over "
        f"{found.cases} cases each.{left}{damaged} A mark is a trial, the line joins means by "
        "value."
    )
    inner = f"<p class='soft'>{escaped(intro)}</p>{columns(sensitivity.figures(found), 2)}"
    return panel("sensitivity", "Sensitivity", inner)
