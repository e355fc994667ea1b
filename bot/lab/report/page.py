"""The report as one HTML file: each figure of up to three sessions side by side.

Words or a table say what each plot shows. A plot without data says why in its place.
"""

from collections.abc import Callable, Sequence
from importlib import resources

import msgspec

from bot.lab.report import figures_money, figures_orders, figures_risk
from bot.lab.report.compare import differences
from bot.lab.report.film import film
from bot.lab.report.session import Mode, Session
from bot.lab.report.shown import dollars, filled, final_cents, findings, span_text, when
from bot.page.skeleton import columns, escaped, folded, html_page, panel, table

_SECTIONS: tuple[tuple[str, str, Callable[[Sequence[Session]], list[str]]], ...] = (
    ("profit", "Profit", figures_money.profit),
    ("inventory", "Inventory", figures_risk.inventory),
    ("worst", "Worst case", figures_risk.worst),
    ("markouts", "Markouts", figures_money.markout),
    ("fills", "Fills", figures_money.fills),
    ("uptime", "Uptime", figures_orders.uptime),
    ("queue", "Queue", figures_orders.queue),
    ("estimate", "Fill estimate", figures_orders.estimate),
    ("requests", "Requests", figures_orders.requests),
    ("refusals", "Refusals", figures_orders.refusals),
)


class Group(msgspec.Struct, frozen=True):
    """Up to three sessions side by side. labels: what stands over each; compared: whether there are
    two, and the second is told as a difference to the first."""

    title: str
    labels: tuple[str, ...]
    sessions: tuple[Session, ...]
    compared: bool = False


def page(title: str, groups: Sequence[Group], above: str = "", below: str = "") -> str:
    """The whole file. above, below: more HTML before and after the groups."""
    script = (resources.files("bot.lab.report") / "report.js").read_text(encoding="utf-8")
    inner = "".join(_group(group, place, len(groups)) for place, group in enumerate(groups))
    return html_page(title, f"{above}{inner}{below}", script)


def _group(group: Group, place: int, count: int) -> str:
    sessions, name = group.sessions, f"g{place}"
    heads = list(zip(group.labels, sessions, strict=True))
    first, *others = [(key, text) for key, text, _ in _SECTIONS]
    linked = [first, ("curve", "Fair curve"), *others, ("limits", "Limits")]
    links = "".join(f"<li><a href='#{name}-{k}'>{escaped(text)}</a></li>" for k, text in linked)
    parts = [
        f"<h2 class='group' id='{name}'>{escaped(group.title)}</h2>" if count > 1 else "",
        f"<nav aria-label='{escaped(group.title)}: figures'><ul class='links'>{links}</ul></nav>",
        columns([_figures(label, session) for label, session in heads]),
    ]
    if group.compared:
        parts.append(
            panel(f"{name}-compared", "Differences", differences(sessions[0], sessions[1]))
        )
    drawn = [("curve", "Fair curve", film(sessions, name))]
    drawn += [(key, text, draw(sessions)) for key, text, draw in _SECTIONS]
    # The film comes after the profit: what was earned is asked first.
    for key, text, figures in [drawn[1], drawn[0], *drawn[2:]]:
        labelled = [
            _labelled(label, figure, alone=len(figures) == 1)
            for label, figure in zip(group.labels, figures, strict=True)
        ]
        parts.append(panel(f"{name}-{key}", text, columns(labelled)))
    parts.append(panel(f"{name}-limits", "What this cannot show", _limits(group)))
    return "".join(parts)


def _labelled(label: str, inner: str, *, alone: bool) -> str:
    return inner if alone else f"<p class='label'>{escaped(label)}</p>{inner}"


def _figures(label: str, session: Session) -> str:
    """The key figures of a session, and what it was."""
    totals, closing = final_cents(session), session.closing
    profit = totals.get("profit", closing.pnl_cents)
    rows = [
        ("profit after fees", dollars(profit)),
        ("fees", dollars(closing.fees_cents)),
        ("fills", f"{filled(session)[0]:,}"),
        ("worst case at most", dollars(closing.worst_max_cents)),
        ("requests", f"{sum(each.sent for each in session.answers.values()):,}"),
        ("refused", f"{sum(session.refused.values()):,}"),
        ("decisions", f"{closing.decisions:,}"),
    ]
    pairs = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)
    what = [f"series {session.series}", f"lived {span_text(session.seconds)}"]
    if session.bound:
        what.insert(0, f"queue {session.bound}")
    if session.mode is Mode.JOURNAL:
        what.append(f"from {when(session.begun_ns)}")
        what.append(f"run {session.run}")
    what.append(f"{session.events:,} events")
    warned = "".join(f"<p class='finding'>{escaped(line)}</p>" for line in findings(session))
    return (
        f"<section class='head' aria-label='{escaped(label)}'><p class='label'>{escaped(label)}"
        f"</p><dl class='figures'>{pairs}</dl><p class='soft'>{escaped(' · '.join(what))}</p>"
        f"{_strategy(session)}{warned}</section>"
    )


def _strategy(session: Session) -> str:
    name, _, params = session.strategy.partition(" ")
    if not name:
        return ""
    told = f"<p class='soft'>{escaped(params)}</p>"
    return folded(f"strategy {name} and its parameters", told)


def _limits(group: Group) -> str:
    lines = list(dict.fromkeys(line for each in group.sessions for line in each.limits))
    lines += list(
        dict.fromkeys(
            f"Sampled: profit, inventory and worst case every {span_text(each.every_ns / 1e9)}, "
            f"pictures of the ladder every {span_text(each.picture_ns / 1e9)}; fills, requests and "
            "refusals are whole. The worst case told in words is of every decision."
            for each in group.sessions
            if each.moments
        )
    )
    items = "".join(f"<li>{escaped(line)}</li>" for line in lines)
    return (
        f"<ul>{items}<li>What each mode can show stands in docs/limits.md of the program.</li></ul>"
    )


def events_table(sessions: Sequence[Session], shown: int) -> str:
    """Every event and bound of a backtest in a row. shown: how many events have figures below."""
    rows: list[tuple[object, ...]] = []
    for session in sessions:
        result = session.result
        assert result is not None
        rows.append(
            (
                session.name,
                session.bound,
                dollars(round(result.net_millicents / 1000)),
                dollars(result.fees_cents),
                result.fills,
                f"{result.maker_qty:,}",
                f"{result.taker_qty:,}",
                f"{sum(result.requests.values()):,}",
                dollars(result.worst_case_max_cents),
                result.settled,
            )
        )
    for bound in dict.fromkeys(session.bound for session in sessions):
        found = [each.result for each in sessions if each.bound == bound and each.result]
        rows.append(
            (
                "all",
                bound,
                dollars(round(sum(each.net_millicents for each in found) / 1000)),
                dollars(sum(each.fees_cents for each in found)),
                sum(each.fills for each in found),
                f"{sum(each.maker_qty for each in found):,}",
                f"{sum(each.taker_qty for each in found):,}",
                f"{sum(sum(each.requests.values()) for each in found):,}",
                dollars(max(each.worst_case_max_cents for each in found)),
                "",
            )
        )
    head = ("event", "queue", "profit", "fees", "fills", "came", "took", "requests", "worst case",
            "settled by")  # fmt: skip
    events = len(dict.fromkeys(session.name for session in sessions))
    note = ""
    if shown < events:
        note = f"<p>Drawn below are the {shown} events with the most fills, of {events}.</p>"
    sums = len(dict.fromkeys(session.bound for session in sessions))
    return panel(
        "events", "Every event", table("By reading of the queue", head, rows, sums=sums) + note
    )
