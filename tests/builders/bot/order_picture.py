"""Draws docs/order-life.md from the transition table.

Run: python -m tests.builders.bot.order_picture
"""

from pathlib import Path

from bot.core.orders.transitions import TRANSITIONS, Anomaly, Cell, NotAllowed, OrderEvent, State

PAGE = Path(__file__).resolve().parents[3] / "docs" / "order-life.md"

_HEAD = """# The life of an own order

`python -m tests.builders.bot.order_picture` draws this page from `TRANSITIONS` in
`bot/core/orders/transitions.py`. The picture shows the steps of a correct venue; the table decides
every event in every state.

"""

_AFTER_PICTURE = """
## Every state and every event

| cell | meaning |
|---|---|
| `open` | the order goes to that state |
| empty | it stays in its state |
| ✕ | we may not do this now |
| ⚠1 | the venue broke a promise, as in the list below |

A broken promise makes the order suspect: the bot sets an alert, counts the order in full, reads it
back, cancels it, and sends no new order on its side of the market. It cancels a missing order only
after ten seconds, and does not cancel an unreadable one. A late enough read that shows the order as
expected, or closed, clears the alert.

`closed` is final. A read of an open order that shows another market, a smaller size, fewer fills,
or its end only in a list of resting orders, is not yet an event: the bot waits until a read by its
id, begun a read lag later, shows the same.

"""

_MEANING = {
    OrderEvent.RESEND: "we retry with the same bytes",
    OrderEvent.AMEND: "we amend",
    OrderEvent.CANCEL: "we cancel",
    OrderEvent.ACK_OPEN: "2xx to a create or amend: the order rests",
    OrderEvent.ACK_CLOSED: "2xx to a write: closed, all shares accounted for",
    OrderEvent.CANCEL_QTY_MISMATCH: "2xx to a cancel: some shares may have filled",
    OrderEvent.UNKNOWN_STATUS: "2xx to a write with an unreadable status",
    OrderEvent.NOT_SENT: "the write never reached the engine",
    OrderEvent.REJECTED: "the write was rejected",
    OrderEvent.DUPLICATE_ID: "duplicate_order_id: the create had landed",
    OrderEvent.MARKET_RESOLVED: "the market has resolved: nothing rests",
    OrderEvent.TOO_LATE: "order_not_cancelable: closed, fills unknown",
    OrderEvent.NOT_FOUND: "404 to a write by the venue's id",
    OrderEvent.TIMEOUT: "the write may have been executed",
    OrderEvent.CANCEL_INEFFECTIVE: "a cancel without effect while an amend is unresolved",
    OrderEvent.QUERY_OPEN: "a late enough read: open as we know it",
    OrderEvent.QUERY_DIFFERS: "a late enough read: open at another price, or larger",
    OrderEvent.QUERY_CLOSED: "a read: closed",
    OrderEvent.QUERY_MOVED: "a read: cancelled, not by us, while an amend is unresolved",
    OrderEvent.QUERY_NOT_FOUND: "404 to a read by the venue's id",
    OrderEvent.QUERY_UNKNOWN_STATUS: "a read with an unreadable status",
    OrderEvent.LISTED: "a late enough list shows it",
    OrderEvent.CONFIRMED_GONE: "absent from lists a read lag apart and from a read by id",
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
    states = [state for state in State if state is not State.CLOSED]
    lines = [
        "| event | " + " | ".join(map(_name, states)) + " | meaning |",
        "|---" * (len(states) + 2) + "|",
    ]
    for event in OrderEvent:
        cells = [_cell(state, TRANSITIONS[state][event], broken) for state in states]
        lines.append(f"| **{_name(event)}** | {' | '.join(cells)} | {_MEANING[event]} |")
    lines += ["", "| ⚠ | broken promise | alert |", "|---|---|---|"]
    alerts = {
        cell.why: cell.finding
        for row in TRANSITIONS.values()
        for cell in row.values()
        if isinstance(cell, Anomaly)
    }
    lines += [f"| {number} | {why} | `{alerts[why]}` |" for why, number in broken.items()]
    lines += ["", "The journal, the status page, metrics and alerts keep older names:", ""]
    named = (it for it in (*State, *OrderEvent) if _name(it) != it.value)
    return [*lines, ", ".join(f"{_name(it)} `{it.value}`" for it in named) + "."]


def _cell(state: State, cell: Cell, broken: dict[str, int]) -> str:
    if isinstance(cell, NotAllowed):
        return "✕"
    parts = [] if cell.state is state else [_name(cell.state)]
    if isinstance(cell, Anomaly):
        parts.append(f"⚠{broken.setdefault(cell.why, len(broken) + 1)}")
    return " ".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
