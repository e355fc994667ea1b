"""Draws docs/order-life.md from the transition table.

Run: python -m tests.builders.bot.order_picture
"""

from pathlib import Path

from bot.core.orders.transitions import TRANSITIONS, Anomaly, Cell, NotAllowed, OrderEvent, State

PAGE = Path(__file__).resolve().parents[3] / "docs" / "order-life.md"

_HEAD = """# The life of an own order

`python -m tests.builders.bot.order_picture` draws this page from `TRANSITIONS` in
`bot/core/orders/transitions.py`; a test keeps it current. The picture shows the steps of a correct
venue; the table decides every event in every state.

"""

_AFTER_PICTURE = """
## Every state and every event

- `open`: the order goes to that state, or stays in it.
- `open` ⚠1: the venue broke a promise. The order goes to that state and is suspect: an alert is
  set, the order is read back and counted in full, and its side of the market gets no new order. A
  late enough read that shows it as expected, or its end, clears the alert. The order is cancelled
  too; one that is merely missing or unreadable is not, but after ten seconds missing it is.
- ✕a: the act is not allowed.

These reads of an open order, without a write of ours, are no event yet: another market, a smaller
size, fewer fills, or its end in a list of resting orders. The order counts as before until a read
by its id, begun a lag later, shows the same.

"""

_MEANING = {
    OrderEvent.RESEND: "we retry with the same bytes",
    OrderEvent.AMEND: "we amend",
    OrderEvent.CANCEL: "we cancel",
    OrderEvent.ACK_OPEN: "2xx to a create or amend: it rests",
    OrderEvent.ACK_CLOSED: "2xx to a write: it is over, all shares accounted for",
    OrderEvent.CANCEL_QTY_MISMATCH: "2xx to a cancel: some shares may have filled",
    OrderEvent.UNKNOWN_STATUS: "2xx to a write with an unreadable status",
    OrderEvent.NOT_SENT: "the write never reached the engine",
    OrderEvent.REJECTED: "the write was rejected",
    OrderEvent.DUPLICATE_ID: "duplicate_order_id: the create landed, state unknown",
    OrderEvent.MARKET_RESOLVED: "the market has resolved: nothing rests",
    OrderEvent.TOO_LATE: "order_not_cancelable: over, how is unknown",
    OrderEvent.NOT_FOUND: "404 to a write by the venue's id",
    OrderEvent.TIMEOUT: "the write may have been executed",
    OrderEvent.CANCEL_INEFFECTIVE: "a cancel without known effect, an amend without answer",
    OrderEvent.QUERY_OPEN: "a late enough read: it rests as we know it",
    OrderEvent.QUERY_DIFFERS: "such a read: open at another price, or larger",
    OrderEvent.QUERY_CLOSED: "a read: it is over",
    OrderEvent.QUERY_MOVED: "a read: cancelled, not by us, while an amend has no answer",
    OrderEvent.QUERY_NOT_FOUND: "404 to a read by the venue's id",
    OrderEvent.QUERY_UNKNOWN_STATUS: "a read with an unreadable status",
    OrderEvent.LISTED: "a late enough list shows it",
    OrderEvent.CONFIRMED_GONE: "lists a lag apart and a read by id lack it",
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
    lines += ["", "The journal, the status page, metrics and alerts keep older names:", ""]
    named = (it for it in (*State, *OrderEvent) if _name(it) != it.value)
    return [*lines, ", ".join(f"{_name(it)} `{it.value}`" for it in named) + "."]


def _cell(cell: Cell, broken: dict[str, int], barred: dict[str, str]) -> str:
    if isinstance(cell, NotAllowed):
        return "✕" + barred.setdefault(cell.why, chr(ord("a") + len(barred)))
    if isinstance(cell, Anomaly):
        return f"{_name(cell.state)} ⚠{broken.setdefault(cell.why, len(broken) + 1)}"
    return _name(cell.state)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
