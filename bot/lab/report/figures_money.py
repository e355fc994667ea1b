"""What a run earned: profit by source over time, markout curves, and every fill on the ladder."""

import math
from collections.abc import Sequence
from typing import Final

from bot.core.profit.markouts import HORIZONS_S
from bot.core.report import Against
from bot.io.metrics.profits import sure_cents
from bot.lab.report.intervals import Point, markout_cents, markouts
from bot.lab.report.session import Fill, Session
from bot.lab.report.shown import (
    PARTS,
    Clock,
    dollars,
    final_cents,
    moment_dollars,
    rung_names,
    when,
)
from bot.page.plot import Plot, hue_css, span_of
from bot.page.skeleton import figure, folded, table
from venue.wire.money import PAYOUT_CENTS, BookSide

FILLS_DRAWN_MAX: Final = 2_000
FILLS_LISTED_MAX: Final = 200
_LINES: Final = (*PARTS, "profit")


def _even(count: int, most: int) -> list[int]:
    """At most so many places of a list, evenly spread, the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(each * (count - 1) / (most - 1)) for each in range(most)})


# --- profit by source -----------------------------------------------------------------------------


def profit(sessions: Sequence[Session]) -> list[str]:
    """A line for each source, and their sum; under them what they came to, to the cent."""
    clock = Clock(sessions)
    ups = [
        v for each in sessions for moment in each.moments for v in moment_dollars(moment).values()
    ]
    ups += [cents / 100 for each in sessions for cents in final_cents(each).values()]
    return [_profit(each, clock, span_of(ups)) for each in sessions]


def _profit(session: Session, clock: Clock, up: tuple[float, float]) -> str:
    title, totals = "Profit by source over time", final_cents(session)
    nothing = "No account of profit: the run never opened its books, or totals alone were kept."
    if not totals or not session.moments:
        total = f"<p>In all {dollars(session.closing.pnl_cents)} after fees.</p>"
        return figure("profit", title, "", nothing, total if session.result is not None else "")
    plot = Plot(clock.across, up, right=92)
    plot.marks_across(clock.marks, clock.name)
    plot.marks_up("$")
    rows = [(clock.of(session, each.at_ns), moment_dollars(each)) for each in session.moments]
    if session.closing.unsettled_millicents:
        # The end of a backtest is the last move of all that is held.
        rows.append((rows[-1][0], {name: cents / 100 for name, cents in totals.items()}))
    for name in _LINES:
        plot.trace(f"ink {name}", [(at, row[name]) for at, row in rows])
    plot.names((name, f"ink {name}", rows[-1][1][name], "") for name in _LINES)
    said = f"{title}, at the end: " + ", ".join(f"{k} {dollars(v)}" for k, v in totals.items())
    return figure("profit", title, plot.svg(said), nothing, _sources(session, totals))


def _sources(session: Session, totals: dict[str, int]) -> str:
    rows = [(name, dollars(totals[name]), what) for name, what in PARTS.items()]
    rows.append(("profit", dollars(totals["profit"]), "the sum, to the cent"))
    found = session.closing.profit
    assert found is not None
    by_sureness = sure_cents(found)
    sure = [
        ("realised", dollars(by_sureness["realised_cents"]), "sold again, at average cost"),
        ("settled", dollars(by_sureness["settled_cents"]), "held to the payout"),
        ("open", dollars(by_sureness["open_cents"]), "held still, at fair"),
    ]
    ledger = session.closing.ledger_difference_cents
    told = [
        f"The account of fills and the bot's ledger differ by {found.difference_millicents} "
        "thousandths of a cent.",
        "The venue's cash was not read while nothing was under way."
        if ledger is None
        else f"The venue's cash less ours, as read last: {dollars(ledger)}.",
    ]
    if session.result is not None:
        told.append(
            "The settlement holds what the end brought beyond the trader's last belief; the profit "
            f"is the venue's ledger's: {dollars(round(session.result.net_millicents / 1000))}."
        )
    head = ("source", "dollars", "what it is")
    more = table("The same before fees, by how sure it is", head, sure, words=True)
    notes = "".join(f"<p class='soft'>{line}</p>" for line in told)
    return table("What it came to", head, rows, sums=1, words=True) + folded(
        "How it closes", more + notes
    )


# --- markouts -------------------------------------------------------------------------------------


def markout(sessions: Sequence[Session]) -> list[str]:
    """Mean markouts over the horizons with their intervals, against both values."""
    curves = [{against: markouts(each.fills, against) for against in Against} for each in sessions]
    ends = [
        end
        for curve in curves
        for points in curve.values()
        for point in points
        for end in (point.low_cents, point.mean_cents, point.high_cents)
        if end is not None
    ]
    up = span_of(ends)
    return [_markout(each, curve, up) for each, curve in zip(sessions, curves, strict=True)]


def _markout(session: Session, curves: dict[Against, list[Point]], up: tuple[float, float]) -> str:
    title = "Markouts: how far values moved in favour of fills"
    points = [point for curve in curves.values() for point in curve]
    if not points:
        nothing = "No fill, or none whose horizon was over before the run was."
        return figure("markouts", title, "", nothing)
    plot = Plot((-0.5, len(HORIZONS_S) - 0.5), up, right=92)
    plot.marks_across(
        [(place, f"{horizon} s") for place, horizon in enumerate(HORIZONS_S)], "after the fill"
    )
    plot.marks_up("cents a share")
    ends = []
    for shift, (against, curve) in zip((-0.06, 0.06), curves.items(), strict=True):
        places = [(HORIZONS_S.index(point.horizon_s) + shift, point) for point in curve]
        plot.trace(f"against {against}", [(x, point.mean_cents) for x, point in places])
        for x, point in places:
            if point.low_cents is not None and point.high_cents is not None:
                plot.block(f"whisker {against}", x - 0.012, point.low_cents,
                           x + 0.012, point.high_cents)  # fmt: skip
            plot.dot(f"against {against}", x, point.mean_cents, 3.5, _said(point))
        if places:
            ends.append((f"to {against}", str(against), places[-1][1].mean_cents, ""))
    plot.names(ends)
    rows = [
        (
            f"{point.horizon_s} s, {point.against}",
            f"{point.mean_cents:+.3f}",
            "-"
            if point.low_cents is None
            else f"{point.low_cents:+.3f} to {point.high_cents:+.3f}",
            point.fills,
            f"{point.qty:,}",
            point.stretches,
        )
        for point in points
    ]
    head = ("after", "cents a share", "95 % interval", "fills", "shares", "stretches")
    below = table("Means weighted by shares; stretches of time drawn again", head, rows)
    if session.unsampled:
        below += f"<p class='soft'>{session.unsampled} markouts were left out for want of a value."
        below += "</p>"
    said = f"{title}: " + "; ".join(_said(point) for point in points)
    return figure("markouts", title, plot.svg(said), "", below)


def _said(point: Point) -> str:
    return f"{point.mean_cents:+.2f} c after {point.horizon_s} s against {point.against}"


# --- fills ----------------------------------------------------------------------------------------


def fills(sessions: Sequence[Session]) -> list[str]:
    """Every fill by time and price, over the fair value of its rung."""
    clock = Clock(sessions)
    return [_fills(each, clock) for each in sessions]


def _fills(session: Session, clock: Clock) -> str:
    title = "Fills on the ladder: time, price, side and size"
    if not session.fills:
        return figure("fills", title, "", "No fill in this run.")
    plot = Plot(clock.across, (0.0, float(PAYOUT_CENTS)), height=330)
    plot.marks_across(clock.marks, clock.name)
    plot.marks_up("YES cents", [(value, str(value)) for value in range(0, PAYOUT_CENTS + 1, 20)])
    names, count = rung_names(session.rungs), len(session.rungs)
    ends = []
    for rung in range(count):
        fairs = [
            (clock.of(session, picture.at_ns), level.fair_cents)
            for picture in session.pictures
            for level in picture.levels
            if level.rung == rung and level.fair_cents is not None
        ]
        if fairs:
            plot.trace("rung faint", fairs, css=hue_css(rung, count))
            ends.append((names[rung], "rung", fairs[-1][1], hue_css(rung, count)))
    plot.names(ends)
    drawn = [session.fills[place] for place in _even(len(session.fills), FILLS_DRAWN_MAX)]
    for fill in drawn:
        size = 2.2 + 1.1 * math.log2(1 + fill.qty / 4)
        plot.arrow(str(fill.side), clock.of(session, fill.at_ns), fill.price, size,
                   up=fill.side is BookSide.BID, said=_told(fill, names))  # fmt: skip
    bought = sum(fill.qty for fill in session.fills if fill.side is BookSide.BID)
    sold = sum(fill.qty for fill in session.fills if fill.side is BookSide.ASK)
    said = f"{title}: {len(session.fills)} fills, {bought} shares bought and {sold} sold"
    thinned = ""
    if len(drawn) < len(session.fills):
        thinned = f"<p class='soft'>Drawn are {len(drawn)} of {len(session.fills)} fills.</p>"
    legend = (
        "<p class='soft'><span class='bid'>▲ bought YES</span>, "
        "<span class='ask'>▼ sold YES</span>; larger is more shares; lines are the fair values.</p>"
    )
    return figure("fills", title, plot.svg(said), "", legend + thinned + _listed(session, names))


def _told(fill: Fill, names: Sequence[str]) -> str:
    return f"{names[fill.rung]}: {fill.side} {fill.qty} at {fill.price}, {fill.reason}"


def _listed(session: Session, names: Sequence[str]) -> str:
    shown = session.fills[-FILLS_LISTED_MAX:]
    rows = [
        (
            when(fill.at_ns)[11:19],
            names[fill.rung],
            fill.side,
            fill.price,
            fill.qty,
            fill.fee_cents,
            "maker" if fill.maker else "taker",
            f"{fill.fair_millicents / 1000:.1f}",
            *(_after(fill, horizon) for horizon in HORIZONS_S),
        )
        for fill in reversed(shown)
    ]
    head = ("time", "rung", "side", "price", "shares", "fee c", "as", "fair",
            *(f"{horizon} s" for horizon in HORIZONS_S))  # fmt: skip
    caption = "Fills, the newest first, with their markouts against fair in cents"
    if len(shown) < len(session.fills):
        caption += f": the last {len(shown)} of {len(session.fills)}"
    return folded("The fills as a table", table(caption, head, rows))


def _after(fill: Fill, horizon_s: int) -> str:
    for value in fill.values:
        if value.horizon_s == horizon_s and value.against == Against.FAIR:
            return f"{markout_cents(fill, value.value_millicents):+.1f}"
    return "-"
