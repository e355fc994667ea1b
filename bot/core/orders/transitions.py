"""The life of one own order as one table: state x event -> one of three decisions.

    Go(state)            the order goes there, or stays
    Anomaly(state, why)  the venue, or we, broke a promise: the order goes there, is read back, and
                         no new order is made on its side of the market until a read clears it
    NotAllowed(why)      an act of ours that is not taken

An event is an act of ours, an answer to one, or the content of a read or a list. Nothing else in
the project gives an order a state. docs/order-life.md is drawn from here.

An order whose amend timed out (REPLACE_UNKNOWN) is to be cancelled: the answer to a cancel is the
engine's own word. Once the venue has said that an order is over (CLOSED_UNCONFIRMED), it is only
read, never cancelled again, until a read shows how much of it filled.
"""

import enum
from collections.abc import Mapping
from typing import Final

import msgspec


class State(enum.StrEnum):
    """The state of an own order, as far as we know. The values are those of older versions."""

    PENDING_NEW = "sent"  # a first create is in flight
    NEW_UNKNOWN = "lost"  # a create without a definite answer: it may be live
    OPEN = "open"  # it rests, and no write of ours is in flight
    PENDING_REPLACE = "amending"
    REPLACE_UNKNOWN = "blurred"  # an amend without a definite answer: cancel it
    PENDING_CANCEL = "cancelling"
    CLOSED_UNCONFIRMED = "closing"  # the venue says it is over, but not yet how much of it filled
    CLOSED = "done"


class OrderEvent(enum.StrEnum):
    """Our acts, answers to them, reads, and lists."""

    RESEND = "resend"
    AMEND = "amend"
    CANCEL = "cancel"
    ACK_OPEN = "rests"  # 2xx to a create or amend: it rests
    ACK_CLOSED = "ended"  # 2xx to a write: it is over, and how much filled is shown
    CANCEL_QTY_MISMATCH = "short"  # 2xx to a cancel that leaves shares unaccounted for
    UNKNOWN_STATUS = "strange"  # 2xx to a write, with a status that this version cannot read
    NOT_SENT = "never"  # our write did not reach the engine
    REJECTED = "refused"  # our write was decided against; the order is what it was
    DUPLICATE_ID = "exists"  # duplicate_order_id: the create landed, it is not shown how
    MARKET_RESOLVED = "resolved"  # the create's market has resolved: nothing rests there
    TOO_LATE = "over"  # order_not_cancelable: it is over, how is not shown
    NOT_FOUND = "missing"  # 404 to a write about an id that the venue gave us
    TIMEOUT = "no_answer"  # our write may have been carried out
    CANCEL_INEFFECTIVE = "blind"  # a cancel without effect while an amend is undecided
    QUERY_OPEN = "read_rests"  # a read begun late enough shows it resting as we know it
    QUERY_DIFFERS = "read_differs"  # such a read shows an open order at another price, or larger
    QUERY_CLOSED = "read_ended"
    QUERY_MOVED = "read_moved"  # it reads cancelled, not by us, while an amend is undecided
    QUERY_NOT_FOUND = "read_missing"  # 404 to a read of an id that the venue gave us
    QUERY_UNKNOWN_STATUS = "read_strange"  # a read with a status that this version cannot read
    LISTED = "listed"  # a late enough list shows the order that it must be
    CONFIRMED_GONE = (
        "gone"  # lists a lag apart show nothing that it could be, and no read by its id does
    )


ACTS: Final = (OrderEvent.RESEND, OrderEvent.AMEND, OrderEvent.CANCEL)
"""The events that are our own acts."""

UNDONE: Final = (OrderEvent.NOT_SENT, OrderEvent.REJECTED, OrderEvent.TIMEOUT, OrderEvent.NOT_FOUND)
"""Answers to a cancel after which the order may be what it was."""


class OrderFinding(enum.StrEnum):
    """The alert of a suspected order."""

    IMPOSSIBLE = "impossible_fact"
    MISSING = "order_missing"
    UNREADABLE = "status_unreadable"

    @property
    def dooms(self) -> bool:
        """True if the order is to be cancelled; one that is merely not shown is kept."""
        return self is OrderFinding.IMPOSSIBLE


class Go(msgspec.Struct, frozen=True):
    """The order goes to this state, or stays in it."""

    state: State


class Anomaly(msgspec.Struct, frozen=True):
    """A promise is broken. `why` is one phrase for a person."""

    state: State
    why: str
    finding: OrderFinding = OrderFinding.IMPOSSIBLE


class NotAllowed(msgspec.Struct, frozen=True):
    """An act of ours that is not taken in this state."""

    why: str


Cell = Go | Anomaly | NotAllowed

_S, _E = State, OrderEvent
_Events = tuple[OrderEvent, ...]
_NOT_FOUND: Final = "404 for an order that the venue has shown"
_STRANGE: Final = "a status that this version cannot read"


def _row(
    to: Mapping[State, _Events],
    suspect: Mapping[tuple[State, str], _Events],
    barred: Mapping[str, _Events],
    missing: Mapping[State, _Events] | None = None,
    strange: Mapping[State, _Events] | None = None,
) -> dict[OrderEvent, Cell]:
    """The decisions of one state. Raises ValueError unless each event has exactly one."""
    decided: list[tuple[OrderEvent, Cell]] = []
    for state, events in to.items():
        decided += [(event, Go(state)) for event in events]
    for (state, why), events in suspect.items():
        decided += [(event, Anomaly(state, why)) for event in events]
    for why, events in barred.items():
        decided += [(event, NotAllowed(why)) for event in events]
    for state, events in (missing or {}).items():
        decided += [(event, Anomaly(state, _NOT_FOUND, OrderFinding.MISSING)) for event in events]
    for state, events in (strange or {}).items():
        decided += [(event, Anomaly(state, _STRANGE, OrderFinding.UNREADABLE)) for event in events]
    row = dict(decided)
    if len(decided) != len(OrderEvent) or len(row) != len(OrderEvent):
        raise ValueError("a state needs exactly one decision for each event")
    return {event: row[event] for event in OrderEvent}


_READS: Final = (
    _E.QUERY_OPEN, _E.QUERY_DIFFERS, _E.QUERY_CLOSED, _E.QUERY_MOVED, _E.QUERY_NOT_FOUND,
    _E.QUERY_UNKNOWN_STATUS,
)  # fmt: skip
_NO_ID: Final = "a read by an id that the order does not have yet"
_NOT_CREATED: Final = "a response to a create of an order that had landed"
_NOT_CANCELLED: Final = "a response to a cancel that we did not send"
_NOT_ASKED: Final = "a response to a write that we did not send"
_WAITS: Final = "its answer is awaited"

# fmt: off
TRANSITIONS: Final[dict[State, dict[OrderEvent, Cell]]] = {
    _S.PENDING_NEW: _row(
        {
            _S.OPEN: (_E.ACK_OPEN,),
            _S.CLOSED: (_E.ACK_CLOSED, _E.NOT_SENT, _E.REJECTED, _E.MARKET_RESOLVED),
            _S.NEW_UNKNOWN: (_E.TIMEOUT, _E.DUPLICATE_ID),
            _S.PENDING_NEW: (_E.LISTED, _E.CONFIRMED_GONE),  # its answer is better than any list
        },
        {
            (_S.NEW_UNKNOWN, _NOT_CANCELLED): (
                _E.CANCEL_QTY_MISMATCH, _E.TOO_LATE, _E.NOT_FOUND, _E.CANCEL_INEFFECTIVE,
            ),
            (_S.PENDING_NEW, _NO_ID): _READS,
        },
        {"its create is on its way": (_E.RESEND,), "it has no id yet": (_E.AMEND, _E.CANCEL)},
        strange={_S.OPEN: (_E.UNKNOWN_STATUS,)},
    ),
    # Every answer but 2xx leaves a re-sent create unknown: the first one may have landed, until a
    # list explains the refusals, or shows the order that the venue says exists.
    _S.NEW_UNKNOWN: _row(
        {
            _S.OPEN: (_E.ACK_OPEN, _E.LISTED),
            _S.CLOSED: (_E.ACK_CLOSED, _E.MARKET_RESOLVED, _E.CONFIRMED_GONE),
            _S.NEW_UNKNOWN: (_E.RESEND, _E.NOT_SENT, _E.REJECTED, _E.DUPLICATE_ID, _E.TIMEOUT),
        },
        {
            (_S.NEW_UNKNOWN, _NOT_CANCELLED): (
                _E.CANCEL_QTY_MISMATCH, _E.TOO_LATE, _E.NOT_FOUND, _E.CANCEL_INEFFECTIVE,
            ),
            (_S.NEW_UNKNOWN, _NO_ID): _READS,
        },
        {"it has no id yet": (_E.AMEND, _E.CANCEL)},
        strange={_S.OPEN: (_E.UNKNOWN_STATUS,)},
    ),
    _S.OPEN: _row(
        {
            _S.PENDING_REPLACE: (_E.AMEND,),
            _S.PENDING_CANCEL: (_E.CANCEL,),
            _S.CLOSED: (_E.QUERY_CLOSED, _E.CONFIRMED_GONE),
            _S.OPEN: (_E.QUERY_OPEN, _E.LISTED),
        },
        {
            (_S.OPEN, _NOT_ASKED): (
                _E.ACK_OPEN, _E.NOT_SENT, _E.REJECTED, _E.DUPLICATE_ID, _E.MARKET_RESOLVED,
                _E.TIMEOUT, _E.CANCEL_INEFFECTIVE,
            ),
            (_S.CLOSED_UNCONFIRMED, _NOT_ASKED): (
                _E.ACK_CLOSED, _E.CANCEL_QTY_MISMATCH, _E.TOO_LATE,
            ),
            (_S.REPLACE_UNKNOWN, "a read contradicts the venue's last response"): (
                _E.QUERY_DIFFERS,
            ),
            (_S.CLOSED_UNCONFIRMED, "cancelled by somebody else, without an amend of ours"): (
                _E.QUERY_MOVED,
            ),
        },
        {"it is known to have landed": (_E.RESEND,)},
        missing={_S.OPEN: (_E.NOT_FOUND, _E.QUERY_NOT_FOUND)},
        strange={_S.OPEN: (_E.UNKNOWN_STATUS, _E.QUERY_UNKNOWN_STATUS)},
    ),
    # A read during an amend may show the order before or after it: only an end is news, and one
    # that a change of id explains waits for the answer.
    _S.PENDING_REPLACE: _row(
        {
            _S.OPEN: (_E.ACK_OPEN, _E.NOT_SENT, _E.REJECTED),
            _S.CLOSED: (_E.ACK_CLOSED, _E.QUERY_CLOSED),
            _S.CLOSED_UNCONFIRMED: (_E.TOO_LATE,),
            _S.REPLACE_UNKNOWN: (_E.TIMEOUT,),
            _S.PENDING_REPLACE: (
                _E.QUERY_OPEN, _E.QUERY_DIFFERS, _E.QUERY_MOVED, _E.QUERY_NOT_FOUND,
                _E.LISTED, _E.CONFIRMED_GONE,
            ),
        },
        {
            (_S.REPLACE_UNKNOWN, _NOT_CREATED): (_E.DUPLICATE_ID, _E.MARKET_RESOLVED),
            (_S.REPLACE_UNKNOWN, _NOT_CANCELLED): (_E.CANCEL_INEFFECTIVE,),
            (_S.CLOSED_UNCONFIRMED, _NOT_CANCELLED): (_E.CANCEL_QTY_MISMATCH,),
        },
        {_WAITS: (_E.RESEND, _E.AMEND, _E.CANCEL)},
        missing={_S.OPEN: (_E.NOT_FOUND,)},
        strange={
            _S.REPLACE_UNKNOWN: (_E.UNKNOWN_STATUS,),
            _S.PENDING_REPLACE: (_E.QUERY_UNKNOWN_STATUS,),
        },
    ),
    _S.REPLACE_UNKNOWN: _row(
        {
            _S.PENDING_CANCEL: (_E.CANCEL,),
            _S.OPEN: (_E.QUERY_OPEN, _E.LISTED),
            _S.CLOSED: (_E.QUERY_CLOSED, _E.CONFIRMED_GONE),
            _S.CLOSED_UNCONFIRMED: (_E.QUERY_MOVED,),
            _S.REPLACE_UNKNOWN: (_E.QUERY_DIFFERS,),
        },
        {
            (_S.REPLACE_UNKNOWN, _NOT_ASKED): (
                _E.ACK_OPEN, _E.NOT_SENT, _E.REJECTED, _E.DUPLICATE_ID, _E.MARKET_RESOLVED,
                _E.TIMEOUT, _E.CANCEL_INEFFECTIVE,
            ),
            (_S.CLOSED_UNCONFIRMED, _NOT_ASKED): (
                _E.ACK_CLOSED, _E.CANCEL_QTY_MISMATCH, _E.TOO_LATE,
            ),
        },
        {"it is known to have landed": (_E.RESEND,), "the last one is undecided": (_E.AMEND,)},
        missing={_S.REPLACE_UNKNOWN: (_E.NOT_FOUND, _E.QUERY_NOT_FOUND)},
        strange={_S.REPLACE_UNKNOWN: (_E.UNKNOWN_STATUS, _E.QUERY_UNKNOWN_STATUS)},
    ),
    # A cancel that did not do its work leaves the order open; it is wanted again at once. A
    # cancel without an answer does the same, for a cancel may be repeated.
    _S.PENDING_CANCEL: _row(
        {
            _S.CLOSED: (_E.ACK_CLOSED, _E.QUERY_CLOSED),
            _S.CLOSED_UNCONFIRMED: (_E.CANCEL_QTY_MISMATCH, _E.TOO_LATE),
            _S.OPEN: (_E.NOT_SENT, _E.REJECTED, _E.TIMEOUT),
            _S.REPLACE_UNKNOWN: (_E.CANCEL_INEFFECTIVE,),
            _S.PENDING_CANCEL: (
                _E.QUERY_OPEN, _E.QUERY_DIFFERS, _E.QUERY_MOVED, _E.QUERY_NOT_FOUND,
                _E.LISTED, _E.CONFIRMED_GONE,
            ),
        },
        {
            (_S.OPEN, _NOT_CREATED): (_E.DUPLICATE_ID, _E.MARKET_RESOLVED),
            (_S.OPEN, "a response to an amend while our cancel is in flight"): (_E.ACK_OPEN,),
        },
        {_WAITS: (_E.RESEND, _E.AMEND, _E.CANCEL)},
        missing={_S.OPEN: (_E.NOT_FOUND,)},
        strange={
            _S.CLOSED_UNCONFIRMED: (_E.UNKNOWN_STATUS,),
            _S.PENDING_CANCEL: (_E.QUERY_UNKNOWN_STATUS,),
        },
    ),
    _S.CLOSED_UNCONFIRMED: _row(
        {
            _S.OPEN: (_E.LISTED,),  # under another id
            _S.CLOSED: (_E.QUERY_CLOSED, _E.CONFIRMED_GONE),
            _S.CLOSED_UNCONFIRMED: (_E.QUERY_OPEN, _E.QUERY_DIFFERS, _E.QUERY_MOVED),
        },
        {
            (_S.CLOSED_UNCONFIRMED, _NOT_ASKED): (
                _E.ACK_OPEN, _E.ACK_CLOSED, _E.CANCEL_QTY_MISMATCH, _E.NOT_SENT, _E.REJECTED,
                _E.DUPLICATE_ID, _E.MARKET_RESOLVED,
                _E.TOO_LATE, _E.TIMEOUT, _E.CANCEL_INEFFECTIVE,
            ),
        },
        {"the venue says that it is over": (_E.RESEND, _E.AMEND, _E.CANCEL)},
        missing={_S.CLOSED_UNCONFIRMED: (_E.NOT_FOUND, _E.QUERY_NOT_FOUND)},
        strange={_S.CLOSED_UNCONFIRMED: (_E.UNKNOWN_STATUS, _E.QUERY_UNKNOWN_STATUS)},
    ),
    # Ended is for ever; late answers and reads add fills at most.
    _S.CLOSED: _row(
        {_S.CLOSED: tuple(event for event in OrderEvent if event not in ACTS)},
        {},
        {"it is over": (_E.RESEND, _E.AMEND, _E.CANCEL)},
    ),
}
# fmt: on

IN_FLIGHT: Final = frozenset({State.PENDING_NEW, State.PENDING_REPLACE, State.PENDING_CANCEL})
"""The states with a write of ours in flight."""
