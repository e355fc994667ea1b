"""The report as one HTML file: each figure of up to three sessions side by side.

Words or a table say what each plot shows. A plot without data says why in its place.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from bot.lab.backtest.run import Result
from bot.lab.report.compare import differences, pairs
from bot.lab.report.figures import FIGURES, drawn
from bot.lab.report.session import Session
from bot.lab.report.text import dollars, filled, final_cents, findings, span_text, when
from bot.page.skeleton import columns, escaped, folded, html_page, panel, table

EVENTS_DRAWN_MAX: Final = 3
"""Events of a backtest that have figures of their own; all of them have their row."""


class Group(msgspec.Struct, frozen=True):
    """Up to three sessions side by side. labels: what stands over each; compared: True for two of
    which the second is shown as a difference to the first."""

    title: str
    labels: tuple[str, ...]
    sessions: tuple[Session, ...]
    compared: bool = False


def report(sessions: Sequence[Session]) -> str:
    """The page of one source."""
    if not sessions[0].is_backtest:
        groups = [Group(each.name, (each.name,), (each,)) for each in sessions]
        return page(f"{sessions[0].name}: report", groups)
    by_event: dict[str, list[Session]] = {}
    for each in sessions:
        by_event.setdefault(each.name, []).append(each)
    most = sorted(by_event, key=lambda name: -sum(len(each.fills) for each in by_event[name]))
    groups = []
    for name in [name for name in by_event if name in most[:EVENTS_DRAWN_MAX]]:
        apart = _apart(by_event[name])
        labels = tuple(f"queue {', '.join(each.bound for each in same)}" for same in apart)
        groups.append(Group(name, labels, tuple(same[0] for same in apart)))
    results = [each.result for each in sessions if each.result is not None]
    title = f"{', '.join(dict.fromkeys(each.tape for each in results))}: backtest"
    return page(title, groups, _events(results, len(groups)))


def compared(first: Sequence[Session], second: Sequence[Session]) -> str:
    """The page of two sources side by side. Raises ReportFault when nothing of theirs pairs."""
    groups = [
        Group(name, (f"A: {one.name}", f"B: {other.name}"), (one, other), compared=True)
        for name, one, other in pairs(first, second)
    ]
    title = f"{first[0].name} and {second[0].name}: compared"
    left = len(groups) - EVENTS_DRAWN_MAX
    more = f"<p>{left} more pairs are in the JSON alone.</p>" if left > 0 else ""
    return page(title, groups[:EVENTS_DRAWN_MAX], more)


def _apart(sessions: Sequence[Session]) -> list[list[Session]]:
    """Sessions of one event; those that came to the very same under several readings together."""
    found: list[list[Session]] = []
    for each in sessions:
        plain = msgspec.structs.replace(each, bound="", result=None)
        for same in found:
            if plain == msgspec.structs.replace(same[0], bound="", result=None):
                same.append(each)
                break
        else:
            found.append([each])
    return found


def page(title: str, groups: Sequence[Group], above: str = "") -> str:
    """The whole file. above: more HTML before the groups."""
    inner = "".join(_group(group, place, len(groups)) for place, group in enumerate(groups))
    return html_page(title, f"{above}{inner}")


def _group(group: Group, place: int, count: int) -> str:
    sessions, name = group.sessions, f"g{place}"
    linked = [*((each.key, each.head) for each in FIGURES), ("limits", "Limits")]
    links = "".join(f"<li><a href='#{name}-{k}'>{escaped(text)}</a></li>" for k, text in linked)
    heads = zip(group.labels, sessions, strict=True)
    parts = [
        f"<h2 class='group' id='{name}'>{escaped(group.title)}</h2>" if count > 1 else "",
        f"<nav aria-label='{escaped(group.title)}: figures'><ul class='links'>{links}</ul></nav>",
        columns([_head(label, session) for label, session in heads]),
    ]
    if group.compared:
        parts.append(panel(f"{name}-compared", "Differences", differences(*sessions)))
    for each in FIGURES:
        figures = drawn(each, sessions)
        if len(figures) > 1:
            figures = [
                f"<p class='label'>{escaped(label)}</p>{figure}"
                for label, figure in zip(group.labels, figures, strict=True)
            ]
        parts.append(panel(f"{name}-{each.key}", each.head, columns(figures)))
    parts.append(panel(f"{name}-limits", "What this cannot show", _limits(group)))
    return "".join(parts)


def _head(label: str, session: Session) -> str:
    """The key figures of a session, and what it was."""
    rows = [
        ("profit after fees", dollars(final_cents(session).get("profit", session.pnl_cents))),
        ("fees", dollars(session.fees_cents)),
        ("fills", f"{filled(session)[0]:,}"),
        ("worst case at most", dollars(session.worst_max_cents)),
        ("requests", f"{sum(each.sent for each in session.answers.values()):,}"),
        ("refused", f"{sum(session.refused.values()):,}"),
        ("decisions", f"{session.decisions:,}"),
    ]
    figures = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)
    what = [f"series {session.series}", f"lived {span_text(session.seconds)}"]
    if session.bound:
        what.insert(0, f"queue {session.bound}")
    if not session.is_backtest:
        what += [f"from {when(session.begun_ns)}", f"run {session.run}"]
    what.append(f"{session.events:,} events")
    warned = "".join(f"<p class='finding'>{escaped(line)}</p>" for line in findings(session))
    name, _, params = session.strategy.partition(" ")
    shown = f"<p class='soft'>{escaped(params)}</p>"
    strategy = folded(f"strategy {name} and its parameters", shown) if name else ""
    return (
        f"<section class='head' aria-label='{escaped(label)}'><p class='label'>{escaped(label)}"
        f"</p><dl class='figures'>{figures}</dl><p class='soft'>{escaped(' · '.join(what))}</p>"
        f"{strategy}{warned}</section>"
    )


def _limits(group: Group) -> str:
    lines = [line for each in group.sessions for line in each.limits]
    lines += [
        f"Sampled every {span_text(each.every_ns / 1e9)}: profit, inventory, worst case, ladder; "
        "fills, requests and refusals are whole. The worst case in words is of every decision."
        for each in group.sessions
        if each.moments
    ]
    items = "".join(f"<li>{escaped(line)}</li>" for line in dict.fromkeys(lines))
    return (
        f"<ul>{items}<li>What each mode can show stands in docs/limits.md of the program.</li></ul>"
    )


def _events(results: Sequence[Result], shown: int) -> str:
    """Every event and bound of a backtest in a row. shown: how many events have figures below."""
    rows = [
        _event(f"{each.tape} {each.event}", each.bound, [each], each.settled) for each in results
    ]
    bounds = dict.fromkeys(each.bound for each in results)
    for bound in bounds:
        rows.append(_event("all", bound, [each for each in results if each.bound == bound], ""))
    head = ("event", "queue", "profit", "fees", "fills", "came", "took", "requests", "worst case",
            "settled by")  # fmt: skip
    events = len({(each.tape, each.event) for each in results})
    note = ""
    if shown < events:
        note = f"<p>Drawn below are the {shown} events with the most fills, of {events}.</p>"
    inner = table("By reading of the queue", head, rows, sums=len(bounds))
    return panel("events", "Every event", inner + note)


def _event(name: str, bound: str, results: Sequence[Result], settled: str) -> tuple[object, ...]:
    """What some results come to together."""
    return (
        name,
        bound,
        dollars(round(sum(each.net_millicents for each in results) / 1000)),
        dollars(sum(each.fees_cents for each in results)),
        sum(each.fills for each in results),
        f"{sum(each.maker_qty for each in results):,}",
        f"{sum(each.taker_qty for each in results):,}",
        f"{sum(sum(each.requests.values()) for each in results):,}",
        dollars(max(each.worst_case_max_cents for each in results)),
        settled,
    )
