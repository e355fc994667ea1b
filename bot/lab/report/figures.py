"""The figures of a report, each of one session, on axes that several sessions share."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple

from bot.core.account.markouts import HORIZONS_S
from bot.core.report import Against, MarkoutReport
from bot.io.metrics.profits import sure_cents
from bot.lab.leanings import HEAD as LEANING_HEAD
from bot.lab.leanings import leaning_rows
from bot.lab.report.sampler import KINDS
from bot.lab.report.session import (
    PARTS,
    MarketSample,
    Session,
    SessionFill,
    SessionSample,
    final_cents,
    moment_dollars,
    rung_names,
    span_text,
    when,
)
from bot.page.plot import BELOW, LETTER, TOP, Plot, hue_css, room_for, span_of, ticks
from bot.page.skeleton import figure, folded, table
from bot.page.text import Income, income
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, BookSide, dollars

FILLS_DRAWN_MAX: Final = 2_000
FILLS_LISTED_MAX: Final = 200
DIAGNOSTICS_DRAWN_MAX: Final = 12
_NOTHING: Final = "No samples: the run never opened its books."
_ROW: Final = 15
_STATES: Final = ("on target", "missing", "nothing wanted")
_MINUTE_S: Final = 60
_HOUR_S: Final = 3_600

Span = tuple[float, float]
Line = tuple[str, str, str, Sequence[float]]  # name (empty for none), style, CSS, values


class TimeAxis:
    def __init__(self, sessions: Sequence[Session]) -> None:
        longest = max((each.seconds for each in sessions), default=1.0) or 1.0
        self._unit, self._unit_s = "s", 1
        if longest >= 4 * _HOUR_S:
            self._unit, self._unit_s = "h", _HOUR_S
        elif longest >= 4 * _MINUTE_S:
            self._unit, self._unit_s = "min", _MINUTE_S
        self.across = (0.0, longest / self._unit_s)

    def position(self, session: Session, at_ns: int) -> float:
        return max(0.0, (at_ns - session.begun_ns) / NS_PER_SECOND / self._unit_s)

    def plot(self, up: Span, unit: str, height: int = 210, right: int = 92) -> Plot:
        plot = Plot(self.across, up, height, right)
        plot.marks_across(
            [(value, f"{value:g}") for value in ticks(*self.across, 6)],
            f"{self._unit} since the start",
        )
        plot.marks_up(unit)
        return plot

    def lines(
        self, plot: Plot, session: Session, lines: Sequence[Line], *, steps: bool = False
    ) -> None:
        """steps: each value holds until the next."""
        times = [self.position(session, each.at_ns) for each in session.moments]
        for _, style, css, values in lines:
            plot.trace(style, zip(times, values, strict=True), steps=steps, css=css)
        plot.names((name, style, values[-1], css) for name, style, css, values in lines if name)


class Figure(NamedTuple):
    key: str
    head: str
    ups: Callable[[Session], Iterable[float]]  # the values that the upward axis has to hold
    draw: Callable[[Session, TimeAxis, Span], str]


def drawn(each: Figure, sessions: Sequence[Session]) -> list[str]:
    clock, up = TimeAxis(sessions), span_of(v for session in sessions for v in each.ups(session))
    return [each.draw(session, clock, up) for session in sessions]


# --- profit by source -----------------------------------------------------------------------------


def _profit_ups(session: Session) -> Iterable[float]:
    for moment in session.moments:
        yield from moment_dollars(moment).values()
    yield from (cents / 100 for cents in final_cents(session).values())


def _profit(session: Session, clock: TimeAxis, up: Span) -> str:
    title, totals = "Profit by source over time", final_cents(session)
    nothing = "No account of profit: the run never opened its books."
    if not totals or not session.moments:
        return figure("profit", title, "", nothing)
    plot = clock.plot(up, "$")
    rows = [(clock.position(session, each.at_ns), moment_dollars(each)) for each in session.moments]
    if session.unsettled_millicents:
        # The end of a backtest is the last move of all inventory.
        rows.append((rows[-1][0], {name: cents / 100 for name, cents in totals.items()}))
    for name in totals:
        plot.trace(f"ink {name}", [(at, row[name]) for at, row in rows])
    plot.names((name, f"ink {name}", rows[-1][1][name], "") for name in totals)
    said = f"{title}, at the end: " + ", ".join(f"{k} {dollars(v)}" for k, v in totals.items())
    return figure("profit", title, plot.svg(said), nothing, _sources(session, totals))


def _sources(session: Session, totals: dict[str, int]) -> str:
    rows = [(name, income(totals[name]), what) for name, what in PARTS.items()]
    rows.append(("profit", income(totals["profit"]), "the sum, to the cent"))
    found = session.profit
    assert found is not None
    by_sureness = sure_cents(found)
    sure = [
        ("realised", income(by_sureness["realised_cents"]), "sold again, at average cost"),
        ("settled", income(by_sureness["settled_cents"]), "held to the payout"),
        ("open", income(by_sureness["open_cents"]), "held still, at fair"),
    ]
    ledger = session.ledger_difference_cents
    lines = [
        f"The account of fills and the bot's ledger differ by {found.difference_millicents} "
        "thousandths of a cent.",
        "The venue's cash was not read while nothing was in flight."
        if ledger is None
        else f"The venue's cash less ours, as read last: {dollars(ledger)}.",
    ]
    if session.result is not None:
        lines.append(
            "The settlement holds what the end brought beyond the trader's last belief; the profit "
            f"is the venue's ledger's: {dollars(round(session.result.net_millicents / 1000))}."
        )
    head = ("source", "dollars", "what it is")
    more = table("The same before fees, by how sure it is", head, sure, words=True)
    notes = "".join(f"<p class='soft'>{line}</p>" for line in lines)
    return table("What it came to", head, rows, sums=1, words=True) + folded(
        "How it closes", more + notes
    )


# --- the ladder as it was quoted last -------------------------------------------------------------


def _ladder(session: Session, _clock: TimeAxis, _up: Span) -> str:
    """The event with the most rungs, and the others folded below it."""
    title = "Fair curve and quotes, as quoted last"
    events: dict[str, int] = {}
    for rung in session.rungs:
        events[rung.event_ticker] = events.get(rung.event_ticker, 0) + 1
    shown = [
        (event, found)
        for event in sorted(events, key=lambda event: -events[event])
        if (found := _last_quoted(session, event)) is not None
    ]
    if not shown:
        nothing = "No ladder: no fair value was known and nothing rested."
        return figure("curve", title, "", nothing)
    if len(shown) == 1:
        return _event_ladder(session, title, shown[0][1])
    first, *others = [
        (event, _event_ladder(session, f"{title}: {event}", found)) for event, found in shown
    ]
    return first[1] + "".join(folded(event, drawn) for event, drawn in others)


def _event_ladder(
    session: Session, title: str, shown: tuple[SessionSample, list[MarketSample]]
) -> str:
    moment, levels = shown
    names = rung_names([session.rungs[each.rung] for each in levels])
    plot = Plot((-0.5, len(levels) - 0.5), (0.0, float(PAYOUT_CENTS)), height=260, right=20)
    room = LETTER * (max(map(len, names)) + 1) / (plot.x(1) - plot.x(0))
    every = max(1, math.ceil(room))
    plot.marks_across([(at, name) for at, name in enumerate(names) if at % every == 0], "rung")
    plot.marks_up("YES cents")
    for at, level in enumerate(levels):
        if level.bid is not None and level.ask is not None:
            plot.block("range", at - 0.3, level.bid, at + 0.3, level.ask, "others' best prices")
    spread = [
        (at, level.fair_cents, 2 * (level.sd_cents or 0.0))
        for at, level in enumerate(levels)
        if level.fair_cents is not None
    ]
    plot.band("band", [(at, max(0.0, fair - sd), min(100.0, fair + sd)) for at, fair, sd in spread])
    plot.trace("curve", [(at, fair) for at, fair, _ in spread])
    for at, level in enumerate(levels):
        for side, price in (("bid", level.own_bid), ("ask", level.own_ask)):
            if price is not None:
                y = plot.y(price)
                plot.line(f"mark own {side}", plot.x(at - 0.36), y, plot.x(at + 0.36), y)
    head = ("rung", "fair", "others' bid", "others' ask", "our bid", "our ask", "shares")
    rows = [
        (
            name,
            "-" if row.fair_cents is None else f"{row.fair_cents:.1f}",
            "-" if row.bid is None else row.bid,
            "-" if row.ask is None else row.ask,
            "-" if row.own_bid is None else f"{row.own_bid} x {row.own_bid_qty}",
            "-" if row.own_ask is None else f"{row.own_ask} x {row.own_ask_qty}",
            f"{row.net_qty:+d}",
        )
        for name, row in zip(names, levels, strict=True)
    ]
    after = span_text((moment.at_ns - session.begun_ns) / NS_PER_SECOND)
    note = (
        f"<p class='soft'>{len(levels)} of {len(session.rungs)} rungs, after {after}. The line is "
        "the fair value with twice its standard deviation around it; grey is between the others' "
        "best prices; our best quotes are green and red.</p>"
    )
    below = note + folded("The quotes as a table", table("YES cents", head, rows))
    said = f"{title}: {len(levels)} rungs after {after}"
    return figure("curve", title, plot.svg(said), "", below)


def _last_quoted(session: Session, event: str) -> tuple[SessionSample, list[MarketSample]] | None:
    """The last moment with an order of ours on an event, else with a fair value: at the end nothing
    rests."""
    known: tuple[SessionSample, list[MarketSample]] | None = None
    for moment in reversed(session.moments):
        levels = [each for each in moment.levels if session.rungs[each.rung].event_ticker == event]
        if any(each.own_bid or each.own_ask for each in levels):
            return moment, levels
        if known is None and any(each.fair_cents is not None for each in levels):
            known = moment, levels
    return known


# --- risk -----------------------------------------------------------------------------------------


def _nets(session: Session) -> list[list[int]]:
    nets = [[0] * len(session.moments) for _ in session.rungs]
    for at, moment in enumerate(session.moments):
        for level in moment.levels:
            nets[level.rung][at] = level.net_qty
    return nets


def _inventory(session: Session, clock: TimeAxis, up: Span) -> str:
    title = "Inventory by rung: YES shares less NO shares"
    count = len(session.rungs)
    if not session.moments or not count:
        return figure("inventory", title, "", _NOTHING)
    names, nets = rung_names(session.rungs), _nets(session)
    plot = clock.plot(up, "shares", 260, room_for(names))
    lines = [
        (names[rung] if any(row) else "", "rung", hue_css(rung, count), row)
        for rung, row in enumerate(nets)
    ]
    clock.lines(plot, session, lines, steps=True)
    rows = [
        (name, f"{min(row):+d}", f"{max(row):+d}", f"{row[-1]:+d}")
        for name, row in zip(names, nets, strict=True)
    ]
    head = ("rung", "least", "most", "at the end")
    below = folded("Inventory as a table", table("Shares by rung, as sampled", head, rows))
    name, least, most, last = max(rows, key=lambda row: max(abs(int(row[1])), abs(int(row[2]))))
    said = f"{title}, from {least} to {most} on {name}, the furthest; {last} there at the end"
    return figure("inventory", title, plot.svg(said), "", below)


def _worst_ups(session: Session) -> Iterable[float]:
    for moment in session.moments:
        yield from (moment.worst_cents / 100, moment.limit_cents / 100)


def _worst(session: Session, clock: TimeAxis, up: Span) -> str:
    title = "Worst case against its limit"
    if not session.moments:
        return figure("worst", title, "", _NOTHING)
    plot = clock.plot(up, "$")
    worst = [each.worst_cents / 100 for each in session.moments]
    times = [clock.position(session, each.at_ns) for each in session.moments]
    plot.band("loss", [(at, 0.0, value) for at, value in zip(times, worst, strict=True)])
    limit = [each.limit_cents / 100 for each in session.moments]
    lines = [("limit", "limit", "", limit), ("worst case", "worst", "", worst)]
    clock.lines(plot, session, lines)
    most = dollars(session.worst_max_cents)
    limits = sorted({each.limit_cents for each in session.moments})
    # The limit may have changed: the maximum is not compared with the last one.
    ends = " to ".join(dollars(each) for each in dict.fromkeys((limits[0], limits[-1])))
    said = f"At most {most} of {ends} could have been lost at any decision of the run."
    risks = _risk_table(session) if session.risks else ""
    return figure("worst", title, plot.svg(f"{title}. {said}"), "", f"<p>{said}</p>{risks}")


def _risk_table(session: Session) -> str:
    rows = [
        (
            each.name,
            income(each.risk.expected_cents),
            dollars(each.risk.shortfall_95_cents),
            dollars(each.risk.shortfall_99_cents),
            dollars(each.shortfall_99_max_cents),
            f"{each.risk.over_limit_chance:.1%} of {dollars(each.risk.limit_cents)}",
        )
        for each in session.risks
    ]
    head = ("held in", "expected", "ES 95 %", "ES 99 %", "highest", "loss over limit")
    return table("Risk of what was held at the end, by the fair curve", head, rows)


# --- markouts and fills ---------------------------------------------------------------------------


def _points(session: Session) -> tuple[MarkoutReport, ...]:
    return () if session.profit is None else session.profit.total.markouts


def _markout_ups(session: Session) -> Iterable[float]:
    for each in _points(session):
        error = 2 * (each.error_cents or 0.0)
        yield from (each.mean_cents - error, each.mean_cents + error)


def _markouts(session: Session, _clock: TimeAxis, up: Span) -> str:
    title = "Markouts: how far values moved in favour of fills"
    points = _points(session)
    if not points:
        nothing = "No fill, or none whose horizon was over before the run was."
        return figure("markouts", title, "", nothing)
    plot = Plot((-0.5, len(HORIZONS_S) - 0.5), up, right=92)
    plot.marks_across(
        [(place, f"{horizon} s") for place, horizon in enumerate(HORIZONS_S)], "after the fill"
    )
    plot.marks_up("cents a share")
    ends = []
    for shift, against in zip((-0.06, 0.06), Against, strict=True):
        curve = [
            (HORIZONS_S.index(each.horizon_s) + shift, each)
            for each in points
            if each.against is against
        ]
        plot.trace(f"against {against}", [(x, each.mean_cents) for x, each in curve])
        for x, each in curve:
            if each.error_cents is not None:
                ends_at = [each.mean_cents + sign * 2 * each.error_cents for sign in (-1, 1)]
                plot.block(f"whisker {against}", x - 0.012, ends_at[0], x + 0.012, ends_at[1])
            plot.dot(f"against {against}", x, each.mean_cents, 3.5, _said(each))
        if curve:
            ends.append((f"to {against}", str(against), curve[-1][1].mean_cents, ""))
    plot.names(ends)
    rows = [
        (
            f"{each.horizon_s} s, {each.against}",
            Income(f"{each.mean_cents:+.3f}"),
            "-" if each.error_cents is None else f"{each.error_cents:.3f}",
            each.fills,
            f"{each.qty:,}",
        )
        for each in points
    ]
    head = ("after", "cents a share", "standard error", "fills", "shares")
    below = table("Means weighted by shares; errors over stretches of time", head, rows)
    if session.profit is not None and (rows_by := leaning_rows([session.profit.by])):
        caption = (
            "Against others' mid, by the book and the takers' flow before the fill: cents a share "
            "with half the 95 % interval"
        )
        below += table(caption, LEANING_HEAD, rows_by)
    if session.profit is not None and session.profit.unsampled:
        left_out = f"{session.profit.unsampled} markouts were left out for want of a value."
        below += f"<p class='soft'>{left_out}</p>"
    said = f"{title}: " + "; ".join(map(_said, points))
    return figure("markouts", title, plot.svg(said), "", below)


def _said(point: MarkoutReport) -> str:
    return f"{point.mean_cents:+.2f} c after {point.horizon_s} s against {point.against}"


def _fills(session: Session, clock: TimeAxis, _up: Span) -> str:
    title = "Fills on the ladder: time, price, side and size"
    if not session.fills:
        return figure("fills", title, "", "No fill in this run.")
    names, count = rung_names(session.rungs), len(session.rungs)
    plot = clock.plot((0.0, float(PAYOUT_CENTS)), "YES cents", 330, room_for(names))
    fairs: dict[int, list[tuple[float, float]]] = {}
    for moment in session.moments:
        for level in moment.levels:
            if level.fair_cents is not None:
                at = clock.position(session, moment.at_ns)
                fairs.setdefault(level.rung, []).append((at, level.fair_cents))
    lines = [(rung, line, hue_css(rung, count)) for rung, line in sorted(fairs.items())]
    for _, line, css in lines:
        plot.trace("rung faint", line, css=css)
    plot.names((names[rung], "rung", line[-1][1], css) for rung, line, css in lines)
    every = -(-len(session.fills) // FILLS_DRAWN_MAX)
    shown = session.fills[::-every]
    for fill in shown:
        size = 2.2 + 1.1 * math.log2(1 + fill.qty / 4)
        label = f"{names[fill.rung]}: {fill.side} {fill.qty} at {fill.price}, {fill.reason}"
        plot.arrow(str(fill.side), clock.position(session, fill.at_ns), fill.price, size,
                   up=fill.side is BookSide.BID, said=label)  # fmt: skip
    bought, sold = (
        sum(fill.qty for fill in session.fills if fill.side is side) for side in BookSide
    )
    said = f"{title}: {len(session.fills)} fills, {bought} shares bought and {sold} sold"
    thinned = ""
    if len(shown) < len(session.fills):
        thinned = f"<p class='soft'>Drawn are {len(shown)} of {len(session.fills)} fills.</p>"
    legend = (
        "<p class='soft'><span class='bid'>▲ bought YES</span>, "
        "<span class='ask'>▼ sold YES</span>; larger is more shares; lines are the fair values.</p>"
    )
    return figure("fills", title, plot.svg(said), "", legend + thinned + _listed(session, names))


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


def _after(fill: SessionFill, horizon_s: int) -> str:
    for value in fill.values:
        if value.horizon_s == horizon_s and value.against == Against.FAIR:
            return f"{fill.markout_cents(value):+.1f}"
    return "-"


# --- quotes and requests --------------------------------------------------------------------------


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _uptime(session: Session, _clock: TimeAxis, _up: Span) -> str:
    title = "Quote uptime by rung and side"
    lines = [
        (f"{name} {side}", up.parts)
        for name, pair in zip(rung_names(session.rungs), session.uptime, strict=True)
        for side, up in zip(("bid", "ask"), pair, strict=True)
    ]
    if not any(any(parts) for _, parts in lines):
        return figure("uptime", title, "", "No time was sampled: the run never quoted.")
    count = len(lines)
    height = TOP + BELOW + _ROW * count
    left = room_for(name for name, _ in lines)
    plot = Plot((0.0, 100.0), (0.0, float(count)), height, right=20, left=left)
    plot.marks_across(
        [(v, f"{v} %") for v in range(0, 101, 25)], "share of the time in which orders were taken"
    )
    plot.marks_up("", [(count - place - 0.6, name) for place, (name, _) in enumerate(lines)])
    for place, (name, parts) in enumerate(lines):
        at = 0.0
        for style, said, part in zip(("on", "missing", "idle"), _STATES, parts, strict=True):
            end = at + 100 * part / (sum(parts) or 1)
            if part:
                plot.block(style, at, count - place - 0.12, end, count - place - 0.88,
                           f"{name}: {said} {_percent(part, sum(parts))}")  # fmt: skip
            at = end
    total = [sum(parts[place] for _, parts in lines) for place in range(3)]
    rows = [
        (name, *(_percent(part, sum(parts)) for part in parts))
        for name, parts in [*lines, ("all", total)]
    ]
    legend = (
        "<p class='soft'><span class='key on'></span>all that is wanted rests "
        "<span class='key missing'></span>something wanted does not <span class='key idle'></span>"
        "nothing is wanted. Looked at once a second, while the market took orders.</p>"
    )
    head = ("rung and side", *_STATES)
    below = legend + folded("Uptime as a table", table("Share of the time", head, rows, sums=1))
    said = f"{title}: on target {_percent(total[0], sum(total))} of the time over all of them"
    return figure("uptime", title, plot.svg(said), "", below)


def _requests_ups(session: Session) -> Iterable[float]:
    return chain.from_iterable(moment.requests for moment in session.moments)


def _requests(session: Session, clock: TimeAxis, up: Span) -> str:
    title = "Requests by kind"
    answers = [(kind, session.answers[kind]) for kind in KINDS if kind in session.answers]
    head = ("kind", "sent", "done", "refused", "unknown", "no answer")
    rows = [
        (kind, row.sent, row.done, row.refused, row.unknown, row.unanswered)
        for kind, row in answers
    ]
    kept, lost = session.amends
    below = table("What became of them", head, rows) + (
        f"<p>{kept} amends kept their place in the queue and {lost} lost it: smaller at the same "
        "price keeps it, another price or more shares lose it.</p>"
    )
    if session.refused:
        codes = sorted(session.refused.items(), key=lambda row: (-row[1], row[0]))
        below += table("Refusals by code", ("code", "refused"), codes)
    if not session.moments or not rows:
        return figure("requests", title, "", "No samples over time: nothing was sent.", below)
    plot = clock.plot(up, "sent", 210)
    lines = [
        (f"{kind}s", f"kind {kind}", "", [float(m.requests[place]) for m in session.moments])
        for place, kind in enumerate(KINDS)
    ]
    clock.lines(plot, session, lines)
    said = f"{title}: " + ", ".join(f"{row.sent} {kind}s" for kind, row in answers)
    return figure("requests", title, plot.svg(said), "", below)


def _diagnostics(session: Session, clock: TimeAxis, _up: Span) -> str:
    """A plot for each number, as each has a scale of its own."""
    title = "Diagnostics of the strategy"
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for moment in session.moments:
        at = clock.position(session, moment.at_ns)
        for event, name, value in moment.diagnostics:
            found.setdefault((event, name), []).append((at, value))
    is_one = len({event for event, _ in found}) == 1
    named = {(name if is_one else f"{event} {name}"): rows for (event, name), rows in found.items()}
    plots, table_rows = [], []
    for place, (name, points) in enumerate(sorted(named.items())):
        values = [value for _, value in points]
        mean = math.fsum(values) / len(values)
        cells = (min(values), mean, max(values), values[-1])
        table_rows.append((name, len(values), *(f"{each:.6g}" for each in cells)))
        if place < DIAGNOSTICS_DRAWN_MAX:
            plot = clock.plot(span_of(values, zero=False), name, 130, 20)
            plot.trace("ink profit", points, steps=True)
            plots.append(plot.svg(f"{name}: from {cells[0]:.6g} to {cells[2]:.6g}"))
    head = ("number", "samples", "least", "mean", "greatest", "last")
    below = table("Every number", head, table_rows) if table_rows else ""
    nothing = "The strategy said no numbers."
    return figure("diagnostics", title, "".join(plots), nothing, below)


FIGURES: Final = (
    Figure("profit", "Profit", _profit_ups, _profit),
    Figure("curve", "Fair curve", lambda _: (), _ladder),
    Figure("inventory", "Inventory", lambda each: chain.from_iterable(_nets(each)), _inventory),
    Figure("worst", "Worst case", _worst_ups, _worst),
    Figure("markouts", "Markouts", _markout_ups, _markouts),
    Figure("fills", "Fills", lambda _: (), _fills),
    Figure("uptime", "Uptime", lambda _: (), _uptime),
    Figure("requests", "Requests", _requests_ups, _requests),
    Figure("diagnostics", "Diagnostics", lambda _: (), _diagnostics),
)


def figures_of(sessions: Sequence[Session]) -> tuple[Figure, ...]:
    """All figures, but that of diagnostics where no strategy had any."""
    has_any = any(moment.diagnostics for each in sessions for moment in each.moments)
    return FIGURES if has_any else FIGURES[:-1]
