"""What a run quoted and asked for: uptime, places in the queue, requests and refusals."""

from collections.abc import Sequence
from typing import Final

from bot.lab.report.session import AHEAD_FROM, Session, Uptime
from bot.lab.report.shown import Clock, rung_names
from bot.lab.report.watch import KINDS
from bot.page.plot import BELOW, TOP, Plot, span_of
from bot.page.skeleton import figure, folded, table

_ROW: Final = 15
_STATES: Final = ("on target", "missing", "nothing wanted")


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


# --- uptime ---------------------------------------------------------------------------------------


def uptime(sessions: Sequence[Session]) -> list[str]:
    """For each rung and side the share of time in which all that was wanted rested."""
    return [_uptime(each) for each in sessions]


def _uptime(session: Session) -> str:
    title = "Quote uptime by rung and side"
    names = rung_names(session.rungs) if session.rungs else []
    lines = [
        (f"{name} {side}", up)
        for name, pair in zip(names, session.uptime, strict=True)
        for side, up in zip(("bid", "ask"), pair, strict=True)
    ]
    if not any(_parts(up) != (0, 0, 0) for _, up in lines):
        return figure("uptime", title, "", "No time was sampled: the run never quoted, or totals "
                      "alone were kept.")  # fmt: skip
    count = len(lines)
    plot = Plot((0.0, 100.0), (0.0, float(count)), height=TOP + BELOW + _ROW * count, right=20,
                left=118)  # fmt: skip
    plot.marks_across(
        [(v, f"{v} %") for v in range(0, 101, 25)], "share of the time in which orders were taken"
    )
    plot.marks_up("", [(count - place - 0.6, name) for place, (name, _) in enumerate(lines)])
    for place, (name, up) in enumerate(lines):
        whole, at = sum(_parts(up)) or 1, 0.0
        for style, said, part in zip(("on", "missing", "idle"), _STATES, _parts(up), strict=True):
            end = at + 100 * part / whole
            if part:
                plot.block(style, at, count - place - 0.12, end, count - place - 0.88,
                           f"{name}: {said} {_percent(part, whole)}")  # fmt: skip
            at = end
    rows = [(name, *(_percent(part, sum(_parts(up))) for part in _parts(up))) for name, up in lines]
    total = [sum(_parts(up)[place] for _, up in lines) for place in range(3)]
    rows.append(("all", *(_percent(part, sum(total)) for part in total)))
    legend = (
        "<p class='soft'><span class='key on'></span>all that is wanted rests "
        "<span class='key missing'></span>something wanted does not <span class='key idle'></span>"
        "nothing is wanted. Looked at once a second, while the market took orders.</p>"
    )
    head = ("rung and side", *_STATES)
    below = legend + folded("Uptime as a table", table("Share of the time", head, rows, sums=1))
    said = f"{title}: on target {_percent(total[0], sum(total))} of the time over all of them"
    return figure("uptime", title, plot.svg(said), "", below)


def _parts(up: Uptime) -> tuple[int, int, int]:
    return up.on_target_ns, up.missing_ns, up.idle_ns


# --- places in the queue --------------------------------------------------------------------------


def queue(sessions: Sequence[Session]) -> list[str]:
    """Amends that kept and lost their place, as they added up."""
    clock = Clock(sessions)
    up = span_of(
        float(v) for each in sessions for moment in each.moments for v in (moment.kept, moment.lost)
    )
    return [_queue(each, clock, up) for each in sessions]


def _queue(session: Session, clock: Clock, up: tuple[float, float]) -> str:
    title = "Places in the queue that amends kept and lost"
    if not session.moments:
        return figure("queue", title, "", "No samples: totals alone were kept.")
    last = session.moments[-1]
    if not last.kept and not last.lost:
        return figure("queue", title, "", "No order was amended in this run.")
    plot = Plot(clock.across, up, height=190)
    plot.marks_across(clock.marks, clock.name)
    plot.marks_up("amends")
    times = [clock.of(session, each.at_ns) for each in session.moments]
    kept = [float(each.kept) for each in session.moments]
    lost = [float(each.lost) for each in session.moments]
    for name, values in (("kept", kept), ("lost", lost)):
        plot.trace(name, zip(times, values, strict=True), steps=True)
    plot.names([("kept", "kept", kept[-1], ""), ("lost", "lost", lost[-1], "")])
    said = (
        f"{last.kept} amends kept their place and {last.lost} lost it: smaller at the same price "
        "keeps it, another price or more shares lose it."
    )
    return figure("queue", title, plot.svg(f"{title}. {said}"), "", f"<p>{said}</p>")


def _groups() -> list[str]:
    ends = [f"to {upper - 1}" for upper in AHEAD_FROM[1:]]
    names = [f"{lower} {end}" for lower, end in zip(AHEAD_FROM, ends, strict=False)]
    names[0] = "0"
    return [*names, f"{AHEAD_FROM[-1]} or more"]


def estimate(sessions: Sequence[Session]) -> list[str]:
    """What was expected to fill by the shares ahead, against what did."""
    shares = [_rates(each) for each in sessions]
    up = span_of(value for rows in shares for row in rows if row is not None for value in row)
    return [_estimate(each, rows, up) for each, rows in zip(sessions, shares, strict=True)]


def _rates(session: Session) -> list[tuple[float, float] | None]:
    """Shares in a hundred that were expected and that came, by group; None for one without."""
    return [
        (100 * stay.expected_qty / stay.qty, 100 * stay.filled_qty / stay.qty) if stay.qty else None
        for stay in session.stays
    ]


def _estimate(
    session: Session, rates: Sequence[tuple[float, float] | None], up: tuple[float, float]
) -> str:
    title = "Fills by shares ahead: expected and come"
    if not any(row is not None for row in rates):
        nothing = (
            "No order stood until its place in the queue was known, or totals alone were kept."
        )
        return figure("estimate", title, "", nothing)
    groups = _groups()
    plot = Plot((-0.5, len(groups) - 0.5), up, height=190)
    plot.marks_across(enumerate(groups), "shares of others ahead, as estimated")
    plot.marks_up("filled of 100 shares")
    for place, row in enumerate(rates):
        if row is not None:
            plot.block("expected", place - 0.32, 0, place - 0.02, row[0],
                       f"{groups[place]} ahead: {row[0]:.2f} expected")  # fmt: skip
            plot.block("came", place + 0.02, 0, place + 0.32, row[1],
                       f"{groups[place]} ahead: {row[1]:.2f} came")  # fmt: skip
    rows = [
        (group, stay.stays, f"{stay.qty:,}", f"{stay.expected_qty:.1f}", f"{stay.filled_qty:,}")
        for group, stay in zip(groups, session.stays, strict=True)
    ]
    head = ("ahead", "stays", "shares", "expected to fill", "filled")
    legend = (
        "<p class='soft'><span class='key expected'></span>expected by the estimate "
        "<span class='key came'></span>came. A stay is a minute of an order at its price, or less "
        "where it left before; what was expected is for as long as it stood.</p>"
    )
    below = legend + table("Stays by shares ahead", head, rows)
    said = f"{title}: " + "; ".join(
        f"{group} ahead: {row[0]:.1f} expected and {row[1]:.1f} come of 100"
        for group, row in zip(groups, rates, strict=True)
        if row is not None
    )
    return figure("estimate", title, plot.svg(said), "", below)


# --- requests -------------------------------------------------------------------------------------


def requests(sessions: Sequence[Session]) -> list[str]:
    """Requests by kind as they added up, with what became of them."""
    clock = Clock(sessions)
    up = span_of(float(v) for each in sessions for moment in each.moments for v in moment.requests)
    return [_requests(each, clock, up) for each in sessions]


def _requests(session: Session, clock: Clock, up: tuple[float, float]) -> str:
    title = "Requests by kind"
    rows = [
        (kind, row.sent, row.done, row.refused, row.unknown, row.unanswered)
        for kind in KINDS
        if (row := session.answers.get(kind)) is not None
    ]
    head = ("kind", "sent", "done", "refused", "unknown", "no answer")
    if session.moments:
        below = table("What became of them", head, rows)
    else:
        below = table("Sent", head[:2], [row[:2] for row in rows]) if rows else ""
    if not session.moments or not rows:
        return figure("requests", title, "", "No samples over time: nothing was sent, or totals "
                      "alone were kept.", below)  # fmt: skip
    plot = Plot(clock.across, up, height=210)
    plot.marks_across(clock.marks, clock.name)
    plot.marks_up("sent")
    ends = []
    for place, kind in enumerate(KINDS):
        values = [float(moment.requests[place]) for moment in session.moments]
        times = [clock.of(session, moment.at_ns) for moment in session.moments]
        plot.trace(f"kind {kind}", zip(times, values, strict=True))
        ends.append((f"{kind}s", f"kind {kind}", values[-1], ""))
    plot.names(ends)
    said = f"{title}: " + ", ".join(f"{row[1]} {row[0]}s" for row in rows)
    return figure("requests", title, plot.svg(said), "", below)


def refusals(sessions: Sequence[Session]) -> list[str]:
    """Refusals by the venue's code."""
    most = max((count for each in sessions for count in each.refused.values()), default=1)
    return [_refusals(each, most) for each in sessions]


def _refusals(session: Session, most: int) -> str:
    title = "Refusals by code"
    if not session.refused:
        return figure("refusals", title, "", "Nothing was refused in this run.")
    rows = sorted(session.refused.items(), key=lambda row: (-row[1], row[0]))
    count = len(rows)
    plot = Plot((0.0, most * 1.08), (0.0, float(count)), height=TOP + BELOW + 20 * count, right=30,
                left=168)  # fmt: skip
    whole = [(value, f"{value:g}") for value in _whole_marks(most)]
    plot.marks_across(whole, "refused")
    plot.marks_up("", [(count - place - 0.65, code) for place, (code, _) in enumerate(rows)])
    for place, (code, refused) in enumerate(rows):
        top = count - place
        plot.block("refused", 0, top - 0.2, refused, top - 0.8, f"{code}: {refused}")
    said = f"{title}: " + ", ".join(f"{code} {refused}" for code, refused in rows)
    below = folded("Refusals as a table", table(title, ("code", "refused"), rows))
    return figure("refusals", title, plot.svg(said), "", below)


def _whole_marks(most: int) -> list[float]:
    step = max(1, -(-most // 5))
    return [float(value) for value in range(0, most + 1, step)]
