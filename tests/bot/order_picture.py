"""Draws docs/order-life.md from the transition table: `python -m tests.bot.order_picture`."""

from pathlib import Path

from bot.core.orders.transitions import TRANSITIONS, Anomaly, Cell, NotAllowed, OrderEvent, State

PAGE = Path(__file__).resolve().parents[2] / "docs" / "order-life.md"

_HEAD = """# The life of an own order

Drawn from the table `TRANSITIONS` of `bot/core/orders/transitions.py` by
`python -m tests.bot.order_picture`; a test keeps the two equal. The picture
shows the steps that a venue which keeps its word can cause; the table below it decides every
event in every state.

"""

_AFTER_PICTURE = """
## Every state and every event

- `open`: the order goes to that state, or stays in it.
- `open` ⚠1: a promise is broken. The order goes to that state and is suspected: an alert is set,
  the order is read back and counted in full, and no new order is made on its side of the market. A
  read that began late enough and shows it as expected, or its end, clears the alert. The order is
  cancelled as well, unless it is merely missing or unreadable; missing for ten seconds, it is.
- ✕a: an act of ours that is not taken.

A read that takes from an open order what no write of ours did is no event yet: another market, a
smaller size, fewer fills, or an end in a list of resting orders. The order counts as before until
a read by its id, begun a lag later, shows the same.

"""

_MEANING = {
    OrderEvent.RESEND: "the same bytes are sent again",
    OrderEvent.AMEND: "an amend leaves",
    OrderEvent.CANCEL: "a cancel leaves",
    OrderEvent.ACK_OPEN: "a 2xx to our create or amend shows it resting",
    OrderEvent.ACK_CLOSED: "a 2xx to our write shows it over, all shares accounted for",
    OrderEvent.CANCEL_QTY_MISMATCH: "a 2xx to our cancel leaves shares that may have filled",
    OrderEvent.UNKNOWN_STATUS: "a 2xx to our write shows a status that this version cannot read",
    OrderEvent.NOT_SENT: "our write never reached the engine",
    OrderEvent.REJECTED: "our write was decided against",
    OrderEvent.DUPLICATE_ID: "duplicate_order_id: the create landed, its state is not shown",
    OrderEvent.MARKET_RESOLVED: "the create's market has resolved: nothing rests there",
    OrderEvent.TOO_LATE: "order_not_cancelable: it is over, how is not shown",
    OrderEvent.NOT_FOUND: "404 to our write about an id that the venue gave us",
    OrderEvent.TIMEOUT: "our write may have been carried out",
    OrderEvent.CANCEL_INEFFECTIVE: "a cancel had no known effect, and an amend has no answer",
    OrderEvent.QUERY_OPEN: "a read begun late enough shows it resting as we know it",
    OrderEvent.QUERY_DIFFERS: "such a read shows an open order at another price, or larger",
    OrderEvent.QUERY_CLOSED: "a read shows it over",
    OrderEvent.QUERY_MOVED: "it reads cancelled, not by us, while an amend has no answer",
    OrderEvent.QUERY_NOT_FOUND: "404 to a read of an id that the venue gave us",
    OrderEvent.QUERY_UNKNOWN_STATUS: "a read shows a status that this version cannot read",
    OrderEvent.LISTED: "a late enough list shows the order that it must be",
    OrderEvent.CONFIRMED_GONE: "lists a lag apart and a read by its id show nothing like it",
}


def page() -> str:
    """The page as the table has it now."""
    lines = [*_picture(), *_AFTER_PICTURE.splitlines(), *_table()]
    return _HEAD + "\n".join(lines) + "\n"


def _picture() -> list[str]:
    arrows: dict[tuple[State, State], list[str]] = {}
    for state, row in TRANSITIONS.items():
        for event, cell in row.items():
            if not isinstance(cell, NotAllowed | Anomaly) and cell.state is not state:
                arrows.setdefault((state, cell.state), []).append(_name(event))
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> pending_new: create"]
    lines += ["    [*] --> new_unknown: left by an earlier run", "    [*] --> open: found resting"]
    lines += [
        f"    {_name(a)} --> {_name(b)}: {', '.join(events)}" for (a, b), events in arrows.items()
    ]
    return [*lines, "    closed --> [*]", "```"]


def _name(member: State | OrderEvent) -> str:
    return member.name.lower()


def _table() -> list[str]:
    broken: dict[str, int] = {}
    barred: dict[str, str] = {}
    lines = [
        "| event | " + " | ".join(map(_name, State)) + " | meaning |",
        "|---" * (len(State) + 2) + "|",
    ]
    for event in OrderEvent:
        cells = [_cell(TRANSITIONS[state][event], broken, barred) for state in State]
        lines.append(f"| **{_name(event)}** | {' | '.join(cells)} | {_MEANING[event]} |")
    lines += ["", "| ⚠ | broken promise | alert |", "|---|---|---|"]
    alerts = {
        cell.why: cell.finding
        for row in TRANSITIONS.values()
        for cell in row.values()
        if isinstance(cell, Anomaly)
    }
    lines += [f"| {number} | {why} | `{alerts[why]}` |" for why, number in broken.items()]
    lines += ["", "| ✕ | why the act is not taken |", "|---|---|"]
    lines += [f"| {letter} | {why} |" for why, letter in barred.items()]
    lines += [
        "",
        "The journal, the status page, metrics and alerts name states and events as older",
    ]
    lines += ["versions did:", "", "| name | there |", "|---|---|"]
    named = [*State, *OrderEvent]
    return lines + [f"| {_name(it)} | `{it.value}` |" for it in named if _name(it) != it.value]


def _cell(cell: Cell, broken: dict[str, int], barred: dict[str, str]) -> str:
    if isinstance(cell, NotAllowed):
        return "✕" + barred.setdefault(cell.why, chr(ord("a") + len(barred)))
    if isinstance(cell, Anomaly):
        return f"{_name(cell.state)} ⚠{broken.setdefault(cell.why, len(broken) + 1)}"
    return _name(cell.state)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
