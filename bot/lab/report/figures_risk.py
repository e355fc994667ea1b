"""What a run held and could have lost: inventory by rung, and the worst case against its limit."""

from collections.abc import Sequence
from typing import Final

from bot.lab.report.session import Session
from bot.lab.report.shown import Clock, dollars, rung_names
from bot.page.plot import Plot, hue_css, room_for, span_of
from bot.page.skeleton import figure, folded, table

_NOTHING: Final = "No samples: the run never opened its books, or totals alone were kept."


def _nets(session: Session, rung: int) -> list[int]:
    return [moment.net[rung] if rung < len(moment.net) else 0 for moment in session.moments]


def inventory(sessions: Sequence[Session]) -> list[str]:
    """YES shares less NO shares of every rung over time."""
    clock = Clock(sessions)
    up = span_of(float(net) for each in sessions for moment in each.moments for net in moment.net)
    return [_inventory(each, clock, up) for each in sessions]


def _inventory(session: Session, clock: Clock, up: tuple[float, float]) -> str:
    title = "Inventory by rung: YES shares less NO shares"
    count = len(session.rungs)
    if not session.moments or not count:
        return figure("inventory", title, "", _NOTHING)
    names = rung_names(session.rungs)
    plot = Plot(clock.across, up, height=260, right=room_for(names))
    plot.marks_across(clock.marks, clock.name)
    plot.marks_up("shares")
    times = [clock.of(session, moment.at_ns) for moment in session.moments]
    ends = []
    for rung in range(count):
        nets = _nets(session, rung)
        css = hue_css(rung, count)
        plot.trace("rung", zip(times, nets, strict=True), steps=True, css=css)
        if any(nets):
            ends.append((names[rung], "rung", float(nets[-1]), css))
    plot.names(ends)
    rows = []
    for rung in range(count):
        nets = _nets(session, rung)
        rows.append((names[rung], f"{min(nets):+d}", f"{max(nets):+d}", f"{nets[-1]:+d}"))
    head = ("rung", "least", "most", "at the end")
    below = folded("Inventory as a table", table("Shares by rung, as sampled", head, rows))
    widest = max(rows, key=lambda row: max(abs(int(row[1])), abs(int(row[2]))))
    said = f"{title}, from {_furthest(widest)}"
    return figure("inventory", title, plot.svg(said), "", below)


def _furthest(row: tuple[str, str, str, str]) -> str:
    """In words how far the rung that went furthest went."""
    return f"{row[1]} to {row[2]} on {row[0]}, the furthest; {row[3]} there at the end"


def worst(sessions: Sequence[Session]) -> list[str]:
    """The worst case of everything held and everything that may be live, under its limit."""
    clock = Clock(sessions)
    ups = [
        value / 100
        for each in sessions
        for moment in each.moments
        for value in (moment.worst_cents, moment.limit_cents)
    ]
    return [_worst(each, clock, span_of(ups)) for each in sessions]


def _worst(session: Session, clock: Clock, up: tuple[float, float]) -> str:
    title = "Worst case against its limit"
    if not session.moments:
        return figure("worst", title, "", _NOTHING)
    plot = Plot(clock.across, up)
    plot.marks_across(clock.marks, clock.name)
    plot.marks_up("$")
    rows = [(clock.of(session, each.at_ns), each) for each in session.moments]
    plot.band("loss", [(at, 0.0, each.worst_cents / 100) for at, each in rows])
    plot.trace("worst", [(at, each.worst_cents / 100) for at, each in rows])
    plot.trace("limit", [(at, each.limit_cents / 100) for at, each in rows], steps=True)
    last = rows[-1][1]
    plot.names(
        [("limit", "limit", last.limit_cents / 100, ""),
         ("worst case", "worst", last.worst_cents / 100, "")]
    )  # fmt: skip
    most = dollars(session.closing.worst_max_cents)
    limits = sorted({each.limit_cents for each in session.moments})
    # The limit may have changed on the way: what was at most is not held against the last one.
    limit = " to ".join(dollars(each) for each in dict.fromkeys((limits[0], limits[-1])))
    said = f"At most {most} of {limit} could have been lost at any decision of the run."
    return figure("worst", title, plot.svg(f"{title}. {said}"), "", f"<p>{said}</p>")
