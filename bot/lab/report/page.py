"""The report as one HTML file, up to three sessions side by side, and the comparison of two."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np

from bot.core.account.markouts import MILLI
from bot.lab.backtest.run import Result
from bot.lab.evaluate.statistics import mean_difference, resamples
from bot.lab.report.figures import drawn, figures_of
from bot.lab.report.sampler import KINDS
from bot.lab.report.session import (
    Session,
    SessionSample,
    filled,
    final_cents,
    findings,
    plain,
    span_text,
    when,
)
from bot.lab.report.sources import ReportFault
from bot.page.skeleton import columns, escaped, folded, html_page, numbers, panel, table
from bot.page.text import income
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import dollars

EVENTS_DRAWN_MAX: Final = 3  # events of a backtest that have figures; all of them have a row


class Group(msgspec.Struct, frozen=True):
    title: str
    labels: tuple[str, ...]
    sessions: tuple[Session, ...]
    compared: bool = False  # True for two, with their differences


def report(sessions: Sequence[Session]) -> str:
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
    """Raises ReportFault when nothing pairs."""
    groups = [
        Group(name, (f"A: {one.name}", f"B: {other.name}"), (one, other), compared=True)
        for name, one, other in pairs(first, second)
    ]
    title = f"{first[0].name} and {second[0].name}: compared"
    left = len(groups) - EVENTS_DRAWN_MAX
    more = f"<p>{left} more pairs are in the JSON alone.</p>" if left > 0 else ""
    return page(title, groups[:EVENTS_DRAWN_MAX], more)


def _apart(sessions: Sequence[Session]) -> list[list[Session]]:
    """Sessions of one event; those that are equal under several queue models together."""
    found: list[tuple[Session, list[Session]]] = []
    for each in sessions:
        plain = msgspec.structs.replace(each, bound="", result=None)
        same = next((those for one, those in found if one == plain), None)
        if same is None:
            found.append((plain, [each]))
        else:
            same.append(each)
    return [those for _, those in found]


def page(title: str, groups: Sequence[Group], above: str = "") -> str:
    """above: HTML before the groups."""
    inner = "".join(_group(group, place, len(groups)) for place, group in enumerate(groups))
    return html_page(title, f"{above}{inner}")


def _group(group: Group, place: int, count: int) -> str:
    sessions, name = group.sessions, f"g{place}"
    linked = [*((each.key, each.head) for each in figures_of(sessions)), ("limits", "Limits")]
    links = "".join(f"<li><a href='#{name}-{k}'>{escaped(text)}</a></li>" for k, text in linked)
    heads = zip(group.labels, sessions, strict=True)
    parts = [
        f"<h2 class='group' id='{name}'>{escaped(group.title)}</h2>" if count > 1 else "",
        f"<nav aria-label='{escaped(group.title)}: figures'><ul class='links'>{links}</ul></nav>",
        columns([_head(label, session) for label, session in heads]),
    ]
    if group.compared:
        parts.append(panel(f"{name}-compared", "Differences", differences(*sessions)))
    for each in figures_of(sessions):
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
    rows = [
        ("profit after fees", income(final_cents(session).get("profit", session.pnl_cents))),
        ("fees", dollars(session.fees_cents)),
        ("fills", f"{filled(session)[0]:,}"),
        ("worst case at most", dollars(session.worst_max_cents)),
        ("requests", f"{sum(each.sent for each in session.answers.values()):,}"),
        ("refused", f"{sum(session.refused.values()):,}"),
        ("decisions", f"{session.decisions:,}"),
    ]
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
        f"</p>{numbers(rows)}<p class='soft'>{escaped(' · '.join(what))}</p>"
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
    return f"<ul>{items}<li>What each mode can show: docs/limits.md of the program.</li></ul>"


def _events(results: Sequence[Result], shown: int) -> str:
    """shown: how many events have figures below."""
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
    return (
        name,
        bound,
        income(round(sum(each.net_millicents for each in results) / 1000)),
        dollars(sum(each.fees_cents for each in results)),
        sum(each.fills for each in results),
        f"{sum(each.maker_qty for each in results):,}",
        f"{sum(each.taker_qty for each in results):,}",
        f"{sum(sum(each.requests.values()) for each in results):,}",
        dollars(max(each.worst_case_max_cents for each in results)),
        settled,
    )


_BLOCKS_MIN, _BLOCKS_MAX = 8, 60
_BLOCK_NS: Final = 10 * NS_PER_SECOND  # the shortest block of a comparison
_SOURCES: Final = ("profit", "spread", "adverse", "drift", "settlement", "fees")
_SAME_SHARE: Final = 0.9
_STRETCHES_MIN: Final = 3


class PairedDifference(msgspec.Struct, frozen=True):
    """The second run's profit less the first's, in the time that both ran."""

    seconds: float
    blocks: int  # equal stretches of that time, drawn again for the 95 % interval
    difference_cents: int
    low_cents: int | None = None  # low_cents, high_cents: None with too few of them
    high_cents: int | None = None


def pairs(
    first: Sequence[Session], second: Sequence[Session]
) -> list[tuple[str, Session, Session]]:
    """Backtests of one event and queue model, else the only two sessions. Raises ReportFault when
    there are none."""
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


def same_market(first: Session, second: Session) -> str:
    """Why two runs cannot be paired, else empty: one tape and queue model, or equal prints in nine
    of ten stretches of ten seconds."""
    one, other = first.result, second.result
    if one is not None and other is not None:
        if (one.tape, one.event, one.bound) != (other.tape, other.event, other.bound):
            return "they are of different tapes, or under different bounds"
        return ""
    if one is not other:
        return "one is a journal and the other a backtest"
    if first.run == second.run:
        return ""
    both = sorted(first.prints.keys() & second.prints.keys())[1:-1]
    if len(both) < _STRETCHES_MIN:
        return "they have no time with prints in common"
    same = sum(first.prints[each] == second.prints[each] for each in both)
    if same < _SAME_SHARE * len(both):
        return f"in {len(both) - same} of {len(both)} stretches of time they saw other prints"
    return ""


def paired(first: Session, second: Session) -> PairedDifference | None:
    """None without time in common, or without moments."""
    begun_ns = max(first.begun_ns, second.begun_ns)
    until_ns = min(first.until_ns, second.until_ns)
    if until_ns <= begun_ns or not first.moments or not second.moments:
        return None
    apart_ns = max(_BLOCK_NS, first.every_ns, second.every_ns)
    blocks = max(1, min(_BLOCKS_MAX, (until_ns - begun_ns) // apart_ns))
    edges = [begun_ns + (until_ns - begun_ns) * n // blocks for n in range(blocks + 1)]
    gains = [np.diff([_profit(each.moments, at) for at in edges]) for each in (second, first)]
    difference = round(float(gains[0].sum() - gains[1].sum()))
    seconds = round((until_ns - begun_ns) / NS_PER_SECOND, 3)
    if blocks < _BLOCKS_MIN:
        return PairedDifference(seconds, blocks, difference)
    mean = mean_difference(gains[0], gains[1], resamples(blocks))
    low, high = (round(each * blocks) for each in (mean.low, mean.high))
    return PairedDifference(seconds, blocks, difference, low, high)


def _profit(moments: Sequence[SessionSample], at_ns: int) -> float:
    """Cents at the newest moment that is not later; 0 before the first."""
    place = bisect_right(moments, at_ns, key=lambda moment: moment.at_ns) - 1
    return moments[place].profit_millicents / MILLI if place >= 0 else 0.0


def differences(first: Session, second: Session) -> str:
    both = (first, second)
    rows = [
        *(_row(name, [_source(each, name) for each in both], income) for name in _SOURCES),
        _row("fills", [filled(each)[0] for each in both]),
        _row("shares", [filled(each)[1] for each in both]),
        _row("worst case at most", [each.worst_max_cents for each in both], dollars),
        *(_row(f"requests: {kind}", [_sent(each, kind) for each in both]) for kind in KINDS),
        _row("refused", [sum(each.refused.values()) for each in both]),
        _row("strategy errors", [each.strategy_errors for each in both]),
        _row("uptime on target, %", [_uptime(each) for each in both], "{:.1f}".format),
    ]
    head = ("figure", "A", "B", "B less A")
    return table("A, B and B less A", head, rows) + f"<p>{said(first, second)}</p>"


def said(first: Session, second: Session) -> str:
    why = same_market(first, second)
    if why:
        return f"No paired interval: {why}. The differences above are of two different worlds."
    found = paired(first, second)
    if found is None:
        return "No paired interval: the two have no time in common."
    both = f"In the {span_text(found.seconds)} that both lived, in the same market, B earned "
    gain = f"{_gain(found.difference_cents)} against A"
    low, high = found.low_cents, found.high_cents
    if low is None or high is None:
        return f"{both}{gain}. Too few blocks of time for an interval: {found.blocks}."
    word = "does not exclude" if low <= 0 <= high else "excludes"
    return (
        f"{both}{gain}, 95 % interval {_gain(low)} to {_gain(high)}: it {word} no difference. "
        f"{found.blocks} blocks of {found.seconds / found.blocks:.0f} s were drawn again in pairs, "
        "profit as marked at fair; blocks are taken to be independent."
    )


def _gain(cents: int) -> str:
    return ("+" if cents > 0 else "") + dollars(cents)


def plain_pair(first: Session, second: Session) -> dict[str, object]:
    why = same_market(first, second)
    found = None if why else paired(first, second)
    return {
        "a": plain(first),
        "b": plain(second),
        "unpaired": why,
        "paired": None if found is None else msgspec.to_builtins(found),
    }


def _row(
    name: str, values: Sequence[float | None], write: Callable[..., str] | None = None
) -> tuple[str, ...]:
    """A figure of both and its difference. write: None for counts."""
    one, other = values
    cells = ["-" if each is None else (write or "{:,}".format)(each) for each in values]
    if one is None or other is None:
        return name, *cells, "-"
    return name, *cells, (write or "{:+,}".format)(other - one)


def _source(session: Session, name: str) -> int | None:
    if name == "profit" and session.result is not None:
        return round(session.result.net_millicents / 1000)
    return final_cents(session).get(name)


def _sent(session: Session, kind: str) -> int:
    row = session.answers.get(kind)
    return 0 if row is None else row.sent


def _uptime(session: Session) -> float | None:
    parts = [up.parts for pair in session.uptime for up in pair]
    whole = sum(map(sum, parts))
    return 100 * sum(on_target for on_target, _, _ in parts) / whole if whole else None
