"""The film of the fair curve: the whole ladder at up to 120 instants, turned by a slider.

The pictures are data in the page and drawn there by `report.js`; beside it the last one stands as a
table, for whoever cannot see it or has no script.
"""

from collections.abc import Sequence

import msgspec

from bot.lab.report.session import Level, Picture, Session
from bot.lab.report.shown import rung_names, span_text
from bot.page.skeleton import figure, folded, table
from venue.wire.instant import NS_PER_SECOND


def film(sessions: Sequence[Session], group: str) -> list[str]:
    """A film for each session; within a group they turn together. Only the rungs of one event at a
    time are a ladder: those of the event with the most rungs are shown."""
    return [_film(each, f"{group}-{place}") for place, each in enumerate(sessions)]


def _film(session: Session, name: str) -> str:
    title = "Fair curve and quotes over the session"
    pictures = [each for each in session.pictures if any(_shows(level) for level in each.levels)]
    if not pictures:
        return figure("film", title, "", "No picture: no fair value was known and nothing rested, "
                      "or totals alone were kept.")  # fmt: skip
    rungs = _one_event(session)
    names = rung_names([session.rungs[place] for place in rungs])
    last = _last_quoted(pictures, rungs)
    data = {
        "rungs": names,
        "pictures": [_plain(session, each, rungs) for each in pictures],
        "every": span_text(session.picture_ns / NS_PER_SECOND),
    }
    text = msgspec.json.encode(data).decode().replace("<", "\\u003c")
    drawn = (
        f"<div class='film' data-film='{name}'><div class='stage'></div>"
        f"<p class='turn'><button type='button' class='play'>Play</button>"
        f"<label>Moment <input type='range' min='0' max='{len(pictures) - 1}' "
        f"value='{last}' step='1'></label> <output></output></p>"
        f"<script type='application/json'>{text}</script>"
        "<noscript><p>The film needs its script; the table beside it has the last quotes.</p>"
        "</noscript></div>"
    )
    few = f" of the {len(session.rungs)} rungs" if len(rungs) < len(session.rungs) else ""
    note = (
        f"<p class='soft'>{len(pictures)} pictures, {data['every']} apart{few and ','}"
        f"{f' {len(rungs)}{few}' if few else ''}. The line is the fair value with twice its "
        "standard deviation around it; grey is between the others' best prices; our best quotes "
        "are green and red.</p>"
    )
    return figure("film", title, drawn, "", note + _last(pictures[last], rungs, names))


def _last_quoted(pictures: Sequence[Picture], rungs: Sequence[int]) -> int:
    """The place of the last picture in which something of ours rests on these rungs: at the end
    nothing does."""
    for place in reversed(range(len(pictures))):
        levels = [level for level in pictures[place].levels if level.rung in rungs]
        if any(level.own_bid or level.own_ask for level in levels):
            return place
    return len(pictures) - 1


def _shows(level: Level) -> bool:
    return level.fair_cents is not None or level.own_bid is not None or level.own_ask is not None


def _one_event(session: Session) -> list[int]:
    """The places of the rungs of the event with the most of them, in the order of its ladder. Each
    picture has those of that time in their order: what was listed later may lie between them."""
    events: dict[str, list[int]] = {}
    for picture in session.pictures:
        shown: dict[str, list[int]] = {}
        for level in picture.levels:
            shown.setdefault(session.rungs[level.rung].event_ticker, []).append(level.rung)
        for event, rungs in shown.items():
            if len(rungs) >= len(events.get(event, ())):
                events[event] = rungs
    return max(events.values(), key=len)


def _plain(session: Session, picture: Picture, rungs: Sequence[int]) -> list[object]:
    """[seconds, phase, [fair, sd, bid, ask, own bid, own ask, net] or null for each rung]."""
    found = {level.rung: level for level in picture.levels}
    rows: list[object] = []
    for place in rungs:
        row = found.get(place)
        rows.append(
            None
            if row is None
            else [_short(row.fair_cents), _short(row.sd_cents), row.bid, row.ask, row.own_bid,
                  row.own_ask, row.net_qty]
        )  # fmt: skip
    return [round((picture.at_ns - session.begun_ns) / NS_PER_SECOND, 1), picture.phase, rows]


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _last(picture: Picture, rungs: Sequence[int], names: Sequence[str]) -> str:
    found = {level.rung: level for level in picture.levels}
    rows = [
        (
            name,
            _told(row.fair_cents),
            _told(row.bid),
            _told(row.ask),
            _quote(row.own_bid, row.own_bid_qty),
            _quote(row.own_ask, row.own_ask_qty),
            f"{row.net_qty:+d}",
        )
        for name, place in zip(names, rungs, strict=True)
        if (row := found.get(place)) is not None
    ]
    head = ("rung", "fair", "others' bid", "others' ask", "our bid", "our ask", "shares")
    caption = "The ladder as quoted last, YES cents"
    return folded("The last quotes as a table", table(caption, head, rows))


def _told(value: float | None) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, int) else f"{value:.1f}"


def _quote(price: int | None, qty: int) -> str:
    return "-" if price is None else f"{price} x {qty}"
